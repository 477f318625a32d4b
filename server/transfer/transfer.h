/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * transfer.h - one zone transfer: what was asked for, and giving it.
 *
 * Flow: answer.c decides and fills a struct transfer -> serving.c has handover.c
 *       fork -> transfer_run() in the child reads one version of the store ->
 *       lib/format/unfold.h, history.h -> stream.c writes messages into the connection.
 *
 *     AXFR (RFC 5936)  SOA, everything else, SOA
 *     IXFR (RFC 1995)  SOA, for each change: SOA before, what went, SOA
 *                      afterwards, what came; SOA. Or the SOA alone when there
 *                      is nothing newer; or as AXFR, when the journal does not
 *                      reach back to the serial or is damaged.
 *
 * The last SOA is written only when everything before it was: a client that gets
 * it has the whole zone. When something fails on the way the connection ends.
 */

#include "server/settings/settings.h"
#include "server/askers/tsig.h"

#ifdef __cplusplus
extern "C" {
#endif

enum transfer_verdict {
	TRANSFER_GRANTED,
	TRANSFER_ADDRESS, /* the client is no secondary of the zone */
	TRANSFER_KEY,	  /* it is one that has to sign */
	TRANSFER_TSIG,	  /* it signed, but not well */
	TRANSFER_CLASSIC, /* classic zones are made of answers: they have no records */
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

/* Its verdict, for the log. Never NULL. */
const char *transfer_explain(const struct transfer *transfer);

struct transfer_limits {
	unsigned timeout_s;	 /* for all of it */
	unsigned idle_timeout_s; /* without a byte taken */
};

/*
 * Writes the transfer into fd, a connected non-blocking socket, and logs how
 * that went. For a child process of its own: it opens the store. True when the
 * client got all of it.
 */
bool transfer_run(const struct transfer *transfer, const struct transfer_limits *limits, int fd);

#ifdef __cplusplus
}
#endif
