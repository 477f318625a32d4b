/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/lists_time.h"

#include "lib/format/record.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <string.h>

enum { NOTHING_TO_DO = -ECANCELED, YOUNGER_LEAST_S = 60 };

static int get_newest(struct writer *writer, uint64_t *ret_written_s)
{
	struct store_bytes value;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_LISTS, strlen(DNSBLV6_FACT_LISTS),
			     &value);
	if (ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND)
		return ret;
	/* One that cannot be read is written anew, as one that is not there. */
	if (ret == DNSBLV6_ENOTFOUND ||
	    dnsblv6_lists_decode(value.data, value.size, ret_written_s) != DNSBLV6_OK)
		*ret_written_s = 0;
	return DNSBLV6_OK;
}

/* Of no bytes there is no fact. */
static int put_fact(struct writer *writer, const char *name, const uint8_t *data, size_t size)
{
	if (size != 0)
		return writer_put(writer, STORE_FACTS, name, strlen(name), data, size);
	int ret = writer_delete(writer, STORE_FACTS, name, strlen(name));
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int put_newest(struct writer *writer, uint64_t written_s)
{
	uint8_t data[DNSBLV6_LISTS_SIZE];
	dnsblv6_lists_encode(written_s, data);
	return put_fact(writer, DNSBLV6_FACT_LISTS, data, written_s != 0 ? sizeof(data) : 0);
}

int lists_time_put(struct writer *writer, uint64_t written_s, const struct listages *ages)
{
	int ret = put_newest(writer, written_s);
	return ret == DNSBLV6_OK ? put_fact(writer, DNSBLV6_FACT_FILES, ages->bytes, ages->size)
				 : ret;
}

/* A later time is that of a clock that was ahead: all others would be older, and it is none. */
static int get_until(struct writer *writer, uint64_t latest_s, uint64_t *ret_written_s)
{
	int ret = get_newest(writer, ret_written_s);
	if (ret == DNSBLV6_OK && *ret_written_s > latest_s)
		*ret_written_s = 0;
	return ret;
}

int lists_time_raise(struct writer *writer, uint64_t written_s, uint64_t latest_s)
{
	uint64_t before_s;
	int ret = get_until(writer, latest_s, &before_s);
	return ret == DNSBLV6_OK && written_s > before_s ? put_newest(writer, written_s) : ret;
}

/* ---- of a version that is there ---- */

struct renewal {
	uint32_t serial;
	uint64_t written_s;
	const struct listages *ages;
	uint64_t latest_s;
};

static int has_ages(struct writer *writer, const struct listages *ages, bool *ret_has)
{
	struct store_bytes value = { NULL, 0 };
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_FILES, strlen(DNSBLV6_FACT_FILES),
			     &value);
	*ret_has = value.size == ages->size &&
		   (value.size == 0 || memcmp(value.data, ages->bytes, value.size) == 0);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int renew(struct writer *writer, void *context)
{
	const struct renewal *renewal = context;
	struct store_bytes value;
	struct dnsblv6_facts facts;
	uint64_t before_s;
	bool is_same = false;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE),
			     &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_facts_decode(value.data, value.size, &facts);
	if (ret == DNSBLV6_OK)
		ret = get_newest(writer, &before_s);
	if (ret == DNSBLV6_OK)
		ret = has_ages(writer, renewal->ages, &is_same);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ERECORD ? STORE_ECORRUPT : ret;
	if (facts.serial != renewal->serial || (is_same && before_s == renewal->written_s))
		return NOTHING_TO_DO;
	return lists_time_put(writer, renewal->written_s, renewal->ages);
}

static int renew_younger(struct writer *writer, void *context)
{
	const struct renewal *renewal = context;
	uint64_t before_s;
	int ret = get_until(writer, renewal->latest_s, &before_s);
	if (ret != DNSBLV6_OK)
		return ret;
	bool is_younger =
		renewal->written_s > before_s && renewal->written_s - before_s >= YOUNGER_LEAST_S;
	return is_younger ? put_newest(writer, renewal->written_s) : NOTHING_TO_DO;
}

int lists_time_renew(const char *path, uint32_t serial, uint64_t written_s,
		     const struct listages *ages)
{
	struct renewal renewal = { .serial = serial, .written_s = written_s, .ages = ages };
	int ret = writer_run(path, &zone_store, renew, &renewal);
	return ret == NOTHING_TO_DO ? DNSBLV6_OK : ret;
}

int lists_time_renew_younger(const char *path, uint64_t written_s, uint64_t latest_s)
{
	struct renewal renewal = { .written_s = written_s, .latest_s = latest_s };
	int ret = writer_run(path, &zone_store, renew_younger, &renewal);
	return ret == NOTHING_TO_DO ? DNSBLV6_OK : ret;
}
