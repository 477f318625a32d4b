/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * socketmap.h - where a mailbox is, for mail servers: Postfix's and sendmail's socketmap protocol.
 *
 * Flow: doors.h: a mail server -> a netstring "MAP KEY" -> locate.h -> a netstring "OK VALUE".
 *
 *     MAP            KEY                  VALUE
 *     transport      john@example.org     lmtp:inet:[192.0.2.2]:24 for transport_maps of Postfix
 *     mailertable    john@example.org     lmtpnode:[192.0.2.2]     for sendmail, see mail-stored(8)
 *     location       john@example.org     b 192.0.2.2 24           name, address and port
 *
 * An address that is an alias is where its first mailbox is: LMTP there brings it to the others. A key
 * that is no address of ours is "NOTFOUND ", so that domains and lookups of parts of an address find
 * nothing. A node that is down is still where its mailboxes are: LMTP there refuses connections, and
 * the mail server keeps the mail in its queue.
 *
 * A client that says what is no request is cut off, and so is the one that has been silent for longest when
 * there are too many: a mail server connects again. A handle with memory of its own, one thread's. After
 * socketmap_close() the loop has to run until nothing is left.
 */

#include "integration/mail/mail-stored/nodes/locate.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOCKETMAP_LINE_MAX    1024
#define SOCKETMAP_CLIENTS_MAX 1024

/*
 * One request in bytes: its size with all around it; 0: it is not whole; -EPROTO. *ret_name and *ret_key
 * are borrowed and without NUL.
 */
int socketmap_parse(const char *bytes, size_t size, struct mailname *ret_name,
		    struct mailname *ret_key);
/* What is said, as a netstring into ret_text, of SOCKETMAP_LINE_MAX bytes. Its size. */
size_t socketmap_answer(const struct locate *locate, struct mailname name, struct mailname key,
			char *ret_text);

struct socketmap;

/* listen_fd is the caller's, locate borrowed. 0 or a negative error. */
int socketmap_open(uv_loop_t *loop, int listen_fd, const struct locate *locate,
		   struct socketmap **ret_map);
/* Takes NULL, as the next. */
void socketmap_close(struct socketmap *map);
void socketmap_free(struct socketmap *map);

#ifdef __cplusplus
}
#endif
