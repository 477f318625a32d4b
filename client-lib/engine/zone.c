/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/zone.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define WARNING	    4 /* of syslog(3) */
#define DEBUG	    7
#define LINE_MAX    1280 /* a name has up to 1024 */
#define VALUE_MAX   (sizeof("A") + MESSAGE_A_MAX * INET_ADDRSTRLEN)
#define SERVER_SIZE (DNSBLV6_ADDR_TEXT_SIZE + 6)

/* ---- waiting ---- */

void waiters_prepare(struct waiters *list, struct zone *zone, int64_t began_ms)
{
	TAILQ_INIT(&list->head);
	list->zone = zone;
	list->began_ms = began_ms;
	list->question = 0;
	list->is_noted = false;
}

void waiters_join(struct waiters *list, struct waiter *waiter)
{
	waiter->list = list;
	TAILQ_INSERT_TAIL(&list->head, waiter, link);
}

void waiters_leave(struct waiter *waiter)
{
	if (waiter->list == NULL)
		return;
	TAILQ_REMOVE(&waiter->list->head, waiter, link);
	waiter->list = NULL;
}

void waiters_wake(struct waiters *list, const struct cache_entry *entry)
{
	struct waiter *waiter;

	while ((waiter = TAILQ_FIRST(&list->head)) != NULL) {
		waiters_leave(waiter);
		waiter->wake(waiter, entry);
	}
}

/* ---- zones ---- */

/* splitmix64: for jitter and names of probes, nothing that an enemy must not guess. */
uint64_t zones_random(struct zones *all)
{
	uint64_t word = all->random += 0x9e3779b97f4a7c15ull;
	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
	word = (word ^ word >> 27) * 0x94d049bb133111ebull;
	return word ^ word >> 31;
}

uint64_t zone_word(const struct zone *zone)
{
	return cache_zone_get(zone->all->cache, zone->index, CACHE_ZONE_WORD);
}

/* For texts that others read. */
static const char *name_of(const struct zone *zone)
{
	return zone->config->labels[0] != '\0' ? zone->config->labels : zone->config->text;
}

/* A change of state is logged. */
static void set_word(struct zone *zone, uint64_t word, const char *reason)
{
	struct zones *all = zone->all;
	char line[HEALTH_LINE_MAX];
	uint64_t old_word = zone_word(zone);

	if (word == old_word)
		return;
	if (health_is_cleared(old_word, word))
		cache_begin_era(all->cache, zone->index);
	cache_zone_set(all->cache, zone->index, CACHE_ZONE_WORD, word);
	if (health_unpack(word).state == DNSBLV6_ZONE_UNREACHABLE)
		zone_note_vain(zone);
	int level = health_line(name_of(zone), old_word, word, reason, line);
	if (level >= 0 && all->log != NULL)
		all->log(all->log_context, level, line);
}

/* ---- what happens to questions ---- */

static uint32_t now_s(const struct zone *zone)
{
	return cache_now_s(zone->all->cache);
}

static void read_evidence(struct zone *zone)
{
	zone->health.evidence = cache_zone_get(zone->all->cache, zone->index, CACHE_ZONE_EVIDENCE);
}

/* What another process wrote meanwhile is lost: one failure more or less in a row. */
static void keep_evidence(struct zone *zone, uint64_t word, const char *reason)
{
	cache_zone_set(zone->all->cache, zone->index, CACHE_ZONE_EVIDENCE, zone->health.evidence);
	set_word(zone, word, reason);
}

void zone_note_answer(struct zone *zone)
{
	read_evidence(zone);
	keep_evidence(zone, health_answered(&zone->health, zone_word(zone), now_s(zone)), "");
}

void zone_note_failure(struct zone *zone, enum answer_failure failure)
{
	read_evidence(zone);
	uint64_t word = health_failed(&zone->health, zone->all->config, zone_word(zone), failure,
				      now_s(zone));
	keep_evidence(zone, word, answer_failure_text(failure));
}

void zone_note_doubt(struct zone *zone)
{
	set_word(zone,
		 health_doubted(&zone->health, zone->all->config, zone_word(zone), now_s(zone)),
		 "");
}

bool zone_takes_odd(struct zone *zone)
{
	zone->has_odd = true;
	zone_note_doubt(zone);
	return now_s(zone) < zone->odd_until_s;
}

/* A probe has found the zone well, or not. */
static void end_doubt(struct zone *zone)
{
	bool is_well = !health_is_sick(health_unpack(zone_word(zone)).state);

	if (zone->has_odd)
		zone->odd_until_s = is_well ? now_s(zone) + HEALTH_LOOK_S : 0;
	zone->has_odd = false;
}

void zone_note_late(struct waiters *list)
{
	struct zone *zone = list->zone;

	if (zone == NULL || list->is_noted)
		return;
	int64_t sent_ms = stub_sent_ms(zone->all->stub, list->question);
	/* What was not asked is not silent. */
	if (sent_ms == -1)
		return;
	list->is_noted = true;
	int64_t since_ms = sent_ms > list->began_ms ? sent_ms : list->began_ms;
	uint32_t waited_ms = (uint32_t)(zone->all->now_ms - since_ms);

	read_evidence(zone);
	uint64_t word = health_late(&zone->health, zone->all->config, zone_word(zone), waited_ms,
				    now_s(zone));
	keep_evidence(zone, word, answer_failure_text(ANSWER_SILENT));
}

/* One that is copied from the list's classic zone may be for other codes. */
static void warn_of_filters(const struct zone *zone)
{
	const struct zones *all = zone->all;
	char line[HEALTH_LINE_MAX];

	if (all->log == NULL || zone->entries->bitmap_entries == zone->entries->entries)
		return;
	snprintf(line, sizeof(line),
		 "[%s] a filter fits no listing (what a bitmap lists is 127.0.0.2)", name_of(zone));
	all->log(all->log_context, WARNING, line);
}

void zone_note_probe(struct zone *zone, const struct health_probe *found)
{
	const char *reason;
	uint64_t old_word = zone_word(zone);

	read_evidence(zone);
	uint64_t word = health_probed(&zone->health, zone->all->config, old_word, found,
				      now_s(zone), &reason);
	/* It has denied what it lists, and so others of its denials are wrong too. */
	if (found->points[HEALTH_LISTED] == HEALTH_NO)
		cache_begin_era(zone->all->cache, zone->index);
	keep_evidence(zone, word, reason);
	end_doubt(zone);
	enum health_mode was = health_unpack(old_word).mode;
	enum health_mode is = health_unpack(word).mode;
	if (health_is_bitmap(is) && !health_is_bitmap(was))
		warn_of_filters(zone);
	/* Names of the wrong style were denied, whatever is listed. */
	if (was != is && health_is_bitmap(was) && health_is_bitmap(is))
		cache_forget_denials(zone->all->cache, zone->index);
}

bool zone_note_look(struct zone *zone, const struct health_probe *found)
{
	const char *reason;
	uint64_t word = health_looked(&zone->health, zone->all->config, zone_word(zone), found,
				      now_s(zone), &reason);

	set_word(zone, word, reason);
	return !health_is_distrusted(health_unpack(word).state);
}

/* Of all that share the cache; only the process that changes it first has changed it. */
static uint64_t trust_of(const struct zone *zone)
{
	return cache_zone_get(zone->all->cache, zone->index, CACHE_ZONE_TRUST);
}

static bool change_trust(struct zone *zone, uint64_t old_trust, uint64_t trust)
{
	return trust == old_trust ||
	       cache_zone_swap(zone->all->cache, zone->index, CACHE_ZONE_TRUST, old_trust, trust);
}

static bool claim(struct zone *zone, bool (*take)(uint64_t *trust, uint32_t now_s))
{
	uint64_t old_trust, trust;

	do {
		old_trust = trust = trust_of(zone);
		if (!take(&trust, now_s(zone)))
			return false;
	} while (!change_trust(zone, old_trust, trust));
	return true;
}

void zone_note_denials(struct zone *zone, int64_t begun_ms)
{
	const uint32_t took_s = (uint32_t)((zone->all->now_ms - begun_ms + 999) / 1000);
	const uint32_t begun_s = now_s(zone) > took_s ? now_s(zone) - took_s : 1; /* 0 is "never" */
	uint64_t trust;

	zone->has_denied = true;
	zone->denied_ms = zone->all->now_ms;
	zone->looked_ms = begun_ms;
	zone->listings.row = 0;
	do
		trust = trust_of(zone);
	while (!change_trust(zone, trust, health_looked_well(trust, begun_s)));
	/* The fault may have begun since then, before what was listed meanwhile. */
	if (zone->lent_ms >= begun_ms)
		(void)claim(zone, health_lend);
	/* A fault may have begun behind the look before that one, and be over. */
	struct health_trust was = health_unpack_trust(trust);
	if (was.had_vain && was.was_lent)
		cache_forget_listings(zone->all->cache, zone->index, was.looked_s);
}

void zone_note_vain(struct zone *zone)
{
	uint64_t trust;

	do
		trust = trust_of(zone);
	while (!change_trust(zone, trust, health_looked_in_vain(trust)));
}

bool zone_claim_look(struct zone *zone)
{
	return claim(zone, health_claim_look);
}

bool zone_claim_trust(struct zone *zone)
{
	zone->lent_ms = zone->all->now_ms;
	return claim(zone, health_lend);
}

/* ---- validation ---- */

static bool was_secure(const struct zone *zone)
{
	return health_unpack_trust(trust_of(zone)).is_secure;
}

static void set_secure(struct zone *zone, bool is_secure)
{
	uint64_t trust;

	do
		trust = trust_of(zone);
	while (!change_trust(zone, trust, health_secured(trust, is_secure)));
}

bool zone_wants_secure(const struct zone *zone)
{
	switch (zone->config->secure) {
	case CONFIG_SECURE_YES:
		return true;
	case CONFIG_SECURE_AUTO:
		return was_secure(zone) && !health_is_pin_over(zone_word(zone), now_s(zone));
	default:
		return false;
	}
}

void zone_forget_secure(struct zone *zone)
{
	set_secure(zone, false);
}

/*
 * As long as answers may come from a server whose AD is not believed, nothing is learned. What was
 * put before is void when the zone becomes one that is validated: some of it may not have been.
 */
void zone_learn_secure(struct zone *zone, const struct health_probe *found, bool is_whole)
{
	const struct zones *all = zone->all;

	if (zone->config->secure != CONFIG_SECURE_AUTO)
		return;
	if (was_secure(zone)) {
		if (!found->wants_secure)
			set_secure(zone, false); /* it was INSECURE for too long */
		return;
	}
	bool is_signed = found->is_signed || all->config->resolver != NULL;
	if (!is_whole || !found->is_secure || !is_signed || !config_trusts_servers(all->config) ||
	    health_unpack(zone_word(zone)).state != DNSBLV6_ZONE_OK)
		return;
	cache_begin_era(all->cache, zone->index);
	set_secure(zone, true);
}

bool zone_claim_probe(struct zone *zone)
{
	uint64_t old_word = zone_word(zone);
	uint64_t word = old_word;

	return health_claim_probe(zone->all->config, &word, now_s(zone)) &&
	       (word == old_word ||
		cache_zone_swap(zone->all->cache, zone->index, CACHE_ZONE_WORD, old_word, word));
}

/* ---- lines that explain, for the log hook: free of cost without one ---- */

void zone_hide_name(const char *name, const char *label, char *text, size_t size)
{
	char rest[LINE_MAX];
	char *at = text;

	while ((at = strcasestr(at, name)) != NULL) {
		size_t room = size - (size_t)(at - text);

		snprintf(rest, sizeof(rest), "%s", at + strlen(name));
		snprintf(at, room, "%s%s", label, rest);
		at += strlen(label) < room ? strlen(label) : room - 1;
	}
}

static void __attribute__((format(printf, 2, 3)))
tell(const struct zones *all, const char *format, ...)
{
	char line[LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	/* clang-tidy 14 does not see va_start() here, as it does elsewhere. */
	vsnprintf(line, sizeof(line), format, arguments); // NOLINT(clang-analyzer-valist*)
	va_end(arguments);
	all->log(all->log_context, DEBUG, line);
}

/* ADDRESS@PORT */
static void format_server(const struct config_server *server, char *ret_text)
{
	char address[DNSBLV6_ADDR_TEXT_SIZE];

	dnsblv6_addr_format(dnsblv6_addr_from_bytes(server->address.sin6_addr.s6_addr), address);
	snprintf(ret_text, SERVER_SIZE, "%s@%u", address, ntohs(server->address.sin6_port));
}

void zones_trace_servers(const struct zones *all)
{
	const struct config *config = all->config;

	if (all->log != NULL && config->resolver != NULL) {
		tell(all, "server of the program's own");
		return;
	}
	for (unsigned i = 0; all->log != NULL && i < config->server_count; i++) {
		char text[SERVER_SIZE];

		format_server(config->servers + i, text);
		tell(all, "server %s%s", text, config->servers[i].is_trusted ? ", trusted" : "");
	}
}

static const char *type_name(uint16_t type)
{
	switch (type) {
	case MESSAGE_A:
		return "A";
	case MESSAGE_AAAA:
		return "AAAA";
	default:
		return "TXT";
	}
}

static void format_name(const struct zone *zone, const struct dnsblv6_labels *name, char *ret_text)
{
	const struct config_zone *config = zone->config;

	dnsblv6_name_format(name->wire, name->size, ret_text);
	if (config->labels[0] != '\0')
		zone_hide_name(config->text, config->labels, ret_text, DNSBLV6_NAME_TEXT_SIZE);
}

static void trace_question(const struct zone *zone, const struct dnsblv6_labels *name,
			   uint16_t type)
{
	char text[DNSBLV6_NAME_TEXT_SIZE];

	if (zone->all->log == NULL)
		return;
	format_name(zone, name, text);
	tell(zone->all, "asks %s %s", type_name(type), text);
}

/* The records of an answer, as a reader knows them. */
static void format_values(const struct message_reply *reply, char *ret_text)
{
	char aaaa[INET6_ADDRSTRLEN];
	size_t size = 0;

	if (reply->aaaa_count > 0) {
		inet_ntop(AF_INET6, reply->aaaa, aaaa, sizeof(aaaa));
		snprintf(ret_text, VALUE_MAX, "AAAA %s", aaaa);
		return;
	}
	snprintf(ret_text, VALUE_MAX, "%s", reply->a_count > 0 ? "A" : "TXT");
	for (unsigned i = 0; i < reply->a_count; i++) {
		char address[INET_ADDRSTRLEN];

		size = strlen(ret_text);
		inet_ntop(AF_INET, reply->a[i], address, sizeof(address));
		snprintf(ret_text + size, VALUE_MAX - size, " %s", address);
	}
}

static void format_reply(const struct message_reply *reply, char *ret_text)
{
	switch (reply->kind) {
	case MESSAGE_ANSWER:
		format_values(reply, ret_text);
		break;
	case MESSAGE_NODATA:
		snprintf(ret_text, VALUE_MAX, "no such record");
		break;
	case MESSAGE_NXDOMAIN:
		snprintf(ret_text, VALUE_MAX, "no such name");
		break;
	default:
		snprintf(ret_text, VALUE_MAX, "no answer, RCODE %u", reply->rcode);
	}
}

void zone_trace_reply(const struct zone *zone, const struct dnsblv6_labels *name, int status,
		      const struct message_reply *reply, bool is_trusted)
{
	char text[DNSBLV6_NAME_TEXT_SIZE], value[VALUE_MAX], server[SERVER_SIZE] = "";

	if (zone->all->log == NULL)
		return;
	format_name(zone, name, text);
	if (reply == NULL) {
		tell(zone->all, "%s: no reply (%s)", text, dnsblv6_strerror(status));
		return;
	}
	const struct config_server *replier = stub_replier(zone->all->stub);
	if (replier != NULL)
		format_server(replier, server);
	format_reply(reply, value);
	tell(zone->all, "%s: %s, TTL %u s%s%s%s", text, value, reply->ttl_s,
	     reply->is_secure && is_trusted ? ", secure" : "", replier != NULL ? ", from " : "",
	     server);
}

/* ---- asking ---- */

int zone_ask(struct zone *zone, const struct zone_what *what, stub_fn callback, void *context,
	     struct dnsblv6_labels *ret_name, uint64_t *ret_id)
{
	struct zones *all = zone->all;
	struct stub_what question = { .zone = zone->index,
				      .name = ret_name,
				      .type = what->type,
				      .deadline_ms = all->now_ms + what->wait_ms,
				      .life_ms = what->life_ms };

	int ret = dnsblv6_name_join(what->relative->wire, what->relative->size, what->apex->wire,
				    what->apex->size, ret_name);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = stub_ask(all->stub, &question, all->now_ms, callback, context, ret_id);
	if (ret != DNSBLV6_OK)
		return ret;
	zone->asked++;
	trace_question(zone, ret_name, what->type);
	return DNSBLV6_OK;
}
