/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * peer_asker - sends a mail to one peer of a scanner and says its verdict, for test_peers.py.
 *
 *     peer_asker clamd|rspamd|milter PLACE PIECE-SIZE TIMEOUT-MS < MAIL
 *
 * The line of output is "ACTION found|- NAME", or "failed - REASON".
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/peers/peer.h"
#include "lib/process/clock.h"

static const char *const recipients[] = { "user@example.com", "other@example.com" };

static const struct scan_envelope envelope = {
	.client = "192.0.2.66",
	.helo = "client.example",
	.sender = "a@client.example",
	.recipients = recipients,
	.recipient_count = 2,
	.id = "4Q1",
};

static enum scan_peer find_kind(const char *name)
{
	static const char *const names[SCAN_PEER_COUNT] = {
		[SCAN_CLAMD] = "clamd",
		[SCAN_RSPAMD] = "rspamd",
		[SCAN_MILTER] = "milter",
	};
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return (enum scan_peer)i;
	exit(EX_USAGE);
}

static bool has_ended(const struct peer *peer)
{
	return peer_state(peer) == PEER_DONE || peer_state(peer) == PEER_FAILED;
}

/* Until it takes bytes, or has ended. */
static void wait_for_peer(struct peer *peer)
{
	while (peer_state(peer) == PEER_BUSY) {
		struct pollfd ready = { .fd = -1 };
		ready.fd = peer_fd(peer, &ready.events);
		const uint64_t now_ms = clock_now_ms();
		const uint64_t deadline_ms = peer_deadline_ms(peer);
		const uint64_t left_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 0;
		if (poll(&ready, 1, deadline_ms == UINT64_MAX ? -1 : (int)left_ms) < 0)
			exit(EX_OSERR);
		peer_turn(peer);
	}
}

static void push_all(struct peer *peer, size_t piece)
{
	static uint8_t bytes[SCAN_PIECE_MAX];
	ssize_t got;
	while (!has_ended(peer) && (got = read(STDIN_FILENO, bytes, piece)) > 0) {
		wait_for_peer(peer);
		peer_push(peer, bytes, (size_t)got);
		peer_turn(peer);
	}
	wait_for_peer(peer);
	peer_end(peer);
	wait_for_peer(peer);
}

static void print_verdict(const struct peer *peer)
{
	static const char *const words[] = { "accept", "mark", "quarantine", "defer", "reject" };
	if (peer_state(peer) == PEER_FAILED) {
		printf("failed - %s\n", peer_reason(peer));
		return;
	}
	const struct peer_verdict *verdict = peer_verdict(peer);
	printf("%s %s %s\n", words[verdict->action], verdict->is_found ? "found" : "-",
	       verdict->name);
}

int main(int argc, char **argv)
{
	struct peer *peer;
	if (argc != 5)
		return EX_USAGE;
	const enum scan_peer kind = find_kind(argv[1]);
	const size_t piece = strtoul(argv[3], NULL, 10);
	if (piece == 0 || piece > SCAN_PIECE_MAX)
		return EX_USAGE;
	if (peer_open(kind, argv[2], &envelope, (unsigned)strtoul(argv[4], NULL, 10), &peer) != 0)
		return EX_OSERR;
	push_all(peer, piece);
	print_verdict(peer);
	peer_close(peer);
	return EX_OK;
}
