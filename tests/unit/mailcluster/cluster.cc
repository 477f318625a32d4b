// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/mailcluster/names.h"
#include "lib/mailcluster/values.h"

#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/mailcluster/world.hh"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using strings = std::vector<std::string>;

// ---- nodes and numbers ----

TEST_CASE("a number never comes twice, also when the clock is set back", "[mailcluster][nodes]")
{
	cluster_world world(1, 1);
	mailid before{};
	REQUIRE(maillayer_make_id(world.nodes[0].layer, &before) == 0);
	for (unsigned i = 0; i < 3; i++) {
		world.kill(0);
		world.skews = { static_cast<uint64_t>(-3600000000LL * (i + 1)) };
		REQUIRE(world.start(0) == 0);
		REQUIRE(world.beat(0) == 0);
		mailid after{};
		REQUIRE(maillayer_make_id(world.nodes[0].layer, &after) == 0);
		CHECK(memcmp(before.bytes, after.bytes, 8) < 0);
		before = after;
	}
}

TEST_CASE("a number is not much older than the last beat that was written", "[mailcluster][nodes]")
{
	cluster_world world(1, 1);
	const uint64_t before_us = world.now(0);
	mailid id{};
	world.time_us += 60000000;
	world.objects.refuse(-ENOSPC);
	CHECK(world.beat(0) == -ENOSPC);
	REQUIRE(maillayer_make_id(world.nodes[0].layer, &id) == 0);
	uint64_t number = 0;
	for (unsigned i = 0; i < 8; i++)
		number = number << 8 | id.bytes[i];
	CHECK(number >> 10 >= before_us);
	CHECK(number >> 10 < world.now(0));
	world.objects.refuse(0);
	REQUIRE(world.beat(0) == 0);
	mailid after{};
	REQUIRE(maillayer_make_id(world.nodes[0].layer, &after) == 0);
	CHECK(memcmp(id.bytes, after.bytes, 8) < 0);
}

TEST_CASE("machines have slots of their own, and keep them", "[mailcluster][nodes]")
{
	cluster_world world(1, 3);
	std::vector<mailcluster_node> nodes(MAILCLUSTER_NODES_MAX);
	world.kill(1);
	REQUIRE(world.start(1) == 0);
	REQUIRE(world.beat(1) == 0);
	REQUIRE(mailcluster_nodes(world.nodes[1].cluster, nodes.data()) == 3);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(nodes[i].slot == i);
		CHECK(nodes[i].name == "node" + std::to_string(i));
		CHECK(nodes[i].is_self == (i == 1));
	}
}

TEST_CASE("the first of two machines with one name stops", "[mailcluster][nodes]")
{
	cluster_world world(1, 2);
	const cluster_world::node first = world.nodes[0];
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	REQUIRE(maillayer_lock(first.layer, name_of("a")) == 0);
	REQUIRE(world.start(0) == 0);
	CHECK(mailcluster_beat(world.nodes[0].cluster, world.now(0)) == 0);
	CHECK(mailcluster_beat(first.cluster, world.now(0)) == MAILSTORE_EFAILED);
	std::swap(world.nodes[1], world.nodes[0]);
	const cluster_world::node other = world.nodes[0];
	world.nodes[0] = first;
	CHECK(world.deliver(0, { "a" }, "y\r\n") == MAILSTORE_EFAILED);
	CHECK(world.erase(0, "a", 1) == MAILSTORE_EFAILED);
	CHECK(world.sweep(0) == MAILSTORE_EFAILED);
	mailid id{};
	CHECK(maillayer_make_id(first.layer, &id) == MAILSTORE_EFAILED);
	CHECK(maillayer_sync(first.layer) == MAILSTORE_EFAILED);
	world.kill(0);
	world.nodes[0] = other;
	CHECK(world.texts(1, "a") == strings{ "x\r\n" });
}

TEST_CASE("a machine that does not beat is seen to be quiet, whatever its clock says",
	  "[mailcluster][nodes]")
{
	cluster_world world(1, 2);
	std::vector<mailcluster_node> nodes(MAILCLUSTER_NODES_MAX);
	world.skews = { 0, 7200000000 };
	REQUIRE(world.beat(1) == 0);
	beat_often(world, 0, 4);
	REQUIRE(mailcluster_nodes(world.nodes[0].cluster, nodes.data()) == 2);
	CHECK(nodes[0].quiet_beats == 0);
	CHECK(nodes[1].quiet_beats == 3);
	REQUIRE(world.beat(1) == 0);
	REQUIRE(world.beat(0) == 0);
	REQUIRE(mailcluster_nodes(world.nodes[0].cluster, nodes.data()) == 2);
	CHECK(nodes[1].quiet_beats == 0);
}

TEST_CASE("a beat goes on behind one whose answer was lost", "[mailcluster][nodes]")
{
	const auto what = GENERATE(sim_objects::NOT_DONE, sim_objects::DONE, sim_objects::LATE);
	cluster_world world(1, 1);
	world.objects.time_out({ what }, "nodes");
	CHECK(world.beat(0) == -ETIMEDOUT);
	CHECK(world.beat(0) == 0);
	world.objects.settle();
	CHECK(world.beat(0) == 0);
	CHECK(world.deliver(0, { "a" }, "x\r\n") == 0);
}

TEST_CASE("what is no store is not taken for one", "[mailcluster]")
{
	sim_objects objects;
	objects.change([](auto &all) { all["store"].bytes = "something else"; });
	mailcluster_setup setup{};
	mailcluster *cluster = nullptr;
	setup.objects = objects.handle();
	setup.node = "a";
	CHECK(mailcluster_open(&setup, &cluster) == MAILSTORE_ENOTSTORE);
	for (const char *name : { "", "A", "a.b", "a/b" }) {
		setup.objects = objects.handle();
		setup.node = name;
		CHECK(mailcluster_open(&setup, &cluster) == -EINVAL);
	}
}

// ---- deliveries ----

TEST_CASE("a delivery to known mailboxes costs three writes, and leaves a row of the journal for "
	  "the next",
	  "[mailcluster][deliver]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a" }, "1\r\n") == 0);
	for (unsigned i = 0; i < 50; i++) {
		const unsigned before = world.objects.writes();
		REQUIRE(world.deliver(0, { "a" }, "2\r\n") == 0);
		CHECK(world.objects.writes() == before + 3);
	}
	CHECK(world.rows("j.", "") <= 4);
	REQUIRE(world.sweep(0) == 0);
	CHECK(world.rows("j.", "") == 0);
	CHECK(world.swept.completed == 0);
}

TEST_CASE("a process that died in a delivery has made all of it or nothing when it is swept",
	  "[mailcluster][deliver]")
{
	const auto calls = static_cast<unsigned>(GENERATE(range(1, 12)));
	cluster_world world(calls, 2);
	world.objects.crash_after(calls);
	const int ret = world.deliver(0, { "a", "b", "c" }, "x\r\n");
	world.objects.crash_after(0);
	world.kill(0);
	REQUIRE(world.start(0) == 0);
	REQUIRE(world.sweep(0) == 0);
	world.objects.settle();
	const auto boxes = world.look(1);
	CHECK((boxes.empty() || boxes.size() == 3));
	CHECK((ret != 0 || boxes.size() == 3));
	CHECK(world.rows("j.", "") == 0);
}

TEST_CASE("what a dead machine has left is finished by the first that lives",
	  "[mailcluster][deliver]")
{
	cluster_world world(1, 3);
	world.objects.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE }, "x.");
	CHECK(world.deliver(0, { "a" }, "x\r\n") == -ETIMEDOUT);
	world.kill(0); // before it could take that back
	beat_often(world, 2, 60);
	REQUIRE(world.beat(1) == 0);
	beat_often(world, 2, 3);
	REQUIRE(world.sweep(2) == 0); // node1 is before it
	CHECK(world.texts(1, "a").empty());
	REQUIRE(world.sweep(1) == 0); // and has not seen enough
	CHECK(world.texts(1, "a").empty());
	beat_often(world, 1, 62);
	REQUIRE(world.sweep(1) == 0);
	CHECK(world.swept.completed == 1);
	CHECK(world.texts(2, "a") == strings{ "x\r\n" });
	CHECK(world.rows("j.", "") == 0);
}

TEST_CASE("a delivery that was refused is taken back, whatever comes late",
	  "[mailcluster][deliver]")
{
	const std::string object = GENERATE("b.", "x.", "j.", "d.");
	const auto what = GENERATE(sim_objects::NOT_DONE, sim_objects::DONE, sim_objects::LATE);
	const bool is_early = GENERATE(false, true);
	cluster_world world(1, 2);
	world.objects.faults.arrive_one_in = 0;
	world.objects.time_out({ what, what, what, what }, object);
	mailid id{};
	REQUIRE(maillayer_make_id(world.nodes[0].layer, &id) == 0);
	CHECK(world.deliver(0, { "a", "b" }, "x\r\n", nullptr, &id) == -ETIMEDOUT);
	world.objects.time_out({});
	if (is_early)
		world.objects.settle();
	REQUIRE(world.sweep(0) == 0);
	CHECK(world.swept.undone == 1);
	world.objects.settle();
	CHECK(world.look(0).empty());
	CHECK(world.look(1).empty());
	CHECK(world.deliver(1, { "a", "b" }, "x\r\n", nullptr, &id) == -ESTALE);
	REQUIRE(world.sweep(0) == 0);
	REQUIRE(world.sweep(1) == 0);
	CHECK(world.look(1).empty());
	for (unsigned i = 1; i < 4; i++)
		(void)world.check(0, true, i * TWO_DAYS_US);
	CHECK(world.objects.count("b.") == 0);
	CHECK(world.rows("x.", "") == 0);
	CHECK(world.rows("j.", "") == 0);
}

TEST_CASE("a delivery that finds no room leaves nothing, and needs no sweep",
	  "[mailcluster][deliver]")
{
	const int status = GENERATE(-ENOSPC, -EACCES);
	cluster_world world(1, 1);
	world.objects.refuse(status);
	CHECK(world.deliver(0, { "a" }, "x\r\n") == status);
	world.objects.refuse(0);
	CHECK(world.objects.count("b.") == 0);
	CHECK(world.rows("j.", "") == 0);
	CHECK(world.deliver(0, { "a" }, "y\r\n") == 0);
	CHECK(world.texts(0, "a") == strings{ "y\r\n" });
}

TEST_CASE("a write that times out once is repeated", "[mailcluster][deliver]")
{
	const std::string object = GENERATE("b.", "x.", "j.", "d.");
	const auto what = GENERATE(sim_objects::NOT_DONE, sim_objects::DONE, sim_objects::LATE);
	cluster_world world(1, 1);
	world.objects.time_out({ what }, object);
	CHECK(world.deliver(0, { "a" }, "x\r\n") == 0);
	world.objects.settle();
	CHECK(world.texts(0, "a") == strings{ "x\r\n" });
	REQUIRE(world.sweep(0) == 0);
	world.objects.settle();
	REQUIRE(world.sweep(0) == 0);
	CHECK(world.texts(0, "a") == strings{ "x\r\n" });
}

TEST_CASE("a mail tried again on another machine is there once, and is not taken back by the first",
	  "[mailcluster][deliver]")
{
	cluster_world world(1, 2);
	mailid id{};
	REQUIRE(maillayer_make_id(world.nodes[0].layer, &id) == 0);
	world.objects.time_out({ sim_objects::DONE, sim_objects::LATE }, "x.");
	CHECK(world.deliver(0, { "a" }, "x\r\n", nullptr, &id) == -ETIMEDOUT);
	CHECK(world.deliver(1, { "a" }, "x\r\n", nullptr, &id) == 0);
	REQUIRE(world.sweep(0) == 0);
	world.objects.settle();
	CHECK(world.texts(0, "a") == strings{ "x\r\n" });
	REQUIRE(world.erase(1, "a", first_mail(world, 1, "a")) == 0);
	CHECK(world.objects.count("b.") == 0);
}

TEST_CASE("a mail that comes when its refusal has gone is not rolled forward",
	  "[mailcluster][deliver]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a", "b" }, "x\r\n") == 0);
	REQUIRE(world.sweep(0) == 0);
	const std::string digits = name_of_mail(first_mail(world, 0, "a")).substr(2);
	const gonevalue gone = { GONEVALUE_REFUSED, 1 };
	const journalvalue journal = {};
	uint8_t gone_bytes[GONEVALUE_SIZE];
	uint8_t journal_bytes[JOURNALVALUE_SIZE];
	gonevalue_encode(&gone, gone_bytes);
	journalvalue_encode(&journal, journal_bytes);
	world.objects.change([&](auto &all) {
		all["x.a"].rows.erase("m." + digits);
		all["x.a"].rows["t." + digits].assign(reinterpret_cast<char *>(gone_bytes),
						      sizeof(gone_bytes));
		all["j.node0.0"].rows[digits].assign(reinterpret_cast<char *>(journal_bytes),
						     sizeof(journal_bytes));
	});
	REQUIRE(world.sweep(0) == 0);
	CHECK(world.swept.undone == 1);
	CHECK(world.look(0).empty());
	CHECK(world.rows("j.", "") == 0);
}

TEST_CASE("a mail that is larger than all memory is delivered alone", "[mailcluster][deliver]")
{
	cluster_world world(1, 1);
	CHECK(world.deliver(0, { "a" }, std::string(3 << 20, 'x')) == 0);
	CHECK(world.list(0, "a")[0].text_size == 3 << 20);
}

// ---- deletions ----

TEST_CASE("an entry that is written late does not give back what was erased",
	  "[mailcluster][erase]")
{
	cluster_world world(1, 1);
	world.objects.faults.arrive_one_in = 0;
	world.objects.time_out({ sim_objects::LATE }, "x.");
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	REQUIRE(world.erase(0, "a", first_mail(world, 0, "a")) == 0);
	world.objects.settle();
	CHECK(world.look(0).empty());
	CHECK(world.objects.count("b.") == 0);
	// Neither does a journal whose row has stayed.
	world.kill(0);
	REQUIRE(world.start(0) == 0);
	REQUIRE(world.sweep(0) == 0);
	CHECK(world.look(0).empty());
}

TEST_CASE("a mail goes with the last mailbox that has it", "[mailcluster][erase]")
{
	cluster_world world(1, 2);
	REQUIRE(world.deliver(0, { "a", "b" }, "x\r\n") == 0);
	const uint64_t mail = first_mail(world, 0, "a");
	REQUIRE(world.erase(0, "a", mail) == 0);
	CHECK(world.objects.count("b.") == 1);
	REQUIRE(world.erase(1, "b", mail) == 0);
	CHECK(world.objects.count("b.") == 0);
	CHECK(world.rows("x.", "t.") == 2);
}

TEST_CASE("a mail that an interrupted erasure has left is found and repaired",
	  "[mailcluster][erase]")
{
	const bool is_for_two = GENERATE(false, true);
	cluster_world world(1, 1);
	const strings to = is_for_two ? strings{ "a", "b" } : strings{ "a" };
	REQUIRE(world.deliver(0, to, "x\r\n") == 0);
	const uint64_t mail = first_mail(world, 0, "a");
	world.objects.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE }, "b.");
	REQUIRE(world.erase(0, "a", mail) == 0);
	CHECK(world.look(0).count("a") == 0);
	CHECK(world.check(0).orphans == 1);
	REQUIRE(world.findings.size() == 1);
	CHECK(world.findings[0] == "finding=erased object=" + name_of_mail(mail) + " of=x.a");
	CHECK(world.check(0, true).repaired == 1);
	CHECK(world.check(0).orphans == 0);
	CHECK(world.objects.count("b.") == (is_for_two ? 1 : 0));
	CHECK(world.look(0).count("b") == (is_for_two ? 1 : 0));
}

// ---- locks ----

TEST_CASE("the lock of a machine that is quiet for long goes to another one, and deletes nothing "
	  "then",
	  "[mailcluster][locks]")
{
	cluster_world world(1, 2);
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	const uint64_t mail = first_mail(world, 0, "a");
	REQUIRE(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	beat_often(world, 1, MAILCLUSTER_DEAD_BEATS);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == -EBUSY);
	REQUIRE(world.beat(0) == 0);
	beat_often(world, 1, MAILCLUSTER_DEAD_BEATS + 1);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == -EBUSY);
	beat_often(world, 1, 1);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
	CHECK(world.erase(0, "a", mail) == MAILSTORE_ELOST_LOCK);
	CHECK(world.erase(0, "a", 17) == MAILSTORE_ELOST_LOCK);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == MAILSTORE_ELOST_LOCK);
	CHECK(world.texts(0, "a") == strings{ "x\r\n" });
	CHECK(maillayer_unlock(world.nodes[0].layer) == 0);
	CHECK(world.erase(1, "a", mail) == 0);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == -EBUSY);
}

TEST_CASE("a lock ends with the process that had it, when its machine has another one",
	  "[mailcluster][locks]")
{
	cluster_world world(1, 2);
	REQUIRE(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	world.kill(0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == -EBUSY);
	REQUIRE(world.start(0) == 0);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	CHECK(maillayer_unlock(world.nodes[0].layer) == 0);
	REQUIRE(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
	// The other one's lock is the newer, though this beat has not seen its incarnation.
	world.kill(1);
	REQUIRE(world.start(1) == 0);
	REQUIRE(maillayer_lock(world.nodes[1].layer, name_of("b")) == 0);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("b")) == -EBUSY);
	REQUIRE(world.beat(0) == 0);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
}

TEST_CASE("a lock that could not be given back is void with the next beat", "[mailcluster][locks]")
{
	cluster_world world(1, 2);
	REQUIRE(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	world.objects.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE }, "x.");
	CHECK(maillayer_unlock(world.nodes[0].layer) == -ETIMEDOUT);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == -EBUSY);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	world.objects.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE }, "x.");
	CHECK(maillayer_unlock(world.nodes[0].layer) == -ETIMEDOUT);
	REQUIRE(world.beat(0) == 0);
	REQUIRE(world.beat(1) == 0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
}

TEST_CASE("a lock that is written late holds up no session", "[mailcluster][locks]")
{
	cluster_world world(1, 2);
	world.objects.faults.arrive_one_in = 0;
	world.objects.time_out({ sim_objects::LATE, sim_objects::LATE }, "x.");
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == -ETIMEDOUT);
	world.objects.settle();
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == -EBUSY);
	// The answer alone was lost.
	world.objects.time_out({ sim_objects::DONE }, "x.");
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("b")) == 0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("b")) == 0);
}

TEST_CASE("a row that is no lock keeps no session out", "[mailcluster][locks]")
{
	cluster_world world(1, 1);
	const std::string row = GENERATE(as<std::string>(), "nonsense", std::string(300, 'x'));
	world.objects.change([&row](auto &all) { all["x.a"].rows["lock"] = row; });
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
}

// ---- counts ----

TEST_CASE("counts that are peeked at are some beats old, but for what this machine does",
	  "[mailcluster][counts]")
{
	cluster_world world(1, 2);
	mailcounts counts{};
	maillayer *layer = world.nodes[0].layer;
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	REQUIRE(maillayer_peek_counts(layer, name_of("a"), &counts) == 0);
	CHECK(counts.mails == 1);
	const unsigned calls = world.objects.calls();
	REQUIRE(maillayer_peek_counts(layer, name_of("a"), &counts) == 0);
	CHECK(world.objects.calls() == calls);
	REQUIRE(world.deliver(1, { "a" }, "y\r\n") == 0);
	REQUIRE(maillayer_peek_counts(layer, name_of("a"), &counts) == 0);
	CHECK(counts.mails == 1);
	REQUIRE(world.deliver(0, { "a" }, "z\r\n") == 0);
	REQUIRE(maillayer_peek_counts(layer, name_of("a"), &counts) == 0);
	CHECK(counts.mails == 2);
	CHECK(counts.octets == 6);
	beat_often(world, 0, 6);
	REQUIRE(maillayer_peek_counts(layer, name_of("a"), &counts) == 0);
	CHECK(counts.mails == 3);
	REQUIRE(world.erase(0, "a", first_mail(world, 0, "a")) == 0);
	REQUIRE(maillayer_peek_counts(layer, name_of("a"), &counts) == 0);
	CHECK(counts.mails == 2);
}

TEST_CASE("what a process has done is said without asking the cluster", "[mailcluster]")
{
	cluster_world world(1, 1);
	mailstore_info info{};
	REQUIRE(world.deliver(0, { "a", "b" }, "x\r\n") == 0);
	const unsigned calls = world.objects.calls();
	REQUIRE(maillayer_describe(world.nodes[0].layer, &info) == 0);
	CHECK(info.facts.mails == 1);
	CHECK(info.facts.entries == 2);
	CHECK(info.written > 100);
	CHECK_FALSE(info.has_failed);
	CHECK(maillayer_sync(world.nodes[0].layer) == 0);
	CHECK(world.objects.calls() == calls);
	objects_state state{};
	REQUIRE(mailcluster_describe(world.nodes[0].cluster, &state) == 0);
	CHECK(state.machines == 3);
}

TEST_CASE("a small mail is read from the cluster once", "[mailcluster]")
{
	cluster_world world(1, 1);
	mailrow row{};
	int fd = -1;
	char byte = 0;
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	REQUIRE(maillayer_find_row(world.nodes[0].layer, first_mail(world, 0, "a"), &row) == 0);
	const unsigned calls = world.objects.calls();
	REQUIRE(maillayer_open(world.nodes[0].layer, row.place.segment, &fd) == 0);
	close(fd);
	REQUIRE(maillayer_read(world.nodes[0].layer, &row, 0, &byte, 1) == 0);
	CHECK(byte == 'x');
	CHECK(world.objects.calls() == calls + (fd >= 0 ? 0 : 1));
}

TEST_CASE("values that are not to be read hide no others", "[mailcluster]")
{
	cluster_world world(1, 1);
	REQUIRE(world.deliver(0, { "a" }, "x\r\n") == 0);
	world.objects.change([](auto &all) {
		all["x.a"].rows["m.0000000000000001"] = "short";
		all["x.a"].rows["m.zzz"] = std::string(53, '\1');
		all["nodes"].rows["n.other"] = "short";
		all["nodes"].rows["s.zzzz"] = "x";
		all["d.0"].rows[std::string(300, 'a')] = "x";
		all["j.node0.0"].rows["nonsense"] = "x";
		all["b.nonsense"].bytes = "x";
	});
	CHECK(world.texts(0, "a") == strings{ "x\r\n" });
	CHECK(world.look(0).size() == 1);
	CHECK(world.beat(0) == 0);
	CHECK(world.sweep(0) == 0);
	CHECK(world.rows("j.", "") == 0);
	CHECK(world.check(0).damaged == 2);
}

// Values and bytes are cut, grown, exchanged and changed bit by bit.
TEST_CASE("whatever bytes objects have, nothing is read outside of them", "[mailcluster][damage]")
{
	const auto seed = RANDOM_SEED(60);
	CAPTURE(seed);
	randomness rnd(seed);
	cluster_world world(seed, 2);
	maillayer *layer = world.nodes[0].layer;
	std::vector<mailid> ids(4);
	for (mailid &id : ids)
		REQUIRE(world.deliver(0, { "a", "b" }, std::string(rnd.below(300), 'x'), &id) == 0);
	const auto entries = world.list(0, "a");
	REQUIRE(mailcluster_put_users(world.nodes[0].cluster, "users", 5, 0) == 0);
	REQUIRE(world.erase(0, "b", entries[0].mail) == 0);
	REQUIRE(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
	const auto damage = [&rnd](std::string &bytes) {
		const auto at = bytes.empty() ? 0 : rnd.below(static_cast<unsigned>(bytes.size()));
		if (rnd.one_in(3))
			bytes.resize(at);
		else if (rnd.one_in(3))
			bytes += std::string(1 + rnd.below(300), '\xff');
		else if (!bytes.empty())
			bytes[at] = static_cast<char>(bytes[at] ^ 1 << rnd.below(8));
		if (bytes.empty())
			bytes = "\1";
	};
	world.objects.change([&](auto &all) {
		for (auto &[name, one] : all) {
			if (rnd.one_in(4))
				damage(one.bytes);
			for (auto &[key, value] : one.rows)
				if (rnd.one_in(4))
					damage(value);
			if (rnd.one_in(4) && one.rows.size() > 1)
				std::swap(one.rows.begin()->second, one.rows.rbegin()->second);
		}
	});
	uint8_t bytes[MAILBOX_NAME_MAX];
	size_t size = 0;
	mailcounts counts{};
	(void)maillayer_next_box(layer, mailname{ nullptr, 0 }, bytes, &size, &counts);
	(void)maillayer_lock(layer, name_of("a"));
	for (const mailentry &entry : entries) {
		int fd = -1;
		(void)world.read(0, entry.mail);
		if (maillayer_open(layer, entry.mail, &fd) == 0)
			close(fd);
	}
	for (const mailid &id : ids) {
		uint64_t mail = 0;
		(void)maillayer_find_id(layer, mailname{}, &id, &mail);
		(void)world.deliver(1, { "a", "b" }, "another\r\n", nullptr, &id);
	}
	(void)world.erase(0, "a", entries[1].mail);
	(void)world.beat(0);
	(void)world.sweep(0);
	struct mailcluster_check check {
	};
	mailcluster_found found{};
	check.is_deep = true;
	check.is_repair = true;
	check.time_us = world.now(0) + TWO_DAYS_US;
	(void)mailcluster_check(world.nodes[0].cluster, &check, &found);
	uint64_t version = 0;
	uint8_t *users = nullptr;
	if (mailcluster_get_users(world.nodes[0].cluster, &version, &users, &size) == 0)
		free(users);
	world.kill(1);
	(void)world.start(1);
	(void)maillayer_unlock(layer);
	SUCCEED();
}

// ---- users ----

namespace
{
int get_users(cluster_world &world, size_t node, uint64_t *version, std::string *text)
{
	uint8_t *bytes = nullptr;
	size_t size = 0;
	const int ret = mailcluster_get_users(world.nodes[node].cluster, version, &bytes, &size);
	if (ret == 0) {
		text->assign(reinterpret_cast<char *>(bytes), size);
		free(bytes);
	}
	return ret;
}
} // namespace

TEST_CASE("the users' database is replaced as a whole, and has a version", "[mailcluster][users]")
{
	cluster_world world(1, 2);
	uint64_t version = 7;
	std::string text;
	REQUIRE(mailcluster_users_version(world.nodes[0].cluster, &version) == 0);
	CHECK(version == 0);
	CHECK(get_users(world, 0, &version, &text) == DNSBLV6_ENOTFOUND);
	for (uint64_t i = 1; i < 4; i++) {
		const std::string users(i * 100000, static_cast<char>('a' + i));
		REQUIRE(mailcluster_put_users(world.nodes[i % 2].cluster, users.data(),
					      users.size(), world.now(0)) == 0);
		REQUIRE(get_users(world, 0, &version, &text) == 0);
		CHECK(version == i);
		CHECK((text == users));
	}
	CHECK(world.objects.count("u.") == 1);
	REQUIRE(mailcluster_put_users(world.nodes[0].cluster, "", 0, 0) == 0);
	REQUIRE(get_users(world, 1, &version, &text) == 0);
	CHECK(text.empty());
}

TEST_CASE("users whose writing timed out are there as a whole or not at all",
	  "[mailcluster][users]")
{
	const auto what = GENERATE(sim_objects::NOT_DONE, sim_objects::DONE, sim_objects::LATE);
	const unsigned count = GENERATE(1U, 2U);
	const std::string object = GENERATE("u", "u.");
	cluster_world world(1, 1);
	uint64_t version = 0;
	std::string text;
	REQUIRE(mailcluster_put_users(world.nodes[0].cluster, "one", 3, 0) == 0);
	world.objects.time_out(std::vector<sim_objects::outcome>(count, what), object);
	const int ret = mailcluster_put_users(world.nodes[0].cluster, "other", 5, 0);
	world.objects.time_out({});
	world.objects.settle();
	REQUIRE(get_users(world, 0, &version, &text) == 0);
	CHECK((text == "other" || (ret != 0 && text == "one")));
	REQUIRE(mailcluster_put_users(world.nodes[0].cluster, "third", 5, 0) == 0);
	world.objects.settle();
	REQUIRE(get_users(world, 0, &version, &text) == 0);
	CHECK(text == "third");
	(void)world.check(0, true, TWO_DAYS_US);
	CHECK(world.objects.count("u.") == 1);
}

TEST_CASE("users stay when it could not be read that a write which timed out had given them",
	  "[mailcluster][users]")
{
	cluster_world world(1, 1);
	uint64_t version = 0;
	std::string text;
	unsigned rows = 0;
	unsigned writes = 0;
	world.objects.watch([&](objects *, const std::string &what, const std::string &name) {
		if (name != "u")
			return;
		if (what == "write" && ++writes == 1)
			world.objects.time_out({ sim_objects::DONE }, "u");
		else if (what == "row")
			world.objects.faults.read_timeout_one_in = ++rows == 2 ? 1 : 0;
	});
	CHECK(mailcluster_put_users(world.nodes[0].cluster, "users", 5, 0) == -ETIMEDOUT);
	CHECK(rows == 2);
	world.objects.watch({});
	world.objects.faults.read_timeout_one_in = 0;
	REQUIRE(get_users(world, 0, &version, &text) == 0);
	CHECK(text == "users");
	CHECK(version == 1);
}

TEST_CASE("users that are damaged are not given out", "[mailcluster][users]")
{
	const unsigned how = GENERATE(0U, 1U, 2U, 3U, 4U);
	cluster_world world(1, 1);
	uint64_t version = 0;
	std::string text;
	REQUIRE(mailcluster_put_users(world.nodes[0].cluster, "users", 5, 0) == 0);
	world.objects.change([how](auto &all) {
		for (auto &[name, one] : all) {
			if (name.compare(0, 2, "u.") == 0 && how < 3)
				one.bytes = how == 0 ? "userz" : how == 1 ? "use" : "";
			if (name == "u" && how == 3)
				one.rows["now"] = "nonsense";
			if (name == "u" && how == 4)
				one.rows["now"].append(300, 'x');
		}
	});
	CHECK(get_users(world, 0, &version, &text) == (how == 4 ? -ERANGE : MAILSTORE_EDAMAGED));
	// Others take their place, with a version that no machine can have taken.
	REQUIRE(mailcluster_put_users(world.nodes[0].cluster, "other", 5, 0) == 0);
	REQUIRE(get_users(world, 0, &version, &text) == 0);
	CHECK(text == "other");
	CHECK(version > 1);
	REQUIRE(mailcluster_put_users(world.nodes[0].cluster, "third", 5, 0) == 0);
	REQUIRE(get_users(world, 0, &version, &text) == 0);
	CHECK(text == "third");
}
