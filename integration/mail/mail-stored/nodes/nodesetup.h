/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodesetup.h - the sections "nodes" and "peer" of stored.conf: which nodes share the mailboxes.
 *
 * Flow: stored_setup.c has the sections -> here -> struct nodesetup, a member of struct stored_setup.
 *
 *     nodes:
 *         node: a
 *         listen: 192.0.2.1@4190
 *         certificate: /etc/dnsblv6/node.pem
 *         key: /etc/dnsblv6/node.key
 *     peer:
 *       - name: a
 *         number: 1
 *         address: 192.0.2.1@4190
 *         lmtp: 192.0.2.1@24
 *         key: sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
 *
 * Peers are all nodes, the same on each, and this one among them. A number is a node's for ever: it is a
 * part of the numbers that clients know mails by. A key is pinned: it is the hash of the public key of
 * the node's certificate, and no other certificate is that node's, whatever signature it has.
 *
 * Plain values; nothing here logs or allocates.
 */

#include "lib/common/conf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NODES_MAX	   64
#define NODE_NUMBER_MAX	   255
#define NODESETUP_NAME_MAX 63
#define NODESETUP_PATH_MAX 512
#define NODESETUP_PIN_SIZE 53 /* "sha256//", 44 digits of base64 and a NUL */

struct nodesetup_peer {
	char name[NODESETUP_NAME_MAX + 1];
	unsigned number;
	struct place address; /* where it listens to other nodes */
	char lmtp[PLACE_TEXT_MAX +
		  1]; /* where mail servers deliver to it, ADDRESS@PORT; "": nowhere */
	char pin[NODESETUP_PIN_SIZE];
	bool is_spread; /* mailboxes that no user's entry gives a node are spread over these */
};

struct nodesetup {
	char node[NODESETUP_NAME_MAX + 1]; /* "": there are no nodes */
	struct place listen;
	char certificate[NODESETUP_PATH_MAX + 1];
	char key[NODESETUP_PATH_MAX + 1];
	struct place location; /* of the socketmap; text "": none */
	unsigned version;      /* 1: by the module of this node; 2: to that of the other one */
	unsigned copies;
	unsigned links_max;  /* to each node at a time */
	unsigned silence_ms; /* a node that says nothing for so long is down */
	unsigned timeout_ms; /* of one request */
	uint64_t memory_max; /* of mails on their way from and to other nodes */
	struct nodesetup_peer peers[NODES_MAX];
	unsigned peer_count;
	unsigned self; /* place among peers */
};

/* Rows of the two sections; their members are those of struct nodesetup, and of the peer begun last. */
#define NODESETUP_ITEMS 11
extern const struct conf_item nodesetup_items[NODESETUP_ITEMS];
#define NODESETUP_PEER_ITEMS 6
extern const struct conf_item nodesetup_peer_items[NODESETUP_PEER_ITEMS];
/* For conf_section: the peer of a struct nodesetup that has been begun last. */
void *nodesetup_find_peer(void *section);

/* Has stored.conf nodes? */
bool nodesetup_is_on(const struct nodesetup *setup);
/* What values must be together; completes self. NULL, or why not: static text. */
const char *nodesetup_check(struct nodesetup *setup);
/* The peer with that number, or NULL. */
const struct nodesetup_peer *nodesetup_find_number(const struct nodesetup *setup, unsigned number);
/* All links that nodes may have to this one at a time; each has a connection to the store. 0 without nodes. */
unsigned nodesetup_links(const struct nodesetup *setup);

#ifdef __cplusplus
}
#endif
