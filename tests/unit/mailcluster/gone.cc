// SPDX-License-Identifier: GPL-3.0-or-later
// What machines and sessions leave behind when they go: rows of theirs, locks, deliveries.
#include "tests/unit/mailcluster/world.hh"

#include <cerrno>

namespace
{
// Another client of a machine; it ends with the test.
class client
{
      public:
	explicit client(cluster_world &world, size_t node)
	{
		REQUIRE(mailcluster_layer(world.nodes[node].cluster, &layer) == 0);
	}
	~client()
	{
		maillayer_close(layer);
	}
	client(const client &) = delete;
	client &operator=(const client &) = delete;

	maillayer *layer = nullptr;
};

const std::vector<sim_objects::outcome> NEVER(2, sim_objects::NOT_DONE);
} // namespace

TEST_CASE("a lock that could not be given back holds up no session elsewhere while an older one "
	  "lasts",
	  "[mailcluster][locks]")
{
	cluster_world world(1, 2);
	client older(world, 0);
	REQUIRE(maillayer_lock(older.layer, name_of("older")) == 0);
	REQUIRE(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	world.objects.time_out(NEVER, "x.");
	CHECK(maillayer_unlock(world.nodes[0].layer) == -ETIMEDOUT);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == -EBUSY);
	// It is tried again until it is done.
	world.objects.time_out(NEVER, "x.");
	(void)world.sweep(0);
	world.objects.time_out({});
	(void)world.sweep(0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
	CHECK(maillayer_lock(older.layer, name_of("older")) == 0);
}

TEST_CASE("a lock that was taken unheard holds up no session elsewhere while an older one lasts",
	  "[mailcluster][locks]")
{
	cluster_world world(1, 2);
	client older(world, 0);
	REQUIRE(maillayer_lock(older.layer, name_of("older")) == 0);
	world.objects.watch([&](objects *, const std::string &what, const std::string &name) {
		if (what == "row" && name == "x.a")
			world.objects.faults.read_timeout_one_in = 1;
	});
	world.objects.time_out({ sim_objects::DONE }, "x.");
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == -ETIMEDOUT);
	world.objects.watch(nullptr);
	world.objects.faults.read_timeout_one_in = 0;
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == -EBUSY);
	REQUIRE(world.sweep(0) == 0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
}

TEST_CASE("what stayed of a lock does not take away the one in its place", "[mailcluster][locks]")
{
	cluster_world world(1, 2);
	REQUIRE(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	world.objects.time_out(NEVER, "x.");
	CHECK(maillayer_unlock(world.nodes[0].layer) == -ETIMEDOUT);
	REQUIRE(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	REQUIRE(world.sweep(0) == 0);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == -EBUSY);
}

TEST_CASE("a lock whose row becomes longer than any is lost, and the row keeps no session out",
	  "[mailcluster][locks]")
{
	cluster_world world(1, 2);
	maillayer *layer = world.nodes[0].layer;
	REQUIRE(maillayer_lock(layer, name_of("a")) == 0);
	world.objects.change([](auto &all) { all["x.a"].rows["lock"].append(300, 'x'); });
	CHECK(maillayer_lock(layer, name_of("a")) == MAILSTORE_ELOST_LOCK);
	CHECK(maillayer_unlock(layer) == 0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
	CHECK(maillayer_lock(layer, name_of("a")) == -EBUSY);
}

TEST_CASE("a machine whose row was taken out is no more, and has no locks", "[mailcluster][nodes]")
{
	cluster_world world(1, 3);
	std::vector<mailcluster_node> nodes(MAILCLUSTER_NODES_MAX);
	client other(world, 2);
	REQUIRE(maillayer_lock(world.nodes[2].layer, name_of("a")) == 0);
	REQUIRE(maillayer_lock(other.layer, name_of("b")) == 0);
	sim_objects::kill(world.nodes[2].handle);
	world.objects.change([](auto &all) { all["nodes"].rows.erase("n.node2"); });
	REQUIRE(world.beat(0) == 0);
	CHECK(mailcluster_nodes(world.nodes[0].cluster, nodes.data()) == 2);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == 0);
	// So it is for one that has never seen it.
	world.kill(1);
	REQUIRE(world.start(1) == 0);
	CHECK(maillayer_lock(world.nodes[1].layer, name_of("b")) == 0);
}

TEST_CASE("a machine that comes again without its row gets another slot", "[mailcluster][nodes]")
{
	cluster_world world(1, 2);
	std::vector<mailcluster_node> nodes(MAILCLUSTER_NODES_MAX);
	world.kill(1);
	world.objects.change([](auto &all) { all["nodes"].rows.erase("n.node1"); });
	REQUIRE(world.start(1) == 0);
	REQUIRE(mailcluster_nodes(world.nodes[1].cluster, nodes.data()) == 2);
	CHECK(nodes[1].name == std::string("node1"));
	CHECK(nodes[1].slot == 2);
}

TEST_CASE("a lock of a machine that has come since the last beat is none that is void",
	  "[mailcluster][nodes]")
{
	cluster_world world(1, 1);
	world.nodes.resize(2);
	REQUIRE(world.start(1) == 0);
	REQUIRE(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == -EBUSY);
}

TEST_CASE("machines stay known while the row of any is damaged", "[mailcluster][nodes]")
{
	cluster_world world(1, 2);
	std::vector<mailcluster_node> nodes(MAILCLUSTER_NODES_MAX);
	REQUIRE(maillayer_lock(world.nodes[1].layer, name_of("a")) == 0);
	world.objects.change([](auto &all) { all["nodes"].rows["n.node1"] = "nonsense"; });
	REQUIRE(world.beat(0) == 0);
	CHECK(mailcluster_nodes(world.nodes[0].cluster, nodes.data()) == 2);
	CHECK(maillayer_lock(world.nodes[0].layer, name_of("a")) == -EBUSY);
}

TEST_CASE("a mail that cannot be read keeps nothing from what another dead machine has left",
	  "[mailcluster][journal]")
{
	cluster_world world(1, 3);
	for (size_t node = 1; node < 3; node++) {
		world.objects.time_out(NEVER, "x.");
		CHECK(world.deliver(node, { "of" + std::to_string(node) }, "x\r\n") == -ETIMEDOUT);
		world.kill(node);
		if (node == 1)
			world.objects.change([](auto &all) {
				for (auto &[name, object] : all)
					if (name.compare(0, 2, "b.") == 0)
						object.bytes.resize(10);
			});
	}
	beat_often(world, 0, 62);
	CHECK(world.sweep(0) == MAILSTORE_EDAMAGED);
	CHECK(world.swept.completed == 1);
	CHECK(world.list(0, "of2").size() == 1);
	CHECK(world.rows("j.node1", "") == 1);
}

TEST_CASE("a sweep ends with the first journal that does not answer, and the next begins behind it",
	  "[mailcluster][journal]")
{
	cluster_world world(1, 1);
	std::vector<std::string> asked;
	world.objects.watch([&](objects *, const std::string &what, const std::string &name) {
		if (what == "rows" && name.compare(0, 2, "j.") == 0)
			asked.push_back(name);
	});
	world.objects.faults.read_timeout_one_in = 1;
	CHECK(world.sweep(0) == -ETIMEDOUT);
	CHECK(asked == std::vector<std::string>{ "j.node0.0" });
	asked.clear();
	CHECK(world.sweep(0) == -ETIMEDOUT);
	CHECK(asked == std::vector<std::string>{ "j.node0.1" });
	asked.clear();
	world.objects.faults.read_timeout_one_in = 0;
	CHECK(world.sweep(0) == 0);
	CHECK(asked ==
	      std::vector<std::string>{ "j.node0.2", "j.node0.3", "j.node0.0", "j.node0.1" });
}
