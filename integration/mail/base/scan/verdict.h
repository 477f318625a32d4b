/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * verdict.h - what becomes of a mail, out of what was found and what peers say.
 *
 * Flow: scanner.c, at a mail's end -> verdict_make() -> reply, header field, line of a log.
 *
 *     verdict_make(&settings, result, peers, &verdict);
 *
 * The action is the strictest that any class of findings, or any peer, asks for; the texts name what
 * asked for it. Texts of a reply and of a header field are ASCII without controls, as paths and
 * names have come out of a mail. Pure.
 */

#include "integration/mail/base/scan/scanner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one peer has said. */
struct verdict_peer {
	bool is_asked;
	bool has_failed;	 /* settings.on_unavailable decides; name is the reason */
	bool is_found;		 /* settings.actions[INSPECT_SIGNATURE] decides */
	enum scan_action action; /* else */
	const char *name;
};

/* peers has SCAN_PEER_COUNT, by their numbers. */
void verdict_make(const struct scan_settings *settings, const struct inspect_result *result,
		  const struct verdict_peer *peers, struct scan_verdict *ret_verdict);

#ifdef __cplusplus
}
#endif
