/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * account.h - the one line that the log has about a session of SMTP.
 *
 * Flow: smtp_edge.c for a session that ends in an edge, visit.c for one that was handed over, with what
 *       the capsule says of the edge's part -> account_log() -> object.h. smtp-front(8) has the keys.
 *
 * A plain value; texts are borrowed until account_log() returns, and NULL is "". Nothing here
 * allocates.
 */

#include "integration/mail/base/facts/object.h"

#ifdef __cplusplus
extern "C" {
#endif

struct account {
	struct object_session session;
	/* What was said, as it came. */
	const char *helo;
	const char *sender;	  /* of the last mail */
	const char *recipient;	  /* the last one */
	unsigned mail_count;	  /* committed */
	unsigned recipient_count; /* accepted */
};

/* The JSON object into ret_text, of OBJECT_SIZE bytes. Returns its size without the NUL. */
size_t account_format(const struct account *account, char *ret_text);

/* One line at level info. */
void account_log(const struct account *account);

#ifdef __cplusplus
}
#endif
