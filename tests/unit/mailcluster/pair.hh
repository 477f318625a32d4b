// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// pair.hh - a bench of suite.hh that is a cluster of two machines, with one client on each.

#include "lib/mailcluster/mailcluster.h"

#include "tests/unit/mailcluster/suite.hh"

#include <catch2/catch.hpp>

#include <functional>
#include <string>

class pair_bench : public store_bench
{
      public:
	// Each machine has a connection of its own, which it closes.
	pair_bench(const std::function<objects *()> &connect, uint64_t memory_max)
	{
		for (size_t i = 0; i < 2; i++) {
			mailcluster_setup setup{};
			const std::string name = "node" + std::to_string(i);
			setup.objects = connect();
			setup.node = name.c_str();
			setup.memory_max = memory_max;
			setup.time_us = 1800000000000000 + i * 1000;
			setup.incarnation[7] = static_cast<uint8_t>(i + 1);
			REQUIRE(mailcluster_open(&setup, &clusters_[i]) == 0);
		}
		for (mailcluster *cluster : clusters_)
			REQUIRE(mailcluster_beat(cluster, 1800000001000000) == 0);
		REQUIRE(mailcluster_layer(clusters_[0], &layer_) == 0);
	}
	~pair_bench() override
	{
		maillayer_close(layer_);
		for (mailcluster *cluster : clusters_)
			mailcluster_close(cluster);
	}
	maillayer *layer() override
	{
		return layer_;
	}
	maillayer *another() override
	{
		maillayer *made = nullptr;
		REQUIRE(mailcluster_layer(clusters_[1], &made) == 0);
		return made;
	}

      private:
	mailcluster *clusters_[2] = {};
	maillayer *layer_ = nullptr;
};
