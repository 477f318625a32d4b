/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-store/mbox.h"

#include "lib/mailstore/mailrecord.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define FROM	  "From "
#define FROM_SIZE (sizeof(FROM) - 1)
#define DATE_MAX  64
#define BOUNCE	  "MAILER-DAEMON" /* an empty sender */

/* Behind the line that begins at at. */
static size_t line_end(const uint8_t *bytes, size_t size, size_t at)
{
	const uint8_t *lf = memchr(bytes + at, '\n', size - at);
	return lf == NULL ? size : (size_t)(lf - bytes) + 1;
}

static bool begins_mail(const uint8_t *bytes, size_t size, size_t at)
{
	return size - at >= FROM_SIZE && memcmp(bytes + at, FROM, FROM_SIZE) == 0;
}

static bool is_empty_line(const uint8_t *bytes, size_t at, size_t end)
{
	return end - at == 1 || (end - at == 2 && bytes[at] == '\r');
}

/* "From sender Tue Nov 24 12:00:00 2026" */
static void read_from_line(const uint8_t *line, size_t size, struct mbox_mail *mail)
{
	char date[DATE_MAX];
	struct tm tm = { 0 };
	const uint8_t *sender = line + FROM_SIZE;
	size_t left = size - FROM_SIZE;
	const uint8_t *blank = memchr(sender, ' ', left);
	mail->sender = sender;
	size_t sender_size = blank == NULL ? 0 : (size_t)(blank - sender);
	/* Of a longer one the mail is wanted all the same. */
	bool is_none = sender_size > MAIL_SENDER_MAX;
	bool is_bounce =
		sender_size == sizeof(BOUNCE) - 1 && memcmp(sender, BOUNCE, sender_size) == 0;
	mail->sender_size = is_none || is_bounce ? 0 : sender_size;
	if (blank == NULL || left - sender_size >= sizeof(date))
		return;
	memcpy(date, blank, left - sender_size);
	date[left - sender_size] = '\0';
	if (strptime(date, " %a %b %d %H:%M:%S %Y", &tm) == NULL)
		return;
	time_t seconds = timegm(&tm);
	mail->time_us = seconds > 0 ? (uint64_t)seconds * 1000000 : 0;
}

int mbox_next(const uint8_t *bytes, size_t size, size_t *at, struct mbox_mail *ret_mail)
{
	struct mbox_mail mail = { 0 };
	size_t place = *at;
	if (place == size)
		return 0;
	if (!begins_mail(bytes, size, place))
		return -EBADMSG;
	size_t begin = line_end(bytes, size, place);
	read_from_line(bytes + place, begin - place, &mail);
	bool was_empty = false;
	size_t empty_at = begin;
	for (place = begin; place < size;) {
		size_t end = line_end(bytes, size, place);
		if (was_empty && begins_mail(bytes, size, place))
			break;
		was_empty = is_empty_line(bytes, place, end);
		if (was_empty)
			empty_at = place;
		place = end;
	}
	mail.text = bytes + begin;
	/* The empty line behind it is not the mail's. */
	mail.size = (was_empty ? empty_at : place) - begin;
	*at = place;
	*ret_mail = mail;
	return 1;
}

/* The number of ">" before "From ", or -1 when the line is none that is quoted. */
static int quotes(const uint8_t *line, size_t size)
{
	size_t count = 0;
	while (count < size && line[count] == '>')
		count++;
	return begins_mail(line, size, count) ? (int)count : -1;
}

size_t mbox_unquote(const struct mbox_mail *mail, uint8_t *out)
{
	size_t done = 0;
	for (size_t at = 0; at < mail->size;) {
		size_t end = line_end(mail->text, mail->size, at);
		size_t skipped = quotes(mail->text + at, end - at) > 0 ? 1 : 0;
		memcpy(out + done, mail->text + at + skipped, end - at - skipped);
		done += end - at - skipped;
		at = end;
	}
	return done;
}

/* Blanks and line ends would end it, or the line. */
static void write_sender(FILE *out, const uint8_t *sender, size_t size)
{
	if (size == 0)
		fputs(BOUNCE, out);
	for (size_t i = 0; i < size; i++)
		putc(sender[i] > ' ' && sender[i] != 0x7f ? sender[i] : '_', out);
}

bool mbox_write(FILE *out, const uint8_t *sender, size_t sender_size, uint64_t time_us,
		const uint8_t *text, size_t size)
{
	char date[DATE_MAX];
	struct tm tm;
	time_t seconds = (time_t)(time_us / 1000000);
	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &tm) == 0)
		return false;
	fputs(FROM, out);
	write_sender(out, sender, sender_size);
	fprintf(out, " %s\n", date);
	for (size_t at = 0; at < size;) {
		size_t end = line_end(text, size, at);
		if (quotes(text + at, end - at) >= 0)
			putc('>', out);
		fwrite(text + at, 1, end - at, out);
		at = end;
	}
	if (size > 0 && text[size - 1] != '\n')
		putc('\n', out);
	putc('\n', out);
	return ferror(out) == 0;
}
