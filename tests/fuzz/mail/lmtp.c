/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a mail server says to LMTP from its first byte on, in one piece and in pieces: the same
 * replies and the same mails for the store. Whatever it says, replies are lines, what the store gets
 * can be decoded, has names of mailboxes and the fields of delivery in front, and no memory is left
 * taken.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   1: quotas; 2: small limits; 4: little memory; 8: no store; 0x10: the session is to end
 *        1      1   bytes in a piece, less one
 *        2      1   what the store says, two bits a request, used again and again
 *        3      .   the stream
 */

#include "integration/mail/mail-stored/lmtp/lmtp_session.h"
#include "lib/common/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD_SIZE 3

struct run {
	struct lmtp_world world;
	struct lmtp_session session;
	uint8_t answers;
	unsigned answer_count;
	bool is_over;
	uint64_t said; /* hashes of all that was said, and asked */
	uint64_t asked;
	size_t column; /* of what was said */
};

static void add(uint64_t *hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < size; i++)
		*hash = (*hash ^ at[i]) * 1099511628211U;
}

/* ---- the store's part ---- */

static uint8_t *read_memory(const struct storelink_memory *memory, size_t *ret_size)
{
	size_t size = 0;
	if (memory->fd >= 0)
		size = (size_t)lseek(memory->fd, 0, SEEK_END);
	else
		for (size_t i = 0; i < memory->part_count; i++)
			size += memory->parts[i].iov_len;
	uint8_t *bytes = malloc(size + 1);
	require(bytes != NULL, "memory");
	if (memory->fd >= 0) {
		require(pread(memory->fd, bytes, size, 0) == (ssize_t)size, "memory is read");
	} else {
		size_t at = 0;
		for (size_t i = 0; i < memory->part_count; i++) {
			memcpy(bytes + at, memory->parts[i].iov_base, memory->parts[i].iov_len);
			at += memory->parts[i].iov_len;
		}
	}
	*ret_size = size;
	return bytes;
}

static void check_mail(const uint8_t *bytes, size_t size, uint64_t text_at)
{
	static const char first[] = "Return-Path: <";
	struct mailmeta meta;
	struct mailname name;
	size_t count = 0;
	require(mailmeta_decode(bytes, (size_t)text_at, &meta) == 0, "meta is decoded");
	while (mailmeta_next(&meta, &name)) {
		require(mailname_is_valid(name), "a mailbox has a name");
		count++;
	}
	require(count > 0 && meta.exceptions.size == 0, "a mail has mailboxes");
	require(size - text_at > sizeof(first) &&
			memcmp(bytes + text_at, first, sizeof(first) - 1) == 0,
		"a mail begins with its sender");
	require(memcmp(bytes + size - 2, "\r\n", 2) == 0, "a mail ends with its last line");
	require(memchr(bytes + text_at, '\0', (size_t)(size - text_at)) == NULL, "no NUL");
}

static void answer(struct run *run)
{
	static const int words[] = { 0, 0, MAILSTORE_EQUOTA, -ECONNRESET };
	static const struct mailid id = { { 1, 2, 3 } };
	const struct storewire_request *request = &run->session.request;
	add(&run->asked, &request->type, sizeof(request->type));
	add(&run->asked, &request->size, sizeof(request->size));
	add(&run->asked, request->mailbox.bytes, request->mailbox.size);
	if (request->type == STOREWIRE_DELIVER) {
		size_t size = 0;
		uint8_t *bytes = read_memory(&run->session.memory, &size);
		require(request->number + request->size == size, "sizes are those of the memory");
		check_mail(bytes, size, request->number);
		add(&run->asked, bytes, size);
		free(bytes);
	}
	lmtp_session_answer(&run->session,
			    words[run->answers >> (2 * (run->answer_count++ % 4)) & 3], &id, NULL,
			    0);
}

/* ---- the client's part ---- */

static void hear(struct run *run)
{
	size_t size = 0;
	const char *said = lmtp_session_said(&run->session, &size);
	for (size_t i = 0; i < size; i++) {
		require(said[i] == '\r' || said[i] == '\n' || (said[i] >= ' ' && said[i] <= '~'),
			"replies are printable");
		require(run->column > 0 || (said[i] >= '2' && said[i] <= '5'),
			"a line begins with its code");
		run->column = said[i] == '\n' ? 0 : run->column + 1;
		require(run->column <= 512, "a line has an end");
	}
	add(&run->said, said, size);
	lmtp_session_sent(&run->session, size);
}

/* Until it wants bytes, or is over. */
static void go_on(struct run *run)
{
	enum lmtp_wish wish = LMTP_WRITE;
	while (wish != LMTP_READ && !run->is_over) {
		wish = lmtp_session_run(&run->session);
		if (wish == LMTP_ASK)
			answer(run);
		else
			hear(run);
		run->is_over = wish == LMTP_END;
	}
}

static void feed(struct run *run, const uint8_t *bytes, size_t size, size_t piece)
{
	for (size_t fed = 0; fed < size && !run->is_over;) {
		size_t room = 0;
		uint8_t *in = lmtp_session_room(&run->session, &room);
		size_t part = size - fed < piece ? size - fed : piece;
		require(room > 0, "there is always room");
		if (part > room)
			part = room;
		memcpy(in, bytes + fed, part);
		lmtp_session_fed(&run->session, part);
		fed += part;
		go_on(run);
	}
}

static void begin(struct run *run, const uint8_t *head)
{
	bool is_small = (head[0] & 2) != 0;
	memset(run, 0, sizeof(*run));
	run->world.limits = (struct dialogue_limits){
		.size_max = is_small ? 16 : 100000,
		.recipients_max = is_small ? 2 : 100,
		.is_lmtp = true,
		.withheld = ENVELOPE_EXTENSION_DSN,
		.hostname = "mx.example.org",
	};
	run->world.memory_max = (head[0] & 4) != 0 ? 600 : 1U << 20;
	run->world.has_store = (head[0] & 8) == 0;
	run->world.has_quotas = (head[0] & 1) != 0;
	run->world.is_ending = (head[0] & 0x10) != 0;
	run->answers = head[2];
	lmtp_session_init(&run->session, &run->world, 1, "192.0.2.1");
	go_on(run);
}

static void end(struct run *run)
{
	if (!run->is_over)
		lmtp_session_end(&run->session, DIALOGUE_TIMED_OUT);
	go_on(run);
	lmtp_session_deinit(&run->session);
	require(run->world.memory_used == 0, "memory is given back");
	require(run->column == 0, "the last line has its end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run whole;
	static struct run cut;
	if (size < HEAD_SIZE)
		return 0;
	log_set_level(LOG_LEVEL_ERROR);
	begin(&whole, data);
	begin(&cut, data);
	feed(&whole, data + HEAD_SIZE, size - HEAD_SIZE, SIZE_MAX);
	feed(&cut, data + HEAD_SIZE, size - HEAD_SIZE, data[1] + 1U);
	end(&whole);
	end(&cut);
	require(whole.said == cut.said && whole.asked == cut.asked &&
			whole.answer_count == cut.answer_count,
		"pieces do not matter");
	return 0;
}
