/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes of a server of IMAP, while a client sends some commands: events, faults, mails, what is sent, and the
 * view in the end do not depend on where the bytes are cut; the view's counts are those of its rows.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one
 *        1      1   how many commands (4 bits)
 *        2      .   commands, a byte each: see orders
 *        .      .   what the server says; each command begins when the one before has ended
 */

#include "bench/users-load/imap/imaptalk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct order {
	unsigned command;
	const char *name;
	uint32_t first, last;
	uint8_t flags;
	bool has_mail, is_woken;
};

static const struct order orders[] = {
	{ TRANSACTION_LOGIN, "user", 0, 0, 0, false, false },
	{ TRANSACTION_LIST, NULL, 0, 0, 0, false, false },
	{ TRANSACTION_STATUS, "a/b", 0, 0, 0, false, false },
	{ TRANSACTION_SELECT, "INBOX", 0, 0, 0, false, false },
	{ TRANSACTION_FETCH_HEADERS, NULL, 1, 3, 0, false, false },
	{ TRANSACTION_FETCH_FLAGS, NULL, 1, UINT32_MAX, 0, false, false },
	{ TRANSACTION_FETCH_STRUCTURE, NULL, 2, 2, 0, false, false },
	{ TRANSACTION_FETCH_BODY, NULL, 3, 4, 0, false, false },
	{ TRANSACTION_SEARCH, NULL, 0, 0, 0, false, false },
	{ TRANSACTION_STORE, NULL, 1, 2, BEHAVIOUR_DELETED, false, false },
	{ TRANSACTION_COPY, "b", 1, 1, 0, false, false },
	{ TRANSACTION_APPEND, "Sent", 0, 0, BEHAVIOUR_SEEN, true, false },
	{ TRANSACTION_EXPUNGE, NULL, 0, 0, 0, false, false },
	{ BEHAVIOUR_IDLE, NULL, 0, 0, 0, false, false },
	{ BEHAVIOUR_IDLE, NULL, 0, 0, 0, false, true },
	{ IMAPTALK_NOOP, NULL, 0, 0, 0, false, false },
	{ IMAPTALK_STARTTLS, NULL, 0, 0, 0, false, false },
	{ IMAPTALK_MOVE, "b", 1, 2, 0, false, false },
	{ TRANSACTION_EXPUNGE, NULL, 1, 2, 0, false, false },
	{ IMAPTALK_CLOSE, NULL, 0, 0, 0, false, false },
	{ IMAPTALK_DELETE, "b", 0, 0, 0, false, false },
	{ TRANSACTION_LOGIN, "us\xc3\xa9r", 0, 0, 0, false, false },
	{ BEHAVIOUR_LOGOUT, NULL, 0, 0, 0, false, false },
};

struct run {
	uint64_t hash;
	size_t at; /* of the commands */
};

static void require(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "imaptalk: %s\n", what);
	abort();
}

static void add(struct run *run, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		run->hash = (run->hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211U;
}

static void on_mail(void *context, const struct imaptalk_mail *mail)
{
	const uint64_t numbers[] = { mail->sequence,
				     mail->uid,
				     mail->flags,
				     mail->has_header,
				     mail->has_id,
				     (uint64_t)mail->internal_s,
				     mail->size_bytes,
				     mail->body_bytes,
				     mail->has_id ? mail->run : 0,
				     mail->has_id ? mail->number : 0 };
	add(context, numbers, sizeof(numbers));
}

static void on_folder(void *context, const char *name, bool can_select)
{
	add(context, name, strlen(name));
	add(context, &can_select, sizeof(can_select));
}

static void on_fault(void *context, enum imaptalk_fault fault)
{
	require(fault != IMAPTALK_FAULT_MEMORY && *imaptalk_fault_text(fault) != '\0',
		"a fault has words");
	add(context, &fault, sizeof(fault));
}

static void check_view(const struct imapview *view)
{
	uint32_t deleted = 0, unknown = 0, known = 0;
	for (uint32_t i = 0; i < view->count; i++) {
		deleted += (view->rows[i].flags & IMAPREADER_DELETED) != 0;
		unknown += view->rows[i].uid == 0;
		known += known == i && view->rows[i].has_header;
		require(view->unknown > 0 || i == 0 || view->rows[i - 1].uid < view->rows[i].uid,
			"UIDs ascend");
	}
	require(deleted == view->deleted && unknown == view->unknown && known == view->known,
		"the counts of the view are those of its rows");
}

/* All that is to be sent, in two pieces. */
static void send_all(struct run *run, struct imaptalk *talk)
{
	char bytes[3000];
	size_t size = 0;
	while ((size = imaptalk_output(talk, bytes, sizeof(bytes))) > 0) {
		const size_t part = size / 2 + 1;
		add(run, bytes, part);
		imaptalk_sent(talk, part);
		require(imaptalk_output(talk, bytes, sizeof(bytes)) == size - part,
			"what was not sent is left");
	}
}

static void start_next(struct run *run, struct imaptalk *talk, const uint8_t *commands,
		       size_t count)
{
	static const struct mailplan mail = { .size_bytes = 0 };
	int ret = -1;
	while (ret != 0 && run->at < count) {
		const struct order *order =
			&orders[commands[run->at++] % (sizeof(orders) / sizeof(orders[0]))];
		const struct behaviour_step step = { .command = order->command,
						     .first = order->first,
						     .last = order->last,
						     .client = (uint8_t)run->at,
						     .flags = order->flags };
		ret = imaptalk_start(talk, &step, order->name, order->has_mail ? &mail : NULL);
		add(run, &ret, sizeof(ret));
		if (ret == 0 && order->is_woken)
			imaptalk_wake(talk);
	}
}

static void take_event(struct run *run, struct imaptalk *talk, enum imaptalk_event event,
		       const uint8_t *commands, size_t count)
{
	const char *text = imaptalk_text(talk);
	if (event != IMAPTALK_GOES_ON) {
		add(run, &event, sizeof(event));
		add(run, text, strlen(text));
	}
	if (event == IMAPTALK_NEWS)
		imaptalk_wake(talk);
	if (event == IMAPTALK_GREETED || event == IMAPTALK_DONE)
		start_next(run, talk, commands, count);
	send_all(run, talk);
}

static uint64_t talk_once(const uint8_t *commands, size_t count, const char *said, size_t size,
			  size_t piece)
{
	static const struct imaptalk_calls calls = { on_mail, on_folder, on_fault };
	static const struct imaptalk_rules rules = { .calls = &calls,
						     .password = "a\"b",
						     .literal_max = 1000 };
	struct run run = { .hash = 14695981039346656037U };
	struct imaptalk talk;
	enum imaptalk_event event = IMAPTALK_GOES_ON;
	imaptalk_init(&talk, &rules, &run);
	for (size_t at = 0; at < size && event != IMAPTALK_BROKEN && event != IMAPTALK_BYE;) {
		size_t taken = 0;
		const size_t part = size - at < piece ? size - at : piece;
		event = imaptalk_input(&talk, said + at, part, &taken);
		require(taken <= part, "it takes what there is");
		at += taken;
		take_event(&run, &talk, event, commands, count);
	}
	check_view(&talk.view);
	require((event == IMAPTALK_BROKEN) == (imaptalk_fault(&talk) != IMAPTALK_FAULT_NONE),
		"what is broken has a reason");
	add(&run, &talk.view.count, sizeof(talk.view.count));
	imaptalk_deinit(&talk);
	return run.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t count = size < 2 ? 0 : data[1] % 16U;
	if (size < 2 + count)
		return 0;
	const char *said = (const char *)data + 2 + count;
	const size_t said_size = size - 2 - count;
	require(talk_once(data + 2, count, said, said_size, SIZE_MAX) ==
			talk_once(data + 2, count, said, said_size, data[0] + 1U),
		"pieces do not matter");
	return 0;
}
