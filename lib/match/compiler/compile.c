/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/compile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "lib/match/compiler/imagefile.h"
#include "lib/match/compiler/siglist.h"
#include "lib/match/compiler/sigregex.h"
#include "lib/match/compiler/tables.h"

struct compile {
	bool is_strict;
	compile_say_fn *say;
	void *context;
	struct siglist list;
	void *regexes; /* that were tried: a tree of sigtext.h */
	void *ignored; /* the same of names, and of names with an MD5 */
	unsigned counts[COMPILE_FORMAT_COUNT][COMPILE_REASON_COUNT];
	unsigned bad_lines;
	/* The line that is read. */
	const char *path;
	unsigned long line_number;
};

static const char out_of_memory[] = "out of memory";

static const struct {
	const char *name;
	const char *ends[4];
} formats[COMPILE_FORMAT_COUNT] = {
	[COMPILE_HDB] = { "hdb", { ".hdb", ".hdu" } },
	[COMPILE_HSB] = { "hsb", { ".hsb", ".hsu" } },
	[COMPILE_MDB] = { "mdb", { ".mdb", ".mdu" } },
	[COMPILE_MSB] = { "msb", { ".msb", ".msu" } },
	[COMPILE_NDB] = { "ndb", { ".ndb", ".ndu" } },
	[COMPILE_LDB] = { "ldb", { ".ldb", ".ldu" } },
	[COMPILE_FP] = { "fp", { ".fp", ".sfp" } },
	[COMPILE_IGN] = { "ign", { ".ign2", ".ign" } },
};

static const char *const reasons[COMPILE_REASON_COUNT] = {
	[COMPILE_STREAMS] = "found as bytes flow by",
	[COMPILE_NORMALISED] = "about normalised text or HTML",
	[COMPILE_PCRE] = "an expression without a stream mode",
	[COMPILE_BYTECODE] = "bytecode",
	[COMPILE_MACRO] = "a macro",
	[COMPILE_BYTE_COMPARE] = "a comparison of bytes",
	[COMPILE_FUZZY_IMAGE] = "a hash of pictures",
	[COMPILE_TOO_SHORT] = "less than two fixed bytes in a row",
	[COMPILE_COMPLEX] = "a beginning of too many lengths",
	[COMPILE_ATTRIBUTE] = "an attribute of files that is not known here",
	[COMPILE_ENGINE] = "for other versions of ClamAV",
};

const char *compile_format_name(enum compile_format format)
{
	return formats[format].name;
}

const char *compile_reason_text(enum compile_reason reason)
{
	return reasons[reason];
}

unsigned compile_count(const struct compile *compile, enum compile_format format,
		       enum compile_reason reason)
{
	return compile->counts[format][reason];
}

unsigned compile_bad_lines(const struct compile *compile)
{
	return compile->bad_lines;
}

int compile_new(bool is_strict, compile_say_fn *say, void *context, struct compile **ret_compile)
{
	struct compile *compile = calloc(1, sizeof(*compile));
	if (compile == NULL)
		return -ENOMEM;
	compile->is_strict = is_strict;
	compile->say = say;
	compile->context = context;
	*ret_compile = compile;
	return 0;
}

void compile_free(struct compile *compile)
{
	if (compile == NULL)
		return;
	siglist_free(&compile->list);
	signame_free(compile->regexes);
	signame_free(compile->ignored);
	free(compile);
}

__attribute__((format(printf, 2, 3))) static void say(const struct compile *compile,
						      const char *format, ...)
{
	char line[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (compile->say != NULL)
		compile->say(compile->context, line);
}

/* ---- what is ignored ---- */

static bool is_named(const struct compile *compile, const char *name)
{
	return signame_is_there(&compile->ignored, name);
}

static const char *add_name(struct compile *compile, const char *name)
{
	return signame_get(&compile->ignored, name) != NULL ? NULL : out_of_memory;
}

static const char *add_ignored(struct compile *compile, char *line)
{
	struct sigline_ignored ignored;
	const char *why = sigline_ignored(line, &ignored);
	if (why != NULL)
		return why;
	compile->counts[COMPILE_IGN][COMPILE_STREAMS]++;
	if (ignored.md5 == NULL)
		return add_name(compile, ignored.name);
	/* The MD5 is that of one line; lines that are read are looked up by it. */
	char key[40] = "=";
	for (unsigned i = 0; i < 32; i++)
		key[1 + i] =
			(char)(ignored.md5[i] >= 'A' && ignored.md5[i] <= 'F' ? ignored.md5[i] + 32
									      : ignored.md5[i]);
	return add_name(compile, key);
}

/* ---- lines ---- */

static void count(struct compile *compile, enum compile_format format, enum compile_reason reason)
{
	compile->counts[format][reason]++;
}

static const char *add_hash(struct compile *compile, char *line, enum compile_format format)
{
	struct sigline_hash hash;
	const bool is_section = format == COMPILE_MDB || format == COMPILE_MSB;
	const char *why = sigline_hash(line, is_section, &hash);
	if (why != NULL)
		return why;
	count(compile, format, hash.reason);
	if (hash.reason != COMPILE_STREAMS)
		return NULL;
	struct siglist_hash *added = siglist_add_hash(&compile->list);
	if (added == NULL)
		return out_of_memory;
	added->format = format;
	added->is_section = is_section;
	added->size = hash.size;
	added->digest_size = hash.digest_size;
	memcpy(added->digest, hash.digest, sizeof(added->digest));
	if (format == COMPILE_FP)
		return NULL;
	added->name = strdup(hash.name);
	return added->name != NULL ? NULL : out_of_memory;
}

/* Entry points and sections are read of programs for Windows alone. */
static bool is_known_place(const struct sigplace *place, const struct sigtarget *target)
{
	return place->kind <= SIGPLACE_END || target->kinds == UINT64_C(1) << CONTENT_PE;
}

static const char *fill_bytes(struct siglist_sub *sub, const char *bytes, unsigned flags,
			      enum compile_reason *ret_reason)
{
	const bool wants_start = sub->place.kind != SIGPLACE_ANY;
	const char *why = NULL;
	const unsigned passes = (flags & SIGBODY_WIDE) && (flags & SIGBODY_ASCII) ? 2 : 1;
	sub->flags = flags & ~(unsigned)SIGBODY_ASCII;
	*ret_reason = COMPILE_STREAMS;
	for (unsigned i = 0; i < passes && why == NULL && *ret_reason == COMPILE_STREAMS; i++) {
		const unsigned now = i == 0 ? sub->flags : sub->flags & ~(unsigned)SIGBODY_WIDE;
		why = sigbody_parse(bytes, now, wants_start, &sub->bodies[i], ret_reason);
		sub->body_count += why == NULL && *ret_reason == COMPILE_STREAMS;
		/* What stands before the end is decided there, and only one part of it. */
		if (sub->place.kind == SIGPLACE_END && sub->bodies[i].part_count > 1)
			*ret_reason = COMPILE_COMPLEX;
	}
	return why;
}

static struct siglist_signature *add_signature(struct compile *compile, const char *name,
					       const struct sigtarget *target,
					       enum compile_format format, unsigned sub_count)
{
	struct siglist_signature *added = siglist_add(&compile->list);
	if (added == NULL)
		return NULL;
	added->name = strdup(name);
	added->format = format;
	added->target = *target;
	added->subs = calloc(sub_count, sizeof(*added->subs));
	if (added->name == NULL || added->subs == NULL) {
		siglist_drop(&compile->list);
		return NULL;
	}
	added->sub_count = sub_count;
	return added;
}

static const char *add_body(struct compile *compile, char *line)
{
	struct sigline_body body;
	const char *why = sigline_body(line, &body);
	if (why != NULL)
		return why;
	struct siglist_signature *added =
		add_signature(compile, body.name, &body.target, COMPILE_NDB, 1);
	if (added == NULL)
		return out_of_memory;
	enum compile_reason reason = COMPILE_STREAMS;
	added->subs[0].place = body.place;
	why = fill_bytes(&added->subs[0], body.bytes, 0, &reason);
	if (body.target.reason != COMPILE_STREAMS)
		reason = body.target.reason;
	else if (!is_known_place(&body.place, &body.target))
		reason = COMPILE_ATTRIBUTE;
	sigwords_add(&added->logic, siglogic_word(SIGLOGIC_COUNT, 0));
	sigwords_add(&added->logic, 0);
	if (why == NULL)
		count(compile, COMPILE_NDB, reason);
	if (why != NULL || reason != COMPILE_STREAMS)
		siglist_drop(&compile->list);
	return why;
}

static const char *fill_regex(struct compile *compile, struct siglist_sub *sub,
			      const struct sigline_sub *from, uint32_t sub_count,
			      enum compile_reason *ret_reason)
{
	const char *why = siglogic_parse(from->trigger, sub_count, &sub->trigger);
	if (why != NULL)
		return why;
	*ret_reason = from->place.kind != SIGPLACE_ANY
			      ? COMPILE_PCRE
			      : sigregex_prepare(&compile->regexes, from->bytes, from->letters,
						 &sub->regex, &sub->regex_flags);
	return NULL;
}

/* All sub-signatures are read, so that a line that is wrong is named whatever else is in it. */
static const char *fill_subs(struct compile *compile, struct siglist_signature *signature,
			     const struct sigline_logical *logical, enum compile_reason *reason)
{
	const char *why = NULL;
	for (unsigned i = 0; i < logical->sub_count && why == NULL; i++) {
		const struct sigline_sub *from = &logical->subs[i];
		struct siglist_sub *sub = &signature->subs[i];
		enum compile_reason own = from->reason;
		sub->place = from->place;
		if (from->kind == SIGLINE_BYTES)
			why = fill_bytes(sub, from->bytes, from->flags, &own);
		else if (from->kind == SIGLINE_REGEX && *reason == COMPILE_STREAMS)
			why = fill_regex(compile, sub, from, logical->sub_count, &own);
		if (from->reason != COMPILE_STREAMS)
			own = from->reason;
		else if (own == COMPILE_STREAMS && !is_known_place(&sub->place, &logical->target))
			own = COMPILE_ATTRIBUTE;
		if (*reason == COMPILE_STREAMS)
			*reason = own;
	}
	return why;
}

static const char *add_logical(struct compile *compile, char *line)
{
	struct sigline_logical logical;
	const char *why = sigline_logical(line, &logical);
	if (why != NULL)
		return why;
	struct siglist_signature *added = add_signature(compile, logical.name, &logical.target,
							COMPILE_LDB, logical.sub_count);
	if (added == NULL)
		return out_of_memory;
	enum compile_reason reason = logical.target.reason;
	why = siglogic_parse(logical.logic, logical.sub_count, &added->logic);
	if (why == NULL)
		why = fill_subs(compile, added, &logical, &reason);
	if (why == NULL && reason == COMPILE_STREAMS && !tables_has_room(added))
		reason = COMPILE_COMPLEX;
	if (why == NULL)
		count(compile, COMPILE_LDB, reason);
	if (why != NULL || reason != COMPILE_STREAMS)
		siglist_drop(&compile->list);
	return why;
}

/* ---- files ---- */

static const char *add_line(struct compile *compile, char *line, enum compile_format format)
{
	switch (format) {
	case COMPILE_NDB:
		return add_body(compile, line);
	case COMPILE_LDB:
		return add_logical(compile, line);
	case COMPILE_IGN:
		return add_ignored(compile, line);
	default:
		return add_hash(compile, line, format);
	}
}

static bool find_format(const char *path, enum compile_format *ret_format)
{
	const char *end = strrchr(path, '.');
	for (unsigned i = 0; end != NULL && i < COMPILE_FORMAT_COUNT; i++) {
		for (unsigned k = 0; k < 4 && formats[i].ends[k] != NULL; k++) {
			if (strcmp(formats[i].ends[k], end) == 0) {
				*ret_format = (enum compile_format)i;
				return true;
			}
		}
	}
	return false;
}

/* Is the line, whole as it stands, one that ign2 names by its MD5? */
static bool is_line_ignored(const struct compile *compile, const char *line, size_t size)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned digest_size = 0;
	char key[40] = "=";
	if (compile->ignored == NULL ||
	    EVP_Digest(line, size, digest, &digest_size, EVP_md5(), NULL) != 1)
		return false;
	for (unsigned i = 0; i < 16; i++)
		snprintf(key + 1 + 2 * (size_t)i, 3, "%02x", digest[i]);
	return is_named(compile, key);
}

static int read_lines(struct compile *compile, FILE *file, enum compile_format format)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t size = 0;
	int status = 0;
	while (status == 0 && (size = getline(&line, &room, file)) >= 0) {
		compile->line_number++;
		while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r'))
			line[--size] = '\0';
		if (size == 0 || line[0] == '#')
			continue;
		const char *why = strlen(line) != (size_t)size ? "there is a NUL" : NULL;
		if (why == NULL && !is_line_ignored(compile, line, (size_t)size))
			why = add_line(compile, line, format);
		if (why == out_of_memory)
			status = -ENOMEM;
		if (why == NULL)
			continue;
		say(compile, "%s:%lu: %s", compile->path, compile->line_number, why);
		compile->bad_lines++;
		if (compile->is_strict && status == 0)
			status = -EBADMSG;
	}
	if (status == 0 && ferror(file))
		status = -EIO;
	free(line);
	return status;
}

int compile_add_file(struct compile *compile, const char *path)
{
	enum compile_format format = COMPILE_HDB;
	if (!find_format(path, &format)) {
		say(compile, "%s: its name ends in no format that is known", path);
		return -EINVAL;
	}
	FILE *file = fopen(path, "re");
	if (file == NULL) {
		const int status = -errno;
		say(compile, "%s: %s", path, strerror(-status));
		return status;
	}
	compile->path = path;
	compile->line_number = 0;
	const int status = read_lines(compile, file, format);
	if (status != 0 && status != -EBADMSG)
		say(compile, "%s: %s", path, strerror(-status));
	fclose(file);
	return status;
}

/* What was read before it was ignored. */
static void apply_ignored(struct compile *compile)
{
	for (size_t i = 0; i < compile->list.signature_count; i++) {
		struct siglist_signature *signature = &compile->list.signatures[i];
		if (signature->is_ignored || !is_named(compile, signature->name))
			continue;
		signature->is_ignored = true;
		compile->counts[signature->format][COMPILE_STREAMS]--;
	}
	for (size_t i = 0; i < compile->list.hash_count; i++) {
		struct siglist_hash *hash = &compile->list.hashes[i];
		if (hash->is_ignored || hash->name == NULL || !is_named(compile, hash->name))
			continue;
		hash->is_ignored = true;
		compile->counts[hash->format][COMPILE_STREAMS]--;
	}
}

int compile_write(struct compile *compile, const char *path)
{
	struct tables tables;
	char error[MATCH_ERROR_SIZE] = "out of memory";
	apply_ignored(compile);
	int status = tables_make(&compile->list, &tables);
	if (status == 0)
		status = imagefile_make_hs(&tables, error);
	if (status == 0)
		status = imagefile_write(&tables, path, error);
	if (status != 0)
		say(compile, "%s: %s", path, error);
	tables_free(&tables);
	return status;
}
