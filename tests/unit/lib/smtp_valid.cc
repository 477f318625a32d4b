// SPDX-License-Identifier: GPL-3.0-or-later
// What may come out of a capsule and go on as a dialogue.
#include "tests/unit/lib/smtp_session.hh"

namespace
{

struct dialogue at(dialogue_state state)
{
	scripted one;
	const std::vector<std::string> lines = { "EHLO c.example",
						 "MAIL FROM:<a@b.example> RET=HDRS ENVID=x",
						 "RCPT TO:<c@d.example>" };
	one.begin();
	if (state == DIALOGUE_AT_MAIL_ASKED)
		one.step(lines[1]);
	if (state < DIALOGUE_AT_MAIL)
		return one.dialogue;
	one.say(lines[1]);
	if (state == DIALOGUE_AT_RCPT_ASKED)
		one.step(lines[2]);
	if (state < DIALOGUE_AT_RCPT)
		return one.dialogue;
	one.say(lines[2]);
	if (state == DIALOGUE_AT_DATA_ASKED)
		one.step("DATA");
	if (state == DIALOGUE_AT_BDAT_ASKED)
		one.step("BDAT 10 LAST");
	if (state == DIALOGUE_AT_CHUNKS)
		one.say("BDAT 2\r\n");
	return one.dialogue;
}

using change = void (*)(struct dialogue *);

// Valid, and not so with the change.
bool is_spoilt_by(dialogue_state state, change made)
{
	struct dialogue dialogue = at(state);
	const bool was_valid = dialogue.state == state && dialogue_is_valid(&dialogue);
	made(&dialogue);
	return was_valid && !dialogue_is_valid(&dialogue);
}

} // namespace

TEST_CASE("each state that the dialogue gets into is valid", "[front][valid]")
{
	const auto state =
		GENERATE(DIALOGUE_AT_HELO, DIALOGUE_AT_MAIL_ASKED, DIALOGUE_AT_MAIL,
			 DIALOGUE_AT_RCPT_ASKED, DIALOGUE_AT_RCPT, DIALOGUE_AT_DATA_ASKED,
			 DIALOGUE_AT_BDAT_ASKED, DIALOGUE_AT_CHUNKS);
	const struct dialogue dialogue = at(state);
	CHECK(dialogue.state == state);
	CHECK(dialogue_is_valid(&dialogue));
	CHECK(sizeof(dialogue) < 2048);
}

TEST_CASE("a state that does not go together is not valid", "[front][valid]")
{
	struct row {
		const char *name;
		dialogue_state state;
		change made;
	};
	using D = struct dialogue;
	const row tried = GENERATE(values<row>({
		{ "unknown state", DIALOGUE_AT_RCPT,
		  [](D *d) { d->state = static_cast<dialogue_state>(DIALOGUE_STATE_COUNT); } },
		{ "no HELO", DIALOGUE_AT_RCPT, [](D *d) { d->helo[0] = '\0'; } },
		{ "bad HELO", DIALOGUE_AT_RCPT, [](D *d) { d->helo[1] = '('; } },
		{ "endless HELO", DIALOGUE_AT_RCPT,
		  [](D *d) { std::memset(d->helo, 'x', sizeof(d->helo)); } },
		{ "HELO too early", DIALOGUE_AT_HELO, [](D *d) { d->state = DIALOGUE_AT_START; } },
		{ "ESMTP of nobody", DIALOGUE_AT_HELO,
		  [](D *d) {
			  d->state = DIALOGUE_AT_START;
			  d->helo[0] = '\0';
		  } },
		{ "endless sender", DIALOGUE_AT_RCPT,
		  [](D *d) { std::memset(d->envelope.sender, 'x', sizeof(d->envelope.sender)); } },
		{ "bad sender", DIALOGUE_AT_RCPT, [](D *d) { d->envelope.sender[0] = '>'; } },
		{ "sender without a domain", DIALOGUE_AT_RCPT,
		  [](D *d) { std::strcpy(d->envelope.sender, "postmaster"); } },
		{ "UTF-8 unsaid", DIALOGUE_AT_RCPT,
		  [](D *d) { std::strcpy(d->envelope.sender, "\xc3\xbc@b"); } },
		{ "endless ENVID", DIALOGUE_AT_RCPT,
		  [](D *d) { std::memset(d->envelope.envid, 'x', sizeof(d->envelope.envid)); } },
		{ "bad ENVID", DIALOGUE_AT_RCPT, [](D *d) { d->envelope.envid[0] = ' '; } },
		{ "unknown RET", DIALOGUE_AT_RCPT,
		  [](D *d) { d->envelope.ret = static_cast<envelope_ret>(3); } },
		{ "unknown BODY", DIALOGUE_AT_RCPT,
		  [](D *d) { d->envelope.body = static_cast<envelope_body>(2); } },
		{ "sender before MAIL", DIALOGUE_AT_MAIL,
		  [](D *d) { d->state = DIALOGUE_AT_HELO; } },
		{ "no recipient", DIALOGUE_AT_RCPT, [](D *d) { d->recipient_count = 0; } },
		{ "no recipient of DATA", DIALOGUE_AT_DATA_ASKED,
		  [](D *d) { d->recipient_count = 0; } },
		{ "recipient before RCPT", DIALOGUE_AT_MAIL, [](D *d) { d->recipient_count = 1; } },
		{ "too many recipients", DIALOGUE_AT_RCPT,
		  [](D *d) { d->recipient_count = UINT32_MAX; } },
		{ "too many mails", DIALOGUE_AT_RCPT, [](D *d) { d->mail_count = UINT32_MAX; } },
		{ "chunks before BDAT", DIALOGUE_AT_RCPT, [](D *d) { d->mail_size = 1; } },
		{ "a chunk between chunks", DIALOGUE_AT_CHUNKS, [](D *d) { d->chunk_size = 1; } },
		{ "the last amid chunks", DIALOGUE_AT_CHUNKS, [](D *d) { d->is_last = true; } },
		{ "sizes that turn over", DIALOGUE_AT_BDAT_ASKED,
		  [](D *d) { d->mail_size = UINT64_MAX; } },
	}));
	CAPTURE(tried.name);
	CHECK(is_spoilt_by(tried.state, tried.made));
}

TEST_CASE("a recipient out of a capsule is one that the parser lets through", "[front][valid]")
{
	struct recipient good = {};
	std::strcpy(good.address, "a@b.example");
	std::strcpy(good.orcpt, "rfc822;a@b");
	good.notify = ENVELOPE_NOTIFY_DELAY | ENVELOPE_NOTIFY_SUCCESS;
	CHECK(dialogue_is_valid_recipient(&good, false));
	struct recipient made = good;
	std::strcpy(made.address, "postmaster");
	CHECK(dialogue_is_valid_recipient(&made, false));
	std::strcpy(made.address, "\xc3\xbc@b");
	CHECK(dialogue_is_valid_recipient(&made, true));
	CHECK_FALSE(dialogue_is_valid_recipient(&made, false));
	made.address[0] = '\0';
	CHECK_FALSE(dialogue_is_valid_recipient(&made, false));
	std::memset(made.address, 'x', sizeof(made.address));
	CHECK_FALSE(dialogue_is_valid_recipient(&made, false));
	made = good;
	made.notify = ENVELOPE_NOTIFY_NEVER | ENVELOPE_NOTIFY_DELAY;
	CHECK_FALSE(dialogue_is_valid_recipient(&made, false));
	made.notify = 16;
	CHECK_FALSE(dialogue_is_valid_recipient(&made, false));
	made = good;
	made.orcpt[0] = ';';
	CHECK_FALSE(dialogue_is_valid_recipient(&made, false));
	std::memset(made.orcpt, 'x', sizeof(made.orcpt));
	CHECK_FALSE(dialogue_is_valid_recipient(&made, false));
}
