// SPDX-License-Identifier: GPL-3.0-or-later
// A conversation with servers that are right, and with those that are not.
#include "bench/users-load/imap/imaptalk.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace
{

using fault_kind = enum imaptalk_fault; // a function has the name, too

// What the server of a test is told, and what it was made to say.
struct Talk {
	imaptalk_rules rules = {};
	imaptalk talk = {};
	std::vector<imaptalk_mail> mails;
	std::vector<std::string> folders;
	std::vector<fault_kind> faults;
	size_t piece = SIZE_MAX;

	explicit Talk(bool is_plain = false)
	{
		static const imaptalk_calls calls = {
			[](void *context, const imaptalk_mail *mail) {
				static_cast<Talk *>(context)->mails.push_back(*mail);
			},
			[](void *context, const char *name, bool) {
				static_cast<Talk *>(context)->folders.emplace_back(name);
			},
			[](void *context, fault_kind fault) {
				static_cast<Talk *>(context)->faults.push_back(fault);
			},
		};
		static const imaptalk_calls none = {};
		rules.calls = is_plain ? &none : &calls;
		rules.password = "secret";
		imaptalk_init(&talk, &rules, this);
	}
	~Talk()
	{
		imaptalk_deinit(&talk);
	}
	Talk(const Talk &) = delete;
	Talk &operator=(const Talk &) = delete;

	// All that is to be sent now, taken by the socket in pieces.
	std::string sent()
	{
		std::string all;
		char buffer[700];
		size_t size = 0;
		while ((size = imaptalk_output(&talk, buffer, std::min(piece, sizeof(buffer)))) >
		       0) {
			const size_t taken = size > 1 ? size / 2 : size;
			all.append(buffer, taken);
			imaptalk_sent(&talk, taken);
		}
		return all;
	}

	// The last event of these bytes, of which all have to be taken.
	imaptalk_event says(const std::string &text)
	{
		imaptalk_event event = IMAPTALK_GOES_ON;
		size_t at = 0;
		while (at < text.size() && event != IMAPTALK_BROKEN) {
			const size_t size = std::min(piece, text.size() - at);
			size_t taken = 0;
			const imaptalk_event next =
				imaptalk_input(&talk, text.data() + at, size, &taken);
			REQUIRE(taken <= size);
			if (next != IMAPTALK_GOES_ON)
				event = next;
			at += taken;
		}
		return event;
	}

	int start(unsigned command, const char *name = nullptr, uint32_t first = 0,
		  uint32_t last = 0, uint8_t flags = 0, const mailplan *mail = nullptr,
		  unsigned folder = 0)
	{
		behaviour_step step = {};
		step.command = command;
		step.first = first;
		step.last = last;
		step.flags = flags;
		step.folder = folder;
		return imaptalk_start(&talk, &step, name, mail);
	}

	// A whole command: what went out, when it was answered with what is right.
	std::string does(unsigned command, const std::string &untagged, const char *name = nullptr,
			 uint32_t first = 0, uint32_t last = 0, uint8_t flags = 0)
	{
		REQUIRE(start(command, name, first, last, flags) == 0);
		const std::string text = sent();
		REQUIRE(says(untagged + text.substr(0, text.find(' ')) + " OK done\r\n") ==
			IMAPTALK_DONE);
		REQUIRE(imaptalk_result(&talk) == IMAPTALK_OK);
		return text.substr(text.find(' ') + 1);
	}

	void logs_in(const std::string &capabilities = "IDLE UIDPLUS CONDSTORE")
	{
		REQUIRE(says("* OK hello\r\n") == IMAPTALK_GREETED);
		REQUIRE(start(TRANSACTION_LOGIN, "user") == 0);
		REQUIRE(sent() == "A1 LOGIN \"user\" \"secret\"\r\n");
		REQUIRE(says("A1 OK [CAPABILITY IMAP4rev1 " + capabilities + "] in\r\n") ==
			IMAPTALK_DONE);
	}

	void selects(unsigned exists, const std::string &uid_next = "100", unsigned folder = 0)
	{
		REQUIRE(start(TRANSACTION_SELECT, "INBOX", 0, 0, 0, nullptr, folder) == 0);
		const std::string tag = sent();
		REQUIRE(says("* FLAGS (\\Seen)\r\n* " + std::to_string(exists) +
			     " EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY 7] .\r\n* OK [UIDNEXT " +
			     uid_next + "] .\r\n" + tag.substr(0, tag.find(' ')) +
			     " OK [READ-WRITE] .\r\n") == IMAPTALK_DONE);
	}

	// Mails 1 to count with UIDs 10, 20, 30 and so on.
	void selects_with_uids(unsigned count)
	{
		selects(count, std::to_string(10 * count + 1));
		std::string said;
		for (unsigned i = 1; i <= count; i++)
			said += "* " + std::to_string(i) + " FETCH (UID " + std::to_string(10 * i) +
				" FLAGS ())\r\n";
		does(TRANSACTION_FETCH_FLAGS, said, nullptr, 1, count);
		mails.clear();
	}

	behaviour_view view() const
	{
		behaviour_view view = {};
		imaptalk_look(&talk, &view);
		return view;
	}
};

// A mail of the load as it is in bench/, which the tests are run beside.
mailplan mail_of(uint64_t number, std::string *ret_bytes)
{
	workload parameters = {};
	workload_error error = {};
	mailplan mail = {};
	const mailplan_wish wish = { 1, 2, number, 1700000000, "a@example.com", "b@example.com" };
	FILE *file = std::fopen("bench/enterprise.workload", "r");
	REQUIRE(file != nullptr);
	REQUIRE(workload_read(file, &parameters, &error) == 0);
	std::fclose(file);
	mailplan_make(&mail, &parameters, &wish);
	ret_bytes->resize(mail.size_bytes);
	REQUIRE(mailplan_copy(&mail, 0, &(*ret_bytes)[0], mail.size_bytes) == mail.size_bytes);
	return mail;
}

// With some mails of a folder, the fault that ends the connection after a command was sent, or without one.
fault_kind fault_of(const std::string &said, unsigned command = IMAPTALK_NOOP, uint32_t first = 0,
		    bool has_command = true)
{
	Talk talk;
	talk.logs_in();
	talk.selects_with_uids(3);
	if (has_command) {
		REQUIRE(talk.start(command, nullptr, first, first) == 0);
		talk.sent();
	}
	CAPTURE(said);
	REQUIRE(talk.says(said) == IMAPTALK_BROKEN);
	REQUIRE(talk.faults == std::vector<fault_kind>{ imaptalk_fault(&talk.talk) });
	// Nothing comes behind it.
	REQUIRE(talk.says("* 5 EXISTS\r\n") == IMAPTALK_BROKEN);
	REQUIRE(talk.start(IMAPTALK_NOOP) == -EPIPE);
	REQUIRE(talk.sent().empty());
	return imaptalk_fault(&talk.talk);
}

// The fault that goes on.
std::vector<fault_kind> mild_of(unsigned command, const std::string &said, uint32_t first = 1,
				uint32_t last = 3)
{
	Talk talk;
	talk.logs_in();
	talk.selects_with_uids(3);
	talk.does(command, said, nullptr, first, last);
	return talk.faults;
}

} // namespace

TEST_CASE("a talk is below 1 KiB", "[users-load][imaptalk]")
{
	CHECK(sizeof(imaptalk) <= 1024);
}

TEST_CASE("LOGIN is in quotes, and asks for capabilities that it was not told",
	  "[users-load][imaptalk]")
{
	Talk talk;
	talk.rules.password = "a\"b\\";
	CHECK(talk.start(TRANSACTION_LOGIN, "user") == -EBUSY);
	CHECK(talk.says("* OK [CAPABILITY IMAP4rev1 STARTTLS] hello\r\n") == IMAPTALK_GREETED);
	CHECK(talk.start(TRANSACTION_LOGIN, "user") == 0);
	CHECK(talk.start(TRANSACTION_LOGIN, "user") == -EBUSY);
	CHECK(talk.sent() == "A1 LOGIN \"user\" \"a\\\"b\\\\\"\r\n");
	CHECK(talk.says("A1 OK in\r\n") == IMAPTALK_GOES_ON);
	CHECK(talk.sent() == "A2 CAPABILITY\r\n");
	CHECK(talk.says("* CAPABILITY IMAP4rev1 MOVE\r\nA2 OK .\r\n") == IMAPTALK_DONE);
	CHECK(imaptalk_result(&talk.talk) == IMAPTALK_OK);
	CHECK(talk.talk.capabilities == (IMAPREADER_CAN_IMAP4REV1 | IMAPREADER_CAN_MOVE));
}

TEST_CASE("LOGIN of what quotes cannot have waits for each literal", "[users-load][imaptalk]")
{
	Talk talk;
	talk.rules.password = "caf\xc3\xa9";
	talk.says("* OK hello\r\n");
	REQUIRE(talk.start(TRANSACTION_LOGIN, "us\xc3\xa9r") == 0);
	CHECK(talk.sent() == "A1 LOGIN {5}\r\n");
	CHECK(talk.says("+ go on\r\n") == IMAPTALK_GOES_ON);
	CHECK(talk.sent() == "us\xc3\xa9r {5}\r\n");
	CHECK(talk.says("+ go on\r\n") == IMAPTALK_GOES_ON);
	CHECK(talk.sent() == "caf\xc3\xa9\r\n");
	CHECK(talk.says("A1 NO [AUTHENTICATIONFAILED] wrong\r\n") == IMAPTALK_DONE);
	CHECK(imaptalk_result(&talk.talk) == IMAPTALK_NO);
	CHECK(std::string(imaptalk_text(&talk.talk)) == "wrong");
	CHECK(talk.view().failed);
}

TEST_CASE("a greeting of BYE, of something else or of a tag is none", "[users-load][imaptalk]")
{
	{
		Talk talk;
		CHECK(talk.says("* BYE too many\r\n") == IMAPTALK_BYE);
		CHECK(talk.start(TRANSACTION_LOGIN, "user") == -EPIPE);
	}
	for (const char *said :
	     { "* NO hello\r\n", "A1 OK hello\r\n", "* 3 EXISTS\r\n", "+ hello\r\n" }) {
		Talk talk;
		CHECK(talk.says(said) == IMAPTALK_BROKEN);
		CHECK(imaptalk_fault(&talk.talk) == IMAPTALK_FAULT_GREETING);
	}
	Talk talk;
	CHECK(talk.says("220 mx.example.com ESMTP\r\n") == IMAPTALK_BROKEN);
	CHECK(imaptalk_fault(&talk.talk) == IMAPTALK_FAULT_NOT_IMAP);
}

TEST_CASE("STARTTLS forgets what was said before, and takes nothing behind it in plain text",
	  "[users-load][imaptalk]")
{
	Talk talk;
	talk.says("* OK [CAPABILITY STARTTLS IDLE] hello\r\n");
	CHECK(talk.does(IMAPTALK_STARTTLS, "") == "STARTTLS\r\n");
	CHECK(talk.start(IMAPTALK_NOOP) == -EBUSY);
	imaptalk_secured(&talk.talk);
	CHECK(talk.talk.capabilities == 0);
	CHECK(talk.does(IMAPTALK_NOOP, "") == "NOOP\r\n");
	Talk other;
	other.says("* OK hello\r\n");
	REQUIRE(other.start(IMAPTALK_STARTTLS) == 0);
	other.sent();
	CHECK(other.says("A1 OK go\r\n* CAPABILITY X\r\n") == IMAPTALK_BROKEN);
}

TEST_CASE("LIST tells the delimiter, and folders have it on the wire", "[users-load][imaptalk]")
{
	Talk talk;
	talk.rules.prefix = "INBOX/";
	talk.logs_in();
	CHECK(talk.does(TRANSACTION_LIST,
			"* LIST () \".\" INBOX\r\n* LIST (\\Noselect) \".\" \"INBOX.a\"\r\n"
			"* LIST () \".\" {9}\r\nINBOX.a.b\r\n") == "LIST \"\" \"*\"\r\n");
	CHECK(talk.folders == std::vector<std::string>{ "INBOX", "a", "a/b" });
	CHECK(talk.view().folder_count == 2);
	CHECK(talk.does(IMAPTALK_CREATE, "", "a/c \"d\"") == "CREATE \"INBOX.a.c \\\"d\\\"\"\r\n");
	CHECK(talk.does(TRANSACTION_STATUS, "* STATUS x (MESSAGES 3 UNSEEN 2 UIDNEXT 9)\r\n",
			"INBOX") == "STATUS \"INBOX\" (MESSAGES UNSEEN UIDNEXT UIDVALIDITY)\r\n");
	CHECK(talk.talk.status.messages == 3);
	CHECK(talk.talk.status.uid_next == 9);
	CHECK(talk.start(IMAPTALK_CREATE, "a\r\nb") == -EINVAL);
	CHECK(talk.start(IMAPTALK_CREATE, std::string(300, 'a').c_str()) == -EINVAL);
	CHECK(talk.start(IMAPTALK_CREATE) == -EINVAL);
	CHECK(talk.start(IMAPTALK_NOOP, "x") == -EINVAL);
	CHECK(talk.start(12345) == -EINVAL);
	CHECK(talk.does(IMAPTALK_NOOP, "") == "NOOP\r\n");
}

TEST_CASE("sequence numbers become UIDs where these are known", "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects(9);
	CHECK(talk.does(TRANSACTION_FETCH_FLAGS, "", nullptr, 1, 50) ==
	      "UID FETCH 1:* (UID FLAGS)\r\n");
	CHECK(talk.does(TRANSACTION_FETCH_FLAGS, "", nullptr, 3, 4) == "FETCH 3:4 (UID FLAGS)\r\n");
	talk.does(TRANSACTION_FETCH_FLAGS, "* 2 FETCH (UID 20)\r\n* 5 FETCH (UID 50)\r\n", nullptr,
		  1, 9);
	CHECK(talk.does(TRANSACTION_FETCH_STRUCTURE, "", nullptr, 2, 2) ==
	      "UID FETCH 20 (UID BODYSTRUCTURE)\r\n");
	CHECK(talk.does(TRANSACTION_FETCH_BODY, "", nullptr, 3, 5) ==
	      "UID FETCH 21:50 (UID RFC822.SIZE BODY[])\r\n");
	CHECK(talk.does(TRANSACTION_STORE, "", nullptr, 2, 5, BEHAVIOUR_SEEN | BEHAVIOUR_DELETED) ==
	      "UID STORE 20:50 +FLAGS (\\Seen \\Deleted)\r\n");
	CHECK(talk.does(TRANSACTION_COPY, "", "a", 6, 9) == "UID COPY 51:* \"a\"\r\n");
	CHECK(talk.does(TRANSACTION_EXPUNGE, "") == "EXPUNGE\r\n");
	CHECK(talk.does(TRANSACTION_EXPUNGE, "", nullptr, 2, 2) == "UID EXPUNGE 20\r\n");
	CHECK(talk.start(TRANSACTION_FETCH_BODY, nullptr, 10, 12) == -ENOENT);
	CHECK(talk.start(TRANSACTION_FETCH_BODY, nullptr, 0, 0) == -ENOENT);
	CHECK(talk.start(IMAPTALK_MOVE, "a", 1, 1) == -EOPNOTSUPP);
	CHECK(talk.does(IMAPTALK_CLOSE, "") == "CLOSE\r\n");
	CHECK(talk.start(TRANSACTION_FETCH_BODY, nullptr, 1, 1) == -ENOENT);
}

TEST_CASE("header lists are those of two clients, and MODSEQ is asked of servers that have it",
	  "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects(1);
	behaviour_step step = {};
	step.command = TRANSACTION_FETCH_HEADERS;
	step.first = step.last = 1;
	REQUIRE(imaptalk_start(&talk.talk, &step, nullptr, nullptr) == 0);
	CHECK(talk.sent().find("BODY.PEEK[HEADER.FIELDS (From To Cc Bcc Subject Date Message-ID "
			       "Priority X-Priority References Newsgroups In-Reply-To "
			       "Content-Type)])\r\n") != std::string::npos);
	talk.says("A3 OK .\r\n");
	step.client = 1;
	REQUIRE(imaptalk_start(&talk.talk, &step, nullptr, nullptr) == 0);
	CHECK(talk.sent().find("x-universally-unique-identifier)] MODSEQ)\r\n") !=
	      std::string::npos);
	talk.says("A4 OK .\r\n");
	talk.talk.capabilities &= ~(uint32_t)IMAPREADER_CAN_CONDSTORE;
	REQUIRE(imaptalk_start(&talk.talk, &step, nullptr, nullptr) == 0);
	CHECK(talk.sent().find("x-universally-unique-identifier)])\r\n") != std::string::npos);
}

TEST_CASE("each mail is told, with the id of the load", "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects(2);
	const std::string header =
		"Message-ID: <users-load.00000000000000ab.0000000000000cde@load.invalid>\r\n\r\n";
	talk.does(
		TRANSACTION_FETCH_HEADERS,
		"* 1 FETCH (UID 5 INTERNALDATE \"01-Jan-1970 00:01:00 +0000\" RFC822.SIZE 9 FLAGS "
		"(\\Seen) BODY[HEADER.FIELDS (Message-ID)] {" +
			std::to_string(header.size()) + "}\r\n" + header + ")\r\n",
		nullptr, 1, 2);
	REQUIRE(talk.mails.size() == 1);
	const imaptalk_mail &mail = talk.mails[0];
	CHECK(mail.sequence == 1);
	CHECK(mail.uid == 5);
	CHECK(mail.internal_s == 60);
	CHECK(mail.size_bytes == 9);
	CHECK(mail.flags == IMAPREADER_SEEN);
	CHECK(mail.has_header);
	CHECK(mail.has_id);
	CHECK(mail.run == 0xab);
	CHECK(mail.number == 0xcde);
	// What was asked for is known, told or not.
	CHECK(talk.view().known == 2);
}

TEST_CASE("APPEND waits for its literal, and with LITERAL+ does not", "[users-load][imaptalk]")
{
	std::string bytes;
	const mailplan mail = mail_of(GENERATE(1, 2, 3, 4, 5), &bytes);
	const std::string size = std::to_string(bytes.size());
	Talk talk;
	talk.logs_in();
	REQUIRE(talk.start(TRANSACTION_APPEND, "Sent", 0, 0, BEHAVIOUR_SEEN, &mail) == 0);
	CHECK(talk.sent() == "A2 APPEND \"Sent\" (\\Seen) {" + size + "}\r\n");
	CHECK(talk.sent().empty());
	CHECK(talk.says("+ OK\r\n") == IMAPTALK_GOES_ON);
	CHECK(talk.sent() == bytes + "\r\n");
	CHECK(talk.says("A2 OK [APPENDUID 1 2] .\r\n") == IMAPTALK_DONE);
	REQUIRE(talk.start(TRANSACTION_APPEND, "Sent", 0, 0, 0, &mail) == 0);
	CHECK(talk.sent() == "A3 APPEND \"Sent\" {" + size + "}\r\n");
	CHECK(talk.says("A3 NO [TRYCREATE] no such folder\r\n") == IMAPTALK_DONE);
	CHECK(imaptalk_result(&talk.talk) == IMAPTALK_NO);
	Talk plus;
	plus.logs_in("LITERAL+");
	REQUIRE(plus.start(TRANSACTION_APPEND, "Sent", 0, 0, 0, &mail) == 0);
	CHECK(plus.sent() == "A2 APPEND \"Sent\" {" + size + "+}\r\n" + bytes + "\r\n");
	CHECK(plus.says("A2 OK .\r\n") == IMAPTALK_DONE);
	plus.rules.has_no_literal_plus = true;
	REQUIRE(plus.start(TRANSACTION_APPEND, "Sent", 0, 0, 0, &mail) == 0);
	CHECK(plus.sent() == "A3 APPEND \"Sent\" {" + size + "}\r\n");
}

TEST_CASE("a mail goes out the same in pieces of any size", "[users-load][imaptalk]")
{
	std::string bytes;
	const mailplan mail = mail_of(7, &bytes);
	Talk talk;
	talk.piece = GENERATE(1, 2, 7, 100, 699);
	talk.logs_in("LITERAL+");
	REQUIRE(talk.start(TRANSACTION_APPEND, "Sent", 0, 0, 0, &mail) == 0);
	CHECK(talk.sent() ==
	      "A2 APPEND \"Sent\" {" + std::to_string(bytes.size()) + "+}\r\n" + bytes + "\r\n");
	CHECK(talk.says("A2 OK .\r\n") == IMAPTALK_DONE);
}

TEST_CASE("IDLE tells news, and ends when it is woken, also before it has begun",
	  "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects_with_uids(2);
	REQUIRE(talk.start(BEHAVIOUR_IDLE) == 0);
	CHECK(talk.sent() == "A4 IDLE\r\n");
	CHECK(talk.says("+ idling\r\n") == IMAPTALK_GOES_ON);
	CHECK(talk.says("* 1 EXPUNGE\r\n") == IMAPTALK_GOES_ON);
	CHECK(talk.says("* 1 EXISTS\r\n") == IMAPTALK_GOES_ON);
	CHECK(talk.says("* 2 EXISTS\r\n") == IMAPTALK_NEWS);
	imaptalk_wake(&talk.talk);
	CHECK(talk.sent() == "DONE\r\n");
	CHECK(talk.says("A4 OK .\r\n") == IMAPTALK_DONE);
	imaptalk_wake(&talk.talk);
	CHECK(talk.sent().empty());
	REQUIRE(talk.start(BEHAVIOUR_IDLE) == 0);
	talk.sent();
	imaptalk_wake(&talk.talk);
	CHECK(talk.sent().empty());
	CHECK(talk.says("+ idling\r\n") == IMAPTALK_GOES_ON);
	CHECK(talk.sent() == "DONE\r\n");
	CHECK(talk.says("A5 OK .\r\n") == IMAPTALK_DONE);
}

TEST_CASE("IDLE of a server without it is a NOOP at its end", "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in("UIDPLUS");
	talk.selects(2);
	REQUIRE(talk.start(BEHAVIOUR_IDLE) == 0);
	CHECK(talk.sent().empty());
	imaptalk_wake(&talk.talk);
	CHECK(talk.sent() == "A3 NOOP\r\n");
	CHECK(talk.says("* 3 EXISTS\r\nA3 OK .\r\n") == IMAPTALK_DONE);
	CHECK(talk.view().exists == 3);
}

TEST_CASE("LOGOUT ends with BYE, and any other BYE is the server's", "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	REQUIRE(talk.start(BEHAVIOUR_LOGOUT) == 0);
	talk.sent();
	CHECK(talk.says("* BYE bye\r\n") == IMAPTALK_GOES_ON);
	CHECK(imaptalk_has_left(&talk.talk));
	CHECK(talk.says("A2 OK .\r\n") == IMAPTALK_DONE);
	CHECK(talk.start(IMAPTALK_NOOP) == -EPIPE);
	for (const unsigned command :
	     { IMAPTALK_NOOP + 0U, TRANSACTION_LIST + 0U, BEHAVIOUR_IDLE + 0U }) {
		Talk other;
		other.logs_in();
		REQUIRE(other.start(command) == 0);
		other.sent();
		CHECK(other.says("* BYE shutdown\r\n") == IMAPTALK_BYE);
		CHECK_FALSE(imaptalk_has_left(&other.talk));
	}
}

TEST_CASE("a view follows EXPUNGE, and what is deleted is counted", "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects_with_uids(5);
	imaptalk_know(&talk.talk, 4);
	talk.does(TRANSACTION_STORE, "* 2 FETCH (UID 20 FLAGS (\\Deleted))\r\n", nullptr, 2, 3,
		  BEHAVIOUR_DELETED);
	CHECK(talk.view().deleted == 2);
	talk.does(TRANSACTION_EXPUNGE, "* 3 EXPUNGE\r\n* 2 EXPUNGE\r\n");
	CHECK(talk.view().deleted == 0);
	CHECK(talk.view().exists == 3);
	CHECK(talk.view().known == 2);
	CHECK(talk.does(TRANSACTION_FETCH_BODY, "", nullptr, 2, 2) ==
	      "UID FETCH 40 (UID RFC822.SIZE BODY[])\r\n");
	CHECK(talk.faults.empty());
}

TEST_CASE("what no server may say ends the connection with its name", "[users-load][imaptalk]")
{
	CHECK(fault_of("* 2 EXISTS\r\n") == IMAPTALK_FAULT_EXISTS_FELL);
	CHECK(fault_of("* 999999999 EXISTS\r\n") == IMAPTALK_FAULT_EXISTS_TOO_MANY);
	CHECK(fault_of("* 4 EXPUNGE\r\n") == IMAPTALK_FAULT_EXPUNGE_RANGE);
	CHECK(fault_of("* 0 EXPUNGE\r\n") == IMAPTALK_FAULT_EXPUNGE_RANGE);
	CHECK(fault_of("* 1 EXPUNGE\r\n", 0, 0, false) == IMAPTALK_FAULT_EXPUNGE_TIME);
	CHECK(fault_of("* 4 FETCH (FLAGS ())\r\n") == IMAPTALK_FAULT_FETCH_RANGE);
	CHECK(fault_of("* 0 FETCH (FLAGS ())\r\n") == IMAPTALK_FAULT_FETCH_RANGE);
	CHECK(fault_of("* 2 FETCH (UID 21)\r\n") == IMAPTALK_FAULT_UID_CHANGED);
	CHECK(fault_of("* 4 EXISTS\r\n* 4 FETCH (UID 25)\r\n") == IMAPTALK_FAULT_UID_ORDER);
	CHECK(fault_of("* OK [UIDVALIDITY 8] .\r\n") == IMAPTALK_FAULT_UIDVALIDITY);
	CHECK(fault_of("A9 OK .\r\n") == IMAPTALK_FAULT_TAG);
	CHECK(fault_of("B4 OK .\r\n") == IMAPTALK_FAULT_TAG);
	CHECK(fault_of("A4 OK .\r\n", 0, 0, false) == IMAPTALK_FAULT_TAG);
	CHECK(fault_of("+ go on\r\n") == IMAPTALK_FAULT_CONTINUE);
	CHECK(fault_of("+ go on\r\n", 0, 0, false) == IMAPTALK_FAULT_CONTINUE);
	CHECK(fault_of("A4 OK .\r\n", BEHAVIOUR_IDLE) == IMAPTALK_FAULT_EARLY);
	CHECK(fault_of("* PREAUTH .\r\n") == IMAPTALK_FAULT_NOT_IMAP);
	CHECK(fault_of("* 1 FETCH (BODY[] {3}\r\nabcdefgh)\r\n", TRANSACTION_FETCH_BODY, 1) ==
	      IMAPTALK_FAULT_NOT_IMAP);
	CHECK(fault_of("* 1 FETCH (BODY[] {999999999999}\r\n", TRANSACTION_FETCH_BODY, 1) ==
	      IMAPTALK_FAULT_TOO_LONG);
}

TEST_CASE("a new mail below UIDNEXT is told apart from one that is out of order",
	  "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects(0, "50");
	REQUIRE(talk.start(IMAPTALK_NOOP) == 0);
	talk.sent();
	CHECK(talk.says("* 1 EXISTS\r\n* 1 FETCH (UID 49)\r\n") == IMAPTALK_BROKEN);
	CHECK(imaptalk_fault(&talk.talk) == IMAPTALK_FAULT_UID_REUSED);
}

TEST_CASE("EXPUNGE may not come with numbers of a command that goes by them",
	  "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects(5);
	REQUIRE(talk.start(TRANSACTION_FETCH_FLAGS, nullptr, 2, 3) == 0);
	CHECK(talk.sent() == "A3 FETCH 2:3 (UID FLAGS)\r\n");
	CHECK(talk.says("* 1 EXPUNGE\r\n") == IMAPTALK_BROKEN);
	CHECK(imaptalk_fault(&talk.talk) == IMAPTALK_FAULT_EXPUNGE_TIME);
}

TEST_CASE("mails without a folder are in the wrong state", "[users-load][imaptalk]")
{
	for (const char *said : { "* 3 EXISTS\r\n", "* 1 EXPUNGE\r\n", "* 1 FETCH (UID 1)\r\n",
				  "* OK [UIDVALIDITY 1] .\r\n" }) {
		Talk talk;
		talk.logs_in();
		REQUIRE(talk.start(IMAPTALK_NOOP) == 0);
		talk.sent();
		CAPTURE(said);
		CHECK(talk.says(said) == IMAPTALK_BROKEN);
		CHECK(imaptalk_fault(&talk.talk) == IMAPTALK_FAULT_BAD_STATE);
	}
}

TEST_CASE("a reply before the command is sent is too early", "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	REQUIRE(talk.start(IMAPTALK_NOOP) == 0);
	CHECK(talk.says("A2 OK .\r\n") == IMAPTALK_BROKEN);
	CHECK(imaptalk_fault(&talk.talk) == IMAPTALK_FAULT_EARLY);
}

TEST_CASE("a folder that is selected again has its UIDVALIDITY, unless it was deleted meanwhile",
	  "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects(0, "1", 3);
	talk.selects(0, "1", 4);
	talk.talk.validities[0].uid_validity = 6;
	REQUIRE(talk.start(TRANSACTION_SELECT, "x", 0, 0, 0, nullptr, 3) == 0);
	talk.sent();
	CHECK(talk.says("* OK [UIDVALIDITY 7] .\r\n") == IMAPTALK_BROKEN);
	CHECK(imaptalk_fault(&talk.talk) == IMAPTALK_FAULT_UIDVALIDITY);
	Talk other;
	other.logs_in();
	other.selects(0, "1", 3);
	other.talk.validities[0].uid_validity = 6;
	REQUIRE(other.start(IMAPTALK_DELETE, "x", 0, 0, 0, nullptr, 3) == 0);
	other.sent();
	CHECK(other.says("A3 OK .\r\n") == IMAPTALK_DONE);
	other.selects(0, "1", 3);
}

TEST_CASE("SELECT that fails leaves no folder", "[users-load][imaptalk]")
{
	Talk talk;
	talk.logs_in();
	talk.selects(3);
	CHECK(talk.view().has_selected);
	REQUIRE(talk.start(TRANSACTION_SELECT, "x") == 0);
	CHECK_FALSE(talk.view().has_selected);
	talk.sent();
	CHECK(talk.says("A3 NO no such folder\r\n") == IMAPTALK_DONE);
	CHECK_FALSE(talk.view().has_selected);
	CHECK(talk.view().exists == 0);
}

TEST_CASE("oddities are counted and go on", "[users-load][imaptalk]")
{
	using faults = std::vector<fault_kind>;
	CHECK(mild_of(TRANSACTION_FETCH_BODY,
		      "* 1 FETCH (UID 10 RFC822.SIZE 9 BODY[] {3}\r\nabc)\r\n") ==
	      faults{ IMAPTALK_FAULT_SIZE_DIFFERS });
	CHECK(mild_of(TRANSACTION_FETCH_BODY,
		      "* 1 FETCH (UID 10 RFC822.SIZE 3 BODY[] {3}\r\nabc)\r\n")
		      .empty());
	CHECK(mild_of(TRANSACTION_FETCH_BODY, "* 1 FETCH (UID 10 RFC822.SIZE 9 BODY[] NIL)\r\n")
		      .empty());
	CHECK(mild_of(TRANSACTION_FETCH_BODY, "* 1 FETCH (BODY[] {3}\r\nabc)\r\n") ==
	      faults{ IMAPTALK_FAULT_FETCH_WITHOUT_UID });
	CHECK(mild_of(TRANSACTION_SEARCH, "* SEARCH 10 20 31\r\n").empty());
	CHECK(mild_of(TRANSACTION_SEARCH, "* SEARCH 10 15\r\n") ==
	      faults{ IMAPTALK_FAULT_SEARCH_STRANGE });
	Talk talk;
	talk.logs_in();
	talk.selects_with_uids(2);
	talk.does(TRANSACTION_STORE, "", nullptr, 1, 1, BEHAVIOUR_SEEN);
	talk.does(TRANSACTION_FETCH_FLAGS, "* 1 FETCH (UID 10 FLAGS (\\Flagged))\r\n", nullptr, 1,
		  2);
	CHECK(talk.faults == faults{ IMAPTALK_FAULT_FLAG_LOST });
	REQUIRE(talk.start(TRANSACTION_SELECT, "x", 0, 0, 0, nullptr, 1) == 0);
	talk.sent();
	CHECK(talk.says("* 1 EXISTS\r\nA6 OK .\r\n") == IMAPTALK_DONE);
	CHECK(talk.faults.back() == IMAPTALK_FAULT_SELECT_PARTIAL);
}

TEST_CASE("calls may be missing", "[users-load][imaptalk]")
{
	Talk talk(true);
	talk.logs_in();
	talk.selects_with_uids(1);
	talk.does(TRANSACTION_LIST, "* LIST () \"/\" x\r\n");
	talk.does(TRANSACTION_FETCH_BODY, "* 1 FETCH (BODY[] {0}\r\n)\r\n", nullptr, 1, 1);
	CHECK(talk.mails.empty());
	CHECK(std::string(imaptalk_fault_text(IMAPTALK_FAULT_TAG)) ==
	      "a reply to a command that was not sent");
}
