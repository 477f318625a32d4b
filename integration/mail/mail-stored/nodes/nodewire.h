/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodewire.h - requests and replies of storewire.h as a stream of bytes between nodes.
 *
 * Flow: nodelink.c has a packet -> nodewire_encode() -> TLS -> nodewire_take() of the other side.
 * This file alone knows these bytes.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      4   "Mnf1": the last character is the version
 *        4      4   size of the packet, big-endian; 0: the other side is asked whether it is there
 *        8      8   size of the memory
 *       16      -   the packet, as storewire.h has it, of a request without memory in it
 *        -      -   the memory: what on one machine goes with a packet, in it or as a descriptor
 *
 * On a link there is one request at a time, and then its reply. The answer to a packet of size 0
 * is the reply HELLO, with the flags of the store, when the store has answered, too; its status is
 * MAILSTORE_EAWAY where there is none, and the first 8 bytes of its id say since when the store is
 * there, in microseconds of Unix time, the others what locate_sum() has of the node. A reply to
 * SEGMENT is other than on one machine: its request names a mail (number), the memory is the
 * record of that, and number is where in it the body begins.
 *
 * What comes is foreign, though only nodes may send it: sizes have limits, and memory that this process
 * has no room for, or that is larger than it takes, is read and dropped. Small memory lies in a buffer, other
 * in a memfd, which is sealed; that of a record has its body at NODEWIRE_BODY_AT, whatever stands before it.
 *
 * One thread's. Nothing here logs.
 */

#include "integration/mail/base/store/storewire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NODEWIRE_HEAD 16
/* A reply with rows; a request is smaller. */
#define NODEWIRE_PACKET_MAX STOREWIRE_REPLY_MAX
#define NODEWIRE_BODY_AT    (UINT64_C(16) << 20)
/* More than any node takes for a mail: what says so is no message. */
#define NODEWIRE_MEMORY_MAX (UINT64_C(1) << 41)

/* Bytes, and behind them a part of a file: what goes with a packet. */
struct nodewire_memory {
	const uint8_t *bytes;
	size_t bytes_size;
	int fd; /* -1: none */
	uint64_t at;
	uint64_t size;
};

/* Of memfds of all links of a process. */
struct nodewire_room {
	uint64_t used;
	uint64_t max;
};

/* out has NODEWIRE_HEAD bytes. */
void nodewire_encode(size_t packet_size, uint64_t memory_size, uint8_t *out);

/* What has come of one message. All zero but room, memory_max and takes_records, and an fd of -1, is none. */
struct nodewire_input {
	/* ---- its owner's ---- */
	struct nodewire_room *room;
	uint64_t memory_max; /* another node may take more */
	bool takes_records;  /* replies come, among them those to SEGMENT */

	/* ---- of a message that is whole ---- */
	size_t packet_size;
	uint64_t memory_size;
	uint8_t *bytes; /* the memory, when there is no fd */
	int fd;		/* the caller may take it, and writes -1 here */
	/* Of its memory: 0; -ENOSPC: there was no room, or no descriptor; -EFBIG: it is more than memory_max. */
	int dropped;
	uint8_t packet[NODEWIRE_PACKET_MAX];

	/* ---- nodewire.c's own ---- */
	uint8_t head[NODEWIRE_HEAD];
	uint64_t at;   /* bytes of the message that have come */
	bool is_begun; /* its memory */
};

/*
 * 1: a message is whole, and is good until the next call; 0: all bytes are used, and more are to come;
 * -EPROTO. *ret_used is how many of size were taken.
 */
int nodewire_take(struct nodewire_input *input, const uint8_t *bytes, size_t size,
		  size_t *ret_used);
/* A part of a message has come, and the rest has not. */
bool nodewire_is_amid(const struct nodewire_input *input);
/* Of what has come, in any state. */
void nodewire_deinit(struct nodewire_input *input);

/* Of memory of that size, which was taken: there is room again. */
void nodewire_give_back(struct nodewire_room *room, uint64_t size);

/* A memfd with all of memory, sealed. A descriptor or -errno. */
int nodewire_seal(const struct nodewire_memory *memory);

#ifdef __cplusplus
}
#endif
