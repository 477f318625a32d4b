// SPDX-License-Identifier: GPL-3.0-or-later
//
// The suite of all stores on RADOS, for test_store_suite.py: two machines' connections to the pool that
// CEPH_CONF leads to. A store is new when the pool is empty: whatever is in it goes before each.

#include "integration/mail/mail-stored/rados/objects_rados.h"

#include "tests/unit/mailcluster/pair.hh"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <memory>
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

std::unique_ptr<store_bench> make_cluster()
{
	empty_pool();
	return std::make_unique<pair_bench>(open_pool, 256 << 20);
}
} // namespace

const std::vector<tested_store> &tested_stores()
{
	static const std::vector<tested_store> kinds = {
		{ "cluster on RADOS", make_cluster },
	};
	return kinds;
}
