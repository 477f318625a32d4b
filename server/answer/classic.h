/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * classic.h - the classic zone (RFC 5782) that a store also is: A and TXT.
 *
 * Flow: answer.c -> classic_answer() -> reply.c. The zone is virtual: but for domain names of
 * lists, no name of it is in the store. An address is taken from the question; segments and
 * bitmaps say whether it is listed, value sets what is said about it.
 *
 *     2.0.0.127            A and TXT of ::ffff:127.0.0.2
 *     0.0.127              exists when something in 127.0.0.0/24 is listed
 *     32 nibbles           A and TXT of an IPv6 address; in 2002::/16 also of the
 *                          IPv4 address inside it (6to4, RFC 3056)
 */

#include "server/message/reply.h"

/* Puts the answer, or the SOA that says no. The zone is begun. */
enum reply_result classic_answer(struct reply *reply);
