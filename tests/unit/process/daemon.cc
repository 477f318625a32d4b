// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/process/daemon.h"
#include "lib/common/log.h"

#include <catch2/catch.hpp>

TEST_CASE("clients get the descriptors that are left", "[common][daemon]")
{
	const rlim_t all = daemon_raise_descriptors();
	REQUIRE(all != RLIM_INFINITY);
	log_set_level(LOG_LEVEL_ERROR);
	CHECK(daemon_share_descriptors("test", 10, 1) == 1);
	CHECK(daemon_share_descriptors("test", (unsigned)all - 5, 5) == 5);
	CHECK(daemon_share_descriptors("test", (unsigned)all - 5, 6) == 5);
	CHECK(daemon_share_descriptors("test", (unsigned)all + 5, 6) == 1);
	log_set_level(LOG_LEVEL_INFO);
}
