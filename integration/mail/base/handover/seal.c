/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/handover/seal.h"

#include <string.h>
#include <zlib.h>

#include "lib/format/bytes.h"

#define AT_MAGIC   0
#define AT_VERSION 4
#define AT_SIZE	   8
#define AT_SUM	   12

void seal_put_number(uint8_t *bytes, unsigned size, uint64_t value)
{
	bytes_put(&bytes, value, size);
}

/* The sum's own place counts as zero. */
static uint32_t sum_of(const uint8_t *bytes, size_t size)
{
	static const uint8_t zero[4] = { 0 };
	const uint8_t *behind = bytes + AT_SUM + sizeof(zero);
	uLong sum = crc32(0, bytes, AT_SUM);
	sum = crc32(sum, zero, sizeof(zero));
	return (uint32_t)crc32(sum, behind, (uInt)(size - AT_SUM - sizeof(zero)));
}

void seal_put(uint8_t *bytes, size_t size, uint32_t magic, uint16_t version)
{
	seal_put_number(bytes + AT_MAGIC, 4, magic);
	seal_put_number(bytes + AT_VERSION, 2, version);
	seal_put_number(bytes + AT_SIZE, 4, size);
	seal_put_number(bytes + AT_SUM, 4, sum_of(bytes, size));
}

int seal_check(const uint8_t *bytes, size_t size, uint32_t magic, uint16_t version)
{
	if (size < SEAL_SIZE || bytes_get(bytes + AT_MAGIC, 4) != magic ||
	    bytes_get(bytes + AT_SIZE, 4) != size ||
	    bytes_get(bytes + AT_SUM, 4) != sum_of(bytes, size))
		return SEAL_EBAD;
	return bytes_get(bytes + AT_VERSION, 2) == version ? 0 : SEAL_EVERSION;
}

const char *seal_strerror(int status)
{
	switch (status) {
	case 0:
		return "success";
	case SEAL_EBAD:
		return "cut, altered, or no capsule";
	case SEAL_EVERSION:
		return "capsule of another version";
	case SEAL_EVALUE:
		return "capsule of what no edge makes";
	default:
		return strerror(-status);
	}
}

bool seal_is_clean(const char *text, size_t room)
{
	const size_t size = strnlen(text, room);
	if (size == room)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return true;
}
