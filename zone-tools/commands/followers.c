/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/commands/followers.h"

#include "zone-tools/commands/commands.h"

#include "lib/common/log.h"
#include "lib/format/record.h"
#include "lib/lmdb/reader.h"
#include "lib/store/tables.h"

#include <inttypes.h>
#include <sysexits.h>

int followers_await(struct secondaries *secondaries, const struct dnsblv6_labels *zone,
		    uint32_t serial, const char *store)
{
	if (secondaries_wait(secondaries, zone, serial) == 0)
		return EX_OK;
	for (size_t i = 0; i < secondaries->count; i++) {
		const struct secondary *secondary = &secondaries->items[i];
		if (secondary->has_it)
			continue;
		if (secondary->has_answered)
			log_warning(
				store,
				"secondary does not have the version, secondary=%s serial=%" PRIu32
				" wanted=%" PRIu32,
				secondary->text, secondary->serial, serial);
		else
			log_warning(store,
				    "secondary does not answer, secondary=%s wanted=%" PRIu32,
				    secondary->text, serial);
	}
	return EX_UNAVAILABLE;
}

static int read_facts(const char *store, struct dnsblv6_facts *ret_facts)
{
	struct reader *reader = NULL;
	int ret = reader_open(store, &zone_store, &reader);
	if (ret == STORE_OK)
		ret = reader_begin(reader);
	if (ret == STORE_OK)
		ret = zone_store.read_facts(reader, ret_facts);
	reader_close(reader);
	return ret;
}

int followers_await_store(const struct secondaries *secondaries, const char *store)
{
	struct secondaries asked = *secondaries;
	struct dnsblv6_facts facts;
	int ret = read_facts(store, &facts);
	if (ret != STORE_OK)
		return commands_end(store, "store not read", ret);
	return followers_await(&asked, &facts.zone, facts.serial, store);
}
