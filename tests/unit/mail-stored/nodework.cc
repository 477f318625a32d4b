// SPDX-License-Identifier: GPL-3.0-or-later
// Requests of clients to nodes, of which this one has a played store.
#include "integration/mail/mail-stored/module/nodework.h"

#include "lib/mailstore/mailrecord.h"
#include "tests/lib/mailname.hh"
#include "tests/unit/mail-stored/played_store.hh"
#include "tests/unit/mail-stored/routed.hh"

namespace
{

// A mail with few bytes, for these mailboxes.
struct mail_asked {
	std::vector<uint8_t> memory;
	storewire_request request = {};

	explicit mail_asked(const std::vector<std::string> &boxes)
	{
		std::vector<mailname> names;
		for (const auto &box : boxes)
			names.push_back(name_of(box));
		const std::string text = "Subject: x\r\n\r\n";
		memory.resize(mailmeta_size(name_of("s@x"), names.data(), names.size(), 0));
		mailmeta_encode(name_of("s@x"), names.data(), names.size(), nullptr, 0,
				memory.data());
		request.type = STOREWIRE_DELIVER;
		request.number = memory.size();
		request.size = text.size();
		memory.insert(memory.end(), text.begin(), text.end());
		request.has_memory = true;
		request.memory = memory.data();
		request.memory_size = memory.size();
	}
};

class worked
{
      public:
	routed side;
	locate where = {};
	nodework_counters counters = {};
	nodework_parts parts = {};
	std::vector<int> heard;

	explicit worked(unsigned nodes) : side(1, nodes)
	{
		side.setup->copies = 2;
		where.setup = side.setup.get();
		parts.router = side.router;
		parts.locate = &where;
		parts.setup = side.setup.get();
		parts.counters = &counters;
	}

	void deliver(const std::vector<std::string> &boxes)
	{
		const mail_asked mail(boxes);
		nodework_start start = {};
		start.parts = &parts;
		start.owner = this;
		start.answer = [](void *owner, const storewire_reply *reply, int) {
			static_cast<worked *>(owner)->heard.push_back(reply->status);
		};
		nodework_begin(&start, &mail.request, -1);
	}

	// All requests that the store gets until there is an answer; each is refused or accepted.
	size_t play(played_store &played, int status)
	{
		size_t count = 0;
		REQUIRE(side.comes([&] { return played.accept_one(); }));
		played.greet();
		REQUIRE(side.comes([&] {
			played.take_all();
			for (; count < played.serials.size(); count++)
				played.answer(count, status);
			return !heard.empty();
		}));
		return count;
	}
};

} // namespace

TEST_CASE("a mail without recipients is answered, also where there are second copies",
	  "[mail-stored][nodework]")
{
	worked work(2);
	played_store played(work.side.path);
	work.deliver({});
	CHECK(work.play(played, MAILSTORE_ERECIPIENTS) == 1);
	CHECK(work.heard == std::vector<int>{ MAILSTORE_ERECIPIENTS });
}

TEST_CASE("a mailbox whose copies would have too long a name has none, and that is counted",
	  "[mail-stored][nodework]")
{
	const bool is_long = GENERATE(true, false);
	worked work(2);
	played_store played(work.side.path);
	work.deliver({ std::string(is_long ? MAILBOX_NAME_MAX : 20, 'x') });
	CHECK(work.play(played, 0) == 1); // the other node, where copies would be, is down
	CHECK(work.heard == std::vector<int>{ 0 });
	CHECK(work.counters.delivered == 1);
	CHECK(work.counters.copied == 0);
	CHECK(work.counters.uncopied == 1);
}
