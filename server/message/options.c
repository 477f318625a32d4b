/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/message/options.h"

#include <string.h>

#define HEAD_SIZE      ((size_t)KNOT_EDNS_OPTION_HDRLEN)
#define KEEPALIVE_SIZE sizeof(uint16_t)

/* In an OPT, whose owner is the root. */
enum {
	PAYLOAD_AT = 3,
	VERSION_AT = 6,
	FLAGS_AT = 7,
	RDATA_SIZE_AT = 9,
	DO_BIT = 0x80,
};

/* ---- the OPT as it came ---- */

/* Where the OPT is in one question and an OPT up to the end; 0 in any other query. */
static size_t find_opt(const uint8_t *wire, size_t size)
{
	static const uint8_t counts[] = { 0, 1, 0, 0, 0, 0, 0, 1 };
	const uint8_t *name = wire + KNOT_WIRE_HEADER_SIZE;
	if (memcmp(name - sizeof(counts), counts, sizeof(counts)) != 0)
		return 0;
	int name_size = knot_dname_wire_check(name, wire + size, wire);
	size_t offset = KNOT_WIRE_HEADER_SIZE + (size_t)name_size + 2 * sizeof(uint16_t);
	if (name_size <= 0 || offset + KNOT_EDNS_MIN_SIZE > size)
		return 0;
	const uint8_t *opt = wire + offset;
	size_t opt_size = (size_t)KNOT_EDNS_MIN_SIZE + knot_wire_read_u16(opt + RDATA_SIZE_AT);
	return opt[0] == 0 && knot_wire_read_u16(opt + 1) == KNOT_RRTYPE_OPT &&
			       opt_size == size - offset
		       ? offset
		       : 0;
}

void options_mend_payload(uint8_t *wire, size_t size)
{
	size_t offset = find_opt(wire, size);
	if (offset != 0 && knot_wire_read_u16(wire + offset + PAYLOAD_AT) == KNOT_CLASS_IN)
		knot_wire_write_u16(wire + offset + PAYLOAD_AT, KNOT_WIRE_MIN_PKTSIZE);
}

bool options_find_envelope(const uint8_t *wire, size_t size, struct options_envelope *ret_envelope)
{
	size_t offset = find_opt(wire, size);
	if (offset == 0)
		return false;
	*ret_envelope = (struct options_envelope){
		.payload = knot_wire_read_u16(wire + offset + PAYLOAD_AT),
		.version = wire[offset + VERSION_AT],
		.has_do = (wire[offset + FLAGS_AT] & DO_BIT) != 0,
	};
	return true;
}

/* ---- options ---- */

static bool has_cookies(const struct settings *settings)
{
	return settings != NULL && settings->has_cookies && settings->cookies.count > 0;
}

struct options options_read_cookie(const uint8_t *data, size_t size,
				   const struct options_context *context)
{
	struct options options = { .cookie = COOKIE_NONE };
	if (!has_cookies(context->settings))
		return options;
	const struct cookie_secrets *secrets = &context->settings->cookies;
	options.cookie = cookie_check(secrets, context->client, context->now_s, data, size);
	options.is_malformed = options.cookie == COOKIE_MALFORMED;
	options.has_cookie =
		!options.is_malformed &&
		cookie_make(secrets, context->client, context->now_s, data, options.cookie_data);
	return options;
}

/* RFC 7828: over UDP it is ignored (section 3.3.1), and in a query it has no time (section 3.2.1). */
static void read_keepalive(const knot_rrset_t *opt, const struct options_context *context,
			   struct options *options)
{
	uint8_t *at = NULL;
	if (context->is_tcp)
		at = knot_edns_get_option(opt, KNOT_EDNS_OPTION_TCP_KEEPALIVE, NULL);
	if (at == NULL)
		return;
	options->is_malformed |= knot_edns_opt_get_length(at) != 0;
	options->has_keepalive = true;
	options->keepalive = context->keepalive;
}

struct options options_read(const knot_rrset_t *opt, const struct options_context *context)
{
	struct options options = { .cookie = COOKIE_NONE };
	uint8_t *at = knot_edns_get_option(opt, KNOT_EDNS_OPTION_COOKIE, NULL);
	if (at != NULL)
		options = options_read_cookie(knot_edns_opt_get_data(at),
					      knot_edns_opt_get_length(at), context);
	read_keepalive(opt, context, &options);
	if (context->settings != NULL && context->settings->nsid[0] != '\0' &&
	    knot_edns_get_option(opt, KNOT_EDNS_OPTION_NSID, NULL) != NULL)
		options.nsid = context->settings->nsid;
	if (options.is_malformed)
		return (struct options){ .is_malformed = true, .cookie = options.cookie };
	return options;
}

size_t options_size(const struct options *options)
{
	return (options->has_cookie ? HEAD_SIZE + COOKIE_SIZE : 0) +
	       (options->has_keepalive ? HEAD_SIZE + KEEPALIVE_SIZE : 0) +
	       (options->nsid != NULL ? HEAD_SIZE + strlen(options->nsid) : 0);
}

static bool add(knot_rrset_t *opt, uint16_t code, const void *data, size_t size, knot_mm_t *mm)
{
	return knot_edns_add_option(opt, code, (uint16_t)size, data, mm) == KNOT_EOK;
}

bool options_put(const struct options *options, knot_rrset_t *opt, knot_mm_t *mm)
{
	uint8_t keepalive[KEEPALIVE_SIZE];
	knot_wire_write_u16(keepalive, options->keepalive);
	return (!options->has_cookie ||
		add(opt, KNOT_EDNS_OPTION_COOKIE, options->cookie_data, COOKIE_SIZE, mm)) &&
	       (!options->has_keepalive ||
		add(opt, KNOT_EDNS_OPTION_TCP_KEEPALIVE, keepalive, sizeof(keepalive), mm)) &&
	       (options->nsid == NULL ||
		add(opt, KNOT_EDNS_OPTION_NSID, options->nsid, strlen(options->nsid), mm));
}
