/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/setup/mailsetup.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Letters, digits, hyphens and dots, and no empty label. */
const char *mailsetup_take_hostname(void *member, const struct conf_value *value)
{
	const char *text = value->text;
	static const char permitted[] = "permitted is a domain name";
	char before = '.';
	for (const char *c = text; *c != '\0'; before = *c++) {
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
			return permitted;
		if (before == '.' && (*c == '.' || *c == '-'))
			return permitted;
	}
	if (before == '.')
		return permitted;
	snprintf(member, MAILSETUP_HOSTNAME_MAX + 1, "%s", text);
	return NULL;
}

const char *mailsetup_add_place(struct place *places, unsigned *count,
				const struct conf_value *value)
{
	struct place place = { .address = value->address,
			       .address_size = values_address_size(&value->address) };
	if (*count == LISTENERS_PLACES_MAX)
		return "there are 16 places at most";
	snprintf(place.text, sizeof(place.text), "%s", value->text);
	for (unsigned i = 0; i < *count; i++)
		if (memcmp(&places[i].address, &place.address, place.address_size) == 0)
			return "place is given twice";
	places[(*count)++] = place;
	return NULL;
}

const char *mailsetup_take_certificate(void *member, const struct conf_value *value)
{
	struct mailsetup_tls *tls = member;
	const char *text = value->text;
	const char *colon = strchr(text, ':');
	const char *key = colon == NULL ? text : colon + 1;
	size_t size = colon == NULL ? strlen(text) : (size_t)(colon - text);
	if (tls->certificate_count == KEYS_PAIRS_MAX)
		return "there are 32 certificates at most";
	if (text[0] != '/' || key[0] != '/' || size > KEYS_PATH_MAX || strlen(key) > KEYS_PATH_MAX)
		return "permitted are CHAIN:KEY and one file with both, as absolute paths";
	struct keys_paths *paths = &tls->certificates[tls->certificate_count++];
	snprintf(paths->chain, sizeof(paths->chain), "%.*s", (int)size, text);
	snprintf(paths->key, sizeof(paths->key), "%s", key);
	return NULL;
}

int mailsetup_read_chains(struct mailsetup_tls *tls, struct conf_error *reterr_error)
{
	struct keys_error error = { .reason = "" };
	if (tls->certificate_count == 0)
		return 0;
	const int ret =
		keys_read_chains(tls->certificates, tls->certificate_count, &tls->chains, &error);
	return ret == 0 ? 0
			: conf_refuse(reterr_error, ret, "certificate %.240s: %s", error.path,
				      error.reason);
}

void mailsetup_free_chains(struct mailsetup_tls *tls)
{
	keys_free_chains(tls->chains);
	tls->chains = NULL;
}

void mailsetup_complete_network(struct limits_rules *network, unsigned workers)
{
	if (network->held_max == MAILSETUP_FIFTH)
		network->held_max = network->connections_max > 0 ? (workers + 4) / 5 : 0;
}

unsigned mailsetup_count_cores(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	const int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return count < LISTENERS_EDGES_MAX ? (unsigned)count : LISTENERS_EDGES_MAX;
}
