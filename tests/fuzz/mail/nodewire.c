/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as what another node sends (nodewire.h): the same messages, whatever pieces they come in.
 * The first byte says how large the pieces are, and whether these are replies. Of what is large there are
 * some dozens, since each may be a write().
 */
#include "integration/mail/mail-stored/nodes/nodewire.h"

#include <stdlib.h>
#include <unistd.h>

struct seen {
	unsigned count;
	int status;
	uint64_t sum;
};

static uint64_t add(uint64_t sum, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

/* Of a memfd all that is in it, wherever it lies. */
static uint64_t add_file(uint64_t sum, int fd)
{
	uint8_t bytes[4096];
	off_t at = lseek(fd, 0, SEEK_DATA);
	ssize_t got;
	for (; at >= 0 && (got = pread(fd, bytes, sizeof(bytes), at)) > 0; at += got)
		sum = add(sum, bytes, (size_t)got);
	return sum;
}

static uint64_t add_message(uint64_t sum, const struct nodewire_input *input)
{
	sum = sum * 31 + input->packet_size + input->memory_size;
	sum = add(sum, input->packet, input->packet_size);
	if (input->dropped != 0)
		return sum * 31 + (uint64_t)-input->dropped;
	if (input->fd >= 0)
		return add_file(sum, input->fd);
	return add(sum, input->bytes, (size_t)input->memory_size);
}

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
		ret_seen->sum = add_message(ret_seen->sum, input);
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
