// SPDX-License-Identifier: GPL-3.0-or-later
//
// The suite of all stores on RADOS, for test_store_suite.py: two machines' connections to the pool that
// CEPH_CONF leads to. A store is new when the pool is empty: whatever is in it goes before each.

#include "integration/mail/mail-stored/rados/objects_rados.h"
#include "lib/mailcluster/mailcluster.h"

#include "tests/unit/mailcluster/suite.hh"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace
{
objects *open_pool()
{
	objects_rados_setup setup{};
	objects *opened = nullptr;
	setup.conf_path = getenv("CEPH_CONF");
	setup.user = "mail";
	setup.pool = "mail";
	setup.timeout_s = 60;
	REQUIRE(objects_rados_open(&setup, &opened) == 0);
	return opened;
}

void empty_pool()
{
	objects *all = open_pool();
	std::vector<std::string> names;
	const auto take = [](void *owner, const char *name, unsigned) {
		static_cast<std::vector<std::string> *>(owner)->emplace_back(name);
		return true;
	};
	REQUIRE(objects_list(all, take, &names) == 0);
	std::vector<struct objects_write> writes(names.size());
	for (size_t i = 0; i < names.size(); i++) {
		writes[i] = {};
		writes[i].name = names[i].c_str();
		writes[i].is_removal = true;
	}
	REQUIRE(objects_write(all, writes.data(), writes.size()) == 0);
	objects_close(all);
}

// As the one of tests/unit/mailcluster/kinds.cc, but for where its objects are.
class rados_bench : public store_bench
{
      public:
	rados_bench()
	{
		empty_pool();
		for (size_t i = 0; i < 2; i++) {
			mailcluster_setup setup{};
			const std::string name = "node" + std::to_string(i);
			setup.objects = open_pool();
			setup.node = name.c_str();
			setup.memory_max = 256 << 20;
			setup.time_us = 1800000000000000 + i * 1000;
			setup.incarnation[7] = static_cast<uint8_t>(i + 1);
			REQUIRE(mailcluster_open(&setup, &clusters_[i]) == 0);
		}
		for (mailcluster *cluster : clusters_)
			REQUIRE(mailcluster_beat(cluster, 1800000001000000) == 0);
		REQUIRE(mailcluster_layer(clusters_[0], &layer_) == 0);
	}
	~rados_bench() override
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
} // namespace

const std::vector<tested_store> &tested_stores()
{
	static const std::vector<tested_store> kinds = {
		{ "cluster on RADOS", [] { return std::make_unique<rados_bench>(); } },
	};
	return kinds;
}
