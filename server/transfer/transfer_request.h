/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * transfer_request.h - one zone transfer as it was asked for, and its verdict.
 *
 * Flow: transfer_answer.c fills it -> forks.c forks with it -> transfer.c reads
 *       the store for it, xfrout.c begins every message with its question.
 *
 * A plain value, but for what is borrowed from the settings.
 */

#include "server/settings/settings.h"
#include "server/askers/tsig.h"

enum transfer_verdict {
	TRANSFER_GRANTED,
	TRANSFER_ADDRESS, /* the client is no secondary of the zone */
	TRANSFER_PLACE,	  /* nor by its address, but it has a key of ours */
	TRANSFER_KEY,	  /* it is one that has to sign */
	TRANSFER_TSIG,	  /* it signed, but not well */
	TRANSFER_CLASSIC, /* classic zones and other names are made of answers */
	TRANSFER_BUSY,	  /* as many as may be are under way */
	TRANSFER_STORE,	  /* there is nothing to transfer */
};
#define TRANSFER_QUESTION_MAX (SETTINGS_NAME_MAX + 4)

struct transfer {
	enum transfer_verdict verdict;
	const struct settings_name *name; /* of the zone, borrowed */
	const char *path;		  /* of its store, borrowed */
	size_t face;			  /* index of its counters */
	bool is_incremental;
	uint32_t serial; /* the client's, when it is */
	struct sockaddr_storage client;

	/* What the messages begin with, and how they are signed. */
	uint16_t id;
	bool has_recursion_desired;
	bool has_edns;
	bool has_do;
	uint16_t edns_payload; /* ours */
	size_t question_size;
	uint8_t question[TRANSFER_QUESTION_MAX];
	struct tsig tsig;
};

struct transfer_limits {
	unsigned timeout_s;	 /* for all of it */
	unsigned idle_timeout_s; /* without a byte taken */
};
