/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodeanswers.h - what the module of a node says about the nodes: CLUSTER of storewire.h.
 *
 * Flow: nodework.c has CLUSTER -> nodeanswers_ask() -> noderouter_describe() -> rows of text.
 *
 * These are what this node knows by itself: each node sees the others with its own eyes.
 */

#include "integration/mail/mail-stored/module/nodework.h"

/* What may go with a packet beside the text of a mail: what a server adds to it, and its meta. */
#define NODEANSWERS_MEMORY_MORE ((64U << 10) + MAILRECORD_META_MAX)

/* For struct nodework_parts. 0 or -EOPNOTSUPP. */
int nodeanswers_ask(const struct nodework_parts *parts, uint64_t question,
		    struct questions_rows *rows);
