/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/counts/tally.h"

#include <string.h>

static const char *const error_names[TALLY_ERRORS] = {
	[TALLY_CONNECT] = "connect", [TALLY_TIMEOUT] = "timeout", [TALLY_BYE] = "bye",
	[TALLY_NO] = "no",	     [TALLY_BAD] = "bad",	  [TALLY_PROTOCOL] = "protocol",
	[TALLY_CLOSED] = "closed",   [TALLY_SMTP] = "smtp",
};

const char *tally_error_name(enum tally_error error)
{
	return error_names[error];
}

void tally_init(struct tally *ret_tally, uint64_t window_from_ns, uint64_t window_to_ns,
		uint64_t limit_ns)
{
	memset(ret_tally, 0, sizeof(*ret_tally));
	ret_tally->window_from_ns = window_from_ns;
	ret_tally->window_to_ns = window_to_ns;
	ret_tally->limit_ns = limit_ns;
}

bool tally_counts(const struct tally *tally, uint64_t due_ns)
{
	return due_ns >= tally->window_from_ns && due_ns < tally->window_to_ns;
}

static uint64_t passed_ns(uint64_t due_ns, uint64_t now_ns)
{
	return now_ns > due_ns ? now_ns - due_ns : 0;
}

void tally_done(struct tally *tally, enum transaction transaction, uint64_t due_ns, uint64_t now_ns)
{
	struct tally_transaction *counted = &tally->transactions[transaction];
	if (!tally_counts(tally, due_ns))
		return;
	const uint64_t took_ns = passed_ns(due_ns, now_ns);
	counted->count++;
	counted->within += took_ns <= tally->limit_ns;
	figures_add(&counted->took, took_ns);
}

void tally_failed(struct tally *tally, enum transaction transaction, uint64_t due_ns,
		  enum tally_error error)
{
	if (!tally_counts(tally, due_ns))
		return;
	tally->transactions[transaction].count++;
	tally->transactions[transaction].errors++;
	tally->errors[error]++;
}

void tally_unanswered(struct tally *tally, enum transaction transaction, uint64_t due_ns,
		      uint64_t now_ns)
{
	if (!tally_counts(tally, due_ns))
		return;
	tally->transactions[transaction].count++;
	figures_add(&tally->transactions[transaction].took, passed_ns(due_ns, now_ns));
}

void tally_error(struct tally *tally, uint64_t due_ns, enum tally_error error)
{
	tally->errors[error] += tally_counts(tally, due_ns);
}

void tally_session_begun(struct tally *tally, uint64_t due_ns)
{
	tally->sessions_begun += tally_counts(tally, due_ns);
	if (++tally->open > tally->open_max)
		tally->open_max = tally->open;
}

void tally_session_ended(struct tally *tally, uint64_t due_ns, bool has_failed)
{
	const bool is_counted = tally_counts(tally, due_ns);
	tally->open--;
	tally->sessions_ended += is_counted;
	tally->sessions_failed += is_counted && has_failed;
}

void tally_session_left(struct tally *tally)
{
	tally->open--;
}

void tally_late(struct tally *tally, uint64_t due_ns, uint64_t now_ns)
{
	const uint64_t late_ns = passed_ns(due_ns, now_ns);
	if (late_ns > tally->late_max_ns)
		tally->late_max_ns = late_ns;
}
