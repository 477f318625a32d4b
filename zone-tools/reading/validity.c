/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/validity.h"

#include "lib/common/utc.h"
#include "lib/format/bytes.h"
#include "lib/format/dnssec.h"
#include "lib/store/tables.h"

#include <inttypes.h>

struct validity {
	uint64_t now_s;
	uint64_t early_count; /* signatures that are not valid yet */
	uint64_t ended_count;
	int64_t latest_begin_s; /* from now */
	int64_t first_end_s;
	bool has_any;
};

static void add_signature(struct validity *validity, const struct dnsblv6_signature *signature)
{
	uint32_t now = (uint32_t)validity->now_s;
	/* RFC 4034 section 3.1.5: serial number arithmetic. */
	int32_t begin_s = (int32_t)(signature->inception - now);
	int32_t end_s = (int32_t)(signature->expiration - now);
	validity->early_count += begin_s > 0;
	validity->ended_count += end_s <= 0;
	if (!validity->has_any || begin_s > validity->latest_begin_s)
		validity->latest_begin_s = begin_s;
	if (!validity->has_any || end_s < validity->first_end_s)
		validity->first_end_s = end_s;
	validity->has_any = true;
}

static void add_rrs(struct validity *validity, struct store_bytes value)
{
	struct dnsblv6_signature signature;
	struct dnsblv6_rr rr;
	size_t offset = 0;
	while (dnsblv6_record_next_rr(value.data, value.size, &offset, &rr) == DNSBLV6_OK) {
		if (rr.type != DNSBLV6_TYPE_RRSIG || rr.rdata_size < 2)
			continue;
		uint16_t covered = (uint16_t)bytes_get16(rr.rdata);
		if (dnsblv6_rrsig_decode(rr.rdata, rr.rdata_size, covered, &signature) ==
		    DNSBLV6_OK)
			add_signature(validity, &signature);
	}
}

static void add_record(struct validity *validity, struct store_bytes value)
{
	struct dnsblv6_signatures signatures;
	if (dnsblv6_record_kind(value.data, value.size) != DNSBLV6_RECORD_BITMAP) {
		add_rrs(validity, value);
		return;
	}
	if (dnsblv6_record_decode_signatures(value.data, value.size, &signatures) != DNSBLV6_OK)
		return;
	add_signature(validity, &signatures.aaaa);
	add_signature(validity, &signatures.nsec);
	if (dnsblv6_record_decode_other_signatures(value.data, value.size, &signatures) !=
	    DNSBLV6_OK)
		return;
	add_signature(validity, &signatures.aaaa);
	add_signature(validity, &signatures.nsec);
}

static void tell(const struct validity *validity, const char *store, struct findings *findings)
{
	struct findings_place place = { store, 0 };
	char begin[UTC_TEXT_SIZE];
	char end[UTC_TEXT_SIZE];
	char what[120];
	utc_format(validity->now_s + (uint64_t)validity->latest_begin_s, begin);
	utc_format(validity->now_s + (uint64_t)validity->first_end_s, end);
	if (validity->early_count > 0) {
		snprintf(what, sizeof(what),
			 "signatures are not valid yet, count=%" PRIu64 " from=%s",
			 validity->early_count, begin);
		findings_add(findings, FINDING_REFUSAL, place, what, NULL, 0,
			     "made by a clock that was ahead, or this one is behind");
	}
	if (validity->ended_count > 0) {
		snprintf(what, sizeof(what), "signatures have ended, count=%" PRIu64 " first=%s",
			 validity->ended_count, end);
		findings_add(findings, FINDING_REFUSAL, place, what, NULL, 0, "sign the store");
	} else if (validity->first_end_s < VALIDITY_SOON_S) {
		snprintf(what, sizeof(what), "signatures end soon, first=%s", end);
		findings_add(findings, FINDING_WARNING, place, what, NULL, 0, "sign the store");
	}
}

int validity_check(struct reader *reader, const char *store, uint64_t now_s,
		   struct findings *findings)
{
	struct validity validity = { .now_s = now_s };
	struct store_bytes key;
	struct store_bytes value;
	int ret = reader_seek(reader, STORE_RECORDS, NULL, 0, &key, &value);
	while (ret == DNSBLV6_OK) {
		add_record(&validity, value);
		ret = reader_next(reader, STORE_RECORDS, &key, &value);
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	if (validity.has_any)
		tell(&validity, store, findings);
	return DNSBLV6_OK;
}
