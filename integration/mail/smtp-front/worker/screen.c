/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/worker/screen.h"

#include "lib/common/wholefile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As much as is read of a held mail at a time. */
#define BLOCK_SIZE 16384

/* ---- the sink, as if there were no scanner ---- */

static bool open_sink(struct screen *screen, const char *field, struct sink_reply *reply)
{
	struct sink *sink = screen->parts.sink;
	const char *header = screen->mail.header;

	if (!sink_begin(sink, reply))
		return false;
	screen->is_in_sink = true;
	if (!sink_append(sink, (const uint8_t *)header, strlen(header), reply))
		return false;
	if (field[0] != '\0' && !sink_append(sink, (const uint8_t *)field, strlen(field), reply))
		return false;
	sink_mark(sink);
	return true;
}

static bool commit_sink(struct screen *screen, struct sink_reply *reply)
{
	screen->is_in_sink = false;
	return sink_commit(screen->parts.sink, reply);
}

/* ---- the scanner ---- */

static bool is_unavailable(struct sink_reply *reply)
{
	return sink_say(reply, 451, "4.3.2 Mails cannot be scanned now, try again later");
}

static bool open_scan(struct screen *screen, struct sink_reply *reply)
{
	const struct scan_settings *settings = screen->parts.settings;
	const int ret =
		scan_begin(screen->parts.scanner, INSPECT_MAIL, screen->mail.facts, &screen->scan);
	if (ret < 0) {
		screen->scan = NULL;
		return is_unavailable(reply);
	}
	/* Does any verdict change what the sink is given? */
	if (!settings->has_header && !scan_settings_has_quarantine(settings))
		return true;
	screen->held_fd = memfd_create("held-mail", MFD_CLOEXEC);
	return screen->held_fd >= 0 ? true : sink_fail(screen->parts.sink, reply, "hold", errno);
}

static bool feed_scan(struct screen *screen, const uint8_t *bytes, size_t size,
		      struct sink_reply *reply)
{
	while (size > 0) {
		const size_t piece = size < SCAN_PIECE_MAX ? size : SCAN_PIECE_MAX;
		scan_push(screen->scan, bytes, piece);
		if (scan_wait(screen->scan) < 0)
			return is_unavailable(reply);
		bytes += piece;
		size -= piece;
	}
	return true;
}

/* ---- what the verdict makes of the mail ---- */

static bool give_held(struct screen *screen, const char *field, struct sink_reply *reply)
{
	uint8_t block[BLOCK_SIZE];
	ssize_t got = 0;

	if (!open_sink(screen, field, reply))
		return false;
	(void)lseek(screen->held_fd, 0, SEEK_SET);
	while ((got = wholefile_take(screen->held_fd, block, sizeof(block))) > 0) {
		if (!sink_append(screen->parts.sink, block, (size_t)got, reply))
			return false;
	}
	if (got < 0)
		return sink_fail(screen->parts.sink, reply, "hold", (int)-got);
	return commit_sink(screen, reply);
}

/* The same mail for another mailbox: a transaction of its own, in which the sender is kept. */
static bool divert(struct screen *screen, const char *field, struct sink_reply *reply)
{
	const char *mailbox = screen->parts.settings->quarantine;
	struct sink *sink = screen->parts.sink;
	struct recipient recipient = { .address = "" };
	struct users_mailboxes mailboxes = { .count = 1 };

	(void)snprintf(recipient.address, sizeof(recipient.address), "%s", mailbox);
	if (!users_make_entry(mailbox, strlen(mailbox), mailboxes.names[0]))
		(void)snprintf(mailboxes.names[0], USERS_ENTRY_SIZE, "%s", mailbox);
	sink_abort(sink);
	if (!sink_mail(sink, screen->mail.envelope, reply) ||
	    !sink_recipient(sink, &recipient, &mailboxes, reply)) {
		/* Of our own mailbox: the client is not told that there is no such recipient. */
		return is_unavailable(reply);
	}
	return give_held(screen, field, reply);
}

static bool act(struct screen *screen, const struct scan_verdict *verdict, struct sink_reply *reply)
{
	const char *field = screen->parts.settings->has_header ? verdict->header : "";

	switch (verdict->action) {
	case SCAN_REJECT:
	case SCAN_DEFER:
		return sink_say(reply, verdict->code, verdict->text);
	case SCAN_QUARANTINE:
		return divert(screen, field, reply);
	case SCAN_MARK:
	case SCAN_ACCEPT:
		break;
	}
	if (screen->held_fd < 0)
		return commit_sink(screen, reply);
	return give_held(screen, field, reply);
}

/* ---- a mail ---- */

void screen_init(struct screen *ret_screen, const struct screen_parts *parts)
{
	memset(ret_screen, 0, sizeof(*ret_screen));
	ret_screen->parts = *parts;
	ret_screen->held_fd = -1;
}

bool screen_begin(struct screen *screen, const struct screen_mail *mail,
		  struct sink_reply *ret_reply)
{
	screen->mail = *mail;
	screen->action = SCAN_ACCEPT;
	screen->has_verdict = false;
	if (screen->parts.scanner != NULL && !open_scan(screen, ret_reply))
		return false;
	return screen->held_fd >= 0 || open_sink(screen, "", ret_reply);
}

bool screen_append(struct screen *screen, const uint8_t *bytes, size_t size,
		   struct sink_reply *ret_reply)
{
	if (screen->scan != NULL && !feed_scan(screen, bytes, size, ret_reply))
		return false;
	if (screen->held_fd < 0)
		return sink_append(screen->parts.sink, bytes, size, ret_reply);
	const int ret = wholefile_put(screen->held_fd, bytes, size);
	return ret == 0 ? true : sink_fail(screen->parts.sink, ret_reply, "hold", -ret);
}

bool screen_commit(struct screen *screen, struct sink_reply *ret_reply)
{
	if (screen->scan == NULL)
		return commit_sink(screen, ret_reply);
	scan_end(screen->scan, true);
	if (scan_wait(screen->scan) < 0)
		return is_unavailable(ret_reply);
	const struct scan_verdict *verdict = scan_verdict(screen->scan);
	screen->has_verdict = true;
	screen->action = verdict->action;
	(void)snprintf(screen->log, sizeof(screen->log), "%s", verdict->log);
	return act(screen, verdict, ret_reply);
}

void screen_abort(struct screen *screen)
{
	if (screen->is_in_sink)
		sink_abort(screen->parts.sink);
	screen->is_in_sink = false;
	scan_free(screen->scan);
	screen->scan = NULL;
	if (screen->held_fd >= 0)
		(void)close(screen->held_fd);
	screen->held_fd = -1;
}
