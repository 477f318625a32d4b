/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/cookie.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

#include <libknot/cookies.h>
#include <libknot/libknot.h>

/* ---- secrets ---- */

int cookie_fill(struct cookie_random *cookie, uint64_t now_s, struct cookie_secrets *ret_secrets)
{
	struct cookie_secrets *secrets = &cookie->secrets;
	/* A clock that was set back does not keep a secret for ever. */
	uint64_t age_s = now_s - cookie->made_s;
	if (secrets->count == 0 || age_s >= COOKIE_ROLL_S) {
		uint8_t fresh[COOKIE_SECRET_SIZE];
		if (getrandom(fresh, sizeof(fresh), 0) != (ssize_t)sizeof(fresh))
			return errno != 0 ? -errno : -EIO;
		memcpy(secrets->bytes[1], secrets->bytes[0], COOKIE_SECRET_SIZE);
		memcpy(secrets->bytes[0], fresh, COOKIE_SECRET_SIZE);
		secrets->count = secrets->count == 0 ? 1 : 2;
		cookie->made_s = now_s;
	}
	*ret_secrets = *secrets;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool cookie_add_secret(struct cookie_secrets *secrets, const char *text)
{
	uint8_t bytes[COOKIE_SECRET_SIZE];
	if (secrets->count == COOKIE_SECRETS_MAX || strlen(text) != sizeof(bytes) * 2)
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		int high = hex_digit(text[2 * i]);
		int low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(secrets->bytes[secrets->count++], bytes, sizeof(bytes));
	return true;
}

/* ---- cookies ---- */

/* libknot takes the family and the address out of a whole sockaddr_storage. */
static bool copy_client(const struct sockaddr *client, struct sockaddr_storage *ret_client)
{
	if (client == NULL || (client->sa_family != AF_INET && client->sa_family != AF_INET6))
		return false;
	memset(ret_client, 0, sizeof(*ret_client));
	memcpy(ret_client, client,
	       client->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					    : sizeof(struct sockaddr_in6));
	return true;
}

static knot_edns_cookie_params_t make_params(const struct sockaddr_storage *client, uint64_t now_s,
					     const uint8_t *secret)
{
	knot_edns_cookie_params_t params = {
		.version = KNOT_EDNS_COOKIE_VERSION,
		.timestamp = (uint32_t)now_s, /* RFC 9018: serial arithmetic */
		.lifetime_before = COOKIE_AGE_MAX_S,
		.lifetime_after = COOKIE_AHEAD_MAX_S,
		.client_addr = client,
	};
	memcpy(params.secret, secret, sizeof(params.secret));
	return params;
}

enum cookie_verdict cookie_check(const struct cookie_secrets *secrets,
				 const struct sockaddr *client, uint64_t now_s, const uint8_t *data,
				 size_t size)
{
	knot_edns_cookie_t ours;
	knot_edns_cookie_t theirs;
	struct sockaddr_storage address;
	if (size > UINT16_MAX ||
	    knot_edns_cookie_parse(&theirs, &ours, data, (uint16_t)size) != KNOT_EOK)
		return COOKIE_MALFORMED;
	if (ours.len == 0)
		return COOKIE_CLIENT;
	if (!copy_client(client, &address))
		return COOKIE_BAD;
	for (size_t i = 0; i < secrets->count; i++) {
		knot_edns_cookie_params_t params = make_params(&address, now_s, secrets->bytes[i]);
		if (knot_edns_cookie_server_check(&ours, &theirs, &params) == KNOT_EOK)
			return COOKIE_GOOD;
	}
	return COOKIE_BAD;
}

bool cookie_make(const struct cookie_secrets *secrets, const struct sockaddr *client,
		 uint64_t now_s, const uint8_t *client_cookie, uint8_t *ret_data)
{
	knot_edns_cookie_t ours;
	knot_edns_cookie_t theirs = { .len = KNOT_EDNS_COOKIE_CLNT_SIZE };
	struct sockaddr_storage address;
	if (secrets->count == 0 || !copy_client(client, &address))
		return false;
	memcpy(theirs.data, client_cookie, KNOT_EDNS_COOKIE_CLNT_SIZE);
	knot_edns_cookie_params_t params = make_params(&address, now_s, secrets->bytes[0]);
	return knot_edns_cookie_server_generate(&ours, &theirs, &params) == KNOT_EOK &&
	       knot_edns_cookie_write(ret_data, COOKIE_SIZE, &theirs, &ours) == KNOT_EOK;
}
