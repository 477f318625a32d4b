/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any packet to answer_make() over three small stores, two of them signed, one of those with flat
 * names and their neighbours, by UDP
 * and by TCP, as it is and with a good TSIG behind it, from a secondary that may
 * transfer, from a stranger and from one that is dropped: silence, or a response
 * with the id of the query, QR, and no more bytes than allowed; or a transfer of a
 * zone of ours. Beyond a rate limit nothing amplifies. As an answer to a NOTIFY, any
 * packet is one or is none.
 */

#include "server/answer/answer.h"
#include "server/zone/catalog.h"
#include "server/transfer/notify.h"
#include "server/askers/frequent.h"
#include "server/askers/ratelimit.h"
#include "server/transfer/transfer.h"
#include "tests/fuzz/server/stores.h"

#include <libknot/libknot.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

#define NOW_S	  10000
#define SECONDARY 0xc0000201 /* 192.0.2.1 */

/* A secondary to either store, a stranger and one that is dropped. */
static const uint32_t clients[] = { SECONDARY, SECONDARY, 0xc6336402, 0xcb007101 };

/* A server of one store. */
struct fixture {
	bool is_signed;
	bool is_flat;
	struct settings settings;
	struct catalog catalog;
	struct counters_bank bank;
	struct answer *answer;
	const uint64_t *server; /* the counters */
};

static struct fixture fixtures[3] = {
	{ .is_signed = false },
	{ .is_signed = true },
	{ .is_signed = true, .is_flat = true },
};
static uint8_t out[ANSWER_RESPONSE_MAX];
static uint8_t long_out[ANSWER_RESPONSE_MAX];

static char directory[] = "/tmp/dnsblv6-fuzz-XXXXXX";

static void clean_up(void)
{
	char path[64];
	static const char *const names[] = { "/plain",	     "/plain-lock", "/signed",
					     "/signed-lock", "/flat",	    "/flat-lock" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

static void set_up(struct fixture *fixture)
{
	char path[64];
	char text[512];
	struct conf_error error;
	const char *name = fixture->is_signed ? "signed" : "plain";
	snprintf(path, sizeof(path), "%s/%s", directory, fixture->is_flat ? "flat" : name);
	is_signed = fixture->is_signed;
	is_flat = fixture->is_flat;
	stores_write(path);
	int size = snprintf(text, sizeof(text),
			    "server:\n    nsid: node\n    identity: node\n    version: one\n"
			    "    cookie-secret: e5e973e5a6b2a43f48e7dc849e37bfcf\n"
			    "key:\n  - id: one\n    secret: c2VjcmV0\n"
			    "secondary:\n  - id: any\n    allow: 192.0.2.0/24\n"
			    "access:\n  - id: friend\n    address: 198.51.100.1\n"
			    "  - id: signer\n    key: one\n  - id: stranger\n    action: drop\n"
			    "    address: 203.0.113.0/24\n"
			    "zone:\n  - domain: bl6.example\n    store: %s\n"
			    "    classic: bl.example\n    secondary: any\n"
			    "    access: [ friend, signer, stranger ]\n    neighbours: 16\n",
			    path);
	check(settings_parse(&fixture->settings, text, (size_t)size, "/", &error));
	check(catalog_init(&fixture->catalog, &fixture->settings));
	check(counters_open(&fixture->bank, 1, 1, 2));
	check(zone_open(&fixture->catalog.zones[0]));
	struct counters counters = counters_of_worker(&fixture->bank, 0);
	fixture->server = counters.server;
	check(answer_new(&fixture->catalog, &counters, 1232, &fixture->answer));
	answer_set_settings(fixture->answer, &fixture->settings);
}

static void set_up_all(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	atexit(clean_up);
	set_up(&fixtures[0]);
	set_up(&fixtures[1]);
	set_up(&fixtures[2]);
}

/* ---- with and without the short cut ---- */

static knot_pkt_t *parse(uint8_t *wire, size_t size)
{
	knot_pkt_t *packet = knot_pkt_new(wire, (uint16_t)size, NULL);
	if (packet == NULL)
		abort();
	require(knot_pkt_parse(packet, KNOT_PF_NOCANON) == KNOT_EOK, "libknot cannot parse it");
	return packet;
}

static void compare_section(const knot_pkt_t *a, const knot_pkt_t *b, knot_section_t section)
{
	const knot_pktsection_t *left = knot_pkt_section(a, section);
	const knot_pktsection_t *right = knot_pkt_section(b, section);
	require(left->count == right->count, "other counts");
	for (uint16_t i = 0; i < left->count; i++)
		require(knot_rrset_equal(knot_pkt_rr(left, i), knot_pkt_rr(right, i), true),
			"another RR");
}

/* Compression may differ, but what is cut here is cut there. */
static void compare(uint8_t *quick, size_t quick_size, uint8_t *slow, size_t slow_size)
{
	require((quick_size == 0) == (slow_size == 0), "silence here or there");
	if (quick_size == 0)
		return;
	require(memcmp(quick, slow, KNOT_WIRE_HEADER_SIZE) == 0, "another header");
	/* What libknot could not parse is answered with its question, or less. */
	if (knot_wire_get_rcode(slow) == KNOT_RCODE_FORMERR) {
		require(quick_size == slow_size && memcmp(quick, slow, slow_size) == 0,
			"another refusal");
		return;
	}
	knot_pkt_t *left = parse(quick, quick_size);
	knot_pkt_t *right = parse(slow, slow_size);
	for (knot_section_t section = KNOT_ANSWER; section <= KNOT_ADDITIONAL; section++)
		compare_section(left, right, section);
	knot_pkt_free(left);
	knot_pkt_free(right);
}

static void check_transfer(const struct fixture *fixture, bool is_tcp)
{
	const struct transfer *transfer = answer_transfer(fixture->answer);
	if (transfer == NULL)
		return;
	if (!is_tcp || transfer->question_size > sizeof(transfer->question) ||
	    transfer->path != fixture->catalog.zones[0].path)
		abort();
}

/* Signed answers have the time in them, and may differ. */
static bool has_tsig(const uint8_t *data, size_t size)
{
	uint8_t wire[ANSWER_QUERY_MAX];
	if (size < KNOT_WIRE_HEADER_SIZE || size > sizeof(wire))
		return false;
	memcpy(wire, data, size);
	knot_pkt_t *packet = knot_pkt_new(wire, (uint16_t)size, NULL);
	if (packet == NULL)
		abort();
	bool has_one = knot_pkt_parse(packet, KNOT_PF_NOCANON) == KNOT_EOK && packet->tsig_rr;
	knot_pkt_free(packet);
	return has_one;
}

static void ask(struct fixture *fixture, const uint8_t *data, size_t size, uint32_t address,
		bool is_tcp)
{
	struct sockaddr_in client = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
	struct answer_query query = { .wire = data,
				      .size = size,
				      .is_tcp = is_tcp,
				      .now_s = NOW_S,
				      .keepalive = 100,
				      .client = (struct sockaddr *)&client };
	uint64_t before[COUNTERS_SERVER_COUNT];
	uint64_t between[COUNTERS_SERVER_COUNT];
	memcpy(before, fixture->server, sizeof(before));
	/* Over UDP queries come in batches: here alone, or behind one that nobody answers. */
	const struct responder_query batch[] = { { .wire = out, .size = 0 },
						 { .wire = data, .size = size } };
	if (!is_tcp)
		answer_foresee(fixture->answer, batch + size % 2, 2 - size % 2);
	size_t got = answer_make(fixture->answer, &query, out, sizeof(out));
	check_transfer(fixture, is_tcp);
	memcpy(between, fixture->server, sizeof(between));
	size_t slow = answer_make_long(fixture->answer, &query, long_out, sizeof(long_out));
	answer_end(fixture->answer);
	for (size_t i = 0; i < COUNTERS_SERVER_COUNT; i++)
		require(between[i] - before[i] == fixture->server[i] - between[i],
			"counted otherwise");
	if (!has_tsig(data, size))
		compare(out, got, long_out, slow);
	if (got == 0)
		return;
	if (got < 12 || size < 12 || memcmp(out, data, 2) != 0 || (out[2] & 0x80) == 0)
		abort();
	if (!is_tcp && got > 1232)
		abort();
}

/* Nobody gets more than a few answers over UDP, but who has a good cookie or a query. */
static void ask_limited(struct fixture *fixture, const uint8_t *data, size_t size)
{
	struct sockaddr_in client = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(SECONDARY) };
	struct answer_query query = {
		.wire = data, .size = size, .now_s = NOW_S, .client = (struct sockaddr *)&client
	};
	struct ratelimit_options options = { .rate = 1, .slip = 2, .network_count = 4 };
	struct ratelimit *limit = NULL;
	struct frequent_bank bank;
	struct frequent *frequent = NULL;
	check(ratelimit_new(&options, &limit));
	check(frequent_open(&bank, 4, 1));
	check(frequent_new(&bank, &frequent));
	answer_set_limit(fixture->answer, limit);
	answer_set_frequent(fixture->answer, frequent);
	const uint64_t *server = fixture->server;
	uint64_t good = server[COUNTERS_SERVER_COOKIES];
	for (int i = 0; i < RATELIMIT_BURST_S; i++)
		answer_make(fixture->answer, &query, out, sizeof(out));
	bool has_good_cookie = server[COUNTERS_SERVER_COOKIES] != good;
	size_t first = answer_make(fixture->answer, &query, out, sizeof(out));
	require(has_good_cookie || first == 0, "an answer beyond the limit");
	size_t second = answer_make(fixture->answer, &query, out, sizeof(out));
	answer_end(fixture->answer);
	/* The question and an OPT with a cookie, an extended error, NSID or a TSIG. */
	require(has_good_cookie || second <= size + 256, "an answer that amplifies");
	answer_set_limit(fixture->answer, NULL);
	answer_set_frequent(fixture->answer, NULL);
	ratelimit_free(limit);
	frequent_free(frequent);
	frequent_close(&bank);
}

static void read_answer(struct fixture *fixture, const uint8_t *data, size_t size)
{
	struct settings_secondary *secondary = &fixture->settings.secondaries[0];
	struct notify_target target = { .secondary = secondary, .id = 0x1234 };
	struct notify notify = { .settings = &fixture->settings, .catalog = &fixture->catalog };
	uint8_t wire[ANSWER_QUERY_MAX];
	memcpy(wire, data, size);
	notify_read_answer(&notify, &target, wire, size);
}

static void ask_both(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		ask(&fixtures[i % 2], data, size, clients[i], false);
		ask(&fixtures[i % 2], data, size, clients[i], true);
	}
	ask(&fixtures[2], data, size, SECONDARY, false);
	ask(&fixtures[2], data, size, SECONDARY, true);
	ask_limited(&fixtures[0], data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t wire[ANSWER_QUERY_MAX];
	struct tsig tsig;
	if (fixtures[0].answer == NULL)
		set_up_all();
	ask_both(data, size);
	if (size < 12 || size > sizeof(wire) / 2)
		return 0;
	read_answer(&fixtures[0], data, size);
	memcpy(wire, data, size);
	if (tsig_sign_query(&tsig, fixtures[0].settings.keys[0].key, wire, &size, sizeof(wire)) ==
	    0)
		ask_both(wire, size);
	return 0;
}
