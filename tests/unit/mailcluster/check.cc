// SPDX-License-Identifier: GPL-3.0-or-later
// What a check of a cluster finds, and what its repair puts right.
#include "lib/mailcluster/names.h"
#include "lib/mailcluster/values.h"

#include "tests/unit/mailcluster/world.hh"

#include <cerrno>
#include <cstring>

using strings = std::vector<std::string>;

TEST_CASE("a check counts what is there", "[mailcluster][check]")
{
	cluster_world world(1, 2);
	REQUIRE(world.deliver(0, { "a", "b" }, "x\r\n") == 0);
	REQUIRE(world.deliver(1, { "a" }, "yy\r\n") == 0);
	const mailcluster_found found = world.check(1);
	CHECK(found.mails == 2);
	CHECK(found.entries == 3);
	CHECK(found.boxes == 2);
	CHECK(found.octets == 10);
	CHECK(found.few_copies + found.orphans + found.missing + found.damaged + found.old == 0);
	CHECK(world.findings.empty());
	world.objects.copies = 2;
	CHECK(world.check(1).few_copies == world.objects.objects_now().size());
}

TEST_CASE("a check finds what is lost and what is damaged, and removes none of it",
	  "[mailcluster][check]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a" }, "one\r\n") == 0);
	REQUIRE(world.deliver(0, { "a" }, "two\r\n") == 0);
	REQUIRE(world.deliver(0, { "a" }, "three\r\n") == 0);
	const auto entries = world.list(0, "a");
	world.objects.change([&entries](auto &all) {
		all.erase(name_of_mail(entries[0].mail));
		std::string &bytes = all[name_of_mail(entries[1].mail)].bytes;
		bytes[bytes.find("two")] ^= 1;
		all["x.a"].rows["m.nonsense"] = "x";
		all["x.b"].rows["t.0000000000000001"] = "x";
	});
	for (const bool is_repair : { false, true, true }) {
		const mailcluster_found found = world.check(0, is_repair, TWO_DAYS_US);
		CHECK(found.missing == 1);
		CHECK(found.damaged == 3);
		CHECK(found.repaired == 0);
		CHECK(found.entries == 3);
	}
	CHECK(world.list(0, "a").size() == 3);
	int fd = -1;
	CHECK(maillayer_open(world.nodes[0].layer, entries[1].mail, &fd) == MAILSTORE_EDAMAGED);
	CHECK(world.read(0, entries[2].mail) == "three\r\n");
}

TEST_CASE("one object that is damaged hides nothing of the others", "[mailcluster][check]")
{
	const unsigned how = GENERATE(0U, 1U, 2U, 3U, 4U, 5U);
	cluster_world world(1, 1);
	CAPTURE(how);
	REQUIRE(world.deliver(0, { "a" }, "one\r\n") == 0);
	REQUIRE(world.deliver(0, { "b", "c" }, "two\r\n") == 0);
	REQUIRE(mailcluster_put_users(world.nodes[0].cluster, "users", 5, 0) == 0);
	REQUIRE(world.sweep(0) == 0);
	const std::string one = name_of_mail(first_mail(world, 0, "a"));
	const std::string two = name_of_mail(first_mail(world, 0, "b"));
	world.objects.change([&](auto &all) {
		all.erase(one);
		if (how == 0)
			all["u"].rows["now"] = "nonsense";
		if (how == 1)
			all[two].rows.erase("x.b");
		if (how == 1 || how == 2)
			all[two].rows["owner"] = std::string(how == 1 ? 1 : 200, 'x');
		if (how == 3)
			world.objects.faults.unreadable = two;
		if (how == 4)
			all["i." + std::string(2 * MAILID_SIZE, '0')].rows["mail"] = "short";
		if (how == 5) {
			all["x.c"].rows.clear();
			all[two].bytes[MAILRECORD_HEAD_SIZE] ^= 1;
		}
	});
	for (const bool is_repair : { false, true }) {
		const mailcluster_found found = world.check(0, is_repair, TWO_DAYS_US);
		CHECK(found.missing == 1);
		CHECK(found.damaged >= 1);
		CHECK(world.findings.size() >= 2);
	}
	world.objects.faults.unreadable.clear();
	CHECK(world.list(0, "b").size() == 1);
}

TEST_CASE("a mail that no mailbox knows goes when it is a day old, one that some know goes to all",
	  "[mailcluster][check]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a" }, "unknown\r\n") == 0);
	REQUIRE(world.deliver(0, { "b", "c" }, "known\r\n") == 0);
	REQUIRE(world.sweep(0) == 0);
	world.objects.change([](auto &all) {
		all["x.a"].rows.clear();
		all["x.c"].rows.clear();
	});
	CHECK(world.check(0).orphans == 2);
	CHECK(world.check(0, true).repaired == 0);
	CHECK(world.check(0, true, TWO_DAYS_US).repaired >= 2);
	CHECK(world.texts(0, "a").empty());
	CHECK(world.texts(0, "c") == strings{ "known\r\n" });
	for (unsigned i = 2; i < 4; i++)
		(void)world.check(0, true, i * TWO_DAYS_US);
	CHECK(world.objects.count("b.") == 1);
	CHECK(world.check(0, false, 4 * TWO_DAYS_US).orphans == 0);
}

TEST_CASE("a mail that does not name its mailbox is repaired to do so", "[mailcluster][check]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a", "b" }, "x\r\n") == 0);
	const uint64_t mail = first_mail(world, 0, "a");
	world.objects.change([mail](auto &all) { all[name_of_mail(mail)].rows.erase("x.a"); });
	CHECK(world.check(0).orphans == 1);
	CHECK(world.check(0, true).repaired == 1);
	REQUIRE(world.erase(0, "b", mail) == 0);
	CHECK(world.texts(0, "a") == strings{ "x\r\n" });
}

TEST_CASE("a mail that names no mailbox is kept while one of its mailboxes has it",
	  "[mailcluster][check]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a", "b" }, "x\r\n") == 0);
	const uint64_t mail = first_mail(world, 0, "a");
	REQUIRE(world.erase(0, "b", mail) == 0);
	world.objects.change([mail](auto &all) { all[name_of_mail(mail)].rows.erase("x.a"); });
	CHECK(world.check(0).orphans == 2); // as seen from both
	CHECK(world.check(0, true, TWO_DAYS_US).repaired >= 1);
	CHECK(world.texts(0, "a") == strings{ "x\r\n" });
	CHECK(world.check(0).orphans == 0);
	world.objects.change([](auto &all) { all["x.a"].rows.clear(); });
	world.objects.change([mail](auto &all) { all[name_of_mail(mail)].rows.erase("x.a"); });
	CHECK(world.check(0, true).repaired == 1);
	CHECK(world.objects.count("b.") == 0);
}

TEST_CASE("a mail that one mailbox has erased is kept for another that it does not name",
	  "[mailcluster][check]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a", "b" }, "x\r\n") == 0);
	const uint64_t mail = first_mail(world, 0, "a");
	world.objects.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE }, "b.");
	REQUIRE(world.erase(0, "b", mail) == 0);
	world.objects.change([mail](auto &all) { all[name_of_mail(mail)].rows.erase("x.a"); });
	CHECK(world.check(0, true).repaired >= 1);
	CHECK(world.texts(0, "a") == strings{ "x\r\n" });
	CHECK(world.rows("b.", "x.") == 1);
	CHECK(world.check(0).orphans == 0);
}

TEST_CASE("a mail that names no mailbox stays when a delivery takes it up meanwhile",
	  "[mailcluster][check]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	const uint64_t mail = first_mail(world, 0, "a");
	world.objects.change([mail](auto &all) {
		all["x.a"].rows.clear();
		all[name_of_mail(mail)].rows.erase("x.a");
	});
	bool is_taken = false;
	world.objects.watch([&](objects *, const std::string &what, const std::string &name) {
		if (what != "write" || name != name_of_mail(mail) || is_taken)
			return;
		is_taken = true;
		world.objects.change(
			[mail](auto &all) { all[name_of_mail(mail)].rows["owner"].back() ^= 1; });
	});
	(void)world.check(0, true);
	CHECK(is_taken);
	CHECK(world.objects.count("b.") == 1);
}

TEST_CASE("a mail that was kept and names no mailbox stays when it is delivered again meanwhile",
	  "[mailcluster][check]")
{
	cluster_world world(1, 2);
	mailid id{};
	REQUIRE(world.deliver(0, { "a" }, "x\r\n", &id) == 0);
	REQUIRE(world.deliver(0, { "a" }, "x\r\n", nullptr, &id) == 0); // now it is kept
	const uint64_t mail = first_mail(world, 0, "a");
	world.objects.change([mail](auto &all) {
		all["x.a"].rows.clear();
		all[name_of_mail(mail)].rows.erase("x.a");
	});
	bool is_taken = false;
	world.objects.watch([&](objects *, const std::string &what, const std::string &name) {
		if (what != "write" || name != name_of_mail(mail) || is_taken)
			return;
		is_taken = true;
		CHECK(world.deliver(1, { "a" }, "x\r\n", nullptr, &id) == 0);
	});
	(void)world.check(0, true);
	CHECK(is_taken);
	CHECK(world.texts(1, "a") == strings{ "x\r\n" });
}

TEST_CASE("a deletion that ends while its mail is checked is no finding", "[mailcluster][check]")
{
	cluster_world world(1, 2);
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	const uint64_t mail = first_mail(world, 0, "a");
	bool is_erased = false;
	world.objects.watch([&](objects *, const std::string &what, const std::string &name) {
		if (what != "row" || name != "x.a" || is_erased)
			return;
		is_erased = true;
		CHECK(world.erase(1, "a", mail) == 0);
	});
	CHECK(world.check(0).orphans == 0);
	CHECK(is_erased);
	CHECK(world.findings.empty());
}

TEST_CASE("a repair that the cluster does not take is not counted as one", "[mailcluster][check]")
{
	cluster_world world(1, 1);
	struct mailcluster_check check {
	};
	mailcluster_found found{};
	check.is_repair = true;
	REQUIRE(world.deliver(0, { "a", "b" }, "x\r\n") == 0);
	world.objects.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE }, "b.");
	REQUIRE(world.erase(0, "b", first_mail(world, 0, "a")) == 0);
	world.objects.refuse(-ENOSPC);
	CHECK(mailcluster_check(world.nodes[0].cluster, &check, &found) == -ENOSPC);
	world.objects.refuse(0);
	CHECK(world.check(0, true).repaired == 1);
}

TEST_CASE("rows about mails that are gone stay a day", "[mailcluster][check]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	REQUIRE(world.erase(0, "a", first_mail(world, 0, "a")) == 0);
	CHECK(world.check(0, true).old == 0);
	CHECK(world.rows("x.", "t.") == 1);
	CHECK(world.check(0, false, TWO_DAYS_US).old == 1);
	CHECK(world.check(0, true, TWO_DAYS_US).repaired == 1);
	CHECK(world.rows("x.", "t.") == 0);
}

TEST_CASE("old rows of a mailbox go many in a write, and one that has changed meanwhile stays",
	  "[mailcluster][check]")
{
	constexpr unsigned COUNT = 1203;
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	const gonevalue gone = { GONEVALUE_ERASED, 1 };
	const gonevalue newer = { GONEVALUE_REFUSED, 2 };
	uint8_t bytes[GONEVALUE_SIZE];
	uint8_t newer_bytes[GONEVALUE_SIZE];
	gonevalue_encode(&gone, bytes);
	gonevalue_encode(&newer, newer_bytes);
	const auto key_of = [](unsigned i) {
		char key[NAMES_NUMBER_SIZE];
		names_number('t', i + 1, key);
		return std::string(key);
	};
	world.objects.change([&](auto &all) {
		for (unsigned i = 0; i < COUNT; i++)
			all["x.a"].rows[key_of(i)].assign(reinterpret_cast<char *>(bytes),
							  sizeof(bytes));
	});
	SECTION("none has changed")
	{
		const unsigned before = world.objects.writes();
		const mailcluster_found found = world.check(0, true, TWO_DAYS_US);
		CHECK(found.old == COUNT);
		CHECK(found.repaired == COUNT);
		CHECK(world.objects.writes() - before == 3);
		CHECK(world.rows("x.a", "t.") == 0);
	}
	SECTION("one has")
	{
		world.objects.watch([&](objects *, const std::string &what, const std::string &) {
			if (what == "write")
				world.objects.change([&](auto &all) {
					const auto row = all["x.a"].rows.find(key_of(700));
					if (row != all["x.a"].rows.end())
						row->second.assign(
							reinterpret_cast<char *>(newer_bytes),
							sizeof(newer_bytes));
				});
		});
		CHECK(world.check(0, true, TWO_DAYS_US).old == COUNT);
		CHECK(world.rows("x.a", "t.") == 1);
		CHECK(world.rows("x.a", key_of(700)) == 1);
	}
	CHECK(world.rows("x.a", "m.") == 1);
}

TEST_CASE("a check that cannot reach the cluster says so", "[mailcluster][check]")
{
	cluster_world world(1, 1);
	struct mailcluster_check check {
	};
	mailcluster_found found{};
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	world.objects.faults.read_timeout_one_in = 1;
	CHECK(mailcluster_check(world.nodes[0].cluster, &check, &found) == -ETIMEDOUT);
}
