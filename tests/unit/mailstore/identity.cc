// SPDX-License-Identifier: GPL-3.0-or-later
//
// The identity of a store while the store is made.

#include "tests/lib/mailstores.hh"

TEST_CASE("a store whose making was interrupted is made", "[mailstore][identity]")
{
	const std::string left = GENERATE(std::string(), std::string(30, '\0'),
					  std::string(64, '\0'), std::string("DNSBMS1\n"));
	mail_bench bench(4096);
	sim_disk::object identity;
	identity.seen = identity.kept = left;
	bench.load({ { 0, identity } }, "");
	REQUIRE(bench.open() == 0);
	CHECK(bench.deliver({ "a" }, "x\r\n") == 0);
	bench.close();
	// With a segment it was a store.
	sim_disk::objects_type objects = bench.disk.objects();
	objects[0] = identity;
	bench.load(objects, "");
	CHECK(bench.open() == MAILSTORE_ENOTSTORE);
}

TEST_CASE("an identity that a killed process has left is on disk before a mail is",
	  "[mailstore][identity]")
{
	mail_bench bench(4096);
	sim_disk::objects_type killed;
	bench.disk.watch([&] {
		if (killed.empty() && bench.disk.objects().count(0) == 1 &&
		    bench.disk.objects().at(0).seen.size() == 64)
			killed = bench.disk.objects();
	});
	REQUIRE(bench.open() == 0);
	bench.disk.watch({});
	bench.kill();
	bench.load(killed, "");
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, "x\r\n") == 0);
	REQUIRE(maillayer_sync(bench.store) == 0);
	const std::string index = bench.index();
	bench.kill();
	for (const auto &left : sim_disk::losses(bench.disk.objects(), 64, 1)) {
		bench.load(left, index);
		REQUIRE(bench.open() == 0);
		CHECK(bench.look("a").size() == 1);
		bench.kill();
	}
}
