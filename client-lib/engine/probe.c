/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUESTIONS_MAX 16
#define TURNS_MAX     6 /* of a look, as long as questions wait to be sent */
#define SILENCES_MAX  3 /* the same, of those that were sent */

/* What one question of a probe finds out. */
enum subject {
	SUBJECT_METADATA,
	SUBJECT_BLOCK, /* two points: the one at .point, and the one behind it */
	SUBJECT_CANARY,
	SUBJECT_VALUE, /* classic */
	SUBJECT_NOWHERE,
	SUBJECT_DENIED, /* of a look */
};

struct question {
	struct probe *probe;
	enum subject subject;
	enum health_point point;
	bool is_block; /* NOWHERE, DENIED: asked for an AAAA */
	struct dnsblv6_labels name;
};

struct probe {
	struct zone *zone;
	unsigned pending;
	bool wants_ipv6;
	bool is_look;	/* only at what must be denied (proof.h) */
	unsigned turns; /* of a look */
	bool is_turned; /* into another style than the zone had */
	bool is_brief;	/* only what is listed and what is not: the rest was found lately */
	bool is_void;	/* a question was not sent: what was not found is not known */
	bool has_secure, has_insecure; /* replies of the zone itself */
	bool has_signature;	       /* one of them */
	struct health_probe found;
	struct question questions[QUESTIONS_MAX];
	unsigned question_count;
	struct waiters waiters;
};

static void on_reply(void *context, int status, const struct message_reply *reply, bool is_trusted);

/* ---- asking ---- */

static void set_point(struct probe *probe, const struct question *question,
		      enum health_finding finding)
{
	if (question->subject == SUBJECT_METADATA) {
		probe->found.points[HEALTH_LISTED] = finding;
		return;
	}
	probe->found.points[question->point] = finding;
	if (question->subject == SUBJECT_BLOCK)
		probe->found.points[question->point + 1] = finding;
}

static void ask(struct probe *probe, struct question what, const struct dnsblv6_labels *relative,
		const struct dnsblv6_labels *apex, uint16_t type)
{
	struct question *question = probe->questions + probe->question_count++;

	struct zone_what asked = { relative, apex, type, PROBE_LIFE_MS, PROBE_LIFE_MS };

	*question = what;
	question->probe = probe;
	if (zone_ask(probe->zone, &asked, on_reply, question, &question->name,
		     &probe->waiters.question) == DNSBLV6_OK)
		probe->pending++;
	else
		probe->is_void = true;
}

static void make_label(const char *label, struct dnsblv6_labels *ret_label)
{
	ret_label->size = (uint8_t)(strlen(label) + 1);
	ret_label->wire[0] = (uint8_t)strlen(label);
	memcpy(ret_label->wire + 1, label, strlen(label));
}

static void ask_label(struct probe *probe, struct question what, const char *text, uint16_t type)
{
	struct dnsblv6_labels label;

	make_label(text, &label);
	ask(probe, what, &label, &probe->zone->config->name, type);
}

static bool make_block_name(const struct probe *probe, struct dnsblv6_addr addr,
			    struct dnsblv6_labels *ret_labels)
{
	return dnsblv6_name_make(health_style(probe->found.mode), dnsblv6_block_of(addr),
				 ret_labels) == DNSBLV6_OK;
}

static void ask_block(struct probe *probe, enum subject subject, enum health_point point,
		      struct dnsblv6_addr addr)
{
	struct question what = { .subject = subject, .point = point, .is_block = true };
	struct dnsblv6_labels labels;

	if (make_block_name(probe, addr, &labels))
		ask(probe, what, &labels, &probe->zone->config->name, MESSAGE_AAAA);
}

static void ask_value(struct probe *probe, enum health_point point,
		      const struct dnsblv6_labels *apex, struct dnsblv6_addr addr)
{
	struct question what = { .subject = SUBJECT_VALUE, .point = point };
	struct dnsblv6_labels labels;

	dnsblv6_name_make_classic(addr, &labels);
	ask(probe, what, &labels, apex, MESSAGE_A);
}

/* RFC 5782 part 2.4 has a name that no list of names may have. Hashes have none. */
static void ask_clear_name(struct probe *probe)
{
	struct question what = { .subject = SUBJECT_VALUE, .point = HEALTH_CLEAR };

	if (probe->zone->config->kind != CONFIG_HASHES)
		ask_label(probe, what, "invalid", MESSAGE_A);
}

/* Labels that begin with "_" are no addresses in any zone, and no names of a list either. */
static void make_nowhere(struct zones *all, struct dnsblv6_labels *ret_label)
{
	char label[32];

	snprintf(label, sizeof(label), "_dnsblv6-%08x", (unsigned)zones_random(all));
	make_label(label, ret_label);
}

static void ask_nowhere(struct probe *probe)
{
	bool is_block = probe->found.mode != HEALTH_CLASSIC;
	struct question what = { .subject = SUBJECT_NOWHERE,
				 .point = HEALTH_NOWHERE,
				 .is_block = is_block };
	struct dnsblv6_labels label;

	make_nowhere(probe->zone->all, &label);
	ask(probe, what, &label, &probe->zone->config->name, is_block ? MESSAGE_AAAA : MESSAGE_A);
}

static void ask_bitmap_points(struct probe *probe)
{
	const struct zone *zone = probe->zone;

	ask_block(probe, SUBJECT_BLOCK, HEALTH_LISTED, dnsblv6_testpoint_get(0)->addr);
	if (probe->is_brief)
		return;
	ask_block(probe, SUBJECT_BLOCK, HEALTH_LISTED6, dnsblv6_testpoint_get(2)->addr);
	for (unsigned i = 0; i < DNSBLV6_CANARY_COUNT; i++)
		ask_block(probe, SUBJECT_CANARY, (enum health_point)(HEALTH_CANARY + i),
			  dnsblv6_canary_get(i)->block);
	if (!zone->has_metadata || zone->classic.size == 0)
		return;
	ask_value(probe, HEALTH_CLASSIC_LISTED, &zone->classic, dnsblv6_testpoint_get(0)->addr);
	ask_value(probe, HEALTH_CLASSIC_CLEAR, &zone->classic, dnsblv6_testpoint_get(1)->addr);
}

static void ask_classic_points(struct probe *probe)
{
	const struct config_zone *zone = probe->zone->config;
	const struct dnsblv6_labels *apex = &zone->name;
	struct question what = { .subject = SUBJECT_VALUE, .point = HEALTH_LISTED };

	if (zone->point.size > 0)
		ask(probe, what, &zone->point, apex, MESSAGE_A);
	if (probe->found.has_names) {
		ask_clear_name(probe);
		return;
	}
	ask_value(probe, HEALTH_CLEAR, apex, dnsblv6_testpoint_get(1)->addr);
	if (probe->wants_ipv6 && !probe->is_brief)
		ask_value(probe, HEALTH_CLEAR6, apex, dnsblv6_testpoint_get(3)->addr);
}

static void ask_points(struct probe *probe)
{
	if (probe->found.mode == HEALTH_CLASSIC)
		ask_classic_points(probe);
	else
		ask_bitmap_points(probe);
	/* The bits of an address that stands for every name may be those of the test points. */
	if (!probe->is_brief || probe->found.mode != HEALTH_CLASSIC ||
	    probe->zone->config->point.size == 0)
		ask_nowhere(probe);
}

/* ---- reading ---- */

static enum health_finding finding_of(enum answer_failure failure)
{
	switch (failure) {
	case ANSWER_BLOCKED:
		return HEALTH_REFUSED;
	case ANSWER_LYING:
		return HEALTH_FOREIGN;
	case ANSWER_FILTERED:
		return HEALTH_EMPTY;
	case ANSWER_FOREIGN:
		return HEALTH_NO;
	case ANSWER_SERVFAIL:
		return HEALTH_FAILED;
	default:
		return HEALTH_SILENT;
	}
}

static struct answer_question describe(const struct question *question)
{
	return (struct answer_question){
		.config = question->probe->zone->all->config,
		.name = &question->name,
		.kind = question->probe->zone->config->kind,
		.is_block = question->subject != SUBJECT_VALUE && question->is_block,
	};
}

static enum answer_failure read_reply(const struct question *question, int status,
				      const struct message_reply *reply, struct cache_entry *entry)
{
	struct answer_question what = describe(question);

	return answer_read(&what, status, reply, false, entry);
}

static void read_block(struct probe *probe, const struct question *question,
		       const struct cache_entry *entry)
{
	enum health_finding *points = probe->found.points + question->point;

	for (unsigned i = 0; i < 2; i++) {
		/* LISTED and CLEAR are the hosts 2 and 1 of their block. */
		bool is_listed = dnsblv6_bitmap_get(&entry->payload, 2 - i);
		points[i] = is_listed ? HEALTH_YES : HEALTH_NO;
	}
}

static void read_canary(struct probe *probe, const struct question *question,
			const struct message_reply *reply, const struct cache_entry *entry)
{
	const struct dnsblv6_canary *canary = dnsblv6_canary_get(question->point - HEALTH_CANARY);
	bool is_right = memcmp(&canary->map, &entry->payload, sizeof(canary->map)) == 0;
	enum health_finding finding = is_right ? HEALTH_YES : HEALTH_FOREIGN;

	probe->found.points[question->point] =
		reply->kind == MESSAGE_NXDOMAIN ? HEALTH_NO : finding;
}

/* The SOA that the zone's negative answers have: those of another one are then not believed. */
static void learn_soa(struct zone *zone, const struct question *question,
		      const struct message_reply *reply)
{
	if (reply->has_soa && answer_is_below(&question->name, &reply->soa_owner))
		zone->soa_labels = (uint8_t)dnsblv6_name_label_count(&reply->soa_owner);
}

/* The serial of the version whose style was found out. A brief probe leaves it to style.c. */
static void learn_serial(const struct probe *probe, const struct message_reply *reply)
{
	struct zone *zone = probe->zone;

	if (!reply->has_soa || (zone->has_serial && !probe->is_turned))
		return;
	zone->serial = reply->soa_serial;
	zone->has_serial = true;
}

static bool is_denial(const struct message_reply *reply)
{
	return reply != NULL && (reply->kind == MESSAGE_NXDOMAIN || reply->kind == MESSAGE_NODATA);
}

static enum health_finding read_denial(const struct answer_question *question, int status,
				       const struct message_reply *reply)
{
	struct cache_entry entry;
	enum answer_failure failure = answer_read(question, status, reply, false, &entry);

	if (is_denial(reply) && failure != ANSWER_BLOCKED)
		return HEALTH_NO; /* also by another zone: it is no listing */
	return failure == ANSWER_GOOD ? HEALTH_YES : finding_of(failure);
}

/* Of two answers to one kind of question the one that is not a denial counts. */
static void keep_denial(struct probe *look, const struct question *question, int status,
			const struct message_reply *reply)
{
	struct answer_question what = describe(question);
	enum health_finding *point = &look->found.points[question->point];
	enum health_finding finding = read_denial(&what, status, reply);

	if (*point == HEALTH_NOT_ASKED || finding != HEALTH_NO)
		*point = finding;
}

static void read_nowhere(struct probe *probe, const struct question *question, int status,
			 const struct message_reply *reply)
{
	struct answer_question what = describe(question);

	if (is_denial(reply)) {
		learn_serial(probe, reply);
		learn_soa(probe->zone, question, reply);
		probe->zone->has_nxdomain = reply->kind == MESSAGE_NXDOMAIN;
	}
	probe->found.points[HEALTH_NOWHERE] = read_denial(&what, status, reply);
}

static void read_point(struct probe *probe, const struct question *question, int status,
		       const struct message_reply *reply)
{
	struct cache_entry entry;
	enum answer_failure failure = read_reply(question, status, reply, &entry);

	if (failure != ANSWER_GOOD) {
		set_point(probe, question, finding_of(failure));
		return;
	}
	if (question->subject == SUBJECT_BLOCK) {
		read_block(probe, question, &entry);
	} else if (question->subject == SUBJECT_CANARY) {
		read_canary(probe, question, reply, &entry);
	} else {
		bool is_listed = !dnsblv6_bitmap_is_empty(&entry.payload);
		set_point(probe, question, is_listed ? HEALTH_YES : HEALTH_NO);
	}
}

/* ---- metadata ---- */

static void keep_metadata(struct zone *zone, const struct dnsblv6_metadata *metadata)
{
	zone->has_metadata = true;
	zone->classic.size = 0;
	if (metadata->classic[0] != '\0' &&
	    dnsblv6_name_from_text(metadata->classic, &zone->classic) != DNSBLV6_OK)
		zone->classic.size = 0;
	memcpy(zone->reason, metadata->reason, sizeof(zone->reason));
}

static void use_metadata(struct probe *probe, const struct dnsblv6_metadata *metadata)
{
	keep_metadata(probe->zone, metadata);
	probe->found.mode = health_mode_of(metadata->style);
	probe->found.has_ipv4 = metadata->has_ipv4;
	probe->found.has_ipv6 = metadata->has_ipv6;
}

/* No metadata of ours: a classic zone, unless "mode" says bitmap. */
static void do_without_metadata(struct probe *probe)
{
	bool is_bitmap = probe->zone->config->mode == CONFIG_BITMAP;

	probe->zone->has_metadata = false;
	probe->zone->reason[0] = '\0';
	probe->found.mode = is_bitmap ? HEALTH_DOTTED : HEALTH_CLASSIC;
	probe->found.has_names = probe->zone->config->kind != CONFIG_ADDRESSES;
	probe->found.has_ipv4 = true;
	/* Names are kept by what looks like an IPv6 address. */
	probe->found.has_ipv6 = is_bitmap || probe->found.has_names;
}

/* False: it is not known how the zone is asked, and the probe is at its end. */
static bool read_metadata(struct probe *probe, int status, const struct message_reply *reply)
{
	struct dnsblv6_metadata metadata;

	if (reply != NULL && reply->kind == MESSAGE_ANSWER && reply->text_total > 0 &&
	    reply->text_total <= sizeof(reply->text_rdata) &&
	    dnsblv6_metadata_decode(reply->text_rdata, reply->text_total, &metadata) ==
		    DNSBLV6_OK) {
		use_metadata(probe, &metadata);
		return true;
	}
	if (reply != NULL && (reply->kind == MESSAGE_ANSWER || reply->kind == MESSAGE_NODATA ||
			      reply->kind == MESSAGE_NXDOMAIN)) {
		do_without_metadata(probe);
		return true;
	}
	struct cache_entry entry;
	struct question what = { .probe = probe };
	set_point(probe, probe->questions, finding_of(read_reply(&what, status, reply, &entry)));
	return false;
}

/* ---- beginning and end ---- */

/* One that could not ask all has found what is bad at most. */
static bool is_finding(const struct probe *probe)
{
	const char *reason;

	return !probe->is_void || health_is_distrusted(health_judge(&probe->found, &reason));
}

/* What the points of a classic zone tell beyond themselves. */
static void read_classic(struct probe *probe)
{
	enum health_finding *points = probe->found.points;

	if (!probe->found.has_names && probe->wants_ipv6)
		probe->found.has_ipv6 =
			points[HEALTH_CLEAR6] == HEALTH_NO || points[HEALTH_CLEAR6] == HEALTH_EMPTY;
	/* Without a point that is listed, a zone that denies what it must is all that is known. */
	if (probe->zone->config->point.size == 0)
		points[HEALTH_LISTED] =
			points[HEALTH_NOWHERE] == HEALTH_NO ? HEALTH_YES : points[HEALTH_NOWHERE];
}

/* Fresh names among them, and so not merely what a resolver has from before. */
static bool has_denied(const struct probe *probe)
{
	return !probe->is_void && !health_is_sick(health_unpack(zone_word(probe->zone)).state) &&
	       (!probe->is_brief || probe->found.mode != HEALTH_CLASSIC);
}

static void finish(struct probe *probe)
{
	struct zone *zone = probe->zone;
	struct zones *all = zone->all;

	if (probe->found.mode == HEALTH_CLASSIC)
		read_classic(probe);
	if (!probe->is_brief && !probe->is_void) {
		zone->found = probe->found;
		zone->found_s = cache_now_s(all->cache);
		zone->has_found = true;
	}
	zone->probe = NULL;
	zone->probe_questions = probe->question_count;
	probe->found.wants_secure = zone_wants_secure(zone);
	probe->found.is_secure = probe->has_secure && !probe->has_insecure;
	probe->found.is_signed = probe->has_signature;
	if (is_finding(probe))
		zone_note_probe(zone, &probe->found);
	if (!probe->is_void)
		zone_learn_secure(zone, &probe->found, !probe->is_brief);
	if (has_denied(probe))
		zone_note_denials(zone, probe->waiters.began_ms);
	waiters_wake(&probe->waiters, NULL);
	free(probe);
}

/* ---- looks ---- */

static void ask_denied(struct probe *look, enum health_point point,
		       const struct dnsblv6_labels *relative, const struct dnsblv6_labels *apex,
		       bool is_block)
{
	struct question what = { .subject = SUBJECT_DENIED, .point = point, .is_block = is_block };

	ask(look, what, relative, apex, is_block ? MESSAGE_AAAA : MESSAGE_A);
}

static void ask_two(struct probe *look, const struct dnsblv6_labels *apex, struct dnsblv6_addr addr,
		    bool is_block)
{
	struct zone *zone = look->zone;
	struct dnsblv6_labels labels;

	make_nowhere(zone->all, &labels);
	ask_denied(look, HEALTH_NOWHERE, &labels, apex, is_block);
	if (zone->config->kind != CONFIG_ADDRESSES)
		make_nowhere(zone->all, &labels); /* it lists no addresses */
	else if (!is_block)
		dnsblv6_name_make_classic(addr, &labels);
	else if (!make_block_name(look, addr, &labels))
		return;
	ask_denied(look, HEALTH_CLEAR, &labels, apex, is_block);
}

/* Blocks that are filtered on the way are asked of the classic zone beside: it is looked at too. */
static void ask_look(struct probe *look)
{
	struct zone *zone = look->zone;
	struct health_word parts = health_unpack(zone_word(zone));
	bool is_bitmap = parts.mode != HEALTH_CLASSIC;
	uint32_t random = (uint32_t)zones_random(zone->all) & PROBE_LOOK_MASK;
	struct dnsblv6_addr addr = dnsblv6_addr_from_ipv4(PROBE_LOOK_BASE | random);

	look->found.mode = parts.mode;
	ask_two(look, &zone->config->name, addr, is_bitmap);
	if (is_bitmap && parts.state == DNSBLV6_ZONE_FILTERED && zone->has_metadata &&
	    zone->classic.size > 0)
		ask_two(look, &zone->classic, addr, false);
}

/* What was not sent is no finding. */
static bool is_good(const struct probe *look)
{
	const enum health_finding *points = look->found.points;

	if (look->is_void)
		return zone_claim_trust(look->zone);
	return points[HEALTH_NOWHERE] == HEALTH_NO && points[HEALTH_CLEAR] == HEALTH_NO;
}

/* Is something not known that one more question may tell, and nothing that is enough? */
static bool is_open(const struct probe *look)
{
	const enum health_finding *points = look->found.points;
	const char *reason;

	return (look->is_void || points[HEALTH_NOWHERE] == HEALTH_SILENT ||
		points[HEALTH_CLEAR] == HEALTH_SILENT) &&
	       !health_is_distrusted(health_judge(&look->found, &reason));
}

static bool ask_again(struct probe *look)
{
	const unsigned most = look->is_void ? TURNS_MAX : SILENCES_MAX;

	if (!is_open(look) || ++look->turns >= most)
		return false;
	look->found = (struct health_probe){ 0 };
	look->is_void = false;
	look->question_count = 0;
	ask_look(look);
	return look->pending > 0;
}

static void finish_look(struct probe *look)
{
	struct zone *zone = look->zone;

	if (ask_again(look))
		return;
	zone->look = NULL;
	zone->is_proven = zone_note_look(zone, &look->found) && is_good(look);
	if (!zone->is_proven)
		zone_note_vain(zone);
	else if (!look->is_void)
		zone_note_denials(zone, look->waiters.began_ms);
	waiters_wake(&look->waiters, NULL);
	free(look);
}

/* ---- replies ---- */

/* Was it validated? The classic zone beside it need not be signed, and an error has no signature.
 */
static void note_security(const struct question *question, const struct message_reply *reply,
			  bool is_trusted)
{
	struct probe *probe = question->probe;

	if (question->subject == SUBJECT_VALUE &&
	    (question->point == HEALTH_CLASSIC_LISTED || question->point == HEALTH_CLASSIC_CLEAR))
		return;
	if (reply == NULL || (reply->kind != MESSAGE_ANSWER && !is_denial(reply)))
		return;
	probe->has_signature = probe->has_signature || reply->has_signature;
	if (is_trusted && reply->is_secure)
		probe->has_secure = true;
	else
		probe->has_insecure = true;
}

static void on_reply(void *context, int status, const struct message_reply *reply, bool is_trusted)
{
	struct question *question = context;
	struct probe *probe = question->probe;

	/* A probe tells whether a zone works, and proves nothing. */
	note_security(question, reply, is_trusted);
	zone_trace_reply(probe->zone, &question->name, status, reply, is_trusted);
	probe->pending--;
	if (stub_is_unsent(status)) {
		probe->is_void = true;
	} else if (question->subject == SUBJECT_METADATA) {
		if (read_metadata(probe, status, reply))
			ask_points(probe);
	} else if (question->subject == SUBJECT_DENIED) {
		keep_denial(probe, question, status, reply);
	} else if (question->subject == SUBJECT_NOWHERE) {
		read_nowhere(probe, question, status, reply);
	} else {
		read_point(probe, question, status, reply);
	}
	if (probe->pending > 0)
		return;
	if (probe->is_look)
		finish_look(probe);
	else
		finish(probe);
}

static bool may_be_brief(const struct probe *probe)
{
	const struct zone *zone = probe->zone;
	struct health_word parts = health_unpack(zone_word(zone));
	uint32_t now_s = cache_now_s(zone->all->cache);
	const char *reason;

	/* Whether a classic zone knows IPv6 has to be found out first. */
	if (zone->found.mode == HEALTH_CLASSIC && probe->wants_ipv6 && !zone->found.has_ipv6)
		return false;
	uint64_t evidence = cache_zone_get(zone->all->cache, zone->index, CACHE_ZONE_EVIDENCE);
	/* That the zone is well, and which names it has, another process may have found since then. */
	return zone->has_found && health_judge(&zone->found, &reason) == DNSBLV6_ZONE_OK &&
	       zone->found.mode == parts.mode && parts.state == DNSBLV6_ZONE_OK &&
	       !zone->health.is_suspect && health_unpack_evidence(evidence).failures == 0 &&
	       now_s - zone->found_s < HEALTH_WHOLE_S;
}

static void ask_first(struct probe *probe)
{
	if (may_be_brief(probe)) {
		probe->is_brief = true;
		probe->found = probe->zone->found;
		ask_points(probe);
		return;
	}
	if (probe->zone->config->mode == CONFIG_CLASSIC) {
		do_without_metadata(probe);
		ask_points(probe);
		return;
	}
	struct question what = { .subject = SUBJECT_METADATA };
	ask_label(probe, what, DNSBLV6_METADATA_LABEL, MESSAGE_TXT);
}

static struct probe *make(struct zone *zone)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	if (probe == NULL)
		return NULL;
	waiters_prepare(&probe->waiters, zone, zone->all->now_ms);
	probe->zone = zone;
	return probe;
}

static struct probe *make_whole(struct zone *zone, bool wants_ipv6)
{
	struct probe *probe = make(zone);
	if (probe == NULL)
		return NULL;
	if (wants_ipv6 && !zone->wants_ipv6)
		zone->has_found = false;
	zone->wants_ipv6 = zone->wants_ipv6 || wants_ipv6;
	probe->wants_ipv6 = zone->wants_ipv6;
	zone->probe = probe;
	zone->all->counts.probes++;
	return probe;
}

void probe_look(struct zone *zone)
{
	struct probe *look = make(zone);
	if (look == NULL)
		return;
	look->is_look = true;
	ask_look(look);
	if (look->pending == 0) {
		free(look);
		return;
	}
	zone->look = look;
	zone->all->counts.looks++;
}

bool probe_join_look(struct zone *zone, struct waiter *waiter)
{
	if (zone->look != NULL)
		waiters_join(&zone->look->waiters, waiter);
	return zone->look != NULL;
}

static void drop_probe(struct zone *zone)
{
	free(zone->probe);
	zone->probe = NULL;
}

void probe_turn(struct zone *zone, enum health_mode mode)
{
	struct health_word parts = health_unpack(zone_word(zone));
	struct probe *probe = make_whole(zone, false);
	if (probe == NULL)
		return;
	probe->is_turned = true;
	probe->found.mode = mode;
	probe->found.has_ipv4 = parts.has_ipv4;
	probe->found.has_ipv6 = parts.has_ipv6;
	ask_points(probe);
	if (probe->pending == 0)
		drop_probe(zone);
}

int probe_start(struct zone *zone, bool wants_ipv6, struct waiter *waiter)
{
	struct probe *probe = zone->probe;

	if (probe == NULL) {
		probe = make_whole(zone, wants_ipv6);
		if (probe == NULL)
			return -ENOMEM;
		ask_first(probe);
	}
	if (probe->pending == 0) {
		finish(probe); /* not one question could be sent */
		return -ENOBUFS;
	}
	if (waiter != NULL)
		waiters_join(&probe->waiters, waiter);
	return DNSBLV6_OK;
}

void probe_drop(struct zone *zone)
{
	drop_probe(zone);
	free(zone->look);
	zone->look = NULL;
}

uint32_t probe_question_count(const struct zone *zone)
{
	return zone->probe != NULL ? zone->probe->question_count : zone->probe_questions;
}
