// SPDX-License-Identifier: GPL-3.0-or-later
// Recipients of LMTP where there is a list of them.
#include "tests/unit/mail-users/users.hh"
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

namespace
{

// A session amid a mail, with an alias of three.
class aliased
{
      public:
	aliased()
	{
		const auto path = dir.file("users.mdb");
		REQUIRE(build(path, { "all@example.org to=ann@example.org,bob@example.org,"
				      "cid@example.org",
				      "ann@example.org", "bob@example.org", "cid@example.org",
				      "dan@example.org", "@example.com to=ann@example.org" }) ==
			STORE_OK);
		world = world_of_tests();
		REQUIRE(users_open(path.c_str(), &world.users) == 0);
	}
	aliased(const aliased &) = delete;
	aliased &operator=(const aliased &) = delete;
	~aliased()
	{
		users_close(world.users);
	}

      private:
	tmpdir dir;

      public:
	lmtp_world world;
};

using names = std::vector<std::string>;

} // namespace

TEST_CASE("mail for an alias is one mail for its mailboxes, each once",
	  "[mail-stored][lmtp_session]")
{
	aliased it;
	played session(it.world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	CHECK(session.say("RCPT TO:<bob@example.org>\r\n") == "250 2.1.5 Ok\r\n");
	CHECK(session.say("RCPT TO:<All@example.org>\r\n") == "250 2.1.5 Ok\r\n");
	CHECK(session.say("RCPT TO:<any@example.com>\r\n") == "250 2.1.5 Ok\r\n");
	session.say("DATA\r\n");
	// A reply for each recipient, and not for each mailbox.
	CHECK(session.say("x\r\n.\r\n") == "250 2.0.0 Ok: ab000000000000000000000000000000\r\n"
					   "250 2.0.0 Ok: ab000000000000000000000000000000\r\n"
					   "250 2.0.0 Ok: ab000000000000000000000000000000\r\n");
	REQUIRE(session.mails.size() == 1);
	CHECK(session.mails[0].mailboxes ==
	      names{ "ann@example.org", "bob@example.org", "cid@example.org" });
	CHECK(session.mails[0].text.find("\tfor <") == std::string::npos);
	CHECK(session.checked.empty());
	CHECK(it.world.memory_used == 0);
}

TEST_CASE("an alias is refused for now when one of its mailboxes is full, and has none of them",
	  "[mail-stored][lmtp_session]")
{
	const auto [status, reply] = GENERATE(table<int, const char *>({
		{ MAILSTORE_EQUOTA, "452 4.2.2" },
		{ -EIO, "451 4.3.0" },
	}));
	const size_t full = GENERATE(0, 1, 2);
	aliased it;
	it.world.has_quotas = true;
	played session(it.world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b> SIZE=77\r\n");
	CHECK(session.say("RCPT TO:<dan@example.org>\r\n") == "250 2.1.5 Ok\r\n");
	session.answers.assign(full, 0);
	session.answers.push_back(status);
	CHECK(session.say("RCPT TO:<all@example.org>\r\n").substr(0, 9) == reply);
	names checked = { "dan@example.org 77", "ann@example.org 77", "bob@example.org 77",
			  "cid@example.org 77" };
	checked.resize(2 + full);
	CHECK(session.checked == checked);
	// The next recipient is asked about alone.
	session.checked.clear();
	CHECK(session.say("RCPT TO:<bob@example.org>\r\n") == "250 2.1.5 Ok\r\n");
	CHECK(session.checked == names{ "bob@example.org 77" });
	session.feed("DATA\r\nx\r\n.\r\n");
	CHECK(session.mails.at(0).mailboxes == names{ "bob@example.org", "dan@example.org" });
	CHECK(it.world.memory_used == 0);
}

TEST_CASE("an alias whose mailboxes have room is asked about each, while commands wait",
	  "[mail-stored][lmtp_session]")
{
	aliased it;
	it.world.has_quotas = true;
	played session(it.world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	session.holds = true;
	CHECK(session.say("RCPT TO:<all@example.org>\r\nRSET\r\n").empty());
	CHECK(session.release(0).empty());
	CHECK(session.release(0).empty());
	CHECK(session.release(0) == "250 2.1.5 Ok\r\n250 2.0.0 Ok\r\n");
	CHECK(session.checked.size() == 3);
	CHECK(it.world.memory_used == 0);
}

TEST_CASE("more mailboxes than a record has are refused with their recipient",
	  "[mail-stored][lmtp_session]")
{
	aliased it;
	it.world.memory_max = 8 << 20;
	played session(it.world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	for (int i = 0; i < MAIL_RECIPIENTS_MAX / 3; i++)
		session.feed("RCPT TO:<all@example.org>\r\n");
	CHECK(session.say("RCPT TO:<all@example.org>\r\n").substr(0, 9) == "452 4.5.3");
	CHECK(session.say("RCPT TO:<dan@example.org>\r\n") == "250 2.1.5 Ok\r\n");
	session.feed("DATA\r\nx\r\n.\r\n");
	CHECK(session.mails.at(0).mailboxes.size() == 4);
}

TEST_CASE("an alias for which there is no memory is refused whole", "[mail-stored][lmtp_session]")
{
	aliased it;
	it.world.memory_max = 512; // of the first names
	played session(it.world);
	session.feed("LHLO c\r\nMAIL FROM:<a@b>\r\n");
	CHECK(session.say("RCPT TO:<dan@example.org>\r\n") == "250 2.1.5 Ok\r\n");
	int accepted = 0;
	while (session.say("RCPT TO:<all@example.org>\r\n").substr(0, 3) == "250")
		accepted++;
	CHECK(accepted == (512 / 17 - 1) / 3);
	session.feed("DATA\r\nx\r\n.\r\n");
	CHECK(session.mails.at(0).mailboxes.size() == 4);
}
