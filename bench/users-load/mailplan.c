/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/mailplan.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MARKUP_MAX    2048
#define TEXT_COLUMNS  72
#define TEXT_LINE     (TEXT_COLUMNS + 2)
#define CODED_RAW     57 /* bytes in a line of base64 */
#define CODED_COLUMNS 76
#define CODED_LINE    (CODED_COLUMNS + 2)
#define DATE_SIZE     32
#define SUBJECT_MAX   48
#define TIME_MAX_S    INT64_C(253402300799) /* the end of 9999 */
#define ID_DIGITS     16
#define ID_MARK	      "<users-load."

/* ---- pieces ---- */

enum kind {
	/* Markup. */
	HEADER,
	NESTED_HEADER, /* of a mail within */
	OPEN_PLAIN,    /* a boundary, and a part's header */
	OPEN_HTML,
	OPEN_ALTERNATIVE, /* a part that is multipart/alternative, with the next level's boundary */
	OPEN_PICTURE,
	OPEN_ATTACHMENT,
	OPEN_MESSAGE,
	HTML_HEAD,
	HTML_TAIL,
	CLOSE,
	/* Lines that follow from their number. */
	TEXT,
	HTML,
	CODED,
};

/* ---- lines ---- */

static const char words[64][10] = {
	"order",   "report",  "meeting", "the",	  "of",	      "and",	  "please", "we",
	"monday",  "invoice", "budget",	 "to",	  "in",	      "is",	  "that",   "for",
	"project", "draft",   "review",	 "with",  "on",	      "as",	  "be",	    "this",
	"office",  "plan",    "team",	 "have",  "from",     "or",	  "had",    "by",
	"word",	   "but",     "what",	 "some",  "can",      "out",	  "other",  "were",
	"all",	   "there",   "when",	 "up",	  "use",      "your",	  "how",    "said",
	"an",	   "each",    "she",	 "which", "do",	      "their",	  "time",   "if",
	"will",	   "way",     "about",	 "many",  "customer", "contract", "send",   "price",
};

static void begin_line(const struct mailplan *plan, unsigned part, size_t line,
		       struct dice *ret_dice)
{
	dice_begin(ret_dice, plan->bytes_seed + part, DICE_BYTES, line);
}

/* Words, as many letters as there is room, the last word cut. */
static void write_words(struct dice *dice, char *ret_text, size_t size)
{
	uint64_t bits = 0;
	size_t at = 0;
	for (unsigned i = 0; at < size; i++) {
		if (i % 10 == 0)
			bits = dice_next(dice);
		const char *word = words[bits & 63];
		bits >>= 6;
		for (; *word != '\0' && at < size; word++)
			ret_text[at++] = *word;
		if (at < size)
			ret_text[at++] = ' ';
	}
	if (ret_text[size - 1] == ' ')
		ret_text[size - 1] = 's';
}

static void write_text_line(const struct mailplan *plan, const struct mailplan_piece *piece,
			    size_t line, char ret_line[TEXT_LINE])
{
	static const char head[] = { '<', 'p', '>' };
	static const char tail[] = { '<', '/', 'p', '>' };
	struct dice dice;
	begin_line(plan, piece->part, line, &dice);
	size_t from = piece->kind == HTML ? sizeof(head) : 0;
	size_t to = TEXT_COLUMNS - (piece->kind == HTML ? sizeof(tail) : 0);
	memcpy(ret_line, head, from);
	write_words(&dice, ret_line + from, to - from);
	memcpy(ret_line + to, tail, TEXT_COLUMNS - to);
	ret_line[TEXT_COLUMNS] = '\r';
	ret_line[TEXT_COLUMNS + 1] = '\n';
}

static size_t coded_size(size_t raw_size)
{
	size_t lines = (raw_size + CODED_RAW - 1) / CODED_RAW;
	return (raw_size + 2) / 3 * 4 + lines * 2;
}

/* A line of base64; the last one may be shorter. Returns its size. */
static size_t write_coded_line(const struct mailplan *plan, const struct mailplan_piece *piece,
			       size_t line, char ret_line[CODED_LINE])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char raw[64];
	struct dice dice;
	begin_line(plan, piece->part, line, &dice);
	for (size_t i = 0; i < sizeof(raw); i += 8) {
		uint64_t bits = dice_next(&dice);
		for (unsigned k = 0; k < 8; k++)
			raw[i + k] = (unsigned char)(bits >> (8 * k));
	}
	size_t left = piece->raw_size - line * CODED_RAW;
	size_t size = left < CODED_RAW ? left : CODED_RAW;
	memset(raw + size, 0, 2); /* what a group of four lacks */
	char *out = ret_line;
	for (size_t i = 0; i < size; i += 3) {
		*out++ = digits[raw[i] >> 2];
		*out++ = digits[(raw[i] << 4 | raw[i + 1] >> 4) & 63];
		*out++ = digits[(raw[i + 1] << 2 | raw[i + 2] >> 6) & 63];
		*out++ = digits[raw[i + 2] & 63];
	}
	for (size_t i = 0; i < (3 - size % 3) % 3; i++)
		out[-1 - (ptrdiff_t)i] = '=';
	*out++ = '\r';
	*out++ = '\n';
	return (size_t)(out - ret_line);
}

/* ---- markup ---- */

struct markup {
	char bytes[MARKUP_MAX];
	size_t size;
};

__attribute__((format(printf, 2, 3))) static void add(struct markup *markup, const char *format,
						      ...)
{
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(markup->bytes + markup->size, MARKUP_MAX - markup->size, format,
			     arguments);
	va_end(arguments);
	if (size > 0) /* MARKUP_MAX is more than all of a header */
		markup->size += (size_t)size;
}

static void format_date(int64_t time_s, char ret_date[DATE_SIZE])
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t time = (time_t)time_s;
	struct tm tm = { 0 };
	gmtime_r(&time, &tm);
	snprintf(ret_date, DATE_SIZE, "%s, %02u %s %04u %02u:%02u:%02u +0000", days[tm.tm_wday % 7],
		 (unsigned)tm.tm_mday % 100, months[tm.tm_mon % 12],
		 (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
		 (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}

/* The boundary of a level; quoted, since "=" never is in base64 but at the end of its lines. */
#define BOUNDARY	      "=_%016" PRIx64 "_%u"
#define BOUNDARY_OF(p, level) (p)->bytes_seed, (unsigned)(level)

static void add_content_type(struct markup *markup, const struct mailplan *plan)
{
	static const char *const types[WORKLOAD_STRUCTURES] = {
		[WORKLOAD_ALTERNATIVE] = "multipart/alternative",
		[WORKLOAD_RELATED] = "multipart/related; type=\"multipart/alternative\"",
		[WORKLOAD_MIXED] = "multipart/mixed",
		[WORKLOAD_MIXED_RICH] = "multipart/mixed",
		[WORKLOAD_FORWARDED] = "multipart/mixed",
	};
	if (plan->structure == WORKLOAD_PLAIN)
		add(markup, "Content-Type: text/plain; charset=us-ascii\r\n"
			    "Content-Transfer-Encoding: 7bit\r\n\r\n");
	else
		add(markup, "Content-Type: %s;\r\n boundary=\"" BOUNDARY "\"\r\n\r\n",
		    types[plan->structure], BOUNDARY_OF(plan, 0));
}

/* Fields that a mail has on its way, and those that its sender has written. */
static void add_header(struct markup *markup, const struct mailplan *plan)
{
	char date[DATE_SIZE];
	char subject[SUBJECT_MAX + 1];
	struct dice dice;
	begin_line(plan, UINT8_MAX, 0, &dice);
	uint64_t mark = dice_next(&dice);
	size_t subject_size = 12 + (size_t)dice_below(&dice, SUBJECT_MAX - 12);
	write_words(&dice, subject, subject_size);
	subject[subject_size] = '\0';
	format_date(plan->time_s, date);
	add(markup,
	    "Received: from mail.load.invalid (mail.load.invalid [192.0.2.%u])\r\n"
	    "\tby relay.load.invalid with ESMTPS id %08" PRIx64 ";\r\n\t%s\r\n",
	    (unsigned)(mark % 254) + 1, mark >> 32, date);
	add(markup, "Date: %s\r\nFrom: %s\r\nTo: %s\r\nSubject: %s\r\n", date, plan->from, plan->to,
	    subject);
	add(markup, "Message-ID: " ID_MARK "%016" PRIx64 ".%016" PRIx64 "@load.invalid>\r\n",
	    plan->run, plan->number);
	if (mark & 1)
		add(markup,
		    "In-Reply-To: <%016" PRIx64 ".earlier@load.invalid>\r\n"
		    "References: <%016" PRIx64 ".earlier@load.invalid>\r\n",
		    mark, mark);
	add(markup, "User-Agent: users-load\r\nMIME-Version: 1.0\r\n");
	add_content_type(markup, plan);
}

static void add_nested_header(struct markup *markup, const struct mailplan *plan, unsigned level)
{
	char date[DATE_SIZE];
	format_date(plan->time_s > 3600 ? plan->time_s - 3600 : 0, date);
	add(markup,
	    "Date: %s\r\nFrom: someone@load.invalid\r\nTo: %s\r\nSubject: forwarded\r\n"
	    "Message-ID: <%016" PRIx64 ".within@load.invalid>\r\nMIME-Version: 1.0\r\n"
	    "Content-Type: multipart/mixed;\r\n boundary=\"" BOUNDARY "\"\r\n\r\n",
	    date, plan->from, plan->bytes_seed, BOUNDARY_OF(plan, level + 1));
}

/* A part's boundary, with the line end before it that is the boundary's, and its header. */
static void add_open(struct markup *markup, const struct mailplan *plan,
		     const struct mailplan_piece *piece)
{
	add(markup, "\r\n--" BOUNDARY "\r\n", BOUNDARY_OF(plan, piece->level));
	switch (piece->kind) {
	case OPEN_PLAIN:
		add(markup, "Content-Type: text/plain; charset=us-ascii\r\n"
			    "Content-Transfer-Encoding: 7bit\r\n\r\n");
		break;
	case OPEN_HTML:
		add(markup, "Content-Type: text/html; charset=us-ascii\r\n"
			    "Content-Transfer-Encoding: 7bit\r\n\r\n");
		break;
	case OPEN_ALTERNATIVE:
		add(markup,
		    "Content-Type: multipart/alternative;\r\n boundary=\"" BOUNDARY "\"\r\n\r\n",
		    BOUNDARY_OF(plan, piece->level + 1));
		break;
	case OPEN_PICTURE:
		add(markup,
		    "Content-Type: image/png\r\nContent-ID: <%016" PRIx64 "@load.invalid>\r\n"
		    "Content-Disposition: inline\r\n"
		    "Content-Transfer-Encoding: base64\r\n\r\n",
		    plan->bytes_seed);
		break;
	case OPEN_MESSAGE:
		add(markup, "Content-Type: message/rfc822\r\nContent-Disposition: inline\r\n\r\n");
		break;
	default:
		add(markup,
		    "Content-Type: application/octet-stream\r\n"
		    "Content-Disposition: attachment; filename=\"document-%u.bin\"\r\n"
		    "Content-Transfer-Encoding: base64\r\n\r\n",
		    (unsigned)piece->part);
	}
}

static void write_markup(const struct mailplan *plan, const struct mailplan_piece *piece,
			 struct markup *ret_markup)
{
	ret_markup->size = 0;
	switch (piece->kind) {
	case HEADER:
		add_header(ret_markup, plan);
		break;
	case NESTED_HEADER:
		add_nested_header(ret_markup, plan, piece->level);
		break;
	case HTML_HEAD:
		add(ret_markup, "<html>\r\n<body>\r\n");
		break;
	case HTML_TAIL:
		add(ret_markup, "</body>\r\n</html>\r\n");
		break;
	case CLOSE:
		add(ret_markup, "\r\n--" BOUNDARY "--\r\n", BOUNDARY_OF(plan, piece->level));
		break;
	default:
		add_open(ret_markup, plan, piece);
	}
}

/* ---- making a plan ---- */

struct making {
	struct mailplan *plan;
	const struct workload *workload;
	struct dice dice;
	uint8_t texts; /* and attachments: each has a stream of its own */
};

static struct mailplan_piece *add_piece(struct making *making, enum kind kind, unsigned level)
{
	struct mailplan *plan = making->plan;
	struct mailplan_piece *piece = &plan->pieces[plan->piece_count++];
	*piece = (struct mailplan_piece){ .kind = (uint8_t)kind, .level = (uint8_t)level };
	piece->part = making->texts;
	if (kind < TEXT) {
		struct markup markup;
		write_markup(plan, piece, &markup);
		piece->size_bytes = (uint32_t)markup.size;
	}
	return piece;
}

static void add_lines(struct making *making, enum kind kind, double size)
{
	struct mailplan_piece *piece = add_piece(making, kind, 0);
	size_t lines = (size_t)(size / TEXT_LINE) + 1;
	piece->size_bytes = (uint32_t)(lines * TEXT_LINE);
	making->texts++;
}

static double draw_text(struct making *making)
{
	const struct workload *workload = making->workload;
	double size = dice_lognormal(&making->dice, workload->text_median, workload->text_sigma);
	return fmin(size, workload->text_max);
}

static void add_coded(struct making *making, enum kind open, unsigned level, double factor)
{
	const struct workload *workload = making->workload;
	double size = dice_lognormal(&making->dice, workload->attachment_median,
				     workload->attachment_sigma);
	size = fmin(size, workload->attachment_max) * factor;
	add_piece(making, open, level);
	struct mailplan_piece *piece = add_piece(making, CODED, 0);
	piece->raw_size = (uint32_t)size + 1;
	piece->size_bytes = (uint32_t)coded_size(piece->raw_size);
	making->texts++;
}

static void add_plain(struct making *making, unsigned level, double size)
{
	add_piece(making, OPEN_PLAIN, level);
	add_lines(making, TEXT, size);
}

static void add_alternative(struct making *making, unsigned level)
{
	double size = draw_text(making);
	add_plain(making, level, size);
	add_piece(making, OPEN_HTML, level);
	add_piece(making, HTML_HEAD, 0);
	add_lines(making, HTML, size * making->workload->html_factor);
	add_piece(making, HTML_TAIL, 0);
	add_piece(making, CLOSE, level);
}

static void add_attachments(struct making *making)
{
	unsigned count = 1 + dice_pick(&making->dice, making->workload->attachment_counts,
				       WORKLOAD_ATTACHMENTS);
	making->plan->attachment_count = (uint8_t)count;
	for (; count > 0; count--)
		add_coded(making, OPEN_ATTACHMENT, 0, 1);
	add_piece(making, CLOSE, 0);
}

/* A text, and a mail in a part, which has a text and an attachment itself. */
static void add_forwarded(struct making *making)
{
	making->plan->attachment_count = 1;
	add_plain(making, 0, draw_text(making));
	add_piece(making, OPEN_MESSAGE, 0);
	add_piece(making, NESTED_HEADER, 0);
	add_plain(making, 1, draw_text(making));
	add_coded(making, OPEN_ATTACHMENT, 1, 1);
	add_piece(making, CLOSE, 1);
	add_piece(making, CLOSE, 0);
}

static void add_structure(struct making *making)
{
	switch (making->plan->structure) {
	case WORKLOAD_ALTERNATIVE:
		add_alternative(making, 0);
		break;
	case WORKLOAD_RELATED:
		add_piece(making, OPEN_ALTERNATIVE, 0);
		add_alternative(making, 1);
		add_coded(making, OPEN_PICTURE, 0, making->workload->picture_share);
		add_piece(making, CLOSE, 0);
		break;
	case WORKLOAD_MIXED:
		add_plain(making, 0, draw_text(making));
		add_attachments(making);
		break;
	case WORKLOAD_MIXED_RICH:
		add_piece(making, OPEN_ALTERNATIVE, 0);
		add_alternative(making, 1);
		add_attachments(making);
		break;
	case WORKLOAD_FORWARDED:
		add_forwarded(making);
		break;
	default:
		add_lines(making, TEXT, draw_text(making));
	}
}

static void set_address(char ret_address[MAILPLAN_ADDRESS_MAX], const char *address)
{
	if (address == NULL || strlen(address) >= MAILPLAN_ADDRESS_MAX)
		address = "someone@load.invalid";
	snprintf(ret_address, MAILPLAN_ADDRESS_MAX, "%s", address);
}

void mailplan_make(struct mailplan *ret_plan, const struct workload *workload,
		   const struct mailplan_wish *wish)
{
	struct making making = { .plan = ret_plan, .workload = workload };
	dice_begin(&making.dice, wish->seed, DICE_MAIL, wish->run);
	dice_begin(&making.dice, dice_next(&making.dice), DICE_MAIL, wish->number);
	memset(ret_plan, 0, sizeof(*ret_plan));
	ret_plan->run = wish->run;
	ret_plan->number = wish->number;
	ret_plan->time_s = wish->time_s < 0 ? 0 : wish->time_s;
	if (ret_plan->time_s > TIME_MAX_S)
		ret_plan->time_s = TIME_MAX_S;
	ret_plan->bytes_seed = dice_next(&making.dice);
	ret_plan->structure =
		(uint8_t)dice_pick(&making.dice, workload->structures, WORKLOAD_STRUCTURES);
	set_address(ret_plan->from, wish->from);
	set_address(ret_plan->to, wish->to);
	add_piece(&making, HEADER, 0);
	add_structure(&making);
	for (unsigned i = 0; i < ret_plan->piece_count; i++)
		ret_plan->size_bytes += ret_plan->pieces[i].size_bytes;
}

/* ---- bytes ---- */

/* The wanted part of the mail, and how much of it is there. */
struct part {
	char *bytes;
	size_t from; /* offset in the mail */
	size_t to;
};

static void put(const struct part *part, size_t start, const char *source, size_t size)
{
	size_t from = part->from > start ? part->from : start;
	size_t to = part->to < start + size ? part->to : start + size;
	if (from < to)
		memcpy(part->bytes + (from - part->from), source + (from - start), to - from);
}

static void put_lines(const struct part *part, const struct mailplan *plan,
		      const struct mailplan_piece *piece, size_t start)
{
	size_t line_size = piece->kind == CODED ? CODED_LINE : TEXT_LINE;
	size_t end = start + piece->size_bytes;
	size_t line = part->from > start ? (part->from - start) / line_size : 0;
	for (size_t at = start + line * line_size; at < end && at < part->to; line++) {
		char bytes[CODED_LINE];
		size_t size = line_size;
		if (piece->kind == CODED)
			size = write_coded_line(plan, piece, line, bytes);
		else
			write_text_line(plan, piece, line, bytes);
		put(part, at, bytes, size);
		at += size;
	}
}

size_t mailplan_copy(const struct mailplan *plan, size_t offset, char *ret_bytes, size_t room)
{
	if (offset >= plan->size_bytes)
		return 0;
	size_t left = plan->size_bytes - offset;
	struct part part = { ret_bytes, offset, offset + (left < room ? left : room) };
	size_t start = 0;
	for (unsigned i = 0; i < plan->piece_count && start < part.to; i++) {
		const struct mailplan_piece *piece = &plan->pieces[i];
		if (start + piece->size_bytes <= offset) {
			start += piece->size_bytes;
			continue;
		}
		if (piece->kind >= TEXT) {
			put_lines(&part, plan, piece, start);
		} else {
			struct markup markup;
			write_markup(plan, piece, &markup);
			put(&part, start, markup.bytes, markup.size);
		}
		start += piece->size_bytes;
	}
	return part.to - part.from;
}

/* ---- finding a Message-ID ---- */

static bool parse_hex(const char *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < ID_DIGITS; i++) {
		unsigned char byte = (unsigned char)text[i];
		unsigned digit;
		if (byte >= '0' && byte <= '9')
			digit = byte - '0';
		else if (byte >= 'a' && byte <= 'f')
			digit = byte - 'a' + 10u;
		else
			return false;
		number = number << 4 | digit;
	}
	*ret_number = number;
	return true;
}

/* The value of the field, line ends within it included. */
static bool parse_id(const char *value, size_t size, uint64_t *ret_run, uint64_t *ret_number)
{
	const size_t mark_size = sizeof(ID_MARK) - 1;
	uint64_t run;
	while (size > 0 && strchr(" \t\r\n", *value) != NULL && *value != '\0') {
		value++;
		size--;
	}
	if (size < mark_size + 2 * ID_DIGITS + 2 || memcmp(value, ID_MARK, mark_size) != 0)
		return false;
	value += mark_size;
	if (value[ID_DIGITS] != '.' || value[2 * ID_DIGITS + 1] != '@' || !parse_hex(value, &run) ||
	    !parse_hex(value + ID_DIGITS + 1, ret_number))
		return false;
	*ret_run = run;
	return true;
}

bool mailplan_find_id(const char *header, size_t size, uint64_t *ret_run, uint64_t *ret_number)
{
	static const char name[] = "Message-ID:";
	const size_t name_size = sizeof(name) - 1;
	const char *end = header + size;
	while (header < end) {
		size_t left = (size_t)(end - header);
		if (left >= name_size && strncasecmp(header, name, name_size) == 0)
			return parse_id(header + name_size, left - name_size, ret_run, ret_number);
		const char *newline = memchr(header, '\n', left);
		header = newline != NULL ? newline + 1 : end;
	}
	return false;
}
