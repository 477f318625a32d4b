/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * stored_setup.h - the configuration of mail-stored: stored.conf, read and checked.
 *
 * Flow: main.c -> stored_setup_parse() -> lib/common/conf.c -> stored.c, which gives it to the store
 *       process and to that of LMTP over fork().
 *
 *     stored:
 *         directory: /var/lib/mail-stored
 *         socket: /run/mail-stored/socket
 *         users: /var/lib/smtp-front/users.mdb
 *     lmtp:
 *         listen: [ 127.0.0.1@24, /run/mail-stored/lmtp ]
 *
 * Times are in milliseconds here; mail-stored(8) says what each item is for.
 */

#include "integration/common/owner.h"
#include "integration/common/program.h"
#include "integration/mail/base/users/users.h"
#include "integration/mail/mail-stored/cluster/cluster_setup.h"
#include "integration/mail/mail-stored/nodes/nodesetup.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STORED_PATH_MAX	    512
#define STORED_HOSTNAME_MAX 253
#define STORED_LMTP_MAX	    8

enum stored_layer { STORED_LOG, STORED_SORT, STORED_NULL, STORED_RADOS };

struct stored_setup {
	/* Section "stored". */
	char directory[STORED_PATH_MAX + 1];
	char socket[STORED_PATH_MAX + 1];
	struct owner owner; /* also of the sockets */
	enum stored_layer layer;
	char users[STORED_PATH_MAX + 1]; /* "": every address is a mailbox */
	char logins[STORED_PATH_MAX + 1];
	unsigned clients_max;
	uint64_t segment_size; /* of a new store */
	uint64_t size_max;     /* of a mail */
	uint64_t reserve;      /* of the disk, that mails leave free */
	unsigned index_ms;     /* the index is behind the log for so long */
	unsigned collect_share;
	unsigned collect_ms; /* between looks for a segment to empty */
	/* Of a mailbox that has none of its own; 0: no limit. */
	uint64_t quota_messages;
	uint64_t quota_octets;
	unsigned keep_s;
	unsigned keep_ms; /* between looks for what is too old */
	char metrics[PROGRAM_PATH_MAX + 1];
	int log_level;
	struct cluster_setup cluster; /* section "cluster", of layer rados */
	/* Section "lmtp". */
	struct place lmtp[STORED_LMTP_MAX];
	unsigned lmtp_count;
	char hostname[STORED_HOSTNAME_MAX + 1];
	unsigned lmtp_sessions_max;
	unsigned lmtp_recipients_max;
	unsigned lmtp_timeout_ms;
	uint64_t lmtp_memory_max; /* of all large mails that are under way */
	struct nodesetup nodes;	  /* sections "nodes" and "peer" */
};

extern const struct conf_table stored_setup_table;

/* The database of users with passwords; "": clients cannot ask for logins. */
const char *stored_setup_logins(const struct stored_setup *setup);

/*
 * The database of users without passwords; NULL when none is named. EX_OK, or EX_NOINPUT with a line of the log.
 */
int stored_setup_open_users(const struct stored_setup *setup, struct users **ret_users);

/* For program.h. */
int stored_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error);

#ifdef __cplusplus
}
#endif
