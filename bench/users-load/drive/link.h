/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * link.h - a connection of the load to a server: its socket, its one timer, and TLS if asked for.
 *
 * Flow: imaprun.c, smtprun.c -> link_open() -> the loop -> what the handler says is to be sent, and gets what has come.
 *
 *     link_open(&link, &links, &address, &handler, session);
 *     link_expect(&link);      // an answer, or some progress, within the limit, or lost()
 *     link_flush(&link);       // sends what the handler's output() has
 *     link_sleep(&link, 2500); // the handler's woken() after so many ms; an answer has no limit then
 *     link_secure(&link);      // behind STARTTLS: the handler's secured() comes later
 *     link_close(&link);       // the handler's ended() comes later, and is the last
 *
 * Bytes to be sent are not kept: output() makes them again when a socket did not take all. So a link has one
 * size in whatever state it is; buffers are those of struct links, one for all.
 *
 * With TLS links_tls.h reads and writes, and nothing else differs.
 *
 * Lies in the memory of its owner, and is freed by it in ended(), or later. After lost(), which is called once at most, and
 * after link_close() no callback but ended() comes. lost() closes nothing: its handler calls link_close(). Callbacks
 * are never called within link_open(), but may be within link_flush(). Nothing here logs.
 */

#include "bench/users-load/drive/links_tls.h"

#include <sys/socket.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LINK_BUFFER_SIZE (64u << 10)

enum link_loss {
	LINK_LOST_CONNECT, /* there was no connection */
	LINK_LOST_TIMEOUT,
	LINK_LOST_CLOSED, /* the server has hung up */
	LINK_LOST_TLS,	  /* no TLS, or what is none */
};

enum link_security {
	LINK_PLAIN,
	LINK_STARTTLS, /* the handler calls link_secure() */
	LINK_TLS,      /* from the first byte on */
};

struct link_handler {
	/* Fills ret_bytes, of LINK_BUFFER_SIZE, with what is to be sent now. 0: nothing. */
	size_t (*output)(void *owner, char *ret_bytes);
	void (*sent)(void *owner, size_t size);
	void (*input)(void *owner, const char *bytes, size_t size);
	void (*woken)(void *owner);
	void (*secured)(void *owner);
	void (*lost)(void *owner, enum link_loss loss);
	void (*ended)(void *owner);
};

/* What all connections share. */
struct links {
	uv_loop_t *loop;
	uint64_t timeout_ms; /* for a connection, and for any progress */
	enum link_security security;
	struct links_tls_context *tls; /* NULL with LINK_PLAIN */
	unsigned open_count;
	char output[LINK_BUFFER_SIZE];
	char input[LINK_BUFFER_SIZE];
};

struct link {
	uv_poll_t poll;
	uv_timer_t timer;
	struct links *links;
	const struct link_handler *handler;
	void *owner;
	struct links_tls *tls;
	uint64_t progress_ms; /* when something was read or sent last */
	int fd;
	int events;
	uint8_t state;
	uint8_t open_handles;
	bool is_sleeping;
	bool is_mute; /* nothing can be sent any more; what the server said is still to be read */
};

/* 0, or -errno: then it is not open, and nothing is called. The limit for a connection runs. */
int link_open(struct link *ret_link, struct links *links, const struct sockaddr_storage *address,
	      const struct link_handler *handler, void *owner);
/* Closes once; takes one that is closed. */
void link_close(struct link *link);

/* Not within link_flush(): the handshake begins with the next event. */
void link_secure(struct link *link);
void link_flush(struct link *link);
void link_expect(struct link *link);
void link_sleep(struct link *link, uint64_t sleep_ms);

#ifdef __cplusplus
}
#endif
