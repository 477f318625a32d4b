/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any packet with a TSIG, as it is and with one that is made for it: the verdict
 * is that of our own reading of RFC 8945, with libcrypto's HMAC, and what is
 * signed in answer is what its client takes. The same bytes as an answer to a
 * question of ours.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   which key signs, or none: then the packet begins at 1
 *        1      1   what is done to the MAC
 *        2      1   and with which number
 *        3      4   seconds from now that it is signed at, two's complement
 *        7      2   fudge
 *        9      2   error
 *       11      1   n, bytes of other data
 *       12      n   other data
 *      12+n         the packet
 */

#include "server/askers/tsig.h"

#include <libknot/libknot.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <string.h>
#include <time.h>

#include "tests/fuzz/require.h"

#define PACKET_MAX  4096
#define HEAD_SIZE   12
#define KEY_COUNT   6
#define SECRET	    "a secret of twenty-seven by"
#define SECRET_TEXT "YSBzZWNyZXQgb2YgdHdlbnR5LXNldmVuIGJ5"
#define BORDER_S    5 /* so long may a second pass between two looks at the clock */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The last is not the server's. Names of keys in wire form. */
static const struct {
	const char *name;
	const char *algorithm;
	const char *algorithm_name;
} keys[KEY_COUNT] = {
	{ "\3one", "hmac-sha1", "\011hmac-sha1" },
	{ "\3two\1a", "hmac-sha224", "\013hmac-sha224" },
	{ "\3two\1a", "hmac-sha256", "\013hmac-sha256" },
	{ "\1b", "hmac-sha384", "\013hmac-sha384" },
	{ "\1b\1b", "hmac-sha512", "\013hmac-sha512" },
	{ "\1c", "hmac-sha256", "\013hmac-sha256" },
};
static struct tsig_key *server_keys[KEY_COUNT];

/* A TSIG, read by ourselves out of RDATA that libknot has found whole. */
struct record {
	const char *owner; /* both without the root label, which is the NUL */
	const char *algorithm;
	uint64_t time_s;
	unsigned fudge_s;
	const uint8_t *mac;
	unsigned mac_size;
	uint16_t id;
	uint16_t error;
	const uint8_t *other;
	unsigned other_size;
};

static void set_up(void)
{
	for (unsigned i = 0; i < KEY_COUNT; i++)
		require(tsig_key_new((const uint8_t *)keys[i].name, keys[i].algorithm, SECRET_TEXT,
				     &server_keys[i]) == 0,
			"no key");
}

/* ---- what RFC 8945 makes of it ---- */

static uint64_t take(const uint8_t **at, unsigned size)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < size; i++)
		number = number << 8 | *(*at)++;
	return number;
}

static struct record read_record(const knot_rrset_t *rr)
{
	struct record record = { .owner = (const char *)rr->owner };
	const uint8_t *at = rr->rrs.rdata->data;
	record.algorithm = (const char *)at;
	at += knot_dname_size(at);
	record.time_s = take(&at, 6);
	record.fudge_s = (unsigned)take(&at, 2);
	record.mac_size = (unsigned)take(&at, 2);
	record.mac = at;
	at += record.mac_size;
	record.id = (uint16_t)take(&at, 2);
	record.error = (uint16_t)take(&at, 2);
	record.other_size = (unsigned)take(&at, 2);
	record.other = at;
	return record;
}

/* Of our keys, the number; KEY_COUNT when it is by none of the first count. */
static unsigned find_key(const struct record *record, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (knot_dname_is_case_equal((const uint8_t *)keys[i].name,
					     (const uint8_t *)record->owner) &&
		    knot_dname_is_case_equal((const uint8_t *)keys[i].algorithm_name,
					     (const uint8_t *)record->algorithm))
			return i;
	}
	return KEY_COUNT;
}

static void put(uint8_t *out, size_t *offset, uint64_t number, unsigned size)
{
	for (unsigned i = size; i > 0; i--)
		out[(*offset)++] = (uint8_t)(number >> (8 * (i - 1)));
}

static void put_bytes(uint8_t *out, size_t *offset, const void *bytes, size_t size)
{
	if (size > 0)
		memcpy(out + *offset, bytes, size);
	*offset += size;
}

/* Section 4.3.3: request's MAC, if there is one; the message without its TSIG; the variables. */
static unsigned make_mac(const struct record *record, unsigned key, const struct tsig *request,
			 const uint8_t *wire, size_t size, uint8_t *ret_mac)
{
	static uint8_t input[3 * PACKET_MAX + UINT16_MAX];
	unsigned mac_size = 0;
	size_t offset = 0;
	if (request != NULL) {
		put(input, &offset, request->digest_size, 2);
		put_bytes(input, &offset, request->digest, request->digest_size);
	}
	put(input, &offset, record->id, 2);
	put_bytes(input, &offset, wire + 2, size - 2);
	put_bytes(input, &offset, keys[key].name, strlen(keys[key].name) + 1);
	put(input, &offset, KNOT_CLASS_ANY, 2);
	put(input, &offset, 0, 4);
	put_bytes(input, &offset, keys[key].algorithm_name, strlen(keys[key].algorithm_name) + 1);
	put(input, &offset, record->time_s, 6);
	put(input, &offset, record->fudge_s, 2);
	put(input, &offset, record->error, 2);
	put(input, &offset, record->other_size, 2);
	put_bytes(input, &offset, record->other, record->other_size);
	const EVP_MD *md = EVP_get_digestbyname(keys[key].algorithm + strlen("hmac-"));
	require(md != NULL && HMAC(md, SECRET, strlen(SECRET), input, offset, ret_mac, &mac_size),
		"no MAC");
	return mac_size;
}

static bool is_mac_good(const struct record *record, unsigned key, const struct tsig *request,
			const knot_pkt_t *packet)
{
	uint8_t mac[EVP_MAX_MD_SIZE];
	unsigned mac_size = make_mac(record, key, request, packet->wire, packet->size, mac);
	return record->mac_size == mac_size && memcmp(record->mac, mac, mac_size) == 0;
}

static uint64_t age_s(const struct record *record)
{
	uint64_t now_s = (uint64_t)time(NULL);
	return now_s > record->time_s ? now_s - record->time_s : record->time_s - now_s;
}

static bool is_at_border(const struct record *record)
{
	uint64_t age = age_s(record);
	return age + BORDER_S >= record->fudge_s && age <= record->fudge_s + (uint64_t)BORDER_S;
}

/* ---- as the server ---- */

static knot_pkt_t *parse(uint8_t *wire, size_t size)
{
	knot_pkt_t *packet = knot_pkt_new(wire, (uint16_t)size, NULL);
	require(packet != NULL, "no memory");
	if (knot_pkt_parse(packet, KNOT_PF_NOCANON) == KNOT_EOK && packet->tsig_rr != NULL)
		return packet;
	knot_pkt_free(packet);
	return NULL;
}

/* A header as an answer; the next one too, and the client takes the first. */
static void answer(struct tsig *tsig, const knot_pkt_t *query)
{
	uint8_t wire[PACKET_MAX + UINT16_MAX] = { query->wire[0], query->wire[1], 0x80 };
	size_t size = HEAD_SIZE;
	struct tsig client = *tsig;
	size_t room = tsig_size(tsig, query);
	require(tsig_sign(tsig, query, wire, &size, sizeof(wire)) == 0, "not signed");
	require(size > HEAD_SIZE && size <= HEAD_SIZE + room, "more than its size");
	knot_pkt_t *response = parse(wire, size);
	require(response != NULL, "the answer has no TSIG");
	require(tsig->error == TSIG_OK || knot_tsig_rdata_error(response->tsig_rr) == tsig->error,
		"the answer does not say the error");
	if (tsig->error == TSIG_OK)
		require(tsig_check_response(&client, response), "the client refuses it");
	knot_pkt_free(response);
	if (tsig->error != TSIG_OK)
		return;
	memset(wire + 2, 0, HEAD_SIZE - 2);
	size = HEAD_SIZE;
	require(tsig_sign(tsig, query, wire, &size, sizeof(wire)) == 0, "the next is not signed");
	require(size > HEAD_SIZE && size <= HEAD_SIZE + room, "the next is more than its size");
}

/* Section 5.2.2.1; of nothing that is cut the MAC is looked at. */
static void check_verdict(const struct tsig *tsig, bool is_tsig, const struct record *record,
			  const knot_pkt_t *query)
{
	unsigned key = find_key(record, KEY_COUNT - 1);
	if (key == KEY_COUNT) {
		require(is_tsig && tsig->error == TSIG_BADKEY && tsig->key == NULL, "no BADKEY");
		return;
	}
	const EVP_MD *md = EVP_get_digestbyname(keys[key].algorithm + strlen("hmac-"));
	const unsigned whole_size = (unsigned)EVP_MD_get_size(md);
	const unsigned least_size = whole_size > 20 ? whole_size / 2 : 10;
	if (record->mac_size < least_size || record->mac_size > whole_size) {
		require(!is_tsig, "a MAC that is too short, or longer than the algorithm's");
		return;
	}
	require(is_tsig && tsig->key == server_keys[key], "not our key");
	if (record->mac_size < whole_size)
		require(tsig->error == TSIG_BADTRUNC, "no BADTRUNC");
	else if (!is_mac_good(record, key, NULL, query))
		require(tsig->error == TSIG_BADSIG, "no BADSIG");
	else if (!is_at_border(record))
		require(tsig->error == (age_s(record) <= record->fudge_s ? TSIG_OK : TSIG_BADTIME),
			"another verdict about the time");
}

static void serve(const uint8_t *data, size_t size)
{
	uint8_t wire[3 * PACKET_MAX];
	struct tsig tsig;
	memcpy(wire, data, size);
	knot_pkt_t *query = parse(wire, size);
	if (query == NULL)
		return;
	const struct record record = read_record(query->tsig_rr);
	bool is_tsig = tsig_check(&tsig, server_keys, KEY_COUNT - 1, query);
	check_verdict(&tsig, is_tsig, &record, query);
	if (is_tsig)
		answer(&tsig, query);
	knot_pkt_free(query);
}

/* ---- as the client ---- */

static void hear(const uint8_t *data, size_t size, unsigned key)
{
	uint8_t wire[3 * PACKET_MAX];
	uint8_t question[PACKET_MAX] = { 0x12, 0x34 };
	size_t question_size = HEAD_SIZE;
	struct tsig tsig;
	require(tsig_sign_query(&tsig, server_keys[key], question, &question_size,
				sizeof(question)) == 0,
		"no question");
	memcpy(wire, data, size);
	knot_pkt_t *response = parse(wire, size);
	if (response == NULL)
		return;
	const struct record record = read_record(response->tsig_rr);
	bool is_good = find_key(&record, KEY_COUNT) == key && record.error == 0 &&
		       record.mac_size <= TSIG_DIGEST_MAX &&
		       is_mac_good(&record, key, &tsig, response);
	bool is_taken = tsig_check_response(&tsig, response);
	require(!is_taken || is_good, "an answer that nobody signed");
	knot_pkt_free(response);
}

/* ---- a TSIG for the packet ---- */

enum damage { NOTHING, MAC_SIZE, MAC_BIT, PACKET_BIT, ID, DAMAGE_COUNT };

/* data as above; returns the size of the packet, or 0. */
static size_t make(const uint8_t *data, size_t size, unsigned key, uint8_t *ret_wire)
{
	const size_t other_size = data[11];
	if (size < HEAD_SIZE + other_size + HEAD_SIZE || size > PACKET_MAX)
		return 0;
	size_t offset = size - HEAD_SIZE - other_size;
	memcpy(ret_wire, data + HEAD_SIZE + other_size, offset);
	const uint8_t *at = data + 3;
	int32_t ahead_s = (int32_t)take(&at, 4);
	struct record record = { .other = data + HEAD_SIZE, .other_size = (unsigned)other_size };
	record.time_s = ((uint64_t)time(NULL) + (uint64_t)(int64_t)ahead_s) & 0xffffffffffff;
	record.fudge_s = (unsigned)take(&at, 2);
	record.error = (uint16_t)take(&at, 2);
	record.id = knot_wire_get_id(ret_wire);

	uint8_t mac[UINT8_MAX + EVP_MAX_MD_SIZE] = { 0 };
	unsigned mac_size = make_mac(&record, key, NULL, ret_wire, offset, mac);
	switch (data[1] % DAMAGE_COUNT) {
	case MAC_SIZE:
		mac_size = data[2];
		break;
	case MAC_BIT:
		mac[data[2] / 8U % mac_size] ^= (uint8_t)(1U << data[2] % 8U);
		break;
	case PACKET_BIT: /* behind the id, before the counts */
		ret_wire[2 + data[2] / 8U % 2] ^= (uint8_t)(1U << data[2] % 8U);
		break;
	case ID: /* by a forwarder: that is no damage */
		ret_wire[0] ^= data[2];
		break;
	default:
		break;
	}
	knot_wire_set_arcount(ret_wire, (uint16_t)(knot_wire_get_arcount(ret_wire) + 1));
	put_bytes(ret_wire, &offset, keys[key].name, strlen(keys[key].name) + 1);
	put(ret_wire, &offset, KNOT_RRTYPE_TSIG, 2);
	put(ret_wire, &offset, KNOT_CLASS_ANY, 2);
	put(ret_wire, &offset, 0, 4);
	size_t algorithm_size = strlen(keys[key].algorithm_name) + 1;
	put(ret_wire, &offset, algorithm_size + 16 + mac_size + other_size, 2);
	put_bytes(ret_wire, &offset, keys[key].algorithm_name, algorithm_size);
	put(ret_wire, &offset, record.time_s, 6);
	put(ret_wire, &offset, record.fudge_s, 2);
	put(ret_wire, &offset, mac_size, 2);
	put_bytes(ret_wire, &offset, mac, mac_size);
	put(ret_wire, &offset, record.id, 2);
	put(ret_wire, &offset, record.error, 2);
	put(ret_wire, &offset, other_size, 2);
	put_bytes(ret_wire, &offset, record.other, other_size);
	return offset;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t wire[3 * PACKET_MAX];
	if (server_keys[0] == NULL)
		set_up();
	if (size == 0 || size > PACKET_MAX)
		return 0;
	unsigned key = data[0] % (KEY_COUNT + 1);
	if (key == KEY_COUNT) {
		serve(data + 1, size - 1);
		hear(data + 1, size - 1, data[0] / 8U % KEY_COUNT);
		return 0;
	}
	size_t made_size = size >= HEAD_SIZE ? make(data, size, key, wire) : 0;
	serve(wire, made_size);
	return 0;
}
