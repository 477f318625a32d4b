// SPDX-License-Identifier: GPL-3.0-or-later
// Samples, and what of them is for the log. Whole streams, files, collectors and
// disks are in tests/integration/server/test_dnstap.py.
#include "server/querylog/dnstap.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace
{

const std::string HEADER(12, '\0');
const std::string TAIL("\0\1\0\1", 4);

settings_name name_of(const std::string &wire)
{
	settings_name name = {};
	name.size = wire.size();
	memcpy(name.wire, wire.data(), wire.size());
	return name;
}

std::vector<uint8_t> sample_of(const std::string &query, const std::string &response = "")
{
	tap_sample head = {};
	head.client.ss_family = AF_INET;
	head.query_size = static_cast<uint32_t>(query.size());
	head.response_size = static_cast<uint32_t>(response.size());
	std::vector<uint8_t> sample(sizeof(head));
	memcpy(sample.data(), &head, sizeof(head));
	sample.insert(sample.end(), query.begin(), query.end());
	sample.insert(sample.end(), response.begin(), response.end());
	return sample;
}

} // namespace

TEST_CASE("a sample is whole or none", "[server][dnstap]")
{
	const std::vector<uint8_t> whole = sample_of("query", "response");
	CHECK(dnstap_is_whole(whole.data(), whole.size()));
	for (size_t size = 0; size < whole.size(); size++) {
		CAPTURE(size);
		CHECK_FALSE(dnstap_is_whole(whole.data(), size));
	}
	std::vector<uint8_t> other = whole;
	other.push_back(0);
	CHECK_FALSE(dnstap_is_whole(other.data(), other.size()));
	other = whole;
	reinterpret_cast<tap_sample *>(other.data())->client.ss_family = AF_UNIX;
	CHECK_FALSE(dnstap_is_whole(other.data(), other.size()));
	other = whole;
	reinterpret_cast<tap_sample *>(other.data())->query_size = UINT32_MAX;
	CHECK_FALSE(dnstap_is_whole(other.data(), other.size()));
}

TEST_CASE("only names in a zone of the list are wanted, in any case", "[server][dnstap]")
{
	const std::string bl("\2bl\7example\0", 12);
	const std::string longer("\1x\2bl\7example\0", 14);
	settings_name zones[] = { name_of(bl), name_of(longer) };
	settings_dnstap value = {};
	const settings_name *zone = nullptr;
	auto is_wanted = [&](const std::string &wire) {
		const std::vector<uint8_t> sample = sample_of(HEADER + wire + TAIL);
		return dnstap_is_wanted(&value, sample.data(), &zone);
	};
	CHECK(is_wanted(std::string("\1a\0", 3)));
	CHECK(zone == nullptr);
	value.zones = zones;
	value.zone_count = 2;
	CHECK(is_wanted(bl));
	CHECK(zone == &zones[0]);
	CHECK(is_wanted(std::string("\1y\2BL\7eXample\0", 14)));
	CHECK(zone == &zones[0]);
	CHECK(is_wanted("\1y" + longer));
	CHECK(zone == &zones[1]);
	CHECK_FALSE(is_wanted(std::string("\1a\0", 3)));
	CHECK_FALSE(is_wanted(std::string("\0", 1)));
	CHECK_FALSE(is_wanted(std::string("\4x\2bl\7example\0", 14)));
	CHECK_FALSE(is_wanted(std::string("\3bbl\7example\0", 13)));
	CHECK_FALSE(is_wanted(std::string("\1y\300\14", 4)));
	CHECK_FALSE(is_wanted(std::string(300, '\1')));
	for (size_t size = 0; size < HEADER.size() + bl.size(); size++) {
		CAPTURE(size);
		const std::vector<uint8_t> cut = sample_of((HEADER + bl).substr(0, size));
		CHECK_FALSE(dnstap_is_wanted(&value, cut.data(), &zone));
	}
}

TEST_CASE("the longest message fits where it is put", "[server][dnstap]")
{
	settings_dnstap value = {};
	memset(value.identity, 'i', sizeof(value.identity) - 1);
	memset(value.version, 'v', sizeof(value.version) - 1);
	const settings_name zone = name_of(std::string(SETTINGS_NAME_MAX, 'z'));
	std::vector<uint8_t> sample = sample_of(std::string(65535, 'q'), std::string(65535, 'r'));
	REQUIRE(dnstap_is_whole(sample.data(), sample.size()));
	tap_sample *head = reinterpret_cast<tap_sample *>(sample.data());
	head->client.ss_family = head->server.ss_family = AF_INET6;
	memset(&reinterpret_cast<sockaddr_in6 *>(&head->client)->sin6_addr, 1, 16);
	memset(&reinterpret_cast<sockaddr_in6 *>(&head->server)->sin6_addr, 1, 16);
	head->asked_ns = head->answered_ns = UINT64_MAX;
	std::vector<uint8_t> wire(DNSTAP_MAX);
	for (bool is_response : { false, true }) {
		size_t size = dnstap_encode(&value, sample.data(), is_response, &zone, wire.data());
		CHECK(size > 65535);
		CHECK(size < 65535 + DNSTAP_OVERHEAD);
	}
}

TEST_CASE("samples are taken with gaps by chance, of the mean that is wanted", "[server][tap]")
{
	uint64_t values[COUNTERS_SERVER_COUNT] = {};
	counters counted = {};
	counted.server = values;
	int ends[2];
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
	const uint32_t every = GENERATE(1u, 2u, 10u, 1000u);
	CAPTURE(every);
	tap value = {};
	tap_init(&value, ends[1], every, 12345, &counted);
	sockaddr_in client = {};
	client.sin_family = AF_INET;
	const uint8_t query[] = { 1, 2, 3 };
	uint64_t taken = 0;
	for (uint64_t i = 0; i < every * uint64_t(1000); i++) {
		if (!tap_is_due(&value))
			continue;
		taken++;
		tap_put(&value, tap_now_ns(), ends[0], false, reinterpret_cast<sockaddr *>(&client),
			{ query, sizeof(query) }, { nullptr, 0 });
	}
	CHECK(taken > 850);
	CHECK(taken < 1150);
	CHECK_FALSE(tap_is_due(nullptr));
	// Nobody reads: what the socket has no room for is lost, and nobody has waited.
	CHECK(values[COUNTERS_SERVER_TAPPED] > 0);
	CHECK(values[COUNTERS_SERVER_TAPPED_LOST] > 0);
	CHECK(values[COUNTERS_SERVER_TAPPED] + values[COUNTERS_SERVER_TAPPED_LOST] == taken);
	std::vector<uint8_t> sample(TAP_SAMPLE_MAX);
	const ssize_t size = recv(ends[0], sample.data(), sample.size(), MSG_DONTWAIT);
	REQUIRE(size > 0);
	CHECK(dnstap_is_whole(sample.data(), static_cast<size_t>(size)));
	close(ends[0]);
	close(ends[1]);
}
