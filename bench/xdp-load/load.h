/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * load.h - what the programs in the kernel and the one that starts them agree on.
 *
 * Flow: main.c makes frames -> load.bpf.c sends them, and counts what comes back.
 *
 * The identifier of a question says in its lowest bit whether its name has an answer, so that an
 * answer can be held against its question without a table.
 *
 * Compiled for BPF too: no pointers, no padding that is not named.
 */

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s64 int64_t;
#else
#include <stdint.h>
#endif

#define LOAD_FRAME_MAX	184
#define LOAD_FRAMES_MAX 65536
#define LOAD_PORTS	16384 /* that questions come from, as many as are a power of two */
#define LOAD_FIRST_PORT 32768

/* A question with all its headers. */
struct load_frame {
	uint32_t size;
	uint8_t pad[4];
	uint8_t bytes[LOAD_FRAME_MAX];
};

enum load_outcome {
	LOAD_FILLED,	/* NOERROR and answers */
	LOAD_NODATA,	/* NOERROR without */
	LOAD_DENIED,	/* NXDOMAIN without answers */
	LOAD_TRUNCATED, /* TC */
	LOAD_ECHOED,	/* no response, but a question */
	LOAD_OTHER,
	LOAD_OUTCOMES,
};

/* Of one processor's core, on which all of it is written, or of two that never write the same. */
struct load_state {
	uint64_t sent;
	uint64_t seen; /* of them; or dropped, where that is what is measured */
	uint64_t lost; /* given up, and not waited for any more */
	uint64_t strays;
	uint64_t bytes;
	uint64_t outcomes[2][LOAD_OUTCOMES]; /* of names without an answer, and of those with one */
	uint64_t records[2];		     /* of these: in the answer and authority sections */
};
