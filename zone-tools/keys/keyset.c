/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keys/keyset.h"

#include "lib/lmdb/store.h"

#include <stdio.h>
#include <string.h>

enum { DNSKEY_ALGORITHM = 3 }; /* where it stands in the RDATA, RFC 4034 section 2.1 */

const char *keyset_strerror(int status)
{
	switch (status) {
	case KEYSET_EUNSIGNED:
		return "store is not signed; 'sign --force' signs it";
	case KEYSET_ESIGNED:
		return "store is signed; its --key or --keys is needed";
	case KEYSET_EKEY:
		return "store has been signed by another key; publish the new one first";
	case KEYSET_EKEYS:
		return "the DNSKEY records change, and every key that stays has to sign them: "
		       "--publish it, or --withdraw it";
	case KEYSET_EADDED:
		return "update publishes no new key; build and sign do";
	case KEYSET_EABSENT:
		return "store publishes no key of a tag given with --withdraw";
	case KEYSET_EGIVEN:
		return "a key is given and to be withdrawn";
	case KEYSET_EACTIVE:
		return "the key to withdraw has signed the zone until now; sign with another key, "
		       "and wait for the TTL of the zone, before";
	case KEYSET_ECLASH:
		return "a new key has the key tag of a published one, or another algorithm";
	case KEYSET_EMANY:
		return "a zone publishes four keys at most";
	case KEYSET_EROLLED:
		return "keys of the store follow each other by themselves; --keys names their "
		       "directory";
	case KEYSET_EMOVED:
		return "another process has changed the keys meanwhile; run it again";
	default:
		return NULL;
	}
}

/* ---- what there is ---- */

void keyset_begin(struct keyset *set)
{
	set->published_count = 0;
	set->dnskey_count = 0;
	set->active_tag = 0;
}

static int note_dnskey(struct keyset *set, const struct dnsblv6_rr *rr)
{
	if (set->published_count == SIGNER_KEYS_MAX || rr->rdata_size > KEY_DNSKEY_MAX ||
	    rr->rdata_size <= DNSKEY_ALGORITHM)
		return STORE_ECORRUPT;
	struct keyset_dnskey *dnskey = &set->published[set->published_count++];
	*dnskey = (struct keyset_dnskey){ .size = rr->rdata_size,
					  .tag = key_dnskey_tag(rr->rdata, rr->rdata_size) };
	memcpy(dnskey->rdata, rr->rdata, rr->rdata_size);
	return DNSBLV6_OK;
}

/* RRs of one record are in the order of types, RRSIGs behind DNSKEYs. */
static int note_signature(struct keyset *set, const struct dnsblv6_rr *rr, uint64_t now_s)
{
	struct dnsblv6_signature signature;
	int ret = dnsblv6_rrsig_decode(rr->rdata, rr->rdata_size, DNSBLV6_TYPE_SOA, &signature);
	if (ret == DNSBLV6_OK)
		set->active_tag = signature.key_tag;
	ret = dnsblv6_rrsig_decode(rr->rdata, rr->rdata_size, DNSBLV6_TYPE_DNSKEY, &signature);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : STORE_ECORRUPT;
	for (size_t i = 0; i < set->published_count; i++) {
		/* RFC 4034 section 3.1.5: serial number arithmetic. */
		int32_t left_s = (int32_t)(signature.expiration - (uint32_t)now_s);
		if (set->published[i].tag == signature.key_tag)
			set->published[i].signature_s = (uint64_t)((int64_t)now_s + left_s);
	}
	return DNSBLV6_OK;
}

int keyset_note(struct keyset *set, const struct dnsblv6_rr *rr, uint64_t now_s)
{
	if (rr->type == DNSBLV6_TYPE_DNSKEY)
		return note_dnskey(set, rr);
	return rr->type == DNSBLV6_TYPE_RRSIG ? note_signature(set, rr, now_s) : DNSBLV6_OK;
}

bool keyset_is_signed(const struct keyset *set)
{
	return set->published_count > 0;
}

/* ---- comparisons ---- */

static bool is_key(const struct keyset_dnskey *dnskey, const struct key *key)
{
	uint8_t rdata[KEY_DNSKEY_MAX];
	size_t size = key_dnskey(key, rdata);
	return dnskey->size == size && memcmp(dnskey->rdata, rdata, size) == 0;
}

static bool is_given(const struct keyset *set, const struct keyset_dnskey *dnskey)
{
	for (size_t i = 0; i < set->key_count; i++) {
		if (is_key(dnskey, set->keys[i]))
			return true;
	}
	return false;
}

static bool is_published(const struct keyset *set, const struct key *key)
{
	for (size_t i = 0; i < set->published_count; i++) {
		if (is_key(&set->published[i], key))
			return true;
	}
	return false;
}

static bool is_withdrawn(const struct keyset *set, uint16_t tag)
{
	for (size_t i = 0; i < set->withdrawn_count; i++) {
		if (set->withdrawn[i] == tag)
			return true;
	}
	return false;
}

bool keyset_has_active(const struct keyset *set)
{
	return set->key_count > 0 && is_published(set, set->keys[0]);
}

struct dnsblv6_signing keyset_signing(const struct keyset *set, uint64_t expires_s)
{
	uint8_t algorithm = key_algorithm(set->keys[0]);
	uint8_t other = set->other != NULL ? key_algorithm(set->other) : 0;
	bool is_other_less = other != 0 && other < algorithm;
	return (struct dnsblv6_signing){ .algorithm = is_other_less ? other : algorithm,
					 .expires_s = expires_s,
					 .other_algorithm = is_other_less ? algorithm : other };
}

/* ---- a rollover ---- */

static void add_rolled(struct keyset *set, const struct rollover_key *key, bool is_given)
{
	struct keyset_dnskey *dnskey = &set->dnskeys[set->dnskey_count++];
	*dnskey = (struct keyset_dnskey){ .size = key->dnskey_size,
					  .tag = rollover_key_tag(key),
					  .is_given = is_given };
	memcpy(dnskey->rdata, key->dnskey, key->dnskey_size);
}

bool keyset_roll(struct keyset *set, const struct dnsblv6_labels *zone,
		 const struct rollover *rollover, const struct key *const keys[ROLLOVER_KEYS_MAX])
{
	struct rollover_role roles[ROLLOVER_KEYS_MAX];
	rollover_assign_roles(rollover, roles);
	set->is_rolled = true;
	set->rollover = *rollover;
	set->other = NULL;
	set->submitted = NULL;
	set->key_count = 0;
	/* The active one comes first. */
	for (size_t i = 0; i < rollover->key_count; i++) {
		if (roles[i].is_first)
			set->keys[set->key_count++] = keys[i];
	}
	for (size_t i = 0; i < rollover->key_count; i++) {
		if (roles[i].is_submitted)
			set->submitted = &set->rollover.keys[i];
		if (roles[i].is_first)
			continue;
		if (roles[i].is_published && keys[i] != NULL)
			set->keys[set->key_count++] = keys[i];
		if (roles[i].signs_zone)
			set->other = keys[i];
	}
	return set->submitted == NULL ||
	       key_ds_of(zone, set->submitted->dnskey, set->submitted->dnskey_size,
			 KEY_DIGEST_SHA256, set->cds) == KEY_DS_SIZE;
}

size_t keyset_rrs(const struct keyset *set, uint32_t ttl, struct dnsblv6_rr ret_rrs[KEYSET_RRS_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < set->dnskey_count; i++)
		ret_rrs[count++] = (struct dnsblv6_rr){ DNSBLV6_TYPE_DNSKEY, set->dnskeys[i].size,
							ttl, set->dnskeys[i].rdata };
	if (set->submitted == NULL)
		return count;
	ret_rrs[count++] = (struct dnsblv6_rr){ DNSBLV6_TYPE_CDS, KEY_DS_SIZE, ttl, set->cds };
	ret_rrs[count++] = (struct dnsblv6_rr){ DNSBLV6_TYPE_CDNSKEY, set->submitted->dnskey_size,
						ttl, set->submitted->dnskey };
	return count;
}

/* ---- the choice ---- */

static int check_withdrawn(const struct keyset *set, uint16_t tag)
{
	for (size_t i = 0; i < set->published_count; i++) {
		if (set->published[i].tag != tag)
			continue;
		if (is_given(set, &set->published[i]))
			return KEYSET_EGIVEN;
		return tag == set->active_tag ? KEYSET_EACTIVE : DNSBLV6_OK;
	}
	return KEYSET_EABSENT;
}

static void keep_published(struct keyset *set)
{
	for (size_t i = 0; i < set->published_count; i++) {
		struct keyset_dnskey *dnskey = &set->published[i];
		dnskey->is_given = is_given(set, dnskey);
		if (!is_withdrawn(set, dnskey->tag))
			set->dnskeys[set->dnskey_count++] = *dnskey;
	}
}

static int add_key(struct keyset *set, const struct key *key)
{
	if (set->dnskey_count == SIGNER_KEYS_MAX)
		return KEYSET_EMANY;
	for (size_t i = 0; i < set->dnskey_count; i++) {
		/* Signatures name their key by its tag alone. */
		if (set->dnskeys[i].tag == key_tag(key) ||
		    set->dnskeys[i].rdata[DNSKEY_ALGORITHM] != key_algorithm(key))
			return KEYSET_ECLASH;
	}
	struct keyset_dnskey *dnskey = &set->dnskeys[set->dnskey_count++];
	*dnskey = (struct keyset_dnskey){ .tag = key_tag(key), .is_given = true };
	dnskey->size = (uint16_t)key_dnskey(key, dnskey->rdata);
	return DNSBLV6_OK;
}

static int add_new(struct keyset *set)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < set->key_count; i++) {
		if (!is_published(set, set->keys[i]))
			ret = set->may_not_add ? KEYSET_EADDED : add_key(set, set->keys[i]);
	}
	return ret;
}

/* Whatever there was: the keys given, or none. */
static int replace_all(struct keyset *set)
{
	int ret = set->withdrawn_count > 0 ? KEYSET_EABSENT : DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < set->key_count; i++)
		ret = add_key(set, set->keys[i]);
	return ret;
}

/* Is there a key in the new RRset which cannot sign it, as its file was not given? */
static bool has_silent(const struct keyset *set)
{
	for (size_t i = 0; i < set->dnskey_count; i++) {
		if (!set->dnskeys[i].is_given)
			return true;
	}
	return false;
}

static bool is_same_dnskeys(const struct keyset *set)
{
	size_t same_count = 0;
	for (size_t i = 0; i < set->dnskey_count; i++) {
		for (size_t j = 0; j < set->published_count; j++)
			same_count += set->dnskeys[i].size == set->published[j].size &&
				      memcmp(set->dnskeys[i].rdata, set->published[j].rdata,
					     set->dnskeys[i].size) == 0;
	}
	return same_count == set->dnskey_count && same_count == set->published_count;
}

/* Nothing is kept here that the rollover does not name: what is published is what it has published. */
static int choose_rolled(struct keyset *set, bool is_same_ttl)
{
	struct rollover_role roles[ROLLOVER_KEYS_MAX];
	rollover_assign_roles(&set->rollover, roles);
	if (keyset_is_signed(set) && !keyset_has_active(set) && !set->may_replace)
		return KEYSET_EKEY;
	for (size_t i = 0; i < set->rollover.key_count; i++) {
		struct keyset_dnskey dnskey;
		memcpy(dnskey.rdata, set->rollover.keys[i].dnskey, sizeof(dnskey.rdata));
		dnskey.size = set->rollover.keys[i].dnskey_size;
		if (roles[i].is_published)
			add_rolled(set, &set->rollover.keys[i], is_given(set, &dnskey));
	}
	bool is_same = is_same_ttl && is_same_dnskeys(set);
	return keyset_is_signed(set) && !is_same && has_silent(set) ? KEYSET_EKEYS : DNSBLV6_OK;
}

int keyset_choose(struct keyset *set, bool is_same_ttl)
{
	int ret = DNSBLV6_OK;
	set->dnskey_count = 0;
	if (set->is_rolled)
		return choose_rolled(set, is_same_ttl);
	if (!keyset_is_signed(set) || (set->may_replace && !keyset_has_active(set)))
		return replace_all(set);
	if (!keyset_has_active(set))
		return set->key_count == 0 ? KEYSET_ESIGNED : KEYSET_EKEY;
	for (size_t i = 0; ret == DNSBLV6_OK && i < set->withdrawn_count; i++)
		ret = check_withdrawn(set, set->withdrawn[i]);
	if (ret != DNSBLV6_OK)
		return ret;
	keep_published(set);
	size_t kept_count = set->dnskey_count;
	ret = add_new(set);
	bool is_changed = set->dnskey_count != set->published_count ||
			  kept_count != set->published_count || !is_same_ttl;
	return ret == DNSBLV6_OK && is_changed && has_silent(set) ? KEYSET_EKEYS : ret;
}

int keyset_new_signer(const struct keyset *set, const struct dnsblv6_labels *zone, uint64_t now_s,
		      uint32_t lifetime_s, struct signer **signer)
{
	const struct signer_options options = { .zone = zone,
						.keys = set->keys,
						.key_count = set->key_count,
						.other = set->other,
						.now_s = now_s,
						.lifetime_s = lifetime_s };
	signer_free(*signer);
	*signer = NULL;
	return set->key_count == 0 ? DNSBLV6_OK : signer_new(&options, signer);
}

/* ---- what is said about it ---- */

void keyset_describe(const struct keyset *set, int status, char *ret_text)
{
	size_t size = 0;
	*ret_text = '\0';
	if (keyset_strerror(status) == NULL || !keyset_is_signed(set))
		return;
	/* Ten words of at most five digits: they fit. */
	for (size_t i = 0; i < set->published_count; i++)
		size += (size_t)snprintf(ret_text + size, KEYSET_TEXT_SIZE - size, "%s%u",
					 i == 0 ? "published=" : ",", set->published[i].tag);
	for (size_t i = 0; i < set->key_count; i++)
		size += (size_t)snprintf(ret_text + size, KEYSET_TEXT_SIZE - size, "%s%u",
					 i == 0 ? " given=" : ",", key_tag(set->keys[i]));
	snprintf(ret_text + size, KEYSET_TEXT_SIZE - size, " ");
}
