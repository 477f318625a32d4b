// SPDX-License-Identifier: GPL-3.0-or-later
// Sessions of mail-scan-milter, before a scanner that the test itself is.
#include "integration/mail/scan-milter/scansession.h"

#include <arpa/inet.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct scanner {
	unsigned room = 1;
	unsigned open = 0;
	unsigned refreshed = 0;
	std::atomic<unsigned> inside{ 0 };
	std::atomic<bool> has_met{ false }; // two threads in it at a time
	struct scan_verdict verdict = {};
	std::string mail; // of the last that has ended
	std::vector<std::string> envelope;
};

struct scan {
	scanner *owner;
	std::string mail;
	unsigned waits = 0; // so often it is busy
};

namespace
{

class visit
{
      public:
	explicit visit(scanner *visited) : visited(visited)
	{
		if (visited->inside++ != 0)
			visited->has_met = true;
		std::this_thread::yield();
	}
	~visit()
	{
		visited->inside--;
	}
	visit(const visit &) = delete;
	visit &operator=(const visit &) = delete;

      private:
	scanner *visited;
};

const char *text(const char *text)
{
	return text == nullptr ? "(none)" : text;
}

} // namespace

// ---- instead of scanner.c ----

void scanner_refresh(scanner *scanner)
{
	const visit visiting(scanner);
	scanner->refreshed++;
}

int scan_begin(scanner *scanner, inspect_kind kind, const scan_envelope *envelope, scan **ret_scan)
{
	const visit visiting(scanner);
	if (scanner->open == scanner->room || kind != INSPECT_MAIL)
		return -EAGAIN;
	scanner->open++;
	scanner->envelope = { text(envelope->client), text(envelope->helo), text(envelope->sender),
			      text(envelope->id) };
	for (size_t i = 0; i < envelope->recipient_count; i++)
		scanner->envelope.emplace_back(envelope->recipients[i]);
	*ret_scan = new scan{ scanner, "" };
	return 0;
}

void scan_push(scan *scan, const uint8_t *bytes, size_t size)
{
	const visit visiting(scan->owner);
	scan->mail.append(reinterpret_cast<const char *>(bytes), size);
	scan->waits = 2;
}

void scan_end(scan *scan, bool is_whole)
{
	const visit visiting(scan->owner);
	scan->owner->mail = is_whole ? scan->mail : "cut";
	scan->waits = 2;
}

bool scan_is_busy(const scan *scan)
{
	return scan->waits > 0;
}

size_t scan_poll(const scan *scan, pollfd *ret_fds, int *ret_timeout_ms)
{
	const visit visiting(scan->owner);
	(void)ret_fds;
	*ret_timeout_ms = 0;
	return 0;
}

void scan_turn(scan *scan)
{
	const visit visiting(scan->owner);
	scan->waits--;
}

const struct scan_verdict *scan_verdict(const scan *scan)
{
	return &scan->owner->verdict;
}

void scan_free(scan *scan)
{
	const visit visiting(scan->owner);
	scan->owner->open--;
	delete scan;
}

// ---- the tests ----

namespace
{

struct milter {
	explicit milter(scan_action on_busy = SCAN_DEFER)
	{
		settings.actions[INSPECT_BUSY] = on_busy;
		REQUIRE(scansession_shared_init(&all, &scans, &settings) == 0);
	}
	uint64_t count(scancounts_number number) const
	{
		return counts_get(&all.counts[number]);
	}
	scanner scans;
	scan_settings settings = {};
	scansession_shared all = {};
};

using owned = std::unique_ptr<scansession, decltype(&scansession_free)>;

owned connect(milter &milter, const char *address = "192.0.2.66")
{
	owned session{ scansession_new(&milter.all), scansession_free };
	sockaddr_in client = {};
	client.sin_family = AF_INET;
	inet_pton(AF_INET, address, &client.sin_addr);
	scansession_set_blanks(session.get(), true);
	scansession_connect(session.get(), reinterpret_cast<const sockaddr *>(&client));
	return session;
}

void body(const owned &session, const std::string &text)
{
	scansession_body(session.get(), reinterpret_cast<const uint8_t *>(text.data()),
			 text.size());
}

// A whole mail; what it has for a scanner.
std::string send(milter &milter, const owned &session, const std::string &content)
{
	scansession_mail(session.get(), "<a@b>");
	scansession_rcpt(session.get(), "<c@d>");
	REQUIRE(scansession_begin(session.get(), "4Q1") == SCANSESSION_GO_ON);
	scansession_field(session.get(), "Subject", " x\n y");
	scansession_end_fields(session.get());
	body(session, content);
	CHECK(scansession_end(session.get()) == &milter.scans.verdict);
	scansession_forget(session.get());
	return milter.scans.mail;
}

const std::string HEADER = "Subject: x\r\n y\r\n\r\n";

} // namespace

TEST_CASE("a mail is scanned as it came", "[scan][scansession]")
{
	milter milter;
	const auto session = connect(milter);
	for (const size_t size : { 0, 1, SCANSESSION_PIECE - 1, SCANSESSION_PIECE,
				   SCANSESSION_PIECE + 1, 65535, 200000 }) {
		CAPTURE(size);
		const std::string content(size, 'x');
		CHECK((send(milter, session, content) == HEADER + content));
		CHECK(milter.scans.open == 0);
	}
	CHECK(milter.count(SCANCOUNTS_MAILS) == 7);
	CHECK(milter.count(SCANCOUNTS_ACCEPTED) == 7);
	CHECK(milter.count(SCANCOUNTS_ABORTED) == 0);
}

TEST_CASE("pieces of a body come together", "[scan][scansession]")
{
	milter milter;
	const auto session = connect(milter);
	scansession_mail(session.get(), "<>");
	REQUIRE(scansession_begin(session.get(), nullptr) == SCANSESSION_GO_ON);
	scansession_field(session.get(), "A", "b");
	scansession_field(session.get(), "C", " d\r\n\te");
	scansession_field(session.get(), "F", "");
	scansession_end_fields(session.get());
	for (unsigned i = 0; i < 30000; i++)
		body(session, "x");
	body(session, std::string(65535, 'y'));
	body(session, "z");
	REQUIRE(scansession_end(session.get()) != nullptr);
	CHECK((milter.scans.mail == "A:b\r\nC: d\r\n\te\r\nF:\r\n\r\n" + std::string(30000, 'x') +
					    std::string(65535, 'y') + "z"));
}

TEST_CASE("a mail server without blanks had one in each field", "[scan][scansession]")
{
	milter milter;
	const auto session = connect(milter);
	session->has_blanks = false;
	REQUIRE(scansession_begin(session.get(), nullptr) == SCANSESSION_GO_ON);
	scansession_field(session.get(), "A", "b\n\tc");
	REQUIRE(scansession_end(session.get()) != nullptr);
	CHECK(milter.scans.mail == "A: b\r\n\tc\r\n");
}

TEST_CASE("the scanner hears of the envelope", "[scan][scansession]")
{
	using words = std::vector<std::string>;
	milter milter;
	const auto session = connect(milter);
	scansession_helo(session.get(), "helo.example");
	scansession_mail(session.get(), "<s@example.org>");
	scansession_rcpt(session.get(), "<a@b>");
	scansession_rcpt(session.get(), "c@d");
	REQUIRE(scansession_begin(session.get(), "4Q1") == SCANSESSION_GO_ON);
	CHECK(milter.scans.envelope ==
	      words{ "192.0.2.66", "helo.example", "s@example.org", "4Q1", "a@b", "c@d" });
	SECTION("and of none of the mail before")
	{
		scansession_mail(session.get(), "<>");
		CHECK(milter.count(SCANCOUNTS_ABORTED) == 1);
		REQUIRE(scansession_begin(session.get(), nullptr) == SCANSESSION_GO_ON);
		CHECK(milter.scans.envelope ==
		      words{ "192.0.2.66", "helo.example", "", session->id });
	}
	SECTION("nor of the client before")
	{
		scansession_connect(session.get(), nullptr);
		REQUIRE(scansession_begin(session.get(), nullptr) == SCANSESSION_GO_ON);
		CHECK(milter.scans.envelope == words{ "(none)", "(none)", "(none)", session->id });
	}
	SECTION("as far as there is room")
	{
		scansession_mail(session.get(), std::string(100000, 's').c_str());
		for (unsigned i = 0; i < 5000; i++)
			scansession_rcpt(session.get(), "<user@example.org>");
		REQUIRE(scansession_begin(session.get(), nullptr) == SCANSESSION_GO_ON);
		CHECK(milter.scans.envelope.size() > 500);
		CHECK(milter.scans.envelope.back() == "user@example.org");
	}
}

TEST_CASE("a mail that comes when the scanner has no room", "[scan][scansession]")
{
	const auto [on_busy, expected] = GENERATE(table<scan_action, scansession_step>({
		{ SCAN_ACCEPT, SCANSESSION_LEAVE },
		{ SCAN_MARK, SCANSESSION_LEAVE },
		{ SCAN_QUARANTINE, SCANSESSION_LEAVE },
		{ SCAN_DEFER, SCANSESSION_BUSY },
		{ SCAN_REJECT, SCANSESSION_BUSY },
	}));
	milter milter(on_busy);
	milter.scans.room = 0;
	const auto session = connect(milter);
	scansession_mail(session.get(), "<a@b>");
	CHECK(scansession_begin(session.get(), nullptr) == expected);
	milter.scans.room = 1; // as at the beginning of the mail
	CHECK(scansession_begin(session.get(), nullptr) == expected);
	scansession_field(session.get(), "A", "b");
	scansession_end_fields(session.get());
	body(session, std::string(100000, 'x'));
	CHECK(scansession_end(session.get()) == nullptr);
	CHECK(milter.count(SCANCOUNTS_BUSY) == 1);
	CHECK(milter.count(SCANCOUNTS_MAILS) == 0);
	CHECK(send(milter, session, "x") == HEADER + "x");
}

TEST_CASE("what becomes of mails is counted", "[scan][scansession]")
{
	const auto [action, number] = GENERATE(table<scan_action, scancounts_number>({
		{ SCAN_ACCEPT, SCANCOUNTS_ACCEPTED },
		{ SCAN_MARK, SCANCOUNTS_MARKED },
		{ SCAN_QUARANTINE, SCANCOUNTS_QUARANTINED },
		{ SCAN_DEFER, SCANCOUNTS_DEFERRED },
		{ SCAN_REJECT, SCANCOUNTS_REJECTED },
	}));
	milter milter;
	struct inspect_result result = {};
	result.counts[INSPECT_SIGNATURE] = 2;
	milter.scans.verdict.action = action;
	milter.scans.verdict.result = &result;
	const auto session = connect(milter);
	send(milter, session, "xyz");
	CHECK(milter.count(number) == 1);
	CHECK(milter.count(SCANCOUNTS_FOUND) == 1);
	CHECK(milter.count(SCANCOUNTS_MAILS) == 1);
	CHECK(milter.count(SCANCOUNTS_CONNECTIONS) == 1);
	CHECK(milter.count(SCANCOUNTS_BYTES) == HEADER.size() + 3);
}

TEST_CASE("a session that ends takes its mail with it", "[scan][scansession]")
{
	milter milter;
	{
		const auto session = connect(milter);
		CHECK(milter.all.open == 1);
		REQUIRE(scansession_begin(session.get(), nullptr) == SCANSESSION_GO_ON);
		body(session, "x");
		CHECK(milter.scans.open == 1);
	}
	CHECK(milter.scans.open == 0);
	CHECK(milter.count(SCANCOUNTS_ABORTED) == 1);
	CHECK(milter.all.open == 0);
}

TEST_CASE("threads have the scanner one after the other", "[scan][scansession]")
{
	milter milter;
	milter.scans.room = 8;
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < 8; i++) {
		threads.emplace_back([&milter] {
			const auto session = connect(milter);
			for (unsigned mail = 0; mail < 20; mail++) {
				scansession_mail(session.get(), "<>");
				scansession_begin(session.get(), nullptr);
				body(session, std::string(40000, 'x'));
				scansession_end(session.get());
				scanwork_refresh(&milter.all.work);
			}
		});
	}
	for (auto &thread : threads)
		thread.join();
	CHECK_FALSE(milter.scans.has_met);
	CHECK(milter.scans.open == 0);
	CHECK(milter.scans.refreshed == 160);
	CHECK(milter.count(SCANCOUNTS_MAILS) == 160);
	CHECK(milter.count(SCANCOUNTS_BYTES) == 160 * 40000);
}
