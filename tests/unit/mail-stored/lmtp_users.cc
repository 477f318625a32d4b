// SPDX-License-Identifier: GPL-3.0-or-later
// Recipients of LMTP where there is a list of them.
#include "tests/unit/mail-base/users.hh"
#include "tests/unit/mail-stored/lmtp_played.hh"

#include "tests/lib/tmpdir.hh"

TEST_CASE("the list says which recipients there are, and what their mailboxes are called",
	  "[mail-stored][lmtp_session]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org", "@example.com", "domain example.net" }) ==
		STORE_OK);
	lmtp_world world = world_of_tests();
	REQUIRE(users_open(path.c_str(), &world.users) == 0);
	{
		played session(world);
		session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
		CHECK(session.say("RCPT TO:<\"john\"@Example.org>\r\n") == "250 2.1.5 Ok\r\n");
		CHECK(session.say("RCPT TO:<any@example.com>\r\n") == "250 2.1.5 Ok\r\n");
		CHECK(session.say("RCPT TO:<other@example.com>\r\n") == "250 2.1.5 Ok\r\n");
		CHECK(session.say("RCPT TO:<x@example.net>\r\n").substr(0, 9) == "550 5.1.1");
		CHECK(session.say("RCPT TO:<x@example.edu>\r\n").substr(0, 9) == "550 5.7.1");
		CHECK(session.say("RCPT TO:<Postmaster>\r\n") == "250 2.1.5 Ok\r\n");
		session.feed("DATA\r\n.\r\n");
		CHECK(session.mails.at(0).mailboxes ==
		      std::vector<std::string>{ "@example.com", "john@example.org", "postmaster" });
	}
	users_close(world.users);
}
