/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "integration/mail/base/scan/scan_parts.h"
#include "integration/mail/base/scan/verdict.h"
#include "lib/process/clock.h"

/* A decoder process may have to share its processor with many others. */
#define ANSWER_TIMES 6
#define ANSWER_MS    30000

/* ---- peers ---- */

static int open_peers(struct scan *scan, const struct scan_envelope *envelope)
{
	const struct scan_settings *settings = &scan->scanner->settings;
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < SCAN_PEER_COUNT; i++) {
		if (settings->peers[i][0] != '\0')
			ret = peer_open((enum scan_peer)i, settings->peers[i], envelope,
					settings->peer_timeout_ms, &scan->peers[i]);
	}
	return ret;
}

static void close_peers(struct scan *scan)
{
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++) {
		peer_close(scan->peers[i]);
		scan->peers[i] = NULL;
	}
}

static bool is_peer_busy(const struct scan *scan, const struct peer *peer)
{
	if (peer == NULL)
		return false;
	const enum peer_state state = peer_state(peer);
	return state == PEER_BUSY || (state == PEER_OPEN && scan->has_ended);
}

static bool are_peers_busy(const struct scan *scan)
{
	bool is_busy = false;
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++)
		is_busy = is_busy || is_peer_busy(scan, scan->peers[i]);
	return is_busy;
}

/* ---- our own inspection ---- */

static bool has_left(const struct scan *scan)
{
	return scan->left_at < scan->left_end;
}

/* Step by step, as long as the decoder process takes what comes of it. The bytes looked at. */
static size_t inspect_some(struct scan *scan, const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	while (at < size && !apart_is_full(&scan->apart)) {
		const size_t step = size - at < SCAN_STEP ? size - at : SCAN_STEP;
		inspect_push(scan->inspection, bytes + at, step);
		at += step;
		if (apart_is_full(&scan->apart))
			apart_turn(&scan->apart, clock_now_ms());
	}
	return at;
}

static void keep_left(struct scan *scan, const uint8_t *bytes, size_t size)
{
	/* Only a caller that does not look at scan_is_busy() has more than there is room for. */
	const size_t room = sizeof(scan->left) - scan->left_end;
	const size_t part = size < room ? size : room;
	memcpy(scan->left + scan->left_end, bytes, part);
	scan->left_end += part;
	if (part < size)
		inspect_add(scan->inspection, &(struct inspect_finding){ .class_ = INSPECT_BUSY,
									 .name = "busy: pieces" });
}

/* Behind the mail's end, when all of it was looked at. */
static void finish(struct scan *scan)
{
	if (!scan->has_ended || has_left(scan))
		return;
	inspect_end(scan->inspection, scan->is_whole);
	apart_finish(&scan->apart, clock_now_ms());
}

static void look_at_left(struct scan *scan)
{
	if (!has_left(scan))
		return;
	scan->left_at +=
		inspect_some(scan, scan->left + scan->left_at, scan->left_end - scan->left_at);
	if (has_left(scan))
		return;
	scan->left_at = 0;
	scan->left_end = 0;
	finish(scan);
}

/* ---- the verdict ---- */

static void ask_peer(const struct peer *peer, struct verdict_peer *ret_peer)
{
	*ret_peer = (struct verdict_peer){ .is_asked = peer != NULL };
	if (peer == NULL)
		return;
	if (peer_state(peer) == PEER_FAILED) {
		ret_peer->has_failed = true;
		ret_peer->name = peer_reason(peer);
		return;
	}
	const struct peer_verdict *verdict = peer_verdict(peer);
	ret_peer->is_found = verdict->is_found;
	ret_peer->action = verdict->action;
	ret_peer->name = verdict->name;
}

static void decide(struct scan *scan)
{
	struct verdict_peer peers[SCAN_PEER_COUNT];
	if (scan->is_decided || !scan->has_ended || scan_is_busy(scan))
		return;
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++)
		ask_peer(scan->peers[i], &peers[i]);
	verdict_make(&scan->scanner->settings, inspect_result(scan->inspection), peers,
		     &scan->verdict);
	scan->is_decided = true;
}

/* ---- what callers see ---- */

static int begin_inspection(struct scan *scan, enum inspect_kind kind)
{
	const struct scan_settings *settings = &scan->scanner->settings;
	const struct apart_options options = {
		.ask_fd = scan->scanner->ask_fd,
		.wait_ms = settings->decoder_wait_ms,
		.answer_ms = settings->cpu_ms * ANSWER_TIMES + ANSWER_MS,
	};
	const struct inspect_rules rules = { .budget = settings->budget,
					     .apart = &apart_functions,
					     .apart_context = &scan->apart };
	apart_init(&scan->apart, scan->kept, &options);
	scan->apart.now_ms = clock_now_ms();
	const int ret = inspect_begin(scan->set->pool, kind, &rules, &scan->inspection);
	scan->apart.inspection = scan->inspection;
	return ret;
}

int scan_begin(struct scanner *scanner, enum inspect_kind kind,
	       const struct scan_envelope *envelope, struct scan **ret_scan)
{
	struct scan *scan = (struct scan *)slots_take(&scanner->scans);
	if (scan == NULL)
		return -EAGAIN;
	memset(scan, 0, offsetof(struct scan, apart));
	scan->scanner = scanner;
	scan->set = scanner->set;
	scan->set->scan_count++;
	if (begin_inspection(scan, kind) != 0 || open_peers(scan, envelope) != 0) {
		scan_free(scan);
		return -EAGAIN;
	}
	*ret_scan = scan;
	return 0;
}

void scan_push(struct scan *scan, const uint8_t *bytes, size_t size)
{
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++) {
		if (scan->peers[i] != NULL)
			peer_push(scan->peers[i], bytes, size);
	}
	const size_t used = has_left(scan) ? 0 : inspect_some(scan, bytes, size);
	if (used < size)
		keep_left(scan, bytes + used, size - used);
	if (!apart_is_done(&scan->apart))
		scan_turn(scan);
}

void scan_end(struct scan *scan, bool is_whole)
{
	if (scan->has_ended)
		return;
	scan->has_ended = true;
	scan->is_whole = is_whole;
	for (unsigned i = 0; is_whole && i < SCAN_PEER_COUNT; i++) {
		if (scan->peers[i] != NULL)
			peer_end(scan->peers[i]);
	}
	if (!is_whole)
		close_peers(scan);
	finish(scan);
	decide(scan);
}

bool scan_is_busy(const struct scan *scan)
{
	return has_left(scan) || are_peers_busy(scan) ||
	       (scan->has_ended && !apart_is_done(&scan->apart));
}

size_t scan_poll(const struct scan *scan, struct pollfd *ret_fds, int *ret_timeout_ms)
{
	uint64_t until_ms = UINT64_MAX;
	size_t count = 0;
	short events;
	const int apart = apart_fd(&scan->apart, &events, &until_ms);
	if (apart >= 0)
		ret_fds[count++] = (struct pollfd){ .fd = apart, .events = events };
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++) {
		const struct peer *peer = scan->peers[i];
		const int fd = peer != NULL ? peer_fd(peer, &events) : -1;
		const uint64_t peer_ms = peer != NULL ? peer_deadline_ms(peer) : UINT64_MAX;
		until_ms = peer_ms < until_ms ? peer_ms : until_ms;
		if (fd >= 0)
			ret_fds[count++] = (struct pollfd){ .fd = fd, .events = events };
	}
	const uint64_t now_ms = clock_now_ms();
	const uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
	*ret_timeout_ms = until_ms == UINT64_MAX ? -1 : left_ms < INT_MAX ? (int)left_ms : INT_MAX;
	return count;
}

void scan_turn(struct scan *scan)
{
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++) {
		if (scan->peers[i] != NULL)
			peer_turn(scan->peers[i]);
	}
	apart_turn(&scan->apart, clock_now_ms());
	look_at_left(scan);
	if (scan->apart.is_lost) {
		scan->apart.is_lost = false;
		scan_note_lost(scan->scanner);
	}
	decide(scan);
}

int scan_wait(struct scan *scan)
{
	while (scan_is_busy(scan)) {
		struct pollfd fds[SCAN_POLL_MAX];
		int timeout_ms;
		const size_t count = scan_poll(scan, fds, &timeout_ms);
		if (poll(fds, count, timeout_ms) < 0 && errno != EINTR)
			return -errno;
		scan_turn(scan);
	}
	return 0;
}

bool scan_has_found(const struct scan *scan)
{
	return inspect_result(scan->inspection)->counts[INSPECT_SIGNATURE] > 0;
}

const struct scan_verdict *scan_verdict(const struct scan *scan)
{
	/* What a caller sees that asks too early. */
	static const struct scan_verdict none = { .action = SCAN_DEFER, .code = 451 };
	return scan->is_decided ? &scan->verdict : &none;
}

void scan_free(struct scan *scan)
{
	if (scan == NULL)
		return;
	close_peers(scan);
	if (scan->inspection != NULL)
		inspect_free(scan->inspection);
	apart_deinit(&scan->apart);
	scan_leave_set(scan->scanner, scan->set);
	slots_give(&scan->scanner->scans, scan);
}
