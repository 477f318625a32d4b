/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Anything as what OpenSMTPD says: bytes into lines, lines into a filter, whose judge lists
 * every client at the next line. Each request that can be read behind the first
 * config|ready has one answer, in a line that answers it; what is held is bounded. In pieces it
 * says the same.
 */

#include "integration/adapters/opensmtpd/filter.h"

#include <stdlib.h>
#include <string.h>

#include "integration/adapters/opensmtpd/lines.h"
#include "integration/adapters/opensmtpd/pending.h"
#include "lib/common/log.h"

#define SESSIONS_MAX 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct filter filter;
	struct lines lines;
	struct pending pending;
	struct session *asking[SESSIONS_MAX + 1];
	bool is_ready;
	uint64_t said; /* FNV-1a */
};

static void need(bool is_so)
{
	if (!is_so)
		abort();
}

static enum filter_asked ask(void *context, struct session *session, uint64_t *ret_id)
{
	struct world *world = context;
	for (size_t i = 0; i <= SESSIONS_MAX; i++) {
		if (world->asking[i] != NULL)
			continue;
		world->asking[i] = session;
		*ret_id = i;
		return FILTER_ASKED;
	}
	abort();
}

static void cancel(void *context, uint64_t id)
{
	struct world *world = context;
	need(world->asking[id] != NULL);
	world->asking[id] = NULL;
}

static void say(void *context, const char *text, size_t size)
{
	struct world *world = context;
	need(size > 0 && text[size - 1] == '\n');
	for (size_t i = 0; i < size; i++)
		world->said = (world->said ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	if (strncmp(text, "register|", 9) == 0)
		return;
	need(memchr(text, '\n', size - 1) == NULL);
	need(pending_take(&world->pending, text, size - 1));
}

static void judge_all(struct world *world)
{
	static const struct judgement listed = {
		.action = JUDGE_REJECT, .code = "5.7.1", .text = "listed", .zones = "bl6.example"
	};
	for (size_t i = 0; i <= SESSIONS_MAX; i++) {
		struct session *session = world->asking[i];
		world->asking[i] = NULL;
		if (session != NULL)
			filter_judge(&world->filter, session, &listed);
	}
}

static void take(struct world *world, const char *text, size_t size, bool is_cut)
{
	struct line line;
	bool is_line = line_parse(text, size, is_cut, &line) == NULL;
	world->is_ready |= is_line && line.kind == LINE_READY;
	if (is_line && line.kind == LINE_FILTER && world->is_ready)
		need(pending_add(&world->pending, &line, 0) == 0);
	filter_take(&world->filter, text, size, is_cut);
	need(world->filter.sessions.count <= SESSIONS_MAX);
	need(!is_line || line.kind != LINE_FILTER || world->pending.count <= SESSIONS_MAX);
}

static void feed(struct world *world, const uint8_t *data, size_t size, size_t piece)
{
	while (size > 0) {
		size_t room = 0;
		const char *text = NULL;
		bool is_cut = false;
		char *to = lines_room(&world->lines, &room);
		need(room > 0);
		room = room < size ? room : size;
		room = room < piece ? room : piece;
		memcpy(to, data, room);
		lines_filled(&world->lines, room);
		data += room;
		size -= room;
		while (lines_next(&world->lines, &text, &room, &is_cut)) {
			take(world, text, room, is_cut);
			/* Every other line finds verdicts that are not there yet. */
			if (room % 2 == 0)
				judge_all(world);
		}
	}
}

/* A digest of what was said. */
static uint64_t run(const uint8_t *data, size_t size, size_t piece)
{
	static struct world world;
	struct filter_options options = { LINE_AT_MAIL_FROM, false, SESSIONS_MAX };
	struct filter_means means = { &world, ask, cancel, say };
	memset(&world, 0, sizeof(world));
	need(filter_init(&world.filter, &options, &means) == 0);
	feed(&world, data, size, piece);
	judge_all(&world);
	/* Each has had its answer. */
	need(world.pending.count == 0);
	filter_deinit(&world.filter);
	pending_deinit(&world.pending);
	return world.said;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	log_set_level(LOG_LEVEL_ERROR);
	need(run(data, size, SIZE_MAX) == run(data, size, 1 + size % 13));
	return 0;
}
