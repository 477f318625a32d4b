/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * behaviour.h - a finite state machine: what a client of IMAP does next, and when.
 *
 * Flow: behaviour_begin() with a session's stream -> behaviour_next() -> imaptalk.h does the
 *       command, and says what the mailbox is like now -> behaviour_next() ... until BEHAVIOUR_END.
 *
 * Four kinds of client (workload.h) go through five sequences of commands; behind each, the next
 * one or the end is drawn with the workload's probabilities:
 *
 *     begin   LOGIN, LIST, SELECT INBOX, FETCH_FLAGS of all mails, STATUS of some folders
 *     look    FETCH_FLAGS of all mails, STATUS of some folders; without headers of its own a page
 *             more of FETCH_HEADERS
 *     read    FETCH_STRUCTURE, FETCH_BODY, STORE \Seen; some are answered (STORE), deleted (STORE,
 *             EXPUNGE) or moved (COPY, STORE, EXPUNGE)
 *     tidy    SELECT of another folder, SEARCH, STORE \Deleted of what is too much in it, EXPUNGE,
 *             SELECT INBOX
 *     write   APPEND to Sent
 *
 * Not each has all of its commands. FETCH_HEADERS comes wherever the selected folder has mails that
 * the client does not know: of these alone, or of a page. Before each sequence but the first its
 * user thinks; a client that stays does so in IDLE, and goes on thinking when news have interrupted
 * it. Mails are sent by the driver, at their own rate, whatever sessions do: "write" is what IMAP
 * has of it.
 *
 * A mailbox stays as large as it was: "tidy" deletes what view->keep does not count. Only mails
 * whose headers the session has had are read, moved or deleted, so that a delivery is seen before
 * it is gone.
 *
 * Pure: no clock, no I/O. One struct is below 128 bytes.
 */

#include "bench/users-load/boxplan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum behaviour_command {
	/* A timed transaction of IMAP has the number of enum transaction; the rest follow. */
	BEHAVIOUR_IDLE = TRANSACTIONS, /* for idle_s, or until the server says EXISTS */
	BEHAVIOUR_LOGOUT,	       /* the last one */
	BEHAVIOUR_END,		       /* nothing to do: close */
};

enum behaviour_flag {
	BEHAVIOUR_SEEN = 1,
	BEHAVIOUR_DELETED = 2,
	BEHAVIOUR_ANSWERED = 4,
};

/* What to do; the rest follows from the command. */
struct behaviour_step {
	unsigned command; /* enum transaction or behaviour_command */
	double think_s;	  /* before it */
	double idle_s;	  /* of BEHAVIOUR_IDLE */
	unsigned folder;  /* of boxplan.h: SELECT, STATUS, COPY's target, APPEND's */
	/* FETCH, STORE, COPY: sequence numbers of the selected folder, from 1; they become UIDs. */
	uint32_t first;
	uint32_t last;
	uint8_t client; /* enum workload_kind: FETCH lists differ */
	uint8_t flags;	/* of STORE: enum behaviour_flag, to be added */
};

/* What the client knows of the folder that is selected. */
struct behaviour_view {
	uint32_t exists;
	/*
	 * Mails whose headers it has, from the first on, those of earlier sessions of the user
	 * included: after SELECT of a client that keeps headers, all but those that came since. 0
	 * after SELECT of one that keeps none. When FETCH_HEADERS has ended it is its last at
	 * least, whatever the server has said; EXPUNGE of one of them makes it one less.
	 */
	uint32_t known;
	uint32_t deleted; /* with \Deleted */
	uint32_t keep;	  /* how many the folder has in the long run: boxplan.h */
	unsigned folder_count;
	bool has_selected;
	bool failed; /* the last command ended with NO: the session ends */
};

struct behaviour {
	struct dice dice;
	uint8_t client;	   /* enum workload_kind */
	uint8_t sequence;  /* enum workload_sequence, or WORKLOAD_END */
	uint8_t step;	   /* of the sequence: behaviour.c */
	uint8_t phase;	   /* whether its user thinks: behaviour.c */
	uint8_t fate;	   /* what becomes of the mail that is read */
	uint8_t last;	   /* command */
	bool is_elsewhere; /* another folder than INBOX is selected */
	uint16_t statuses; /* STATUS that are still to come */
	uint16_t commands; /* so far */
	uint32_t
		shown; /* of a client that keeps no headers: the first mail of its pages; 0: none */
	uint32_t mail; /* that is read */
};

/* dice is copied: DICE_SESSION with a number that no other session has. */
void behaviour_begin(struct behaviour *ret_behaviour, enum workload_kind client,
		     const struct dice *dice);
void behaviour_next(struct behaviour *behaviour, const struct workload *workload,
		    const struct behaviour_view *view, struct behaviour_step *ret_step);

#ifdef __cplusplus
}
#endif
