/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/imap/imapreader.h"

#include <string.h>
#include <strings.h>

/* What the next word is. */
enum step {
	FIRST,	  /* tag, "*" or "+" */
	WORD,	  /* behind "*" */
	NUMBERED, /* behind "* 12" */
	STATUS_WORD,
	REST, /* nothing of it is needed */
	NOTHING,
	CODE_NAME,
	CODE_VALUE,
	CAPABILITIES,
	FLAGS_OPEN,
	FLAGS,
	SEARCH,
	LIST_OPEN,
	LIST_FLAGS,
	LIST_DELIMITER,
	LIST_NAME,
	STATUS_NAME,
	STATUS_OPEN,
	STATUS_ITEM,
	STATUS_VALUE,
	FETCH_OPEN,
	FETCH_ITEM,
	FETCH_VALUE,
	FETCH_FLAGS,
	FETCH_MODSEQ,
};

enum item {
	ITEM_OTHER,
	ITEM_UID,
	ITEM_FLAGS,
	ITEM_DATE,
	ITEM_SIZE,
	ITEM_MODSEQ,
	ITEM_HEADER,
	ITEM_BODY,
	ITEM_MESSAGES,
	ITEM_UNSEEN,
	ITEM_UIDNEXT,
	ITEM_UIDVALIDITY,
};

/* Where the bytes of a header are. */
enum field {
	FIELD_NAME, /* so many bytes of the name match */
	FIELD_SKIP, /* another line */
	FIELD_KEEP,
	FIELD_FOLD, /* behind its line: a blank goes on with it */
	FIELD_DONE,
};

struct name {
	const char *text;
	unsigned value;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- words ---- */

static unsigned find_name(const struct name *names, size_t count, const char *text,
			  unsigned otherwise)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(names[i].text, text) == 0)
			return names[i].value;
	}
	return otherwise;
}

static bool parse_number(const char *text, uint64_t limit, uint64_t *ret_number)
{
	uint64_t number = 0;
	for (const char *at = text; *at != '\0'; at++) {
		if (*at < '0' || *at > '9' || number > limit / 10)
			return false;
		number = 10 * number + (unsigned)(*at - '0');
	}
	if (*text == '\0' || number > limit)
		return false;
	*ret_number = number;
	return true;
}

static bool parse_u32(const char *text, uint32_t *ret_number)
{
	uint64_t number = 0;
	if (!parse_number(text, UINT32_MAX, &number))
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

static uint8_t flag_of(const char *text)
{
	static const struct name flags[] = {
		{ "\\Seen", IMAPREADER_SEEN },	       { "\\Deleted", IMAPREADER_DELETED },
		{ "\\Answered", IMAPREADER_ANSWERED }, { "\\Flagged", IMAPREADER_FLAGGED },
		{ "\\Draft", IMAPREADER_DRAFT },       { "\\Recent", IMAPREADER_RECENT_FLAG },
	};
	return (uint8_t)find_name(flags, COUNT(flags), text, IMAPREADER_KEYWORD);
}

static uint32_t capability_of(const char *text)
{
	static const struct name capabilities[] = {
		{ "IMAP4rev1", IMAPREADER_CAN_IMAP4REV1 },
		{ "IDLE", IMAPREADER_CAN_IDLE },
		{ "LITERAL+", IMAPREADER_CAN_LITERAL_PLUS },
		{ "LITERAL-", IMAPREADER_CAN_LITERAL_MINUS },
		{ "UIDPLUS", IMAPREADER_CAN_UIDPLUS },
		{ "MOVE", IMAPREADER_CAN_MOVE },
		{ "CONDSTORE", IMAPREADER_CAN_CONDSTORE },
		{ "STARTTLS", IMAPREADER_CAN_STARTTLS },
		{ "LOGINDISABLED", IMAPREADER_CANNOT_LOGIN },
	};
	return find_name(capabilities, COUNT(capabilities), text, 0);
}

/* Days since 1970 of a day of the proleptic Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	year -= month <= 2;
	const int64_t era = year / 400;
	const int64_t year_of_era = year - era * 400;
	const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

/* Digits at places of a text, a blank counting as none; negative: something else is there. */
static int digits(const char *text, unsigned count)
{
	int number = 0;
	for (unsigned i = 0; i < count; i++) {
		if ((text[i] < '0' || text[i] > '9') && (i > 0 || text[i] != ' '))
			return -1;
		number = 10 * number + (text[i] == ' ' ? 0 : text[i] - '0');
	}
	return number;
}

/* 0: no month. */
static int month_of(const char *text)
{
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	for (size_t i = 0; i < COUNT(months); i++) {
		if (strncasecmp(text, months[i], 3) == 0)
			return (int)i + 1;
	}
	return 0;
}

bool imapreader_parse_date(const char *text, int64_t *ret_s)
{
	static const char shape[] = "..-...-.... ..:..:.. .....";
	if (strlen(text) != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < sizeof(shape) - 1; i++) {
		if (shape[i] != '.' && shape[i] != text[i])
			return false;
	}
	const int day = digits(text, 2), month = month_of(text + 3), year = digits(text + 7, 4);
	const int hour = digits(text + 12, 2), minute = digits(text + 15, 2);
	const int second = digits(text + 18, 2), zone = digits(text + 22, 4);
	if (day < 1 || day > 31 || month == 0 || year < 1 || hour < 0 || hour > 23 || minute < 0 ||
	    minute > 59 || second < 0 || second > 60 || zone < 0 ||
	    (text[21] != '+' && text[21] != '-'))
		return false;
	const int64_t offset = (zone / 100) * 3600 + (zone % 100) * 60;
	*ret_s = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second -
		 (text[21] == '-' ? -offset : offset);
	return true;
}

/* ---- Message-ID, in a header that comes ---- */

static void keep(struct imapreader *reader, char byte)
{
	if (reader->text_size < IMAPREADER_TEXT_SIZE - 1)
		reader->text[reader->text_size++] = byte;
	reader->text[reader->text_size] = '\0';
}

static void begin_field(struct imapreader *reader)
{
	reader->field_state = FIELD_NAME;
	reader->field_matched = 0;
	reader->text_size = 0;
	reader->text[0] = '\0';
}

static void match_field(struct imapreader *reader, char byte)
{
	static const char name[] = "message-id:";
	const char lower = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
	if (lower != name[reader->field_matched]) {
		begin_field(reader);
		reader->field_state = byte == '\n' ? FIELD_NAME : FIELD_SKIP;
		return;
	}
	keep(reader, byte);
	if (++reader->field_matched == sizeof(name) - 1)
		reader->field_state = FIELD_KEEP;
}

static void take_header_byte(struct imapreader *reader, char byte)
{
	switch (reader->field_state) {
	case FIELD_NAME:
		match_field(reader, byte);
		break;
	case FIELD_SKIP:
		if (byte == '\n')
			begin_field(reader);
		break;
	case FIELD_FOLD:
		reader->field_state = byte == ' ' || byte == '\t' ? FIELD_KEEP : FIELD_DONE;
		break;
	default:
		if (byte == '\n')
			reader->field_state = FIELD_FOLD;
		else if (byte != '\r' && byte != '\0')
			keep(reader, byte);
		break;
	}
}

static void take_header(struct imapreader *reader, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size && reader->field_state != FIELD_DONE; i++)
		take_header_byte(reader, bytes[i]);
}

/* A name without its end is none. */
static void end_header(struct imapreader *reader)
{
	if (reader->field_state == FIELD_NAME)
		begin_field(reader);
	reader->field_state = FIELD_DONE;
}

/* ---- what a word is at each step ---- */

enum verdict {
	WRONG = -1,
	GO,
	GIVE, /* the response is whole */
};

static enum verdict go_on(struct imapreader *reader, enum step step)
{
	reader->step = (uint8_t)step;
	return GO;
}

static bool has_whole_word(const struct imapreader *reader)
{
	return reader->token.word_size < IMAPTOKEN_TEXT_SIZE;
}

/* "" for one that was cut: no name is it. */
static const char *word_of(const struct imapreader *reader)
{
	return has_whole_word(reader) ? reader->token.text : "";
}

static bool take_u32(const struct imapreader *reader, uint32_t *ret_number)
{
	return parse_u32(word_of(reader), ret_number);
}

static bool take_u64(const struct imapreader *reader, uint64_t *ret_number)
{
	return parse_number(word_of(reader), INT64_MAX, ret_number); /* RFC 7162: 63 bits */
}

static enum verdict at_first(struct imapreader *reader, enum imaptoken_kind kind)
{
	struct imapreader_response *response = &reader->response;
	const char *word = word_of(reader);
	if (kind != IMAPTOKEN_ATOM)
		return WRONG;
	if (strcmp(word, "*") == 0)
		return go_on(reader, WORD);
	if (strcmp(word, "+") == 0) {
		response->kind = IMAPREADER_CONTINUE;
		imaptoken_expect_text(&reader->token, false);
		return go_on(reader, REST);
	}
	response->kind = IMAPREADER_TAGGED;
	if (word[0] != 'A' || word[1] == '0' || !parse_u32(word + 1, &response->tag))
		response->tag = 0;
	return go_on(reader, STATUS_WORD);
}

/* OK and the like. */
static bool take_state(struct imapreader *reader)
{
	static const struct name words[] = {
		{ "OK", IMAPREADER_OK },	   { "NO", IMAPREADER_NO },
		{ "BAD", IMAPREADER_BAD },	   { "BYE", IMAPREADER_BYE },
		{ "PREAUTH", IMAPREADER_PREAUTH },
	};
	const unsigned word = find_name(words, COUNT(words), word_of(reader), COUNT(words));
	if (word == COUNT(words))
		return false;
	reader->response.word = (uint8_t)word;
	reader->step = REST;
	imaptoken_expect_text(&reader->token, true);
	return true;
}

static enum verdict at_word(struct imapreader *reader, enum imaptoken_kind kind)
{
	static const struct {
		const char *text;
		enum imapreader_kind kind;
		enum step step;
	} words[] = {
		{ "CAPABILITY", IMAPREADER_CAPABILITY, CAPABILITIES },
		{ "FLAGS", IMAPREADER_FLAGS, FLAGS_OPEN },
		{ "LIST", IMAPREADER_LIST, LIST_OPEN },
		{ "SEARCH", IMAPREADER_SEARCH, SEARCH },
		{ "STATUS", IMAPREADER_STATUS, STATUS_NAME },
	};
	if (kind != IMAPTOKEN_ATOM)
		return WRONG;
	if (take_u32(reader, &reader->response.number))
		return go_on(reader, NUMBERED);
	reader->response.kind = IMAPREADER_STATE;
	if (take_state(reader))
		return GO;
	for (size_t i = 0; i < COUNT(words); i++) {
		if (strcasecmp(words[i].text, word_of(reader)) == 0) {
			reader->response.kind = (uint8_t)words[i].kind;
			return go_on(reader, words[i].step);
		}
	}
	reader->response.kind = IMAPREADER_OTHER;
	return go_on(reader, REST);
}

static enum verdict at_numbered(struct imapreader *reader, enum imaptoken_kind kind)
{
	static const struct name words[] = { { "EXISTS", IMAPREADER_EXISTS },
					     { "RECENT", IMAPREADER_RECENT },
					     { "EXPUNGE", IMAPREADER_EXPUNGE },
					     { "FETCH", IMAPREADER_FETCH } };
	if (kind != IMAPTOKEN_ATOM)
		return WRONG;
	const unsigned found = find_name(words, COUNT(words), word_of(reader), IMAPREADER_OTHER);
	reader->response.kind = (uint8_t)found;
	if (found == IMAPREADER_FETCH)
		return go_on(reader, FETCH_OPEN);
	return go_on(reader, found == IMAPREADER_OTHER ? REST : NOTHING);
}

static enum verdict at_status_word(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind != IMAPTOKEN_ATOM || !take_state(reader) || reader->response.word > IMAPREADER_BAD)
		return WRONG;
	return GO;
}

static enum verdict at_rest(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_END)
		return GIVE;
	if (kind == IMAPTOKEN_CODE)
		return go_on(reader, CODE_NAME);
	return GO;
}

static enum verdict at_nothing(struct imapreader *reader, enum imaptoken_kind kind)
{
	(void)reader;
	return kind == IMAPTOKEN_END ? GIVE : WRONG;
}

static enum verdict at_code_name(struct imapreader *reader, enum imaptoken_kind kind)
{
	static const struct name codes[] = {
		{ "CAPABILITY", IMAPREADER_CODE_CAPABILITY },
		{ "UIDNEXT", IMAPREADER_CODE_UIDNEXT },
		{ "UIDVALIDITY", IMAPREADER_CODE_UIDVALIDITY },
		{ "HIGHESTMODSEQ", IMAPREADER_CODE_HIGHESTMODSEQ },
		{ "ALREADYEXISTS", IMAPREADER_CODE_ALREADYEXISTS },
		{ "TRYCREATE", IMAPREADER_CODE_TRYCREATE },
	};
	if (kind != IMAPTOKEN_ATOM)
		return at_rest(reader, kind);
	reader->response.code =
		(uint8_t)find_name(codes, COUNT(codes), word_of(reader), IMAPREADER_CODE_OTHER);
	return go_on(reader, CODE_VALUE);
}

static enum verdict at_code_value(struct imapreader *reader, enum imaptoken_kind kind)
{
	struct imapreader_response *response = &reader->response;
	bool is_right = true;
	if (kind != IMAPTOKEN_ATOM)
		return kind == IMAPTOKEN_CODE_END ? go_on(reader, REST) : at_rest(reader, kind);
	if (response->code == IMAPREADER_CODE_CAPABILITY)
		response->capabilities |= capability_of(word_of(reader));
	else if (response->code == IMAPREADER_CODE_HIGHESTMODSEQ)
		is_right = take_u64(reader, &response->modseq);
	else if (response->code == IMAPREADER_CODE_UIDNEXT ||
		 response->code == IMAPREADER_CODE_UIDVALIDITY)
		is_right = take_u32(reader, &response->number);
	return is_right ? GO : WRONG;
}

static enum verdict at_capabilities(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind != IMAPTOKEN_ATOM)
		return at_nothing(reader, kind);
	reader->response.capabilities |= capability_of(word_of(reader));
	return GO;
}

static enum verdict at_flags_open(struct imapreader *reader, enum imaptoken_kind kind)
{
	return kind == IMAPTOKEN_OPEN ? go_on(reader, FLAGS) : WRONG;
}

static enum verdict at_flags(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_CLOSE)
		return go_on(reader, NOTHING);
	if (kind != IMAPTOKEN_ATOM)
		return WRONG;
	reader->response.flags |= flag_of(word_of(reader));
	return GO;
}

static enum verdict at_search(struct imapreader *reader, enum imaptoken_kind kind)
{
	reader->response.kind = IMAPREADER_SEARCH;
	if (kind == IMAPTOKEN_OPEN) /* MODSEQ: RFC 7162 */
		return go_on(reader, REST);
	if (kind != IMAPTOKEN_ATOM)
		return at_nothing(reader, kind);
	reader->response.kind = IMAPREADER_FOUND;
	return take_u32(reader, &reader->response.number) && reader->response.number > 0 ? GIVE
											 : WRONG;
}

/* A string in whatever form, into text. GIVE: it is there. */
static enum verdict take_text(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_LITERAL_END)
		return GIVE;
	if (kind == IMAPTOKEN_BYTES) {
		for (size_t i = 0; i < reader->token.bytes_size; i++)
			keep(reader, reader->token.bytes[i]);
		return GO;
	}
	reader->text_size = 0;
	reader->text[0] = '\0';
	if (kind == IMAPTOKEN_LITERAL)
		return GO;
	if (kind != IMAPTOKEN_ATOM && kind != IMAPTOKEN_STRING)
		return WRONG;
	for (const char *at = reader->token.text; *at != '\0'; at++)
		keep(reader, *at);
	return GIVE;
}

static enum verdict at_list_open(struct imapreader *reader, enum imaptoken_kind kind)
{
	reader->response.can_select = true;
	return kind == IMAPTOKEN_OPEN ? go_on(reader, LIST_FLAGS) : WRONG;
}

static enum verdict at_list_flags(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_CLOSE)
		return go_on(reader, LIST_DELIMITER);
	if (kind != IMAPTOKEN_ATOM)
		return WRONG;
	if (strcasecmp(word_of(reader), "\\Noselect") == 0 ||
	    strcasecmp(word_of(reader), "\\NonExistent") == 0)
		reader->response.can_select = false;
	return GO;
}

static enum verdict at_list_delimiter(struct imapreader *reader, enum imaptoken_kind kind)
{
	const bool is_none = kind == IMAPTOKEN_ATOM && strcasecmp(word_of(reader), "NIL") == 0;
	if (!is_none && (kind != IMAPTOKEN_STRING || reader->token.word_size != 1))
		return WRONG;
	reader->response.delimiter = is_none ? '\0' : reader->token.text[0];
	return go_on(reader, LIST_NAME);
}

static enum verdict at_list_name(struct imapreader *reader, enum imaptoken_kind kind)
{
	const enum verdict verdict = take_text(reader, kind);
	return verdict == GIVE ? go_on(reader, REST) : verdict;
}

static enum verdict at_status_name(struct imapreader *reader, enum imaptoken_kind kind)
{
	const enum verdict verdict = take_text(reader, kind);
	return verdict == GIVE ? go_on(reader, STATUS_OPEN) : verdict;
}

static enum verdict at_status_open(struct imapreader *reader, enum imaptoken_kind kind)
{
	return kind == IMAPTOKEN_OPEN ? go_on(reader, STATUS_ITEM) : WRONG;
}

static enum verdict at_status_item(struct imapreader *reader, enum imaptoken_kind kind)
{
	static const struct name items[] = { { "MESSAGES", ITEM_MESSAGES },
					     { "UNSEEN", ITEM_UNSEEN },
					     { "UIDNEXT", ITEM_UIDNEXT },
					     { "UIDVALIDITY", ITEM_UIDVALIDITY } };
	if (kind == IMAPTOKEN_CLOSE)
		return go_on(reader, NOTHING);
	if (kind != IMAPTOKEN_ATOM)
		return WRONG;
	reader->item = (uint8_t)find_name(items, COUNT(items), word_of(reader), ITEM_OTHER);
	reader->depth = 0;
	return go_on(reader, STATUS_VALUE);
}

/* A value of any kind that is not needed. GIVE: it is over. */
static enum verdict skip_value(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_END || (kind == IMAPTOKEN_CLOSE && reader->depth == 0))
		return WRONG;
	if (kind == IMAPTOKEN_OPEN)
		reader->depth++;
	if (kind == IMAPTOKEN_CLOSE)
		reader->depth--;
	if (kind == IMAPTOKEN_LITERAL || kind == IMAPTOKEN_BYTES || reader->depth > 0)
		return GO;
	return GIVE;
}

static enum verdict at_status_value(struct imapreader *reader, enum imaptoken_kind kind)
{
	struct imapreader_response *response = &reader->response;
	uint32_t *const numbers[] = { [ITEM_MESSAGES] = &response->messages,
				      [ITEM_UNSEEN] = &response->unseen,
				      [ITEM_UIDNEXT] = &response->uid_next,
				      [ITEM_UIDVALIDITY] = &response->uid_validity };
	if (reader->item == ITEM_OTHER) {
		const enum verdict verdict = skip_value(reader, kind);
		return verdict == GIVE ? go_on(reader, STATUS_ITEM) : verdict;
	}
	if (kind != IMAPTOKEN_ATOM || !take_u32(reader, numbers[reader->item]))
		return WRONG;
	return go_on(reader, STATUS_ITEM);
}

static enum verdict at_fetch_open(struct imapreader *reader, enum imaptoken_kind kind)
{
	return kind == IMAPTOKEN_OPEN ? go_on(reader, FETCH_ITEM) : WRONG;
}

static enum item item_of(const char *text)
{
	static const struct name items[] = {
		{ "UID", ITEM_UID },	       { "FLAGS", ITEM_FLAGS },
		{ "INTERNALDATE", ITEM_DATE }, { "RFC822.SIZE", ITEM_SIZE },
		{ "MODSEQ", ITEM_MODSEQ },     { "BODY[]", ITEM_BODY },
	};
	static const char header[] = "BODY[HEADER";
	if (strncasecmp(text, header, sizeof(header) - 1) == 0)
		return ITEM_HEADER;
	return (enum item)find_name(items, COUNT(items), text, ITEM_OTHER);
}

static enum verdict at_fetch_item(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_CLOSE)
		return go_on(reader, NOTHING);
	if (kind != IMAPTOKEN_ATOM)
		return WRONG;
	reader->item = (uint8_t)item_of(reader->token.text); /* a list of fields may be cut */
	reader->depth = 0;
	return go_on(reader, FETCH_VALUE);
}

static enum verdict take_header_value(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_BYTES)
		take_header(reader, reader->token.bytes, reader->token.bytes_size);
	else if (kind == IMAPTOKEN_LITERAL)
		begin_field(reader);
	else if (kind == IMAPTOKEN_LITERAL_END)
		end_header(reader);
	else if (kind != IMAPTOKEN_ATOM && kind != IMAPTOKEN_STRING)
		return WRONG;
	reader->response.has_header |= kind == IMAPTOKEN_LITERAL_END || kind == IMAPTOKEN_STRING;
	return kind == IMAPTOKEN_BYTES || kind == IMAPTOKEN_LITERAL ? GO : GIVE;
}

static enum verdict take_body_value(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_LITERAL)
		reader->response.body_bytes = reader->token.literal_left;
	else if (kind == IMAPTOKEN_STRING)
		reader->response.body_bytes = reader->token.word_size;
	else if (kind != IMAPTOKEN_ATOM && kind != IMAPTOKEN_BYTES && kind != IMAPTOKEN_LITERAL_END)
		return WRONG;
	reader->response.has_body |= kind == IMAPTOKEN_LITERAL_END || kind == IMAPTOKEN_STRING;
	return kind == IMAPTOKEN_BYTES || kind == IMAPTOKEN_LITERAL ? GO : GIVE;
}

static enum verdict take_list_value(struct imapreader *reader, enum imaptoken_kind kind,
				    enum step step)
{
	if (kind != IMAPTOKEN_OPEN)
		return WRONG;
	reader->response.has_flags |= step == FETCH_FLAGS;
	return go_on(reader, step);
}

static enum verdict take_plain_value(struct imapreader *reader, enum imaptoken_kind kind)
{
	struct imapreader_response *response = &reader->response;
	bool is_right = kind == IMAPTOKEN_ATOM;
	if (reader->item == ITEM_DATE)
		is_right = kind == IMAPTOKEN_STRING &&
			   imapreader_parse_date(word_of(reader), &response->internal_s);
	else if (reader->item == ITEM_UID)
		is_right = is_right && take_u32(reader, &response->uid) && response->uid > 0;
	else
		is_right = is_right && take_u64(reader, &response->size_bytes);
	return is_right ? GIVE : WRONG;
}

static enum verdict at_fetch_value(struct imapreader *reader, enum imaptoken_kind kind)
{
	enum verdict verdict = GO;
	switch (reader->item) {
	case ITEM_FLAGS:
		return take_list_value(reader, kind, FETCH_FLAGS);
	case ITEM_MODSEQ:
		return take_list_value(reader, kind, FETCH_MODSEQ);
	case ITEM_HEADER:
		verdict = take_header_value(reader, kind);
		break;
	case ITEM_BODY:
		verdict = take_body_value(reader, kind);
		break;
	case ITEM_OTHER:
		verdict = skip_value(reader, kind);
		break;
	default:
		verdict = take_plain_value(reader, kind);
		break;
	}
	return verdict == GIVE ? go_on(reader, FETCH_ITEM) : verdict;
}

static enum verdict at_fetch_flags(struct imapreader *reader, enum imaptoken_kind kind)
{
	const enum verdict verdict = at_flags(reader, kind);
	return kind == IMAPTOKEN_CLOSE ? go_on(reader, FETCH_ITEM) : verdict;
}

static enum verdict at_fetch_modseq(struct imapreader *reader, enum imaptoken_kind kind)
{
	if (kind == IMAPTOKEN_CLOSE)
		return go_on(reader, FETCH_ITEM);
	return kind == IMAPTOKEN_ATOM && take_u64(reader, &reader->response.modseq) ? GO : WRONG;
}

static enum verdict (*const steps[])(struct imapreader *, enum imaptoken_kind) = {
	[FIRST] = at_first,
	[WORD] = at_word,
	[NUMBERED] = at_numbered,
	[STATUS_WORD] = at_status_word,
	[REST] = at_rest,
	[NOTHING] = at_nothing,
	[CODE_NAME] = at_code_name,
	[CODE_VALUE] = at_code_value,
	[CAPABILITIES] = at_capabilities,
	[FLAGS_OPEN] = at_flags_open,
	[FLAGS] = at_flags,
	[SEARCH] = at_search,
	[LIST_OPEN] = at_list_open,
	[LIST_FLAGS] = at_list_flags,
	[LIST_DELIMITER] = at_list_delimiter,
	[LIST_NAME] = at_list_name,
	[STATUS_NAME] = at_status_name,
	[STATUS_OPEN] = at_status_open,
	[STATUS_ITEM] = at_status_item,
	[STATUS_VALUE] = at_status_value,
	[FETCH_OPEN] = at_fetch_open,
	[FETCH_ITEM] = at_fetch_item,
	[FETCH_VALUE] = at_fetch_value,
	[FETCH_FLAGS] = at_fetch_flags,
	[FETCH_MODSEQ] = at_fetch_modseq,
};

/* ---- all of them ---- */

void imapreader_init(struct imapreader *ret_reader, uint64_t literal_max)
{
	memset(ret_reader, 0, sizeof(*ret_reader));
	imaptoken_init(&ret_reader->token, literal_max > 0 ? literal_max : IMAPREADER_LITERAL_MAX);
}

static void begin_response(struct imapreader *reader)
{
	memset(&reader->response, 0, sizeof(reader->response));
	begin_field(reader);
	reader->step = FIRST;
}

static enum imapreader_status fail(struct imapreader *reader, enum imaptoken_error error)
{
	reader->error = (uint8_t)error;
	return IMAPREADER_BROKEN;
}

enum imapreader_status imapreader_feed(struct imapreader *reader, const char *bytes, size_t size,
				       size_t *ret_taken)
{
	size_t at = 0;
	*ret_taken = 0;
	if (reader->error != 0)
		return IMAPREADER_BROKEN;
	if (reader->is_done)
		begin_response(reader);
	reader->is_done = false;
	while (at < size) {
		size_t taken = 0;
		const enum imaptoken_kind kind =
			imaptoken_feed(&reader->token, bytes + at, size - at, &taken);
		at += taken;
		*ret_taken = at;
		if (kind == IMAPTOKEN_MORE)
			break;
		if (kind == IMAPTOKEN_BROKEN)
			return fail(reader, reader->token.error);
		const enum verdict verdict = steps[reader->step](reader, kind);
		if (verdict == WRONG)
			return fail(reader, IMAPTOKEN_ESYNTAX);
		reader->is_done = verdict == GIVE && kind == IMAPTOKEN_END;
		if (verdict == GIVE)
			return IMAPREADER_RESPONSE;
	}
	return IMAPREADER_MORE;
}
