/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any packet to what answers in the network driver, compiled natively, over tables filled from
 * three small stores: what it sends is what answer_make() sends for the same packet, or it
 * passes the packet on; it drops none. Clients are of both families, with and without cookies.
 */

#include "lib/dns/peer.h"
#include "server/answer/answer.h"
#include "server/xdp-kernel/fill.h"
#include "tests/lib/xdp_native.h"
#include "server/xdp-kernel/tables.h"
#include "server/zone/catalog.h"
#include "tests/fuzz/server/stores.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

enum { NOW_S = 10000, LINES_MAX = 400, PAYLOAD = 1232 };
#define NOW_NS UINT64_C(5000000000)

/* A server of one store, and the tables of the same. */
struct fixture {
	const char *name;
	bool is_signed;
	bool is_flat;
	struct settings settings;
	struct catalog catalog;
	struct counters_bank bank;
	struct answer *answer;
	struct xdp_config config;
	struct xdp_zone zones[XDP_ZONES_MAX];
	struct xdp_line lines[LINES_MAX];
	struct xdp_counts counts[XDP_ZONES_MAX + 1];
	struct xdp_native native;
};

static struct fixture fixtures[3] = {
	{ .name = "plain" },
	{ .name = "signed", .is_signed = true },
	{ .name = "flat", .is_signed = true, .is_flat = true },
};
static char directory[] = "/tmp/dnsblv6-fuzz-XXXXXX";

static void clean_up(void)
{
	static const char *const ends[] = { "", "-lock" };
	char path[64];
	for (size_t i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%s%s", directory, fixtures[i / 2].name,
			 ends[i % 2]);
		unlink(path);
	}
	rmdir(directory);
}

/* The one with flat names has cookies, and neighbours as well. */
static void start_server(struct fixture *fixture, const char *path)
{
	char text[512];
	struct conf_error error;
	const char *cookies = fixture->is_flat ? "cookie-secret: e5e973e5a6b2a43f48e7dc849e37bfcf"
					       : "cookies: off";
	int size = snprintf(text, sizeof(text),
			    "server:\n    %s\nzone:\n  - domain: bl6.example\n    store: %s\n"
			    "    classic: bl.example\n    neighbours: %d\n",
			    cookies, path, fixture->is_flat ? 16 : 0);
	check(settings_parse(&fixture->settings, text, (size_t)size, "/", &error));
	check(catalog_init(&fixture->catalog, &fixture->settings));
	check(counters_open(&fixture->bank, 1, 1, 2));
	check(zone_open(&fixture->catalog.zones[0]));
	struct counters counters = counters_of_worker(&fixture->bank, 0);
	check(answer_new(&fixture->catalog, &counters, PAYLOAD, &fixture->answer));
	answer_set_settings(fixture->answer, &fixture->settings);
}

static void configure(struct fixture *fixture, struct tables *tables)
{
	const struct tables_face faces[] = {
		{ (const uint8_t *)"\3bl6\7example", 13, 0 },
		{ (const uint8_t *)"\2bl\7example", 12, XDP_ZONES_MAX },
	};
	const struct tables_rules rules = { .faces = faces,
					    .face_count = 2,
					    .payload = PAYLOAD,
					    .has_cookies = fixture->is_flat,
					    .secrets = &fixture->settings.cookies };
	check(tables_configure(tables, &rules));
}

static void fill_tables(struct fixture *fixture, struct tables *tables)
{
	const struct tables_time time = { NOW_NS, NOW_S, 1000 };
	struct zone *zone = &fixture->catalog.zones[0];
	struct tables_place place;
	struct fill fill;
	check(zone_begin(zone));
	fill_begin(&fill, zone, fixture->is_flat);
	while (fill_count(&fill, 10))
		continue;
	check(tables_reserve(tables, 0, fill.line_count, &place));
	fill_place(&fill, &place);
	while (fill_write(&fill, 10))
		continue;
	require(fill.reason == FILL_OK, fill_reason_text(fill.reason));
	tables_switch(tables, 0, zone->facts.expires_s, &time);
	tables_renew(tables, &time);
	zone_end(zone);
}

static void set_up(struct fixture *fixture)
{
	char path[64];
	struct tables tables;
	const struct tables_arrays arrays = { &fixture->config, fixture->zones, fixture->lines,
					      fixture->counts,	LINES_MAX,	1 };
	snprintf(path, sizeof(path), "%s/%s", directory, fixture->name);
	is_signed = fixture->is_signed;
	is_flat = fixture->is_flat;
	stores_write(path);
	start_server(fixture, path);
	tables_init(&tables, &arrays);
	configure(fixture, &tables);
	fill_tables(fixture, &tables);
	fixture->native = (struct xdp_native){ .config = &fixture->config,
					       .zones = fixture->zones,
					       .lines = fixture->lines,
					       .line_count = LINES_MAX,
					       .counts = fixture->counts };
}

/* As a socket of its family has it. */
static struct dnsblv6_addr set_client(struct sockaddr_storage *from, const char *client)
{
	struct sockaddr_in *four = (struct sockaddr_in *)from;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)from;
	memset(from, 0, sizeof(*from));
	bool is_ipv4 = inet_pton(AF_INET, client, &four->sin_addr) == 1;
	if (!is_ipv4)
		inet_pton(AF_INET6, client, &six->sin6_addr);
	from->ss_family = is_ipv4 ? AF_INET : AF_INET6;
	return peer_address((struct sockaddr *)from);
}

static void ask(struct fixture *fixture, const uint8_t *data, size_t size, const char *client)
{
	static uint8_t quick[PAYLOAD];
	static uint8_t slow[ANSWER_RESPONSE_MAX];
	struct sockaddr_storage from;
	struct xdp_native_query native = { .wire = data, .size = size, .now_ns = NOW_NS };
	const struct answer_query query = { .wire = data,
					    .size = size,
					    .now_s = NOW_S,
					    .now_ms = NOW_NS / 1000000,
					    .client = (struct sockaddr *)&from };
	dnsblv6_addr_to_bytes(set_client(&from, client), native.client);
	long quick_size = xdp_native_answer(&fixture->native, &native, quick, sizeof(quick));
	require(quick_size != XDP_NATIVE_DROP, "an answer that was dropped");
	if (quick_size == XDP_NATIVE_PASS)
		return;
	size_t slow_size = answer_make(fixture->answer, &query, slow, sizeof(slow));
	answer_end(fixture->answer);
	require((size_t)quick_size == slow_size && memcmp(quick, slow, slow_size) == 0,
		"another answer");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fixtures[0].answer == NULL) {
		require(mkdtemp(directory) != NULL, "no directory");
		atexit(clean_up);
		for (size_t i = 0; i < 3; i++)
			set_up(&fixtures[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		ask(&fixtures[i], data, size, "192.0.2.1");
		ask(&fixtures[i], data, size, "2001:db8::1");
	}
	return 0;
}
