/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/setup/setup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- one value ---- */

static const char *take_listen(void *data, const struct conf_value *value)
{
	struct setup_front *front = data;
	return mailsetup_add_place(front->places, &front->place_count, value);
}

/* ---- the table ---- */

#define BATCHING_MAX_MS 50

#define NUMBER(...) CONF_RANGE(CONF_NUMBER, struct setup, __VA_ARGS__)
#define TIME(...)   CONF_RANGE(CONF_MS, struct setup, __VA_ARGS__)
#define SIZE(...)   CONF_RANGE(CONF_SIZE, struct setup, __VA_ARGS__)
#define CHOICE(...) CONF_ONE_OF(struct setup, __VA_ARGS__)

static const char *const capacities[] = { "wait", "refuse", NULL };
static const char *const talkers[] = { "reject", "ignore", NULL };
static const char *const newlines[] = { "reject", "normalize", NULL };
static const char *const kinds[] = { "smtp", "lmtp", "maildir", "null", "store", "postfix", NULL };
static const char *const tells[] = { "none", "xclient", "proxy", "proxy2", NULL };
static const char *const maildirs[] = { "one", "recipient", NULL };

static const struct conf_item front_items[] = {
	{ "hostname", CONF_TEXT, CONF_AT(struct setup, front.hostname),
	  .take = mailsetup_take_hostname },
	{ "listen", CONF_ADDRESS, CONF_AT(struct setup, front), .default_port = 25, .is_list = true,
	  .take = take_listen, .preset = "0.0.0.0@25 ::@25" },
	OWNER_USER("user", struct setup, front.edge_owner),
	OWNER_USER("worker-user", struct setup, front.worker_owner),
	OWNER_USER("key-user", struct setup, front.key_owner),
	{ "chroot", CONF_PATH, CONF_AT(struct setup, front.chroot) },
	NUMBER("edges", edge.edges, 0, LISTENERS_EDGES_MAX, "0"),
	NUMBER("workers", front.workers, 1, SETUP_WORKERS_MAX, "100"),
	NUMBER("mails-per-worker", front.mails_per_worker, 1, 1000000, "100"),
	NUMBER("sessions", edge.sessions_max, 1, 1000000, "10000"),
	CHOICE("at-capacity", edge.refuses_at_capacity, capacities, "wait"),
	SIZE("queue-size", front.queue_bytes, 16 << 10, 64 << 20, "256K"),
	TIME("queue-timeout", edge.queue_timeout_ms, 0, HOUR_MS, "30s"),
	TIME("gather", edge.batching_ms, 0, BATCHING_MAX_MS, "4ms"),
	TIME("drain", edge.drain_ms, 0, HOUR_MS, "30s"),
	{ "metrics", CONF_PATH, CONF_AT(struct setup, front.metrics) },
	CHOICE("log-level", front.log_level, conf_log_levels, "info"),
	NETWORKS_ROW("proxy", struct setup, edge.proxy),
	NETWORKS_ROW("xclient", struct setup, edge.xclient),
};

static const struct conf_item limits_items[] = {
	TIME("greet-pause", edge.greet_pause_ms, 0, MINUTE_MS, "2s"),
	TIME("greet-cache", edge.greet_cache_ms, 0, INT64_C(30) * DAY_MS, "1d"),
	CHOICE("early-talker", edge.ignores_early, talkers, "reject"),
	CHOICE("bare-newline", limits.bare_newline, newlines, "reject"),
	NETWORKS_ROW("bare-newline-exclusions", struct setup, limits.normalized),
	SIZE("size", dialogue.size_max, 1 << 10, INT64_C(1) << 40, "50M"),
	NUMBER("recipients", dialogue.recipients_max, 1, 10000, "100"),
	NUMBER("commands", dialogue.commands_max, 1, 1000000, "1000"),
	NUMBER("junk-commands", dialogue.junk_max, 1, 1000000, "100"),
	NUMBER("errors", dialogue.errors_max, 1, 10000, "10"),
	NUMBER("mails", dialogue.mails_max, 1, 10000, "1000"),
	MAILSETUP_NETWORK_ROWS(struct setup, edge.network),
	/* The default follows from others: MAILSETUP_FIFTH. */
	NUMBER("workers", edge.network.held_max, 0, SETUP_WORKERS_MAX, NULL),
	NETWORKS_ROW("unlimited", struct setup, edge.unlimited),
	TIME("tarpit", edge.tarpit_ms, 0, MINUTE_MS, "0"),
	TIME("command-timeout", edge.command_timeout_ms, 100, HOUR_MS, "5m"), /* RFC 5321 4.5.3.2 */
	TIME("stress-timeout", edge.stress_timeout_ms, 100, HOUR_MS, "10s"),
	NUMBER("stress-share", edge.stress_share, 1, 100, "80"),
	TIME("data-timeout", limits.data_timeout_ms, 100, HOUR_MS, "3m"),
	/* Half of what a line of 9,600 baud has. */
	NUMBER("data-rate", limits.data_rate, 0, 1000000, "500"),
	TIME("session-timeout", edge.session_timeout_ms, 100, DAY_MS, "10m"),
	TIME("give-way", limits.give_way_ms, 100, HOUR_MS, "1s"),
	NUMBER("stress-data-rate", limits.stress_data_rate, 0, 1000000, "5000"),
	TIME("worker-timeout", limits.worker_timeout_ms, 100, DAY_MS, "1h"),
};

static const struct conf_item trust_items[] = {
	{ "users", CONF_PATH, CONF_AT(struct setup, trust.users) },
	{ "forward", CONF_PLACE, CONF_AT(struct setup, trust.forward), .max = PLACE_SOCKET_MAX },
	TIME("forward-timeout", trust.forward_timeout_ms, 100, HOUR_MS, "10s"),
	TIME("forward-cache", trust.forward_cache_ms, 0, 7 * DAY_MS, "1h"),
};

static const struct conf_item tls_items[] = {
	{ "certificates", CONF_TEXT, CONF_AT(struct setup, tls), .max = 2 * KEYS_PATH_MAX,
	  .is_list = true, .take = mailsetup_take_certificate },
	CHOICE("require", tls.is_required, conf_no_yes, "no"),
};

static const struct conf_item sink_items[] = {
	CHOICE("kind", sink.kind, kinds, "smtp"),
	{ "to", CONF_PLACE, CONF_AT(struct setup, sink.to), .max = SETUP_PATH_MAX },
	CHOICE("tell", sink.tell, tells, "none"),
	TIME("connect-timeout", sink.connect_timeout_ms, 100, HOUR_MS, "10s"),
	TIME("timeout", sink.timeout_ms, 100, HOUR_MS, "5m"),
	TIME("end-timeout", sink.end_timeout_ms, 100, HOUR_MS, "10m"), /* RFC 5321 4.5.3.2.6 */
	NUMBER("lmtp-recipients", sink.lmtp_recipients_max, 0, 10000, "0"),
	{ "delivered", CONF_PATH, CONF_AT(struct setup, sink.delivered) },
	CHOICE("maildir", sink.maildir, maildirs, "one"),
};

static const struct conf_section sections[] = {
	{ "front", CONF_ITEMS(front_items) },
	{ "limits", CONF_ITEMS(limits_items) },
	{ "trust", CONF_ITEMS(trust_items) },
	{ "tls", CONF_ITEMS(tls_items) },
	{ "sink", CONF_ITEMS(sink_items) },
	{ "decision", CONF_ITEMS(judge_items), .offset = offsetof(struct setup, judge) },
	{ "library", CONF_ITEMS(handle_items), .offset = offsetof(struct setup, handle) },
	{ "scan", CONF_ITEMS(scan_items), .offset = offsetof(struct setup, scan) },
};

const struct conf_table setup_table = { CONF_SECTIONS(sections) };

/* ---- what values must be together ---- */

static const char *check_sink(const struct setup_sink *sink)
{
	bool is_remote = sink->kind == SETUP_SINK_SMTP || sink->kind == SETUP_SINK_LMTP;
	if (sink->kind == SETUP_SINK_NULL)
		return NULL;
	if (sink->to.text[0] == '\0')
		return "sink: \"to\" is not given: where mails go";
	if (sink->kind == SETUP_SINK_MAILDIR && sink->to.text[0] != '/')
		return "sink: with kind maildir \"to\" is an absolute path";
	if (sink->kind == SETUP_SINK_STORE && sink->to.address.ss_family != AF_UNIX)
		return "sink: with kind store \"to\" is the path of mail-stored's socket";
#ifndef SMTP_FRONT_STORE
	if (sink->kind == SETUP_SINK_STORE)
		return "sink: this build has no mail store, as it lacks isa-l";
#endif
	if (sink->kind == SETUP_SINK_POSTFIX && sink->to.address.ss_family != AF_UNIX)
		return "sink: with kind postfix \"to\" is the path of smtpd's pass socket";
	if (is_remote && sink->to.address.ss_family == AF_UNSPEC)
		return "sink: the path of a UNIX socket in \"to\" has 107 bytes at most";
	if (!is_remote && sink->tell != SETUP_TELL_NONE)
		return "sink: \"tell\" is for kinds smtp and lmtp";
	return NULL;
}

static const char *check_trust(const struct setup *setup)
{
	bool has_users = setup->trust.users[0] != '\0';
	bool has_forward = setup->trust.forward.text[0] != '\0';
	if (setup->sink.kind == SETUP_SINK_POSTFIX)
		return has_users || has_forward
			       ? "trust: with sink postfix it is Postfix that asks for recipients"
			       : NULL;
	if (has_users && has_forward)
		return "trust: there may be \"users\" or \"forward\", not both";
	if (!has_users && !has_forward)
		return "trust: neither \"users\" nor \"forward\" is given: who knows recipients";
	return NULL;
}

static const char *check(const struct setup *setup)
{
	const char *reason = check_sink(&setup->sink);
	if (reason == NULL)
		reason = check_trust(setup);
	if (reason != NULL)
		return reason;
	if (setup->tls.is_required && setup->tls.certificate_count == 0)
		return "tls: \"require\" needs \"certificates\"";
	if (setup->scan.is_on && setup->sink.kind == SETUP_SINK_POSTFIX)
		return "scan: with sink postfix no mail comes by here: a mail-proxy before it "
		       "scans";
	if (setup->edge.stress_timeout_ms > setup->edge.command_timeout_ms)
		return "limits: \"stress-timeout\" is longer than \"command-timeout\"";
	return NULL;
}

/* EHLO is to say what the sink takes. */
static void complete_recipients(struct setup *setup)
{
	const unsigned lmtp_max = setup->sink.lmtp_recipients_max;
	if (setup->sink.kind == SETUP_SINK_LMTP && lmtp_max > 0 &&
	    lmtp_max < setup->dialogue.recipients_max)
		setup->dialogue.recipients_max = lmtp_max;
}

/*
 * Fills in the defaults that depend on other values. Workers and the keyholder have the user of
 * edges where theirs is not named.
 */
static void complete(struct setup *setup)
{
	struct setup_front *front = &setup->front;
	mailsetup_complete_network(&setup->edge.network, front->workers);
	complete_recipients(setup);
	if (setup->edge.edges == 0)
		setup->edge.edges = mailsetup_count_cores();
	if (front->worker_owner.user[0] == '\0')
		front->worker_owner = front->edge_owner;
	if (front->key_owner.user[0] == '\0')
		front->key_owner = front->edge_owner;
	networks_sort(&setup->edge.proxy);
	networks_sort(&setup->edge.xclient);
	networks_sort(&setup->limits.normalized);
	networks_sort(&setup->edge.unlimited);
	setup->has_zones = setup->handle.lists[HANDLE_ZONES][0] != '\0';
}

/* What other files say. */
static int finish(struct setup *setup, struct conf_error *reterr_error)
{
	const char *reason = check(setup);
	if (reason != NULL)
		return conf_refuse(reterr_error, -EINVAL, "%s", reason);
	complete(setup);
	int ret = setup->has_zones ? handle_finish(&setup->handle, reterr_error) : 0;
	if (ret == 0)
		ret = scan_settings_finish(&setup->scan, true, reterr_error);
	if (ret != 0)
		return ret;
	ret = mailsetup_read_chains(&setup->tls, reterr_error);
	if (ret != 0)
		return ret;
	return judge_finish(&setup->judge, reterr_error);
}

int setup_parse(const char *text, size_t text_size, void *ret_setup,
		struct conf_error *reterr_error)
{
	struct setup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	gethostname(setup->front.hostname, MAILSETUP_HOSTNAME_MAX);
	setup->edge.network.held_max = MAILSETUP_FIFTH;
	int ret = program_parse_rows(text, text_size, &setup_table, setup, &setup->handle,
				     &setup->judge, reterr_error);
	return ret == 0 ? finish(setup, reterr_error) : ret;
}

void setup_deinit(void *data)
{
	struct setup *setup = data;
	networks_deinit(&setup->edge.proxy);
	networks_deinit(&setup->edge.xclient);
	networks_deinit(&setup->limits.normalized);
	networks_deinit(&setup->edge.unlimited);
	mailsetup_free_chains(&setup->tls);
	judge_deinit(&setup->judge);
	handle_deinit(&setup->handle);
}

bool setup_takes_lf(const struct setup *setup, const struct dnsblv6_ip *client_ip)
{
	const struct setup_limits *limits = &setup->limits;
	return limits->bare_newline == SETUP_NEWLINE_NORMALIZE ||
	       networks_contain(&limits->normalized, dnsblv6_addr_from_bytes(client_ip->bytes));
}

bool setup_asks_sink(const struct setup *setup)
{
	const bool is_hop =
		setup->sink.kind == SETUP_SINK_SMTP || setup->sink.kind == SETUP_SINK_LMTP;
	return is_hop && strcmp(setup->trust.forward.text, setup->sink.to.text) == 0;
}

unsigned setup_proxy_version(const struct setup_sink *sink)
{
	if (sink->tell == SETUP_TELL_PROXY)
		return 1;
	return sink->tell == SETUP_TELL_PROXY2 ? 2 : 0;
}
