/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a peer of a scanner does while it is given a mail: says anything, in any pieces, takes a
 * few bytes or none, closes. Whatever it is, the verdict is one that can be, what goes out is what
 * its protocol permits, and an end is an end.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   0x03: the kind; 0x04: the connection takes a while; 0x08: it is refused then
 *        1      .   steps, a byte and perhaps others:
 *                   0 SIZE   bytes of the mail, 64 times as many less 63, if it takes any
 *                   1        the mail's end
 *                   2 SIZE   so many of the following bytes are said
 *                   3 SIZE   room for 16 times as many bytes more
 *                   4        it closes
 *                   5        it is gone: no write is taken, and no read but what is there
 *
 * The system calls of a connection are here.
 */

#include "integration/mail/base/peers/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SENT_MAX (1 << 20)

struct play {
	enum scan_peer kind;
	bool is_slow, is_refused;
	const uint8_t *said;
	size_t said_size;
	size_t room;
	bool is_closed, is_gone;
	uint8_t *sent; /* all that has gone out */
	size_t sent_size;
	size_t pushed_size;
	bool is_ended;
	enum peer_state state; /* the last */
};

static struct play play;

/* ---- instead of the kernel ---- */

int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags);

int __wrap_socket(int domain, int type, int protocol)
{
	(void)domain;
	(void)type;
	(void)protocol;
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	(void)fd;
	(void)address;
	(void)size;
	errno = EINPROGRESS;
	return play.is_slow ? -1 : 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	(void)timeout_ms;
	fds[0].revents = fds[0].events;
	return (int)count;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	const int error = play.is_refused ? ECONNREFUSED : 0;
	(void)fd;
	(void)level;
	(void)name;
	memcpy(value, &error, sizeof(error));
	*size = sizeof(error);
	return 0;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	size_t sent = 0;
	(void)fd;
	(void)flags;
	if (play.is_gone) {
		errno = EPIPE;
		return -1;
	}
	for (size_t i = 0; i < message->msg_iovlen; i++) {
		const struct iovec *part = &message->msg_iov[i];
		const size_t count = part->iov_len < play.room ? part->iov_len : play.room;
		require(play.sent_size + count <= SENT_MAX, "no more than a peer has room for");
		if (count > 0)
			memcpy(play.sent + play.sent_size, part->iov_base, count);
		play.sent_size += count;
		play.room -= count;
		sent += count;
	}
	errno = EAGAIN;
	return sent > 0 ? (ssize_t)sent : -1;
}

ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags)
{
	const size_t count = size < play.said_size ? size : play.said_size;
	(void)fd;
	(void)flags;
	if (count == 0 && (play.is_closed || play.is_gone))
		return 0;
	errno = EAGAIN;
	if (count == 0)
		return -1;
	memcpy(buffer, play.said, count);
	play.said += count;
	play.said_size -= count;
	return (ssize_t)count;
}

/* ---- what must hold ---- */

static void check_text(const char *text, size_t size)
{
	const size_t length = strnlen(text, size);
	require(length < size, "a text that ends");
	for (size_t i = 0; i < length; i++)
		require(text[i] >= ' ' && text[i] <= '~', "printable text");
}

static void check_state(struct peer *peer)
{
	short events;
	const enum peer_state state = peer_state(peer);
	const bool is_over = state == PEER_DONE || state == PEER_FAILED;
	require(play.state < PEER_DONE || state == play.state, "an end that is an end");
	require(is_over == (peer_fd(peer, &events) < 0), "a descriptor until the end");
	require(!is_over || peer_deadline_ms(peer) == UINT64_MAX, "no time behind the end");
	require(state != PEER_BUSY || peer_deadline_ms(peer) != UINT64_MAX, "a time when busy");
	play.state = state;
	if (state == PEER_FAILED) {
		require(peer_reason(peer)[0] != '\0', "a reason");
		check_text(peer_reason(peer), SCAN_TEXT_MAX);
	}
	if (state == PEER_DONE) {
		const struct peer_verdict *verdict = peer_verdict(peer);
		require(verdict->action <= SCAN_REJECT && verdict->action != SCAN_QUARANTINE,
			"an action of a peer");
		require(play.kind == SCAN_MILTER || play.is_ended || verdict->is_found,
			"nothing is clean before its end");
		check_text(verdict->name, SCAN_TEXT_MAX);
	}
}

static size_t read_size(const uint8_t *bytes)
{
	return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Whole chunks of what was pushed, the last perhaps on its way. */
static void check_clamd(void)
{
	static const char command[] = "zINSTREAM";
	size_t at = sizeof(command);
	size_t total = 0;
	bool has_end = false;
	require(memcmp(play.sent, command, play.sent_size < at ? play.sent_size : at) == 0,
		"clamd's command");
	while (at + 4 <= play.sent_size) {
		const size_t size = read_size(play.sent + at);
		require(!has_end, "nothing behind the end");
		has_end = size == 0;
		total += size;
		at += 4 + size;
	}
	require(total <= play.pushed_size &&
			(!has_end || (play.is_ended && total == play.pushed_size)),
		"chunks of the mail");
}

/* Packets in the order of their steps, of which the last may be on its way. */
static void check_milter(void)
{
	static const char order[] = "OCHMRTLNBE";
	size_t last = 0;
	for (size_t at = 0; at + 5 <= play.sent_size;) {
		const size_t size = read_size(play.sent + at);
		const char letter = (char)play.sent[at + 4];
		require(size > 0 && size <= SCAN_PIECE_MAX + 1, "a packet's size");
		at += 4 + size;
		if (letter == 'D')
			continue;
		if (letter == 'Q') {
			require(at == play.sent_size, "nothing behind the end");
			return;
		}
		const char *found = strchr(order, letter);
		require(found != NULL, "a packet's letter");
		const size_t place = (size_t)(found - order);
		require(place > last || (place == last && strchr("ORLB", letter) != NULL),
			"packets in their order");
		last = place;
	}
}

/* ---- the play ---- */

static const char *const recipients[] = { "a@b", "c@d" };

static const struct scan_envelope envelope = {
	"192.0.2.1", "h.example", "s@t", recipients, 2, "id"
};

static void push(struct peer *peer, size_t size)
{
	static const char mail[] = "A: b\r\n c\r\nSubject: x\r\n\r\nbody\r\n.\r\n";
	static uint8_t bytes[256 * 64];
	if (peer_state(peer) != PEER_OPEN)
		return;
	for (size_t i = 0; i < size; i++) {
		const size_t at = play.pushed_size + i;
		bytes[i] = (uint8_t)(at < sizeof(mail) - 1 ? mail[at] : 'x');
	}
	play.pushed_size += size;
	peer_push(peer, bytes, size);
}

static void end(struct peer *peer)
{
	if (peer_state(peer) >= PEER_DONE)
		return;
	play.is_ended = true;
	peer_end(peer);
}

/* A step; how many bytes of data it has. */
static size_t act(struct peer *peer, const uint8_t *data, size_t size)
{
	const size_t count = size > 1 ? data[1] : 0;
	switch (data[0] % 6) {
	case 0:
		push(peer, count * 64 + 1);
		return 2;
	case 1:
		end(peer);
		return 1;
	case 2:
		play.said = data + 2;
		play.said_size = size < 2 ? 0 : count < size - 2 ? count : size - 2;
		const size_t said_size = play.said_size;
		peer_turn(peer);
		play.said_size = 0;
		return 2 + said_size;
	case 3:
		play.room += count * 16;
		peer_turn(peer);
		return 2;
	case 4:
		play.is_closed = true;
		break;
	default:
		play.is_gone = true;
		break;
	}
	peer_turn(peer);
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t sent[SENT_MAX];
	struct peer *peer;
	if (size < 1)
		return 0;
	play = (struct play){ .kind = (enum scan_peer)((data[0] & 3) % SCAN_PEER_COUNT),
			      .is_slow = (data[0] & 4) != 0,
			      .is_refused = (data[0] & 8) != 0,
			      .room = 200,
			      .sent = sent };
	require(peer_open(play.kind, "/peer", &envelope, 1000000000, &peer) == 0, "memory");
	check_state(peer);
	for (size_t at = 1; at < size && play.sent_size + play.room < SENT_MAX / 2;) {
		const size_t used = act(peer, data + at, size - at);
		check_state(peer);
		at += used;
	}
	peer_close(peer);
	if (play.kind == SCAN_CLAMD)
		check_clamd();
	if (play.kind == SCAN_MILTER)
		check_milter();
	return 0;
}
