/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any entries as a store, which its checksum would not tell from a good one: it is
 * refused, or asked the short and the long way, and transferred whole and from
 * a serial. RDATA is published as it is, whatever it is; but where libknot can
 * parse what both ways say, they say the same.
 *
 *     OFFSET  SIZE  DESCRIPTION of an entry; the input is nothing else
 *        0      1   table
 *        1      1   size of the key
 *        2      2   size of the value, big-endian
 *        4          key, value
 */

#include "lib/common/log.h"
#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"
#include "server/answer/answer.h"
#include "server/transfer/transfer.h"

#include <libknot/libknot.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

#define HEAD_SIZE 4
#define NOW_S	  10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names that the seeds have, and some beside them. */
static const struct {
	const char *name;
	uint16_t type;
} questions[] = {
	{ "bl6.example", KNOT_RRTYPE_SOA },
	{ "bl6.example", KNOT_RRTYPE_ANY },
	{ "_dnsblv6.bl6.example", KNOT_RRTYPE_TXT },
	{ "0.2.0.192.bl6.example", KNOT_RRTYPE_AAAA },
	{ "0.2.0.192.bl6.example", KNOT_RRTYPE_NSEC },
	{ "1.2.0.192.bl6.example", KNOT_RRTYPE_AAAA },
	{ "2.0.192.bl6.example", KNOT_RRTYPE_AAAA },
	{ "1.7.51.198.bl6.example", KNOT_RRTYPE_AAAA },
	{ "1.7.51.198.bl6.example", KNOT_RRTYPE_A },
	{ "0.00.0000.0db8.2001.ip6.bl6.example", KNOT_RRTYPE_AAAA },
	{ "c000020.bl6.example", KNOT_RRTYPE_AAAA },
	{ "0.2.0.192.sub.bl6.example", KNOT_RRTYPE_AAAA },
	{ "bl.example", KNOT_RRTYPE_NS },
	{ "5.2.0.192.bl.example", KNOT_RRTYPE_A },
	{ "5.2.0.192.bl.example", KNOT_RRTYPE_TXT },
	{ "9.7.51.198.bl.example", KNOT_RRTYPE_ANY },
};

#define QUESTION_COUNT (sizeof(questions) / sizeof(questions[0]))

static char directory[64];
static char path[sizeof(directory) + sizeof("/store")];
static struct settings settings;
static struct catalog catalog;
static struct counters_bank bank;
static struct answer *answer;

static void clean_up(void)
{
	char lock[sizeof(path) + sizeof("-lock")];
	snprintf(lock, sizeof(lock), "%s-lock", path);
	unlink(lock);
	unlink(path);
	rmdir(directory);
}

/* Without DO and with it. */
static struct {
	size_t size;
	uint8_t wire[512];
} packets[QUESTION_COUNT][2];

static void make_question(size_t number, bool has_do)
{
	knot_pkt_t *packet = knot_pkt_new(NULL, KNOT_WIRE_MAX_PKTSIZE, NULL);
	knot_dname_t *name = knot_dname_from_str_alloc(questions[number].name);
	knot_rrset_t opt;
	require(packet != NULL && name != NULL &&
			knot_pkt_put_question(packet, name, KNOT_CLASS_IN,
					      questions[number].type) == KNOT_EOK &&
			knot_edns_init(&opt, 1232, 0, 0, NULL) == KNOT_EOK,
		"no question");
	if (has_do)
		knot_edns_set_do(&opt);
	knot_pkt_begin(packet, KNOT_ADDITIONAL);
	require(knot_pkt_put(packet, 0, &opt, KNOT_PF_FREE) == KNOT_EOK, "no OPT");
	packets[number][has_do].size = packet->size;
	memcpy(packets[number][has_do].wire, packet->wire, packet->size);
	knot_dname_free(name, NULL);
	knot_pkt_free(packet);
}

static void set_up(void)
{
	char text[256];
	struct conf_error error;
	/* A store is synced at each commit, which is for nothing where nothing is on disk. */
	snprintf(directory, sizeof(directory), "%s/dnsblv6-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(directory) != NULL, "no directory");
	snprintf(path, sizeof(path), "%s/store", directory);
	atexit(clean_up);
	log_set_level(LOG_LEVEL_ERROR);
	int size = snprintf(text, sizeof(text),
			    "zone:\n  - domain: bl6.example\n    store: %s\n"
			    "    classic: bl.example\n",
			    path);
	require(settings_parse(&settings, text, (size_t)size, "/", &error) == 0, "no settings");
	require(catalog_init(&catalog, &settings) == 0, "no catalog");
	require(counters_open(&bank, 1, 1, 2) == 0, "no counters");
	struct counters counters = counters_of_worker(&bank, 0);
	require(answer_new(&catalog, &counters, 1232, &answer) == 0, "no answer");
	answer_set_settings(answer, &settings);
	for (size_t i = 0; i < QUESTION_COUNT; i++) {
		make_question(i, false);
		make_question(i, true);
	}
}

/* ---- the store ---- */

struct input {
	const uint8_t *data;
	size_t size;
};

static int put_all(struct writer *writer, void *context)
{
	const struct input *input = context;
	size_t offset = 0;
	int ret = 0;
	for (int table = 0; table < STORE_TABLE_COUNT && ret == 0; table++)
		ret = writer_clear(writer, (enum store_table)table);
	while (ret == 0 && input->size - offset > HEAD_SIZE) {
		const uint8_t *at = input->data + offset;
		size_t key_size = at[1];
		size_t value_size = (size_t)at[2] << 8 | at[3];
		if (key_size == 0 || key_size + value_size > input->size - offset - HEAD_SIZE)
			break;
		ret = writer_put(writer, (enum store_table)(at[0] % STORE_TABLE_COUNT),
				 at + HEAD_SIZE, key_size, at + HEAD_SIZE + key_size, value_size);
		offset += HEAD_SIZE + key_size + value_size;
	}
	return ret;
}

/* ---- questions ---- */

/* A copy, because libknot may write into what it parses. NULL when it cannot parse it. */
static knot_pkt_t *parse(const uint8_t *wire, size_t size, uint8_t *copy)
{
	memcpy(copy, wire, size);
	knot_pkt_t *packet = knot_pkt_new(copy, (uint16_t)size, NULL);
	require(packet != NULL, "no memory");
	if (knot_pkt_parse(packet, 0) == KNOT_EOK)
		return packet;
	knot_pkt_free(packet);
	return NULL;
}

static void compare(const uint8_t *quick, size_t quick_size, const uint8_t *slow, size_t slow_size)
{
	require((quick_size == 0) == (slow_size == 0), "silence here or there");
	if (quick_size == 0)
		return;
	static uint8_t copies[2][ANSWER_RESPONSE_MAX];
	knot_pkt_t *left = parse(quick, quick_size, copies[0]);
	knot_pkt_t *right = parse(slow, slow_size, copies[1]);
	/* Names are not compressed alike: at the limit one may be cut, and the other not. */
	if (left != NULL && right != NULL && knot_wire_get_tc(quick) == knot_wire_get_tc(slow)) {
		require(memcmp(quick, slow, KNOT_WIRE_HEADER_SIZE) == 0, "another header");
		for (uint16_t i = 0; i < left->rrset_count; i++)
			require(knot_rrset_equal(&left->rr[i], &right->rr[i], true), "another RR");
	}
	knot_pkt_free(left);
	knot_pkt_free(right);
}

static void ask(size_t number, bool has_do, bool is_tcp)
{
	static uint8_t quick[ANSWER_RESPONSE_MAX];
	static uint8_t slow[ANSWER_RESPONSE_MAX];
	struct sockaddr_in client = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201) };
	struct answer_query query = { .wire = packets[number][has_do].wire,
				      .size = packets[number][has_do].size,
				      .is_tcp = is_tcp,
				      .now_s = NOW_S,
				      .client = (struct sockaddr *)&client };
	size_t quick_size = answer_make(answer, &query, quick, sizeof(quick));
	size_t slow_size = answer_make_long(answer, &query, slow, sizeof(slow));
	compare(quick, quick_size, slow, slow_size);
}

/* ---- transfers ---- */

static void transfer(bool is_incremental, uint32_t serial)
{
	static const uint8_t question[] = "\3bl6\7example\0\0\374\0\1";
	const struct transfer_limits limits = { .timeout_s = 2, .idle_timeout_s = 1 };
	struct transfer asked = { .name = &settings.zones[0].domain,
				  .path = path,
				  .is_incremental = is_incremental,
				  .serial = serial,
				  .client = { .ss_family = AF_INET },
				  .question_size = sizeof(question) - 1 };
	int ends[2];
	int size = 1 << 20;
	memcpy(asked.question, question, sizeof(question) - 1);
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "no sockets");
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	shutdown(ends[1], SHUT_WR); /* or it would be waited for */
	transfer_run(&asked, &limits, ends[0]);
	close(ends[0]);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	if (answer == NULL)
		set_up();
	zone_close(&catalog.zones[0]);
	if (writer_run(path, &zone_store, put_all, &input) != 0)
		return 0;
	zone_open(&catalog.zones[0]);
	for (size_t i = 0; i < 4 * QUESTION_COUNT; i++)
		ask(i / 4, i % 2 != 0, i % 4 > 1);
	answer_end(answer);
	zone_close(&catalog.zones[0]);
	transfer(false, 0);
	transfer(true, 1);
	return 0;
}
