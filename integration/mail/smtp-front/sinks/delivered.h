/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * delivered.h - which recipients of a mail have it already, when others of it were put off.
 *
 * Flow: sink_smtp.c, whose LMTP server has taken a mail for some of its recipients only, or sink_store.c,
 *       of whose nodes some have failed, says 4xx
 *       and delivered_add() for each that has it -> the client comes again, with the same mail and
 *       the same recipients -> delivered_may_have() at DATA, delivered_has() at its end -> the
 *       others alone get it.
 *
 * A recipient is known by the client's network (an IPv4 /24 or IPv6 /48, as senders have several
 * machines), the sender and the recipient's address; a mail by the SHA-256 of what the client has
 * sent as its content, of which 16 bytes are kept. An entry lives for DELIVERED_KEEP_S, longer
 * than mail servers try.
 *
 * The table is a file of fixed size that all processes map, 65536 entries in sets of 8; a full set
 * loses its oldest. One that is shorter, of an earlier version, becomes as large, and what is not in its
 * place then is lost. The set is chosen by recipient and mail, as a mailing list may have hundreds of
 * mails that wait for one recipient; an entry more for each recipient, of no mail, says that there are
 * any. An entry has a checksum, so what was half written when a process was killed
 * is none. Without a path it is memory, gone with the processes that share it. What is lost, for
 * whatever reason, has a mail arrive twice, never none.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      8   "DBL6DLV1"
 *        8     24   zero
 *       32     32   entry 0: recipient (8), mail (16), seconds since 1970 (4), checksum (4);
 *                   in the byte order of the machine. All zero is none.
 *      ...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/dnsblv6.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DELIVERED_KEEP_S    (5 * 86400)
#define DELIVERED_MAIL_SIZE 16
#define DELIVERED_SETS	    8192U
#define DELIVERED_FILE_SIZE (32U + DELIVERED_SETS * 8U * 32U)

struct delivered; /* opaque */

/*
 * path "" is memory; else a file that is made when it is not there. 0, -EINVAL when it is
 * something else, or another -errno.
 */
int delivered_open(const char *path, struct delivered **ret_table);
/* Takes NULL, as all others do: then nothing is remembered. */
void delivered_close(struct delivered *table);

uint64_t delivered_recipient(const struct dnsblv6_ip *client_ip, const char *sender,
			     const char *recipient);

/* Has it any mail? */
bool delivered_may_have(const struct delivered *table, uint64_t recipient, int64_t now_s);
bool delivered_has(const struct delivered *table, uint64_t recipient, const uint8_t *mail,
		   int64_t now_s);
/* Other processes know it at once, and it outlives all of them. */
void delivered_add(struct delivered *table, uint64_t recipient, const uint8_t *mail, int64_t now_s);
/* Behind all recipients of a mail: 0, or -errno when they may not survive a loss of power. */
int delivered_sync(struct delivered *table);

/* The hash of a mail, in pieces. NULL: no memory. */
struct delivered_hash *delivered_hash_new(void);
void delivered_hash_free(struct delivered_hash *hash);
void delivered_hash_begin(struct delivered_hash *hash);
void delivered_hash_add(struct delivered_hash *hash, const uint8_t *bytes, size_t size);
/* ret_mail has DELIVERED_MAIL_SIZE bytes. */
void delivered_hash_end(struct delivered_hash *hash, uint8_t *ret_mail);

#ifdef __cplusplus
}
#endif
