// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/process/takeover.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
// A generation of two workers, and what they have said of its zones.
class generation
{
      public:
	explicit generation(const std::vector<std::string> &domains)
	{
		std::string text;
		for (const std::string &domain : domains)
			text += "  - domain: " + domain + "\n    store: " + domain + ".mdb\n";
		text = text.empty() ? "server:\n    workers: 1\n" : "zone:\n" + text;
		conf_error error;
		if (settings_parse(&settings_, text.data(), text.size(), "/", &error) != 0)
			throw std::runtime_error(error.reason);
		if (zonestatus_open(&zonestatus_, 2, domains.size()) != 0)
			throw std::runtime_error("no zonestatus");
	}
	~generation()
	{
		zonestatus_close(&zonestatus_);
		settings_deinit(&settings_);
	}
	generation(const generation &) = delete;
	generation &operator=(const generation &) = delete;

	void say(size_t worker, size_t zone, zonestatus_state state, int status = 0)
	{
		zonestatus_zone value = {};
		value.state = state;
		value.status = static_cast<uint64_t>(static_cast<int64_t>(status));
		zonestatus_put(&zonestatus_, worker, zone, &value);
	}
	takeover_side side() const
	{
		return { &settings_, &zonestatus_ };
	}

      private:
	settings settings_ = {};
	zonestatus zonestatus_ = {};
};

// "" or the zone that would be lost, and why.
std::string loss(const generation &before, const generation &after)
{
	const takeover_side from = before.side();
	const takeover_side to = after.side();
	takeover_loss found = {};
	if (!takeover_find_loss(&from, &to, &found))
		return "";
	return found.zone->domain.text + std::string(" ") + std::to_string(found.status);
}
} // namespace

TEST_CASE("a zone that is served and cannot be opened would be lost", "[server][takeover]")
{
	generation before({ "a.example", "b.example" });
	generation after({ "c.example", "B.example" });
	before.say(1, 1, ZONESTATUS_SERVING);
	after.say(0, 1, ZONESTATUS_SERVING);
	CHECK(loss(before, after).empty());
	after.say(1, 1, ZONESTATUS_FAILED, -ENOENT);
	CHECK(loss(before, after) == "b.example. -" + std::to_string(ENOENT));
}

TEST_CASE("a zone that is not served, or not configured any more, is not lost",
	  "[server][takeover]")
{
	generation before({ "a.example", "b.example", "c.example" });
	generation after({ "a.example", "b.example", "new.example" });
	before.say(0, 0, ZONESTATUS_FAILED, -ENOENT);
	before.say(0, 1, ZONESTATUS_EXPIRED);
	before.say(0, 2, ZONESTATUS_SERVING);
	for (size_t zone = 0; zone < 3; zone++)
		after.say(0, zone, ZONESTATUS_FAILED, -EACCES);
	CHECK(loss(before, after).empty());
}

TEST_CASE("a list that has expired meanwhile has not been lost", "[server][takeover]")
{
	generation before({ "a.example" });
	generation after({ "a.example" });
	before.say(0, 0, ZONESTATUS_SERVING);
	after.say(0, 0, ZONESTATUS_EXPIRED);
	CHECK(loss(before, after).empty());
}
