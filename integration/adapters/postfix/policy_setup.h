/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * policy_setup.h - the configuration of dnsblv6-policy: policy.conf, read and checked.
 *
 * Flow: program.h -> policy_setup_parse() -> lib/common/conf.c, judge.h and handle.h for two of its sections ->
 *       sockets.c has the places, peers.c and main.c the rest.
 *
 *     policy:
 *         listen: [ /var/spool/postfix/dnsblv6-policy/socket, 127.0.0.1@10030 ]
 *     decision:
 *         action: reject
 *     library:
 *         zones: bl6.example
 */

#include <stddef.h>
#include <sys/socket.h>

#include "integration/common/handle.h"
#include "integration/common/judge.h"
#include "integration/common/owner.h"
#include "integration/common/program.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SETUP_LISTEN	 "/var/spool/postfix/dnsblv6-policy/socket"
#define SETUP_PLACES_MAX 16

enum setup_protocol { SETUP_POLICY, SETUP_LINES };

struct setup_place {
	enum setup_protocol protocol;
	struct place place;
};

struct policy_setup {
	struct setup_place places[SETUP_PLACES_MAX];
	unsigned place_count;
	struct owner owner;
	unsigned clients_max;
	char metrics[PROGRAM_PATH_MAX + 1]; /* "": none */
	int log_level;
	struct judge judge;
	struct handle handle;
};

extern const struct conf_table policy_setup_table;

/*
 * For program.h: 0, or a negative errno with *reterr_error; policy_setup_deinit() ends it in either
 * case. The setup is a struct policy_setup, which must not be moved.
 */
int policy_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error);
void policy_setup_deinit(void *setup);

#ifdef __cplusplus
}
#endif
