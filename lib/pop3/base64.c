/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/pop3/base64.h"

#include "lib/format/hex.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Four characters, of which as many as padding are "=". */
static bool take_group(const char *text, size_t padding, uint32_t *ret_bits)
{
	uint32_t bits = 0;
	for (size_t i = 0; i < 4; i++) {
		int value = i < 4 - padding ? base64_value(text[i]) : 0;
		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
	}
	*ret_bits = bits;
	return (bits & ((1U << 8 * padding) - 1)) == 0;
}

bool base64_decode(const char *text, size_t text_size, size_t room, uint8_t *ret_bytes,
		   size_t *ret_size)
{
	size_t padding = 0;
	if (text_size % 4 != 0)
		return false;
	while (padding < 2 && padding < text_size && text[text_size - 1 - padding] == '=')
		padding++;
	const size_t size = text_size / 4 * 3 - padding;
	if (size > room)
		return false;
	for (size_t in = 0, out = 0; in < text_size; in += 4) {
		uint32_t bits = 0;
		if (!take_group(text + in, in + 4 == text_size ? padding : 0, &bits))
			return false;
		for (unsigned shift = 24; shift > 0 && out < size; out++) {
			shift -= 8;
			ret_bytes[out] = (uint8_t)(bits >> shift);
		}
	}
	*ret_size = size;
	return true;
}

size_t base64_encode(const uint8_t *bytes, size_t size, char *ret_text)
{
	size_t out = 0;
	for (size_t in = 0; in < size; in += 3) {
		const size_t left = size - in;
		const uint32_t bits = (uint32_t)bytes[in] << 16 |
				      (left > 1 ? (uint32_t)bytes[in + 1] << 8 : 0) |
				      (left > 2 ? (uint32_t)bytes[in + 2] : 0);
		ret_text[out++] = digits[bits >> 18];
		ret_text[out++] = digits[bits >> 12 & 63];
		ret_text[out++] = '=';
		if (left > 1)
			ret_text[out - 1] = digits[bits >> 6 & 63];
		ret_text[out++] = '=';
		if (left > 2)
			ret_text[out - 1] = digits[bits & 63];
	}
	ret_text[out] = '\0';
	return out;
}
