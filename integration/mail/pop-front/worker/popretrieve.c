/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/worker/popretrieve.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "lib/common/wholefile.h"
#include "lib/pop3/pop3_top.h"

/* For one call, which ends sooner when the socket is full. */
#define SEND_MAX (1U << 20)

/* When the client has to have taken something. */
static int64_t send_deadline(const struct popretrieve *mail)
{
	const int64_t due_ms = stream_deadline(mail->send_timeout_ms);
	return mail->end_ms == 0 || due_ms < mail->end_ms ? due_ms : mail->end_ms;
}

/* All of it; MAILSTORE_EDAMAGED where the segment ends before. */
static int read_all(const struct popretrieve *mail, uint64_t from, uint8_t *bytes, size_t size)
{
	const int ret = wholefile_get(mail->fd, mail->at + from, bytes, size);
	return ret == -ENODATA ? MAILSTORE_EDAMAGED : ret;
}

int popretrieve_read(const struct popretrieve *mail, uint8_t *bytes)
{
	const int ret = read_all(mail, 0, bytes, (size_t)mail->size);
	if (ret != 0)
		return ret;
	return mailrecord_crc(0, bytes, (size_t)mail->size) == mail->crc ? 0 : MAILSTORE_EDAMAGED;
}

/* ---- a large one ---- */

struct sending {
	const struct popretrieve *mail;
	struct stream *stream;
	uint8_t *room;
	uint64_t sent;
	uint64_t summed; /* not behind sent but at the end */
	uint32_t crc;
};

static int sum_some(struct sending *sending, uint64_t limit)
{
	const uint64_t left = limit - sending->summed;
	const size_t size = left < POPRETRIEVE_SMALL_MAX ? (size_t)left : POPRETRIEVE_SMALL_MAX;
	const int ret = read_all(sending->mail, sending->summed, sending->room, size);
	if (ret != 0)
		return ret;
	sending->crc = mailrecord_crc(sending->crc, sending->room, size);
	sending->summed += size;
	return 0;
}

static int wait_for_room(const struct sending *sending)
{
	struct pollfd poller = { .fd = sending->stream->fd, .events = POLLOUT };
	const int64_t left_ms = send_deadline(sending->mail) - stream_deadline(0);
	if (left_ms <= 0)
		return -ETIMEDOUT;
	const int ready = poll(&poller, 1, (int)left_ms);
	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	return ready == 0 ? -ETIMEDOUT : 0;
}

/* The socket is full: there is time for the sum. */
static int use_time(struct sending *sending)
{
	if (sending->summed < sending->sent)
		return sum_some(sending, sending->sent);
	return wait_for_room(sending);
}

static int send_some(struct sending *sending)
{
	const struct popretrieve *mail = sending->mail;
	const uint64_t left = mail->size - sending->sent;
	off_t at = (off_t)(mail->at + sending->sent);
	const ssize_t sent = sendfile(sending->stream->fd, mail->fd, &at,
				      left < SEND_MAX ? (size_t)left : SEND_MAX);
	if (sent > 0) {
		sending->sent += (uint64_t)sent;
		sending->stream->bytes_out += (uint64_t)sent;
		return 0;
	}
	if (sent == 0)
		return MAILSTORE_EDAMAGED; /* the segment ends before */
	if (errno == EAGAIN)
		return use_time(sending);
	return errno == EINTR ? 0 : -errno;
}

/* Packets are full until the end of the answer; of another kind of socket it means nothing. */
static void cork(const struct stream *stream, int is_corked)
{
	(void)setsockopt(stream->fd, IPPROTO_TCP, TCP_CORK, &is_corked, sizeof(is_corked));
}

int popretrieve_send(const struct popretrieve *mail, struct stream *stream, uint8_t *room)
{
	struct sending sending = { .mail = mail, .stream = stream, .room = room };
	cork(stream, 1);
	int ret = stream_flush(stream, send_deadline(mail));
	while (ret == 0 && sending.sent < mail->size)
		ret = send_some(&sending);
	while (ret == 0 && sending.summed < mail->size)
		ret = sum_some(&sending, mail->size);
	cork(stream, 0);
	if (ret != 0)
		return ret;
	return sending.crc == mail->crc ? 0 : MAILSTORE_EDAMAGED;
}

/* ---- the beginning of one ---- */

int popretrieve_top(const struct popretrieve *mail, uint64_t line_count, struct stream *stream,
		    uint8_t *room)
{
	struct pop3_top top;
	uint64_t at = 0;
	uint32_t crc = 0;
	int ret = 0;
	pop3_top_init(&top, line_count);
	while (ret == 0 && at < mail->size && !top.is_done) {
		const uint64_t left = mail->size - at;
		const size_t size = left < STREAM_OUT_MAX ? (size_t)left : STREAM_OUT_MAX;
		ret = read_all(mail, at, room, size);
		if (ret != 0)
			break;
		crc = mailrecord_crc(crc, room, size);
		at += size;
		if (at == mail->size && crc != mail->crc)
			return MAILSTORE_EDAMAGED;
		ret = stream_put(stream, room, pop3_top_take(&top, room, size),
				 send_deadline(mail));
	}
	return ret;
}
