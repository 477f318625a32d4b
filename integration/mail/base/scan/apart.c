/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/apart.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/content/little.h"
#include "lib/process/child.h"

/* How often the template is asked that has no room for a question. */
#define LOOK_MS 5
/* How long it may take to say how a process has ended. */
#define STATUS_MS 30000
/* A decoder tells far fewer findings of a mail, or was taken over. */
#define TOLD_MAX 1024
/* A frame that is kept has its size before it. */
#define SIZE_SIZE sizeof(uint32_t)

void apart_init(struct apart *ret_apart, uint8_t *kept, const struct apart_options *options)
{
	memset(ret_apart, 0, offsetof(struct apart, frame));
	ret_apart->options = *options;
	ret_apart->link = (struct template_link){ -1, -1 };
	ret_apart->kept = kept;
	ret_apart->last_at = SIZE_MAX;
}

static bool is_at_work(const struct apart *apart)
{
	return apart->state == APART_WAITING || apart->state == APART_RUNNING ||
	       apart->state == APART_ENDED;
}

/* ---- frames that are kept ---- */

static void drop_kept(struct apart *apart)
{
	/* What a burst took is given back; the usual pages stay. */
	if (apart->kept_most > (size_t)2 * APART_FULL) {
		const size_t page = (size_t)sysconf(_SC_PAGESIZE);
		const size_t before = (page - (uintptr_t)apart->kept % page) % page;
		madvise(apart->kept + before, (APART_KEPT - before) / page * page, MADV_DONTNEED);
		apart->kept_most = 0;
	}
	apart->kept_begin = 0;
	apart->kept_end = 0;
	apart->last_at = SIZE_MAX;
}

void apart_deinit(struct apart *apart)
{
	drop_kept(apart);
	template_link_close(&apart->link);
}

/* All of it is over, with one finding. */
static void fail(struct apart *apart, enum inspect_class class_, const char *name)
{
	struct inspect_finding finding = { .class_ = class_ };
	if (!is_at_work(apart))
		return;
	apart->state = APART_FAILED;
	snprintf(finding.name, sizeof(finding.name), "%s", name);
	memcpy(finding.path, apart->path, sizeof(finding.path));
	inspect_add(apart->inspection, &finding);
	drop_kept(apart);
	template_link_close(&apart->link);
}

/* The room of frames that are sent, which small ones use up long before all are. */
static void close_up(struct apart *apart)
{
	memmove(apart->kept, apart->kept + apart->kept_begin, apart->kept_end - apart->kept_begin);
	if (apart->last_at != SIZE_MAX)
		apart->last_at -= apart->kept_begin;
	apart->kept_end -= apart->kept_begin;
	apart->kept_begin = 0;
}

/* Room for a frame of size at the end; NULL: a bomb. */
static uint8_t *extend(struct apart *apart, size_t size)
{
	if (apart->kept_begin > 0 && apart->kept_end + SIZE_SIZE + size > APART_KEPT)
		close_up(apart);
	if (apart->kept_end + SIZE_SIZE + size > APART_KEPT) {
		fail(apart, INSPECT_BOMB, "bomb: burst");
		return NULL;
	}
	return apart->kept + apart->kept_end + SIZE_SIZE;
}

static void commit(struct apart *apart, size_t size)
{
	const uint32_t size_of_it = (uint32_t)size;
	memcpy(apart->kept + apart->kept_end, &size_of_it, SIZE_SIZE);
	apart->last_at = apart->kept_end;
	apart->kept_end += SIZE_SIZE + size;
	if (apart->kept_end > apart->kept_most)
		apart->kept_most = apart->kept_end;
}

static void keep(struct apart *apart, const struct scan_frame *frame)
{
	if (!is_at_work(apart))
		return;
	uint8_t *bytes = extend(apart, SCAN_FRAME_SMALL + frame->size);
	if (bytes != NULL)
		commit(apart, scan_frame_write(frame, bytes));
}

/* Into the frame of data that is kept last, when that is of the same archive. The bytes taken. */
static size_t keep_more(struct apart *apart, unsigned number, const uint8_t *bytes, size_t size)
{
	uint32_t frame_size;
	if (apart->last_at == SIZE_MAX || !is_at_work(apart))
		return 0;
	const uint8_t *frame = apart->kept + apart->last_at + SIZE_SIZE;
	memcpy(&frame_size, apart->kept + apart->last_at, SIZE_SIZE);
	if (frame[0] != SCAN_FRAME_DATA || little_get32(frame + 1) != number ||
	    frame_size >= SCAN_FRAME_MAX)
		return 0;
	const size_t room = SCAN_FRAME_MAX - frame_size;
	const size_t part = size < room ? size : room;
	if (apart->kept_end + part > APART_KEPT)
		return 0;
	memcpy(apart->kept + apart->kept_end, bytes, part);
	apart->kept_end = apart->last_at;
	commit(apart, frame_size + part);
	return part;
}

/* ---- what lib/inspect calls ---- */

static void begin_archive(void *context, unsigned number, const struct inspect_origin *origin)
{
	struct apart *apart = (struct apart *)context;
	struct scan_frame *frame = &apart->frame;
	if (apart->state == APART_UNUSED) {
		apart->state = APART_WAITING;
		apart->since_ms = UINT64_MAX;
	}
	snprintf(apart->path, sizeof(apart->path), "%s", origin->path);
	frame->type = SCAN_FRAME_BEGIN;
	frame->number = number;
	frame->origin = *origin;
	frame->size = 0;
	frame->budget = *inspect_budget(apart->inspection);
	memcpy(frame->path, apart->path, sizeof(frame->path));
	keep(apart, frame);
}

static void push_archive(void *context, unsigned number, const uint8_t *bytes, size_t size)
{
	struct apart *apart = (struct apart *)context;
	while (size > 0 && is_at_work(apart)) {
		size_t part = keep_more(apart, number, bytes, size);
		if (part == 0) {
			struct scan_frame *frame = &apart->frame;
			part = size < SCAN_FRAME_DATA_MAX ? size : SCAN_FRAME_DATA_MAX;
			frame->type = SCAN_FRAME_DATA;
			frame->number = number;
			frame->bytes = bytes;
			frame->size = part;
			keep(apart, frame);
		}
		bytes += part;
		size -= part;
	}
}

static void end_archive(void *context, unsigned number, bool is_whole)
{
	struct apart *apart = (struct apart *)context;
	struct scan_frame *frame = &apart->frame;
	frame->type = SCAN_FRAME_END;
	frame->number = number;
	frame->is_whole = is_whole;
	frame->size = 0;
	keep(apart, frame);
}

const struct inspect_apart apart_functions = { begin_archive, push_archive, end_archive };

/* ---- how it has ended ---- */

/*
 * One that broke by itself has not looked at all that is there, as behind a limit; a sender that finds
 * out how must not get mails through by it. Here it is not for what is in the archive: from outside,
 * or as the machine had no memory. It has not been looked at to its end, so that the mail is to come
 * again.
 */
static bool is_killed(int status)
{
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM);
}

static void take_status(struct apart *apart, int status)
{
	char text[CHILD_END_TEXT_SIZE];
	char name[CHILD_END_TEXT_SIZE + 16];
	if (status == -1) {
		/* The template has gone with it, or has never begun one. */
		apart->is_lost = true;
		fail(apart, INSPECT_BUSY, "busy: no decoders");
	} else if (WIFSIGNALED(status) &&
		   (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGXCPU)) {
		fail(apart, INSPECT_BOMB, "bomb: time");
	} else {
		snprintf(name, sizeof(name), "decoder: %s", child_format_end(status, text));
		fail(apart, is_killed(status) ? INSPECT_BUSY : INSPECT_BOMB, name);
	}
}

/* Does the template say so now? */
static void look_for_status(struct apart *apart)
{
	struct pollfd poller = { .fd = apart->link.status_fd, .events = POLLIN };
	if (poll(&poller, 1, 0) == 1)
		take_status(apart, template_status(&apart->link));
	else if (apart->now_ms - apart->since_ms >= STATUS_MS)
		fail(apart, INSPECT_BUSY, "decoder: no end");
}

static void take_end(struct apart *apart)
{
	apart->state = APART_ENDED;
	apart->since_ms = apart->now_ms;
	drop_kept(apart);
	look_for_status(apart);
}

/* ---- what the process says ---- */

static void take_finished(struct apart *apart, const struct scan_frame *frame)
{
	unsigned untold[INSPECT_CLASS_COUNT];
	struct unpack_budget *budget = inspect_budget(apart->inspection);
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++)
		untold[i] =
			frame->counts[i] > apart->told[i] ? frame->counts[i] - apart->told[i] : 0;
	inspect_add_counts(apart->inspection, untold, frame->looked_at, frame->objects);
	if (frame->budget.total_left < budget->total_left)
		budget->total_left = frame->budget.total_left;
	if (frame->budget.members_left < budget->members_left)
		budget->members_left = frame->budget.members_left;
	apart->state = APART_FINISHED;
	template_link_close(&apart->link);
}

static void take_frame(struct apart *apart, const struct scan_frame *frame)
{
	const bool is_first = apart->state == APART_WAITING;
	if (is_first && frame->type == SCAN_FRAME_HELLO) {
		apart->state = APART_RUNNING;
	} else if (!is_first && frame->type == SCAN_FRAME_FINISHED && apart->is_finish_sent) {
		take_finished(apart, frame);
	} else if (!is_first && frame->type == SCAN_FRAME_FINDING && apart->told_count < TOLD_MAX) {
		apart->told_count++;
		apart->told[frame->finding.class_]++;
		inspect_add(apart->inspection, &frame->finding);
	} else {
		fail(apart, INSPECT_BOMB, "decoder: protocol");
	}
}

/* One frame. Was there one? */
static bool receive_one(struct apart *apart)
{
	uint8_t bytes[SCAN_FRAME_SMALL + 1];
	ssize_t size;
	do {
		size = recv(apart->link.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (size < 0 && errno == EINTR);
	if (size < 0 && errno == EAGAIN)
		return false;
	apart->since_ms = apart->now_ms;
	if (size <= 0)
		take_end(apart);
	else if (scan_frame_read(bytes, (size_t)size, SCAN_FRAME_TO_SCANNER, &apart->frame) != 0)
		fail(apart, INSPECT_BOMB, "decoder: protocol");
	else
		take_frame(apart, &apart->frame);
	return true;
}

static bool has_process(const struct apart *apart)
{
	return apart->link.fd >= 0 &&
	       (apart->state == APART_WAITING || apart->state == APART_RUNNING);
}

/* ---- what goes to it ---- */

/* 0, -EAGAIN, or -EPIPE: it has gone. */
static int send_one(const struct apart *apart, const uint8_t *bytes, size_t size)
{
	ssize_t sent;
	do {
		sent = send(apart->link.fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent == (ssize_t)size)
		return 0;
	return sent < 0 && errno != EAGAIN ? -EPIPE : -EAGAIN;
}

static void send_kept(struct apart *apart)
{
	int ret = 0;
	while (ret == 0 && apart->kept_begin < apart->kept_end) {
		const uint8_t *frame = apart->kept + apart->kept_begin + SIZE_SIZE;
		uint32_t size;
		memcpy(&size, apart->kept + apart->kept_begin, SIZE_SIZE);
		ret = send_one(apart, frame, size);
		if (ret != 0)
			break;
		apart->is_finish_sent = apart->is_finish_sent || frame[0] == SCAN_FRAME_FINISH;
		apart->kept_begin += SIZE_SIZE + size;
		if (apart->state == APART_RUNNING)
			apart->since_ms = apart->now_ms;
	}
	if (apart->kept_begin == apart->kept_end)
		drop_kept(apart);
	else if (apart->last_at != SIZE_MAX && apart->last_at < apart->kept_begin)
		apart->last_at = SIZE_MAX;
	/* What it has said before is still there to be read, and then its end. */
	if (ret == -EPIPE)
		drop_kept(apart);
}

static void ask(struct apart *apart)
{
	const int ret = template_ask(apart->options.ask_fd, &apart->link);
	if (ret == 0)
		return;
	apart->link = (struct template_link){ -1, -1 };
	if (ret == -EAGAIN)
		return;
	apart->is_lost = ret == -EPIPE;
	fail(apart, INSPECT_BUSY, "busy: no decoders");
}

/* ---- time ---- */

/* A process that has taken all may wait for as long as the mail takes. */
static uint64_t until(const struct apart *apart)
{
	const bool is_awaited = apart->kept_end > 0 || apart->is_finishing;
	if (apart->state == APART_WAITING)
		return apart->since_ms + apart->options.wait_ms;
	return apart->state == APART_RUNNING && is_awaited
		       ? apart->since_ms + apart->options.answer_ms
		       : UINT64_MAX;
}

static void look_at_clock(struct apart *apart)
{
	if (apart->now_ms < until(apart))
		return;
	if (apart->state == APART_WAITING)
		fail(apart, INSPECT_BUSY, "busy: decoders");
	else
		fail(apart, INSPECT_BOMB, "bomb: time");
}

void apart_turn(struct apart *apart, uint64_t now_ms)
{
	apart->now_ms = now_ms;
	/* Only now has it begun to wait: the turn before may be as old as the mail. */
	if (apart->since_ms > now_ms)
		apart->since_ms = now_ms;
	if (apart->state == APART_ENDED)
		look_for_status(apart);
	if (apart->state == APART_WAITING && apart->link.fd < 0)
		ask(apart);
	if (has_process(apart))
		send_kept(apart);
	while (has_process(apart) && receive_one(apart))
		continue;
	look_at_clock(apart);
}

void apart_finish(struct apart *apart, uint64_t now_ms)
{
	apart->frame.type = SCAN_FRAME_FINISH;
	apart->frame.size = 0;
	keep(apart, &apart->frame);
	apart->is_finishing = true;
	apart_turn(apart, now_ms);
}

bool apart_is_full(const struct apart *apart)
{
	return is_at_work(apart) && apart->kept_end - apart->kept_begin >= APART_FULL;
}

bool apart_is_done(const struct apart *apart)
{
	return !is_at_work(apart);
}

int apart_fd(const struct apart *apart, short *ret_events, uint64_t *ret_until_ms)
{
	*ret_events = POLLIN;
	*ret_until_ms = UINT64_MAX;
	if (!is_at_work(apart))
		return -1;
	if (apart->state == APART_ENDED) {
		*ret_until_ms = apart->since_ms + STATUS_MS;
		return apart->link.status_fd;
	}
	*ret_until_ms = until(apart);
	if (apart->link.fd < 0) {
		const uint64_t look_ms = apart->now_ms + LOOK_MS;
		*ret_until_ms = look_ms < *ret_until_ms ? look_ms : *ret_until_ms;
		return -1;
	}
	if (apart->kept_end > 0)
		*ret_events = POLLIN | POLLOUT;
	return apart->link.fd;
}
