/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/read/entity.h"

void entity_init(struct entity *entity, unsigned view)
{
	entity->view = (uint8_t)view;
	entity->is_margin = false;
	entity->is_too_deep = false;
	entity->is_tentative = false;
	entity->is_gone = false;
	entity->is_at_delimiter = false;
	entity->is_watched = false;
	entity->lone = LONE_UNKNOWN;
	entity->is_behind_cr = false;
	entity->is_behind_lone = false;
	entity->has_too_many = false;
	entity->depth = 0;
	entity->stream_count = 0;
	entity->part_count = 0;
}

void entity_begin_header(struct entity *entity, bool is_digest)
{
	entity->phase = ENTITY_HEADER;
	entity->line = LINE_START;
	entity->is_field_open = false;
	entity->has_fields = false;
	entity->has_forked = false;
	entity->is_behind_gap = false;
	entity->is_margin = false;
	entity->is_too_deep = false;
	mimehead_begin(&entity->head, is_digest);
}

void entity_begin_body(struct entity *entity)
{
	entity->phase = ENTITY_BODY;
	entity->line = LINE_START;
	entity->eol = EOL_NONE;
}
