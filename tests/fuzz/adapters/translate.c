/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any packet to dnsblv6-translate's answers, by UDP and by TCP, and behind those about an
 * address whatever the library might say: silence, or a response with the id of the
 * query, QR, the question as it was, and no more bytes than allowed. The first three bytes are
 * what the library says: listed, answered, failed.
 */

#include "integration/adapters/dns-translator/answer.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SAID_SIZE 3

static const char config[] =
	"zone:\n"
	"  - domain: bl.local\n"
	"    lists: [ bl6.example:127.0.0.2, other.example:127.0.0.4, third.example ]\n"
	"  - domain: sub.bl.local\n"
	"    text: \"$ is listed\"\n"
	"    on-failure: nxdomain\n"
	"    lists: other.example\n"
	"library:\n"
	"    servers: 127.0.0.1@1\n";

static struct translate_setup setup;
static uint8_t out[65535];

static void start(void)
{
	struct conf_error error;
	if (setup.handle.client != NULL)
		return;
	expect(translate_setup_parse(config, sizeof(config) - 1, &setup, &error) == 0);
	expect(dnsblv6_start(setup.handle.client) == 0);
}

static void check(const uint8_t *query, size_t size, bool is_tcp, size_t out_size)
{
	expect(out_size >= 12 && memcmp(out, query, 2) == 0);
	expect((out[2] & 0x80) != 0 && (out[2] & 0x79) == (query[2] & 0x79));
	/* Who sends no OPT takes 512 bytes, everybody else 1232 at most. */
	expect(is_tcp || out_size <= (query[11] == 0 && query[10] == 0 ? 512 : ANSWER_PAYLOAD));
	if (out[5] == 0)
		return;
	size_t end = 12;
	while (query[end] != 0)
		end += 1 + query[end];
	end += 5;
	expect(end <= size && end <= out_size && memcmp(out + 12, query + 12, end - 12) == 0);
}

static void feed(const uint8_t *said, const uint8_t *query, size_t size, bool is_tcp)
{
	struct answer_question question;
	enum answer_outcome outcome = ANSWER_OUTCOMES;
	size_t out_size = 0;
	switch (answer_begin(&setup, query, size, is_tcp, &question, out, sizeof(out), &out_size,
			     &outcome)) {
	case ANSWER_READY:
		check(query, size, is_tcp, out_size);
		break;
	case ANSWER_ASK: {
		struct dnsblv6_result result = { .zones_listed = said[0],
						 .zones_answered = said[1],
						 .zones_failed = said[2],
						 .ttl_s = said[0] * 100U };
		expect(question.head == query && question.head_size <= ANSWER_HEAD_MAX);
		check(query, size, is_tcp,
		      answer_finish(&setup, &question, &result, out, sizeof(out), &outcome));
		break;
	}
	default:
		expect(size < 12 || (query[2] & 0x80) != 0);
		return;
	}
	expect(outcome < ANSWER_OUTCOMES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	start();
	if (size < SAID_SIZE)
		return 0;
	feed(data, data + SAID_SIZE, size - SAID_SIZE, false);
	feed(data, data + SAID_SIZE, size - SAID_SIZE, true);
	return 0;
}
