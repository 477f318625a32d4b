/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/askers/cookie.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "lib/common/siphash.h"
#include "lib/format/hex.h"

/* In an option, as cookie.h has it. */
enum {
	VERSION = 1,
	VERSION_AT = 8,
	TIME_AT = 12,
	HASHED_SIZE = 16, /* the hash is behind it */
};

/* ---- secrets ---- */

int cookie_fill(struct cookie_random *cookie, uint64_t now_s, struct cookie_secrets *ret_secrets)
{
	struct cookie_secrets *secrets = &cookie->secrets;
	/* A clock that was set back does not keep a secret for ever. */
	uint64_t age_s = now_s - cookie->made_s;
	if (secrets->count == 0 || age_s >= COOKIE_ROLL_S) {
		uint8_t fresh[COOKIE_SECRET_SIZE];
		if (getentropy(fresh, sizeof(fresh)) != 0)
			return -errno;
		memcpy(secrets->bytes[1], secrets->bytes[0], COOKIE_SECRET_SIZE);
		memcpy(secrets->bytes[0], fresh, COOKIE_SECRET_SIZE);
		secrets->count = secrets->count == 0 ? 1 : 2;
		cookie->made_s = now_s;
	}
	*ret_secrets = *secrets;
	return 0;
}

bool cookie_add_secret(struct cookie_secrets *secrets, const char *text)
{
	uint8_t bytes[COOKIE_SECRET_SIZE];
	if (secrets->count == COOKIE_SECRETS_MAX || strlen(text) != sizeof(bytes) * 2)
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		const int byte = hex_pair(text + 2 * i);
		if (byte < 0)
			return false;
		bytes[i] = (uint8_t)byte;
	}
	memcpy(secrets->bytes[secrets->count++], bytes, sizeof(bytes));
	return true;
}

/* ---- the hash ---- */

static uint64_t read_word(const uint8_t *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

/* ---- cookies ---- */

/* An address as words of the hash; the last one has what is left, and the size of all. */
struct address {
	unsigned word_count;
	uint64_t words[3];
};

static bool take_address(const struct sockaddr *client, struct address *ret_address)
{
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	if (client == NULL)
		return false;
	if (client->sa_family == AF_INET) {
		memcpy(&four, client, sizeof(four));
		ret_address->word_count = 1;
		ret_address->words[0] =
			(uint64_t)(HASHED_SIZE + 4) << 56 | le32toh(four.sin_addr.s_addr);
		return true;
	}
	if (client->sa_family != AF_INET6)
		return false;
	memcpy(&six, client, sizeof(six));
	ret_address->word_count = 3;
	ret_address->words[0] = read_word(six.sin6_addr.s6_addr);
	ret_address->words[1] = read_word(six.sin6_addr.s6_addr + 8);
	ret_address->words[2] = (uint64_t)(HASHED_SIZE + 16) << 56;
	return true;
}

/* Of the first HASHED_SIZE bytes of a cookie, and the address. */
static uint64_t hash(const uint8_t *secret, const uint8_t *cookie, const struct address *address)
{
	struct sip sip = sip_begin(read_word(secret), read_word(secret + 8));
	sip_add(&sip, read_word(cookie));
	sip_add(&sip, read_word(cookie + 8));
	for (unsigned i = 0; i < address->word_count; i++)
		sip_add(&sip, address->words[i]);
	return sip_end(&sip);
}

/* RFC 9018 section 4.3: in serial arithmetic, so that the clock may pass 2^32. */
static bool is_in_time(const uint8_t *cookie, uint64_t now_s)
{
	uint32_t made_s;
	memcpy(&made_s, cookie + TIME_AT, sizeof(made_s));
	int32_t age_s = (int32_t)((uint32_t)now_s - be32toh(made_s));
	return age_s <= COOKIE_AGE_MAX_S && age_s >= -COOKIE_AHEAD_MAX_S;
}

enum cookie_verdict cookie_check(const struct cookie_secrets *secrets,
				 const struct sockaddr *client, uint64_t now_s, const uint8_t *data,
				 size_t size)
{
	struct address address;
	if (size == COOKIE_CLIENT_SIZE)
		return COOKIE_CLIENT;
	if (size < COOKIE_OPTION_MIN || size > COOKIE_OPTION_MAX)
		return COOKIE_MALFORMED;
	if (size != COOKIE_SIZE || data[VERSION_AT] != VERSION || !is_in_time(data, now_s) ||
	    !take_address(client, &address))
		return COOKIE_BAD;
	for (size_t i = 0; i < secrets->count; i++) {
		if (hash(secrets->bytes[i], data, &address) == read_word(data + HASHED_SIZE))
			return COOKIE_GOOD;
	}
	return COOKIE_BAD;
}

bool cookie_make(const struct cookie_secrets *secrets, const struct sockaddr *client,
		 uint64_t now_s, const uint8_t *client_cookie, uint8_t *ret_data)
{
	struct address address;
	if (secrets->count == 0 || !take_address(client, &address))
		return false;
	uint32_t made_s = htobe32((uint32_t)now_s);
	memcpy(ret_data, client_cookie, COOKIE_CLIENT_SIZE);
	memset(ret_data + VERSION_AT, 0, TIME_AT - VERSION_AT);
	ret_data[VERSION_AT] = VERSION;
	memcpy(ret_data + TIME_AT, &made_s, sizeof(made_s));
	uint64_t word = htole64(hash(secrets->bytes[0], ret_data, &address));
	memcpy(ret_data + HASHED_SIZE, &word, sizeof(word));
	return true;
}
