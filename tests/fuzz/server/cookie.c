/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any COOKIE option of any client, at any time: the verdict is libknot's, so that
 * nothing but what one of the secrets has made for this address within the hour
 * is good. And one that is made, aged, moved to another client or changed. The
 * rest as the text of a secret.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   how many secrets there are, in the lowest bits; IPv6 or not
 *        1      4   seconds since the cookie was made, two's complement
 *        5      1   which secret made it
 *        6      2   a bit of the cookie that is changed, if it has so many
 *        8      1   what is added to the client's address
 *        9          the option
 */

#include "server/askers/cookie.h"

#include <libknot/cookies.h>
#include <libknot/libknot.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string.h>

#include "tests/fuzz/require.h"

#define HEAD_SIZE 9
#define NOW_S	  0x60000000U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- as libknot sees it ---- */

struct client {
	struct sockaddr_storage address;
	uint8_t bytes[16];
	size_t size;
};

static struct client make_client(bool is_ipv6, uint8_t last)
{
	struct client client = { .bytes = { 0x20, 0x01, 0x0d, 0xb8 }, .size = is_ipv6 ? 16 : 4 };
	client.bytes[client.size - 1] = last;
	if (is_ipv6) {
		struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(53) };
		memcpy(&address.sin6_addr, client.bytes, 16);
		memcpy(&client.address, &address, sizeof(address));
	} else {
		struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(53) };
		memcpy(&address.sin_addr, client.bytes, 4);
		memcpy(&client.address, &address, sizeof(address));
	}
	return client;
}

static knot_edns_cookie_params_t make_params(const uint8_t *secret, const struct client *client,
					     uint64_t now_s)
{
	knot_edns_cookie_params_t params = {
		.version = KNOT_EDNS_COOKIE_VERSION,
		.timestamp = (uint32_t)now_s,
		.lifetime_before = COOKIE_AGE_MAX_S,
		.lifetime_after = COOKIE_AHEAD_MAX_S,
		.client_addr = &client->address,
	};
	memcpy(params.secret, secret, sizeof(params.secret));
	return params;
}

static enum cookie_verdict predict(const struct cookie_secrets *secrets,
				   const struct client *client, const uint8_t *data, size_t size)
{
	knot_edns_cookie_t theirs;
	knot_edns_cookie_t ours;
	if (knot_edns_cookie_parse(&theirs, &ours, data, (uint16_t)size) != KNOT_EOK)
		return COOKIE_MALFORMED;
	if (ours.len == 0)
		return COOKIE_CLIENT;
	for (size_t i = 0; i < secrets->count; i++) {
		knot_edns_cookie_params_t params = make_params(secrets->bytes[i], client, NOW_S);
		if (knot_edns_cookie_server_check(&ours, &theirs, &params) == KNOT_EOK)
			return COOKIE_GOOD;
	}
	return COOKIE_BAD;
}

/* That libknot makes the same for client_cookie. */
static void compare_made(const uint8_t *secret, const struct client *client, uint64_t now_s,
			 const uint8_t *client_cookie, const uint8_t *made)
{
	uint8_t expected[COOKIE_SIZE];
	knot_edns_cookie_t ours;
	knot_edns_cookie_t theirs = { .len = COOKIE_CLIENT_SIZE };
	knot_edns_cookie_params_t params = make_params(secret, client, now_s);
	memcpy(theirs.data, client_cookie, COOKIE_CLIENT_SIZE);
	require(knot_edns_cookie_server_generate(&ours, &theirs, &params) == KNOT_EOK &&
			knot_edns_cookie_write(expected, sizeof(expected), &theirs, &ours) ==
				KNOT_EOK,
		"libknot makes none");
	require(memcmp(made, expected, sizeof(expected)) == 0, "another cookie");
}

static void check(const struct cookie_secrets *secrets, const struct client *client,
		  const uint8_t *data, size_t size)
{
	require(cookie_check(secrets, (const struct sockaddr *)&client->address, NOW_S, data,
			     size) == predict(secrets, client, data, size),
		"another verdict");
	require(predict(secrets, client, data, size) <= COOKIE_CLIENT ||
			cookie_check(secrets, NULL, NOW_S, data, size) == COOKIE_BAD,
		"good for nobody");
}

/* One that secret number made, at an age, for the client beside this one. */
static void check_made(const struct cookie_secrets *secrets, const struct client *client,
		       const uint8_t *data)
{
	uint8_t made[COOKIE_SIZE];
	struct cookie_secrets maker = { .count = secrets->count > 0 };
	struct client other = make_client(client->size == 16, (uint8_t)(7 + data[8]));
	memcpy(maker.bytes[0], secrets->bytes[data[5] % COOKIE_SECRETS_MAX], COOKIE_SECRET_SIZE);
	uint32_t age_s = (uint32_t)data[1] << 24 | (uint32_t)data[2] << 16 |
			 (uint32_t)data[3] << 8 | data[4];
	uint64_t made_s = NOW_S - (uint64_t)(int64_t)(int32_t)age_s;
	bool is_made = cookie_make(&maker, (const struct sockaddr *)&other.address, made_s,
				   data + 1, made);
	require(is_made == (maker.count > 0), "made or not");
	if (!is_made)
		return;
	compare_made(maker.bytes[0], &other, made_s, data + 1, made);
	unsigned bit = data[6] * 256U + data[7];
	if (bit < sizeof(made) * 8)
		made[bit / 8] ^= (uint8_t)(1U << bit % 8);
	check(secrets, client, made, sizeof(made));
}

static void check_text(const uint8_t *data, size_t size)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	char text[64];
	struct cookie_secrets secrets = { .count = 0 };
	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	bool is_secret = strlen(text) == 2 * (size_t)COOKIE_SECRET_SIZE &&
			 strspn(text, digits) == strlen(text);
	require(cookie_add_secret(&secrets, text) == is_secret, "a secret or not");
	require(secrets.count == is_secret, "another count");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD_SIZE)
		return 0;
	struct cookie_secrets secrets = { .count = data[0] % (COOKIE_SECRETS_MAX + 1) };
	for (unsigned i = 0; i < COOKIE_SECRETS_MAX; i++)
		memset(secrets.bytes[i], (int)('a' + i), COOKIE_SECRET_SIZE);
	const struct client client = make_client((data[0] & 0x80) != 0, 7);
	check(&secrets, &client, data + HEAD_SIZE, size - HEAD_SIZE);
	check_made(&secrets, &client, data);
	check_text(data + HEAD_SIZE, size - HEAD_SIZE);
	return 0;
}
