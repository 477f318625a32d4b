// SPDX-License-Identifier: GPL-3.0-or-later
// What may come out of a capsule and go on as a dialogue.
#include "tests/unit/pop3/session.hh"

namespace
{

struct pop3_dialogue at(pop3_state state)
{
	pop3_server one;
	if (state >= POP3_AT_TRANSACTION)
		one.begin();
	else if (state != POP3_AT_START && state != POP3_AT_SASL)
		one.say("USER mrose");
	if (state == POP3_AT_SASL)
		one.say("AUTH PLAIN");
	if (state == POP3_AT_LOGIN_ASKED)
		one.step("PASS x");
	if (state == POP3_AT_TLS_ASKED)
		one.step("STLS");
	if (state == POP3_AT_RETR_ASKED)
		one.step("RETR 1");
	if (state == POP3_AT_TOP_ASKED)
		one.step("TOP 1 1");
	if (state == POP3_AT_UPDATE_ASKED) {
		one.say("DELE 1");
		one.step("QUIT");
	}
	if (state == POP3_AT_END)
		one.say("QUIT");
	return one.dialogue;
}

using change = void (*)(struct pop3_dialogue *);

} // namespace

TEST_CASE("each state that the dialogue gets into is valid", "[pop3][valid]")
{
	for (int state = 0; state < POP3_STATE_COUNT; state++) {
		const struct pop3_dialogue dialogue = at(static_cast<pop3_state>(state));
		CHECK(dialogue.state == state);
		CHECK(pop3_dialogue_is_valid(&dialogue));
		CHECK(pop3_dialogue_is_asking(&dialogue) ==
		      (state == POP3_AT_LOGIN_ASKED || state == POP3_AT_TLS_ASKED ||
		       state == POP3_AT_RETR_ASKED || state == POP3_AT_TOP_ASKED ||
		       state == POP3_AT_UPDATE_ASKED));
	}
	CHECK(sizeof(struct pop3_dialogue) < 512);
}

TEST_CASE("a state that does not go together is not valid", "[pop3][valid]")
{
	struct row {
		const char *name;
		pop3_state state;
		change made;
	};
	using D = struct pop3_dialogue;
	const row tried = GENERATE(values<row>({
		{ "unknown state", POP3_AT_START,
		  [](D *d) { d->state = static_cast<pop3_state>(POP3_STATE_COUNT); } },
		{ "negative state", POP3_AT_START,
		  [](D *d) { d->state = static_cast<pop3_state>(-1); } },
		{ "endless user", POP3_AT_USER,
		  [](D *d) { std::memset(d->user, 'x', sizeof(d->user)); } },
		{ "bad user", POP3_AT_USER, [](D *d) { d->user[0] = '\x01'; } },
		{ "no user", POP3_AT_USER, [](D *d) { d->user[0] = '\0'; } },
		{ "no user of a session", POP3_AT_TRANSACTION, [](D *d) { d->user[0] = '\0'; } },
		{ "no way", POP3_AT_TRANSACTION, [](D *d) { d->way = 0; } },
		{ "two ways", POP3_AT_TRANSACTION, [](D *d) { d->way = 3; } },
		{ "unknown way", POP3_AT_TRANSACTION, [](D *d) { d->way = 16; } },
		{ "another way", POP3_AT_USER, [](D *d) { d->way = POP3_WAY_PLAIN; } },
		{ "a user too early", POP3_AT_START, [](D *d) { d->user[0] = 'x'; } },
		{ "a way too early", POP3_AT_START, [](D *d) { d->way = POP3_WAY_USER; } },
		{ "an exchange of USER", POP3_AT_SASL, [](D *d) { d->way = POP3_WAY_USER; } },
		{ "an exchange without a way", POP3_AT_SASL, [](D *d) { d->way = 0; } },
		{ "a user of PLAIN too early", POP3_AT_SASL, [](D *d) { d->user[0] = 'x'; } },
		{ "a challenge of PLAIN", POP3_AT_SASL, [](D *d) { d->is_challenged = true; } },
		{ "UTF8 before TLS", POP3_AT_TLS_ASKED, [](D *d) { d->is_utf8 = true; } },
		{ "TLS in TLS", POP3_AT_TLS_ASKED, [](D *d) { d->is_tls = true; } },
		{ "octets of no mail", POP3_AT_TRANSACTION, [](D *d) { d->octets = 1; } },
		{ "more logins than errors", POP3_AT_TRANSACTION,
		  [](D *d) { d->login_count = 1; } },
		{ "errors", POP3_AT_TRANSACTION, [](D *d) { d->error_count = UINT32_MAX; } },
		{ "commands", POP3_AT_TRANSACTION, [](D *d) { d->command_count = UINT32_MAX; } },
	}));
	CAPTURE(tried.name);
	struct pop3_dialogue dialogue = at(tried.state);
	CHECK(pop3_dialogue_is_valid(&dialogue));
	tried.made(&dialogue);
	CHECK_FALSE(pop3_dialogue_is_valid(&dialogue));
}
