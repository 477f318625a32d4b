/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A monitor's answer: members that are asked for, items, and members of these. What is found is not
 * empty, lies within the text behind what was found before, and the reading ends.
 */

#include "integration/mail/mail-stored/rados/rados_json.h"

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(struct json_at value, struct json_at whole)
{
	uint64_t number = 0;
	require(value.at < value.end, "a value is not empty");
	require(value.at >= whole.at && value.end <= whole.end, "a value is within");
	if (json_number(value, &number))
		require(!json_is_text(value, "up"), "a number is no text");
}

static void look_inside(struct json_at value, struct json_at whole)
{
	static const char *const keys[] = { "acting", "nodes", "size", "status", "type", "" };
	struct json_at found;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (json_member(value, keys[i], &found))
			look(found, value);
	}
	struct json_at rest = value;
	const char *before = value.at;
	while (json_next(&rest, &found)) {
		look(found, whole);
		require(found.at > before, "items go on");
		before = found.at;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct json_at whole = json_whole((const char *)data, size);
	struct json_at nodes;
	struct json_at node;
	look_inside(whole, whole);
	if (!json_member(whole, "nodes", &nodes))
		return 0;
	while (json_next(&nodes, &node))
		look_inside(node, whole);
	return 0;
}
