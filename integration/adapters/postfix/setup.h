/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * setup.h - the configuration of dnsblv6-policy: policy.conf, read and checked.
 *
 * Flow: program.h -> setup_parse() -> lib/common/conf.c, judge.h for "decision" and handle.h for
 *       "library" -> sockets.c has the places, peers.c and service.c the rest.
 *
 *     policy:
 *         listen: [ /var/spool/postfix/dnsblv6-policy/socket, 127.0.0.1@10030 ]
 *     decision:
 *         action: reject
 *     library:
 *         zones: bl6.example
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "integration/common/handle.h"
#include "integration/common/judge.h"
#include "integration/common/owner.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SETUP_LISTEN	 "/var/spool/postfix/dnsblv6-policy/socket"
#define SETUP_PLACES_MAX 16
#define SETUP_PLACE_MAX	 107 /* bytes of the path of a UNIX socket */
#define SETUP_PATH_MAX	 512

enum setup_protocol { SETUP_POLICY, SETUP_LINES };

struct setup_place {
	enum setup_protocol protocol;
	char text[SETUP_PLACE_MAX + 1]; /* a path, or ADDRESS@PORT */
	struct sockaddr_storage address;
	socklen_t address_size;
};

struct setup {
	struct setup_place places[SETUP_PLACES_MAX];
	unsigned place_count;
	struct owner owner;
	unsigned clients_max;
	char metrics[SETUP_PATH_MAX + 1]; /* "": none */
	int log_level;
	struct judge judge;
	struct handle handle;
};

/*
 * 0, or a negative errno with *reterr_error; setup_deinit() ends *ret_setup in either case. It
 * must not be moved: the judge borrows the handle's client.
 */
int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error);
void setup_deinit(struct setup *setup);

#ifdef __cplusplus
}
#endif
