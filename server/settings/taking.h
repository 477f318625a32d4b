/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * taking.h - the items of dnsblv6d.conf, one by one, into struct settings.
 *
 * Flow: settings.c has the table of items; lib/common/conf.h reads the file
 *       and calls back with each value -> taking_server.c, taking_zones.c ->
 *       taking_finish() looks at what belongs together. For settings.c alone.
 *
 * A function that takes a value returns NULL, or why it is refused: static text.
 */

#include "lib/common/conf.h"
#include "server/settings/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SECTION_SERVER,
	SECTION_DNSTAP,
	SECTION_KEY,
	SECTION_SECONDARY,
	SECTION_ACCESS,
	SECTION_ZONE
};

enum {
	SERVER_LISTEN,
	SERVER_USER,
	SERVER_WORKERS,
	SERVER_TCP_MAX_CLIENTS,
	SERVER_TCP_IDLE_TIMEOUT,
	SERVER_UDP_MAX_PAYLOAD,
	SERVER_LOG_LEVEL,
	SERVER_DRAIN_TIMEOUT,
	SERVER_TRANSFER_MAX,
	SERVER_TRANSFER_TIMEOUT,
	SERVER_TRANSFER_IDLE_TIMEOUT,
	SERVER_CONTROL,
	SERVER_CONTROL_OWNER,
	SERVER_CONTROL_MODE,
	SERVER_TOP_SIZE,
	SERVER_TOP_PREFIX_IPV4,
	SERVER_TOP_PREFIX_IPV6,
	SERVER_TCP_MAX_CLIENTS_PER_NETWORK,
	SERVER_TCP_QUERY_TIMEOUT,
	SERVER_COOKIES,
	SERVER_COOKIE_SECRET,
	SERVER_RATE_LIMIT,
	SERVER_RATE_LIMIT_SLIP,
	SERVER_RATE_LIMIT_NETWORKS,
	SERVER_RATE_LIMIT_ALLOW,
	SERVER_IDENTITY,
	SERVER_VERSION,
	SERVER_NSID,
	SERVER_PIN_WORKERS,
	SERVER_CONFINE,
	SERVER_CHROOT,
	SERVER_VERIFY_INTERVAL,
};

enum {
	DNSTAP_SOCKET,
	DNSTAP_FILE,
	DNSTAP_SAMPLE,
	DNSTAP_MESSAGES,
	DNSTAP_ZONE,
	DNSTAP_IDENTITY,
	DNSTAP_VERSION,
};

enum { KEY_ID, KEY_ALGORITHM, KEY_SECRET };

enum { SECONDARY_ID, SECONDARY_ADDRESS, SECONDARY_ALLOW, SECONDARY_KEY };

enum { ACCESS_ID, ACCESS_ACTION, ACCESS_ADDRESS, ACCESS_KEY };

enum { ZONE_DOMAIN, ZONE_STORE, ZONE_CLASSIC, ZONE_SECONDARY, ZONE_ACCESS };

struct taking {
	struct settings *settings;
	const char *directory;
	bool has_listen; /* the first address of the file replaces the defaults */
};

const char *taking_server(struct taking *taking, const struct conf_value *value);
const char *taking_dnstap(struct taking *taking, const struct conf_value *value);
const char *taking_key(struct taking *taking, const struct conf_value *value);
const char *taking_secondary(struct taking *taking, const struct conf_value *value);
const char *taking_rule(struct settings *settings, const struct conf_value *value);
const char *taking_zone(struct taking *taking, const struct conf_value *value);

/* ret is what conf_read() returned. 0, or -EINVAL or -errno with *error filled. */
int taking_finish(struct settings *settings, int ret, struct conf_error *error);

/* ---- what they have in common ---- */

/* Of SETTINGS_IDENTITY_MAX + 1 bytes; "auto" is the name of the machine, or of the program. */
const char *taking_identity(char *target, const char *text, bool is_version);
const char *taking_name(struct settings_name *name, const struct conf_value *value);

extern const char taking_no_memory[];
/* One more, all zero, behind count entries of size bytes; NULL when memory ran out. */
void *taking_grow(void *entries, size_t count, size_t size);
const char *taking_prefix(struct dnsblv6_prefix **prefixes, size_t *count, const char *text);

#ifdef __cplusplus
}
#endif
