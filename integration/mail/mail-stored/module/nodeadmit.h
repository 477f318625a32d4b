/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodeadmit.h - is a mail that another node delivers for mailboxes of this one?
 *
 * Flow: nodeserver.c has DELIVER of a peer -> nodeadmit_check() -> locate.h for each of its recipients.
 *
 * While the databases of users of two nodes differ, a peer may send what is not of this node, and a
 * mailbox would be in two places, of which its user sees one. Second copies are admitted where the node
 * that they are of is the one before this one.
 *
 * What this node has of its own accord is not looked at here: it is of this node as its database says.
 * Nothing here logs, or is kept.
 */

#include "integration/mail/mail-stored/nodes/locate.h"
#include "integration/mail/mail-stored/nodes/nodewire.h"

/*
 * 0; MAILSTORE_EAWAY: some mailbox is of another node, or it is not known of which; or a status of a mail
 * that no store takes. memory is that of the request, its bytes or its descriptor.
 */
int nodeadmit_check(const struct locate *locate, const struct storewire_request *request,
		    const struct nodewire_memory *memory);
