/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any line of each format: it is refused with words, or what is read of it is whole. Nothing is
 * compiled by Vectorscan.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   the format
 *        1      .   the line
 */

#include <stdlib.h>
#include <string.h>

#include "lib/match/lines/sigbody.h"
#include "lib/match/lines/sigline.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bytes(const char *text, unsigned flags, bool wants_start)
{
	struct sigbody body;
	enum compile_reason reason = COMPILE_STREAMS;
	const char *why = sigbody_parse(text, flags, wants_start, &body, &reason);
	if (why != NULL || reason != COMPILE_STREAMS)
		return;
	require(body.part_count > 0 && body.part_count <= SIGBODY_PARTS_MAX, "there are parts");
	for (size_t i = 0; i < body.part_count; i++) {
		const struct sigbody_part *part = &body.parts[i];
		require(part->variant_count > 0 && part->gap_min <= part->gap_max,
			"a part has an expression and a distance");
		for (size_t k = 0; k < part->variant_count; k++) {
			const uint32_t length = part->variants[k].length;
			require(strlen(part->variants[k].expression) > 0, "no expression is empty");
			require(length > 0 &&
					(length != SIGBODY_NO_LENGTH || (i == 0 && !wants_start)),
				"a length is known where it is asked for");
		}
	}
	sigbody_free(&body);
}

static void check_logic(const char *text, uint32_t sub_count)
{
	struct sigwords program = { .at = NULL };
	uint32_t caps[SIGLOGIC_SUBS_MAX];
	if (siglogic_parse(text, sub_count, &program) == NULL &&
	    siglogic_check(program.at, program.count, sub_count)) {
		siglogic_caps(program.at, program.count, caps);
		for (uint32_t i = 0; i < SIGLOGIC_SUBS_MAX; i++)
			require(caps[i] > 0, "each count has an end");
	}
	sigwords_free(&program);
}

static void check_logical(char *line)
{
	static struct sigline_logical logical;
	if (sigline_logical(line, &logical) != NULL)
		return;
	check_logic(logical.logic, logical.sub_count);
	for (unsigned i = 0; i < logical.sub_count; i++) {
		const struct sigline_sub *sub = &logical.subs[i];
		if (sub->kind == SIGLINE_BYTES)
			check_bytes(sub->bytes, sub->flags, sub->place.kind != SIGPLACE_ANY);
		else if (sub->kind == SIGLINE_REGEX)
			check_logic(sub->trigger, logical.sub_count);
	}
}

static void check_line(char *line, unsigned format)
{
	struct sigline_hash hash;
	struct sigline_body body;
	struct sigline_ignored ignored;
	if (format <= 1 && sigline_hash(line, format == 1, &hash) == NULL)
		require(strlen(hash.name) > 0, "a hash has a name");
	if (format == 2 && sigline_ignored(line, &ignored) == NULL)
		require(strlen(ignored.name) > 0, "what is ignored has a name");
	if (format == 3 && sigline_body(line, &body) == NULL)
		check_bytes(body.bytes, 0, body.place.kind != SIGPLACE_ANY);
	if (format == 4)
		check_logical(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	char *line = malloc(size);
	if (line == NULL)
		return 0;
	memcpy(line, data + 1, size - 1);
	line[size - 1] = '\0';
	check_line(line, (data[0] - '0') % 5U);
	free(line);
	return 0;
}
