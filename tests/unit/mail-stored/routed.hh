// SPDX-License-Identifier: GPL-3.0-or-later
// Links to the store of this node, which is played; a second node is down.
#pragma once

#include "integration/mail/mail-stored/nodes/noderouter.h"
#include "integration/mail/mail-stored/nodes/nodesetup.h"
#include "lib/common/log.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

// Far less than what a request may wait.
const uint64_t ROUTED_SOON_MS = 5000;

struct one_question : nodeask {
	std::vector<int> heard;
};

class routed
{
      public:
	tmpdir dir;
	std::string path = dir.path() + "/socket";
	uv_loop_t loop = {};
	std::unique_ptr<nodesetup> setup = std::make_unique<nodesetup>();
	noderouter *router = nullptr;
	std::vector<std::unique_ptr<one_question>> asks;

	explicit routed(unsigned links_max, unsigned nodes = 1)
	{
		log_set_level(LOG_LEVEL_ERROR);
		setup->links_max = links_max;
		setup->silence_ms = 20000;
		setup->timeout_ms = 20000;
		setup->memory_max = 1 << 20;
		setup->peer_count = nodes;
		setup->peers[0].number = 1;
		setup->peers[0].is_spread = true;
		setup->peers[1].number = 2;
		REQUIRE(uv_loop_init(&loop) == 0);
		noderouter_start start = {};
		start.loop = &loop;
		start.setup = setup.get();
		start.store_path = path.c_str();
		start.memory_max = 1 << 20;
		REQUIRE(noderouter_open(&start, &router) == 0);
	}
	routed(const routed &) = delete;
	routed &operator=(const routed &) = delete;
	~routed()
	{
		noderouter_close(router);
		uv_run(&loop, UV_RUN_DEFAULT);
		noderouter_free(router);
		uv_loop_close(&loop);
	}

	void ask_with(one_question &asked)
	{
		asked.answer = [](nodeask *ask, int status, const storewire_reply *reply,
				  nodelink_message *) {
			static_cast<one_question *>(ask)->heard.push_back(
				status != 0 ? status : reply->status);
		};
		noderouter_ask(router, &asked);
	}

	one_question &ask(nodepin *pin = nullptr)
	{
		asks.push_back(std::make_unique<one_question>());
		one_question &made = *asks.back();
		made.request.type = pin != nullptr ? STOREWIRE_LOCK : STOREWIRE_MAKE_ID;
		made.memory.fd = -1;
		made.pin = pin;
		ask_with(made);
		return made;
	}

	template <typename condition> bool comes(condition holds)
	{
		const uint64_t end_ms = uv_now(&loop) + ROUTED_SOON_MS;
		bool is_so = holds();
		while (!is_so && uv_now(&loop) < end_ms) {
			uv_run(&loop, UV_RUN_NOWAIT);
			usleep(10);
			is_so = holds();
		}
		return is_so;
	}

	// How many have been answered so.
	size_t heard(int status) const
	{
		size_t count = 0;
		for (const auto &ask : asks)
			count += ask->heard == std::vector<int>{ status };
		return count;
	}
};
