/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_copy.h"

#include "integration/mail/base/users/users.h"
#include "integration/mail/base/users/users_build.h"
#include "lib/common/values.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_MAX 128

static const char *const folds[] = { "no", "yes" };

/* ---- a database as text ---- */

static int add_line(void *context, const char *line, size_t size)
{
	FILE *out = context;
	return fwrite(line, 1, size, out) == size && putc('\n', out) != EOF ? STORE_OK : -ENOMEM;
}

static size_t print_head(const struct users_facts *facts, char ret_head[HEAD_MAX])
{
	const char character[] = { facts->extension, '\0' };
	return (size_t)snprintf(ret_head, HEAD_MAX,
				"# users 1 fold=%s extension=%s built=%" PRId64 "\n",
				folds[facts->folds_case], character[0] != '\0' ? character : "none",
				facts->built_at_s);
}

/* What they are of stands before the lines, and is known with the first of them. */
static int join(const struct users_facts *facts, const char *lines, size_t size, uint8_t **ret_text,
		size_t *ret_size)
{
	char head[HEAD_MAX];
	const size_t head_size = print_head(facts, head);
	uint8_t *text = malloc(head_size + size);
	if (text == NULL)
		return -ENOMEM;
	memcpy(text, head, head_size);
	memcpy(text + head_size, lines, size);
	*ret_text = text;
	*ret_size = head_size + size;
	return STORE_OK;
}

int users_copy_make(const char *path, uint8_t **ret_text, size_t *ret_size)
{
	struct users_facts facts = { .folds_case = false };
	struct users *users = NULL;
	char *lines = NULL;
	size_t size = 0;
	int ret = users_open(path, &users);
	if (ret != STORE_OK)
		return ret;
	FILE *out = open_memstream(&lines, &size);
	ret = out == NULL ? -ENOMEM : users_walk_facts(users, &facts, add_line, out);
	users_close(users);
	if (out != NULL && fclose(out) != 0 && ret == STORE_OK)
		ret = -ENOMEM;
	if (ret == STORE_OK)
		ret = join(&facts, lines, size, ret_text, ret_size);
	if (lines != NULL)
		explicit_bzero(lines, size);
	free(lines);
	return ret;
}

/* ---- and back ---- */

static const char *after(const char *text, const char *word)
{
	const size_t size = strlen(word);
	return text != NULL && strncmp(text, word, size) == 0 ? text + size : NULL;
}

/* Any other character would be none that smtp-front-users takes. */
static const char *take_extension(const char *text, char *ret_extension)
{
	const char *rest = after(text, "none ");
	if (rest != NULL || text == NULL) {
		*ret_extension = '\0';
		return rest;
	}
	if (strchr("!#$%&'*+-/=?^_`{|}~.", text[0]) == NULL || text[0] == '\0')
		return NULL;
	*ret_extension = text[0];
	return after(text + 1, " ");
}

static bool parse_head(const char *head, struct users_facts *ret_facts)
{
	struct users_facts facts = { .folds_case = false };
	const char *rest = after(head, "# users 1 fold=");
	const char *kept = after(rest, "no ");
	facts.folds_case = kept == NULL;
	rest = kept != NULL ? kept : after(rest, "yes ");
	rest = take_extension(after(rest, "extension="), &facts.extension);
	rest = after(rest, "built=");
	if (rest == NULL ||
	    !values_parse_number(rest, VALUES_COUNT, 0, INT64_MAX, &facts.built_at_s))
		return false;
	*ret_facts = facts;
	return true;
}

int users_copy_parse(const uint8_t *text, size_t size, struct users_facts *ret_facts,
		     size_t *ret_used)
{
	char head[HEAD_MAX];
	const uint8_t *end = memchr(text, '\n', size < HEAD_MAX ? size : HEAD_MAX);
	if (end == NULL || memchr(text, '\0', (size_t)(end - text)) != NULL)
		return USERS_ECOPY;
	const size_t used = (size_t)(end - text);
	memcpy(head, text, used);
	head[used] = '\0';
	if (!parse_head(head, ret_facts))
		return USERS_ECOPY;
	*ret_used = used + 1;
	return STORE_OK;
}

struct lines {
	const uint8_t *text;
	size_t size;
};

static int fill(struct users_builder *build, void *context)
{
	const struct lines *lines = context;
	const uint8_t *text = lines->text;
	size_t left = lines->size;
	while (left > 0) {
		const uint8_t *end = memchr(text, '\n', left);
		/* Each has one: a text that was cut is no list. */
		if (end == NULL)
			return USERS_ECOPY;
		const size_t size = (size_t)(end - text);
		const int ret = size > USERS_LIST_LINE_MAX
					? USERS_ELINE
					: users_build_add(build, (const char *)text, size);
		if (ret != STORE_OK)
			return ret;
		text += size + 1;
		left -= size + 1;
	}
	return build->facts.domain_count > 0 ? STORE_OK : USERS_EEMPTY;
}

/* LMDB keeps its locks in another file. */
struct pair {
	char file[PATH_MAX];
	char lock[PATH_MAX];
};

static bool name_pair(const char *path, const char *end, struct pair *ret_pair)
{
	const int size = snprintf(ret_pair->file, sizeof(ret_pair->file), "%s%s", path, end);
	const int lock_size =
		snprintf(ret_pair->lock, sizeof(ret_pair->lock), "%s%s-lock", path, end);
	return size < PATH_MAX && lock_size < PATH_MAX;
}

/*
 * A file that has no list yet gets its name when it has one: what waits for it opens it at once. The locks
 * come first, so that readers find them. What a kill has left under the other name is of no use.
 */
static int build_new(const char *path, struct users_builder *build, struct lines *lines)
{
	struct pair fresh;
	struct pair made;
	if (!name_pair(path, ".new", &fresh) || !name_pair(path, "", &made))
		return -ENAMETOOLONG;
	unlink(fresh.file);
	unlink(fresh.lock);
	const int ret = users_build(fresh.file, build, fill, lines);
	if (ret != STORE_OK)
		return ret;
	return rename(fresh.lock, made.lock) == 0 && rename(fresh.file, made.file) == 0 ? STORE_OK
											: -errno;
}

static int build_at(const char *path, struct users_builder *build, struct lines *lines)
{
	const bool is_new = access(path, F_OK) != 0 && errno == ENOENT;
	return is_new ? build_new(path, build, lines) : users_build(path, build, fill, lines);
}

int users_copy_build(const uint8_t *text, size_t size, const char *users_path,
		     const char *logins_path, const char **ret_path)
{
	struct users_builder build = { .max_shrink_percent = 100 };
	size_t used = 0;
	*ret_path = logins_path != NULL ? logins_path : users_path;
	int ret = users_copy_parse(text, size, &build.facts, &used);
	if (ret != STORE_OK)
		return ret;
	struct lines lines = { text + used, size - used };
	struct users_builder without = build;
	without.drops_secrets = true;
	if (logins_path != NULL)
		ret = build_at(logins_path, &build, &lines);
	if (ret != STORE_OK)
		return ret;
	*ret_path = users_path;
	return build_at(users_path, &without, &lines);
}
