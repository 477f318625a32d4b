// SPDX-License-Identifier: GPL-3.0-or-later
// The promises of objects.h, asked of a RADOS cluster: test_objects_rados.py starts it, and runs the
// cases of one tag at a time, as the cluster is then: [whole], [full], [refused], [away].
#include "integration/mail/mail-stored/rados/objects_rados.h"
#include "lib/mailcluster/objects.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{
// Functions have these names, too.
using row_to_write = struct objects_row;
using one_write = struct objects_write;

const char *setting(const char *name)
{
	const char *value = getenv(name);
	return value != nullptr ? value : "";
}

struct closer {
	void operator()(objects *one) const
	{
		objects_close(one);
	}
};
using handle = std::unique_ptr<objects, closer>;

int open_pool(const char *pool, unsigned timeout_s, handle *ret_handle)
{
	objects_rados_setup setup = {};
	setup.conf_path = setting("CEPH_CONF");
	setup.user = "mail";
	setup.pool = pool;
	setup.timeout_s = timeout_s;
	objects *opened = nullptr;
	const int status = objects_rados_open(&setup, &opened);
	if (status == 0)
		ret_handle->reset(opened);
	return status;
}

handle opened(unsigned timeout_s = 60)
{
	handle made;
	REQUIRE(open_pool("mail", timeout_s, &made) == 0);
	return made;
}

// A name that no other case has, nor an earlier run.
std::string fresh(const std::string &what)
{
	static std::atomic<unsigned> count;
	return what + "." + std::to_string(getpid()) + "." + std::to_string(count++);
}

using rows = std::map<std::string, std::string>;

// One write, put together.
struct writing {
	std::string name;
	objects_guard guard = OBJECTS_ANY;
	bool is_removal = false;
	rows same, set;
	std::vector<std::string> unset;
	bool has_bytes = false;
	std::string bytes;

	static std::vector<row_to_write> listed(const rows &all)
	{
		std::vector<row_to_write> list;
		for (const auto &row : all)
			list.push_back({ row.first.c_str(), row.second.data(), row.second.size() });
		return list;
	}

	int operator()(objects *to) const
	{
		const auto same_list = listed(same);
		const auto set_list = listed(set);
		std::vector<const char *> unset_list;
		for (const auto &key : unset)
			unset_list.push_back(key.c_str());
		one_write write = {};
		write.name = name.c_str();
		write.guard = guard;
		write.is_removal = is_removal;
		write.same = same_list.data();
		write.same_count = same_list.size();
		write.set = set_list.data();
		write.set_count = set_list.size();
		write.unset = unset_list.data();
		write.unset_count = unset_list.size();
		write.bytes = has_bytes ? bytes.data() : nullptr;
		write.size = bytes.size();
		const int status = objects_write(to, &write, 1);
		CHECK(status == write.status);
		return status;
	}
};

writing named(const std::string &name, objects_guard guard = OBJECTS_ANY)
{
	writing made;
	made.name = name;
	made.guard = guard;
	return made;
}

writing with_rows(const std::string &name, const rows &set, const rows &same = {})
{
	writing made = named(name);
	made.set = set;
	made.same = same;
	return made;
}

writing with_bytes(const std::string &name, const std::string &bytes,
		   objects_guard guard = OBJECTS_ANY)
{
	writing made = named(name, guard);
	made.has_bytes = true;
	made.bytes = bytes;
	return made;
}

writing removal(const std::string &name, const rows &same = {})
{
	writing made = named(name);
	made.is_removal = true;
	made.same = same;
	return made;
}

struct page {
	objects_page found = {};

	~page()
	{
		objects_page_free(&found);
	}
};

// All of a prefix behind a key, page by page; pages is how many there were.
rows all_rows(objects *from, const std::string &name, const std::string &prefix = "",
	      size_t most = 1000, std::string behind = "", unsigned *pages = nullptr)
{
	rows all;
	for (;;) {
		page one;
		REQUIRE(objects_rows(from, name.c_str(), behind.c_str(), prefix.c_str(), most,
				     &one.found) == 0);
		if (pages != nullptr)
			++*pages;
		REQUIRE(one.found.count <= most);
		for (size_t i = 0; i < one.found.count; i++) {
			const objects_found &row = one.found.rows[i];
			REQUIRE(strlen(row.key) == row.key_size);
			const std::string key = row.key;
			REQUIRE(key > behind);
			behind = key;
			all[key] = { reinterpret_cast<const char *>(row.value), row.size };
		}
		if (one.found.is_last)
			return all;
		REQUIRE(one.found.count > 0);
	}
}

std::string all_bytes(objects *from, const std::string &name, size_t room = 1 << 20)
{
	std::string bytes(room, '?');
	size_t size = 0;
	REQUIRE(objects_read(from, name.c_str(), 0, bytes.data(), bytes.size(), &size) == 0);
	bytes.resize(size);
	return bytes;
}

std::string random_bytes(size_t size)
{
	std::string bytes(size, '\0');
	uint64_t state = 88172645463325252U;
	for (auto &byte : bytes) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		byte = static_cast<char>(state);
	}
	return bytes;
}
} // namespace

TEST_CASE("rows and bytes of one write are there together", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("together");
	writing both = with_bytes(name, std::string("a\0b\n", 4), OBJECTS_NEW);
	both.set = { { "m.1", std::string("\0\xff", 2) }, { "m.2", "two" } };
	REQUIRE(both(to.get()) == 0);
	CHECK(all_bytes(to.get(), name) == both.bytes);
	CHECK(all_rows(to.get(), name) == both.set);
	uint64_t size = 0;
	REQUIRE(objects_size(to.get(), name.c_str(), &size) == 0);
	CHECK(size == 4);
	// The bytes are replaced as a whole, and rows stay.
	REQUIRE(with_bytes(name, "x")(to.get()) == 0);
	CHECK(all_bytes(to.get(), name) == "x");
	CHECK(all_rows(to.get(), name) == both.set);
	REQUIRE(with_bytes(name, "")(to.get()) == 0);
	CHECK(all_bytes(to.get(), name).empty());
	REQUIRE(with_rows(name, { { "m.3", "three" } })(to.get()) == 0);
	CHECK(all_bytes(to.get(), name).empty());
}

TEST_CASE("an object that has to be new is refused the second time, and nothing of it changes",
	  "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("new");
	REQUIRE(with_bytes(name, "first", OBJECTS_NEW)(to.get()) == 0);
	writing second = with_bytes(name, "second", OBJECTS_NEW);
	second.set = { { "row", "of the second" } };
	CHECK(second(to.get()) == -EEXIST);
	CHECK(all_bytes(to.get(), name) == "first");
	CHECK(all_rows(to.get(), name).empty());
}

TEST_CASE("an object that has to be old is refused when it is not there, and is not made",
	  "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("old");
	writing write = with_bytes(name, "bytes", OBJECTS_OLD);
	write.set = { { "row", "value" } };
	CHECK(write(to.get()) == -ENOENT);
	uint64_t size = 0;
	CHECK(objects_size(to.get(), name.c_str(), &size) == -ENOENT);
	REQUIRE(named(name)(to.get()) == 0); // made by a write that says nothing else
	CHECK(write(to.get()) == 0);
	CHECK(all_bytes(to.get(), name) == "bytes");
	// A guard alone is a question.
	CHECK(named(name, OBJECTS_OLD)(to.get()) == 0);
	CHECK(named(fresh("none"), OBJECTS_OLD)(to.get()) == -ENOENT);
}

TEST_CASE("a write whose rows are not as they have to be changes nothing", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("same");
	REQUIRE(with_rows(name, { { "a", "1" }, { "b", "2" } })(to.get()) == 0);
	const rows wrong =
		GENERATE(rows{ { "a", "2" } }, rows{ { "a", "" } }, rows{ { "a", "10" } },
			 rows{ { "c", "3" } }, rows{ { "a", "1" }, { "b", "1" } },
			 rows{ { "a", "1" }, { "b", "2" }, { "c", "3" } });
	writing write = with_rows(name, { { "a", "9" }, { "d", "9" } }, wrong);
	write.unset = { "b" };
	write.has_bytes = true;
	write.bytes = "bytes";
	CHECK(write(to.get()) == -ECANCELED);
	CHECK(all_rows(to.get(), name) == rows{ { "a", "1" }, { "b", "2" } });
	CHECK(all_bytes(to.get(), name).empty());
	CHECK(removal(name, wrong)(to.get()) == -ECANCELED);
	write.same = { { "a", "1" }, { "b", "2" }, { "c", "" } };
	CHECK(write(to.get()) == 0);
	CHECK(all_rows(to.get(), name) == rows{ { "a", "9" }, { "d", "9" } });
}

TEST_CASE("an object that is not there has no rows, and a guard may say so", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("absent");
	CHECK(with_rows(name, { { "lock", "me" } }, { { "lock", "you" } })(to.get()) == -ECANCELED);
	uint64_t size = 0;
	CHECK(objects_size(to.get(), name.c_str(), &size) == -ENOENT);
	CHECK(with_rows(name, { { "lock", "me" } }, { { "lock", "" } })(to.get()) == 0);
	CHECK(with_rows(name, { { "lock", "you" } }, { { "lock", "" } })(to.get()) == -ECANCELED);
	// The same for one that has to be new.
	writing made = with_rows(fresh("absent"), { { "lock", "me" } }, { { "lock", "" } });
	made.guard = OBJECTS_NEW;
	CHECK(made(to.get()) == 0);
	writing not_made = with_rows(fresh("absent"), { { "lock", "me" } }, { { "lock", "x" } });
	not_made.guard = OBJECTS_NEW;
	CHECK(not_made(to.get()) == -ECANCELED);
	// And for an object with bytes that has never had a row.
	const std::string body = fresh("absent");
	REQUIRE(with_bytes(body, "bytes")(to.get()) == 0);
	CHECK(with_rows(body, { { "lock", "me" } }, { { "lock", "" } })(to.get()) == 0);
}

TEST_CASE("rows that are not there are passed over when they are to go", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("unset");
	writing write = named(name);
	write.unset = { "a", "b" };
	CHECK(write(to.get()) == 0); // makes the object
	REQUIRE(with_rows(name, { { "a", "1" }, { "b", "2" }, { "c", "3" } })(to.get()) == 0);
	write.unset = { "a", "x", "c" };
	CHECK(write(to.get()) == 0);
	CHECK(all_rows(to.get(), name) == rows{ { "b", "2" } });
}

TEST_CASE("what is removed is gone with its rows, once", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("removed");
	CHECK(removal(name)(to.get()) == -ENOENT);
	CHECK(removal(name, { { "a", "1" } })(to.get()) == -ENOENT);
	writing write = with_bytes(name, "bytes");
	write.set = { { "a", "1" } };
	REQUIRE(write(to.get()) == 0);
	CHECK(removal(name, { { "a", "1" }, { "b", "" } })(to.get()) == 0);
	page none;
	none.found.count = 7;
	CHECK(objects_rows(to.get(), name.c_str(), "", "", 10, &none.found) == -ENOENT);
	CHECK(none.found.count == 0);
	char byte = 0;
	size_t size = 0;
	CHECK(objects_read(to.get(), name.c_str(), 0, &byte, 1, &size) == -ENOENT);
	CHECK(objects_row(to.get(), name.c_str(), "a", &byte, 1, &size) == -ENOENT);
	CHECK(removal(name)(to.get()) == -ENOENT);
	// It may be made again, without what it had.
	REQUIRE(named(name, OBJECTS_NEW)(to.get()) == 0);
	CHECK(all_rows(to.get(), name).empty());
}

TEST_CASE("a row without a value cannot be written", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("empty");
	CHECK(with_rows(name, { { "a", "1" }, { "b", "" } })(to.get()) == -EINVAL);
	uint64_t size = 0;
	CHECK(objects_size(to.get(), name.c_str(), &size) == -ENOENT);
}

TEST_CASE("rows come in the order of their keys, in pages, of one prefix, behind a key", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("pages");
	rows expected;
	for (unsigned i = 0; i < 2500; i++) {
		char key[32];
		snprintf(key, sizeof(key), "m.%016x", i * 7);
		expected[key] = "value " + std::to_string(i);
	}
	rows others = { { "lock", "l" }, { "t.1", "t" }, { "m", "no prefix" }, { "n", "behind" } };
	REQUIRE(with_rows(name, expected)(to.get()) == 0);
	REQUIRE(with_rows(name, others)(to.get()) == 0);
	unsigned pages = 0;
	CHECK(all_rows(to.get(), name, "m.", 100000, "", &pages) == expected);
	CHECK(pages >= 3); // no page has more than the cluster gives
	pages = 0;
	CHECK(all_rows(to.get(), name, "m.", 700, "", &pages) == expected);
	CHECK(pages >= 4);
	const std::string middle = std::next(expected.begin(), 1234)->first;
	CHECK(all_rows(to.get(), name, "m.", 1000, middle) ==
	      rows(expected.upper_bound(middle), expected.end()));
	CHECK(all_rows(to.get(), name, "t.") == rows{ { "t.1", "t" } });
	CHECK(all_rows(to.get(), name, "t.", 10, "t.1").empty());
	CHECK(all_rows(to.get(), name, "t.", 10, "z").empty());
	CHECK(all_rows(to.get(), name, "z.").empty());
	expected.insert(others.begin(), others.end());
	CHECK(all_rows(to.get(), name) == expected);
}

TEST_CASE("one row is read where there is room for it", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("row");
	REQUIRE(with_rows(name, { { "a", "12345678" } })(to.get()) == 0);
	char value[16] = "...............";
	size_t size = 0;
	REQUIRE(objects_row(to.get(), name.c_str(), "a", value, sizeof(value), &size) == 0);
	CHECK(std::string(value, size) == "12345678");
	CHECK(objects_row(to.get(), name.c_str(), "a", value, 7, &size) == -ERANGE);
	CHECK(objects_row(to.get(), name.c_str(), "a", value, 8, &size) == 0);
	CHECK(objects_row(to.get(), name.c_str(), "b", value, sizeof(value), &size) == -ENOENT);
	CHECK(objects_row(to.get(), fresh("row").c_str(), "a", value, sizeof(value), &size) ==
	      -ENOENT);
}

TEST_CASE("bytes are read from any place on, and end where they end", "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("read");
	REQUIRE(with_bytes(name, "0123456789")(to.get()) == 0);
	char bytes[16];
	size_t size = 0;
	REQUIRE(objects_read(to.get(), name.c_str(), 3, bytes, 4, &size) == 0);
	CHECK(std::string(bytes, size) == "3456");
	REQUIRE(objects_read(to.get(), name.c_str(), 8, bytes, sizeof(bytes), &size) == 0);
	CHECK(std::string(bytes, size) == "89");
	REQUIRE(objects_read(to.get(), name.c_str(), 10, bytes, sizeof(bytes), &size) == 0);
	CHECK(size == 0);
	REQUIRE(objects_read(to.get(), name.c_str(), 1000, bytes, sizeof(bytes), &size) == 0);
	CHECK(size == 0);
	REQUIRE(objects_read(to.get(), name.c_str(), 0, bytes, 0, &size) == 0);
	CHECK(size == 0);
}

TEST_CASE("50 MB are written and read back, and more than an object may have is refused", "[whole]")
{
	const handle to = opened(120);
	const std::string name = fresh("large");
	const std::string bytes = random_bytes(50 << 20);
	REQUIRE(with_bytes(name, bytes, OBJECTS_NEW)(to.get()) == 0);
	CHECK((all_bytes(to.get(), name, 60 << 20) == bytes));
	CHECK(removal(name)(to.get()) == 0);
	const std::string too_much(OBJECTS_RADOS_BYTES_MAX + 1, 'x');
	CHECK(with_bytes(name, too_much)(to.get()) == -EFBIG);
	const std::string most(OBJECTS_RADOS_BYTES_MAX, 'x');
	CHECK(with_bytes(name, most)(to.get()) == 0);
	CHECK(removal(name)(to.get()) == 0);
}

TEST_CASE("many writes at once have each a status of their own", "[whole]")
{
	const handle to = opened();
	const std::string there = fresh("there");
	REQUIRE(named(there)(to.get()) == 0);
	std::vector<std::string> names;
	for (unsigned i = 0; i < 2000; i++)
		names.push_back(i % 100 == 50 ? there : fresh("many"));
	const row_to_write row = { "row", "value", 5 };
	std::vector<one_write> writes(names.size());
	for (size_t i = 0; i < writes.size(); i++) {
		writes[i].name = names[i].c_str();
		writes[i].guard = OBJECTS_NEW;
		writes[i].set = &row;
		writes[i].set_count = 1;
		writes[i].status = 1;
	}
	writes[1999].set_count = 0;
	writes[1999].same = &row;
	writes[1999].same_count = 1;
	CHECK(objects_write(to.get(), writes.data(), writes.size()) == -EEXIST);
	for (size_t i = 0; i < writes.size() - 1; i++) {
		CAPTURE(i);
		REQUIRE(writes[i].status == (i % 100 == 50 ? -EEXIST : 0));
	}
	CHECK(writes[1999].status == -ECANCELED);
	CHECK(all_rows(to.get(), names[1998]) == rows{ { "row", "value" } });
	CHECK(objects_write(to.get(), nullptr, 0) == 0);
}

TEST_CASE("sixteen threads count up one row, each from what it has seen, and no step is lost",
	  "[whole]")
{
	const handle to = opened();
	const std::string name = fresh("counter");
	REQUIRE(with_rows(name, { { "count", "0" } })(to.get()) == 0);
	const unsigned steps = 8;
	std::atomic<unsigned> failures{ 0 };
	const auto count_up = [&] {
		for (unsigned done = 0; done < steps;) {
			char value[32];
			size_t size = 0;
			if (objects_row(to.get(), name.c_str(), "count", value, sizeof(value),
					&size) != 0) {
				failures++;
				return;
			}
			const std::string old(value, size);
			const std::string grown = std::to_string(std::stoul(old) + 1);
			const row_to_write same = { "count", old.data(), old.size() };
			const row_to_write set = { "count", grown.data(), grown.size() };
			one_write write = {};
			write.name = name.c_str();
			write.same = &same;
			write.same_count = 1;
			write.set = &set;
			write.set_count = 1;
			const int status = objects_write(to.get(), &write, 1);
			if (status == 0)
				done++;
			else if (status != -ECANCELED)
				failures++;
		}
	};
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < 16; i++)
		threads.emplace_back(count_up);
	for (auto &thread : threads)
		thread.join();
	CHECK(failures == 0);
	CHECK(all_rows(to.get(), name) == rows{ { "count", std::to_string(16 * steps) } });
}

TEST_CASE("sixteen threads write and read objects of their own through one handle", "[whole]")
{
	const handle to = opened();
	std::atomic<unsigned> failures{ 0 };
	const std::string bytes = random_bytes(8192);
	std::vector<std::string> names;
	for (unsigned i = 0; i < 16; i++)
		names.push_back(fresh("thread"));
	const auto work = [&](const std::string &prefix) {
		for (unsigned i = 0; i < 30; i++) {
			const std::string name = prefix + "." + std::to_string(i);
			one_write write = {};
			write.name = name.c_str();
			write.guard = OBJECTS_NEW;
			write.bytes = bytes.data();
			write.size = bytes.size() - i;
			failures += objects_write(to.get(), &write, 1) != 0;
			std::string read(bytes.size(), '?');
			size_t size = 0;
			failures += objects_read(to.get(), name.c_str(), 0, read.data(),
						 read.size(), &size) != 0;
			failures += read.substr(0, size) != bytes.substr(0, bytes.size() - i);
		}
	};
	std::vector<std::thread> threads;
	for (const auto &name : names)
		threads.emplace_back(work, name);
	for (auto &thread : threads)
		thread.join();
	CHECK(failures == 0);
}

namespace
{
struct seen {
	std::map<std::string, unsigned> copies;
	size_t most = SIZE_MAX;
};

bool take_name(void *owner, const char *name, unsigned copies)
{
	auto *all = static_cast<seen *>(owner);
	CHECK(all->copies.count(name) == 0);
	all->copies[name] = copies;
	return all->copies.size() < all->most;
}
} // namespace

TEST_CASE("each object is in the list once, with as many copies as there are machines", "[whole]")
{
	const handle to = opened();
	std::set<std::string> names;
	for (unsigned i = 0; i < 300; i++)
		names.insert(fresh(i % 2 == 0 ? "listed" : "x.%\"\\ odd"));
	for (const auto &name : names)
		REQUIRE(named(name)(to.get()) == 0);
	const auto copies = static_cast<unsigned>(atoi(setting("DNSBLV6_COPIES")));
	seen all;
	REQUIRE(objects_list(to.get(), take_name, &all) == 0);
	for (const auto &name : names) {
		CAPTURE(name);
		REQUIRE(all.copies.count(name) == 1);
		CHECK(all.copies[name] == copies);
	}
	seen few;
	few.most = 10;
	REQUIRE(objects_list(to.get(), take_name, &few) == 0);
	CHECK(few.copies.size() == 10);
}

TEST_CASE("the state of the cluster is told", "[whole][missing]")
{
	const handle to = opened();
	objects_state state = {};
	REQUIRE(objects_describe(to.get(), &state) == 0);
	CHECK(state.copies_wanted == 3);
	CHECK(state.machines == 3);
	CHECK(state.machines_up == static_cast<unsigned>(atoi(setting("DNSBLV6_COPIES"))));
	const std::string words = state.words;
	CAPTURE(words);
	CHECK(words.empty() == (state.machines_up == 3));
	CHECK(words.find('\n') == std::string::npos);
}

TEST_CASE("with a machine missing the list says how many copies there are", "[missing]")
{
	const handle to = opened();
	const std::string name = fresh("two copies");
	REQUIRE(with_bytes(name, "bytes")(to.get()) == 0);
	seen all;
	REQUIRE(objects_list(to.get(), take_name, &all) == 0);
	CHECK(all.copies[name] == static_cast<unsigned>(atoi(setting("DNSBLV6_COPIES"))));
}

TEST_CASE("a pool, a file or a key that is not there is said when it is opened", "[whole]")
{
	handle none;
	CHECK(open_pool("no-such-pool", 60, &none) == -ENOENT);
	objects_rados_setup setup = {};
	setup.conf_path = "/nonexistent/ceph.conf";
	setup.user = "mail";
	setup.pool = "mail";
	setup.timeout_s = 60;
	objects *made = nullptr;
	CHECK(objects_rados_open(&setup, &made) == -ENOENT);
	setup.conf_path = setting("CEPH_CONF");
	setup.user = "nobody-has-this-name";
	CHECK(objects_rados_open(&setup, &made) == -ENOENT);
	setup.user = "mail";
	setup.timeout_s = 0;
	CHECK(objects_rados_open(&setup, &made) == -EINVAL);
	CHECK(made == nullptr);
	objects_close(nullptr);
}

TEST_CASE("a key of another cluster is refused", "[stranger]")
{
	handle none;
	CHECK(open_pool("mail", 60, &none) == -EACCES);
}

// The names are made while there is room, by a run of [before].
TEST_CASE("an object for later is there", "[before]")
{
	const handle to = opened();
	writing write = with_bytes(setting("DNSBLV6_OBJECT"), "bytes");
	write.set = { { "row", "value" } };
	CHECK(write(to.get()) == 0);
}

TEST_CASE("a full cluster refuses at once what needs room, and gives and removes what is there",
	  "[full]")
{
	const handle to = opened();
	const std::string name = setting("DNSBLV6_OBJECT");
	CHECK(with_bytes(fresh("full"), "bytes", OBJECTS_NEW)(to.get()) == -ENOSPC);
	CHECK(with_rows(fresh("full"), { { "row", "value" } })(to.get()) == -ENOSPC);
	CHECK(with_bytes(name, random_bytes(8192))(to.get()) == -ENOSPC);
	CHECK(all_bytes(to.get(), name) == "bytes");
	CHECK(all_rows(to.get(), name) == rows{ { "row", "value" } });
	// What a deletion writes: another row in the place of one.
	writing swap = with_rows(name, { { "t.1", "gone" } }, { { "row", "value" } });
	swap.unset = { "row" };
	CHECK(swap(to.get()) == 0);
	CHECK(all_rows(to.get(), name) == rows{ { "t.1", "gone" } });
	CHECK(removal(name)(to.get()) == 0);
}

TEST_CASE("a key without rights may do nothing", "[refused]")
{
	const handle to = opened();
	const std::string name = setting("DNSBLV6_OBJECT");
	CHECK(with_bytes(fresh("refused"), "bytes")(to.get()) == -EACCES);
	CHECK(removal(name)(to.get()) == -EACCES);
	char byte = 0;
	size_t size = 0;
	CHECK(objects_read(to.get(), name.c_str(), 0, &byte, 1, &size) == -EACCES);
	page none;
	CHECK(objects_rows(to.get(), name.c_str(), "", "", 10, &none.found) == -EACCES);
	seen all;
	CHECK(objects_list(to.get(), take_name, &all) == -EACCES);
}

// test_objects_rados.py ends or stops all OSDs when it sees the file that this makes.
TEST_CASE("what gets no answer in its time has timed out, and goes on when the machines are back",
	  "[away]")
{
	handle to;
	int status = 0;
	do
		status = open_pool("mail", 3, &to);
	while (status == -ETIMEDOUT);
	REQUIRE(status == 0);
	// What is no question of time: a machine that is busy takes more than the three seconds for it.
	const handle patient = opened();
	const std::string name = fresh("away");
	const writing created = with_bytes(fresh("away"), "made once", OBJECTS_NEW);
	const std::string signs = setting("DNSBLV6_SIGNS");
	const auto make_sign = [&](const std::string &sign) {
		FILE *file = fopen((signs + "/" + sign).c_str(), "w");
		REQUIRE(file != nullptr);
		fclose(file);
	};
	const auto await_sign = [&](const std::string &sign) {
		while (access((signs + "/" + sign).c_str(), F_OK) != 0)
			usleep(10000);
	};
	REQUIRE(with_rows(name, { { "a", "1" } })(patient.get()) == 0);
	make_sign("ready");
	await_sign("away");
	CHECK(with_rows(name, { { "a", "2" } }, { { "a", "1" } })(to.get()) == -ETIMEDOUT);
	CHECK(created(to.get()) == -ETIMEDOUT);
	char value[8];
	size_t size = 0;
	CHECK(objects_row(to.get(), name.c_str(), "a", value, sizeof(value), &size) == -ETIMEDOUT);
	make_sign("seen");
	await_sign("back");
	do
		status = objects_row(to.get(), name.c_str(), "a", value, sizeof(value), &size);
	while (status == -ETIMEDOUT);
	REQUIRE(status == 0);
	// Either is right: the write that timed out was done, or it was not.
	const std::string old(value, size);
	CHECK((old == "1" || old == "2"));
	do
		status = with_rows(name, { { "a", "3" } })(to.get());
	while (status == -ETIMEDOUT);
	CHECK(status == 0);
	CHECK(all_rows(patient.get(), name) == rows{ { "a", "3" } });
	// The same for one that makes an object, and is repeated: it is there, once.
	do
		status = created(to.get());
	while (status == -ETIMEDOUT);
	CHECK((status == 0 || status == -EEXIST));
	CHECK(all_bytes(patient.get(), created.name) == created.bytes);
	CHECK(created(patient.get()) == -EEXIST);
}

TEST_CASE("without any monitor opening times out", "[no-monitor]")
{
	handle none;
	CHECK(open_pool("mail", 2, &none) == -ETIMEDOUT);
}
