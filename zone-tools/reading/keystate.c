/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/keystate.h"

#include "zone-tools/reading/contents.h"

#include "lib/lmdb/reader.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <string.h>

static int read_published(struct reader *reader, uint64_t now_s, struct keyset *published)
{
	struct dnsblv6_key apex = dnsblv6_key_of_apex();
	struct store_bytes value;
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret = reader_get(reader, STORE_RECORDS, apex.bytes, apex.size, &value);
	if (ret != DNSBLV6_OK)
		return STORE_ECORRUPT;
	while ((ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		ret = keyset_note(published, &rr, now_s);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : STORE_ECORRUPT;
}

static int read_memo(struct reader *reader, struct keystate *state)
{
	struct store_bytes value;
	int ret = reader_get(reader, STORE_FACTS, DNSBLV6_FACT_KEYS, strlen(DNSBLV6_FACT_KEYS),
			     &value);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
	state->problem =
		rollover_text_parse((const char *)value.data, value.size, &state->rollover);
	if (state->problem != NULL)
		return STORE_ECORRUPT;
	memcpy(state->memo, value.data, value.size);
	state->has_rollover = true;
	return DNSBLV6_OK;
}

static int read_all(struct reader *reader, uint64_t now_s, struct keystate *state)
{
	int ret = contents_read_facts(reader, &state->facts);
	if (ret == DNSBLV6_OK)
		ret = read_published(reader, now_s, &state->published);
	if (ret == DNSBLV6_OK)
		ret = read_memo(reader, state);
	return ret;
}

int keystate_read(const char *path, uint64_t now_s, struct keystate *ret_state)
{
	struct reader *reader = NULL;
	memset(ret_state, 0, sizeof(*ret_state));
	int ret = reader_start(path, &zone_store, &reader);
	if (ret == -ENOENT || ret == STORE_EUNFINISHED)
		return DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		ret = read_all(reader, now_s, ret_state);
	ret_state->is_there = ret == DNSBLV6_OK;
	reader_close(reader);
	return ret;
}
