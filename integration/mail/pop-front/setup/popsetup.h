/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popsetup.h - the configuration of pop-front: pop.conf, read and checked.
 *
 * Flow: main.c -> popsetup_parse() -> lib/common/conf.c -> pop.c for the nanny, which gives it to
 *       edges, checkers and workers over fork().
 *
 *     pop:
 *         hostname: mail.example.org
 *         listen: [ 0.0.0.0@110, "::@110" ]
 *         listen-tls: [ 0.0.0.0@995, "::@995" ]
 *     store:
 *         socket: /run/mail-stored/socket
 *     login:
 *         users: /var/lib/mail-hub/users.mdb
 *     tls:
 *         certificates: [ /etc/ssl/mail.pem ]
 *
 * Times are in milliseconds here. pop-front(8) says what each item is for. A setup is made by the
 * nanny for each generation and not changed after fork(); its handle of libdnsblv6 is started before
 * fork() where has_zones is true.
 */

#include <stdbool.h>

#include "integration/common/handle.h"
#include "integration/common/judge.h"
#include "integration/common/networks.h"
#include "integration/common/owner.h"
#include "integration/common/program.h"
#include "integration/mail/base/edge/edge_rules.h"
#include "integration/mail/base/setup/mailsetup.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POPSETUP_WORKERS_MAX  1024
#define POPSETUP_CHECKERS_MAX 64

/* Section "pop", but for what is an edge's. */
struct popsetup_pop {
	char hostname[MAILSETUP_HOSTNAME_MAX + 1];
	/* Those of "listen" first, then those of "listen-tls". */
	struct place places[LISTENERS_PLACES_MAX];
	unsigned place_count;
	unsigned clear_count; /* of them, where a client begins in the clear */
	struct place tls_places[LISTENERS_PLACES_MAX];
	unsigned tls_count;
	struct owner edge_owner;
	struct owner worker_owner;
	struct owner check_owner;
	struct owner key_owner;
	char chroot[PROGRAM_PATH_MAX + 1]; /* "": none */
	unsigned workers;
	unsigned sessions_per_worker;
	char metrics[PROGRAM_PATH_MAX + 1]; /* "": none */
	int log_level;
};

/* The same of section "login". */
struct popsetup_login {
	char users[PROGRAM_PATH_MAX + 1];
	unsigned ways; /* enum pop3_way */
	unsigned checkers;
	unsigned cache_ms; /* a password that was right is taken again without its hash; 0: never */
	unsigned failures_max; /* of a session */
	unsigned failure_rate; /* in a minute, of a network, in one edge; 0: any number */
	unsigned timeout_ms;   /* for an answer of a checker */
	bool requires_tls;
	bool refuses_listed; /* a client that the zones list may not log in */
};

/* The same of section "limits". 0 is "no limit". */
struct popsetup_limits {
	unsigned idle_timeout_ms;   /* behind it; RFC 1939 wants 10 minutes */
	unsigned send_timeout_ms;   /* for a client that takes nothing of a mail */
	unsigned worker_timeout_ms; /* all of it behind the login */
	unsigned errors_max;
	unsigned commands_max;
	unsigned messages_max; /* of a maildrop that a session sees */
};

struct popsetup {
	struct edge_rules edge; /* of sections "pop", "login" and "limits", as the items have it */
	struct popsetup_pop pop;
	struct place store; /* mail-stored's socket */
	unsigned store_timeout_ms;
	struct popsetup_login login;
	struct popsetup_limits limits;
	struct mailsetup_tls tls;
	bool has_zones;
	struct judge judge;
	struct handle handle;
};

extern const struct conf_table popsetup_table;

/* For program.h: 0 with the setup, or *reterr_error. popsetup_deinit() follows in either case. */
int popsetup_parse(const char *text, size_t text_size, void *ret_setup,
		   struct conf_error *reterr_error);
void popsetup_deinit(void *setup);

#ifdef __cplusplus
}
#endif
