// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// suite.hh - what any store of mails has to do, behind maillayer.h.
//
// suite.cc has the cases; a program links it with a definition of tested_stores(), which says on what
// stores they run:
//
//     const std::vector<tested_store> &tested_stores()
//     {
//             static const std::vector<tested_store> kinds = { { "log", make_log } };
//             return kinds;
//     }

#include "lib/mailstore/maillayer.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

// A store that is new, and as long as this is there.
class store_bench
{
      public:
	store_bench() = default;
	store_bench(const store_bench &) = delete;
	store_bench &operator=(const store_bench &) = delete;
	virtual ~store_bench() = default;

	// One client; it is there as long as the bench.
	virtual maillayer *layer() = 0;
	// A second one, perhaps on another machine, to be closed; NULL where a store has one alone.
	virtual maillayer *another()
	{
		return nullptr;
	}
};

struct tested_store {
	std::string name;
	std::function<std::unique_ptr<store_bench>()> make;
};
const std::vector<tested_store> &tested_stores();
