/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * topic.h - what a caller asks about: the address of a client, or a name.
 *
 * Flow: client*.c -> topic_of_ip(), topic_parse() -> engine.c -> fetch.c asks for the name,
 *       look.c and cache.h find answers by the address.
 *
 * Answers are kept by an address whatever they are about. A name, or the hash that stands in its
 * place, has a number for that: the first 120 bits of its SHA-256, behind the octet 255 with which
 * no address of a client begins (ff00::/8 is multicast). So names need no slots of their
 * own, and none can be made that shares the slot of another one, as with a plain hash.
 *
 * Values are plain. No function here allocates, locks, logs or keeps a pointer.
 */

#include "client-lib/config/config.h"
#include "client-lib/dnsblv6.h"
#include "lib/format/address.h"

#ifdef __cplusplus
extern "C" {
#endif

struct topic {
	enum config_topic kind;
	struct dnsblv6_addr addr;
	struct dnsblv6_labels name; /* of CONFIG_NAME; its size is 0 in the others */
};

void topic_of_ip(const struct dnsblv6_ip *ip, struct topic *ret_topic);

/*
 * A name (letters, digits, "-", "_" and dots, in any case, with or without a final dot; up to 253
 * characters in labels of up to 63, RFC 1035), or an IPv4 address, which is a CONFIG_SITE, with or
 * without that dot.
 * -EINVAL for anything else.
 */
int topic_parse(const char *text, struct topic *ret_topic);

/* As a person reads it. ret_text has CONFIG_TEXT_MAX bytes. */
void topic_format(const struct topic *topic, char *ret_text);

/* FIPS 180-4. */
#define TOPIC_SHA256_SIZE 32
void topic_sha256(const uint8_t *bytes, size_t size, uint8_t *ret_digest);

#ifdef __cplusplus
}
#endif
