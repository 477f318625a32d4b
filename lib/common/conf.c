/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libknot/libknot.h>
#include <libknot/yparser/yparser.h>

#include "lib/common/log.h"
#include "lib/common/wholefile.h"

#define POSITION_MAX (PATH_MAX + 32)

_Static_assert(CONF_VALUE_MAX >= LOG_QUOTE_MAX, "a quoted value fits");
_Static_assert(CONF_ITEMS_MAX <= 64, "one bit of seen for each item");

/* One reading: where we are in the text, and what there has been. */
struct reading {
	const struct conf_table *table;
	void *context;
	const char *text;
	size_t text_size;
	struct conf_error *error;
	const struct conf_section *section; /* NULL: before the first */
	bool has_entry;			    /* the section has begun one here */
	uint64_t seen[CONF_SECTIONS_MAX];   /* which items the section or its entry has had */
	uint8_t name[KNOT_DNAME_MAXLEN];    /* of the last value */
	yp_parser_t parser;
};

/* ---- errors ---- */

__attribute__((format(printf, 2, 3))) static void add_reason(char *reason, const char *format, ...)
{
	size_t used = strlen(reason);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(reason + used, CONF_REASON_MAX - used, format, arguments);
	va_end(arguments);
}

static enum values_unit unit_of(const struct conf_item *item)
{
	return item->type == CONF_SECONDS ? VALUES_SECONDS
	       : item->type == CONF_AGE	  ? VALUES_AGE
	       : item->type == CONF_MS	  ? VALUES_MS
	       : item->type == CONF_SIZE  ? VALUES_BYTES
					  : VALUES_COUNT;
}

/* Bytes of a text: what its row says, or what the member holds with a NUL. */
static size_t text_max(const struct conf_item *item)
{
	return item->max > 0 ? (size_t)item->max : item->size - 1;
}

/* What the row permits, such as "permitted are 1s to 1h, with s, m, h or d". */
static void explain(const struct conf_item *item, char ret_reason[CONF_REASON_MAX])
{
	ret_reason[0] = '\0';
	switch (item->type) {
	case CONF_NUMBER:
	case CONF_SECONDS:
	case CONF_AGE:
	case CONF_MS:
	case CONF_SIZE:
		values_explain_number(unit_of(item), item->min, item->max, ret_reason);
		break;
	case CONF_TEXT:
	case CONF_PATH:
	case CONF_PLACE:
		add_reason(ret_reason, "permitted are 1 to %zu bytes", text_max(item));
		break;
	case CONF_CHOICE:
		for (size_t i = 0; item->choices[i] != NULL; i++)
			add_reason(ret_reason, "%s%s", i ? ", " : "permitted are ",
				   item->choices[i]);
		break;
	case CONF_ADDRESS:
		add_reason(ret_reason,
			   "permitted are an IPv4 or IPv6 address and @port from %d to 65535",
			   (int)item->min);
		break;
	case CONF_MODE:
		add_reason(ret_reason, "permitted are three octal digits");
		break;
	case CONF_NAME:
		add_reason(ret_reason, "not a domain name");
		break;
	}
}

static void explain_unknown(struct reading *r)
{
	const struct conf_section *section = r->section;
	size_t count = section != NULL ? section->item_count : r->table->section_count;
	for (size_t i = 0; i < count; i++)
		add_reason(r->error->reason, "%s%s", i ? ", " : "unknown item, permitted are ",
			   section != NULL ? section->items[i].name : r->table->sections[i].name);
}

static struct conf_error *begin_error(struct reading *r)
{
	memset(r->error, 0, sizeof(*r->error));
	r->error->line = r->parser.line_count;
	return r->error;
}

/* Whether the text names an item of any section whose values are secret. */
static bool names_secret(const struct reading *r, const char *text, size_t size)
{
	for (size_t i = 0; i < r->table->section_count; i++) {
		const struct conf_section *section = &r->table->sections[i];
		for (size_t k = 0; k < section->item_count; k++) {
			const struct conf_item *item = &section->items[k];
			if (item->is_secret &&
			    memmem(text, size, item->name, strlen(item->name)) != NULL)
				return true;
		}
	}
	return false;
}

/* The text as a log may have it. */
static void quote(const struct reading *r, const char *text, size_t size, bool is_secret)
{
	if (is_secret)
		snprintf(r->error->value, sizeof(r->error->value), "hidden");
	else
		log_quote(text, size, r->error->value);
}

/* The value in a line, or what looks like one, without a comment behind it; empty: there is none. */
static const char *find_value(const char *line, size_t size, size_t *ret_size)
{
	const char *end = line + size;
	const char *at = memchr(line, ':', size);
	*ret_size = 0;
	if (at == NULL || end - at < 3 || at[1] != ' ')
		return end;
	at++;
	while (at < end && *at == ' ')
		at++;
	const char *until = at;
	while (until < end && !(*until == '#' && until[-1] == ' '))
		until++;
	*ret_size = (size_t)(until - at);
	return at;
}

/* "delay: 2 s", in which the parser takes what is behind the blank for the next item. */
static bool has_blank(const char *value, size_t size)
{
	const char *end = value + size;
	const char *at = memchr(value, ' ', size);
	while (at != NULL && at < end && *at == ' ')
		at++;
	return at != NULL && at < end && *at != '\r';
}

static const char blank_in_value[] =
	"a blank in the value: times and sizes have none, a text with one has quotes, and "
	"several values have brackets";

static const char *explain_line(const char *line, size_t size)
{
	size_t value_size = 0;
	const char *value = find_value(line, size, &value_size);
	if (value_size == 0 || *value == '"')
		return "not of the form item: value";
	if (*value == '[' || memchr(value, '[', value_size) != NULL ||
	    memchr(value, ']', value_size) != NULL)
		return "brackets: several values have commas between, and one with a bracket or a "
		       "blank in it has quotes";
	return has_blank(value, value_size) ? blank_in_value : "not of the form item: value";
}

/* The one that the parser is in. */
static const char *find_line(const struct reading *r, size_t *ret_size)
{
	const char *line = r->text;
	const char *end = r->text + r->text_size;
	for (size_t i = 1; i < r->parser.line_count && line < end; i++) {
		const char *feed = memchr(line, '\n', (size_t)(end - line));
		line = feed != NULL ? feed + 1 : end;
	}
	const char *feed = memchr(line, '\n', (size_t)(end - line));
	*ret_size = (size_t)((feed != NULL ? feed : end) - line);
	return line;
}

/* The parser could not read a line at all: its keys are those of a line before. */
static int refuse_line(struct reading *r, int ret)
{
	struct conf_error *error = begin_error(r);
	size_t size = 0;
	const char *line = find_line(r, &size);
	quote(r, line, size, names_secret(r, line, size));
	add_reason(error->reason, "%s",
		   ret == KNOT_EPARSEFAIL ? explain_line(line, size) : knot_strerror(ret));
	return -EINVAL;
}

/* What has just been read. item NULL: it is unknown. reason NULL: what is permitted instead. */
static int refuse_value(struct reading *r, const char *reason, const struct conf_item *item)
{
	char copy[CONF_REASON_MAX]; /* it may be in the error */
	snprintf(copy, sizeof(copy), "%s", reason != NULL ? reason : "");
	struct conf_error *error = begin_error(r);
	/* A secret in the wrong section is one, too. */
	quote(r, r->parser.data, r->parser.data_len,
	      item != NULL ? item->is_secret : names_secret(r, r->parser.key, r->parser.key_len));
	if (item != NULL)
		snprintf(error->item, sizeof(error->item), "%s", item->name);
	else
		/* Cut: the whole word is in the file, at that line. */
		log_quote(r->parser.key, r->parser.key_len < 30 ? r->parser.key_len : 30,
			  error->item);
	if (reason != NULL)
		memcpy(error->reason, copy, sizeof(copy));
	else if (item != NULL)
		explain(item, error->reason);
	else
		explain_unknown(r);
	return -EINVAL;
}

/* The same, where the value may be the first word of one with a blank. */
static int refuse_word(struct reading *r, const char *reason, const struct conf_item *item)
{
	size_t size = 0;
	const char *line = find_line(r, &size);
	return explain_line(line, size) == blank_in_value ? refuse_line(r, KNOT_EPARSEFAIL)
							  : refuse_value(r, reason, item);
}

/* An item outside an entry, or the dash at the wrong one. */
static int refuse_entry(struct reading *r, const struct conf_item *item)
{
	char reason[CONF_REASON_MAX];
	if (r->section->find_entry != NULL)
		snprintf(reason, sizeof(reason), "an entry of this section begins with \"- %s:\"",
			 r->section->items[0].name);
	else
		snprintf(reason, sizeof(reason), "this section has no entries");
	return refuse_value(r, reason, item);
}

/* ---- values ---- */

static bool find_choice(const char *const *choices, const char *text, int64_t *ret_number)
{
	for (int64_t i = 0; choices[i] != NULL; i++) {
		if (strcmp(choices[i], text) != 0)
			continue;
		*ret_number = i;
		return true;
	}
	return false;
}

/* A name in UTF-8 is asked for by its A-labels, which are other bytes. */
static bool is_ascii(const char *text)
{
	while (*text != '\0' && (unsigned char)*text < 0x80)
		text++;
	return *text == '\0';
}

static bool convert_name(struct reading *r, struct conf_value *value)
{
	if (knot_dname_from_str(r->name, value->text, sizeof(r->name)) == NULL)
		return false;
	knot_dname_to_lower(r->name);
	value->name = r->name;
	value->name_size = knot_dname_size(r->name);
	return true;
}

/* NULL, or why not; in explained what the row permits. */
static const char *convert(struct reading *r, struct conf_value *value, char *explained)
{
	const struct conf_item *item = value->item;
	bool is_text =
		item->type == CONF_TEXT || item->type == CONF_PATH || item->type == CONF_PLACE;
	bool is_good =
		value->text[0] != '\0' && (!is_text || strlen(value->text) <= text_max(item));
	explain(item, explained);
	if (!is_good)
		return explained;
	switch (item->type) {
	case CONF_NUMBER:
	case CONF_SECONDS:
	case CONF_AGE:
	case CONF_MS:
	case CONF_SIZE:
		is_good = values_parse_number(value->text, unit_of(item), item->min, item->max,
					      &value->number);
		break;
	case CONF_CHOICE:
		is_good = find_choice(item->choices, value->text, &value->number);
		break;
	case CONF_MODE:
		is_good = values_parse_mode(value->text, &value->number);
		break;
	case CONF_TEXT:
		break;
	case CONF_PATH:
		return value->text[0] == '/' ? NULL : "permitted is an absolute path";
	case CONF_ADDRESS:
		is_good = values_parse_address(value->text, item->default_port, item->min,
					       &value->address);
		break;
	case CONF_PLACE:
		return values_parse_place(value->text, &value->place);
	case CONF_NAME:
		if (!is_ascii(value->text))
			return "not a domain name: in ASCII, with A-labels (xn--...)";
		is_good = convert_name(r, value);
		break;
	}
	return is_good ? NULL : explained;
}

static void store_number(void *member, size_t size, int64_t number)
{
	bool is_on = number != 0;
	uint32_t narrow = (uint32_t)number;
	memcpy(member,
	       size == sizeof(is_on)	? (const void *)&is_on
	       : size == sizeof(narrow) ? (const void *)&narrow
					: (const void *)&number,
	       size);
}

static void store(void *member, const struct conf_value *value)
{
	const struct conf_item *item = value->item;
	switch (item->type) {
	case CONF_TEXT:
	case CONF_PATH:
		memset(member, 0, item->size);
		memcpy(member, value->text, strlen(value->text));
		break;
	case CONF_ADDRESS:
		memcpy(member, &value->address, item->size);
		break;
	case CONF_PLACE:
		memcpy(member, &value->place, item->size);
		break;
	default:
		store_number(member, item->size, value->number);
		break;
	}
}

/* The struct that the items of a section, or of its last entry, are members of. */
static void *find_base(const struct conf_section *section, const struct conf_item *item,
		       void *context)
{
	char *base = (char *)context + section->offset;
	return section->find_entry != NULL && item != section->items ? section->find_entry(base)
								     : base;
}

static const char *take(struct reading *r, const struct conf_section *section,
			struct conf_value *value, char *explained)
{
	const struct conf_item *item = value->item;
	char *member = (char *)find_base(section, item, r->context) + item->offset;
	const char *reason = convert(r, value, explained);
	if (reason == NULL && item->take != NULL)
		return item->take(member, value);
	if (reason == NULL)
		store(member, value);
	return reason;
}

/* ---- presets ---- */

static int refuse_preset(struct reading *r, const struct conf_item *item, const char *reason)
{
	return conf_refuse(r->error, -EINVAL, "%s: %s", item->name, reason);
}

static int take_preset(struct reading *r, const struct conf_section *section,
		       const struct conf_item *item)
{
	char explained[CONF_REASON_MAX];
	char words[CONF_VALUE_MAX];
	char *rest = NULL;
	snprintf(words, sizeof(words), "%s", item->preset);
	struct conf_value value = { .item = item, .context = r->context, .text = words };
	if (item->is_list)
		value.text = strtok_r(words, " ", &rest);
	while (value.text != NULL) {
		const char *reason = take(r, section, &value, explained);
		if (reason != NULL)
			return refuse_preset(r, item, reason);
		value.text = item->is_list ? strtok_r(NULL, " ", &rest) : NULL;
	}
	return 0;
}

/* Of a section, or of the entry that has just been begun. */
static int take_presets(struct reading *r, const struct conf_section *section, uint64_t seen)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < section->item_count; i++) {
		if (section->items[i].preset != NULL && (seen >> i & 1) == 0)
			ret = take_preset(r, section, &section->items[i]);
	}
	return ret;
}

/* ---- the text ---- */

static int take_item(struct reading *r, const struct conf_item *item)
{
	char explained[CONF_REASON_MAX];
	const struct conf_section *section = r->section;
	uint64_t *seen = &r->seen[section - r->table->sections];
	uint64_t bit = (uint64_t)1 << (item - section->items);
	bool is_first = r->parser.event == YP_EID;
	struct conf_value value = { .item = item,
				    .context = r->context,
				    .line = r->parser.line_count,
				    /* yparser leaves what was there before. */
				    .text = r->parser.data_len > 0 ? r->parser.data : "" };
	if (is_first)
		*seen = 0;
	if (!item->is_list && (*seen & bit) != 0)
		return refuse_value(r, "item is given twice", item);
	*seen |= bit;
	const char *reason = take(r, section, &value, explained);
	if (reason != NULL)
		return refuse_word(r, reason, item);
	r->has_entry = r->has_entry || is_first;
	return is_first ? take_presets(r, section, bit) : 0;
}

static int begin_section(struct reading *r)
{
	const struct conf_section *section = r->table->sections;
	const struct conf_section *end = section + r->table->section_count;
	while (section < end && strcmp(section->name, r->parser.key) != 0)
		section++;
	r->has_entry = false;
	r->section = NULL;
	if (section == end)
		return refuse_value(r, NULL, NULL);
	r->section = section;
	return r->parser.data_len == 0 ? 0
				       : refuse_value(r, "a section has no value of its own", NULL);
}

/* What yparser has just read: a section, the first item of an entry, or an item. */
static int take_event(struct reading *r)
{
	if (r->parser.event == YP_EKEY0)
		return begin_section(r);
	const struct conf_section *section = r->section;
	if (section == NULL)
		return refuse_value(r, "before any section, whose name begins a line", NULL);
	size_t i = 0;
	while (i < section->item_count && strcmp(section->items[i].name, r->parser.key) != 0)
		i++;
	if (i == section->item_count)
		return refuse_value(r, NULL, NULL);
	bool has_dash = r->parser.event == YP_EID;
	bool needs_dash = section->find_entry != NULL && i == 0;
	bool needs_entry = section->find_entry != NULL && !needs_dash;
	if (has_dash != needs_dash || (needs_entry && !r->has_entry))
		return refuse_entry(r, &section->items[i]);
	return take_item(r, &section->items[i]);
}

static int run(struct reading *r)
{
	int ret = yp_set_input_string(&r->parser, r->text, r->text_size);
	if (ret != KNOT_EOK)
		return refuse_line(r, ret);
	while ((ret = yp_parse(&r->parser)) == KNOT_EOK) {
		ret = take_event(r);
		if (ret != 0)
			return ret;
	}
	if (ret != KNOT_EOF)
		return refuse_line(r, ret);
	ret = 0;
	for (size_t i = 0; ret == 0 && i < r->table->section_count; i++) {
		if (r->table->sections[i].find_entry == NULL)
			ret = take_presets(r, &r->table->sections[i], r->seen[i]);
	}
	return ret;
}

int conf_parse(const char *text, size_t text_size, const struct conf_table *table, void *context,
	       struct conf_error *reterr_error)
{
	/* Some 33 kB, most of it yparser's: too much for a stack. */
	struct reading *r = calloc(1, sizeof(*r));
	if (r == NULL)
		return conf_refuse(reterr_error, -ENOMEM, "%s", strerror(ENOMEM));
	r->table = table;
	r->context = context;
	r->text = text;
	r->text_size = text_size;
	r->error = reterr_error;
	yp_init(&r->parser);
	int ret = run(r);
	yp_deinit(&r->parser);
	free(r);
	return ret;
}

/* The next row behind *section and *item that needs a restart, or NULL. */
static const struct conf_item *next_restart(const struct conf_table *table, size_t *section,
					    size_t *item)
{
	for (; *section < table->section_count; (*section)++, *item = 0) {
		const struct conf_section *at = &table->sections[*section];
		while (*item < at->item_count)
			if (at->items[(*item)++].needs_restart)
				return &at->items[*item - 1];
	}
	return NULL;
}

const char *conf_find_restart(const struct conf_table *table, const void *old_context,
			      const void *new_context)
{
	size_t section = 0;
	size_t next = 0;
	const struct conf_item *item;
	while ((item = next_restart(table, &section, &next)) != NULL) {
		size_t at = table->sections[section].offset + item->offset;
		if (memcmp((const char *)old_context + at, (const char *)new_context + at,
			   item->size) != 0)
			return item->name;
	}
	return NULL;
}

void conf_keep_restart(const struct conf_table *table, const void *old_context, void *new_context)
{
	size_t section = 0;
	size_t next = 0;
	const struct conf_item *item;
	while ((item = next_restart(table, &section, &next)) != NULL) {
		size_t at = table->sections[section].offset + item->offset;
		memcpy((char *)new_context + at, (const char *)old_context + at, item->size);
	}
}

int conf_refuse(struct conf_error *ret_error, int ret, const char *format, ...)
{
	va_list arguments;
	memset(ret_error, 0, sizeof(*ret_error));
	va_start(arguments, format);
	vsnprintf(ret_error->reason, sizeof(ret_error->reason), format, arguments);
	va_end(arguments);
	return ret;
}

/* The whole file, NULL with *ret_status. */
static char *read_file(const char *path, size_t *ret_size, int *ret_status)
{
	char *text = malloc(CONF_SIZE_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size =
		text == NULL || fd < 0 ? -errno : wholefile_take(fd, text, CONF_SIZE_MAX + 1);
	*ret_status = size < 0 ? (int)size : size > CONF_SIZE_MAX ? -EFBIG : 0;
	if (fd >= 0)
		close(fd);
	if (*ret_status != 0) {
		free(text);
		return NULL;
	}
	*ret_size = (size_t)size;
	return text;
}

int conf_load(const char *path, char **ret_text, size_t *ret_size, struct conf_error *reterr_error)
{
	int ret = 0;
	if (wholefile_is_fifo(path))
		return conf_refuse(reterr_error, -EINVAL,
				   "a pipe, which might be waited for without end");
	char *text = read_file(path, ret_size, &ret);
	if (text == NULL)
		return conf_refuse(reterr_error, ret, "%s", strerror(-ret));
	*ret_text = text;
	return 0;
}

/* ---- saying them ---- */

static void format_position(const char *path, const struct conf_error *error, char *ret_text)
{
	if (error->line == 0)
		snprintf(ret_text, POSITION_MAX, "%s", path);
	else
		snprintf(ret_text, POSITION_MAX, "%s:%zu", path, error->line);
}

static void format_refusal(const struct conf_error *error, char *ret_text)
{
	if (error->line == 0)
		snprintf(ret_text, CONF_ERROR_MAX, "configuration not read (%s)", error->reason);
	else if (error->item[0] == '\0')
		snprintf(ret_text, CONF_ERROR_MAX, "configuration refused, text=%s (%s)",
			 error->value, error->reason);
	else
		snprintf(ret_text, CONF_ERROR_MAX, "configuration refused, item=%s value=%s (%s)",
			 error->item, error->value, error->reason);
}

void conf_format_error(const char *path, const struct conf_error *error, char *ret_text)
{
	char position[POSITION_MAX];
	char refusal[CONF_ERROR_MAX];
	format_position(path, error, position);
	format_refusal(error, refusal);
	int size = snprintf(ret_text, CONF_ERROR_MAX, "%s: %s", position, refusal);
	if (size >= CONF_ERROR_MAX) /* what is wrong says more than where */
		memcpy(ret_text, refusal, sizeof(refusal));
}

void conf_log_error(const char *path, const struct conf_error *error)
{
	char position[POSITION_MAX];
	char refusal[CONF_ERROR_MAX];
	format_position(path, error, position);
	format_refusal(error, refusal);
	log_error(position, "%s", refusal);
}

/* ---- words of several programs ---- */

const char *const conf_log_levels[] = { "error", "warning", "info", "debug", NULL };
const char *const conf_off_on[] = { "off", "on", NULL };
const char *const conf_no_yes[] = { "no", "yes", NULL };
