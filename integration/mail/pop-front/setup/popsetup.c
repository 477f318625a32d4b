/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/setup/popsetup.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/pop3/pop3_dialogue.h"

/* ---- one value ---- */

static const char *take_listen(void *data, const struct conf_value *value)
{
	struct popsetup_pop *pop = data;
	return mailsetup_add_place(pop->places, &pop->clear_count, value);
}

static const char *take_listen_tls(void *data, const struct conf_value *value)
{
	struct popsetup_pop *pop = data;
	return mailsetup_add_place(pop->tls_places, &pop->tls_count, value);
}

static const char *take_way(void *member, const struct conf_value *value)
{
	static const struct {
		const char *name;
		unsigned way;
	} ways[] = {
		{ "user", POP3_WAY_USER },
		{ "plain", POP3_WAY_PLAIN },
		{ "scram-sha-256", POP3_WAY_SCRAM },
	};
	unsigned *set = member;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, value->text) == 0) {
			*set |= ways[i].way;
			return NULL;
		}
	}
	return "permitted are user, plain and scram-sha-256";
}

/* ---- the table ---- */

#define NUMBER(...) CONF_RANGE(CONF_NUMBER, struct popsetup, __VA_ARGS__)
#define TIME(...)   CONF_RANGE(CONF_MS, struct popsetup, __VA_ARGS__)
#define CHOICE(...) CONF_ONE_OF(struct popsetup, __VA_ARGS__)

static const char *const capacities[] = { "wait", "refuse", NULL };

static const struct conf_item pop_items[] = {
	{ "hostname", CONF_TEXT, CONF_AT(struct popsetup, pop.hostname),
	  .take = mailsetup_take_hostname },
	{ "listen", CONF_ADDRESS, CONF_AT(struct popsetup, pop), .default_port = 110,
	  .is_list = true, .take = take_listen },
	{ "listen-tls", CONF_ADDRESS, CONF_AT(struct popsetup, pop), .default_port = 995,
	  .is_list = true, .take = take_listen_tls },
	OWNER_USER("user", struct popsetup, pop.edge_owner),
	OWNER_USER("worker-user", struct popsetup, pop.worker_owner),
	OWNER_USER("check-user", struct popsetup, pop.check_owner),
	OWNER_USER("key-user", struct popsetup, pop.key_owner),
	{ "chroot", CONF_PATH, CONF_AT(struct popsetup, pop.chroot) },
	NUMBER("edges", edge.edges, 0, LISTENERS_EDGES_MAX, "0"),
	NUMBER("workers", pop.workers, 1, POPSETUP_WORKERS_MAX, "50"),
	NUMBER("sessions-per-worker", pop.sessions_per_worker, 1, 1000000, "1000"),
	NUMBER("sessions", edge.sessions_max, 1, 1000000, "10000"),
	CHOICE("at-capacity", edge.refuses_at_capacity, capacities, "wait"),
	TIME("queue-timeout", edge.queue_timeout_ms, 0, HOUR_MS, "30s"),
	TIME("gather", edge.batching_ms, 0, 50, "4ms"),
	TIME("drain", edge.drain_ms, 0, HOUR_MS, "30s"),
	{ "metrics", CONF_PATH, CONF_AT(struct popsetup, pop.metrics) },
	CHOICE("log-level", pop.log_level, conf_log_levels, "info"),
	NETWORKS_ROW("proxy", struct popsetup, edge.proxy),
};

static const struct conf_item store_items[] = {
	{ "socket", CONF_PLACE, CONF_AT(struct popsetup, store), .max = PROGRAM_PATH_MAX,
	  .preset = "/run/mail-stored/socket" },
	TIME("timeout", store_timeout_ms, 100, HOUR_MS, "1m"),
};

static const struct conf_item login_items[] = {
	{ "users", CONF_PATH, CONF_AT(struct popsetup, login.users) },
	{ "mechanisms", CONF_TEXT, CONF_AT(struct popsetup, login.ways), .max = 32, .is_list = true,
	  .take = take_way, .preset = "user plain scram-sha-256" },
	NUMBER("checkers", login.checkers, 1, POPSETUP_CHECKERS_MAX, "2"),
	TIME("cache", login.cache_ms, 0, DAY_MS, "1h"),
	NUMBER("failures", login.failures_max, 1, 1000, "3"),
	NUMBER("failure-rate", login.failure_rate, 0, 1000000, "60"),
	TIME("delay", edge.tarpit_ms, 0, MINUTE_MS, "2s"),
	TIME("timeout", login.timeout_ms, 100, HOUR_MS, "30s"),
	CHOICE("require-tls", login.requires_tls, conf_no_yes, "yes"),
	CHOICE("refuse-listed", login.refuses_listed, conf_no_yes, "yes"),
};

static const struct conf_item limits_items[] = {
	TIME("login-timeout", edge.command_timeout_ms, 100, HOUR_MS, "1m"),
	TIME("stress-timeout", edge.stress_timeout_ms, 100, HOUR_MS, "10s"),
	NUMBER("stress-share", edge.stress_share, 1, 100, "80"),
	TIME("session-timeout", edge.session_timeout_ms, 100, DAY_MS, "3m"),
	TIME("idle-timeout", limits.idle_timeout_ms, 100, DAY_MS, "10m"),
	TIME("send-timeout", limits.send_timeout_ms, 100, HOUR_MS, "3m"),
	TIME("worker-timeout", limits.worker_timeout_ms, 100, DAY_MS, "4h"),
	NUMBER("errors", limits.errors_max, 1, 10000, "20"),
	NUMBER("commands", limits.commands_max, 0, INT_MAX, "0"),
	NUMBER("messages", limits.messages_max, 1, 10000000, "1000000"),
	MAILSETUP_NETWORK_ROWS(struct popsetup, edge.network),
	/* The default follows from others: MAILSETUP_FIFTH. */
	NUMBER("workers", edge.network.held_max, 0, POPSETUP_WORKERS_MAX, NULL),
	NETWORKS_ROW("unlimited", struct popsetup, edge.unlimited),
};

static const struct conf_item tls_items[] = {
	{ "certificates", CONF_TEXT, CONF_AT(struct popsetup, tls), .max = 2 * KEYS_PATH_MAX,
	  .is_list = true, .take = mailsetup_take_certificate },
};

static const struct conf_section sections[] = {
	{ "pop", CONF_ITEMS(pop_items) },
	{ "store", CONF_ITEMS(store_items) },
	{ "login", CONF_ITEMS(login_items) },
	{ "limits", CONF_ITEMS(limits_items) },
	{ "tls", CONF_ITEMS(tls_items) },
	{ "decision", CONF_ITEMS(judge_items), .offset = offsetof(struct popsetup, judge) },
	{ "library", CONF_ITEMS(handle_items), .offset = offsetof(struct popsetup, handle) },
};

const struct conf_table popsetup_table = { CONF_SECTIONS(sections) };

/* ---- what values must be together ---- */

/* Would a client there begin in the clear or not? */
static bool has_place_twice(const struct popsetup_pop *pop)
{
	for (unsigned i = 0; i < pop->clear_count; i++) {
		const struct place *place = &pop->places[i];
		for (unsigned j = 0; j < pop->tls_count; j++) {
			if (memcmp(&pop->tls_places[j].address, &place->address,
				   place->address_size) == 0)
				return true;
		}
	}
	return false;
}

static const char *check(const struct popsetup *setup)
{
	const bool has_tls = setup->tls.certificate_count > 0;
	if (setup->login.users[0] == '\0')
		return "login: \"users\" is not given: who has which password";
	if (setup->store.address.ss_family != AF_UNIX)
		return "store: \"socket\" is the path of mail-stored's socket, of 107 bytes at "
		       "most";
	if (setup->pop.clear_count + setup->pop.tls_count == 0)
		return "pop: neither \"listen\" nor \"listen-tls\" is given";
	if (setup->pop.clear_count + setup->pop.tls_count > LISTENERS_PLACES_MAX)
		return "pop: there are 16 places at most";
	if (has_place_twice(&setup->pop))
		return "pop: a place is in \"listen\" and in \"listen-tls\"";
	if (setup->pop.tls_count > 0 && !has_tls)
		return "pop: \"listen-tls\" needs \"certificates\" in section tls";
	if (setup->pop.clear_count > 0 && setup->login.requires_tls && !has_tls)
		return "login: \"require-tls\" needs \"certificates\" in section tls";
	if (setup->edge.stress_timeout_ms > setup->edge.command_timeout_ms)
		return "limits: \"stress-timeout\" is longer than \"login-timeout\"";
	return NULL;
}

static void complete_owners(struct popsetup_pop *pop)
{
	struct owner *const owners[] = { &pop->worker_owner, &pop->check_owner, &pop->key_owner };
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
		if (owners[i]->user[0] == '\0')
			*owners[i] = pop->edge_owner;
}

/* Fills in the defaults that depend on other values. */
static void complete(struct popsetup *setup)
{
	struct popsetup_pop *pop = &setup->pop;
	memcpy(pop->places + pop->clear_count, pop->tls_places,
	       pop->tls_count * sizeof(pop->places[0]));
	pop->place_count = pop->clear_count + pop->tls_count;
	if (setup->edge.edges == 0)
		setup->edge.edges = mailsetup_count_cores();
	mailsetup_complete_network(&setup->edge.network, pop->workers);
	complete_owners(pop);
	networks_sort(&setup->edge.proxy);
	networks_sort(&setup->edge.unlimited);
	setup->has_zones = setup->handle.lists[HANDLE_ZONES][0] != '\0';
}

int popsetup_parse(const char *text, size_t text_size, void *ret_setup,
		   struct conf_error *reterr_error)
{
	struct popsetup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	gethostname(setup->pop.hostname, MAILSETUP_HOSTNAME_MAX);
	setup->edge.network.held_max = MAILSETUP_FIFTH;
	int ret = program_parse_rows(text, text_size, &popsetup_table, setup, &setup->handle,
				     &setup->judge, reterr_error);
	if (ret != 0)
		return ret;
	const char *reason = check(setup);
	if (reason != NULL)
		return conf_refuse(reterr_error, -EINVAL, "%s", reason);
	complete(setup);
	ret = setup->has_zones ? handle_finish(&setup->handle, reterr_error) : 0;
	if (ret == 0)
		ret = mailsetup_read_chains(&setup->tls, reterr_error);
	return ret == 0 ? judge_finish(&setup->judge, reterr_error) : ret;
}

void popsetup_deinit(void *data)
{
	struct popsetup *setup = data;
	networks_deinit(&setup->edge.proxy);
	networks_deinit(&setup->edge.unlimited);
	mailsetup_free_chains(&setup->tls);
	judge_deinit(&setup->judge);
	handle_deinit(&setup->handle);
}
