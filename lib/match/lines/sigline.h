/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sigline.h - one line of a file of signatures, taken apart.
 *
 * Flow: compile.c: a line without its end -> sigline_hash() and the like, by the file's format ->
 *       fields, which sigbody.h, sigplace.h and siglogic.h go on with.
 *
 *     why = sigline_body(line, &body);
 *     if (why != NULL)
 *             "FILE:LINE: why"
 *
 *     hdb, hsb, fp, sfp    HASH:SIZE:NAME[:MIN[:MAX]], SIZE may be *
 *     mdb, msb             SIZE:HASH:NAME[:MIN[:MAX]]
 *     ndb                  NAME:TARGET:OFFSET:BYTES[:MIN[:MAX]]
 *     ldb                  NAME;ATTRIBUTES;LOGIC;SUB-SIGNATURE;...
 *     ign2                 NAME[:MD5 of the line that is ignored]
 *
 * MIN and MAX are functionality levels of ClamAV; a signature that is not for SIGTARGET_LEVEL says
 * so by COMPILE_ENGINE. The line is written into; fields point into it. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/match/lines/reason.h"
#include "lib/match/lines/sigtarget.h"
#include "lib/match/logic/siglogic.h"
#include "lib/match/logic/sigplace.h"

#define SIGLINE_DIGEST	32 /* bytes of the longest hash */
#define SIGLINE_NO_SIZE UINT32_MAX

struct sigline_hash {
	const char *name;
	uint8_t digest[SIGLINE_DIGEST];
	unsigned digest_size; /* 16: MD5, 20: SHA1, 32: SHA256 */
	uint32_t size;	      /* or SIGLINE_NO_SIZE for any */
	enum compile_reason reason;
};

struct sigline_body {
	const char *name;
	struct sigtarget target;
	struct sigplace place;
	const char *bytes;
};

enum sigline_sub_kind {
	SIGLINE_BYTES,
	SIGLINE_REGEX,
	SIGLINE_OTHER, /* .reason says what */
};

struct sigline_sub {
	enum sigline_sub_kind kind;
	enum compile_reason reason;
	struct sigplace place;
	const char *bytes; /* or the expression */
	unsigned flags;	   /* of sigbody.h */
	const char *trigger;
	const char *letters; /* behind an expression */
};

struct sigline_logical {
	const char *name;
	struct sigtarget target;
	const char *logic;
	struct sigline_sub subs[SIGLOGIC_SUBS_MAX];
	unsigned sub_count;
};

struct sigline_ignored {
	const char *name;
	const char *md5; /* in hexadecimal, or NULL */
};

/* Each: NULL, or why the line is wrong. */
const char *sigline_hash(char *line, bool is_section, struct sigline_hash *ret_hash);
const char *sigline_body(char *line, struct sigline_body *ret_body);
const char *sigline_logical(char *line, struct sigline_logical *ret_logical);
const char *sigline_ignored(char *line, struct sigline_ignored *ret_ignored);
