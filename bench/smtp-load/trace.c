/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/trace.h"

#include <math.h>

static const char *const kind_names[] = { "mail", "bounce", "unfinished" };
static const char *const point_names[] = { "connect", "helo", "mail", "rcpt" };

/* What random numbers are for; the gaps have theirs beside the sessions'. */
enum purpose { FOR_SESSION, FOR_GAP };

/* ---- numbers: splitmix64, begun anew for each session ---- */

static uint64_t draw(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	uint64_t number = *state;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return number ^ number >> 31;
}

static uint64_t begin(uint64_t seed, uint64_t number, enum purpose purpose)
{
	uint64_t state = seed;
	uint64_t mixed = draw(&state) ^ number;
	mixed = draw(&mixed) + purpose;
	return draw(&mixed);
}

/* 0 included, 1 not. */
static double draw_share(uint64_t *state)
{
	return (double)(draw(state) >> 11) * 0x1p-53;
}

static unsigned draw_below(uint64_t *state, unsigned count)
{
	return (unsigned)(draw_share(state) * count);
}

/* ---- properties; each takes as many numbers whatever the options are ---- */

static enum trace_kind draw_kind(const struct trace_options *options, uint64_t *state)
{
	double share = draw_share(state);
	if (share < options->bounces)
		return TRACE_BOUNCE;
	/* From the other end: more bounces do not turn the same sessions into other kinds. */
	return share >= 1 - options->unfinished ? TRACE_UNFINISHED : TRACE_MAIL;
}

static enum trace_point draw_point(unsigned points, uint64_t *state)
{
	unsigned skip = draw_below(state, (unsigned)__builtin_popcount(points));
	for (; skip > 0; skip--)
		points &= points - 1;
	return (enum trace_point)__builtin_ctz(points);
}

static unsigned draw_recipients(const struct trace_options *options, bool is_spam, uint64_t *state)
{
	double share = draw_share(state);
	if (is_spam)
		return options->spam_min +
		       (unsigned)(share * (options->spam_max - options->spam_min + 1));
	if (options->ham_mean <= 1)
		return 1;
	/* As often one more as makes that mean. */
	double more = log(1 - share) / log(1 - 1 / options->ham_mean);
	return more < TRACE_RECIPIENTS_MAX - 1 ? 1 + (unsigned)more : TRACE_RECIPIENTS_MAX;
}

/* SPECmail2001's, see trace.h. */
static unsigned draw_messages(uint64_t *state)
{
	const double none = 0.2650;
	const double one = 0.1611;
	const double two = 0.1225;
	const double more = 1 - none - one;
	const double share = draw_share(state);
	if (share < none + one)
		return share >= none;
	/* Of those with more, each number has as large a part of what the one before it leaves. */
	const double left = (1 - share) / more;
	const double above = log(left) / log(1 - two / more);
	return above < TRACE_MESSAGES_MAX - 2 ? 2 + (unsigned)above : TRACE_MESSAGES_MAX;
}

static unsigned draw_size(const struct trace_options *options, uint64_t *state)
{
	double radius = sqrt(-2 * log(1 - draw_share(state)));
	double normal = radius * cos(2 * M_PI * draw_share(state));
	double size = options->size_bytes * exp(options->size_sigma * normal);
	if (size <= options->size_min)
		return options->size_min;
	return size >= options->size_max ? options->size_max : (unsigned)size;
}

/* ---- outside ---- */

void trace_set_defaults(struct trace_options *ret_options)
{
	*ret_options = (struct trace_options){
		.seed = 1,
		.points = (1u << TRACE_POINTS) - 1,
		.spam_min = 5,
		.spam_max = 15,
		.ham_mean = 1.02,
		.users = 1000,
		.size_bytes = 4096,
		.size_min = 64,
		.size_max = 1u << 20,
	};
}

static bool is_share(double share)
{
	return share >= 0 && share <= 1;
}

const char *trace_check(const struct trace_options *options)
{
	if (!is_share(options->bounces) || !is_share(options->unfinished) ||
	    !is_share(options->spam))
		return "a share is from 0 to 1";
	if (options->bounces + options->unfinished > 1)
		return "bounces and unfinished sessions are more than all";
	if (options->points == 0 || options->points >> TRACE_POINTS != 0)
		return "no point at which to leave";
	if (options->spam_min < 1 || options->spam_min > options->spam_max ||
	    options->spam_max > TRACE_RECIPIENTS_MAX)
		return "spam has 1 to 100 recipients, the least first";
	if (!(options->ham_mean >= 1 && options->ham_mean <= TRACE_RECIPIENTS_MAX))
		return "other mail has a mean of 1 to 100 recipients";
	if (options->users < 1)
		return "no users";
	if (!(options->size_sigma >= 0 && options->size_sigma <= 10))
		return "the sigma of sizes is from 0 to 10";
	if (options->size_min > options->size_max || options->size_max > TRACE_SIZE_MAX)
		return "sizes have an end before their beginning, or above 64 MiB";
	return NULL;
}

void trace_make(const struct trace_options *options, uint64_t number,
		struct trace_session *ret_session)
{
	uint64_t state = begin(options->seed, number, FOR_SESSION);
	struct trace_session session = { .number = number };

	session.kind = draw_kind(options, &state);
	session.point = draw_point(options->points, &state);
	session.is_spam = draw_share(&state) < options->spam;
	session.recipients = draw_recipients(options, session.is_spam, &state);
	session.first_user = draw_below(&state, options->users);
	session.size_bytes = draw_size(options, &state);
	uint64_t high = draw(&state);
	uint64_t low = draw(&state);
	session.messages = draw_messages(&state);
	session.has_client = options->clients != NULL && clients_has_any(options->clients);
	if (session.has_client)
		session.client = clients_get(options->clients, number, high, low);
	*ret_session = session;
}

double trace_gap_s(const struct trace_options *options, uint64_t number, double rate)
{
	uint64_t state = begin(options->seed, number, FOR_GAP);
	return -log(1 - draw_share(&state)) / rate;
}

const char *trace_kind_name(enum trace_kind kind)
{
	return kind_names[kind];
}

const char *trace_point_name(enum trace_point point)
{
	return point_names[point];
}
