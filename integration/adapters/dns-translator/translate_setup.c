/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/dns-translator/translate_setup.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/format/name.h"

#define PORT 5300

/* ---- section "translate" ---- */

static const char *take_listen(void *data, const struct conf_value *value)
{
	struct translate_setup *setup = data;
	if (setup->listen.count == LISTENER_ADDRESS_MAX)
		return "there are 64 addresses at most";
	setup->listen.all[setup->listen.count++] = value->address;
	return NULL;
}

static const char *take_name(void *member, const struct conf_value *value)
{
	struct setup_name *ret_name = member;
	ret_name->size = value->name_size;
	ret_name->label_count = 1;
	memcpy(ret_name->wire, value->name, value->name_size);
	for (const uint8_t *at = value->name; *at != 0; at += 1 + *at)
		ret_name->label_count++;
	return NULL;
}

/* ---- section "zone" ---- */

static const char *take_domain(void *data, const struct conf_value *value)
{
	struct translate_setup *setup = data;
	if (setup->zone_count == SETUP_ZONES_MAX)
		return "there are 64 zones at most";
	if (value->name_size == 1)
		return "the root is no zone of lists";
	struct setup_zone *zone = &setup->zones[setup->zone_count];
	memset(zone, 0, sizeof(*zone));
	take_name(&zone->name, value);
	for (unsigned i = 0; i < setup->zone_count; i++) {
		const struct setup_name *other = &setup->zones[i].name;
		if (other->size == zone->name.size &&
		    memcmp(other->wire, zone->name.wire, other->size) == 0)
			return "zone is given twice";
	}
	setup->zone_count++;
	return NULL;
}

/* All entries as the library takes them; it says what is wrong with the last. */
static const char *set_entries(struct translate_setup *setup)
{
	char text[SETUP_ENTRIES_MAX * (SETUP_ENTRY_MAX + 1)] = "";
	size_t size = 0;
	for (unsigned i = 0; i < setup->entry_count; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", i > 0 ? " " : "",
					 setup->entries[i]);
	return handle_set(&setup->handle, "zones", text);
}

/* Index of the entry with that text, which is a new one if need be. */
static const char *find_entry(struct translate_setup *setup, const char *text, size_t size,
			      unsigned *ret_entry)
{
	for (unsigned i = 0; i < setup->entry_count; i++) {
		if (strlen(setup->entries[i]) == size &&
		    strncasecmp(setup->entries[i], text, size) == 0) {
			*ret_entry = i;
			return NULL;
		}
	}
	if (setup->entry_count == SETUP_ENTRIES_MAX)
		return "there are 64 lists at most";
	*ret_entry = setup->entry_count++;
	snprintf(setup->entries[*ret_entry], sizeof(setup->entries[0]), "%.*s", (int)size, text);
	return set_entries(setup);
}

/* 127.0.0.2 unless something else is behind the colon. */
static const char *take_code(const char *colon, uint8_t *ret_code)
{
	static const uint8_t usual[4] = { 127, 0, 0, 2 };
	memcpy(ret_code, usual, sizeof(usual));
	if (colon == NULL)
		return NULL;
	if (inet_pton(AF_INET, colon + 1, ret_code) != 1 || ret_code[0] != 127)
		return "permitted behind the colon is an address in 127.0.0.0/8";
	if (ret_code[1] == 255 && ret_code[2] == 255)
		return "127.255.255.0/24 says that something is wrong with the list";
	return NULL;
}

static const char *take_list(void *member, const struct conf_value *value)
{
	struct setup_zone *zone = member;
	struct translate_setup *setup = value->context;
	const char *text = value->text;
	/* Weights are the business of the client that asks. */
	if (strpbrk(text, "* \t,") != NULL || text[0] == ':')
		return "permitted is NAME[=FILTER][:CODE], without a weight";
	if (zone->listing_count == SETUP_LISTINGS_MAX)
		return "a zone has 64 lists at most";
	struct setup_listing *listing = &zone->listings[zone->listing_count];
	const char *colon = strchr(text, ':');
	const char *reason = take_code(colon, listing->code);
	if (reason == NULL)
		reason = find_entry(setup, text,
				    colon != NULL ? (size_t)(colon - text) : strlen(text),
				    &listing->entry);
	if (reason != NULL)
		return reason;
	zone->listing_count++;
	zone->entries |= UINT64_C(1) << listing->entry;
	return NULL;
}

static const char *take_text(void *member, const struct conf_value *value)
{
	for (const char *at = value->text; *at != '\0'; at++) {
		if (*at < ' ' || *at > '~')
			return "permitted is printable ASCII";
	}
	snprintf(member, SETUP_TEXT_MAX + 1, "%s", value->text);
	return NULL;
}

static void *find_zone(void *context)
{
	struct translate_setup *setup = context;
	return &setup->zones[setup->zone_count - 1];
}

/* ---- the file ---- */

static const char *const failures[] = { "servfail", "nxdomain", NULL };

static const struct conf_item translate_items[] = {
	{ "listen", CONF_ADDRESS, .default_port = PORT, .is_list = true, .take = take_listen,
	  .preset = "127.0.0.1" },
	OWNER_USER("user", struct translate_setup, owner),
	{ "workers", CONF_NUMBER, CONF_AT(struct translate_setup, workers), .min = 1,
	  .max = SETUP_WORKERS_MAX, .preset = "1" },
	{ "tcp-max-clients", CONF_NUMBER, CONF_AT(struct translate_setup, tcp_clients_max),
	  .min = 1, .max = 65536, .preset = "200" },
	{ "tcp-idle-timeout", CONF_SECONDS, CONF_AT(struct translate_setup, tcp_idle_timeout_s),
	  .min = 1, .max = 3600, .preset = "10s" },
	{ "timeout", CONF_MS, CONF_AT(struct translate_setup, timeout_ms), .min = 1000,
	  .max = 60000, .preset = "3s" },
	{ "max-ttl", CONF_SECONDS, CONF_AT(struct translate_setup, ttl_max_s), .max = 86400,
	  .preset = "1h" },
	{ "name-server", CONF_NAME, CONF_AT(struct translate_setup, name_server), .take = take_name,
	  .preset = "localhost." },
	PROGRAM_METRICS(struct translate_setup),
	CONF_LOG_LEVEL(struct translate_setup),
};

static const struct conf_item zone_items[] = {
	{ "domain", CONF_NAME, .take = take_domain },
	{ "lists", CONF_TEXT, .max = SETUP_ENTRY_MAX, .is_list = true, .take = take_list },
	{ "text", CONF_TEXT, CONF_AT(struct setup_zone, text), .take = take_text },
	{ "on-failure", CONF_CHOICE, CONF_AT(struct setup_zone, has_nxdomain), .choices = failures,
	  .preset = "servfail" },
};

static const struct conf_section sections[] = {
	{ "translate", CONF_ITEMS(translate_items) },
	{ "zone", CONF_ITEMS(zone_items), .find_entry = find_zone },
	/* What is asked stands in the zones, and there is no verdict. */
	{ "library", handle_items + HANDLE_VERDICT_ITEMS, HANDLE_ITEMS - HANDLE_VERDICT_ITEMS,
	  .offset = offsetof(struct translate_setup, handle) },
};

const struct conf_table translate_setup_table = { CONF_SECTIONS(sections) };

static bool is_below(const struct dnsblv6_labels *name, const struct setup_name *apex)
{
	size_t size = apex->size - 1; /* labels have no root */
	size_t at = 0;
	while (at + size < name->size)
		at += 1 + (size_t)name->wire[at];
	return at + size == name->size && memcmp(name->wire + at, apex->wire, size) == 0;
}

/* A list inside a zone of ours would be asked of ourselves, again and again. */
static bool asks_itself(const struct translate_setup *setup, const char *entry)
{
	char text[SETUP_ENTRY_MAX + 1];
	struct dnsblv6_labels name;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(entry, "="), entry);
	for (char *at = text; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	size_t size = strlen(text);
	if (size > 0 && text[size - 1] == '.')
		text[size - 1] = '\0';
	/* The library has taken it. */
	if (dnsblv6_name_from_text(text, &name) != 0)
		return false;
	for (unsigned i = 0; i < setup->zone_count; i++) {
		if (is_below(&name, &setup->zones[i].name))
			return true;
	}
	return false;
}

/* What no line shows alone. */
static int finish(struct translate_setup *setup, struct conf_error *reterr_error)
{
	if (setup->zone_count == 0)
		return conf_refuse(reterr_error, -EINVAL,
				   "zone: none is given, each with its \"domain\"");
	for (unsigned i = 0; i < setup->zone_count; i++) {
		const struct setup_zone *zone = &setup->zones[i];
		char name[DNSBLV6_NAME_TEXT_SIZE];
		dnsblv6_name_format(zone->name.wire, zone->name.size - 1, name);
		if (zone->listing_count == 0)
			return conf_refuse(reterr_error, -EINVAL, "zone %s has no lists", name);
	}
	for (unsigned i = 0; i < setup->entry_count; i++) {
		if (!asks_itself(setup, setup->entries[i]))
			continue;
		return conf_refuse(reterr_error, -EINVAL,
				   "list %s is inside a zone that is answered from lists",
				   setup->entries[i]);
	}
	if (setup->tcp_idle_timeout_s * 1000 <= setup->timeout_ms)
		return conf_refuse(
			reterr_error, -EINVAL,
			"tcp-idle-timeout must be longer than timeout, or a client would be "
			"closed before its answer");
	/* A question is answered as the list does, whatever it is about. */
	const char *reason = handle_set(&setup->handle, "scope", "all");
	if (reason != NULL)
		return conf_refuse(reterr_error, -EINVAL, "%s", reason);
	return handle_finish(&setup->handle, reterr_error);
}

int translate_setup_parse(const char *text, size_t text_size, void *ret_setup,
			  struct conf_error *reterr_error)
{
	struct translate_setup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	int ret = program_parse(text, text_size, &translate_setup_table, setup, &setup->handle,
				NULL, reterr_error);
	return ret == 0 ? finish(setup, reterr_error) : ret;
}

void translate_setup_deinit(void *data)
{
	struct translate_setup *setup = data;
	handle_deinit(&setup->handle);
}
