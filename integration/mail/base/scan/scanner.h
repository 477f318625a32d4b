/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scanner.h - scans mails as they flow, with a process for what is dangerous and the peers that are asked besides.
 *
 * Flow: a process, before it is confined: scanner_open(), which makes the template of its decoder
 *       processes -> for each mail scan_begin(), scan_push() while it is forwarded, scan_end() at
 *       its end -> scan_verdict(), before the dot goes to the next hop.
 *
 *     scanner_open(&settings, "mail-proxy", &scanner);
 *     ...
 *     if (scan_begin(scanner, SCAN_MAIL, &envelope, &scan) == 0) {
 *             while (there are bytes) {
 *                     scan_push(scan, bytes, size);
 *                     if (scan_wait(scan) < 0) ...            // blocking code
 *             }
 *             scan_end(scan, true);
 *             scan_wait(scan);
 *             verdict = scan_verdict(scan);
 *             scan_free(scan);
 *     }
 *
 * A loop does not wait: while scan_is_busy() it pushes nothing more, and waits for what scan_poll()
 * names, beside its own descriptors, then calls scan_turn(). scan_push() always takes all; what a
 * decoder process or a peer has not taken yet is kept, so that pieces are to be SCAN_PIECE_MAX
 * bytes at most.
 *
 * A decoder process is forked from the template for one mail, when the mail has an archive that
 * wants one, and ends with it: what goes wrong in it is that mail's verdict and touches no other.
 *
 * For one thread of the process that opened it. What goes wrong is logged under its context.
 */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "integration/mail/base/scan/scan_settings.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCAN_POLL_MAX (1 + SCAN_PEER_COUNT)

struct scanner;
struct scan;

struct scan_verdict {
	enum scan_action action; /* the strictest that anything asked for */
	int code;		 /* 250, 451, 550 */
	/*
	 * For the reply, behind the code: "5.7.1 Eicar-Signature in part 2 / a.zip / eicar.com". Of
	 * SCAN_QUARANTINE for a program that refuses in its place, of SCAN_MARK for its log.
	 */
	char text[SCAN_TEXT_MAX];
	/* A header field with its CRLF when the action is SCAN_MARK or SCAN_QUARANTINE, else "". */
	char header[SCAN_TEXT_MAX];
	/* For one line of a log: "found=... path=... offset=..."; "clean". */
	char log[SCAN_TEXT_MAX];
	const struct inspect_result *result; /* of our own inspection */
	bool has_missed; /* the mail is accepted, though a peer has failed: log says which */
	/*
	 * In a piece of a mail: a signature, or what keeps it back and could not come of the cut alone,
	 * as damage and ambiguity do: a multipart without its end is ambiguous.
	 */
	bool has_found;
};

/*
 * Maps the signatures. ask_fd is that of template.h, borrowed, where a program has one template
 * for several processes; -1: it is forked here, so that this is called before other threads, before
 * the process is confined, and with no descriptor that the template is not to have. settings are
 * copied. An exit status; what is wrong is logged.
 */
int scanner_open(const struct scan_settings *settings, const char *context, int ask_fd,
		 struct scanner **ret_scanner);
/* Can the signatures be opened? An exit status; what is wrong is logged. */
int scanner_check(const struct scan_settings *settings, const char *context);
/*
 * The template of several processes, in one of its own: maps the signatures and serves ask_fd of
 * template.h. confine may be NULL, and is called when all that is outside has been opened. An exit
 * status.
 */
int scanner_run_template(const struct scan_settings *settings, const char *context, int ask_fd,
			 int (*confine)(void *context), void *confine_context);
/* Takes NULL. No scan is left. */
void scanner_close(struct scanner *scanner);
/* The template's, to be watched or named in a test; 0 of one that is shared. */
pid_t scanner_template(const struct scanner *scanner);
/* Signatures anew when their file is another: scans that have begun end with the old ones. */
void scanner_refresh(struct scanner *scanner);

/* 0, or -EAGAIN: as many are scanned as settings.mails. */
int scan_begin(struct scanner *scanner, enum inspect_kind kind,
	       const struct scan_envelope *envelope, struct scan **ret_scan);
void scan_push(struct scan *scan, const uint8_t *bytes, size_t size);
/* is_whole: the mail has come to its end, and a verdict is wanted. */
void scan_end(struct scan *scan, bool is_whole);

/* Is something on its way, so that nothing more is to be pushed, or the verdict is not there yet? */
bool scan_is_busy(const struct scan *scan);
/*
 * What to wait for: up to SCAN_POLL_MAX descriptors into ret_fds, their count, and how long at most
 * in *ret_timeout_ms (-1: for ever). They are the same until scan_turn() or scan_push() is called.
 */
size_t scan_poll(const struct scan *scan, struct pollfd *ret_fds, int *ret_timeout_ms);
/* Behind poll(): goes on with what is there; looks at the clock itself. */
void scan_turn(struct scan *scan);
/* poll() and scan_turn() until it is not busy. 0; -errno of poll(). */
int scan_wait(struct scan *scan);

/* Has a signature been found so far? For those that cannot wait for the end (POP3). */
bool scan_has_found(const struct scan *scan);
/* Behind scan_end() when it is not busy; borrowed until scan_free(). */
const struct scan_verdict *scan_verdict(const struct scan *scan);
/* At any time; what is open is closed. Takes NULL. */
void scan_free(struct scan *scan);

#ifdef __cplusplus
}
#endif
