/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/edge/session_facts.h"

#include <inttypes.h>
#include <stdio.h>

/* Twelve digits. */
#define ID_MASK UINT64_C(0xffffffffffff)

const char *session_facts_format_id(uint64_t session_id, char *ret_text)
{
	snprintf(ret_text, SESSION_ID_SIZE, "%012" PRIx64, session_id & ID_MASK);
	return ret_text;
}
