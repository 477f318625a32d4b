/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/config/topic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client-lib/config/sites.h"
#include "lib/format/bytes.h"

/* ---- SHA-256, FIPS 180-4 part 6.2 ---- */

#define WORDS  8 /* of the state */
#define ROUNDS 64
#define BLOCK  64 /* bytes */
#define LENGTH 8  /* bytes of the length in the last block */

static const uint32_t begin[WORDS] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

static const uint32_t round_constants[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2
};

static uint32_t turn(uint32_t word, unsigned bits)
{
	return word >> bits | word << (32 - bits);
}

/* The words that the rounds take: those of the block, and what is made of them. */
static void spread(const uint8_t *block, uint32_t *ret_words)
{
	for (unsigned i = 0; i < 16; i++)
		ret_words[i] = (uint32_t)bytes_get(block + (size_t)4 * i, 4);
	for (unsigned i = 16; i < ROUNDS; i++) {
		uint32_t near = ret_words[i - 2], far = ret_words[i - 15];

		ret_words[i] = (turn(near, 17) ^ turn(near, 19) ^ near >> 10) + ret_words[i - 7] +
			       (turn(far, 7) ^ turn(far, 18) ^ far >> 3) + ret_words[i - 16];
	}
}

static void add_block(uint32_t *state, const uint8_t *block)
{
	uint32_t words[ROUNDS], s[WORDS];

	spread(block, words);
	memcpy(s, state, sizeof(s));
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
			       ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[i] + words[i];
		uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
			       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, (WORDS - 1) * sizeof(s[0]));
		s[4] += one;
		s[0] = one + two;
	}
	for (unsigned i = 0; i < WORDS; i++)
		state[i] += s[i];
}

void topic_sha256(const uint8_t *bytes, size_t size, uint8_t *ret_digest)
{
	uint32_t state[WORDS];
	uint8_t last[2 * BLOCK] = { 0 };
	size_t left = size % BLOCK;
	size_t last_size = left < BLOCK - LENGTH ? BLOCK : 2 * BLOCK;
	uint64_t bits = (uint64_t)size * 8;

	memcpy(state, begin, sizeof(state));
	for (size_t i = 0; i + BLOCK <= size; i += BLOCK)
		add_block(state, bytes + i);
	if (left > 0)
		memcpy(last, bytes + size - left, left);
	last[left] = 0x80;
	uint8_t *end = last + last_size - LENGTH;
	bytes_put(&end, bits, LENGTH);
	for (size_t i = 0; i < last_size; i += BLOCK)
		add_block(state, last + i);
	for (unsigned i = 0; i < TOPIC_SHA256_SIZE; i++)
		ret_digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

/* ---- topics ---- */

#define NAME_OCTET 0xff /* before the number of a name */

void topic_of_ip(const struct dnsblv6_ip *ip, struct topic *ret_topic)
{
	ret_topic->kind = CONFIG_ADDRESS;
	ret_topic->addr = dnsblv6_addr_from_bytes(ip->bytes);
	ret_topic->name.size = 0;
}

/* The address in whose place a name is kept. */
static struct dnsblv6_addr number_name(const struct dnsblv6_labels *name)
{
	uint8_t digest[TOPIC_SHA256_SIZE];
	struct dnsblv6_ip ip = { { NAME_OCTET } };

	topic_sha256(name->wire, name->size, digest);
	memcpy(ip.bytes + 1, digest, sizeof(ip.bytes) - 1);
	return dnsblv6_addr_from_bytes(ip.bytes);
}

int topic_parse(const char *text, struct topic *ret_topic)
{
	const size_t size = strnlen(text, CONFIG_TEXT_MAX);
	struct dnsblv6_ip ip;
	struct topic topic;
	char name[CONFIG_TEXT_MAX];

	/* The dot of the root is behind an address too when a browser is to see no difference. */
	(void)snprintf(name, sizeof(name), "%s", text);
	if (size > 0 && size < sizeof(name) && name[size - 1] == '.')
		name[size - 1] = '\0';
	if (dnsblv6_ip_parse(name, &ip) == DNSBLV6_OK) {
		topic_of_ip(&ip, &topic);
		topic.kind = CONFIG_SITE;
		if (!dnsblv6_addr_is_ipv4(topic.addr))
			return -EINVAL; /* no list has a rule for them */
	} else {
		if (sites_parse_labels(text, size, &topic.name, name) != NULL)
			return -EINVAL;
		topic.kind = CONFIG_NAME;
		topic.addr = number_name(&topic.name);
	}
	*ret_topic = topic;
	return DNSBLV6_OK;
}

void topic_format(const struct topic *topic, char *ret_text)
{
	const struct dnsblv6_labels *name = &topic->name;

	if (topic->kind != CONFIG_NAME) {
		(void)dnsblv6_addr_format(topic->addr, ret_text);
		return;
	}
	/* topic_parse() takes no octet that would have to be escaped. */
	memcpy(ret_text, name->wire + 1, name->size - 1u);
	for (unsigned i = 1u + name->wire[0]; i < name->size; i += 1u + name->wire[i])
		ret_text[i - 1] = '.';
	ret_text[name->size - 1u] = '\0';
}
