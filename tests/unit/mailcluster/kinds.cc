// SPDX-License-Identifier: GPL-3.0-or-later
//
// The stores of suite.cc that need nothing but this process: the log on files and on a simulated disk, and
// a cluster over objects in memory.

#include "lib/mailstore/filedisk.h"
#include "lib/mailstore/mailstore.h"

#include "tests/lib/simdisk.hh"
#include "tests/lib/simobjects.hh"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/mailcluster/pair.hh"

#include <catch2/catch.hpp>

namespace
{
class log_bench : public store_bench
{
      public:
	explicit log_bench(bool is_simulated)
	{
		mailstore_setup setup{};
		mailstore_recovery recovery{};
		const std::string index = dir_.file("index");
		setup.index_path = index.c_str();
		setup.disk = simulated_.handle();
		if (!is_simulated) {
			REQUIRE(filedisk_make(dir_.file("log").c_str()) == 0);
			REQUIRE(filedisk_open(dir_.file("log").c_str(), &setup.disk) == 0);
		}
		REQUIRE(mailstore_open(&setup, &layer_, &recovery) == 0);
	}
	~log_bench() override
	{
		maillayer_close(layer_);
	}
	maillayer *layer() override
	{
		return layer_;
	}

      private:
	tmpdir dir_;
	sim_disk simulated_{ 1 };
	maillayer *layer_ = nullptr;
};

class cluster_bench : public store_bench
{
      public:
	explicit cluster_bench(unsigned page_max)
	    : pair_(
		      [this, page_max] {
			      world_.faults.page_max = page_max;
			      return world_.handle();
		      },
		      16 << 20)
	{
	}
	maillayer *layer() override
	{
		return pair_.layer();
	}
	maillayer *another() override
	{
		return pair_.another();
	}

      private:
	sim_objects world_{ 1 };
	pair_bench pair_;
};
} // namespace

const std::vector<tested_store> &tested_stores()
{
	static const std::vector<tested_store> kinds = {
		{ "log on files", [] { return std::make_unique<log_bench>(false); } },
		{ "log on a simulated disk", [] { return std::make_unique<log_bench>(true); } },
		{ "cluster", [] { return std::make_unique<cluster_bench>(1024); } },
		{ "cluster with short pages", [] { return std::make_unique<cluster_bench>(3); } },
	};
	return kinds;
}
