/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/content/pgp.h"

#include "lib/format/hex.h"

#include <string.h>

/* ---- packets ---- */

#define TAG_RECIPIENT 1
#define TAG_PASSWORD  3
#define PACKET_SIZE   24  /* as much of one is looked at */
#define PASSWORD_SIZE 100 /* octets, more than a packet of a password has */

/* RFC 9580 4.2: the tag, and where what follows the length is. 0: there is no such packet. */
static unsigned get_tag(const uint8_t *bytes, size_t size, size_t *ret_at)
{
	if (size < 2 || (bytes[0] & 0x80) == 0)
		return 0;
	if ((bytes[0] & 0x40) != 0) {
		*ret_at = bytes[1] < 192 ? 2 : 3;
		return bytes[1] < 224 ? bytes[0] & 0x3f : 0;
	}
	*ret_at = (bytes[0] & 3) == 0 ? 2 : 3;
	return (bytes[0] & 3) <= 1 ? bytes[0] >> 2 & 0xf : 0;
}

/* 5.1 and 5.3, of the versions that there are: an algorithm that is known, so that few other files begin so. */
static bool is_key(const uint8_t *bytes, size_t size)
{
	static const uint8_t algorithms[] = { 1, 2, 16, 18, 25, 26 };
	size_t at = 0;
	const unsigned tag = get_tag(bytes, size, &at);
	if (tag == TAG_RECIPIENT && at + 10 <= size && bytes[at] == 3)
		return memchr(algorithms, bytes[at + 9], sizeof(algorithms)) != NULL;
	if (tag == TAG_RECIPIENT && at + 3 <= size && bytes[at] == 6)
		return (bytes[at + 1] == 21 && bytes[at + 2] == 4) ||
		       (bytes[at + 1] == 33 && bytes[at + 2] == 6);
	if (tag == TAG_PASSWORD && bytes[1] >= PASSWORD_SIZE)
		return false;
	if (tag == TAG_PASSWORD && at + 3 <= size && bytes[at] == 4)
		return bytes[at + 1] >= 1 && bytes[at + 1] <= 13 && bytes[at + 2] <= 4;
	return tag == TAG_PASSWORD && at + 3 <= size && (bytes[at] == 5 || bytes[at] == 6) &&
	       bytes[at + 1] <= 64 && bytes[at + 2] <= 13;
}

/* ---- in base64 ---- */

static const char begin_line[] = "-----BEGIN PGP MESSAGE-----";

/* Behind the empty line, which follows the line at at and those of the headers; size: there is none. */
static size_t skip_headers(const uint8_t *head, size_t size, size_t at)
{
	bool is_empty = false;
	for (; at < size; at++) {
		if (head[at] == '\n' && is_empty)
			return at + 1;
		if (head[at] == '\n')
			is_empty = true;
		else if (head[at] != '\r' && head[at] != ' ' && head[at] != '\t')
			is_empty = false;
	}
	return size;
}

static size_t undo_base64(const uint8_t *text, size_t size, uint8_t *ret_bytes)
{
	uint32_t bits = 0;
	unsigned bit_count = 0;
	size_t count = 0;
	for (size_t i = 0; i < size && count < PACKET_SIZE; i++) {
		const int digit = base64_value((char)text[i]);
		if (digit < 0)
			break;
		bits = bits << 6 | (uint32_t)digit;
		bit_count += 6;
		if (bit_count >= 8) {
			bit_count -= 8;
			ret_bytes[count++] = (uint8_t)(bits >> bit_count);
		}
	}
	return count;
}

bool pgp_is_encrypted(const uint8_t *head, size_t size)
{
	const size_t line_size = sizeof(begin_line) - 1;
	uint8_t packet[PACKET_SIZE];
	if (is_key(head, size))
		return true;
	for (const uint8_t *at = head;
	     (at = memmem(at, size - (size_t)(at - head), begin_line, line_size)) != NULL; at++) {
		if (at > head && at[-1] != '\n')
			continue;
		const size_t from = skip_headers(head, size, (size_t)(at - head));
		if (is_key(packet, undo_base64(head + from, size - from, packet)))
			return true;
	}
	return false;
}
