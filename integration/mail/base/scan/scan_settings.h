/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scan_settings.h - how mails are scanned: the section "scan" of a configuration.
 *
 * Flow: a program's table, with scan_items in the section "scan" -> lib/common/conf.c ->
 *       scan_settings_finish() -> scanner.h.
 *
 *     static const struct conf_section sections[] = {
 *             ...
 *             { "scan", CONF_ITEMS(scan_items), .offset = offsetof(struct setup, scan) },
 *     };
 *
 *     scan:
 *       signatures: /var/lib/mail-scan/mail.signatures   mail-scan compile has made it
 *       clamd: /run/clamav/clamd.ctl                     or ADDRESS@PORT; besides
 *       rspamd: 127.0.0.1@11333
 *       milter: /run/other.sock
 *       on-found: reject                                 accept, mark, quarantine, defer, reject
 *       on-bomb: reject
 *       on-encrypted: accept
 *       on-suspicious: mark
 *       on-ambiguous: mark
 *       on-busy: defer                                   a pool was empty
 *       on-unavailable: defer                            or accept: without the one that is not there
 *       quarantine: virus@example.org                    where mails of "quarantine" go
 *       header: off                                      on: a field in mails of "mark" and "quarantine"
 *       mails: 100
 *       decoders: 16
 *       peer-timeout: 30s
 *       decoder-timeout: 10s
 *       decoder-cpu: 5s
 *       limit-total: 256M                                what may come out of one mail
 *       limit-ratio: 200                                 of it to what went in, for one object...
 *       limit-ratio-from: 1M                             ...that is larger
 *       limit-members: 10000
 *       limit-spool: 32M
 *
 * How deep objects are opened is fixed: INSPECT_DEPTH. A section with none of the first four items
 * is refused, and without the section nothing is scanned. Errors are conf.h's.
 *
 * A plain value without pointers; texts are its own.
 */

#include <stdbool.h>

#include "integration/mail/base/scan_words.h"
#include "lib/common/conf.h"
#include "lib/inspect/inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCAN_PATH_MAX	  512
#define SCAN_MAILBOX_SIZE 255 /* RFC 5321 4.5.3.1.3, without <>, with a NUL */

struct scan_settings {
	bool is_on;				    /* there is a section */
	char signatures[SCAN_PATH_MAX];		    /* "" without */
	char peers[SCAN_PEER_COUNT][SCAN_PATH_MAX]; /* socket's path, or ADDRESS@PORT; "" */
	enum scan_action actions[INSPECT_CLASS_COUNT];
	enum scan_action on_unavailable;
	char quarantine[SCAN_MAILBOX_SIZE]; /* address of a mailbox, without <>; "" */
	bool has_header; /* SCAN_MARK and SCAN_QUARANTINE add their field: the mail is kept for it */
	unsigned mails;	 /* scanned at a time, in a process */
	unsigned decoders;	  /* decoder processes at a time, of a template */
	unsigned peer_timeout_ms; /* until a peer has its verdict, behind the mail's end */
	unsigned cpu_ms;	  /* of one decoder process */
	unsigned decoder_wait_ms; /* for a decoder process to be free */
	struct unpack_budget budget;
};

/* For programs without a configuration: as an empty section has them, and is_on. */
void scan_settings_init(struct scan_settings *ret_settings);

#define SCAN_ITEMS 23
/* The section "scan" of every program, of a struct scan_settings that is zero before. */
extern const struct conf_item scan_items[SCAN_ITEMS];

/*
 * After conf_parse(): do the values go together? needs_mailbox: mails of "quarantine" go to the
 * address of that name, so that there has to be one. 0, or -EINVAL with *reterr_error.
 */
int scan_settings_finish(const struct scan_settings *settings, bool needs_mailbox,
			 struct conf_error *reterr_error);

/* Is any mail put into quarantine? */
bool scan_settings_has_quarantine(const struct scan_settings *settings);
/* "mark" and the like. */
const char *scan_action_name(enum scan_action action);

#ifdef __cplusplus
}
#endif
