/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/sources.h"

#include "zone-tools/lists/listfile.h"
#include "zone-tools/lists/plain.h"
#include "zone-tools/lists/rbldnsd.h"
#include "zone-tools/lists/rbldnsd_reader.h"
#include "zone-tools/lists/rbldnsd_value.h"
#include "zone-tools/plan/resolve.h"

#include "lib/process/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_LINES 4096

/* ---- one file ---- */

/* What a line is given to: a dataset of plain addresses, or a reader of rbldnsd's formats. */
struct sink {
	size_t dataset;
	uint32_t value;
	struct rbldnsd *rbldnsd; /* NULL for plain lists */
};

static int read_plain_line(struct reading *reading, const struct sink *sink)
{
	struct plain_entry entry;
	const char *fault =
		plain_parse(reading->line, reading->line_size, reading->options, &entry);
	if (fault != NULL)
		return reading_refuse_line(reading, fault);
	bool is_exclusion = entry.kind == PLAIN_EXCLUDED;
	if (entry.kind == PLAIN_BLANK ||
	    !reading_accepts(reading, entry.first, entry.last, is_exclusion))
		return DNSBLV6_OK;
	reading->listed_count += !is_exclusion;
	return dataset_add_range(&reading->listing->datasets[sink->dataset], entry.first,
				 entry.last, is_exclusion ? ENTRY_EXCLUDED : sink->value);
}

/* Those at the end; what is at the front belongs to the place of an error. */
static void cut_blanks(struct listfile_line *line)
{
	while (line->text_size > 0 && strchr(" \t", line->text[line->text_size - 1]) != NULL)
		line->text[--line->text_size] = '\0';
}

/*
 * A file cut amid a line may end in another address, or in a wider prefix, than it had. Such a line is
 * not left out as others that are bad: what an exclusion was for would be listed.
 */
static bool is_cut(struct reading *reading, const struct listfile_line *line)
{
	const char *text = line->text + strspn(line->text, " \t");
	if (!line->is_unterminated || rbldnsd_is_end(*text))
		return false;
	reading->listing->has_unterminated = true;
	if (reading->options->allow_unterminated)
		return false;
	reading_refuse(reading, "line refused",
		       "no line feed behind it: is the file cut short? --allow-unterminated");
	return true;
}

/* Neither blank nor a comment; rbldnsd has special entries that others take for comments. */
static bool says_something(const struct listfile_line *line, const struct sink *sink)
{
	const char *text = line->text + strspn(line->text, " \t");
	return line->fault != NULL || !rbldnsd_is_end(*text) ||
	       (sink->rbldnsd != NULL && *text != '\0' && text[1] == '$');
}

static int read_line(struct reading *reading, struct listfile_line *line, const struct sink *sink)
{
	if (line->fault == NULL)
		cut_blanks(line);
	reading->said_count += says_something(line, sink);
	reading->line = line->text;
	reading->line_size = line->text_size;
	if (line->fault == NULL && is_cut(reading, line))
		return DNSBLV6_OK;
	if (line->fault != NULL)
		return reading_refuse_line(reading, line->fault);
	return sink->rbldnsd != NULL ? rbldnsd_read_line(sink->rbldnsd, line->text)
				     : read_plain_line(reading, sink);
}

/* With a byte-order mark or without: of two bytes of a digit or a sign one is zero. */
static bool is_utf16(const struct listfile_line *line)
{
	const char *text = line->text;
	return line->text_size >= 2 &&
	       (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0 ||
		(text[0] == '\0') != (text[1] == '\0'));
}

/* Of what else a list may be packed with than gzip, and of gzip inside of gzip. NULL: not packed. */
static const char *find_packing(const struct listfile_line *line)
{
	static const struct {
		const char *magic;
		const char *reason;
	} packings[] = {
		{ "\x1f\x8b", "looks like gzip data inside of gzip data: unpack it" },
		{ "BZh91AY&SY",
		  "looks like bzip2 data: unpack it; of packed lists gzip alone is read" },
		{ "\xFD\x37zXZ",
		  "looks like xz data: unpack it; of packed lists gzip alone is read" },
		{ "\x28\xb5\x2f\xfd",
		  "looks like zstd data: unpack it; of packed lists gzip alone is read" },
		{ "PK\x03\x04",
		  "looks like a zip file: unpack it; of packed lists gzip alone is read" },
	};
	for (size_t i = 0; i < sizeof(packings) / sizeof(packings[0]); i++) {
		size_t size = strlen(packings[i].magic);
		if (line->text_size >= size && memcmp(line->text, packings[i].magic, size) == 0)
			return packings[i].reason;
	}
	return NULL;
}

/*
 * The first line that is not blank or a comment tells a list from what else is saved as one. False when
 * it is still to come; *ret_reason is NULL for a list.
 */
static bool has_content(const struct listfile_line *line, const char **ret_reason)
{
	size_t blanks = strspn(line->text, " \t");
	char c = line->text[blanks];
	*ret_reason = c == '<' ? "looks like an HTML page" : find_packing(line);
	if (is_utf16(line))
		*ret_reason = "looks like UTF-16: iconv -f UTF-16 -t UTF-8 makes a list of it";
	return *ret_reason != NULL || (c != '\0' && c != '#' && c != ';');
}

static int read_lines(struct reading *reading, struct listfile *file, const struct sink *sink)
{
	bool is_at_head = true;
	for (;;) {
		struct listfile_line line;
		int ret = listfile_next(file, &line);
		if (ret != DNSBLV6_OK)
			return ret;
		reading->place.line = listfile_line_number(file);
		if (++reading->listing->line_count % PROGRESS_LINES == 0)
			progress_step(reading->progress, "lines read", reading->listing->line_count,
				      listfile_offset(file), listfile_size(file));

		const char *reason;
		if (is_at_head && has_content(&line, &reason)) {
			is_at_head = false;
			if (reason != NULL) {
				findings_add(reading->findings, FINDING_REFUSAL, reading->place,
					     "file refused", line.text, line.text_size, reason);
				return DNSBLV6_ENOTFOUND;
			}
		}
		ret = read_line(reading, &line, sink);
		if (ret != DNSBLV6_OK)
			return ret;
	}
}

/* Damage inside a file is a refusal as any other; that it cannot be read is an error. */
static int end_of_file(struct reading *reading, int ret)
{
	if (ret == DNSBLV6_ENOTFOUND)
		return DNSBLV6_OK;
	findings_add(reading->findings, FINDING_REFUSAL, reading->place, "file not read", NULL, 0,
		     listfile_strerror(ret));
	return ret == -EBADMSG || ret == -ESTALE ? DNSBLV6_OK : ret;
}

static void note_time(struct reading *reading, const struct listfile *file, const char *path)
{
	uint64_t written_s = reading->options->now_s; /* of a pipe */
	bool is_file = listfile_written(file, &written_s);
	reading_note_time(reading, is_file ? path : NULL, written_s);
}

static int read_file(struct reading *reading, const char *path, const struct sink *sink)
{
	reading->place = (struct findings_place){ .file = path };
	struct listfile *file = NULL;
	int ret = listfile_open(path, &file);
	if (ret != DNSBLV6_OK)
		return end_of_file(reading, ret);
	note_time(reading, file, path);
	if (sink->rbldnsd != NULL)
		ret = rbldnsd_begin_file(sink->rbldnsd);
	if (ret == DNSBLV6_OK)
		ret = end_of_file(reading, read_lines(reading, file, sink));
	listfile_close(file);
	return ret;
}

/* ---- one LIST ---- */

static const char *parse_value(const char *text, struct dnsblv6_value *ret_value)
{
	const struct dnsblv6_value plain = { .a = LISTING_A_DEFAULT, .ttl = LISTING_TTL_DEFAULT };
	bool is_cut = false;
	*ret_value = plain;
	const char *fault =
		text != NULL ? rbldnsd_value_parse(text, &plain, ret_value, &is_cut) : NULL;
	return fault == NULL && is_cut ? "text is longer than 255 bytes" : fault;
}

const char *sources_check_value(const char *value)
{
	struct dnsblv6_value parsed;
	return parse_value(value, &parsed);
}

struct dnsblv6_value sources_value(const struct sources_options *options, uint8_t *ret_text)
{
	const struct rbldnsd_scope scope = { .ttl = LISTING_TTL_DEFAULT };
	struct dnsblv6_value raw;
	(void)parse_value(options->value, &raw);
	return rbldnsd_value_compile(&raw, &scope, ret_text);
}

/* A dataset of its own, with the one value that plain lists have. */
static int begin_plain(struct reading *reading, struct sink *ret_sink)
{
	uint8_t text[RBLDNSD_TEXT_MAX];
	const struct dnsblv6_value value = sources_value(reading->options, text);
	struct listing *listing = reading->listing;
	struct dataset *dataset;
	*ret_sink = (struct sink){ .rbldnsd = NULL };
	int ret = listing_add_dataset(listing, DUPLICATE_ALL, &dataset);
	if (ret == DNSBLV6_OK)
		ret = listing_connect(listing, 0);
	if (ret == DNSBLV6_OK)
		ret = value_pool_add(&listing->pool, &value, &ret_sink->value);
	if (ret == DNSBLV6_OK)
		ret_sink->dataset = listing->dataset_count - 1;
	return ret;
}

/*
 * An exclusion counts inside its own list: in a list of its own it is lost. Files of rbldnsd are
 * mostly written by programs and full of such; nothing is said about theirs.
 */
static int warn_of_idle_exclusions(struct reading *reading, const char *list,
				   const struct sink *sink)
{
	struct idle_exclusions idle = { 0 };
	char what[80];
	char text[DNSBLV6_PREFIX_TEXT_SIZE];
	int ret = resolve_idle_exclusions(&reading->listing->datasets[sink->dataset], &idle);
	if (ret != DNSBLV6_OK || idle.count == 0)
		return ret;
	snprintf(what, sizeof(what), "exclusions exclude nothing, count=%zu", idle.count);
	dnsblv6_prefix_format(idle.one, text);
	findings_add(reading->findings, FINDING_WARNING, (struct findings_place){ .file = list },
		     what, text, strlen(text), "no entry of this list holds them; see --except");
	return DNSBLV6_OK;
}

/* Why a file of several is none, from the counts before it; NULL when it is one. */
static const char *find_emptiness(const struct reading *reading, uint64_t lines_before,
				  uint64_t said_before, uint64_t bad_lines_before)
{
	const uint64_t bad_lines = bad_lines_before - reading->findings->bad_lines_allowed;
	if (reading->listing->line_count == lines_before)
		return "it has not one line; a comment in it says that this is meant so";
	if (bad_lines > 0 && bad_lines >= reading->said_count - said_before)
		return "it has lines, and not one that can be read; --allow-empty";
	return NULL;
}

/* Other files of its list, or an exception's lists, would hide that all entries of one are gone: expect_entries(). */
static int read_file_among(struct reading *reading, const char *path, const struct sink *sink)
{
	const uint64_t lines = reading->listing->line_count;
	const uint64_t said = reading->said_count;
	const uint64_t bad_lines = reading->findings->bad_lines_allowed;
	const uint64_t refusals = reading->findings->refusal_count;
	int ret = read_file(reading, path, sink);
	const char *reason = find_emptiness(reading, lines, said, bad_lines);
	if (ret != DNSBLV6_OK || reason == NULL || reading->findings->refusal_count != refusals ||
	    reading->options->allow_empty)
		return ret;
	reading->listing->empty_files++;
	reading->place.line = 0;
	findings_add(reading->findings, FINDING_REFUSAL, reading->place, "file refused", NULL, 0,
		     reason);
	return ret;
}

/* "FILE,FILE", as if they were one. */
static int read_files(struct reading *reading, const char *paths, const struct sink *sink)
{
	char *copy = strdup(paths);
	char *rest = copy;
	int ret = copy != NULL ? DNSBLV6_OK : -ENOMEM;
	bool is_among = strchr(paths, ',') != NULL;
	for (char *path; ret == DNSBLV6_OK && (path = strsep(&rest, ",")) != NULL;)
		ret = is_among ? read_file_among(reading, path, sink)
			       : read_file(reading, path, sink);
	free(copy);
	return ret;
}

/* fn: read_file() or read_files(). */
static int read_plain(struct reading *reading, const char *paths,
		      int (*fn)(struct reading *, const char *, const struct sink *))
{
	struct sink sink;
	int ret = begin_plain(reading, &sink);
	if (ret == DNSBLV6_OK)
		ret = fn(reading, paths, &sink);
	return ret == DNSBLV6_OK ? warn_of_idle_exclusions(reading, paths, &sink) : ret;
}

static int read_rbldnsd(struct reading *reading, enum rbldnsd_type type, const char *paths)
{
	struct sink sink = { .rbldnsd = NULL };
	int ret = rbldnsd_new(reading, type, &sink.rbldnsd);
	if (ret == DNSBLV6_OK)
		ret = read_files(reading, paths, &sink);
	if (ret == DNSBLV6_OK)
		ret = rbldnsd_end(sink.rbldnsd);
	rbldnsd_free(sink.rbldnsd);
	return ret;
}

/* The TYPE of "TYPE:FILE", or 0 when list is a file name. */
static size_t type_size(const char *list)
{
	size_t size = strcspn(list, ":/.");
	return list[size] == ':' ? size : 0;
}

static int refuse_list(struct reading *reading, const char *list, const char *reason)
{
	findings_add(reading->findings, FINDING_REFUSAL, (struct findings_place){ .file = NULL },
		     "list refused", list, strlen(list), reason);
	return -EINVAL;
}

/* In "FILE,FILE". That is a slip, such as a variable that is not set, and no list that is empty. */
static bool lacks_name(const char *paths)
{
	size_t size = strcspn(paths, ",");
	while (size > 0 && paths[size] == ',') {
		paths += size + 1;
		size = strcspn(paths, ",");
	}
	return size == 0;
}

static int read_list(struct reading *reading, const char *list)
{
	size_t size = type_size(list);
	if (size == 0)
		return read_plain(reading, list, read_file);
	if (lacks_name(list + size + 1))
		return refuse_list(reading, list, "a file of it has no name");
	if (size == 5 && memcmp(list, "plain", 5) == 0)
		return read_plain(reading, list + size + 1, read_files);
	enum rbldnsd_type type;
	if (rbldnsd_type_find(list, size, &type) != DNSBLV6_OK)
		return refuse_list(reading, list, "unknown type; plain:FILE is any file");
	if (type == RBLDNSD_ACL && reading->listing->has_acl)
		return refuse_list(reading, list,
				   "a zone has one acl; give its files as one: acl:FILE,FILE");
	reading->listing->has_acl |= type == RBLDNSD_ACL;
	return read_rbldnsd(reading, type, list + size + 1);
}

/* When something else was refused, that is why there is no entry. */
static void expect_entries(struct reading *reading, const char *list, uint64_t refusals_before)
{
	/* An acl without an entry would let every client in: that is never a rightly empty feed. */
	if (reading->options->allow_empty && strncmp(list, "acl:", 4) != 0)
		return;
	if (reading->listed_count == 0 && reading->findings->refusal_count == refusals_before)
		findings_add(reading->findings, FINDING_REFUSAL,
			     (struct findings_place){ .file = list }, "list refused", NULL, 0,
			     "list is empty: not one entry in it; --allow-empty");
}

int sources_read(struct listing *listing, const char *list, const struct sources_options *options,
		 struct findings *findings, struct progress *progress)
{
	struct reading reading = {
		.listing = listing,
		.options = options,
		.findings = findings,
		.progress = progress,
	};
	uint64_t refusals_before = findings->refusal_count;
	size_t first = listing->dataset_count;
	int ret = read_list(&reading, list);
	for (size_t i = first; i < listing->dataset_count; i++)
		listing->datasets[i].list = list;
	if (ret == DNSBLV6_OK)
		expect_entries(&reading, list, refusals_before);
	return ret;
}

int sources_read_plain(struct listing *listing, const char *path,
		       const struct sources_options *options, struct findings *findings)
{
	struct reading reading = { .listing = listing, .options = options, .findings = findings };
	uint64_t refusals_before = findings->refusal_count;
	int ret = read_plain(&reading, path, read_file);
	if (ret == DNSBLV6_OK)
		expect_entries(&reading, path, refusals_before);
	return ret;
}

bool sources_add_except(struct sources_options *options, const char *path)
{
	if (options->except_count == SOURCES_EXCEPT_MAX)
		return false;
	options->except[options->except_count++] = path;
	return true;
}

/* What is left of a file behind its own exclusions, which are no other's; a part of a unit is all of it. */
static int except_pieces(struct listing *listing, struct listing *file)
{
	struct set_pool sets = { 0 };
	struct pieces pieces = { 0 };
	int ret = set_pool_init(&sets);
	if (ret == DNSBLV6_OK)
		ret = resolve_origin(file, 0, &sets, &pieces);
	for (size_t i = 0; ret == DNSBLV6_OK && i < pieces.count; i++) {
		struct dnsblv6_addr first = dnsblv6_unit_of(pieces.items[i].first).first;
		struct dnsblv6_prefix last = dnsblv6_unit_of(pieces.items[i].last);
		ret = dataset_add_range(&listing->excepted, first, dnsblv6_prefix_last(last), 0);
	}
	pieces_deinit(&pieces);
	set_pool_deinit(&sets);
	return ret;
}

int sources_read_except(struct listing *listing, const struct sources_options *options,
			struct findings *findings)
{
	struct sources_options own = *options;
	int ret = DNSBLV6_OK;
	own.is_removal = true;
	listing->excepted.policy = DUPLICATE_ALL;
	for (size_t i = 0; ret == DNSBLV6_OK && i < options->except_count; i++) {
		struct listing except;
		struct reading reading = { .listing = &except,
					   .options = &own,
					   .findings = findings };
		ret = listing_init(&except);
		if (ret == DNSBLV6_OK)
			ret = read_plain(&reading, options->except[i], read_file_among);
		if (ret == DNSBLV6_OK)
			ret = except_pieces(listing, &except);
		listing_deinit(&except);
	}
	return ret;
}

int sources_read_entry(struct listing *listing, const char *text, const char *where,
		       const struct sources_options *options, struct findings *findings)
{
	struct reading reading = { .listing = listing,
				   .options = options,
				   .findings = findings,
				   .place = { .file = where },
				   .line = text,
				   .line_size = strlen(text) };
	struct sink sink;
	struct plain_entry entry;
	if (plain_parse(text, reading.line_size, options, &entry) == NULL &&
	    entry.kind != PLAIN_LISTED)
		return reading_refuse_line(
			&reading, entry.kind == PLAIN_EXCLUDED
					  ? "! stands in a file, and is for that file alone"
					  : "neither an address nor a file");
	reading_note_time(&reading, NULL, options->now_s);
	int ret = begin_plain(&reading, &sink);
	return ret == DNSBLV6_OK ? read_plain_line(&reading, &sink) : ret;
}
