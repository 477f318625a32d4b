/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libknot/libknot.h>
#include <libknot/yparser/yparser.h>
#include <libknot/yparser/ypschema.h>
#include <libknot/yparser/yptrafo.h>

#include "lib/common/log.h"

#define POSITION_MAX (PATH_MAX + 32)

_Static_assert(CONF_VALUE_MAX >= LOG_QUOTE_MAX, "a quoted value fits");
_Static_assert(CONF_ITEMS_MAX <= 64, "one bit of entry_seen for each item");

#define NAME_MAX_SIZE 62 /* YP_MAX_ITEM_NAME_LEN less the length byte and the NUL */

/* One reading: our table in yparser's words, and where we are in the text. */
struct reading {
	const struct conf_table *table;
	conf_fn fn;
	void *context;
	const char *text;
	size_t text_size;
	struct conf_error *error;
	uint64_t entry_seen[CONF_SECTIONS_MAX]; /* which items the current entry has had */

	yp_item_t sections[CONF_SECTIONS_MAX + 1];
	yp_item_t items[CONF_SECTIONS_MAX][CONF_ITEMS_MAX + 1];
	struct knot_lookup choices[CONF_SECTIONS_MAX][CONF_ITEMS_MAX][CONF_ITEMS_MAX + 1];
	char names[CONF_SECTIONS_MAX][CONF_ITEMS_MAX + 1][NAME_MAX_SIZE + 2];
	yp_item_t *schema;
	yp_check_ctx_t *check;
	yp_parser_t parser;
};

/* ---- the table in yparser's words ---- */

/* yparser's names begin with their length. */
static const yp_name_t *make_name(char *out, const char *name)
{
	size_t size = strnlen(name, NAME_MAX_SIZE);
	out[0] = (char)size;
	memcpy(out + 1, name, size);
	out[size + 1] = '\0';
	return out;
}

static void make_choices(const struct conf_item *item, struct knot_lookup *out)
{
	for (int i = 0; i < CONF_ITEMS_MAX && item->choices[i] != NULL; i++)
		out[i] = (struct knot_lookup){ i, item->choices[i] };
}

static void make_item(struct reading *r, size_t section, size_t index)
{
	const struct conf_item *item = &r->table->sections[section].items[index];
	yp_item_t *out = &r->items[section][index];
	out->name = make_name(r->names[section][index], item->name);
	out->flags = item->is_list ? YP_FMULTI : YP_FNONE;
	switch (item->type) {
	case CONF_NUMBER:
	case CONF_TIME:
		out->type = YP_TINT;
		out->var.i.min = item->min;
		out->var.i.max = item->max;
		out->var.i.dflt = item->min;
		out->var.i.unit = item->type == CONF_TIME ? YP_STIME : YP_SNONE;
		break;
	case CONF_TEXT:
		out->type = YP_TSTR;
		break;
	case CONF_CHOICE:
		make_choices(item, r->choices[section][index]);
		out->type = YP_TOPT;
		out->var.o.opts = r->choices[section][index];
		break;
	case CONF_ADDRESS:
		out->type = YP_TADDR;
		out->var.a.dflt_port = item->default_port;
		break;
	case CONF_NAME:
		out->type = YP_TDNAME;
		break;
	}
}

static int make_schema(struct reading *r)
{
	for (size_t s = 0; s < r->table->section_count; s++) {
		const struct conf_section *section = &r->table->sections[s];
		yp_item_t *out = &r->sections[s];
		out->name = make_name(r->names[s][CONF_ITEMS_MAX], section->name);
		out->type = YP_TGRP;
		out->var.g.sub_items = r->items[s];
		out->flags = section->has_entries ? YP_FMULTI : YP_FNONE;
		for (size_t i = 0; i < section->item_count; i++)
			make_item(r, s, i);
	}
	if (yp_schema_copy(&r->schema, r->sections) != KNOT_EOK)
		return -ENOMEM;
	r->check = yp_schema_check_init(&r->schema);
	return r->check != NULL ? 0 : -ENOMEM;
}

/* ---- errors ---- */

__attribute__((format(printf, 2, 3))) static void add_reason(struct conf_error *error,
							     const char *format, ...)
{
	size_t used = strlen(error->reason);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(error->reason + used, sizeof(error->reason) - used, format, arguments);
	va_end(arguments);
}

static void explain_item(struct conf_error *error, const struct conf_item *item)
{
	switch (item->type) {
	case CONF_NUMBER:
		add_reason(error, "permitted are whole numbers from %lld to %lld",
			   (long long)item->min, (long long)item->max);
		break;
	case CONF_TIME:
		add_reason(error, "permitted are %llds to %llds, with s, m, h or d",
			   (long long)item->min, (long long)item->max);
		break;
	case CONF_TEXT:
		add_reason(error, "permitted are 1 to %lld bytes", (long long)item->max);
		break;
	case CONF_CHOICE:
		for (size_t i = 0; item->choices[i] != NULL; i++)
			add_reason(error, "%s%s", i ? ", " : "permitted are ", item->choices[i]);
		break;
	case CONF_ADDRESS:
		add_reason(error, "permitted are an IPv4 or IPv6 address and @port up to 65535");
		break;
	case CONF_NAME:
		add_reason(error, "not a domain name");
		break;
	}
}

static void explain_unknown(struct conf_error *error, const struct conf_table *table,
			    const struct conf_section *section)
{
	size_t count = section != NULL ? section->item_count : table->section_count;
	for (size_t i = 0; i < count; i++)
		add_reason(error, "%s%s", i ? ", " : "unknown item, permitted are ",
			   section != NULL ? section->items[i].name : table->sections[i].name);
}

static struct conf_error *begin_error(struct reading *r)
{
	struct conf_error *error = r->error;
	memset(error, 0, sizeof(*error));
	error->line = r->parser.line_count;
	return error;
}

/* The parser could not read a line at all: its keys are those of a line before. */
static int refuse_line(struct reading *r, int ret)
{
	struct conf_error *error = begin_error(r);
	const char *line = r->text;
	const char *end = r->text + r->text_size;
	for (size_t i = 1; i < error->line && line < end; i++) {
		const char *feed = memchr(line, '\n', (size_t)(end - line));
		line = feed != NULL ? feed + 1 : end;
	}
	const char *feed = memchr(line, '\n', (size_t)(end - line));
	log_quote(line, (size_t)((feed != NULL ? feed : end) - line), error->value);
	add_reason(error, "%s",
		   ret == KNOT_EPARSEFAIL ? "not of the form item: value" : knot_strerror(ret));
	return -EINVAL;
}

static int refuse_value(struct reading *r, const char *reason, const struct conf_section *section,
			const struct conf_item *item)
{
	struct conf_error *error = begin_error(r);
	log_quote(r->parser.data, r->parser.data_len, error->value);
	if (item != NULL)
		snprintf(error->item, sizeof(error->item), "%s", item->name);
	else
		/* Cut: the whole word is in the file, at that line. */
		log_quote(r->parser.key, r->parser.key_len < 30 ? r->parser.key_len : 30,
			  error->item);
	if (reason != NULL)
		add_reason(error, "%s", reason);
	else if (item != NULL)
		explain_item(error, item);
	else
		explain_unknown(error, r->table, section);
	return -EINVAL;
}

/* An item outside an entry, or the dash at the wrong one. */
static int refuse_entry(struct reading *r, const struct conf_section *section,
			const struct conf_item *item)
{
	char reason[CONF_REASON_MAX];
	if (section->has_entries)
		snprintf(reason, sizeof(reason), "an entry of this section begins with \"- %s:\"",
			 section->items[0].name);
	else
		snprintf(reason, sizeof(reason), "this section has no entries");
	return refuse_value(r, reason, section, item);
}

/* ---- values ---- */

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET)
		((struct sockaddr_in *)address)->sin_port = htons(port);
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
}

static bool convert(const struct conf_item *item, const uint8_t *data, size_t data_size,
		    struct conf_value *value)
{
	bool no_port = false;
	switch (item->type) {
	case CONF_NUMBER:
	case CONF_TIME:
		value->number = yp_int(data);
		return true;
	case CONF_TEXT:
		return value->text[0] != '\0' && strlen(value->text) <= (size_t)item->max;
	case CONF_CHOICE:
		value->number = yp_opt(data);
		return true;
	case CONF_ADDRESS:
		value->address = yp_addr(data, &no_port);
		if (no_port)
			set_port(&value->address, item->default_port);
		/* yparser takes the path of a UNIX socket as well. */
		return value->address.ss_family != AF_UNIX && value->address.ss_family != AF_UNSPEC;
	case CONF_NAME:
		value->name = data;
		value->name_size = data_size;
		return true;
	}
	return false;
}

static int take_item(struct reading *r, size_t section_index, size_t item_index, uint8_t *data,
		     size_t data_size)
{
	const struct conf_section *section = &r->table->sections[section_index];
	const struct conf_item *item = &section->items[item_index];
	struct conf_value value = { .section = section_index,
				    .item = item_index,
				    .line = r->parser.line_count,
				    .text = r->parser.data };
	if (r->parser.data_len == 0)
		return refuse_value(r, NULL, section, item);
	if (item->type == CONF_NAME)
		knot_dname_to_lower(data);
	if (!convert(item, data, data_size, &value))
		return refuse_value(r, NULL, section, item);

	uint64_t bit = (uint64_t)1 << item_index;
	if (section->has_entries && item_index == 0)
		r->entry_seen[section_index] = 0;
	if (!item->is_list && (r->entry_seen[section_index] & bit) != 0)
		return refuse_value(r, "item is given twice", section, item);
	r->entry_seen[section_index] |= bit;

	const char *reason = r->fn(&value, r->context);
	return reason == NULL ? 0 : refuse_value(r, reason, section, item);
}

static size_t find_section(const struct conf_table *table, const yp_item_t *item)
{
	size_t i = 0;
	while (i < table->section_count && strcmp(table->sections[i].name, item->name + 1) != 0)
		i++;
	return i;
}

static size_t find_item(const struct conf_section *section, const char *name)
{
	size_t i = 0;
	while (i < section->item_count && strcmp(section->items[i].name, name) != 0)
		i++;
	return i;
}

/* What yparser has just read: a section, the first item of an entry, or an item. */
static int take_event(struct reading *r)
{
	int ret = yp_schema_check_parser(r->check, &r->parser);
	yp_node_t *top = &r->check->nodes[0];
	yp_node_t *node = &r->check->nodes[r->check->current];
	if (r->parser.event == YP_EKEY0 || top->item == NULL) {
		if (ret == KNOT_YP_ENOTSUP_DATA)
			return refuse_value(r, "a section has no value of its own", NULL, NULL);
		return ret == KNOT_EOK ? 0 : refuse_value(r, NULL, NULL, NULL);
	}

	size_t section_index = find_section(r->table, top->item);
	if (section_index == r->table->section_count)
		return refuse_value(r, NULL, NULL, NULL);
	const struct conf_section *section = &r->table->sections[section_index];
	size_t item_index = find_item(section, r->parser.key);
	if (item_index == section->item_count)
		return refuse_value(r, NULL, section, NULL);
	const struct conf_item *item = &section->items[item_index];
	if (ret == KNOT_YP_ENOID || ret == KNOT_YP_EINVAL_ID || ret == KNOT_YP_ENOTSUP_ID)
		return refuse_entry(r, section, item);
	if (ret != KNOT_EOK)
		return refuse_value(r, NULL, section, item);
	if (r->parser.event == YP_EID)
		return take_item(r, section_index, item_index, top->id, top->id_len);
	return take_item(r, section_index, item_index, node->data, node->data_len);
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
	return ret == KNOT_EOF ? 0 : refuse_line(r, ret);
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

int conf_parse(const char *text, size_t text_size, const struct conf_table *table, conf_fn fn,
	       void *context, struct conf_error *reterr_error)
{
	/* Some 100 kB, most of it yparser's: too much for a stack. */
	struct reading *r = calloc(1, sizeof(*r));
	if (r == NULL)
		return conf_refuse(reterr_error, -ENOMEM, "%s", strerror(ENOMEM));
	r->table = table;
	r->fn = fn;
	r->context = context;
	r->text = text;
	r->text_size = text_size;
	r->error = reterr_error;

	int ret = make_schema(r);
	if (ret == 0) {
		yp_init(&r->parser);
		ret = run(r);
		yp_deinit(&r->parser);
	} else {
		conf_refuse(reterr_error, ret, "%s", strerror(-ret));
	}
	yp_schema_check_deinit(r->check);
	yp_schema_free(r->schema);
	free(r);
	return ret;
}

/* The whole file, NULL with *ret_status. */
static char *read_file(const char *path, size_t *ret_size, int *ret_status)
{
	char *text = malloc(CONF_SIZE_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got = text == NULL || fd < 0 ? -1 : 1;
	while (got > 0 && size <= CONF_SIZE_MAX) {
		got = read(fd, text + size, CONF_SIZE_MAX + 1 - size);
		size += got > 0 ? (size_t)got : 0;
	}
	*ret_status = got < 0 ? -errno : size > CONF_SIZE_MAX ? -EFBIG : 0;
	if (fd >= 0)
		close(fd);
	if (*ret_status != 0) {
		free(text);
		return NULL;
	}
	*ret_size = size;
	return text;
}

int conf_load(const char *path, char **ret_text, size_t *ret_size, struct conf_error *reterr_error)
{
	int ret = 0;
	char *text = read_file(path, ret_size, &ret);
	if (text == NULL)
		return conf_refuse(reterr_error, ret, "%s", strerror(-ret));
	*ret_text = text;
	return 0;
}

int conf_read(const char *path, const struct conf_table *table, conf_fn fn, void *context,
	      struct conf_error *reterr_error)
{
	char *text = NULL;
	size_t size = 0;
	int ret = conf_load(path, &text, &size, reterr_error);
	if (ret != 0)
		return ret;
	ret = conf_parse(text, size, table, fn, context, reterr_error);
	free(text);
	return ret;
}

/* ---- errors ---- */

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

/* ---- values of several programs ---- */

const char *const conf_log_levels[] = { "error", "warning", "info", "debug", NULL };

const char *conf_parse_path(const char *text, char *ret_path, size_t size)
{
	if (text[0] != '/')
		return "permitted is an absolute path";
	snprintf(ret_path, size, "%s", text);
	return NULL;
}

const char *conf_parse_mode(const char *text, unsigned *ret_mode)
{
	unsigned mode = 0;
	size_t size = strspn(text, "01234567");
	for (size_t i = 0; i < size; i++)
		mode = mode * 8 + (unsigned)(text[i] - '0');
	if (size < 3 || text[size] != '\0' || mode > 0777)
		return "permitted are three octal digits";
	*ret_mode = mode;
	return NULL;
}
