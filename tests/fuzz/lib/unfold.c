/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes as the names of a change in the journal, unfolded as a transfer
 * does it: refused, or RRs that lie where they may, with an NSEC that has their
 * types and no others. The first byte: a signed zone or not, a long apex or not.
 */

#include "lib/format/journal.h"
#include "lib/format/unfold.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_inside(const uint8_t *at, size_t size, const uint8_t *whole, size_t whole_size)
{
	return at >= whole && size <= whole_size && at <= whole + whole_size - size;
}

/* In the type bitmap of an NSEC, which is one window: RFC 4034 section 4.1.2. */
static bool has_type(const uint8_t *window, size_t size, unsigned type)
{
	return type / 8 + 2 < size && (window[2 + type / 8] & 0x80 >> type % 8) != 0;
}

static unsigned count_types(const uint8_t *window, size_t size)
{
	unsigned count = 0;
	for (unsigned type = 0; type < 256; type++)
		count += has_type(window, size, type);
	return count;
}

/* That of rrs, the last of them. */
static void check_nsec(const struct dnsblv6_unfold *unfold, const struct dnsblv6_labels *next)
{
	const struct dnsblv6_rr *nsec = &unfold->rrs[unfold->count - 1];
	size_t name_size = next->size + (size_t)unfold->zone->size + 1;
	bool seen[256] = { false };
	unsigned count = 0;
	expect(nsec->type == DNSBLV6_TYPE_NSEC && nsec->ttl == unfold->negative_ttl);
	expect(nsec->rdata_size > name_size + 2 &&
	       memcmp(nsec->rdata, next->wire, next->size) == 0);
	const uint8_t *window = nsec->rdata + name_size;
	size_t window_size = nsec->rdata_size - name_size;
	expect(window[0] == 0 && window[1] == window_size - 2);
	expect(has_type(window, window_size, DNSBLV6_TYPE_RRSIG) &&
	       has_type(window, window_size, DNSBLV6_TYPE_NSEC));
	seen[DNSBLV6_TYPE_RRSIG] = seen[DNSBLV6_TYPE_NSEC] = true;
	for (size_t i = 0; i < unfold->count; i++) {
		expect(unfold->rrs[i].type < 256 &&
		       has_type(window, window_size, unfold->rrs[i].type));
		seen[unfold->rrs[i].type] = true;
	}
	for (unsigned type = 0; type < 256; type++)
		count += seen[type];
	expect(count == count_types(window, window_size));
}

static void unfold_state(struct dnsblv6_unfold *unfold, const struct dnsblv6_labels *name,
			 const struct dnsblv6_name_state *state)
{
	struct dnsblv6_labels next = { 0 };
	if (state->next_size > 0 &&
	    dnsblv6_key_to_labels(state->next, state->next_size, &next) != DNSBLV6_OK)
		return;
	if (dnsblv6_unfold_name(unfold, name, state->record, state->record_size, &next) !=
	    DNSBLV6_OK)
		return;
	expect(unfold->count <= DNSBLV6_UNFOLD_MAX);
	expect((unfold->count == 0) <= (state->record_size == 0 || !unfold->is_signed));
	for (size_t i = 0; i < unfold->count; i++) {
		const struct dnsblv6_rr *rr = &unfold->rrs[i];
		expect(is_inside(rr->rdata, rr->rdata_size, state->record, state->record_size) ||
		       is_inside(rr->rdata, rr->rdata_size, (const uint8_t *)unfold,
				 sizeof(*unfold)));
	}
	if (unfold->is_signed && unfold->count > 0)
		check_nsec(unfold, &next);
}

/* The apex of its first change, as a transfer begins; or made up when that has no SOA. */
static void begin(struct dnsblv6_unfold *unfold, const struct dnsblv6_facts *facts,
		  const uint8_t *data, size_t size)
{
	struct dnsblv6_name_change change;
	size_t offset = 0;
	if (dnsblv6_name_change_next(data, size, &offset, &change) != DNSBLV6_OK ||
	    dnsblv6_unfold_begin(unfold, facts, change.after.record, change.after.record_size) !=
		    DNSBLV6_OK) {
		memset(unfold, 0, sizeof(*unfold));
		unfold->zone = &facts->zone;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dnsblv6_unfold unfold;
	struct dnsblv6_facts facts = { .ttl = 2100 };
	struct dnsblv6_name_change change;
	struct dnsblv6_labels name;
	size_t offset = 0;
	if (size == 0)
		return 0;
	bool is_signed = (data[0] & 1) != 0;
	const char *apex = (data[0] & 2) != 0 ? "a-label-of-sixty-three-octets-which-is-all-that-a-"
						"label-may-be.a-label-of-sixty-three-octets-"
						"which-is-all-that-a-label-may-be.example"
					      : "bl6.example";
	data++;
	size--;
	expect(dnsblv6_name_from_text(apex, &facts.zone) == DNSBLV6_OK);
	begin(&unfold, &facts, data, size);
	unfold.is_signed = is_signed;
	unfold.algorithm = 13;
	while (dnsblv6_name_change_next(data, size, &offset, &change) == DNSBLV6_OK) {
		expect(offset <= size);
		if (dnsblv6_key_to_labels(change.key, change.key_size, &name) != DNSBLV6_OK)
			continue;
		unfold_state(&unfold, &name, &change.before);
		unfold_state(&unfold, &name, &change.after);
	}
	return 0;
}
