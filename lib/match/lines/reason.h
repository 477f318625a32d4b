/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * reason.h - formats of signatures, and why one is left to clamd.
 *
 * Flow: sigbody.h and sigline.h say the reason of a signature -> compile.h counts it by format.
 *
 *     if (reason != COMPILE_STREAMS)
 *             counts[format][reason]++;
 *
 * compile_format_name() and compile_reason_text() have words for them.
 */

enum compile_format {
	COMPILE_HDB,
	COMPILE_HSB,
	COMPILE_MDB,
	COMPILE_MSB,
	COMPILE_NDB,
	COMPILE_LDB,
	COMPILE_FP,
	COMPILE_IGN,
	COMPILE_FORMAT_COUNT,
};

/* Why a signature is left to clamd. */
enum compile_reason {
	COMPILE_STREAMS,    /* it is not */
	COMPILE_NORMALISED, /* it is about text or HTML as ClamAV rewrites it */
	COMPILE_PCRE,	    /* an expression that Vectorscan has no stream mode for */
	COMPILE_BYTECODE,
	COMPILE_MACRO, /* ${...}: alternatives of other signatures */
	COMPILE_BYTE_COMPARE,
	COMPILE_FUZZY_IMAGE,
	COMPILE_TOO_SHORT, /* no part of two fixed bytes */
	COMPILE_COMPLEX,   /* of too many lengths, or alternatives within alternatives */
	COMPILE_ATTRIBUTE, /* an icon, an intermediate, a handler */
	COMPILE_ENGINE,	   /* for other versions of ClamAV */
	COMPILE_REASON_COUNT,
};
