/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/journal.h"

#include "lib/format/bytes.h"

/* ---- keys ---- */

void dnsblv6_journal_make_key(uint64_t number, uint32_t part, uint8_t *ret_key)
{
	bytes_put(&ret_key, number, 8);
	bytes_put(&ret_key, part, 4);
}

int dnsblv6_journal_parse_key(const uint8_t *key, size_t size, uint64_t *ret_number,
			      uint32_t *ret_part)
{
	struct bytes_input input = { key, size, false };
	uint64_t number = bytes_take(&input, 8);
	uint32_t part = (uint32_t)bytes_take(&input, 4);
	if (bytes_finish(&input) != DNSBLV6_OK)
		return DNSBLV6_EKEY;
	*ret_number = number;
	*ret_part = part;
	return DNSBLV6_OK;
}

/* ---- the header of a change ---- */

void dnsblv6_change_encode(const struct dnsblv6_change *change, uint8_t *ret_data)
{
	uint8_t *out = ret_data;
	bytes_put(&out, change->from_serial, 4);
	bytes_put(&out, change->to_serial, 4);
	bytes_put(&out, change->made_s, 8);
	bytes_put(&out, change->verb, 1);
	bytes_put(&out, (unsigned)change->has_names | (unsigned)change->has_undo << 1, 1);
	bytes_put(&out, change->part_count, 4);
	bytes_put(&out, change->size, 8);
	bytes_put(&out, change->added_count, 8);
	bytes_put(&out, change->changed_count, 8);
	bytes_put(&out, change->removed_count, 8);
	bytes_put(&out, change->ipv4_count, 8);
	bytes_put(&out, change->ipv6_count, 8);
}

enum { KEPT_NAMES = 1, KEPT_UNDO = 2 };

static bool is_verb(uint8_t verb)
{
	return verb >= DNSBLV6_CHANGE_BUILD && verb <= DNSBLV6_CHANGE_ROLLBACK;
}

int dnsblv6_change_decode(const uint8_t *data, size_t size, struct dnsblv6_change *ret_change)
{
	struct bytes_input input = { data, size, false };
	struct dnsblv6_change change = { 0 };
	change.from_serial = (uint32_t)bytes_take(&input, 4);
	change.to_serial = (uint32_t)bytes_take(&input, 4);
	change.made_s = bytes_take(&input, 8);
	change.verb = (uint8_t)bytes_take(&input, 1);
	uint8_t kept = (uint8_t)bytes_take(&input, 1);
	change.part_count = (uint32_t)bytes_take(&input, 4);
	change.size = bytes_take(&input, 8);
	change.added_count = bytes_take(&input, 8);
	change.changed_count = bytes_take(&input, 8);
	change.removed_count = bytes_take(&input, 8);
	change.ipv4_count = bytes_take(&input, 8);
	change.ipv6_count = bytes_take(&input, 8);
	change.has_names = (kept & KEPT_NAMES) != 0;
	change.has_undo = (kept & KEPT_UNDO) != 0;
	/* What undoes a change is of no use without its names. */
	if (bytes_finish(&input) != DNSBLV6_OK || !is_verb(change.verb) ||
	    (kept != 0 && kept != KEPT_NAMES && kept != (KEPT_NAMES | KEPT_UNDO)))
		return DNSBLV6_ERECORD;
	*ret_change = change;
	return DNSBLV6_OK;
}

/* ---- names ---- */

enum { SIZES_SIZE = 10 };

int dnsblv6_name_change_encode(const struct dnsblv6_name_change *change, uint8_t *ret_data,
			       size_t data_max, size_t *ret_size)
{
	const struct dnsblv6_name_state *before = &change->before;
	const struct dnsblv6_name_state *after = &change->after;
	size_t size = (size_t)SIZES_SIZE + change->key_size + before->record_size +
		      before->next_size + after->record_size + after->next_size;
	if (size > data_max)
		return DNSBLV6_ESPACE;
	uint8_t *out = ret_data;
	bytes_put(&out, change->key_size, 2);
	bytes_put(&out, before->record_size, 2);
	bytes_put(&out, before->next_size, 2);
	bytes_put(&out, after->record_size, 2);
	bytes_put(&out, after->next_size, 2);
	bytes_put_string(&out, change->key, change->key_size);
	bytes_put_string(&out, before->record, before->record_size);
	bytes_put_string(&out, before->next, before->next_size);
	bytes_put_string(&out, after->record, after->record_size);
	bytes_put_string(&out, after->next, after->next_size);
	*ret_size = size;
	return DNSBLV6_OK;
}

int dnsblv6_name_change_next(const uint8_t *data, size_t size, size_t *offset,
			     struct dnsblv6_name_change *ret_change)
{
	if (*offset >= size)
		return *offset == size ? DNSBLV6_ENOTFOUND : DNSBLV6_ERECORD;

	struct bytes_input input = { data + *offset, size - *offset, false };
	struct dnsblv6_name_change change = { 0 };
	change.key_size = (uint16_t)bytes_take(&input, 2);
	change.before.record_size = (uint16_t)bytes_take(&input, 2);
	change.before.next_size = (uint16_t)bytes_take(&input, 2);
	change.after.record_size = (uint16_t)bytes_take(&input, 2);
	change.after.next_size = (uint16_t)bytes_take(&input, 2);
	change.key = bytes_take_string(&input, change.key_size);
	change.before.record = bytes_take_string(&input, change.before.record_size);
	change.before.next = bytes_take_string(&input, change.before.next_size);
	change.after.record = bytes_take_string(&input, change.after.record_size);
	change.after.next = bytes_take_string(&input, change.after.next_size);
	/* A name that is there neither before nor after has not changed. */
	if (input.has_failed || change.key_size == 0 ||
	    (change.before.record_size == 0 && change.after.record_size == 0))
		return DNSBLV6_ERECORD;
	*offset = size - input.size;
	*ret_change = change;
	return DNSBLV6_OK;
}

/* ---- what undoes a change ---- */

enum { UNDO_TABLES = 3 };

int dnsblv6_undo_encode(const struct dnsblv6_undo *undo, uint8_t *ret_data, size_t data_max,
			size_t *ret_size)
{
	size_t size = (size_t)DNSBLV6_UNDO_HEAD_SIZE + undo->key_size + undo->value_size;
	if (size > data_max)
		return DNSBLV6_ESPACE;
	uint8_t *out = ret_data;
	bytes_put(&out, undo->table, 1);
	bytes_put(&out, undo->is_there, 1);
	bytes_put(&out, undo->key_size, 2);
	bytes_put(&out, undo->value_size, 4);
	bytes_put_string(&out, undo->key, undo->key_size);
	bytes_put_string(&out, undo->value, undo->value_size);
	*ret_size = size;
	return DNSBLV6_OK;
}

int dnsblv6_undo_next(const uint8_t *data, size_t size, size_t *offset,
		      struct dnsblv6_undo *ret_undo)
{
	if (*offset >= size)
		return *offset == size ? DNSBLV6_ENOTFOUND : DNSBLV6_ERECORD;

	struct bytes_input input = { data + *offset, size - *offset, false };
	struct dnsblv6_undo undo = { 0 };
	undo.table = (uint8_t)bytes_take(&input, 1);
	uint8_t is_there = (uint8_t)bytes_take(&input, 1);
	undo.is_there = is_there == 1;
	undo.key_size = (uint16_t)bytes_take(&input, 2);
	undo.value_size = (uint32_t)bytes_take(&input, 4);
	undo.key = bytes_take_string(&input, undo.key_size);
	undo.value = bytes_take_string(&input, undo.value_size);
	if (input.has_failed || undo.table == 0 || undo.table > UNDO_TABLES || is_there > 1 ||
	    undo.key_size == 0 || (is_there == 0 && undo.value_size > 0))
		return DNSBLV6_ERECORD;
	*offset = size - input.size;
	*ret_undo = undo;
	return DNSBLV6_OK;
}
