/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * workload.h - the parameters of what users of a mail server do, out of a file.
 *
 * Flow: bench/enterprise.workload -> workload_read() -> mailplan, boxplan, behaviour, the driver.
 *
 *     # comment
 *     active-users       = 0.78              # paper: section 3
 *     webmail.after-read = 10 40 5 15 30     # ours: ...
 *
 * A line is a name, one or more numbers, and where they come from: paper, spec, imaptest or ours, a
 * colon and a text. All names must be there once; an unknown one, a missing source, a number out of
 * its range, and numbers that contradict each other are errors that name the line. workload_print()
 * writes them as a table for pages.
 *
 * A struct workload is plain: copy it, change members for a test. Nothing here keeps a pointer,
 * logs or reads a clock.
 */

#include "bench/users-load/dice.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Transactions that are timed each, 13 of IMAP and two of SMTP. FETCH_HEADERS is the one that
 * SPECmail2009's analysis names: UID FETCH of a range: UID, BODY.PEEK[HEADER.FIELDS (...)], FLAGS,
 * RFC822.SIZE.
 */
enum transaction {
	TRANSACTION_LOGIN,
	TRANSACTION_LIST,
	TRANSACTION_STATUS,
	TRANSACTION_SELECT,
	TRANSACTION_FETCH_HEADERS,
	TRANSACTION_FETCH_FLAGS,
	TRANSACTION_FETCH_STRUCTURE,
	TRANSACTION_FETCH_BODY,
	TRANSACTION_SEARCH,
	TRANSACTION_STORE,
	TRANSACTION_COPY,
	TRANSACTION_APPEND,
	TRANSACTION_EXPUNGE,
	TRANSACTION_SMTP_LOCAL,	 /* a mail that a user of the server submits */
	TRANSACTION_SMTP_REMOTE, /* a mail from elsewhere */
	TRANSACTIONS,
};

const char *transaction_name(enum transaction transaction); /* "FETCH_HEADERS" */

/* Kinds of client. */
enum workload_kind {
	WORKLOAD_THUNDERBIRD, /* stays connected with IDLE, keeps headers */
	WORKLOAD_APPLEMAIL,   /* the same with other lists of FETCH */
	WORKLOAD_POLLER,      /* a new session every few minutes, keeps headers */
	WORKLOAD_WEBMAIL,     /* a session for each thing that its user does, keeps nothing */
	WORKLOAD_CLIENTS,
};

/* Sequences of commands that sessions are made of: behaviour.h. */
enum workload_sequence {
	WORKLOAD_BEGIN,
	WORKLOAD_LOOK,
	WORKLOAD_READ,
	WORKLOAD_TIDY,
	WORKLOAD_WRITE,
	WORKLOAD_SEQUENCES,
};

/* From where to where mails go. */
enum workload_flow {
	WORKLOAD_LOCAL_LOCAL,
	WORKLOAD_REMOTE_LOCAL,
	WORKLOAD_LOCAL_REMOTE,
	WORKLOAD_FLOWS,
};

/* What a mail is made of. */
enum workload_structure {
	WORKLOAD_PLAIN,	      /* text/plain */
	WORKLOAD_ALTERNATIVE, /* text/plain and text/html */
	WORKLOAD_RELATED,     /* the same, its HTML with a picture */
	WORKLOAD_MIXED,	      /* text/plain, and one to three attachments */
	WORKLOAD_MIXED_RICH,  /* text/plain and text/html, and one to three attachments */
	WORKLOAD_FORWARDED,   /* text/plain, and a mail with text and an attachment */
	WORKLOAD_STRUCTURES,
};

#define WORKLOAD_ATTACHMENTS 3
#define WORKLOAD_RECIPIENTS  6 /* numbers of them */
#define WORKLOAD_DEPTHS	     4
#define WORKLOAD_SPECIALS    4 /* folders that each user has: INBOX, Sent, Drafts, Trash */

/* From one sequence to each that may come next; the last one is the end of the session. */
#define WORKLOAD_END	    WORKLOAD_SEQUENCES
#define WORKLOAD_SUCCESSORS WORKLOAD_SEQUENCES

struct workload_client {
	double share;	   /* of active users */
	double sessions_h; /* begun in an hour by each of them */
	double stays;	   /* 1: waits with IDLE; 0: leaves when it has nothing to do */
	double keeps;	   /* 1: asks for headers of new mails only; 0: for a page */
	double page_mails;
	double think_s;		/* mean, before each sequence but the first */
	double pause_s;		/* mean, before each other command */
	double list_share;	/* of sessions that have LIST */
	double status_folders;	/* mean number of STATUS in "begin" and "look" */
	double flags_share;	/* of "begin" and "look" that have FETCH_FLAGS of all mails */
	double structure_share; /* of reads that have FETCH_STRUCTURE first */
	/* Of each sequence: weights of look, read, tidy, write and the end behind it. */
	double after[WORKLOAD_SEQUENCES][WORKLOAD_SUCCESSORS];
};

/* bench/enterprise.workload says of each what it is. Times are seconds, sizes bytes. */
struct workload {
	double users_min;
	double active_share;
	double mails_received_h;
	double recipients_mean;
	double recipient_counts[WORKLOAD_RECIPIENTS];
	double recipient_weights[WORKLOAD_RECIPIENTS];
	double flows[WORKLOAD_FLOWS];

	double limit_transaction_s;
	double limit_local_s;
	double limit_remote_s;
	double limit_share;
	double limit_errors;

	double mails; /* of a user, the mean */
	double mails_sigma;
	double mails_max;
	double folders; /* the median */
	double folders_sigma;
	double folders_max;
	double depths[WORKLOAD_DEPTHS];
	double specials[WORKLOAD_SPECIALS]; /* shares of mails */
	double folder_power;		    /* the others: by rank to the power of minus this */
	double history_s;		    /* how old mails are, the mean */
	double unread_share;		    /* of mails in INBOX */

	double structures[WORKLOAD_STRUCTURES];
	double attachment_counts[WORKLOAD_ATTACHMENTS]; /* weights of 1, 2, 3 */
	double text_median;
	double text_sigma;
	double text_max;
	double html_factor; /* HTML beside a text has so many times its size */
	double attachment_median;
	double attachment_sigma;
	double attachment_max;
	double picture_share; /* a picture's size as a share of an attachment's */

	double read_recent;    /* mean distance from the newest mail of one that is read */
	double answer_share;   /* of reads: STORE \Answered */
	double delete_share;   /* of reads: STORE \Deleted, EXPUNGE */
	double move_share;     /* of reads: COPY, STORE \Deleted, EXPUNGE */
	double search_share;   /* of "tidy": SEARCH first */
	double tidy_elsewhere; /* of "tidy" in another folder than INBOX */
	double tidy_sent;      /* of those: in Sent */
	double tidy_recent;    /* mean distance from the newest mail of those that are deleted */

	struct workload_client clients[WORKLOAD_CLIENTS];
};

#define WORKLOAD_PARAMETERS (41 + WORKLOAD_CLIENTS * 16)
#define WORKLOAD_FILE_MAX   65536
#define WORKLOAD_REASON_MAX 160

struct workload_error {
	unsigned line; /* 0: none */
	char reason[WORKLOAD_REASON_MAX];
};

/* Reads all of file. Negative with *ret_error when it is no workload. */
int workload_read(FILE *file, struct workload *ret_workload, struct workload_error *ret_error);

/*
 * Reads all of file and writes it as a table: Markdown, or a line for each parameter with tabs
 * between name, values, source and text. Negative with *ret_error when it is no workload, or when
 * out cannot be written.
 */
int workload_print(FILE *file, bool is_markdown, FILE *out, struct workload_error *ret_error);

const char *workload_client_name(enum workload_kind kind);	     /* "thunderbird" */
const char *workload_sequence_name(enum workload_sequence sequence); /* "begin" */
const char *workload_structure_name(enum workload_structure structure);

/* ---- what follows from it ---- */

/*
 * Users are active, and have a kind of client, by their number alone: any 100 of them in a row have
 * the same shares, so that a run with a few hundred is as one with many.
 */
bool workload_is_active(const struct workload *workload, uint64_t user);
enum workload_kind workload_client(const struct workload *workload, uint64_t user);

/* Mails an hour that go that way, at rate 1. */
double workload_mails_h(const struct workload *workload, enum workload_flow flow, double users);
/* Sessions that begin in an hour, at rate 1. */
double workload_sessions_h(const struct workload *workload, double users);
/* How many recipients a mail has. */
unsigned workload_recipients(const struct workload *workload, struct dice *dice);
/*
 * What an active user of each kind, and one of all kinds, does in an hour: sessions, and how often
 * each sequence. A table as that of workload_print(). Negative when it cannot be written.
 */
int workload_print_sums(const struct workload *workload, bool is_markdown, FILE *out);
/* How often a session of that kind goes through each sequence, the mean. */
void workload_visits(const struct workload *workload, enum workload_kind kind,
		     double ret_visits[WORKLOAD_SEQUENCES]);

#ifdef __cplusplus
}
#endif
