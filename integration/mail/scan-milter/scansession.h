/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scansession.h - one SMTP session as the milter sees it: its client, and the mail that is scanned.
 *
 * Flow: scanmilter.c, a callback of libmilter -> scansession_...() -> scanwork.h -> at the mail's
 *       end a verdict, which scanmilter.c says in libmilter's words.
 *
 * The mail is put together again as it came: fields with CR LF and their blanks, an empty line, the
 * body. It is scanned while the mail server has more of it to say, a piece at a time.
 *
 * The order of calls is the mail server's business; none of them trusts it. A session belongs to one
 * thread at a time; what sessions share may be used by all of them at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "integration/mail/scan-milter/scancounts.h"
#include "integration/mail/scan-milter/scanwork.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCANSESSION_ID_MAX     8 /* hexadecimal digits */
#define SCANSESSION_CLIENT_MAX 46
#define SCANSESSION_QUEUE_MAX  64
#define SCANSESSION_NAMES_MAX                                                                      \
	16384 /* bytes of HELO, the sender and recipients; more are left out */
#define SCANSESSION_RCPT_MAX 1000
#define SCANSESSION_PIECE    16384

enum scansession_step {
	SCANSESSION_GO_ON,
	SCANSESSION_BUSY,  /* put it off: the scanner has no room */
	SCANSESSION_LEAVE, /* let it through unscanned, as the settings say */
};

/* What sessions share. Lies in the memory of its owner. */
struct scansession_shared {
	struct scanwork work;
	const struct scan_settings *settings; /* borrowed */
	uint64_t counts[SCANCOUNTS_COUNT];
	uint32_t last_id;
	uint32_t open;
	bool has_blanks; /* of the connection that was opened last */
};

struct scansession {
	struct scansession_shared *all;
	char id[SCANSESSION_ID_MAX + 1];     /* in each line of the log */
	char client[SCANSESSION_CLIENT_MAX]; /* "" without an IP address */
	char helo[256];
	bool has_blanks; /* fields are told with the blank behind the colon, and added so */
	/* Of the mail: */
	char queue[SCANSESSION_QUEUE_MAX]; /* the mail server's name of it, "" */
	const char *sender;		   /* in names, or NULL */
	const char *recipients[SCANSESSION_RCPT_MAX];
	size_t recipient_count;
	size_t names_size;
	char names[SCANSESSION_NAMES_MAX];
	enum scansession_step step; /* of scansession_begin() */
	bool has_begun;
	bool has_verdict;
	struct scan *scan; /* NULL: none is on its way */
	size_t size;
	uint8_t bytes[SCANSESSION_PIECE]; /* not yet pushed */
};

int scansession_shared_init(struct scansession_shared *ret_all, struct scanner *scanner,
			    const struct scan_settings *settings);

/* NULL without memory. */
struct scansession *scansession_new(struct scansession_shared *all);
/*
 * What the mail server said when it connected. A session that follows another one on its connection
 * is not told, and begins with what was said last, by any mail server.
 */
void scansession_set_blanks(struct scansession *session, bool has_blanks);
/* Takes NULL. */
void scansession_free(struct scansession *session);

/* address is NULL, or of any family. One connection may bring one client after another. */
void scansession_connect(struct scansession *session, const struct sockaddr *address);
void scansession_helo(struct scansession *session, const char *name);
/* Addresses as in the commands, with or without <>. */
void scansession_mail(struct scansession *session, const char *sender);
void scansession_rcpt(struct scansession *session, const char *recipient);
/* The mail begins, once; queue may be NULL. Behind it the same is said again. */
enum scansession_step scansession_begin(struct scansession *session, const char *queue);
/* value with the blank before it if has_blanks, its lines separated by LF. */
void scansession_field(struct scansession *session, const char *name, const char *value);
void scansession_end_fields(struct scansession *session);
void scansession_body(struct scansession *session, const uint8_t *bytes, size_t size);
/* Logs and counts the verdict, which is borrowed until the next call. NULL: it was not scanned. */
const struct scan_verdict *scansession_end(struct scansession *session);
/* Behind the end, or before it: the mail is forgotten. */
void scansession_forget(struct scansession *session);

#ifdef __cplusplus
}
#endif
