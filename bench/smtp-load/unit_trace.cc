// SPDX-License-Identifier: GPL-3.0-or-later
// Which sessions a load has: shares, recipients, sizes, addresses.
#include "bench/smtp-load/trace.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

namespace
{

// Enough that a share is known to a hundredth, six times its deviation at most.
constexpr unsigned COUNT = 20000;

trace_options defaults()
{
	trace_options options;
	trace_set_defaults(&options);
	return options;
}

std::vector<trace_session> make(const trace_options &options, unsigned count = COUNT)
{
	std::vector<trace_session> sessions(count);
	for (unsigned i = 0; i < count; i++)
		trace_make(&options, i, &sessions[i]);
	return sessions;
}

template <typename Predicate>
double share(const std::vector<trace_session> &sessions, Predicate predicate)
{
	return double(std::count_if(sessions.begin(), sessions.end(), predicate)) /
	       double(sessions.size());
}

bool same(const trace_session &a, const trace_session &b)
{
	return a.number == b.number && a.kind == b.kind && a.point == b.point &&
	       a.is_spam == b.is_spam && a.recipients == b.recipients &&
	       a.first_user == b.first_user && a.size_bytes == b.size_bytes &&
	       a.has_client == b.has_client && a.client.hi == b.client.hi &&
	       a.client.lo == b.client.lo;
}

std::string text_of(dnsblv6_addr addr)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	dnsblv6_addr_format(addr, text);
	return text;
}

// A file that is gone at the end of the test.
class written
{
      public:
	explicit written(const std::string &text)
	{
		const int fd = mkstemp(path_);
		REQUIRE(fd >= 0);
		close(fd);
		std::ofstream(path_) << text;
	}
	~written()
	{
		std::remove(path_);
	}
	const char *path() const
	{
		return path_;
	}

      private:
	char path_[32] = "/tmp/smtp-load-XXXXXX";
};

} // namespace

TEST_CASE("as many sessions bounce and are left as was asked, for every seed", "[smtp-load][trace]")
{
	auto options = defaults();
	options.seed = GENERATE(0u, 1u, 2u, 4711u);
	options.bounces = GENERATE(0.0, 0.25, 0.6);
	options.unfinished = GENERATE(0.0, 0.15, 0.4);
	CAPTURE(options.seed, options.bounces, options.unfinished);
	const auto sessions = make(options);
	CHECK(share(sessions, [](auto &s) { return s.kind == TRACE_BOUNCE; }) ==
	      Approx(options.bounces).margin(0.02));
	CHECK(share(sessions, [](auto &s) { return s.kind == TRACE_UNFINISHED; }) ==
	      Approx(options.unfinished).margin(0.02));
}

TEST_CASE("a share of 0 or 1 makes no session or every session of that kind", "[smtp-load][trace]")
{
	auto options = defaults();
	const auto sessions = make(options);
	CHECK(share(sessions, [](auto &s) { return s.kind == TRACE_MAIL; }) == 1);
	options.bounces = 1;
	CHECK(share(make(options), [](auto &s) { return s.kind == TRACE_BOUNCE; }) == 1);
	options.bounces = 0;
	options.unfinished = 1;
	CHECK(share(make(options), [](auto &s) { return s.kind == TRACE_UNFINISHED; }) == 1);
}

TEST_CASE("a session follows from options and number alone", "[smtp-load][trace]")
{
	auto options = defaults();
	options.bounces = options.unfinished = options.spam = 0.3;
	options.size_sigma = 1;
	const auto sessions = make(options, 100);
	const auto again = make(options, 100);
	CHECK(std::equal(sessions.begin(), sessions.end(), again.begin(), same));
	options.seed = 2;
	const auto others = make(options, 100);
	CHECK_FALSE(std::equal(sessions.begin(), sessions.end(), others.begin(), same));
}

TEST_CASE("changing the share of bounces changes nothing else in the trace", "[smtp-load][trace]")
{
	auto options = defaults();
	options.spam = options.unfinished = 0.4;
	options.size_sigma = 1;
	auto before = make(options, 1000);
	options.bounces = 0.5;
	auto after = make(options, 1000);
	for (auto *sessions : { &before, &after }) {
		// Nobody bounces who has left.
		for (auto &session : *sessions)
			session.kind =
				session.kind == TRACE_UNFINISHED ? TRACE_UNFINISHED : TRACE_MAIL;
	}
	CHECK(std::equal(before.begin(), before.end(), after.begin(), same));
}

TEST_CASE("spam has 5 to 15 recipients, each number as often", "[smtp-load][trace]")
{
	auto options = defaults();
	options.spam = 1;
	std::map<unsigned, unsigned> counts;
	for (const auto &session : make(options))
		counts[session.recipients]++;
	CHECK(counts.size() == 11);
	CHECK(counts.begin()->first == 5);
	CHECK(counts.rbegin()->first == 15);
	for (const auto &[recipients, count] : counts)
		CHECK(count == Approx(COUNT / 11.0).epsilon(0.15));
}

TEST_CASE("other mail has the asked mean of recipients", "[smtp-load][trace]")
{
	auto options = defaults();
	options.ham_mean = GENERATE(1.0, 1.02, 1.5, 10.0);
	CAPTURE(options.ham_mean);
	double sum = 0;
	unsigned most = 0;
	for (const auto &session : make(options)) {
		sum += session.recipients;
		most = std::max(most, session.recipients);
		REQUIRE(session.recipients >= 1);
	}
	CHECK(sum / COUNT == Approx(options.ham_mean).epsilon(0.03));
	CHECK(most <= TRACE_RECIPIENTS_MAX);
}

TEST_CASE("a part of the sessions is spam", "[smtp-load][trace]")
{
	auto options = defaults();
	options.spam = 0.67;
	CHECK(share(make(options), [](auto &s) { return s.is_spam; }) == Approx(0.67).margin(0.02));
}

TEST_CASE("sizes are fixed, or log-normal about a median and within a range", "[smtp-load][trace]")
{
	auto options = defaults();
	CHECK(share(make(options), [](auto &s) { return s.size_bytes == 4096; }) == 1);
	options.size_sigma = 1.5;
	options.size_min = 1000;
	options.size_max = 50000;
	std::vector<unsigned> sizes;
	for (const auto &session : make(options))
		sizes.push_back(session.size_bytes);
	std::sort(sizes.begin(), sizes.end());
	CHECK(sizes.front() == 1000);
	CHECK(sizes.back() == 50000);
	CHECK(sizes[COUNT / 2] == Approx(4096).epsilon(0.05));
	// A deviation above the median.
	CHECK(sizes[COUNT * 84 / 100] == Approx(4096 * std::exp(1.5)).epsilon(0.1));
}

TEST_CASE("a session of POP3 looks for as many mails as mailboxes of SPECmail2001 have",
	  "[smtp-load][trace]")
{
	const auto sessions = make(defaults());
	const auto of = [&](unsigned count) {
		return share(sessions, [count](auto &s) { return s.messages == count; });
	};
	CHECK(of(0) == Approx(0.265).margin(0.01));
	CHECK(of(1) == Approx(0.161).margin(0.01));
	CHECK(of(2) == Approx(0.1225).margin(0.01));
	CHECK(of(3) == Approx(0.0961).margin(0.01));
	CHECK(of(8) == Approx(0.029).margin(0.005));
	CHECK(of(28) > 0);
	CHECK(share(sessions, [](auto &s) { return s.messages > 28; }) == 0);
}

TEST_CASE("a client leaves only where it may", "[smtp-load][trace]")
{
	auto options = defaults();
	options.unfinished = 1;
	options.points = 1u << TRACE_AFTER_HELO | 1u << TRACE_AFTER_RCPT;
	const auto sessions = make(options);
	CHECK(share(sessions, [](auto &s) { return s.point == TRACE_AFTER_HELO; }) ==
	      Approx(0.5).margin(0.02));
	CHECK(share(sessions, [](auto &s) { return s.point == TRACE_AFTER_RCPT; }) ==
	      Approx(0.5).margin(0.02));
}

TEST_CASE("addresses of a prefix are all in it and of all of it", "[smtp-load][trace]")
{
	auto options = defaults();
	clients from = {};
	const auto prefix = GENERATE(as<std::string>(), "198.51.100.0/29", "2001:db8::/125");
	REQUIRE(dnsblv6_prefix_parse(prefix.data(), prefix.size(), &from.prefix) == 0);
	from.has_prefix = true;
	options.clients = &from;
	std::set<std::string> seen;
	for (const auto &session : make(options, 1000)) {
		REQUIRE(session.has_client);
		CHECK(dnsblv6_prefix_contains(from.prefix, session.client));
		seen.insert(text_of(session.client));
	}
	CHECK(seen.size() == 8);
}

TEST_CASE("addresses of a file are taken in turn, round and round", "[smtp-load][trace]")
{
	auto options = defaults();
	clients from = {};
	size_t line = 0;
	written file("# time and address\n1177977600\t192.0.2.1\r\n\n198.51.100.7\n2001:db8::1");
	REQUIRE(clients_open(file.path(), &from, &line) == 0);
	options.clients = &from;
	std::vector<std::string> texts;
	for (const auto &session : make(options, 4))
		texts.push_back(text_of(session.client));
	CHECK(texts ==
	      std::vector<std::string>{ "192.0.2.1", "198.51.100.7", "2001:db8::1", "192.0.2.1" });
	clients_close(&from);
}

TEST_CASE("a line that has no address is named", "[smtp-load][trace]")
{
	clients from = {};
	size_t line = 0;
	written file("192.0.2.1\nnonsense\n");
	CHECK(clients_open(file.path(), &from, &line) == DNSBLV6_EADDRESS);
	CHECK(line == 2);
	written none("# nobody\n");
	CHECK(clients_open(none.path(), &from, &line) == DNSBLV6_EADDRESS);
	CHECK(line == 0);
	CHECK(clients_open("/nonexistent", &from, &line) == -ENOENT);
}

TEST_CASE("gaps of a rate are exponential", "[smtp-load][trace]")
{
	const auto options = defaults();
	double sum = 0;
	unsigned above_mean = 0;
	for (unsigned i = 0; i < COUNT; i++) {
		const double gap_s = trace_gap_s(&options, i, 200);
		REQUIRE(gap_s >= 0);
		sum += gap_s;
		above_mean += gap_s > 1.0 / 200;
	}
	CHECK(sum / COUNT == Approx(1.0 / 200).epsilon(0.03));
	CHECK(double(above_mean) / COUNT == Approx(std::exp(-1)).margin(0.02));
}

TEST_CASE("options that no trace can satisfy are refused", "[smtp-load][trace]")
{
	auto options = defaults();
	CHECK(trace_check(&options) == nullptr);
	SECTION("shares")
	{
		options.bounces = 0.7;
		options.unfinished = 0.4;
		CHECK(std::string(trace_check(&options)) ==
		      "bounces and unfinished sessions are more than all");
		options.unfinished = -0.1;
		CHECK(trace_check(&options) != nullptr);
		options.unfinished = NAN;
		CHECK(trace_check(&options) != nullptr);
	}
	SECTION("recipients")
	{
		options.spam_max = TRACE_RECIPIENTS_MAX + 1;
		CHECK(trace_check(&options) != nullptr);
		options.spam_max = 4;
		CHECK(trace_check(&options) != nullptr);
	}
	SECTION("the rest")
	{
		options.points = GENERATE(0u, 1u << TRACE_POINTS);
		CHECK(trace_check(&options) != nullptr);
	}
}
