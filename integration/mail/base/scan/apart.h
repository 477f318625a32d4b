/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * apart.h - the archives of one mail on their way to a decoder process, and what it says.
 *
 * Flow: scanner.c, of a mail: apart_init() -> lib/inspect: archives of UNPACK_APART ->
 *       apart_functions, which keep frames -> apart_turn(): the template is asked for a decoder
 *       process, frames go to it, findings come back into the inspection -> apart_finish() at the
 *       mail's end -> apart_is_done().
 *
 *     apart_init(&apart, kept, &options);
 *     rules.apart = &apart_functions, rules.apart_context = &apart;
 *     apart_turn(&apart, now_ms);
 *     if (apart_is_full(&apart)) ...                 // push nothing more
 *
 * Frames that the process has not taken yet are kept in memory that has pages only as far as it is
 * used. One piece of a mail can become many times as much: APART_KEPT holds what SCAN_STEP bytes can
 * become at deflate's best; more than that is a bomb.
 *
 * For one thread. The clock is given.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/mail/base/scan/scan_frame.h"
#include "integration/mail/base/scan/template.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a mail that are looked at at a time. */
#define SCAN_STEP  4096
#define APART_KEPT (6U << 20)
/* As much is kept before the mail waits. */
#define APART_FULL 65536

enum apart_state {
	APART_UNUSED,  /* no archive yet */
	APART_WAITING, /* for a decoder process */
	APART_RUNNING,
	APART_ENDED,	/* it has gone before its time: how is to be said yet */
	APART_FINISHED, /* it has said all */
	APART_FAILED,	/* it has not, which is a finding */
};

struct apart_options {
	int ask_fd;	    /* of template.h */
	unsigned wait_ms;   /* for a decoder process */
	unsigned answer_ms; /* for one that has something to do to go on */
};

struct apart {
	enum apart_state state;
	struct apart_options options;
	struct template_link link;     /* both -1: none */
	struct inspection *inspection; /* set by the caller */
	uint8_t *kept;		       /* APART_KEPT bytes, frames with their sizes */
	size_t kept_begin;
	size_t kept_end;
	size_t kept_most;  /* since its pages were given back */
	size_t last_at;	   /* of the last frame kept, for more of the same; SIZE_MAX: none */
	uint64_t since_ms; /* it began to wait, or the last step forward */
	uint64_t now_ms;
	bool is_finishing;
	bool is_finish_sent;
	bool is_lost; /* there is no template: a line of a log is due */
	unsigned told[INSPECT_CLASS_COUNT];
	unsigned told_count;
	char path[INSPECT_PATH_SIZE]; /* of the archive that came last */
	struct scan_frame frame;
};

extern const struct inspect_apart apart_functions;

/* kept has APART_KEPT bytes. */
void apart_init(struct apart *ret_apart, uint8_t *kept, const struct apart_options *options);
/* A process that is still there ends by itself. */
void apart_deinit(struct apart *apart);

/* Goes on: asks for a process, sends, receives. */
void apart_turn(struct apart *apart, uint64_t now_ms);
/* No more archives. */
void apart_finish(struct apart *apart, uint64_t now_ms);
bool apart_is_full(const struct apart *apart);
/* Behind apart_finish(): is there nothing more to come? */
bool apart_is_done(const struct apart *apart);
/* The descriptor to wait for, -1 without, and when to turn at the latest, UINT64_MAX for never. */
int apart_fd(const struct apart *apart, short *ret_events, uint64_t *ret_until_ms);

#ifdef __cplusplus
}
#endif
