/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a cluster may give back where others write, or disks are damaged: no decoder of rows and names
 * reads outside of what it was given, and what one accepts is encoded to the bytes that it came from.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what it is: kinds
 *        1      .   its bytes
 */

#include "lib/mailcluster/names.h"
#include "lib/mailcluster/values.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const uint8_t *bytes, size_t size, const uint8_t *again, size_t again_size)
{
	require(size == again_size && memcmp(bytes, again, size) == 0, "the same value");
}

static void try_node(const uint8_t *bytes, size_t size)
{
	struct nodevalue value;
	uint8_t again[NODEVALUE_SIZE];
	if (!nodevalue_decode(bytes, size, &value))
		return;
	nodevalue_encode(&value, again);
	compare(bytes, size, again, sizeof(again));
}

static void try_owner(const uint8_t *bytes, size_t size)
{
	struct ownervalue value;
	uint8_t again[OWNERVALUE_SIZE];
	if (!ownervalue_decode(bytes, size, &value))
		return;
	ownervalue_encode(&value, again);
	compare(bytes, size, again, sizeof(again));
}

static void try_entry(const uint8_t *bytes, size_t size)
{
	struct entryvalue value;
	uint8_t again[ENTRYVALUE_SIZE];
	if (!entryvalue_decode(bytes, size, &value))
		return;
	entryvalue_encode(&value, again);
	compare(bytes, size, again, sizeof(again));
}

static void try_gone(const uint8_t *bytes, size_t size)
{
	struct gonevalue value;
	uint8_t again[GONEVALUE_SIZE];
	if (!gonevalue_decode(bytes, size, &value))
		return;
	gonevalue_encode(&value, again);
	compare(bytes, size, again, sizeof(again));
}

static void try_lock(const uint8_t *bytes, size_t size)
{
	struct lockvalue value;
	uint8_t again[LOCKVALUE_SIZE];
	if (!lockvalue_decode(bytes, size, &value))
		return;
	lockvalue_encode(&value, again);
	compare(bytes, size, again, sizeof(again));
}

static void try_users(const uint8_t *bytes, size_t size)
{
	struct usersvalue value;
	uint8_t again[USERSVALUE_SIZE];
	if (!usersvalue_decode(bytes, size, &value))
		return;
	usersvalue_encode(&value, again);
	compare(bytes, size, again, sizeof(again));
}

/* As the name of an object, or the key of a row. */
static void try_name(const uint8_t *bytes, size_t size)
{
	struct names_parsed parsed;
	char again[NAMES_OBJECT_SIZE] = "";
	uint64_t number;
	char *name = malloc(size + 1);
	require(name != NULL, "memory");
	memcpy(name, bytes, size);
	name[size] = '\0';
	names_parse(name, &parsed);
	switch (parsed.kind) {
	case NAMES_MAIL:
		names_number('b', parsed.number, again);
		break;
	case NAMES_USERS_BYTES:
		names_number('u', parsed.number, again);
		break;
	case NAMES_ID:
		names_id(&parsed.id, again);
		break;
	case NAMES_BOX:
		require(mailname_is_valid((struct mailname){ parsed.box, parsed.box_size }),
			"a mailbox's name");
		names_box((struct mailname){ parsed.box, parsed.box_size }, again);
		break;
	default:
		memcpy(again, "", 1);
	}
	require(again[0] == '\0' || strcmp(again, name) == 0, "the same name");
	(void)names_parse_number('m', name, &number);
	(void)names_parse_digits(name, &number);
	(void)names_is_node(name);
	free(name);
}

/* As the name of a mailbox, which comes back from that of its object. */
static void try_box(const uint8_t *bytes, size_t size)
{
	const struct mailname box = { bytes, size };
	char name[NAMES_OBJECT_SIZE];
	char key[NAMES_KEY_SIZE];
	uint8_t hash[NAMES_HASH_SIZE];
	struct names_parsed parsed;
	if (!mailname_is_valid(box))
		return;
	names_box(box, name);
	names_parse(name, &parsed);
	require(parsed.kind == NAMES_BOX && parsed.box_size == size &&
			memcmp(parsed.box, bytes, size) == 0,
		"the same mailbox");
	names_owner_key(box, key);
	require(strlen(key) == size + 2, "a whole key");
	require(names_hash(box, hash) == 0, "memory");
}

static void (*const kinds[])(const uint8_t *bytes, size_t size) = {
	try_node, try_owner, try_entry, try_gone, try_lock, try_users, try_name, try_box,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	/* In memory of exactly that size, for the sanitizer. */
	uint8_t *bytes = malloc(size > 1 ? size - 1 : 1);
	require(bytes != NULL, "memory");
	memcpy(bytes, data + 1, size - 1);
	kinds[data[0] % (sizeof(kinds) / sizeof(kinds[0]))](bytes, size - 1);
	free(bytes);
	return 0;
}
