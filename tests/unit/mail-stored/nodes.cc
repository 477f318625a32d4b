// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes without their sockets: frames, where a mailbox is, what mail servers ask, and the configuration.
#include "integration/mail/base/store/copyname.h"
#include "integration/mail/mail-stored/nodes/locate.h"
#include "integration/mail/mail-stored/nodes/nodewire.h"
#include "integration/mail/mail-stored/nodes/socketmap.h"
#include "integration/mail/mail-stored/stored_setup.h"
#include "lib/common/wholefile.h"
#include "lib/process/listening.h"
#include "tests/lib/mailname.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/mail-users/users.hh"

#include <catch2/catch.hpp>

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace
{

using parsed = parsed_as<stored_setup, stored_setup_parse>;

std::string pin(char digit)
{
	return "sha256//" + std::string(43, digit) + "=";
}

std::string peer(const std::string &name, int number, char digit, const std::string &more = "")
{
	return "  - name: " + name + "\n    number: " + std::to_string(number) +
	       "\n    address: 192.0.2." + std::to_string(number) + "@4190\n    lmtp: 192.0.2." +
	       std::to_string(number) + "@24\n    key: " + pin(digit) + "\n" + more;
}

const std::string HEAD = "nodes:\n    node: a\n    listen: 192.0.2.1@4190\n"
			 "    certificate: /c\n    key: /k\npeer:\n";
const std::string THREE = HEAD + peer("a", 1, 'A') + peer("b", 7, 'B') + peer("c", 3, 'C');

// ---- frames ----

struct input {
	nodewire_room room = { 0, 1 << 20 };
	std::unique_ptr<nodewire_input> it = std::make_unique<nodewire_input>();

	explicit input(bool takes_records = false)
	{
		it->room = &room;
		it->memory_max = 1 << 20;
		it->takes_records = takes_records;
		it->fd = -1;
	}

	~input()
	{
		nodewire_deinit(it.get());
	}

	// Of bytes that come in pieces of that size: the status of the last.
	int take(const std::string &bytes, size_t piece)
	{
		int ret = 0;
		for (size_t at = 0; ret == 0 && at < bytes.size();) {
			size_t used = 0;
			const size_t size = std::min(piece, bytes.size() - at);
			ret = nodewire_take(it.get(),
					    reinterpret_cast<const uint8_t *>(bytes.data()) + at,
					    size, &used);
			at += used;
		}
		return ret;
	}

	std::string memory(uint64_t at = 0) const
	{
		std::string bytes(it->memory_size, '\0');
		if (it->fd < 0)
			bytes.assign(reinterpret_cast<const char *>(it->bytes), bytes.size());
		else
			REQUIRE(wholefile_get(it->fd, at, bytes.data(), bytes.size()) == 0);
		return bytes;
	}
};

std::string frame(const std::string &packet, const std::string &memory)
{
	uint8_t head[NODEWIRE_HEAD];
	nodewire_encode(packet.size(), memory.size(), head);
	return std::string(reinterpret_cast<const char *>(head), sizeof(head)) + packet + memory;
}

std::string segment_reply(uint64_t number)
{
	storewire_reply reply = {};
	uint8_t bytes[STOREWIRE_REPLY_HEAD];
	reply.type = STOREWIRE_SEGMENT;
	reply.number = number;
	storewire_encode_reply(&reply, bytes);
	return { reinterpret_cast<const char *>(bytes), sizeof(bytes) };
}

} // namespace

TEST_CASE("a message between nodes is the same in pieces of any size", "[mail-stored][nodes]")
{
	const size_t piece = GENERATE(1, 2, 15, 16, 17, 1000, 1 << 20);
	const std::string large(STOREWIRE_INLINE_MAX + 1, 'x');
	const std::string memory = GENERATE_REF(std::string(), std::string("few"), large);
	input in;
	for (int again = 0; again < 2; again++) {
		REQUIRE(in.take(frame("packet", memory), piece) == 1);
		CHECK(std::string(reinterpret_cast<const char *>(in.it->packet),
				  in.it->packet_size) == "packet");
		CHECK(in.memory() == memory);
		CHECK((in.it->fd >= 0) == (memory.size() > STOREWIRE_INLINE_MAX));
		CHECK(in.it->dropped == 0);
	}
	CHECK(in.take(frame("", ""), piece) == 1);
	CHECK(in.it->packet_size == 0);
	CHECK(in.room.used == 0);
}

TEST_CASE("memory of another node is sealed when it is whole", "[mail-stored][nodes]")
{
	input in;
	REQUIRE(in.take(frame("p", std::string(50000, 'x')), 4096) == 1);
	CHECK(in.room.used == 50000);
	CHECK(write(in.it->fd, "y", 1) < 0);
	CHECK((fcntl(in.it->fd, F_GET_SEALS) & (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)) ==
	      (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW));
}

TEST_CASE("memory that there is no room for is dropped, and what follows is read",
	  "[mail-stored][nodes]")
{
	input in;
	in.room.max = 60000;
	in.room.used = 20000;
	REQUIRE(in.take(frame("p", std::string(50000, 'x')), 4096) == 1);
	CHECK(in.it->dropped == -ENOSPC);
	CHECK(in.it->fd < 0);
	// Another node may take larger mails than this one.
	REQUIRE(in.take(frame("p", std::string((1 << 20) + 1, 'x')), 4096) == 1);
	CHECK(in.it->dropped == -EFBIG);
	CHECK(in.it->fd < 0);
	REQUIRE(in.take(frame("q", "few"), 4096) == 1);
	CHECK(in.it->dropped == 0);
	CHECK(in.memory() == "few");
	CHECK(in.room.used == 20000);
}

TEST_CASE("a record of another node has its body in one place", "[mail-stored][nodes]")
{
	const std::string record = "head and metabody";
	input in(true);
	REQUIRE(in.take(frame(segment_reply(13), record), 5) == 1);
	REQUIRE(in.it->fd >= 0);
	CHECK(in.memory(NODEWIRE_BODY_AT - 13) == record);
	input other(true);
	CHECK(other.take(frame(segment_reply(18), record), 5) == -EPROTO);
}

TEST_CASE("what is no message between nodes is refused", "[mail-stored][nodes]")
{
	const auto change = [](size_t at, char byte) {
		auto bytes = frame("packet", "memory");
		bytes[at] = byte;
		return bytes;
	};
	input in;
	CHECK(in.take(change(3, '2'), 1 << 20) == -EPROTO);
	input packet;
	CHECK(packet.take(change(4, 1), 1 << 20) == -EPROTO);
	input memory;
	CHECK(memory.take(change(8, 1), 1 << 20) == -EPROTO);
	input none;
	CHECK(none.take(frame("", "x"), 1 << 20) == -EPROTO);
	input reply(true);
	CHECK(reply.take(frame("no reply", ""), 1 << 20) == -EPROTO);
}

// ---- where a mailbox is ----

TEST_CASE("mailboxes are spread over nodes, and stay when others come", "[mail-stored][nodes]")
{
	const parsed three(THREE);
	const parsed more(THREE + peer("d", 4, 'D', "    spread: no\n"));
	REQUIRE(three.status == 0);
	REQUIRE(more.status == 0);
	std::map<unsigned, int> counts;
	for (int i = 0; i < 3000; i++) {
		const std::string box = "user" + std::to_string(i) + "@example.com";
		const locate of_three = { &three.setup.nodes, nullptr };
		const locate of_more = { &more.setup.nodes, nullptr };
		const unsigned found = locate_find(&of_three, name_of(box));
		CHECK(locate_find(&of_more, name_of(box)) == found);
		counts[found]++;
	}
	CHECK(counts.size() == 3);
	for (const auto &[node, count] : counts) {
		CAPTURE(node);
		CHECK(count > 850);
	}
	// A store that was begun with these has its mails there.
	const locate of_three = { &three.setup.nodes, nullptr };
	std::string found;
	for (const auto *box : { "anna@example.com", "bert@example.com", "carl@example.com",
				 "dora@example.com", "emil@example.com" })
		found += three.setup.nodes.peers[locate_find(&of_three, name_of(box))].name;
	CHECK(found == "cbccc");
}

TEST_CASE("a mailbox whose node is not heard of is not spread", "[mail-stored][nodes]")
{
	const parsed three(THREE);
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "anna@example.com node=9", "bert@example.com node=3",
			      "carl@example.com" }) == STORE_OK);
	const opened_users opened(path);
	REQUIRE(opened.status() == 0);
	const locate locate = { &three.setup.nodes, opened.get() };
	CHECK_FALSE(locate_is_known(&locate, name_of("anna@example.com")));
	CHECK(locate_find_stranger(&locate, name_of("anna@example.com")) == 9);
	CHECK(locate_find_stranger(&locate, name_of("bert@example.com")) == 0);
	CHECK(locate_find_stranger(&locate, name_of("carl@example.com")) == 0);
	CHECK(locate_is_known(&locate, name_of("bert@example.com")));
	CHECK(three.setup.nodes.peers[locate_find(&locate, name_of("bert@example.com"))].number ==
	      3);
	CHECK(locate_is_known(&locate, name_of("carl@example.com")));
	CHECK(locate_is_known(&locate, name_of("dora@example.com")));
	char text[SOCKETMAP_LINE_MAX];
	const size_t size =
		socketmap_answer(&locate, name_of("location"), name_of("anna@example.com"), text);
	CHECK(std::string(text, size).find("TEMP") != std::string::npos);
}

TEST_CASE("second copies are at the next node in order of numbers", "[mail-stored][nodes]")
{
	const parsed three(THREE);
	CHECK(locate_next(&three.setup.nodes, 0) == 2); // 1 -> 3
	CHECK(locate_next(&three.setup.nodes, 2) == 1); // 3 -> 7
	CHECK(locate_next(&three.setup.nodes, 1) == 0); // 7 -> 1
	const locate where = { &three.setup.nodes, nullptr };
	CHECK(locate_find(&where, name_of("\0013/anna@example.com")) == 1);
	CHECK(locate_find(&where, name_of("\0017/anna@example.com")) == 0);
}

TEST_CASE("a store is of the node that has begun it", "[mail-stored][nodes]")
{
	const tmpdir dir;
	const parsed one(THREE);
	const parsed more(THREE + peer("d", 4, 'D'));
	std::string as_b = THREE;
	const parsed other(as_b.replace(as_b.find("node: a"), 7, "node: b"));
	CHECK(locate_check_node(&one.setup.nodes, dir.path().c_str()) == DNSBLV6_ENOTFOUND);
	CHECK(locate_check_node(&one.setup.nodes, dir.path().c_str()) == 0);
	CHECK(locate_check_node(&more.setup.nodes, dir.path().c_str()) == 0);
	CHECK(locate_check_node(&other.setup.nodes, dir.path().c_str()) == -EINVAL);
	CHECK(locate_check_node(&one.setup.nodes, "/nowhere") == -ENOENT);
}

static uint64_t us_of(const statx_timestamp &time)
{
	return static_cast<uint64_t>(time.tv_sec) * 1000000 + time.tv_nsec / 1000;
}

TEST_CASE("a store is not opened with another set of nodes to spread over", "[mail-stored][nodes]")
{
	char directory[] = "/tmp/dnsblv6-nodes-XXXXXX";
	REQUIRE(mkdtemp(directory) != nullptr);
	const parsed three(THREE);
	const parsed more(THREE + peer("d", 4, 'D', "    spread: no\n"));
	const parsed wrong(THREE + peer("d", 4, 'D'));
	const auto log = std::string(directory) + "/log";
	const auto identity = log + "/0000000000000000";
	REQUIRE(mkdir(log.c_str(), 0700) == 0);
	const auto index = std::string(directory) + "/index.mdb";
	REQUIRE(std::ofstream(identity).good());
	REQUIRE(std::ofstream(index).good());
	uint64_t since_us = 0;
	CHECK(locate_check_spread(&three.setup.nodes, directory) == 0);
	CHECK(locate_find_since(directory, &since_us) == 0);
	const uint64_t first_us = since_us;
	CHECK(first_us > 0);
	CHECK(locate_check_spread(&more.setup.nodes, directory) == 0);
	CHECK(locate_find_since(directory, &since_us) == 0);
	CHECK(since_us == first_us);
	CHECK(locate_check_spread(&wrong.setup.nodes, directory) == -EINVAL);
	CHECK(locate_check_spread(&three.setup.nodes, "/nowhere") == -ENOENT);
	const auto spread = std::string(directory) + "/spread";
	const auto place = std::string(directory) + "/place";
	const timespec old[] = { { 0, UTIME_OMIT }, { 1000000000, 0 } };
	struct statx born = {};
	struct stat st = {};
	REQUIRE(utimensat(AT_FDCWD, spread.c_str(), old, 0) == 0);
	REQUIRE(utimensat(AT_FDCWD, place.c_str(), old, 0) == 0);
	// One of which the index was made anew may lack some.
	unlink(index.c_str());
	REQUIRE(std::ofstream(index).good());
	REQUIRE(statx(AT_FDCWD, index.c_str(), 0, STATX_BTIME, &born) == 0);
	const bool has_births = (born.stx_mask & STATX_BTIME) != 0;
	CHECK(locate_find_since(directory, &since_us) == 0);
	CHECK(since_us == (has_births ? us_of(born.stx_btime) : 1000000000000000));
	// A log that was made later, or came from a copy, has not all mails from before.
	const auto other = log + "/other";
	REQUIRE(std::ofstream(other).good());
	REQUIRE(utimensat(AT_FDCWD, other.c_str(), old, 0) == 0);
	REQUIRE(rename(other.c_str(), identity.c_str()) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(locate_find_since(directory, &since_us) == 0);
		REQUIRE(stat(place.c_str(), &st) == 0);
		CHECK(st.st_mtim.tv_sec > 1000000000);
		CHECK(since_us == static_cast<uint64_t>(st.st_mtim.tv_sec) * 1000000 +
					  static_cast<uint64_t>(st.st_mtim.tv_nsec) / 1000);
		// Over the file that was there.
		REQUIRE(utimensat(AT_FDCWD, place.c_str(), old, 0) == 0);
		REQUIRE(chmod(identity.c_str(), 0600) == 0);
	}
	// Where it cannot be kept.
	unlink(place.c_str());
	REQUIRE(mkdir(place.c_str(), 0700) == 0);
	const uint64_t last_us = since_us;
	CHECK(locate_find_since(directory, &since_us) == 0);
	CHECK(since_us >= last_us);
	rmdir(place.c_str());
	unlink(spread.c_str());
	CHECK(locate_find_since(directory, &since_us) == 0);
	unlink(index.c_str());
	CHECK(locate_find_since(directory, &since_us) == -ENOENT);
	unlink(identity.c_str());
	unlink(place.c_str());
	rmdir(log.c_str());
	rmdir(directory);
}

TEST_CASE("the mailbox of copies has a name that no address has", "[mail-stored][nodes]")
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	unsigned number = 0;
	mailname box = {};
	const size_t size = copyname_make(255, name_of("a@b"), bytes);
	CHECK(std::string(reinterpret_cast<const char *>(bytes), size) == "\001255/a@b");
	REQUIRE(copyname_parse({ bytes, size }, &number, &box));
	CHECK(number == 255);
	CHECK(std::string(reinterpret_cast<const char *>(box.bytes), box.size) == "a@b");
	CHECK(copyname_make(255, name_of(std::string(MAILBOX_NAME_MAX - 4, 'x')), bytes) == 0);
	for (const std::string other : { "", "a@b", "\001/a", "\0011/", "\0011a", "\0012" })
		CHECK_FALSE(copyname_parse(name_of(other), &number, &box));
}

TEST_CASE("what was brought into a mailbox is where that is", "[mail-stored][nodes]")
{
	const parsed one(HEAD + peer("a", 1, 'A', "    spread: yes\n") +
			 peer("b", 2, 'B', "    spread: yes\n"));
	const locate locate = { &one.setup.nodes, nullptr };
	uint8_t bytes[MAILBOX_NAME_MAX];
	mailname box = {};
	unsigned number = 0;
	for (int i = 0; i < 20; i++) {
		const std::string name = "user" + std::to_string(i) + "@b";
		const mailname brought = { bytes, copyname_make_brought(name_of(name), bytes) };
		CHECK(std::string(reinterpret_cast<const char *>(bytes), brought.size) ==
		      "\001g/" + name);
		CHECK(copyname_is_own(brought));
		CHECK_FALSE(copyname_parse(brought, &number, &box));
		REQUIRE(copyname_parse_brought(brought, &box));
		CHECK(std::string(reinterpret_cast<const char *>(box.bytes), box.size) == name);
		CHECK(locate_find(&locate, brought) == locate_find(&locate, name_of(name)));
	}
	CHECK(copyname_make_brought(name_of(std::string(MAILBOX_NAME_MAX - 2, 'x')), bytes) == 0);
	for (const std::string other : { "", "a@b", "\001g/", "\001gather", "\0011/a" })
		CHECK_FALSE(copyname_parse_brought(name_of(other), &box));
}

// ---- what mail servers ask ----

TEST_CASE("a question to the socketmap is taken when it is whole", "[mail-stored][nodes]")
{
	const std::string whole = "21:transport anna@a.exam,";
	mailname map = {};
	mailname key = {};
	for (size_t size = 0; size < whole.size(); size++)
		CHECK(socketmap_parse(whole.data(), size, &map, &key) == 0);
	const std::string more = whole + "5:";
	REQUIRE(socketmap_parse(more.data(), more.size(), &map, &key) ==
		static_cast<int>(whole.size()));
	CHECK(std::string(reinterpret_cast<const char *>(map.bytes), map.size) == "transport");
	CHECK(std::string(reinterpret_cast<const char *>(key.bytes), key.size) == "anna@a.exam");
	for (const std::string bad : { ":", "x", "3:a b;", "3:abc,", "99999:", "123456", "-1:a" })
		CHECK(socketmap_parse(bad.data(), bad.size(), &map, &key) == -EPROTO);
}

TEST_CASE("a size of five digits is not looked at behind its end", "[mail-stored][nodes]")
{
	mailname map = {};
	mailname key = {};
	CHECK(socketmap_parse("00010:", 5, &map, &key) == -EPROTO);
}

TEST_CASE("silent clients of the socketmap take no places of others", "[mail-stored][nodes]")
{
	const parsed one(HEAD + peer("a", 1, 'A'));
	const locate where = { &one.setup.nodes, nullptr };
	const tmpdir dir;
	const std::string path = dir.path() + "/location";
	const rlimit more = { 4096, 4096 };
	uv_loop_t loop = {};
	socketmap *served = nullptr;
	int door = -1;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &more) == 0);
	REQUIRE(listening_bind_path(path.c_str(), SOCK_STREAM, &door) == 0);
	REQUIRE(listen(door, 8) == 0);
	REQUIRE(uv_loop_init(&loop) == 0);
	REQUIRE(socketmap_open(&loop, door, &where, &served) == 0);
	sockaddr_un address = {};
	address.sun_family = AF_UNIX;
	std::strcpy(address.sun_path, path.c_str());
	std::vector<int> clients;
	for (int i = 0; i <= SOCKETMAP_CLIENTS_MAX; i++) {
		clients.push_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
		REQUIRE(connect(clients.back(), reinterpret_cast<const sockaddr *>(&address),
				sizeof(address)) == 0);
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	char text[100];
	ssize_t got = -1;
	REQUIRE(send(clients.back(), "15:location a@b.ex,", 19, MSG_NOSIGNAL) == 19);
	for (int turns = 0; got < 0 && turns < 1000; turns++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		got = recv(clients.back(), text, sizeof(text), 0);
	}
	CHECK(std::string(text, got > 0 ? static_cast<size_t>(got) : 0) == "17:OK a 192.0.2.1 24,");
	CHECK(recv(clients.front(), text, sizeof(text), 0) == 0);
	CHECK(recv(clients[1], text, sizeof(text), 0) == -1);
	for (const int client : clients)
		close(client);
	socketmap_close(served);
	uv_run(&loop, UV_RUN_DEFAULT);
	socketmap_free(served);
	uv_loop_close(&loop);
	close(door);
}

TEST_CASE("the socketmap says where a mailbox is, in the words of each mail server",
	  "[mail-stored][nodes]")
{
	const parsed one(HEAD + peer("a", 1, 'A'));
	const locate where = { &one.setup.nodes, nullptr };
	const auto say = [&](const std::string &map, const std::string &key) {
		char text[SOCKETMAP_LINE_MAX];
		const size_t size = socketmap_answer(&where, name_of(map), name_of(key), text);
		return std::string(text, size);
	};
	CHECK(say("transport", "a@b") == "27:OK lmtp:inet:[192.0.2.1]:24,");
	CHECK(say("mailertable", "a@b") == "23:OK lmtpnode:[192.0.2.1],");
	CHECK(say("location", "a@b") == "17:OK a 192.0.2.1 24,");
	CHECK(say("transport", "b") == "9:NOTFOUND ,");
	CHECK(say("else", "a@b").substr(3, 5) == "PERM ");
}

// ---- what nodes agree about ----

TEST_CASE("what two nodes have to agree about is said in words", "[mail-stored][nodes]")
{
	const std::string a = peer("a", 1, 'A'), b = peer("b", 7, 'B'), c = peer("c", 3, 'C');
	const std::string copied = HEAD.substr(0, 7) + "    copies: 2\n" + HEAD.substr(7);
	// Of "a" and of "b", which has said it.
	const auto [text, other,
		    words] = GENERATE_COPY(table<std::string, std::string, const char *>({
		{ HEAD + a + b + c, HEAD + a + b + c, "" },
		{ HEAD + a + b + c, HEAD + c + b + a, "" },
		{ HEAD + a + b + c, HEAD + a + b, "peer,spread" },
		{ HEAD + a + b + c, HEAD + a + b + peer("c", 4, 'C'), "peer,spread" },
		{ HEAD + a + b + c, HEAD + a + b + c + "    spread: no\n", "spread" },
		{ HEAD + a + b + c, HEAD + a + peer("b", 3, 'B') + peer("c", 7, 'C'), "number" },
		{ HEAD + a + b + c, copied + a + b + c, "copies" },
		{ copied + a + b, HEAD + a + peer("b", 9, 'B'), "number,copies,peer,spread" },
	}));
	const parsed one(text);
	std::string as_b = other;
	const parsed its(as_b.replace(as_b.find("node: a"), 7, "node: b"));
	char said[LOCATE_WORDS_MAX];
	CAPTURE(text, other);
	REQUIRE(one.status == 0);
	REQUIRE(its.status == 0);
	locate_compare(&one.setup.nodes, 1, locate_sum(&its.setup.nodes), said);
	CHECK(std::string(said) == words);
	// Of another version, or of one that says nothing.
	for (const uint64_t format : { 0, 2 }) {
		const uint64_t sum = locate_sum(&its.setup.nodes) & (~UINT64_C(0) >> 8);
		locate_compare(&one.setup.nodes, 1, sum | format << 56, said);
		CHECK(said[0] == '\0');
	}
}

TEST_CASE("each number that nodes differ in is seen", "[mail-stored][nodes]")
{
	const parsed two(HEAD + peer("a", 1, 'A') + peer("b", 2, 'B'));
	std::set<uint64_t> sums = { locate_sum(&two.setup.nodes) };
	for (int number = 3; number <= 255; number++) {
		auto three = two.setup.nodes;
		three.peers[2] = three.peers[1];
		three.peers[2].number = number;
		three.peer_count = 3;
		CHECK(sums.insert(locate_sum(&three)).second);
	}
}

// ---- the configuration ----

TEST_CASE("nodes that do not go together are refused", "[mail-stored][nodes]")
{
	const auto [text, reason] = GENERATE(table<std::string, const char *>({
		{ "peer:\n" + peer("a", 1, 'A'), "nodes: \"node\" is not given" },
		{ HEAD + peer("b", 1, 'A'), "nodes: \"node\" is not the name of a peer" },
		{ HEAD + peer("a", 1, 'A') + peer("b", 1, 'B'), "peer: two nodes have one number" },
		{ HEAD + peer("a", 1, 'A') + peer("b", 2, 'A'), "peer: two nodes have one key" },
		{ HEAD + peer("a", 1, 'A', "    spread: no\n"),
		  "peer: at least one node has \"spread: yes\"" },
		{ HEAD + "  - name: a\n    number: 1\n", "peer: \"address\" is not given" },
	}));
	const parsed file(text);
	CHECK(file.status < 0);
	CHECK(std::string(file.error.reason) == reason);
}

TEST_CASE("one link to a node, which a session would keep from mails, is refused",
	  "[mail-stored][nodes]")
{
	for (const int links : { 1, 2 }) {
		const parsed file("nodes:\n    links: " + std::to_string(links) + HEAD.substr(6) +
				  peer("a", 1, 'A'));
		CAPTURE(links);
		CHECK(file.status == (links == 1 ? -EINVAL : 0));
	}
}

TEST_CASE("a value of a node is refused with its line", "[mail-stored][nodes]")
{
	const std::string wrong =
		GENERATE(as<std::string>{}, "number: 0", "number: 256", "address: /run/socket",
			 "lmtp: /run/lmtp", "key: sha256//AAAA", "key: md5//A", "spread: maybe");
	const parsed file(HEAD + "  - name: a\n    " + wrong + "\n");
	CAPTURE(wrong);
	CHECK(file.status < 0);
	CHECK(file.error.line == 8);
	CHECK(std::string(file.error.reason).substr(0, 9) == "permitted");
}
