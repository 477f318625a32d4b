/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libknot/libknot.h>

#include "lib/common/log.h"
#include "lib/dns/peer.h"
#include "lib/dns/soa.h"
#include "lib/format/unfold.h"
#include "lib/process/clock.h"
#include "lib/store/history.h"
#include "lib/store/tables.h"
#include "server/transfer/xfrout.h"
#include "server/zone/zone.h"

static const struct dnsblv6_labels apex_name; /* of no labels */

enum kind { KIND_AXFR, KIND_IXFR, KIND_SOA, KIND_FULL };
static const char *const kind_texts[] = {
	[KIND_AXFR] = "axfr",
	[KIND_IXFR] = "ixfr",
	[KIND_SOA] = "ixfr-nothing-new",
	[KIND_FULL] = "ixfr-as-axfr",
};

struct run {
	const struct transfer *transfer;
	struct zone zone;
	struct dnsblv6_unfold before; /* the only one in an AXFR */
	struct dnsblv6_unfold after;
	uint64_t first_change; /* of an IXFR */
	uint64_t last_change;
	struct xfrout xfrout;
};

/* ---- what is said about it ---- */

static const char *explain_tsig(enum tsig_error error)
{
	switch (error) {
	case TSIG_BADKEY:
		return "TSIG by a key that is not here";
	case TSIG_BADTIME:
		return "TSIG of another time";
	case TSIG_BADTRUNC:
		return "TSIG with a signature that is cut";
	default:
		return "TSIG with a wrong signature";
	}
}

const char *transfer_explain(const struct transfer *transfer)
{
	switch (transfer->verdict) {
	case TRANSFER_GRANTED:
		return "granted";
	case TRANSFER_ADDRESS:
		return "no secondary of this zone";
	case TRANSFER_PLACE:
		return "the key is good, but the address is that of no secondary of this zone; "
		       "\"allow\" of one permits it";
	case TRANSFER_KEY:
		return "TSIG lacks, or is of another secondary's key";
	case TRANSFER_TSIG:
		return explain_tsig(transfer->tsig.error);
	case TRANSFER_CLASSIC:
		return "not the own name of a zone";
	case TRANSFER_BUSY:
		return "too many transfers under way";
	case TRANSFER_STORE:
		return "no store to transfer";
	}
	return "";
}

static const char *format_client(const struct transfer *transfer, char *ret_text)
{
	peer_format((const struct sockaddr *)&transfer->client, ret_text);
	return ret_text;
}

static const char *key_text(const struct transfer *transfer)
{
	return transfer->tsig.key != NULL ? tsig_key_text(transfer->tsig.key) : "none";
}

static void log_done(const struct run *run, enum kind kind, uint64_t took_ms)
{
	const struct xfrout *xfrout = &run->xfrout;
	char client[SETTINGS_TEXT_MAX];
	char from[24] = "";
	if (run->transfer->is_incremental)
		snprintf(from, sizeof(from), " from=%u", run->transfer->serial);
	log_info(run->transfer->name->text,
		 "transferred, client=%s kind=%s%s serial=%u records=%llu messages=%llu bytes=%llu "
		 "ms=%llu key=%s",
		 format_client(run->transfer, client), kind_texts[kind], from,
		 run->zone.facts.serial, (unsigned long long)xfrout->rrs,
		 (unsigned long long)xfrout->messages, (unsigned long long)xfrout->bytes,
		 (unsigned long long)took_ms, key_text(run->transfer));
}

static void log_failed(const struct run *run, enum kind kind, int status)
{
	char client[SETTINGS_TEXT_MAX];
	log_warning(run->transfer->name->text,
		    "transfer failed, client=%s kind=%s records=%llu bytes=%llu key=%s (%s)",
		    format_client(run->transfer, client), kind_texts[kind],
		    (unsigned long long)run->xfrout.rrs, (unsigned long long)run->xfrout.bytes,
		    key_text(run->transfer), zone_strerror(status));
}

/* ---- all of the zone ---- */

static int put_soa(struct run *run, const uint8_t *rdata, uint16_t size, uint32_t ttl)
{
	struct dnsblv6_rr soa = { DNSBLV6_TYPE_SOA, size, ttl, rdata };
	return xfrout_put(&run->xfrout, &apex_name, &soa);
}

static int put_current_soa(struct run *run)
{
	return put_soa(run, run->zone.soa, run->zone.soa_size, run->zone.soa_ttl);
}

static int put_name(struct run *run, const struct dnsblv6_labels *name, struct store_bytes record,
		    const struct dnsblv6_labels *next)
{
	int ret = dnsblv6_unfold_name(&run->before, name, record.data, record.size, next);
	for (size_t i = 0; i < run->before.count && ret == DNSBLV6_OK; i++) {
		/* There is one SOA, and it stands around everything else. */
		if (run->before.rrs[i].type != DNSBLV6_TYPE_SOA)
			ret = xfrout_put(&run->xfrout, name, &run->before.rrs[i]);
	}
	return ret;
}

/* Each name with the one behind it; behind the last comes the apex again. */
static int put_names(struct run *run)
{
	struct reader *reader = run->zone.reader;
	struct store_bytes key;
	struct store_bytes record;
	struct store_bytes next_record = { NULL, 0 };
	struct dnsblv6_labels name;
	struct dnsblv6_labels next;
	int ret = reader_seek(reader, STORE_RECORDS, NULL, 0, &key, &record);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_to_labels(key.data, key.size, &name);
	while (ret == DNSBLV6_OK) {
		int more = reader_next(reader, STORE_RECORDS, &key, &next_record);
		if (more == DNSBLV6_ENOTFOUND)
			next = apex_name;
		else if (more != DNSBLV6_OK ||
			 (more = dnsblv6_key_to_labels(key.data, key.size, &next)) != DNSBLV6_OK)
			return more;
		ret = put_name(run, &name, record, &next);
		if (more == DNSBLV6_ENOTFOUND)
			return ret;
		name = next;
		record = next_record;
	}
	return ret;
}

static int put_all(struct run *run)
{
	int ret = put_current_soa(run);
	if (ret == DNSBLV6_OK)
		ret = put_names(run);
	return ret == DNSBLV6_OK ? put_current_soa(run) : ret;
}

/* ---- what changed ---- */

static int unfold_state(struct dnsblv6_unfold *unfold, const struct dnsblv6_labels *name,
			const struct dnsblv6_name_state *state)
{
	struct dnsblv6_labels next = { 0 };
	if (state->next_size > 0 &&
	    dnsblv6_key_to_labels(state->next, state->next_size, &next) != DNSBLV6_OK)
		return DNSBLV6_ERECORD;
	return dnsblv6_unfold_name(unfold, name, state->record, state->record_size, &next);
}

/* Both sides of a name. */
static int unfold_change(struct run *run, const struct dnsblv6_name_change *change,
			 struct dnsblv6_labels *ret_name)
{
	int ret = dnsblv6_key_to_labels(change->key, change->key_size, ret_name);
	if (ret == DNSBLV6_OK)
		ret = unfold_state(&run->before, ret_name, &change->before);
	if (ret == DNSBLV6_OK)
		ret = unfold_state(&run->after, ret_name, &change->after);
	return ret;
}

static const struct dnsblv6_rr *find_soa(const struct dnsblv6_unfold *unfold)
{
	for (size_t i = 0; i < unfold->count; i++) {
		if (unfold->rrs[i].type == DNSBLV6_TYPE_SOA)
			return &unfold->rrs[i];
	}
	return NULL;
}

static bool has_rr(const struct dnsblv6_unfold *unfold, const struct dnsblv6_rr *rr)
{
	for (size_t i = 0; i < unfold->count; i++) {
		const struct dnsblv6_rr *have = &unfold->rrs[i];
		if (have->type == rr->type && have->ttl == rr->ttl &&
		    have->rdata_size == rr->rdata_size &&
		    memcmp(have->rdata, rr->rdata, rr->rdata_size) == 0)
			return true;
	}
	return false;
}

/* The RRs of one side that the other has not. */
static int put_difference(struct run *run, const struct dnsblv6_labels *name,
			  const struct dnsblv6_unfold *side, const struct dnsblv6_unfold *other)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; i < side->count && ret == DNSBLV6_OK; i++) {
		const struct dnsblv6_rr *rr = &side->rrs[i];
		if (rr->type != DNSBLV6_TYPE_SOA && !has_rr(other, rr))
			ret = xfrout_put(&run->xfrout, name, rr);
	}
	return ret;
}

/*
 * One side of a change: its SOA and what only it has. The apex comes first in
 * every change, as the serial differs.
 */
static int put_side(struct run *run, uint64_t number, bool is_after)
{
	struct history_names names = { .reader = run->zone.reader, .number = number };
	struct dnsblv6_name_change change;
	struct dnsblv6_labels name;
	const struct dnsblv6_unfold *side = is_after ? &run->after : &run->before;
	const struct dnsblv6_unfold *other = is_after ? &run->before : &run->after;
	bool is_first = true;
	int ret;
	while ((ret = history_next_name(&names, &change)) == DNSBLV6_OK) {
		ret = unfold_change(run, &change, &name);
		const struct dnsblv6_rr *soa = find_soa(side);
		if (ret == DNSBLV6_OK && is_first)
			ret = soa != NULL ? xfrout_put(&run->xfrout, &apex_name, soa)
					  : STORE_ECORRUPT;
		is_first = false;
		if (ret == DNSBLV6_OK)
			ret = put_difference(run, &name, side, other);
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int put_changes(struct run *run)
{
	int ret = put_current_soa(run);
	for (uint64_t number = run->first_change; number <= run->last_change && ret == DNSBLV6_OK;
	     number++) {
		ret = put_side(run, number, false);
		if (ret == DNSBLV6_OK)
			ret = put_side(run, number, true);
	}
	return ret == DNSBLV6_OK ? put_current_soa(run) : ret;
}

/* ---- is the journal whole? ---- */

static bool has_serial(const struct dnsblv6_unfold *unfold, uint32_t serial)
{
	const struct dnsblv6_rr *soa = find_soa(unfold);
	/* Five numbers of four bytes end it; the serial is the first. */
	return soa != NULL && soa->rdata_size >= 22 &&
	       knot_wire_read_u32(soa->rdata + soa->rdata_size - 20) == serial;
}

/* Everything in it can be read, and it begins with an apex that has the serials. */
static int check_names(struct run *run, uint64_t number, const struct dnsblv6_change *header)
{
	struct history_names names = { .reader = run->zone.reader, .number = number };
	struct dnsblv6_name_change change;
	struct dnsblv6_labels name;
	bool is_first = true;
	int ret;
	while ((ret = history_next_name(&names, &change)) == DNSBLV6_OK) {
		ret = unfold_change(run, &change, &name);
		if (ret == DNSBLV6_OK && is_first &&
		    (name.size != 0 || !has_serial(&run->before, header->from_serial) ||
		     !has_serial(&run->after, header->to_serial)))
			ret = STORE_ECORRUPT;
		is_first = false;
		if (ret != DNSBLV6_OK)
			return ret;
	}
	return ret == DNSBLV6_ENOTFOUND && !is_first ? DNSBLV6_OK : STORE_ECORRUPT;
}

static int check_journal(struct run *run)
{
	uint32_t serial = run->transfer->serial;
	for (uint64_t number = run->first_change; number <= run->last_change; number++) {
		struct dnsblv6_change header;
		int ret = history_get(run->zone.reader, number, &header);
		if (ret == DNSBLV6_OK && (header.from_serial != serial || !header.has_names))
			ret = STORE_ECORRUPT;
		if (ret == DNSBLV6_OK)
			ret = check_names(run, number, &header);
		if (ret != DNSBLV6_OK)
			return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
		serial = header.to_serial;
	}
	return serial == run->zone.facts.serial ? DNSBLV6_OK : STORE_ECORRUPT;
}

static enum kind choose_kind(struct run *run)
{
	if (!run->transfer->is_incremental)
		return KIND_AXFR;
	if (soa_is_as_new(run->transfer->serial, run->zone.facts.serial))
		return KIND_SOA;
	int ret = history_newest(run->zone.reader, &run->last_change);
	if (ret == DNSBLV6_OK)
		ret = history_find(run->zone.reader, run->transfer->serial, &run->first_change);
	if (ret == DNSBLV6_ENOTFOUND)
		return KIND_FULL;
	if (ret == DNSBLV6_OK)
		ret = check_journal(run);
	if (ret == DNSBLV6_OK)
		return KIND_IXFR;
	log_warning(run->transfer->name->text,
		    "journal cannot be used, transferring all of the zone, from=%u (%s)",
		    run->transfer->serial, zone_strerror(ret));
	return KIND_FULL;
}

/* ---- the run ---- */

static int put_kind(struct run *run, enum kind kind)
{
	switch (kind) {
	case KIND_IXFR:
		return put_changes(run);
	case KIND_SOA:
		return put_current_soa(run);
	default:
		return put_all(run);
	}
}

/* The version before a change has the same facts, else its names were not kept. */
static void begin_unfolding(struct run *run)
{
	const struct zone *zone = &run->zone;
	run->before = (struct dnsblv6_unfold){ .zone = &zone->facts.zone,
					       .ttl = zone->facts.ttl,
					       .negative_ttl = zone->negative_ttl,
					       .is_signed = zone->is_signed,
					       .algorithm = zone->signing.algorithm,
					       .other_algorithm = zone->signing.other_algorithm };
	run->after = run->before;
}

/* In the place of a transfer that has not begun an error is its answer; one that has is cut off. */
static enum transfer_end fail(struct run *run, enum kind kind, int status)
{
	bool is_told = run->xfrout.messages == 0 && xfrout_refuse(&run->xfrout) == 0;
	log_failed(run, kind, status);
	return is_told ? TRANSFER_END_TOLD : TRANSFER_END_CUT;
}

static enum transfer_end transfer(struct run *run)
{
	uint64_t started_ms = clock_now_ms();
	enum kind kind = run->transfer->is_incremental ? KIND_IXFR : KIND_AXFR;
	int ret = zone_open(&run->zone);
	if (ret == DNSBLV6_OK)
		ret = zone_begin(&run->zone);
	if (ret != DNSBLV6_OK)
		return fail(run, kind, ret);
	begin_unfolding(run);
	kind = choose_kind(run);
	ret = put_kind(run, kind);
	if (ret == DNSBLV6_OK)
		ret = xfrout_flush(&run->xfrout);
	zone_end(&run->zone);
	if (ret != DNSBLV6_OK)
		return fail(run, kind, ret);
	log_done(run, kind, clock_now_ms() - started_ms);
	return TRANSFER_END_WHOLE;
}

enum transfer_end transfer_run(const struct transfer *asked, const struct transfer_limits *limits,
			       int fd)
{
	struct run *run = malloc(sizeof(*run));
	if (run == NULL) {
		log_warning(asked->name->text, "transfer not started (%s)", strerror(ENOMEM));
		return TRANSFER_END_CUT;
	}
	run->transfer = asked;
	zone_init(&run->zone, asked->name->wire, asked->name->size, asked->path);
	run->zone.is_read_once = true;
	xfrout_init(&run->xfrout, asked, limits, fd);
	enum transfer_end end = transfer(run);
	zone_close(&run->zone);
	free(run);
	return end;
}

bool transfer_refuse(const struct transfer *asked, int fd)
{
	const struct transfer_limits at_once = { .timeout_s = 1 };
	struct xfrout *xfrout = malloc(sizeof(*xfrout));
	if (xfrout == NULL)
		return false;
	xfrout_init(xfrout, asked, &at_once, fd);
	int ret = xfrout_refuse(xfrout);
	free(xfrout);
	return ret == 0;
}
