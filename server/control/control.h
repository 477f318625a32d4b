/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * control.h - the UNIX socket at which the operator asks and orders.
 *
 * Flow: main.c opens it while it may still change owners -> parent.c polls it
 *       -> one line of request.h -> parent.c is called back and answers.
 *
 *     reading --line--> called back --answered--> writing --> closed
 *        |                   |                       |
 *        |                waiting (reload)        held (stop): open to the end
 *        +--- 5 s ---> closed   +--- 60 s ---> error   +--- 10 s ---> closed
 *
 * No client can hold up the parent: every descriptor is non-blocking, a
 * request is REQUEST_MAX bytes, an answer REQUEST_ANSWER_MAX, and each step has
 * a time. One client more than CONTROL_CLIENTS_MAX, and the one that has been
 * at its step longest is closed, so that the operator gets in. The mode of
 * the socket says which users may write to it; nothing else is asked for.
 *
 * A handle with memory of its own.
 */

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/control/request.h"
#include "server/settings/settings.h"

#define CONTROL_CLIENTS_MAX 16
#define CONTROL_POLLS_MAX   (CONTROL_CLIENTS_MAX + 1)
#define CONTROL_READ_MS	    5000
#define CONTROL_WRITE_MS    10000
#define CONTROL_WAIT_MS	    60000

struct control;
struct control_client;

/*
 * Listens at settings->control_path. A socket that stands there and that no
 * process listens at is replaced; any other file stays. 0 or -errno, -EADDRINUSE
 * when a process listens; -EEXIST when it is another file.
 */
int control_open(const struct settings *settings, struct control **ret_control);
/* Removes the socket and closes every client. Takes NULL. */
void control_close(struct control *control);
/* In a child, which must not keep the operator waiting for its end. Takes NULL. */
void control_forget(const struct control *control);

/* What to poll for: at most CONTROL_POLLS_MAX. Takes NULL; then there is nothing. */
size_t control_fill(const struct control *control, struct pollfd *ret_polls);
/* When control_take() is wanted without an event; UINT64_MAX for never. Takes NULL. */
uint64_t control_deadline_ms(const struct control *control);

/*
 * The request of a client, to be answered by one of the functions below, at
 * once or, after control_wait(), later.
 */
typedef void (*control_on_request)(struct control *control, struct control_client *client,
				   const struct request *request, void *context);

/*
 * After poll(): polls is what control_fill() has made, and count what it said.
 * Takes NULL.
 */
void control_take(struct control *control, const struct pollfd *polls, size_t count,
		  uint64_t now_ms, control_on_request on_request, void *context);

/* text is handed over; NULL is for no memory, and answered with an error. */
void control_answer(struct control_client *client, char *text, size_t text_size, uint64_t now_ms);
/* The same without text, and the connection stays open until control_close(). */
void control_hold(struct control_client *client, uint64_t now_ms);
/* reason is one line, copied. */
void control_refuse(struct control_client *client, const char *reason, uint64_t now_ms);

/* Until one of the next two is called with this ticket or a greater one. */
void control_wait(struct control_client *client, uint64_t ticket, uint64_t now_ms);
/*
 * All clients that wait for ticket or a lesser one: they wait until some time after until_ms, are refused
 * for reason, or answered by a copy of text.
 */
void control_prolong_waiting(struct control *control, uint64_t ticket, uint64_t until_ms);
void control_refuse_waiting(struct control *control, uint64_t ticket, const char *reason,
			    uint64_t now_ms);
void control_answer_waiting(struct control *control, uint64_t ticket, const char *text,
			    uint64_t now_ms);
