/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/format/ascii.h"
#include "lib/format/hex.h"

#define ID_DIGITS_MAX  16
#define NUMBER_MAX     1000000
#define ADDRESS_MAX    64 /* the longest is 45, and may have a zone behind it */
#define CONNECT_FIELDS 4

/* Of a line, or what is left of it. Behind the last one text is NULL. */
struct field {
	const char *text;
	size_t size;
};

static bool take_field(struct field *rest, struct field *ret_field)
{
	if (rest->text == NULL)
		return false;
	const char *end = memchr(rest->text, '|', rest->size);
	ret_field->text = rest->text;
	ret_field->size = end != NULL ? (size_t)(end - rest->text) : rest->size;
	rest->size -= end != NULL ? ret_field->size + 1 : ret_field->size;
	rest->text = end != NULL ? end + 1 : NULL;
	return true;
}

/* The same from the end. */
static bool take_last_field(struct field *rest, struct field *ret_field)
{
	if (rest->text == NULL)
		return false;
	const char *border = memrchr(rest->text, '|', rest->size);
	ret_field->text = border != NULL ? border + 1 : rest->text;
	ret_field->size = rest->size - (size_t)(ret_field->text - rest->text);
	rest->size = border != NULL ? (size_t)(border - rest->text) : 0;
	if (border == NULL)
		rest->text = NULL;
	return true;
}

static bool is_text(struct field field, const char *text)
{
	return field.size == strlen(text) && memcmp(field.text, text, field.size) == 0;
}

/* ---- values ---- */

static bool parse_number(const char *text, size_t size, unsigned *ret_number)
{
	const int64_t number = ascii_number(text, size, NUMBER_MAX);
	if (number < 0)
		return false;
	*ret_number = (unsigned)number;
	return true;
}

static bool parse_version(struct field field, struct line_version *ret_version)
{
	const char *dot = memchr(field.text, '.', field.size);
	if (dot == NULL)
		return false;
	size_t before = (size_t)(dot - field.text);
	return parse_number(field.text, before, &ret_version->major) &&
	       parse_number(dot + 1, field.size - before - 1, &ret_version->minor);
}

static bool parse_id(struct field field, uint64_t *ret_id)
{
	return field.size > 0 && field.size <= ID_DIGITS_MAX &&
	       hex_number(field.text, field.size, ret_id);
}

/* "192.0.2.1:25", "[2001:db8::1]:25"; whatever else is no address of a client. */
static bool parse_address(struct field field, struct dnsblv6_ip *ret_ip)
{
	char text[ADDRESS_MAX + 1];
	bool has_bracket = field.size > 0 && field.text[0] == '[';
	const char *begin = field.text + (has_bracket ? 1 : 0);
	const char *end = memrchr(field.text, has_bracket ? ']' : ':', field.size);
	if (end == NULL || end <= begin)
		return false;
	/* As fe80::1%eth0. */
	const char *scope = memchr(begin, '%', (size_t)(end - begin));
	size_t size = (size_t)((scope != NULL ? scope : end) - begin);
	if (size > ADDRESS_MAX || memchr(begin, '\0', size) != NULL)
		return false;
	memcpy(text, begin, size);
	text[size] = '\0';
	return dnsblv6_ip_parse(text, ret_ip) == 0;
}

/* ---- events and requests ---- */

/* RDNS|FCRDNS|SOURCE|DESTINATION */
static const char *parse_connect(struct field rest, struct line *line)
{
	struct field fields[CONNECT_FIELDS];
	struct field all = rest;
	size_t count = 0;
	while (count < CONNECT_FIELDS && take_field(&all, &fields[count]))
		count++;
	if (count < CONNECT_FIELDS)
		return "link-connect lacks fields";
	/* A later version may have more at the end. */
	if (!line_is_newer(line->version)) {
		take_last_field(&rest, &fields[3]);
		take_last_field(&rest, &fields[2]);
	}
	line->has_ip = parse_address(fields[2], &line->ip);
	bool is_local = fields[2].size >= 5 && memcmp(fields[2].text, "unix:", 5) == 0;
	if (!line->has_ip && !is_local && !is_text(fields[2], "local"))
		return "link-connect has an address that cannot be read";
	return NULL;
}

static const char *parse_auth(struct field rest, bool is_cut, struct line *line)
{
	struct field result;
	bool is_first = line->version.major > 0 || line->version.minor >= 7;
	if (is_cut && !is_first)
		return "link-auth is too long";
	bool is_there = is_first ? take_field(&rest, &result) : take_last_field(&rest, &result);
	if (!is_there || rest.text == NULL)
		return "link-auth lacks fields";
	line->is_authenticated = is_text(result, "pass");
	return NULL;
}

static const char *parse_report(struct field event, struct field rest, bool is_cut,
				struct line *line)
{
	line->kind = LINE_REPORT;
	if (is_text(event, "link-disconnect")) {
		line->kind = LINE_DISCONNECT;
		return NULL;
	}
	if (is_text(event, "link-auth")) {
		line->kind = LINE_AUTH;
		return parse_auth(rest, is_cut, line);
	}
	if (!is_text(event, "link-connect"))
		return NULL;
	line->kind = LINE_CONNECT;
	return is_cut ? "link-connect is too long" : parse_connect(rest, line);
}

static const char *parse_filter(struct field phase, struct field rest, struct line *line)
{
	static const struct {
		const char *name;
		enum line_phase phase;
	} phases[] = { { "connect", LINE_AT_CONNECT },
		       { "helo", LINE_AT_HELO },
		       { "ehlo", LINE_AT_HELO },
		       { "mail-from", LINE_AT_MAIL_FROM },
		       { "rcpt-to", LINE_AT_RCPT_TO } };
	struct field token;
	line->kind = LINE_FILTER;
	line->phase = LINE_ELSEWHERE;
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (is_text(phase, phases[i].name))
			line->phase = phases[i].phase;
	if (!take_field(&rest, &token) || !parse_id(token, &line->token))
		return "the token cannot be read";
	return NULL;
}

/* Behind the stream: VERSION|TIME|SUBSYSTEM|EVENT|SESSION, and what the event has. */
static const char *parse_event(bool is_filter, struct field rest, bool is_cut, struct line *line)
{
	struct field version, stamp, subsystem, event, session;
	if (!take_field(&rest, &version) || !take_field(&rest, &stamp) ||
	    !take_field(&rest, &subsystem) || !take_field(&rest, &event) ||
	    !take_field(&rest, &session))
		return "the line lacks fields";
	if (!parse_version(version, &line->version))
		return "the version cannot be read";
	if (!parse_id(session, &line->session))
		return "the session cannot be read";
	if (is_filter)
		return parse_filter(event, rest, line);
	/* Sessions of mail that goes out are not clients. */
	if (!is_text(subsystem, "smtp-in")) {
		line->kind = LINE_REPORT;
		return NULL;
	}
	return parse_report(event, rest, is_cut, line);
}

const char *line_parse(const char *text, size_t text_size, bool is_cut, struct line *ret_line)
{
	struct line line = { .kind = LINE_CONFIG };
	struct field rest = { text, text_size };
	struct field stream = { 0 }, key = { 0 };
	take_field(&rest, &stream);
	const char *reason = NULL;
	if (is_text(stream, "config")) {
		if (take_field(&rest, &key) && is_text(key, "ready"))
			line.kind = LINE_READY;
	} else if (is_text(stream, "report")) {
		reason = parse_event(false, rest, is_cut, &line);
	} else if (is_text(stream, "filter")) {
		reason = parse_event(true, rest, is_cut, &line);
	} else {
		return "neither config, report nor filter";
	}
	if (reason == NULL)
		*ret_line = line;
	return reason;
}

bool line_is_newer(struct line_version version)
{
	return version.major > 0 || version.minor > LINE_NEWEST_MINOR;
}

static int format_head(const struct line *request, char *ret_text)
{
	bool is_token_first = request->version.major == 0 && request->version.minor < 5;
	return snprintf(ret_text, LINE_ANSWER_MAX, "filter-result|%016" PRIx64 "|%016" PRIx64 "|",
			is_token_first ? request->token : request->session,
			is_token_first ? request->session : request->token);
}

size_t line_format_answer(const struct line *request, const char *decision, const char *parameter,
			  char *ret_text)
{
	int size = format_head(request, ret_text);
	size += snprintf(ret_text + size, (size_t)(LINE_ANSWER_MAX - size), "%s%s%s\n", decision,
			 parameter != NULL ? "|" : "", parameter != NULL ? parameter : "");
	return (size_t)size;
}

bool line_answers(const char *text, size_t text_size, const struct line *request)
{
	char head[LINE_ANSWER_MAX];
	size_t size = (size_t)format_head(request, head);
	return text_size >= size && memcmp(text, head, size) == 0;
}
