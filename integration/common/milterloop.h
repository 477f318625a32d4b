/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * milterloop.h - the life of a milter: its socket, libmilter's threads, and a loop for all else.
 *
 * Flow: a program, while it may be root: milterloop_open() with its callbacks -> as the user that it
 *       becomes: milterloop_run(), which starts libmilter in threads of its own and runs the loop: upkeep.h,
 *       and at SIGTERM some seconds for sessions that are open.
 *
 *     status = milterloop_open(&filter, &setup->place, &setup->owner);
 *     ...
 *     static const struct milterloop milter = { .context = "dnsblv6-milter", ... };
 *     _exit(milterloop_run(&milter));     // libmilter's threads may go on behind it
 *
 * libmilter takes signals for its own end; here they are the loop's. It has one filter in a process,
 * and writes to syslog what it has to say.
 */

#include <stdint.h>
#include <uv.h>

#include "integration/common/milterplace.h"
#include "integration/common/owner.h"
#include "lib/common/counts.h"

struct dnsblv6;
struct smfiDesc;
struct smfi_str;

/*
 * Registers what libmilter calls, binds the socket and gives it to owner. All is borrowed for the
 * call, but for what is in filter. An exit status; what is wrong is logged, also that another
 * daemon answers at its path.
 */
int milterloop_open(const struct smfiDesc *filter, const struct milterplace *place,
		    const struct owner *owner);

/*
 * For a callback of ctx, a "451" or "550" with an enhanced code, or NULL, and a text of
 * MILTERLOOP_TEXT_MAX bytes at most. When libmilter refuses it the mail server has a text of its own.
 */
#define MILTERLOOP_TEXT_MAX 400
void milterloop_reply(struct smfi_str *ctx, const char *code, const char *enhanced,
		      const char *text);

/*
 * For a callback of xxfi_negotiate: which of the SMFIF_ actions that are wanted the mail server offers. Those that
 * would change a mail and are missing are named in a warning.
 */
unsigned long milterloop_permit(const char *context, unsigned long wanted, unsigned long offered);

#define MILTERLOOP_COUNTERS_MAX 32

/* Of a program. All borrowed until milterloop_run() returns, and called by the loop alone. */
struct milterloop {
	const char *context; /* in the log, and the program's name in metrics */
	const struct milterplace *place;
	const char *metrics;  /* path of their file; "": none */
	const uint32_t *open; /* sessions that are; read atomically, as counters are */
	const struct counts_label *labels;
	const uint64_t *counters;
	size_t counter_count;	/* MILTERLOOP_COUNTERS_MAX at most */
	struct dnsblv6 *client; /* NULL: nothing about the library */
	void *data;		/* for the functions */
	/* SIGHUP; the service manager is told before and behind it. */
	void (*reload)(void *data);
	/* Handles of its own, in the loop. 0, or a status of libuv. May be NULL. */
	int (*open_handles)(void *data, uv_loop_t *loop);
	/* Everything is there, and the loop is about to run. */
	void (*ready)(void *data);
};

/*
 * Until SIGTERM or SIGINT, or until libmilter gives up. The socket is removed from the file system,
 * where it has a path. Once in a process. An exit status; what is wrong is logged.
 */
int milterloop_run(const struct milterloop *milter);
