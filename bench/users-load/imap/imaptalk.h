/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * imaptalk.h - one connection of an IMAP4rev1 client (RFC 3501), without its socket.
 *
 * Flow: behaviour.h says what to do -> imaptalk_start() -> imaptalk_output() gives bytes to send,
 *       imaptalk_input() takes what the server said (imapreader.h), and holds it against the view
 *       (imapview.h) -> IMAPTALK_DONE, with how it ended -> the next one.
 *
 *     imaptalk_init(&talk, &rules, context);       // the greeting is waited for
 *     until IMAPTALK_GREETED, and then for each step of behaviour.h:
 *     imaptalk_start(&talk, &step, name, mail);    // 0, or negative: nothing is to be sent
 *     until IMAPTALK_DONE:
 *             size = imaptalk_output(&talk, buffer, room); // 0: wait for the server
 *             imaptalk_sent(&talk, what the socket took of size);
 *             event = imaptalk_input(&talk, bytes, size, &taken); // until all are taken
 *     imaptalk_deinit(&talk);
 *
 * Of what is sent only the offset is kept: the bytes are made again when a socket did not take all of
 * them, those of a mail by mailplan_copy(). Bytes of literals are not kept. A talk is below 1 KiB,
 * and has one array beside it, 8 bytes for each mail of the selected folder.
 *
 * What no server may say (enum imaptalk_fault) is told by calls->fault(). When nothing that is said later
 * can be understood or trusted, it is IMAPTALK_BROKEN too; the connection is to be closed then.
 * A stall is the caller's to see, as it has the clock.
 *
 * Nothing here logs or reads a clock. rules, calls and context are borrowed until imaptalk_deinit().
 */

#include "bench/users-load/behaviour.h"
#include "bench/users-load/mailplan.h"
#include "bench/users-load/imap/imapreader.h"
#include "bench/users-load/imap/imapview.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IMAPTALK_NAME_MAX 256 /* of a user's or a folder's name, with a NUL */

/* What a step's command may be beside those of behaviour.h: of a driver that fills, verifies or checks. */
enum imaptalk_command {
	IMAPTALK_CAPABILITY = 64,
	IMAPTALK_NOOP,
	IMAPTALK_STARTTLS, /* behind IMAPTALK_OK the next bytes are TLS: imaptalk_secured() when it is there */
	IMAPTALK_CREATE,
	IMAPTALK_DELETE,
	IMAPTALK_MOVE,	  /* -EOPNOTSUPP when the server has no MOVE */
	IMAPTALK_EXAMINE, /* as SELECT, but nothing can be changed */
	IMAPTALK_CLOSE,	  /* what is \Deleted goes without being told */
};

enum imaptalk_event {
	IMAPTALK_GOES_ON, /* all bytes are taken, or there is something to be sent first */
	IMAPTALK_GREETED,
	IMAPTALK_DONE,	 /* the command has ended: imaptalk_result() */
	IMAPTALK_NEWS,	 /* in IDLE: EXISTS has grown */
	IMAPTALK_BYE,	 /* the server leaves, unasked */
	IMAPTALK_BROKEN, /* by imaptalk_fault() */
};

enum imaptalk_result {
	IMAPTALK_OK,
	IMAPTALK_NO,
	IMAPTALK_BAD,
};

/* What a server may not say. Up to IMAPTALK_FAULT_MILD the connection goes on. */
#define IMAPTALK_FAULT_MAP(X)                                                                      \
	X(NONE, "nothing")                                                                         \
	X(FLAG_LOST, "a flag that was stored is gone")                                             \
	X(SIZE_DIFFERS, "RFC822.SIZE is not the size of BODY[]")                                   \
	X(SEARCH_STRANGE, "SEARCH has found a UID that is not in the folder")                      \
	X(SELECT_PARTIAL, "SELECT without EXISTS, FLAGS or UIDVALIDITY")                           \
	X(FETCH_WITHOUT_UID, "a reply to UID FETCH or UID STORE without a UID")                    \
	X(MILD, "")                                                                                \
	X(NOT_IMAP, "not IMAP")                                                                    \
	X(TOO_LONG, "a line, a word or a literal that is too long")                                \
	X(GREETING, "a greeting that is none")                                                     \
	X(TAG, "a reply to a command that was not sent")                                           \
	X(EARLY, "a reply to a command that was not yet sent whole")                               \
	X(CONTINUE, "a continuation that was not asked for")                                       \
	X(BAD_STATE, "mails of a folder when none is selected")                                    \
	X(EXISTS_FELL, "EXISTS fell without EXPUNGE")                                              \
	X(EXISTS_TOO_MANY, "EXISTS is more than this client holds")                                \
	X(EXPUNGE_RANGE, "EXPUNGE of a mail that is not there")                                    \
	X(EXPUNGE_TIME, "EXPUNGE when sequence numbers may not change")                            \
	X(FETCH_RANGE, "FETCH of a mail that is not there")                                        \
	X(UID_CHANGED, "a mail has another UID than before")                                       \
	X(UID_ORDER, "UIDs do not ascend")                                                         \
	X(UID_REUSED, "a new mail's UID is below the UIDNEXT that was told")                       \
	X(UIDVALIDITY, "UIDVALIDITY has changed")                                                  \
	X(MEMORY, "no memory for the view")

enum imaptalk_fault {
#define X(name, text) IMAPTALK_FAULT_##name,
	IMAPTALK_FAULT_MAP(X)
#undef X
		IMAPTALK_FAULTS,
};

/* Never NULL; static text. */
const char *imaptalk_fault_text(enum imaptalk_fault fault);

/* A mail of which the server has told something, behind its FETCH. */
struct imaptalk_mail {
	uint32_t sequence, uid; /* uid: 0 as long as it is unknown */
	uint8_t flags;		/* enum imapreader_flag */
	bool has_header, has_id;
	int64_t internal_s;		 /* INTERNALDATE since 1970; 0: not told */
	uint64_t size_bytes, body_bytes; /* RFC822.SIZE and BODY[]; 0: not told */
	uint64_t run, number;		 /* of its Message-ID, with has_id: mailplan_find_id() */
};

/* Each may be NULL. */
struct imaptalk_calls {
	void (*mail)(void *context, const struct imaptalk_mail *mail);
	/* Of LIST: levels parted by "/". */
	void (*folder)(void *context, const char *name, bool can_select);
	void (*fault)(void *context, enum imaptalk_fault fault);
};

/* The same for all connections. */
struct imaptalk_rules {
	const struct imaptalk_calls *calls;
	const char *password;
	/* Before the name of each folder but INBOX, such as "INBOX/"; NULL: nothing. */
	const char *prefix;
	uint64_t literal_max; /* bytes of a literal of the server; 0: IMAPREADER_LITERAL_MAX */
	bool has_no_literal_plus, has_no_idle; /* not used even if the server has them */
};

/* What STATUS has told last. */
struct imaptalk_status {
	uint32_t messages, unseen, uid_next, uid_validity;
};

/* What is kept of folders that were selected before. */
#define IMAPTALK_VALIDITIES 4

struct imaptalk {
	const struct imaptalk_rules *rules;
	void *context;
	struct imapreader reader;
	struct imapview view;
	struct imaptalk_status status;

	/* imaptalk.c's own. */
	const struct mailplan *mail; /* of APPEND */
	char name[IMAPTALK_NAME_MAX];
	uint32_t tag;
	uint32_t first, last;	      /* UIDs, or sequence numbers, of the command */
	uint32_t last_sequence;	      /* of the command, as EXPUNGE has moved it */
	uint32_t capabilities;	      /* enum imapreader_can */
	uint32_t found;		      /* by SEARCH */
	size_t part_size, sent_bytes; /* of what is sent now */
	uint8_t command, client, flags;
	uint8_t part, part_count, phase, result, fault;
	char delimiter; /* of levels of folders; '/' before LIST has told it */
	bool is_by_sequence, has_capabilities, is_authenticated, is_leaving;
	bool is_selected, has_flags, has_exists, has_validity; /* SELECT has told */
	bool is_woken, has_failed;
	unsigned folder, selected, folder_count, validity_next;
	struct {
		uint32_t folder, uid_validity; /* 0: none */
	} validities[IMAPTALK_VALIDITIES];
};

void imaptalk_init(struct imaptalk *ret_talk, const struct imaptalk_rules *rules, void *context);
void imaptalk_deinit(struct imaptalk *talk);

/*
 * Begins a command. name, copied, is a user's for LOGIN, and a folder's, levels parted by "/", for those that
 * have one (LIST has none; NULL then); step->folder only marks it. mail, of APPEND alone, is borrowed until the
 * command has ended. first and last of the step are sequence numbers, and are cut to what is there.
 *
 * LOGIN asks for the capabilities behind it if the server did not tell them. EXPUNGE is of all
 * mails with \Deleted, or, with first and UIDPLUS, of these. IDLE goes on until imaptalk_wake(); of a server without
 * IDLE it sends nothing till then, and NOOP then.
 *
 * -EBUSY: another goes on. -ENOENT: no such mails, or no folder is selected. -EINVAL: no such command, or a name
 * that is too long. -EOPNOTSUPP: the server cannot. -EPIPE: the connection is broken.
 */
int imaptalk_start(struct imaptalk *talk, const struct behaviour_step *step, const char *name,
		   const struct mailplan *mail);
/* Ends IDLE: there is output then, and IMAPTALK_DONE later. Nothing when no IDLE goes on. */
void imaptalk_wake(struct imaptalk *talk);
/* TLS is there: what the server said before it is forgotten. */
void imaptalk_secured(struct imaptalk *talk);

/* What is to be sent now, room bytes or less, from where imaptalk_sent() has come to; 0: nothing. */
size_t imaptalk_output(struct imaptalk *talk, char *ret_bytes, size_t room);
/* The socket has them, or the caller has: at once, not when they have left. */
void imaptalk_sent(struct imaptalk *talk, size_t size_bytes);

/*
 * Bytes of the server, up to what makes an event; *ret_taken says how many. Behind IMAPTALK_BYE and
 * IMAPTALK_BROKEN there is nothing but the same again.
 */
enum imaptalk_event imaptalk_input(struct imaptalk *talk, const char *bytes, size_t size,
				   size_t *ret_taken);

/* Of the command that has ended. */
enum imaptalk_result imaptalk_result(const struct imaptalk *talk);
/* Why it is IMAPTALK_BROKEN. */
enum imaptalk_fault imaptalk_fault(const struct imaptalk *talk);
/* Behind the end of the connection: is it the one that LOGOUT asked for? */
bool imaptalk_has_left(const struct imaptalk *talk);
/* What a server said with OK, NO or BAD at last; "" if nothing. Cut; until the next input. */
const char *imaptalk_text(const struct imaptalk *talk);

/*
 * For behaviour_next(), keep aside. Mails of a FETCH_HEADERS that ended with OK are known, whatever it has told.
 */
void imaptalk_look(const struct imaptalk *talk, struct behaviour_view *ret_view);
/* The client has headers of the first count mails from sessions before: they count as known. */
void imaptalk_know(struct imaptalk *talk, uint32_t count);

#ifdef __cplusplus
}
#endif
