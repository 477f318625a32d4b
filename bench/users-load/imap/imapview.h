/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * imapview.h - what a client knows of the folder that is selected: sequence numbers, UIDs, flags.
 *
 * Flow: imaptalk.c puts in what the server says of EXISTS, EXPUNGE and FETCH -> it is so, or it cannot be
 *       -> numbers for the next command.
 *
 * A row is 8 bytes: its sequence number is its place. A UID that was not told yet is 0; those
 * that were ascend. The array grows by halves and is given back by imapview_close().
 *
 * Nothing here logs. Only imapview_exists() allocates.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Mails of a folder; more are refused. 2 MiB of rows. */
#define IMAPVIEW_MAILS_MAX (1u << 18)

enum imapview_error {
	IMAPVIEW_EFELL = -1, /* fewer mails, without EXPUNGE */
	IMAPVIEW_EMANY = -2, /* more than IMAPVIEW_MAILS_MAX */
	IMAPVIEW_EMEMORY = -3,
	IMAPVIEW_ERANGE = -4,	/* no mail has this number */
	IMAPVIEW_ECHANGED = -5, /* the mail had another UID */
	IMAPVIEW_EORDER = -6,	/* not between its neighbours' */
	IMAPVIEW_EREUSED = -7,	/* below UIDNEXT, of a mail that is new */
};

struct imapview_row {
	uint32_t uid;
	uint8_t flags;	/* as the server told them: enum imapreader_flag */
	uint8_t stored; /* those that this client stored and the server said OK to */
	bool has_flags, has_header;
};

struct imapview {
	struct imapview_row *rows;
	uint32_t count, room;
	uint32_t known;	    /* from the first on, so many have has_header */
	uint32_t deleted;   /* with IMAPREADER_DELETED */
	uint32_t unknown;   /* without a UID */
	uint32_t first_new; /* rows from here on came after SELECT */
	uint32_t uid_next;  /* as SELECT told; 0: it did not */
	uint32_t uid_validity;
};

void imapview_open(struct imapview *ret_view); /* with nothing in it */
void imapview_close(struct imapview *view);
void imapview_clear(struct imapview *view); /* another folder: keeps the array */

/* The server says so. 0, or an enum imapview_error, and nothing has changed. */
int imapview_exists(struct imapview *view, uint32_t count);
int imapview_expunge(struct imapview *view, uint32_t sequence);
int imapview_put_uid(struct imapview *view, uint32_t sequence, uint32_t uid);
/* The flags of a mail that is there; returns those that were stored and are missing. */
uint8_t imapview_put_flags(struct imapview *view, uint32_t sequence, uint8_t flags);
void imapview_put_header(struct imapview *view, uint32_t sequence);

/* All that is there is from before: called when SELECT has ended. */
void imapview_selected(struct imapview *view);
/* So many from the first on have headers. */
void imapview_know(struct imapview *view, uint32_t count);
/* Flags of mails from a UID to another one, which the server has said OK to. */
void imapview_stored(struct imapview *view, uint32_t first_uid, uint32_t last_uid, uint8_t flags);

/* 0: it is not known, or there is none. */
uint32_t imapview_uid(const struct imapview *view, uint32_t sequence);
/* Whether a UID can be of a mail that is here. */
bool imapview_may_have(const struct imapview *view, uint32_t uid);

#ifdef __cplusplus
}
#endif
