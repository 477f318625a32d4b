/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/store/tables.h"

#include "lib/format/record.h"
#include "lib/lmdb/reader.h"

#include <string.h>

static const char *const names[STORE_TABLE_COUNT] = {
	[STORE_RECORDS] = "records", [STORE_SEGMENTS] = "segments", [STORE_SETS] = "sets",
	[STORE_FACTS] = "facts",     [STORE_JOURNAL] = "journal",
};

_Static_assert(sizeof(struct dnsblv6_facts) <= STORE_FACTS_MAX, "a verifier can report them");

static int read_facts(struct reader *reader, void *ret_facts)
{
	struct store_bytes value;
	int ret = reader_get(reader, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE),
			     &value);
	if (ret != STORE_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	ret = dnsblv6_facts_decode(value.data, value.size, ret_facts);
	return ret == DNSBLV6_OK ? STORE_OK : STORE_ECORRUPT;
}

const struct store_kind zone_store = {
	.tables = names,
	.table_count = STORE_TABLE_COUNT,
	.head_table = STORE_FACTS,
	.version_place = { .key = DNSBLV6_FACT_SCHEMA, .value_size = 4 },
	.sum_place = { .key = "sum", .value_size = 8 },
	.version = DNSBLV6_SCHEMA,
	/* Workers of two generations, a verifier for each of them, and their transfers. A lock file that there is
	   already grows when the first of all its users opens it. */
	.reader_max = 2048,
	.mode = 0664, /* lists are built by a group of users; a reader may make the lock file */
	.limit = (size_t)256 << 20,
	.read_facts = read_facts,
	.facts_size = sizeof(struct dnsblv6_facts),
};
