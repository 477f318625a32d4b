// SPDX-License-Identifier: GPL-3.0-or-later
// What the milter does with a session. No DNS is asked: what an outage means makes the verdict.
#include "integration/adapters/milter/session.h"
#include "integration/adapters/milter/milter_setup.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <netinet/in.h>
#include <string>
#include <sys/un.h>

namespace
{

const char *const LISTED = "closed"; // of "on-failure"
const char *const DEFERRED = "defer";
const char *const UNKNOWN = "open";

// A daemon without libmilter. No resolver is at that port.
class desk
{
      public:
	explicit desk(const std::string &on_failure, const std::string &decision = "",
		      const std::string &own = "")
	{
		const std::string text =
			"milter:\n    log-level: error\n" + own + "decision:\n    deadline: 1ms\n" +
			decision +
			"library:\n    zones: bl6.example\n    servers: 127.0.0.1@1\n"
			"    on-failure: " +
			on_failure + "\n";
		conf_error error = {};
		const int status = milter_setup_parse(text.data(), text.size(), &setup, &error);
		CAPTURE(error.item, error.reason);
		REQUIRE(status == 0);
		REQUIRE(dnsblv6_start(setup.handle.client) == 0);
		REQUIRE(session_shared_init(&sessions, &setup.judge, setup.is_quarantine) == 0);
		session = session_new(&sessions);
		REQUIRE(session != nullptr);
	}
	~desk()
	{
		session_free(session);
		CHECK(sessions.open == 0);
		milter_setup_deinit(&setup);
	}
	desk(const desk &) = delete;
	desk &operator=(const desk &) = delete;

	session_step connect(uint32_t address = 0xC0000242) // 192.0.2.66
	{
		sockaddr_in from = {};
		from.sin_family = AF_INET;
		from.sin_addr.s_addr = htonl(address);
		return session_connect(session, reinterpret_cast<const sockaddr *>(&from));
	}
	session_changes end()
	{
		session_changes changes = {};
		session_end_mail(session, &changes);
		return changes;
	}
	uint64_t counted(counters_number number) const
	{
		return counts_get(&sessions.counters[number]);
	}

	milter_setup setup = {};
	struct session_shared sessions = {};
	struct session *session = nullptr;
};

} // namespace

TEST_CASE("a listed client hears it from its first recipient on", "[milter][session]")
{
	desk desk(LISTED);
	CHECK(desk.connect() == SESSION_GO_ON);
	CHECK(session_mail(desk.session, nullptr) == SESSION_GO_ON);
	CHECK(session_rcpt(desk.session) == SESSION_REJECT);
	CHECK(session_rcpt(desk.session) == SESSION_REJECT);
	CHECK(std::string(desk.session->judgement.code) == "5.7.1");
	CHECK(std::string(desk.session->judgement.text).find("192.0.2.66") != std::string::npos);
	CHECK(desk.counted(COUNTERS_LISTED) == 1);
	CHECK(desk.counted(COUNTERS_REJECTED) == 2);
}

TEST_CASE("an outage that means defer puts a client off", "[milter][session]")
{
	desk desk(DEFERRED);
	CHECK(desk.connect() == SESSION_GO_ON);
	CHECK(session_mail(desk.session, "") == SESSION_GO_ON);
	CHECK(session_rcpt(desk.session) == SESSION_DEFER);
	CHECK(std::string(desk.session->judgement.code) == "4.7.1");
	CHECK(desk.counted(COUNTERS_DEFERRED) == 1);
}

TEST_CASE("without an answer a client passes, and nothing more is asked", "[milter][session]")
{
	desk desk(UNKNOWN);
	CHECK(desk.connect() == SESSION_LEAVE);
	// Nor is it refused by a mail server that goes on all the same.
	CHECK(session_mail(desk.session, nullptr) == SESSION_LEAVE);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	CHECK(desk.end().header == nullptr);
	CHECK(desk.counted(COUNTERS_UNKNOWN) == 1);
}

TEST_CASE("an authenticated client passes with that mail", "[milter][session]")
{
	desk desk(LISTED);
	CHECK(desk.connect() == SESSION_GO_ON);
	CHECK(session_mail(desk.session, "user") == SESSION_LEAVE);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	CHECK(desk.counted(COUNTERS_AUTHENTICATED) == 1);
	CHECK(session_mail(desk.session, nullptr) == SESSION_GO_ON);
	CHECK(session_rcpt(desk.session) == SESSION_REJECT);
}

TEST_CASE("own networks are not judged, also after the allow list was read again",
	  "[milter][session]")
{
	const tmpdir directory;
	const std::string path = directory.file("allow");
	write_file(path, "198.51.100.0/24\n");
	desk desk(LISTED, "    exempt: 192.0.2.0/26\n    allow-file: " + path + "\n");
	CHECK(desk.connect(0xC0000201) == SESSION_LEAVE);
	CHECK(desk.connect(0xC6336401) == SESSION_LEAVE);
	CHECK(desk.connect(0x7F000001) == SESSION_LEAVE);
	CHECK(desk.connect() == SESSION_GO_ON);
	CHECK(desk.counted(COUNTERS_EXEMPT) == 3);

	networks_error error = {};
	write_file(path, "192.0.2.66\n");
	CHECK(session_shared_reload(&desk.sessions, &error) == 0);
	CHECK(desk.connect() == SESSION_LEAVE);
	CHECK(desk.connect(0xC6336401) == SESSION_GO_ON);
	write_file(path, "192.0.2\n");
	CHECK(session_shared_reload(&desk.sessions, &error) == -EINVAL);
	CHECK(desk.connect() == SESSION_LEAVE);
}

TEST_CASE("sessions are not held up while the allow list is read", "[milter][session]")
{
	const tmpdir directory;
	const std::string path = directory.file("allow");
	write_file(path, "");
	desk desk(LISTED, "    allow-file: " + path + "\n");
	write_file(path, "192.0.2\n");
	networks_error error = {};
	// A reload that wanted the lock for this list would be told that its thread has it, and end it.
	REQUIRE(pthread_rwlock_wrlock(&desk.sessions.allowing) == 0);
	CHECK(session_shared_reload(&desk.sessions, &error) == -EINVAL);
	CHECK(pthread_rwlock_tryrdlock(&desk.sessions.allowing) == EBUSY);
	pthread_rwlock_unlock(&desk.sessions.allowing);
}

TEST_CASE("a client without an IP address passes", "[milter][session]")
{
	desk desk(LISTED);
	sockaddr_un local = {};
	local.sun_family = AF_UNIX;
	CHECK(session_connect(desk.session, nullptr) == SESSION_LEAVE);
	CHECK(session_connect(desk.session, reinterpret_cast<const sockaddr *>(&local)) ==
	      SESSION_LEAVE);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	CHECK(desk.counted(COUNTERS_NO_ADDRESS) == 2);
}

TEST_CASE("a client of IPv6 is judged", "[milter][session]")
{
	desk desk(LISTED);
	sockaddr_in6 from = {};
	from.sin6_family = AF_INET6;
	from.sin6_addr.s6_addr[0] = 0x20;
	from.sin6_addr.s6_addr[15] = 1;
	CHECK(session_connect(desk.session, reinterpret_cast<const sockaddr *>(&from)) ==
	      SESSION_GO_ON);
	CHECK(std::string(desk.session->client) == "2000::1");
}

TEST_CASE("the next client on the same connection is judged anew", "[milter][session]")
{
	desk desk(LISTED, "    exempt: 192.0.2.0/26\n");
	CHECK(desk.connect() == SESSION_GO_ON);
	const std::string id = desk.session->id;
	CHECK(desk.connect(0xC0000201) == SESSION_LEAVE);
	CHECK(desk.session->id != id);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	CHECK(desk.sessions.open == 1);
}

TEST_CASE("a recipient before everything else is not refused", "[milter][session]")
{
	desk desk(LISTED);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	CHECK(desk.end().header == nullptr);
}

TEST_CASE("a warning lets the mail through", "[milter][session]")
{
	desk desk(LISTED, "    action: warn\n");
	CHECK_FALSE(session_shared_want_headers(&desk.sessions));
	CHECK(desk.connect() == SESSION_GO_ON);
	CHECK(session_mail(desk.session, nullptr) == SESSION_LEAVE);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	CHECK(desk.counted(COUNTERS_WARNED) == 1);
}

TEST_CASE("a header says score, zones and reason", "[milter][session]")
{
	desk desk(LISTED, "    action: prepend\n");
	CHECK(session_shared_want_headers(&desk.sessions));
	CHECK(desk.connect() == SESSION_GO_ON);
	CHECK(session_mail(desk.session, nullptr) == SESSION_GO_ON);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	const auto changes = desk.end();
	CHECK(changes.delete_count == 0);
	CHECK(std::string(changes.header) == "score=1 zones=-; nothing is known about 192.0.2.66, "
					     "no answer from bl6.example");
	CHECK(changes.quarantine == nullptr);
	CHECK(desk.counted(COUNTERS_MARKED) == 1);

	CHECK(session_mail(desk.session, "user") == SESSION_GO_ON);
	CHECK(desk.end().header == nullptr);
}

TEST_CASE("headers of our name are taken out of every mail from outside", "[milter][session]")
{
	const std::string login = GENERATE("", "user");
	desk desk(UNKNOWN, "    action: prepend\n");
	CHECK(desk.connect() == SESSION_GO_ON);
	CHECK(session_mail(desk.session, login.c_str()) == SESSION_GO_ON);
	session_header(desk.session, "X-DNSBLv6");
	session_header(desk.session, "x-dnsblV6");
	session_header(desk.session, "X-DNSBLv66");
	session_header(desk.session, "");
	CHECK(desk.end().delete_count == 2);
	CHECK(session_mail(desk.session, login.c_str()) == SESSION_GO_ON);
	CHECK(desk.end().delete_count == 0);
	CHECK(desk.counted(COUNTERS_CLEANED) == 1);
}

TEST_CASE("headers of our name are taken out of mails without an address of the client",
	  "[milter][session]")
{
	desk desk(LISTED, "    action: prepend\n");
	CHECK(session_connect(desk.session, nullptr) == SESSION_GO_ON);
	CHECK(session_mail(desk.session, nullptr) == SESSION_GO_ON);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	session_header(desk.session, "X-DNSBLv6");
	const auto changes = desk.end();
	CHECK(changes.delete_count == 1);
	CHECK(changes.header == nullptr);
}

TEST_CASE("quarantine takes the place of a refusal", "[milter][session]")
{
	desk desk(LISTED, "", "    quarantine: yes\n");
	CHECK(desk.connect() == SESSION_GO_ON);
	CHECK(session_mail(desk.session, nullptr) == SESSION_GO_ON);
	CHECK(session_rcpt(desk.session) == SESSION_GO_ON);
	const auto changes = desk.end();
	CHECK(std::string(changes.quarantine) == desk.session->judgement.text);
	CHECK(std::string(changes.header) == desk.session->judgement.header);
	CHECK(desk.counted(COUNTERS_QUARANTINED) == 1);
	CHECK(desk.counted(COUNTERS_REJECTED) == 0);
}
