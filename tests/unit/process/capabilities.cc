// SPDX-License-Identifier: GPL-3.0-or-later
// Given away in children, since it is for good. Needs root, as whoever has capabilities does.
#include "lib/process/capabilities.h"
#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace
{

constexpr uint64_t BIND = CAPABILITY(CAP_NET_BIND_SERVICE),
		   LAST = CAPABILITY(CAP_CHECKPOINT_RESTORE);

bool has_all(uint64_t wanted)
{
	capabilities now = {};
	return capabilities_get(&now) == 0 && (now.permitted & wanted) == wanted;
}

bool has_exactly(uint64_t effective, uint64_t permitted)
{
	capabilities now = {};
	return capabilities_get(&now) == 0 && now.effective == effective &&
	       now.permitted == permitted;
}

} // namespace

TEST_CASE("what is kept is there, in both halves, and nothing else", "[common][capabilities]")
{
	if (!has_all(BIND | LAST)) {
		WARN("this process has none to give away");
		CHECK(capabilities_keep(0) == 0);
		return;
	}
	child keeper([] {
		return capabilities_keep(BIND | LAST) == 0 &&
				       has_exactly(BIND | LAST, BIND | LAST) &&
				       capabilities_keep(BIND) == 0 && has_exactly(BIND, BIND)
			       ? 0
			       : 1;
	});
	CHECK(keeper.wait() == 0);
}

TEST_CASE("what was given away does not come back", "[common][capabilities]")
{
	child loser([] {
		capabilities all = { BIND, BIND };
		return capabilities_keep(0) == 0 && has_exactly(0, 0) &&
				       capabilities_set(&all) < 0 && capabilities_keep(BIND) == 0 &&
				       has_exactly(0, 0)
			       ? 0
			       : 1;
	});
	CHECK(loser.wait() == 0);
}

TEST_CASE("permitted is not yet effective", "[common][capabilities]")
{
	if (!has_all(BIND)) {
		CHECK_FALSE(has_exactly(BIND, BIND));
		return;
	}
	child holder([] {
		capabilities later = { 0, BIND };
		return capabilities_set(&later) == 0 && has_exactly(0, BIND) ? 0 : 1;
	});
	CHECK(holder.wait() == 0);
}

TEST_CASE("the bounding set is empty where that is permitted", "[common][capabilities]")
{
	child dropper([] {
		if (!has_all(CAPABILITY(CAP_SETPCAP)))
			return 0;
		capabilities_empty_bounding_set();
		return prctl(PR_CAPBSET_READ, CAP_NET_BIND_SERVICE, 0, 0, 0);
	});
	CHECK(dropper.wait() == 0);
}
