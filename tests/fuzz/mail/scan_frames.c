/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any packet between a scanner and a decoder process: what is taken for a frame is written as the
 * same packet again, and its texts may stand in a line of a log.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   direction
 *        1      .   the packet
 */

#include "integration/mail/base/scan/scan_frame.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t room)
{
	const size_t size = strnlen(text, room);
	require(size < room, "a text ends");
	for (size_t i = 0; i < size; i++)
		require((uint8_t)text[i] >= 0x20 && text[i] != 0x7f, "a text has no controls");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scan_frame frame;
	static uint8_t again[SCAN_FRAME_MAX + SCAN_FRAME_SMALL];
	if (size < 1)
		return 0;
	const enum scan_frame_direction direction =
		data[0] % 2 == 0 ? SCAN_FRAME_TO_DECODER : SCAN_FRAME_TO_SCANNER;
	if (scan_frame_read(data + 1, size - 1, direction, &frame) != 0)
		return 0;
	check_text(frame.path, sizeof(frame.path));
	check_text(frame.finding.name, sizeof(frame.finding.name));
	check_text(frame.finding.path, sizeof(frame.finding.path));
	const size_t again_size = scan_frame_write(&frame, again);
	require(again_size == size - 1, "as long as before");
	require(memcmp(again, data + 1, again_size) == 0, "the same packet");
	return 0;
}
