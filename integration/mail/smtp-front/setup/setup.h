/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * setup.h - the configuration of smtp-front: front.conf, read and checked.
 *
 * Flow: main.c -> setup_parse() -> lib/common/conf.c, judge.h and handle.h for two of its
 *       sections -> nanny.c, which gives it to edge.c, worker.c and keyholder.c over fork().
 *
 *     front:
 *         hostname: mx.example.org
 *         listen: [ 0.0.0.0@25, "::@25" ]
 *     trust:
 *         users: /var/lib/smtp-front/users.mdb
 *     sink:
 *         kind: smtp
 *         to: 127.0.0.1@10025
 *
 * Times are in milliseconds here; in the file they have a unit, ms, s, m, h or d, and without one
 * they are seconds. A size has K, M or G. smtp-front(8) says what each item is for.
 *
 * A setup is made by the nanny for each generation and not changed after fork(). Its
 * handle is started by the nanny before fork() where has_zones is true, so that all edges of a
 * generation share one cache; edges do not start it again. With has_zones false there is nothing
 * to ask, and the judge's client must not be called.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/common/handle.h"
#include "integration/common/judge.h"
#include "integration/common/networks.h"
#include "integration/common/owner.h"
#include "integration/common/program.h"
#include "integration/mail/base/edge/edge_rules.h"
#include "integration/mail/base/scan/scan_settings.h"
#include "integration/mail/base/setup/mailsetup.h"
#include "lib/smtp/dialogue.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SETUP_PATH_MAX	  512
#define SETUP_WORKERS_MAX 1024

/* What happens to lone LFs of a client, in commands and in mails. */
enum setup_newline {
	SETUP_NEWLINE_REJECT,	 /* 521, and the end */
	SETUP_NEWLINE_NORMALIZE, /* they are taken as CR LF, but none for the end of a mail */
};

enum setup_sink_kind {
	SETUP_SINK_SMTP,
	SETUP_SINK_LMTP,
	SETUP_SINK_MAILDIR,
	SETUP_SINK_NULL,
	SETUP_SINK_STORE,   /* a mail store that mail-stored has open */
	SETUP_SINK_POSTFIX, /* descriptors go to smtpd's "pass" service before the banner */
};

/* How the next hop is told about the client. */
enum setup_tell { SETUP_TELL_NONE, SETUP_TELL_XCLIENT, SETUP_TELL_PROXY, SETUP_TELL_PROXY2 };

enum setup_maildir {
	SETUP_MAILDIR_ONE,	 /* "to" is the maildir of all */
	SETUP_MAILDIR_RECIPIENT, /* in "to" there is one for each recipient */
};

/* Section "front", but for what is of edges and dialogues. */
struct setup_front {
	char hostname[MAILSETUP_HOSTNAME_MAX + 1]; /* the machine's name unless given */
	struct place places[LISTENERS_PLACES_MAX];
	unsigned place_count;
	struct owner edge_owner;	 /* "user" */
	struct owner worker_owner;	 /* "worker-user", else "user" */
	struct owner key_owner;		 /* "key-user", else "user" */
	char chroot[SETUP_PATH_MAX + 1]; /* "": none */
	unsigned workers;
	unsigned mails_per_worker;
	uint64_t queue_bytes;		  /* of sessions on their way, in the kernel's buffer */
	char metrics[SETUP_PATH_MAX + 1]; /* "": none */
	int log_level;
};

/* The same of section "limits". 0 is "no limit" or "none" but where something else is said. */
struct setup_limits {
	enum setup_newline bare_newline;
	struct networks normalized; /* clients whose lone LFs are taken as CR LF in any case */
	unsigned data_timeout_ms;   /* silence within a mail */
	unsigned data_rate;	    /* bytes of a mail in a second, at least; 0: any */
	/* In a worker. */
	unsigned give_way_ms;	    /* silence while other sessions wait for a worker */
	unsigned stress_data_rate;  /* then, in place of data_rate */
	unsigned worker_timeout_ms; /* all of it, but for a mail under way */
};

/* Section "trust". Neither is given with a sink "postfix", else one of them is. */
struct setup_trust {
	char users[SETUP_PATH_MAX + 1];
	struct place forward; /* text "": users are asked */
	unsigned forward_timeout_ms;
	unsigned forward_cache_ms;
};

/* Section "sink". */
struct setup_sink {
	enum setup_sink_kind kind;
	struct place to; /* for a maildir a directory; text "" for SETUP_SINK_NULL */
	enum setup_tell tell;
	unsigned connect_timeout_ms;	    /* for the connection, and for the greeting */
	unsigned timeout_ms;		    /* for each step of the next hop behind that, */
	unsigned end_timeout_ms;	    /* but for this: its reply to the end of a mail */
	unsigned lmtp_recipients_max;	    /* of a mail; 0: dialogue.recipients_max */
	char delivered[SETUP_PATH_MAX + 1]; /* a file of delivered.h; "": memory */
	enum setup_maildir maildir;
};

struct setup {
	/* Of sections "front" and "limits", as the items have it; the limits of a dialogue are never 0. */
	struct edge_rules edge;
	struct dialogue_limits dialogue;
	struct setup_front front;
	struct setup_limits limits;
	struct setup_trust trust;
	struct mailsetup_tls tls;
	struct setup_sink sink;
	struct scan_settings scan;
	bool has_zones;
	struct judge judge;
	struct handle handle;
};

extern const struct conf_table setup_table;

/*
 * For program.h: 0 with the setup, a struct setup; otherwise *reterr_error says why not.
 * setup_deinit() has to follow in either case. It must not be moved: the judge borrows the
 * handle's client.
 */
int setup_parse(const char *text, size_t text_size, void *ret_setup,
		struct conf_error *reterr_error);
void setup_deinit(void *setup);

/* Are lone LFs of that client taken as CR LF? */
bool setup_takes_lf(const struct setup *setup, const struct dnsblv6_ip *client_ip);

/* Of the PROXY header that its next hop is sent: 1, 2, or 0 for none. */
unsigned setup_proxy_version(const struct setup_sink *sink);

/* trust.forward and the sink are one mail server: the mail's RCPT is the question. */
bool setup_asks_sink(const struct setup *setup);

#ifdef __cplusplus
}
#endif
