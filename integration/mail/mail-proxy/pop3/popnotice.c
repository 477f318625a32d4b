/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/pop3/popnotice.h"

#include "lib/format/ascii.h"
#include "lib/wire/date.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_SAID 400

/* What addresses, dates and encoded words are made of: too little for most that is looked for. */
static bool is_harmless(uint8_t byte)
{
	return ascii_is_alnum(byte) || (byte != '\0' && strchr(" .,:;@<>+-_/=?'\"", byte) != NULL);
}

static void copy_text(const uint8_t *bytes, size_t size, char *ret_text, size_t room)
{
	size_t made = 0;
	for (size_t i = 0; i < size && made + 1 < room; i++)
		if (bytes[i] != '\r')
			ret_text[made++] = is_harmless(bytes[i]) ? (char)bytes[i] : '?';
	ret_text[made] = '\0';
}

static void look_at_line(const uint8_t *line, size_t size, struct popnotice_fields *fields)
{
	const struct {
		const char *name;
		char *text;
	} wanted[] = { { "From:", fields->from },
		       { "Subject:", fields->subject },
		       { "Date:", fields->date } };
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		size_t at = strlen(wanted[i].name);
		if (size < at || strncasecmp((const char *)line, wanted[i].name, at) != 0 ||
		    wanted[i].text[0] != '\0')
			continue;
		while (at < size && (line[at] == ' ' || line[at] == '\t'))
			at++;
		copy_text(line + at, size - at, wanted[i].text, POPNOTICE_FIELD_MAX);
	}
}

void popnotice_look(const uint8_t *bytes, size_t size, struct popnotice_fields *ret_fields)
{
	memset(ret_fields, 0, sizeof(*ret_fields));
	for (size_t at = 0; at < size;) {
		const uint8_t *lf = memchr(bytes + at, '\n', size - at);
		const size_t end = lf != NULL ? (size_t)(lf - bytes) : size;
		if (end == at || (end == at + 1 && bytes[at] == '\r'))
			return; /* the body */
		look_at_line(bytes + at, end - at, ret_fields);
		at = end + 1;
	}
}

/* What is left of a mail that was cut off at an earlier try is its name alone. */
static void write_fields(const struct popnotice_fields *fields, char *ret_text, size_t room)
{
	ret_text[0] = '\0';
	if (fields->from[0] == '\0' && fields->subject[0] == '\0' && fields->date[0] == '\0')
		return;
	snprintf(ret_text, room,
		 "The mail, as its header has it:\r\n"
		 "    From: %s\r\n"
		 "    Subject: %s\r\n"
		 "    Date: %s\r\n"
		 "\r\n",
		 fields->from, fields->subject, fields->date);
}

size_t popnotice_write(const struct popnotice *notice, char *ret_text)
{
	char date[DATE_TEXT_SIZE];
	char name[NAME_MAX_SAID];
	char fields[4 * POPNOTICE_FIELD_MAX];
	write_fields(&notice->fields, fields, sizeof(fields));
	copy_text((const uint8_t *)notice->name, strlen(notice->name), name, sizeof(name));
	const int size = snprintf(
		ret_text, POPNOTICE_ROOM,
		"From: Mail scanner <postmaster@%.255s>\r\n"
		"Subject: A mail was withheld: %.100s\r\n"
		"Date: %s\r\n"
		"Message-ID: <withheld.%llu.%llu@%.255s>\r\n"
		"Auto-Submitted: auto-generated\r\n"
		"MIME-Version: 1.0\r\n"
		"Content-Type: text/plain; charset=us-ascii\r\n"
		"%.400s"
		"\r\n"
		"This notice stands in place of a mail that was withheld on its way to you.\r\n"
		"\r\n"
		"Found%s:\r\n"
		"    %s\r\n"
		"\r\n"
		"%s"
		"It is still on the server, as message %llu of this session. When your program\r\n"
		"deletes this notice, or messages that it has fetched, that mail is deleted.\r\n"
		"If you need it, keep it there, and ask the operators of %.255s.\r\n",
		notice->hostname, name, date_format((int64_t)notice->now, date),
		(unsigned long long)notice->now, (unsigned long long)notice->number,
		notice->hostname, notice->header,
		notice->is_known ? ", at an earlier try to fetch it" : "", name, fields,
		(unsigned long long)notice->number, notice->hostname);
	return (size_t)size < POPNOTICE_ROOM ? (size_t)size : POPNOTICE_ROOM - 1;
}
