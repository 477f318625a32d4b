/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as what another node sends (nodewire.h): the same messages, whatever pieces they come in.
 * The first byte says how large the pieces are, and whether these are replies. Of what is large there are
 * some dozens, since each may be a write().
 */
#include "integration/mail/mail-stored/nodes/nodewire.h"

#include <stdlib.h>

struct seen {
	unsigned count;
	int status;
	uint64_t sum;
};

static void take(const uint8_t *bytes, size_t size, size_t piece, bool takes_records,
		 struct seen *ret_seen)
{
	struct nodewire_room room = { .max = 1 << 20 };
	struct nodewire_input *input = calloc(1, sizeof(*input));
	*ret_seen = (struct seen){ 0 };
	if (input == NULL)
		return;
	input->room = &room;
	input->memory_max = 1 << 20;
	input->takes_records = takes_records;
	input->fd = -1;
	for (size_t at = 0; at < size && ret_seen->status == 0;) {
		const size_t left = size - at;
		size_t used = 0;
		int ret = nodewire_take(input, bytes + at, left < piece ? left : piece, &used);
		at += used;
		if (ret < 0)
			ret_seen->status = ret;
		if (ret <= 0)
			continue;
		ret_seen->count++;
		ret_seen->sum = ret_seen->sum * 31 + input->packet_size + input->memory_size;
		if (input->memory_size > 0 && input->fd < 0 && input->dropped == 0)
			ret_seen->sum += input->bytes[input->memory_size - 1];
	}
	nodewire_deinit(input);
	free(input);
	if (room.used != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t least = size > 4096 ? size / 64 : 0;
	struct seen whole;
	struct seen cut;
	if (size == 0)
		return 0;
	take(data + 1, size - 1, size, (data[0] & 1) != 0, &whole);
	take(data + 1, size - 1, 1U + (data[0] >> 1) + least, (data[0] & 1) != 0, &cut);
	if (whole.count != cut.count || whole.status != cut.status || whole.sum != cut.sum)
		abort();
	return 0;
}
