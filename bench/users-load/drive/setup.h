/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * setup.h - the command lines of users-load, and what they come to.
 *
 * Flow: main.c -> setup_read() with the name of a subcommand -> run.c, fill.c, verify.c, check.c. setup_...() exits on wrong use, and on
 *       a workload that cannot be read.
 */

#include "bench/smtp-load/session.h"
#include "bench/users-load/drive/link.h"
#include "bench/users-load/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

struct setup {
	const char *workload_path;
	struct workload workload;
	struct sockaddr_storage imap; /* ss_family 0: not given */
	struct sockaddr_storage smtp;
	struct sockaddr_storage submit;
	struct sockaddr_storage sink;
	struct sockaddr_storage lmtp;
	unsigned users;
	unsigned from;	      /* of fill: the first user */
	unsigned connections; /* of fill and verify: at a time */
	unsigned sample;      /* of verify: so many mailboxes mail by mail */
	double rate;
	double scale;
	uint64_t seed;
	uint64_t warmup_ns;
	uint64_t window_ns;
	uint64_t drain_ns;
	uint64_t timeout_ns;
	enum link_security security;
	const char *domain;
	const char *remote_domain;
	const char *password;
	const char *name;
	const char *login;
	const char *prefix;
	struct session_template address; /* name@domain */
	struct session_template abroad;	 /* peer%d@remote_domain */
	struct session_template logins;	 /* login, or address */
	const char *result_path;	 /* NULL: standard output */
	bool is_markdown;
	bool is_after; /* of verify: a load has been */
};

enum setup_command {
	SETUP_RUN,
	SETUP_FILL,
	SETUP_VERIFY,
	SETUP_CHECK,
	SETUP_WORKLOAD,
};

/* Exits on wrong use. With SETUP_WORKLOAD the file is not read. */
void setup_read(enum setup_command command, int argc, char **argv, struct setup *ret_setup);

/* Says on standard error what is wrong with the parameters in the file path, and where. Returns EX_DATAERR. */
int setup_complain(const char *path, const struct workload_error *error);
/*
 * Exits with EX_UNAVAILABLE and a line on standard error, option its subject, when there is no server. One that is not given
 * is not looked for.
 */
void setup_probe(const char *option, const struct sockaddr_storage *address);

/* A descriptor for so many connections, as far as the machine permits. */
void setup_share_descriptors(unsigned count);

#ifdef __cplusplus
}
#endif
