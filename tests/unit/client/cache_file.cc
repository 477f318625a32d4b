// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/client/cache.hh"

#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <sched.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace
{
const char *const zones[] = { "bl6.example", "second.example" };

int create(const std::string &path, cache_ptr &ret_cache, uint64_t size_bytes = 65536)
{
	cache *table = nullptr;
	const int ret = cache_create_shared(path.c_str(), size_bytes, zones, 2, &table);
	if (ret == DNSBLV6_OK)
		ret_cache.reset(table);
	return ret;
}

int map(int fd, cache_ptr &ret_cache)
{
	cache *table = nullptr;
	const int ret = cache_map_shared(fd, &table);
	if (ret == DNSBLV6_OK)
		ret_cache.reset(table);
	return ret;
}

int map(const cache_ptr &writer, cache_ptr &ret_cache)
{
	return map(cache_shared_fd(writer.get()), ret_cache);
}

// Another process has it, and gives its descriptor away, which has to be taken before it is killed.
struct handover {
	int ends[2] = { -1, -1 };

	handover()
	{
		REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	}
	~handover()
	{
		close(ends[0]);
		close(ends[1]);
	}
	handover(const handover &) = delete;
	handover &operator=(const handover &) = delete;

	void give(int fd) const
	{
		char byte = 0;
		iovec part = { &byte, 1 };
		alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = {};
		msghdr message = {};
		message.msg_iov = &part;
		message.msg_iovlen = 1;
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
		if (sendmsg(ends[1], &message, 0) != 1)
			_exit(2);
	}
	int take() const
	{
		char byte = 0;
		int fd = -1;
		iovec part = { &byte, 1 };
		alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = {};
		msghdr message = {};
		message.msg_iov = &part;
		message.msg_iovlen = 1;
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		REQUIRE(recvmsg(ends[0], &message, MSG_CMSG_CLOEXEC) == 1);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
		return fd;
	}
};

// A payload that says whether it was put as it is, and under that key.
cache_entry sealed(const cache *table, cache_key key, uint64_t version)
{
	cache_entry entry = entry_of(table, 0);
	const uint64_t words[2] = { version, (version ^ key.word) * 0x2545f4914f6cdd1d };
	memcpy(entry.payload.bytes, words, sizeof(words));
	return entry;
}

bool is_sealed(cache_key key, const cache_entry &entry)
{
	uint64_t words[2];
	memcpy(words, entry.payload.bytes, sizeof(words));
	return entry.kind == CACHE_BITMAP && words[1] == (words[0] ^ key.word) * 0x2545f4914f6cdd1d;
}
} // namespace

TEST_CASE("a process that maps the table sees what its writer puts, and changes nothing",
	  "[client][cache]")
{
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(map(writer, reader) == DNSBLV6_OK);
	CHECK(cache_is_same(reader.get(), cache_shared_fd(writer.get())));
	CHECK(cache_shared_fd(reader.get()) == -ENOENT);
	CHECK(cache_shared_fd(new_cache().get()) == -ENOENT);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	cache_zone_set(writer.get(), 1, CACHE_ZONE_WORD, 5);
	CHECK(get(reader.get(), key) == 3);
	CHECK(cache_zone_get(reader.get(), 1, CACHE_ZONE_WORD) == 5);
	CHECK(cache_now_s(reader.get()) >= 1);
	CHECK(cache_key_address(reader.get(), 0, { 1, 1 }).word ==
	      cache_key_address(writer.get(), 0, { 1, 1 }).word);

	const cache_entry no = entry_of(reader.get(), 4);
	cache_put(reader.get(), key, &no);
	cache_mark(reader.get(), key);
	cache_zone_set(reader.get(), 1, CACHE_ZONE_WORD, 6);
	CHECK(get(writer.get(), key) == 3);
	CHECK(cache_zone_get(writer.get(), 1, CACHE_ZONE_WORD) == 5);

	struct stat status = {};
	REQUIRE(stat(path.c_str(), &status) == 0);
	CHECK((status.st_mode & 07777) == 0640);
	CHECK(status.st_size == 65536);
	CHECK(status.st_blocks * 512 >= 65536);
}

TEST_CASE("a new era is one for all that map the table, and for its next writer", "[client][cache]")
{
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(map(writer, reader) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_key other = cache_key_block(0, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	cache_put(writer.get(), other, &entry);
	cache_begin_era(reader.get(), 1);
	CHECK(get(reader.get(), key) == 3);
	cache_begin_era(writer.get(), 1);
	CHECK(cache_zone_get(reader.get(), 1, CACHE_ZONE_ERA) == 1);
	CHECK(get(reader.get(), key) == -1);
	CHECK(get(reader.get(), other) == 3);

	writer.reset();
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(cache_zone_get(writer.get(), 1, CACHE_ZONE_ERA) == 1);
	CHECK(get(writer.get(), key) == -1);
	CHECK(get(writer.get(), other) == 3);
	const cache_entry young = entry_of(writer.get(), 4);
	cache_put(writer.get(), key, &young);
	REQUIRE(map(writer, reader) == DNSBLV6_OK);
	CHECK(get(reader.get(), key) == 4);
}

TEST_CASE("with the table's descriptor it can neither be cut short nor written to",
	  "[client][cache]")
{
	tmpdir dir;
	cache_ptr writer;
	REQUIRE(create(dir.file("cache"), writer) == DNSBLV6_OK);
	const int fd = cache_shared_fd(writer.get());
	const std::string again = "/proc/self/fd/" + std::to_string(fd);
	const int other = open(again.c_str(), O_RDWR | O_CLOEXEC);
	for (const int one : { fd, other }) {
		CHECK(ftruncate(one, 0) != 0);
		CHECK(ftruncate(one, 1 << 20) != 0);
		CHECK(pwrite(one, "x", 1, 0) < 0);
		CHECK(fallocate(one, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536) != 0);
		CHECK(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, one, 0) ==
		      MAP_FAILED);
	}
	CHECK(truncate(again.c_str(), 0) != 0);
	close(other);
	cache_ptr reader;
	CHECK(map(writer, reader) == DNSBLV6_OK);
}

TEST_CASE("a descriptor that others could cut short is refused", "[client][cache]")
{
	const std::string what = GENERATE(as<std::string>{}, "file", "unsealed", "grows", "sealed");
	CAPTURE(what);
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const std::string bytes = read_file(path);
	int fd = what == "file" ? open(path.c_str(), O_RDWR | O_CLOEXEC)
				: memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	REQUIRE(fd >= 0);
	REQUIRE(pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
	if (what == "grows")
		REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	if (what == "sealed")
		REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	cache_ptr reader;
	CHECK(map(fd, reader) == (what == "sealed" ? DNSBLV6_OK : -EPROTO));
	CHECK_FALSE(cache_is_same(writer.get(), fd));
	close(fd);
}

TEST_CASE("the copy may be cut short, changed or removed while the table is in use",
	  "[client][cache]")
{
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(map(writer, reader) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	for (uint8_t turn = 1; turn < 4; turn++) {
		if (turn == 1)
			REQUIRE(truncate(path.c_str(), 0) == 0);
		if (turn == 2)
			write_file(path, std::string(65536, 'x'));
		if (turn == 3)
			REQUIRE(unlink(path.c_str()) == 0);
		const cache_entry entry = entry_of(writer.get(), turn);
		cache_put(writer.get(), key, &entry);
		cache_beat(writer.get(), 5);
		CHECK(get(writer.get(), key) == turn);
		CHECK(get(reader.get(), key) == turn);
	}
	writer.reset();
	CHECK(create(path, writer) == DNSBLV6_OK);
	CHECK(get(writer.get(), key) == -1);
}

TEST_CASE("answers that are held are in the table at once, and in the copy with the release",
	  "[client][cache]")
{
	constexpr uint32_t COUNT = 100; // more than are held
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key first = cache_key_block(1, ipv4(0));
	const cache_key last = cache_key_block(1, ipv4((COUNT - 1) * 128));
	const auto read_copy = [&](const char *name, cache_ptr &table) {
		write_file(dir.file(name), read_file(path));
		REQUIRE(create(dir.file(name), table) == DNSBLV6_OK);
	};
	cache_ptr writer;
	cache_ptr early;
	cache_ptr late;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	cache_hold(writer.get());
	for (uint32_t i = 0; i < COUNT; i++) {
		const cache_entry entry = entry_of(writer.get(), 3);
		cache_put(writer.get(), cache_key_block(1, ipv4(i * 128)), &entry);
	}
	cache_zone_set(writer.get(), 1, CACHE_ZONE_WORD, 5);
	CHECK(get(writer.get(), first) == 3);
	read_copy("early", early);
	CHECK(get(early.get(), first) == -1);
	CHECK(get(early.get(), last) == 3);
	CHECK(cache_zone_get(early.get(), 1, CACHE_ZONE_WORD) == 5);
	cache_release(writer.get());
	read_copy("late", late);
	CHECK(get(late.get(), first) == 3);
	CHECK(get(late.get(), last) == 3);
}

TEST_CASE("a table that was given up is a miss for threads that still read it", "[client][cache]")
{
	tmpdir dir;
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(dir.file("cache"), writer) == DNSBLV6_OK);
	REQUIRE(map(writer, reader) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	cache_zone_set(writer.get(), 1, CACHE_ZONE_WORD, 5);
	REQUIRE(get(reader.get(), key) == 3);
	cache_shed(reader.get());
	CHECK(get(reader.get(), key) == -1);
	CHECK(cache_zone_get(reader.get(), 1, CACHE_ZONE_WORD) == 0);
	CHECK(get(writer.get(), key) == 3);
}

TEST_CASE("the copy says when its writer was last at work", "[client][cache]")
{
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	int64_t beat_ms = 0;
	CHECK(cache_read_beat(path.c_str(), &beat_ms) == -ENOENT);
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	REQUIRE(cache_read_beat(path.c_str(), &beat_ms) == DNSBLV6_OK);
	CHECK(static_cast<uint64_t>(beat_ms) / 1000 <= cache_clock_s());
	cache_beat(writer.get(), 123456789);
	REQUIRE(cache_read_beat(path.c_str(), &beat_ms) == DNSBLV6_OK);
	CHECK(beat_ms == 123456789);
	const std::string what =
		GENERATE(as<std::string>{}, "empty", "cut", "other", "fifo", "dir");
	CAPTURE(what);
	if (what == "empty" || what == "cut")
		REQUIRE(truncate(path.c_str(), what == "cut" ? 127 : 0) == 0);
	if (what == "other")
		write_file(path, std::string(65536, 'x'));
	if (what == "fifo")
		REQUIRE((unlink(path.c_str()) == 0 && mkfifo(path.c_str(), 0644) == 0));
	if (what == "dir")
		REQUIRE((unlink(path.c_str()) == 0 && mkdir(path.c_str(), 0755) == 0));
	CHECK(cache_read_beat(path.c_str(), &beat_ms) == -EPROTO);
	CHECK(beat_ms == 123456789);
}

TEST_CASE("zones of a table are found by name, in any case", "[client][cache]")
{
	tmpdir dir;
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(dir.file("cache"), writer) == DNSBLV6_OK);
	REQUIRE(map(writer, reader) == DNSBLV6_OK);
	CHECK(cache_zone_index(reader.get(), "bl6.example") == 0);
	CHECK(cache_zone_index(reader.get(), "Second.EXAMPLE.") == 1);
	CHECK(cache_zone_index(reader.get(), "second.exampl") == -ENOENT);
	CHECK(cache_zone_index(reader.get(), "") == -ENOENT);
	CHECK(cache_zone_index(new_cache().get(), "bl6.example") == -ENOENT);
}

TEST_CASE("a file has one writer at a time", "[client][cache]")
{
	tmpdir dir;
	cache_ptr writer;
	cache_ptr second;
	REQUIRE(create(dir.file("cache"), writer) == DNSBLV6_OK);
	CHECK(create(dir.file("cache"), second) == -EBUSY);
	child other([&] { return create(dir.file("cache"), second) == -EBUSY ? 0 : 1; });
	CHECK(other.wait() == 0);
	writer.reset();
	CHECK(create(dir.file("cache"), second) == DNSBLV6_OK);
}

TEST_CASE("the next writer finds what was away in another set", "[client][cache]")
{
	tmpdir dir;
	const std::string path = dir.file("cache");
	const uint64_t size = 64 << 10;
	cache_ptr writer;
	REQUIRE(create(path, writer, size) == DNSBLV6_OK);
	cache_stats stats = {};
	cache_get_stats(writer.get(), &stats);
	const auto count = static_cast<uint32_t>(stats.slots * 4 / 5);
	for (uint32_t i = 0; i < count; i++) {
		const cache_entry entry = entry_of(writer.get(), static_cast<uint8_t>(i));
		cache_put(writer.get(), cache_key_block(0, ipv4(i << 7)), &entry);
	}
	const auto look = [&](const cache *table) {
		std::vector<int> found;
		for (uint32_t i = 0; i < count; i++)
			found.push_back(get(table, cache_key_block(0, ipv4(i << 7))));
		return found;
	};
	const std::vector<int> before = look(writer.get());
	unsigned away = 0;
	for (uint64_t i = 0; i < writer->set_count; i++)
		away += writer->marks[i] >> CACHE_AWAY_SHIFT;
	CHECK(away > count / 20);
	writer.reset();
	REQUIRE(create(path, writer, size) == DNSBLV6_OK);
	CHECK(look(writer.get()) == before);
}

TEST_CASE("the next writer finds what the last one knew, killed or not", "[client][cache]")
{
	const bool is_killed = GENERATE(false, true);
	CAPTURE(is_killed);
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key key = cache_key_block(1, ipv4(7));
	handover hands;
	signal_pipe may_end;
	child first([&] {
		cache_ptr writer;
		if (create(path, writer) != DNSBLV6_OK)
			return 1;
		const cache_entry entry = entry_of(writer.get(), 3);
		cache_put(writer.get(), key, &entry);
		cache_zone_set(writer.get(), 1, CACHE_ZONE_WORD, 5);
		cache_begin_era(writer.get(), 0);
		hands.give(cache_shared_fd(writer.get()));
		while (is_killed)
			pause();
		may_end.take();
		return 0; // writer ends here
	});
	const int fd = hands.take();
	cache_ptr reader;
	REQUIRE(map(fd, reader) == DNSBLV6_OK);
	CHECK_FALSE(cache_is_retired(reader.get()));
	if (is_killed)
		first.kill(SIGKILL);
	else
		may_end.give();
	CHECK(first.wait() == (is_killed ? 1000 + SIGKILL : 0));
	// Its readers have what they had.
	CHECK(get(reader.get(), key) == 3);
	CHECK(cache_is_retired(reader.get()) == !is_killed);

	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(get(writer.get(), key) == 3);
	CHECK(cache_zone_get(writer.get(), 1, CACHE_ZONE_WORD) == 5);
	CHECK(cache_zone_get(writer.get(), 0, CACHE_ZONE_ERA) == 1);
	CHECK_FALSE(cache_is_retired(writer.get()));
	CHECK_FALSE(cache_is_same(writer.get(), fd));
	close(fd);
}

TEST_CASE("a copy of another size or of other zones is replaced, and readers go on",
	  "[client][cache]")
{
	const bool has_other_zones = GENERATE(false, true);
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key key = cache_key_block(1, ipv4(7));
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	REQUIRE(map(writer, reader) == DNSBLV6_OK);
	writer.reset();
	cache *table = nullptr;
	const char *const others[] = { "second.example", "bl6.example" };
	REQUIRE(cache_create_shared(path.c_str(), has_other_zones ? 65536 : 131072,
				    has_other_zones ? others : zones, 2, &table) == DNSBLV6_OK);
	writer.reset(table);
	CHECK(get(writer.get(), key) == -1);
	CHECK(get(reader.get(), key) == 3);
	CHECK(cache_is_retired(reader.get()));
	REQUIRE(map(writer, reader) == DNSBLV6_OK);
	CHECK_FALSE(cache_is_retired(reader.get()));
}

TEST_CASE("what was put before the machine started, or by another clock, is not believed",
	  "[client][cache]")
{
	const unsigned word = GENERATE(unsigned{ CACHE_WORD_EPOCH }, unsigned{ CACHE_WORD_BOOT },
				       unsigned{ CACHE_WORD_BEAT });
	CAPTURE(word);
	tmpdir dir;
	const std::string path = dir.file("cache");
	cache_ptr writer;
	cache_ptr reader;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const cache_key key = cache_key_block(1, ipv4(7));
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	cache_set_header(writer.get(), static_cast<cache_word>(word),
			 writer->header[word] + 1000000);
	CHECK(map(writer, reader) == -EPROTO);
	writer.reset();
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(get(writer.get(), key) == -1);
	CHECK(map(writer, reader) == DNSBLV6_OK);
}

TEST_CASE("a writer replaces a copy that is no table, a reader refuses it", "[client][cache]")
{
	const std::string what =
		GENERATE(as<std::string>{}, "empty", "cut", "longer", "version", "magic", "random",
			 "zeros", "sets", "names", "zones", "writable", "fifo", "directory");
	CAPTURE(what);
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key key = cache_key_block(1, ipv4(7));
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	writer.reset();
	std::string bytes = read_file(path);
	const auto change = [&](cache_word word, char add) {
		bytes[static_cast<unsigned>(word) * 8] =
			static_cast<char>(bytes[static_cast<unsigned>(word) * 8] + add);
	};
	if (what == "empty" || what == "fifo" || what == "directory")
		bytes.clear();
	else if (what == "cut")
		bytes.resize(bytes.size() - 4096);
	else if (what == "longer")
		bytes.resize(bytes.size() + 4096);
	else if (what == "version")
		change(CACHE_WORD_VERSION, 1);
	else if (what == "magic")
		change(CACHE_WORD_MAGIC, 1);
	else if (what == "sets")
		change(CACHE_WORD_SETS, 1);
	else if (what == "names")
		change(CACHE_WORD_NAMES_SIZE, -1);
	else if (what == "zones")
		change(CACHE_WORD_ZONES, 1);
	else if (what == "zeros")
		bytes.assign(bytes.size(), '\0');
	else if (what == "random")
		for (char &byte : bytes)
			byte = static_cast<char>(rand());
	write_file(path, bytes);
	if (what == "writable")
		REQUIRE(chmod(path.c_str(), 0664) == 0);
	if (what == "fifo")
		REQUIRE((unlink(path.c_str()) == 0 && mkfifo(path.c_str(), 0644) == 0));
	if (what == "directory")
		REQUIRE((unlink(path.c_str()) == 0 && mkdir(path.c_str(), 0755) == 0));

	cache_ptr reader;
	const int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	REQUIRE(pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
	REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	CHECK(map(fd, reader) == (what == "writable" ? DNSBLV6_OK : -EPROTO));
	close(fd);
	CHECK(create(path, writer) == (what == "directory" ? -EISDIR : DNSBLV6_OK));
	if (what != "directory")
		CHECK(get(writer.get(), key) == -1);
}

TEST_CASE("the copy of another user is replaced", "[client][cache]")
{
	if (geteuid() != 0) {
		WARN("skipped: it takes root to give files away");
		SUCCEED();
		return;
	}
	tmpdir dir;
	const std::string path = dir.file("cache");
	const cache_key key = cache_key_block(1, ipv4(7));
	cache_ptr writer;
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	const cache_entry entry = entry_of(writer.get(), 3);
	cache_put(writer.get(), key, &entry);
	writer.reset();
	REQUIRE(chown(path.c_str(), 12345, 12345) == 0);
	REQUIRE(create(path, writer) == DNSBLV6_OK);
	CHECK(get(writer.get(), key) == -1);
}

TEST_CASE("a full disk is told when the file is made, and leaves nothing", "[client][cache]")
{
	tmpdir dir;
	child other([&] {
		if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
		    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
		    mount("none", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0)
			return 77;
		cache_ptr writer;
		const std::string path = dir.file("cache");
		if (create(path, writer, 1u << 20) != -ENOSPC)
			return 1;
		if (access((path + ".new").c_str(), F_OK) == 0 || access(path.c_str(), F_OK) == 0)
			return 2;
		return create(path, writer, 32768) == DNSBLV6_OK ? 0 : 3;
	});
	const int status = other.wait();
	if (status == 77) {
		WARN("skipped: no file system of its own for this test");
		SUCCEED();
		return;
	}
	CHECK(status == 0);
}

TEST_CASE("a directory that is not there is told", "[client][cache]")
{
	cache_ptr table;
	CHECK(create("/nonexistent/cache", table) == -ENOENT);
	CHECK(map(-1, table) == -EPROTO);
	cache *none = nullptr;
	CHECK(cache_create_shared("/nonexistent/cache", 100, zones, 2, &none) == -EINVAL);
	CHECK(cache_create_shared("/nonexistent/cache", 65536, zones, CACHE_ZONES_MAX + 1, &none) ==
	      -EINVAL);
}

// ---- kill -9 ----

// tests/campaign-cache asks for more.
static unsigned kill_rounds()
{
	const char *text = getenv("DNSBLV6_KILLS");
	return text != nullptr ? static_cast<unsigned>(atoi(text)) : 1000;
}

static uint32_t key_number(uint64_t random)
{
	return static_cast<uint32_t>(random * 0x9e3779b97f4a7c15 >> 55) << 7;
}

struct findings {
	uint64_t hits = 0, wrong = 0;
};

// As many look-ups as chance wants, up to 20,000.
static void look_around(const cache *table, findings &found)
{
	for (unsigned left = static_cast<unsigned>(rand()) % 20000; left > 0; left--) {
		const cache_key key = cache_key_block(0, ipv4(key_number(left)));
		cache_entry entry = {};
		if (cache_get(table, key, &entry) != DNSBLV6_OK)
			continue;
		found.hits++;
		found.wrong += !is_sealed(key, entry);
	}
}

// Puts sealed answers about keys of a small range until it is killed.
[[noreturn]] static void write_on(cache *table, uint64_t version)
{
	for (;; version++) {
		const cache_key key = cache_key_block(0, ipv4(key_number(version)));
		const cache_entry entry = sealed(table, key, version);
		cache_put(table, key, &entry);
		cache_mark(table, key);
	}
}

TEST_CASE("readers see whole answers whenever the writer of a table is killed", "[client][cache]")
{
	const unsigned rounds = kill_rounds();
	tmpdir dir;
	const std::string path = dir.file("cache");
	handover hands;
	findings found;
	uint64_t version = 1;
	for (unsigned round = 0; round < rounds; round++, version += 1u << 24) {
		child writer([&] {
			cache_ptr table;
			if (create(path, table, CACHE_SIZE_MIN) != DNSBLV6_OK)
				return 1;
			hands.give(cache_shared_fd(table.get()));
			write_on(table.get(), version);
		});
		const int fd = hands.take();
		cache_ptr reader;
		REQUIRE(map(fd, reader) == DNSBLV6_OK);
		close(fd);
		look_around(reader.get(), found);
		writer.kill(SIGKILL);
		REQUIRE(writer.wait() == 1000 + SIGKILL);
		look_around(reader.get(), found);
	}
	CAPTURE(rounds, found.hits);
	CHECK(found.wrong == 0);
	CHECK(found.hits > rounds);
	// Each took over what the last one had put into the copy.
	cache_ptr last;
	REQUIRE(create(path, last, CACHE_SIZE_MIN) == DNSBLV6_OK);
	const uint64_t before = found.hits;
	for (unsigned i = 0; i < 100; i++)
		look_around(last.get(), found);
	CHECK(found.wrong == 0);
	CHECK(found.hits > before);
}

TEST_CASE("answers shared with children are whole whenever those are killed", "[client][cache]")
{
	const unsigned rounds = kill_rounds() / 2;
	cache_ptr table = new_cache();
	findings found;
	uint64_t version = 1;
	for (unsigned round = 0; round < rounds; round++, version += 1u << 24) {
		child one([&]() -> int { write_on(table.get(), version); });
		child other([&]() -> int { write_on(table.get(), version + (1u << 23)); });
		look_around(table.get(), found);
		one.kill(SIGKILL);
		other.kill(SIGKILL);
		REQUIRE(one.wait() == 1000 + SIGKILL);
		REQUIRE(other.wait() == 1000 + SIGKILL);
	}
	CAPTURE(rounds, found.hits);
	CHECK(found.wrong == 0);
	CHECK(found.hits > rounds);
}
