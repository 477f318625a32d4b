/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sigtarget.h - ClamAV's names and numbers of kinds of files, and what a signature says of its object.
 *
 * Flow: sigline.c -> sigtarget_number() for an ndb line, sigtarget_attributes() for an ldb line ->
 *       struct sigtarget.
 *
 *     why = sigtarget_attributes("Engine:81-255,Container:CL_TYPE_ZIP,Target:1", &target);
 *
 * A container of OOXML is a zip here, so that its signatures are looked for in every zip. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/match/lines/reason.h"

#define SIGTARGET_LEVEL 216 /* of ClamAV 1.4.6 */

struct sigtarget_range {
	bool is_set;
	uint32_t min;
	uint32_t max;
};

/* What an object has to be. */
struct sigtarget {
	uint64_t kinds;	     /* a bit for each enum content_kind */
	uint64_t containers; /* likewise, of what it is a member of; CONTENT_OTHER: of nothing */
	struct sigtarget_range file_size;
	struct sigtarget_range entry_point;
	struct sigtarget_range sections;
	enum compile_reason reason; /* COMPILE_STREAMS, or why none is seen */
};

/* Text of a target's number. NULL, or why it is none. */
const char *sigtarget_number(const char *text, struct sigtarget *target);
/* Writes into text. NULL, or why it is wrong; all of *target is set. */
const char *sigtarget_attributes(char *text, struct sigtarget *ret_target);
/* A decimal number to the end of text. */
const char *sigtarget_decimal(const char *text, uint32_t *ret_number);
/* For no kind and container in particular. */
void sigtarget_any(struct sigtarget *ret_target);
