/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * options.h - what the OPT of a query asks for, and what that of the response
 * says (RFC 6891).
 *
 * Flow: answer.c has a query with an OPT -> options_read() -> the response, with
 *       options_size() bytes to spare -> options_put() into its OPT.
 *
 *     COOKIE         RFC 7873: answered with a fresh server cookie
 *     NSID           RFC 5001: answered when we have one
 *     tcp-keepalive  RFC 7828: over TCP, answered with the idle timeout
 *
 * Of an option that is there twice the first counts. Other options are not
 * looked at. Nothing here allocates but what libknot takes from the arena.
 */

#include "server/askers/cookie.h"
#include "server/settings/settings.h"

#include <libknot/libknot.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options_context {
	const struct settings *settings; /* NULL: no cookies and no NSID */
	const struct sockaddr *client;
	uint64_t now_s;
	bool is_tcp;
	uint16_t keepalive; /* how long a TCP client may be silent, in units of 100 ms */
};

struct options {
	bool is_malformed;	    /* one of them is; the others are not answered then */
	enum cookie_verdict cookie; /* COOKIE_NONE also when cookies are off */
	bool has_cookie;	    /* the one below belongs into the response */
	uint8_t cookie_data[COOKIE_SIZE];
	bool has_keepalive;
	uint16_t keepalive;
	const char *nsid; /* borrowed from the settings; NULL: not asked for, or none */
};

/* Of an OPT, whatever its RDATA is. */
struct options_envelope {
	uint16_t payload;
	uint8_t version;
	bool has_do;
};

/*
 * A payload of 1 becomes 512, which is what it means (RFC 6891 section 6.2.3): the payload is
 * the class of the OPT, and to libknot an empty RDATA is malformed in class IN. wire is a whole
 * header at least; this and the next look at one question with an OPT behind it, and at
 * nothing else.
 */
void options_mend_payload(uint8_t *wire, size_t size);
/*
 * For an OPT that libknot refuses. RFC 6891 section 7: its sender gets an OPT with the FORMERR,
 * and can tell that EDNS is known here.
 */
bool options_find_envelope(const uint8_t *wire, size_t size, struct options_envelope *ret_envelope);

struct options options_read(const knot_rrset_t *opt, const struct options_context *context);
/* Of an OPT that has nothing but a COOKIE, whose data are these size bytes. */
struct options options_read_cookie(const uint8_t *data, size_t size,
				   const struct options_context *context);

/* How many bytes options_put() adds. */
size_t options_size(const struct options *options);
/* False when memory ran out. */
bool options_put(const struct options *options, knot_rrset_t *opt, knot_mm_t *mm);
