/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * template.h - a process that is forked whenever a mail wants a decoder process, and has all that
 *              one needs.
 *
 * Flow: a program, before it is confined: template_pair(), fork() -> template_run() in the new
 *       process, with the database read and memory taken -> a scanner: template_ask() with a
 *       socket that it has made -> the template forks: start->decode() with the other end, to its
 *       end -> template_status(), how it has ended.
 *
 *     template_pair(ends);
 *     if (fork() == 0)
 *             exit(template_run(&start));             // start.ask_fd = ends[TEMPLATE_OWN]
 *     ...
 *     if (template_ask(ends[TEMPLATE_ASK], &link) == 0)
 *             ...                                     // link.fd speaks to a decoder
 *
 * A process of its own for each mail costs a fork() of what is there already, and what one mail
 * has broken no other mail sees. All scanners of a program may ask the same template: packets do
 * not mix. It has at most start->decoders_max processes at a time, and leaves further packets in
 * the socket, so that a scanner waits for link.fd to be readable.
 *
 * The template ends when nothing is left that could ask it, or at SIGTERM unless it is lasting; its
 * processes end with it. One that is gone is -EPIPE to those that ask.
 */

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TEMPLATE_ASK, TEMPLATE_OWN, TEMPLATE_ENDS };

/* Two ends, close-on-exec; the first does not wait. 0 or -errno. */
int template_pair(int ret_ends[TEMPLATE_ENDS]);

/* All borrowed. */
struct template_start {
	int ask_fd; /* TEMPLATE_OWN; the other end is closed in this process */
	unsigned decoders_max;
	const char *context; /* in the log */
	/* In the process that was forked for a mail, with its end of the socket: it returns to end. */
	void (*decode)(void *decode_context, int fd);
	void (*prepare)(void *decode_context); /* in the template, before each; NULL */
	void *decode_context;
	/* SIGTERM, which a service's processes all get, does not end it while there is one to ask. */
	bool is_lasting;
};

/* In a process of its own, with one thread. An exit status; what goes wrong is logged. */
int template_run(const struct template_start *start);

/* ---- those that ask ---- */

struct template_link {
	int fd;	       /* packets (SOCK_SEQPACKET) to the decoder; it does not wait */
	int status_fd; /* for template_status() */
};

/* 0; -EAGAIN: too many have asked; -EPIPE: there is no template; another -errno. */
int template_ask(int ask_fd, struct template_link *ret_link);
/*
 * How a process has ended, when link->fd is at its end: as of waitpid(), or -1 when that is not
 * known, as the template has ended, too. Waits as long as the template takes to say so.
 */
int template_status(const struct template_link *link);
/* Takes one of which both are -1, and leaves such a one. */
void template_link_close(struct template_link *link);

#ifdef __cplusplus
}
#endif
