/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_status.h - why a line of a list, or a list, is refused.
 *
 * Flow: users_list.c, users_build.c and smtp-front-users return them -> the last one logs the text.
 * 0 is success; else -errno, a status of lib/lmdb, or one of the values below.
 */

#include "lib/lmdb/store.h"

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_STATUS_MAP(X)                                                                        \
	X(USERS_ESHRINK, -2500, "list would shrink too much")                                      \
	X(USERS_EREFUSED, -2501, "lines were refused")                                             \
	X(USERS_EEMPTY, -2502, "no recipient in the lists")                                        \
	X(USERS_ECOPY, -2503, "not a copy of a database of users")                                 \
	X(USERS_EWORDS, -2520, "a line with \"domain\" has one word behind it, and no settings")   \
	X(USERS_EADDRESS, -2521, "no \"@\" in the address")                                        \
	X(USERS_ELOCAL, -2522, "not a local part")                                                 \
	X(USERS_ELOCALSIZE, -2523, "local part of more than 64 bytes")                             \
	X(USERS_EDOMAIN, -2524, "not a domain")                                                    \
	X(USERS_EDOMAINSIZE, -2525, "domain of more than 255 bytes, or label of more than 63")     \
	X(USERS_EUTF8, -2526, "not UTF-8")                                                         \
	X(USERS_ELINE, -2527, "line of more than 32768 bytes")                                     \
	X(USERS_ESETTING, -2530,                                                                   \
	  "behind an address are permitted messages=, octets=, keep=, node=, password=, scram= "   \
	  "and to=")                                                                               \
	X(USERS_ETWICE, -2531, "the same word twice behind an address")                            \
	X(USERS_EMESSAGES, -2532, "messages=: permitted are whole numbers from 0 to 1000000000")   \
	X(USERS_EOCTETS, -2533, "octets=: permitted are 0 to 1048576G, with K, M or G")            \
	X(USERS_EKEEP, -2534, "keep=: permitted are 0, and 1s to 36500d, with s, m, h or d")       \
	X(USERS_EOTHER, -2535, "this address is there already, with other settings")               \
	X(USERS_EPASSWORD, -2536,                                                                  \
	  "password=: permitted are hashes of crypt(3) with $y$, $gy$, $7$, $2b$, $6$ or $5$")     \
	X(USERS_EWEAK, -2537, "password=: hashes of DES and MD5 are refused, as they are weak")    \
	X(USERS_ESCRAM, -2538,                                                                     \
	  "scram=: permitted is SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY, in base64")     \
	X(USERS_ENOLOGIN, -2539,                                                                   \
	  "password= and scram= are for one address, not for all of a domain")                     \
	X(USERS_ETARGETS, -2540, "to=: permitted are 1 to 64 addresses with commas between them")  \
	X(USERS_EALONE, -2541, "to= is permitted alone: an alias has no mailbox and no login")     \
	X(USERS_ENOMAILBOX, -2542,                                                                 \
	  "a target is a mailbox of these lists: mail is not forwarded to other servers")          \
	X(USERS_ETOALIAS, -2543, "a target is a mailbox, and no alias itself")                     \
	X(USERS_ENODE, -2544, "node=: permitted are whole numbers from 0 to 255")                  \
	X(USERS_EPOSTMASTER, -2545,                                                                \
	  "\"postmaster\" without a domain has no mailbox: behind it is to=")

enum users_status {
#define X(name, code, text) name = code,
	USERS_STATUS_MAP(X)
#undef X
};

/* Text for these and for those of lib/lmdb. Never NULL. */
const char *users_strerror(int status);

#ifdef __cplusplus
}
#endif
