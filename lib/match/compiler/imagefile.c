/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/compiler/imagefile.h"

#include <errno.h>
#include <fcntl.h>
#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/evp.h>

#include "lib/common/wholefile.h"

#define HS_ALIGNMENT 64

/* ---- Vectorscan's database ---- */

/* Its bytes as they lie in memory, into the last section. */
static int keep_database(struct tables *tables, unsigned group, const hs_database_t *db)
{
	char *serial = NULL;
	size_t serial_size = 0;
	size_t size = 0;
	int status = -ENOMEM;
	void *place = NULL;
	if (hs_serialize_database(db, &serial, &serial_size) != HS_SUCCESS)
		return -ENOMEM;
	if (hs_serialized_database_size(serial, serial_size, &size) == HS_SUCCESS &&
	    posix_memalign(&place, HS_ALIGNMENT, size) == 0) {
		memset(place, 0, size);
		hs_database_t *placed = place;
		if (hs_deserialize_database_at(serial, serial_size, placed) == HS_SUCCESS) {
			sigtext_add(&tables->sections[IMAGE_HS + group], place, size);
			status = tables->sections[IMAGE_HS + group].is_failed ? -ENOMEM : 0;
		}
	}
	free(place);
	free(serial);
	return status;
}

/* The expressions of one group. */
struct chosen {
	const char **expressions;
	unsigned *flags;
	unsigned *ids;
	hs_expr_ext_t *ends;
	const hs_expr_ext_t **each;
	unsigned count;
};

static void chosen_free(struct chosen *chosen)
{
	free(chosen->expressions);
	free(chosen->flags);
	free(chosen->ids);
	free(chosen->ends);
	free(chosen->each);
}

/*
 * Vectorscan refuses an expression, and all that are compiled with it, that is longer than the place where
 * it is to end: one for the first bytes of an object that wants something before them. Without the limit it
 * is never found in its place.
 */
static bool is_possible(const struct chosen *chosen, unsigned at, uint64_t max)
{
	hs_expr_info_t *info = NULL;
	hs_compile_error_t *error = NULL;
	if (hs_expression_info(chosen->expressions[at], chosen->flags[at], &info, &error) !=
	    HS_SUCCESS) {
		hs_free_compile_error(error);
		return true; /* compiling it says why */
	}
	const bool fits = info->min_width <= max;
	free(info);
	return fits;
}

static bool choose(const struct tables *tables, unsigned group, struct chosen *ret_chosen)
{
	const size_t room = tables->expression_count + 1;
	ret_chosen->expressions = calloc(room, sizeof(*ret_chosen->expressions));
	ret_chosen->flags = calloc(room, sizeof(*ret_chosen->flags));
	ret_chosen->ids = calloc(room, sizeof(*ret_chosen->ids));
	ret_chosen->ends = calloc(room, sizeof(*ret_chosen->ends));
	ret_chosen->each = calloc(room, sizeof(void *));
	if (ret_chosen->expressions == NULL || ret_chosen->flags == NULL ||
	    ret_chosen->ids == NULL || ret_chosen->ends == NULL || ret_chosen->each == NULL)
		return false;
	for (size_t i = 0; i < tables->expression_count; i++) {
		const unsigned at = ret_chosen->count;
		if (tables->groups[i] != group)
			continue;
		ret_chosen->expressions[at] = tables->expressions[i];
		ret_chosen->flags[at] = tables->flags[i];
		ret_chosen->ids[at] = (unsigned)i;
		ret_chosen->count++;
		if (tables->ends[i].max == UINT64_MAX ||
		    !is_possible(ret_chosen, at, tables->ends[i].max))
			continue;
		ret_chosen->ends[at].flags = HS_EXT_FLAG_MIN_OFFSET | HS_EXT_FLAG_MAX_OFFSET;
		ret_chosen->ends[at].min_offset = tables->ends[i].min;
		ret_chosen->ends[at].max_offset = tables->ends[i].max;
		ret_chosen->each[at] = &ret_chosen->ends[at];
	}
	return true;
}

static void say_compile_error(const struct chosen *chosen, const hs_compile_error_t *error,
			      char *reterr)
{
	if (error == NULL)
		snprintf(reterr, MATCH_ERROR_SIZE, "Vectorscan makes no database");
	else if (error->expression < 0 || (unsigned)error->expression >= chosen->count)
		snprintf(reterr, MATCH_ERROR_SIZE, "Vectorscan: %.200s", error->message);
	else
		snprintf(reterr, MATCH_ERROR_SIZE, "Vectorscan: %.100s in %.120s", error->message,
			 chosen->expressions[error->expression]);
}

static int compile_chosen(struct tables *tables, unsigned group, const struct chosen *chosen,
			  char *reterr)
{
	hs_database_t *db = NULL;
	hs_compile_error_t *error = NULL;
	size_t stream_size = 0;
	if (chosen->count == 0)
		return 0;
	if (hs_compile_ext_multi(chosen->expressions, chosen->flags, chosen->ids, chosen->each,
				 chosen->count, HS_MODE_STREAM, NULL, &db, &error) != HS_SUCCESS) {
		say_compile_error(chosen, error, reterr);
		hs_free_compile_error(error);
		return -EINVAL;
	}
	const int status = keep_database(tables, group, db);
	if (hs_stream_size(db, &stream_size) == HS_SUCCESS)
		tables->numbers[IMAGE_STREAM_SIZE] += (uint32_t)stream_size;
	hs_free_database(db);
	return status;
}

int imagefile_make_hs(struct tables *tables, char *reterr)
{
	int status = 0;
	snprintf(reterr, MATCH_ERROR_SIZE, "out of memory");
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT && status == 0; i++) {
		struct chosen chosen = { .count = 0 };
		status = choose(tables, i, &chosen) ? compile_chosen(tables, i, &chosen, reterr)
						    : -ENOMEM;
		chosen_free(&chosen);
	}
	return status;
}

/* ---- the file ---- */

static void pad(struct sigtext *file)
{
	static const char zeros[IMAGE_ALIGNMENT];
	if (file->size % IMAGE_ALIGNMENT != 0)
		sigtext_add(file, zeros, IMAGE_ALIGNMENT - file->size % IMAGE_ALIGNMENT);
}

static void put(struct sigtext *file, size_t offset, const void *bytes, size_t size)
{
	if (!file->is_failed)
		memcpy(file->bytes + offset, bytes, size);
}

/* The bytes of the file, to be freed; .is_failed when memory ends. */
static struct sigtext bytes_of(const struct tables *tables)
{
	static const char zeros[IMAGE_HEADER_SIZE];
	const uint32_t words[2] = { IMAGE_VERSION, 1 };
	struct sigtext file = { .bytes = NULL };
	uint64_t places[2 * IMAGE_SECTION_COUNT];
	sigtext_add(&file, zeros, sizeof(zeros));
	for (unsigned i = 0; i < IMAGE_SECTION_COUNT; i++) {
		pad(&file);
		places[2 * i] = file.size;
		places[2 * i + 1] = tables->sections[i].size;
		sigtext_add(&file, tables->sections[i].bytes, tables->sections[i].size);
	}
	pad(&file);
	const uint64_t size = file.size;
	put(&file, 0, IMAGE_MAGIC, 8);
	put(&file, 8, words, sizeof(words));
	put(&file, 16, &size, sizeof(size));
	put(&file, IMAGE_HS_VERSION, hs_version(), strnlen(hs_version(), 63));
	put(&file, IMAGE_NUMBERS, tables->numbers, sizeof(tables->numbers));
	put(&file, IMAGE_SECTIONS, places, sizeof(places));
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned digest_size = 0;
	if (file.is_failed || EVP_Digest(file.bytes + IMAGE_SUMMED, file.size - IMAGE_SUMMED,
					 digest, &digest_size, EVP_sha256(), NULL) != 1)
		file.is_failed = true;
	put(&file, 24, digest, 32);
	return file;
}

int imagefile_write(struct tables *tables, const char *path, char *reterr)
{
	struct sigtext file = bytes_of(tables);
	const int status = file.is_failed ? -ENOMEM
					  : wholefile_write(AT_FDCWD, path, file.bytes, file.size,
							    0644, WHOLEFILE_LASTS);
	if (status != 0)
		snprintf(reterr, MATCH_ERROR_SIZE, "%s", strerror(-status));
	sigtext_free(&file);
	return status;
}
