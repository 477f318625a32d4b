/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/setup/setup.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/common/log.h"

#define PORT_DEFAULT 25
#define REQUESTS     "16384" /* of all edges together, until "max-requests" says otherwise */
#define NUMBER_MAX   24	     /* bytes of a time or a size */

enum {
	SECTION_FRONT,
	SECTION_LIMITS,
	SECTION_TRUST,
	SECTION_TLS,
	SECTION_SINK,
	SECTION_DECISION,
	SECTION_LIBRARY,
	SECTION_COUNT
};

enum {
	FRONT_HOSTNAME,
	FRONT_LISTEN,
	FRONT_USER,
	FRONT_WORKER_USER,
	FRONT_KEY_USER,
	FRONT_CHROOT,
	FRONT_EDGES,
	FRONT_WORKERS,
	FRONT_MAILS_PER_WORKER,
	FRONT_SESSIONS,
	FRONT_AT_CAPACITY,
	FRONT_QUEUE_SIZE,
	FRONT_QUEUE_TIMEOUT,
	FRONT_GATHER,
	FRONT_DRAIN,
	FRONT_METRICS,
	FRONT_LOG_LEVEL,
	FRONT_PROXY,
	FRONT_XCLIENT,
	FRONT_COUNT
};

enum {
	LIMITS_GREET_PAUSE,
	LIMITS_GREET_CACHE,
	LIMITS_EARLY_TALKER,
	LIMITS_BARE_NEWLINE,
	LIMITS_NORMALIZED,
	LIMITS_SIZE,
	LIMITS_RECIPIENTS,
	LIMITS_COMMANDS,
	LIMITS_JUNK,
	LIMITS_ERRORS,
	LIMITS_MAILS,
	LIMITS_PREFIX_IPV4,
	LIMITS_PREFIX_IPV6,
	LIMITS_PREFIX_IPV6_SITE,
	LIMITS_SITE_MULTIPLE,
	LIMITS_CONNECTIONS,
	LIMITS_WORKERS,
	LIMITS_RATE,
	LIMITS_UNLIMITED,
	LIMITS_TARPIT,
	LIMITS_COMMAND_TIMEOUT,
	LIMITS_STRESS_TIMEOUT,
	LIMITS_STRESS_SHARE,
	LIMITS_DATA_TIMEOUT,
	LIMITS_DATA_RATE,
	LIMITS_SESSION_TIMEOUT,
	LIMITS_GIVE_WAY,
	LIMITS_STRESS_DATA_RATE,
	LIMITS_WORKER_TIMEOUT,
	LIMITS_COUNT
};

enum { TRUST_USERS, TRUST_FORWARD, TRUST_FORWARD_TIMEOUT, TRUST_FORWARD_CACHE, TRUST_COUNT };

enum { TLS_CERTIFICATES, TLS_REQUIRE, TLS_COUNT };

enum {
	SINK_KIND,
	SINK_TO,
	SINK_TELL,
	SINK_CONNECT_TIMEOUT,
	SINK_TIMEOUT,
	SINK_LMTP_RECIPIENTS,
	SINK_DELIVERED,
	SINK_MAILDIR,
	SINK_COUNT
};

static const char *const capacities[] = { "wait", "refuse", NULL };
static const char *const talkers[] = { "reject", "ignore", NULL };
static const char *const newlines[] = { "reject", "normalize", NULL };
static const char *const kinds[] = { "smtp", "lmtp", "maildir", "null", "postfix", NULL };
static const char *const tells[] = { "none", "xclient", "proxy", "proxy2", NULL };
static const char *const maildirs[] = { "one", "recipient", NULL };
static const char *const no_yes[] = { "no", "yes", NULL };

#define NUMBER(text, least, most)                                                                  \
	{                                                                                          \
		text, .type = CONF_NUMBER, .min = (least), .max = (most)                           \
	}
#define TEXT(text, bytes)                                                                          \
	{                                                                                          \
		text, .type = CONF_TEXT, .max = (bytes)                                            \
	}
#define TEXTS(text, bytes)                                                                         \
	{                                                                                          \
		text, .type = CONF_TEXT, .max = (bytes), .is_list = true                           \
	}
#define CHOICE(text, words)                                                                        \
	{                                                                                          \
		text, .type = CONF_CHOICE, .choices = (words)                                      \
	}

static const struct conf_item front_items[] = {
	[FRONT_HOSTNAME] = TEXT("hostname", SETUP_HOSTNAME_MAX),
	[FRONT_LISTEN] = { "listen", .type = CONF_ADDRESS, .default_port = PORT_DEFAULT,
			   .is_list = true },
	[FRONT_USER] = TEXT("user", OWNER_NAME_MAX),
	[FRONT_WORKER_USER] = TEXT("worker-user", OWNER_NAME_MAX),
	[FRONT_KEY_USER] = TEXT("key-user", OWNER_NAME_MAX),
	[FRONT_CHROOT] = TEXT("chroot", SETUP_PATH_MAX),
	[FRONT_EDGES] = NUMBER("edges", 0, SETUP_EDGES_MAX),
	[FRONT_WORKERS] = NUMBER("workers", 1, SETUP_WORKERS_MAX),
	[FRONT_MAILS_PER_WORKER] = NUMBER("mails-per-worker", 1, 1000000),
	[FRONT_SESSIONS] = NUMBER("sessions", 1, 1000000),
	[FRONT_AT_CAPACITY] = CHOICE("at-capacity", capacities),
	[FRONT_QUEUE_SIZE] = TEXT("queue-size", NUMBER_MAX),
	[FRONT_QUEUE_TIMEOUT] = TEXT("queue-timeout", NUMBER_MAX),
	[FRONT_GATHER] = TEXT("gather", NUMBER_MAX),
	[FRONT_DRAIN] = TEXT("drain", NUMBER_MAX),
	[FRONT_METRICS] = TEXT("metrics", SETUP_PATH_MAX),
	[FRONT_LOG_LEVEL] = CHOICE("log-level", conf_log_levels),
	[FRONT_PROXY] = TEXTS("proxy", NETWORKS_LINE_MAX),
	[FRONT_XCLIENT] = TEXTS("xclient", NETWORKS_LINE_MAX),
};

static const struct conf_item limits_items[] = {
	[LIMITS_GREET_PAUSE] = TEXT("greet-pause", NUMBER_MAX),
	[LIMITS_GREET_CACHE] = TEXT("greet-cache", NUMBER_MAX),
	[LIMITS_EARLY_TALKER] = CHOICE("early-talker", talkers),
	[LIMITS_BARE_NEWLINE] = CHOICE("bare-newline", newlines),
	[LIMITS_NORMALIZED] = TEXTS("bare-newline-exclusions", NETWORKS_LINE_MAX),
	[LIMITS_SIZE] = TEXT("size", NUMBER_MAX),
	[LIMITS_RECIPIENTS] = NUMBER("recipients", 1, 10000),
	[LIMITS_COMMANDS] = NUMBER("commands", 1, 1000000),
	[LIMITS_JUNK] = NUMBER("junk-commands", 1, 1000000),
	[LIMITS_ERRORS] = NUMBER("errors", 1, 10000),
	[LIMITS_MAILS] = NUMBER("mails", 1, 10000),
	[LIMITS_PREFIX_IPV4] = NUMBER("prefix-ipv4", 8, 32),
	[LIMITS_PREFIX_IPV6] = NUMBER("prefix-ipv6", 16, 128),
	[LIMITS_PREFIX_IPV6_SITE] = NUMBER("prefix-ipv6-site", 0, 64),
	[LIMITS_SITE_MULTIPLE] = NUMBER("site-multiple", 1, 1000),
	[LIMITS_CONNECTIONS] = NUMBER("connections", 0, 1000000),
	[LIMITS_WORKERS] = NUMBER("workers", 0, SETUP_WORKERS_MAX),
	[LIMITS_RATE] = NUMBER("rate", 0, 1000000),
	[LIMITS_UNLIMITED] = TEXTS("unlimited", NETWORKS_LINE_MAX),
	[LIMITS_TARPIT] = TEXT("tarpit", NUMBER_MAX),
	[LIMITS_COMMAND_TIMEOUT] = TEXT("command-timeout", NUMBER_MAX),
	[LIMITS_STRESS_TIMEOUT] = TEXT("stress-timeout", NUMBER_MAX),
	[LIMITS_STRESS_SHARE] = NUMBER("stress-share", 1, 100),
	[LIMITS_DATA_TIMEOUT] = TEXT("data-timeout", NUMBER_MAX),
	[LIMITS_DATA_RATE] = NUMBER("data-rate", 0, 1000000),
	[LIMITS_SESSION_TIMEOUT] = TEXT("session-timeout", NUMBER_MAX),
	[LIMITS_GIVE_WAY] = TEXT("give-way", NUMBER_MAX),
	[LIMITS_STRESS_DATA_RATE] = NUMBER("stress-data-rate", 0, 1000000),
	[LIMITS_WORKER_TIMEOUT] = TEXT("worker-timeout", NUMBER_MAX),
};

static const struct conf_item trust_items[] = {
	[TRUST_USERS] = TEXT("users", SETUP_PATH_MAX),
	[TRUST_FORWARD] = TEXT("forward", SETUP_PATH_MAX),
	[TRUST_FORWARD_TIMEOUT] = TEXT("forward-timeout", NUMBER_MAX),
	[TRUST_FORWARD_CACHE] = TEXT("forward-cache", NUMBER_MAX),
};

static const struct conf_item tls_items[] = {
	[TLS_CERTIFICATES] = TEXTS("certificates", 2 * KEYS_PATH_MAX),
	[TLS_REQUIRE] = CHOICE("require", no_yes),
};

static const struct conf_item sink_items[] = {
	[SINK_KIND] = CHOICE("kind", kinds),
	[SINK_TO] = TEXT("to", SETUP_PATH_MAX),
	[SINK_TELL] = CHOICE("tell", tells),
	[SINK_CONNECT_TIMEOUT] = TEXT("connect-timeout", NUMBER_MAX),
	[SINK_TIMEOUT] = TEXT("timeout", NUMBER_MAX),
	[SINK_LMTP_RECIPIENTS] = NUMBER("lmtp-recipients", 0, 10000),
	[SINK_DELIVERED] = TEXT("delivered", SETUP_PATH_MAX),
	[SINK_MAILDIR] = CHOICE("maildir", maildirs),
};

static const struct conf_section sections[] = {
	[SECTION_FRONT] = { "front", front_items, FRONT_COUNT, false },
	[SECTION_LIMITS] = { "limits", limits_items, LIMITS_COUNT, false },
	[SECTION_TRUST] = { "trust", trust_items, TRUST_COUNT, false },
	[SECTION_TLS] = { "tls", tls_items, TLS_COUNT, false },
	[SECTION_SINK] = { "sink", sink_items, SINK_COUNT, false },
	[SECTION_DECISION] = { "decision", judge_items, JUDGE_ITEMS, false },
	[SECTION_LIBRARY] = { "library", handle_items, HANDLE_ITEMS, false },
};

static const struct conf_table table = { sections, SECTION_COUNT };

/* ---- defaults ---- */

/* Of the workers, once it is known how many there are. */
#define FIFTH UINT_MAX

static const struct setup_limits limits_defaults = {
	.greet_pause_ms = 2000,
	.greet_cache_ms = 86400000,
	.early_talker = SETUP_TALKER_REJECT,
	.bare_newline = SETUP_NEWLINE_REJECT,
	.size_max = 50 << 20,
	.recipients_max = 100,
	.commands_max = 1000,
	.junk_max = 100,
	.errors_max = 10,
	.mails_max = 1000,
	.prefix_ipv4 = 24,
	.prefix_ipv6 = 56,
	.prefix_ipv6_site = 48,
	.site_multiple = 2,
	.connections_max = 100,
	.workers_max = FIFTH,
	.rate_max = 600,
	.command_timeout_ms = 300000, /* RFC 5321 4.5.3.2 */
	.stress_timeout_ms = 10000,
	.stress_share = 80,
	.data_timeout_ms = 180000,
	.data_rate = 500, /* half of what a line of 9,600 baud has */
	.session_timeout_ms = 600000,
	.give_way_ms = 1000,
	.stress_data_rate = 5000,
	.worker_timeout_ms = 3600000,
};

static void set_defaults(struct setup *setup)
{
	struct setup_front *front = &setup->front;
	gethostname(front->hostname, SETUP_HOSTNAME_MAX);
	front->workers = 100;
	front->mails_per_worker = 100;
	front->sessions_max = 10000;
	front->at_capacity = SETUP_WAIT;
	front->queue_bytes = 256 << 10;
	front->queue_timeout_ms = 30000;
	front->gather_ms = 4;
	front->drain_ms = 30000;
	front->log_level = LOG_LEVEL_INFO;
	setup->limits = limits_defaults;
	setup->trust.forward_timeout_ms = 10000;
	setup->trust.forward_cache_ms = 3600000;
	setup->sink.connect_timeout_ms = 10000;
	setup->sink.timeout_ms = 300000;
}

/* ---- one value ---- */

static const char *take_path(const char *text, char *ret_path)
{
	if (text[0] != '/')
		return "permitted is an absolute path";
	snprintf(ret_path, SETUP_PATH_MAX + 1, "%s", text);
	return NULL;
}

static const char *take_time(struct setup *setup, const struct conf_value *value, unsigned min_ms,
			     unsigned max_ms, unsigned *ret_ms)
{
	return values_parse_time(value->text, min_ms, max_ms, ret_ms, setup->reason);
}

static const char *take_networks(struct networks *networks, const struct conf_value *value)
{
	return networks_add(networks, value->text, strlen(value->text));
}

/* As in a banner: letters, digits, hyphens and dots, and no empty label. */
static const char *take_hostname(struct setup_front *front, const char *text)
{
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
	snprintf(front->hostname, sizeof(front->hostname), "%s", text);
	return NULL;
}

static const char *take_listen(struct setup_front *front, const struct conf_value *value)
{
	struct place place = { .address = value->address };
	if (front->place_count == SETUP_PLACES_MAX)
		return "there are 16 places at most";
	place.address_size = value->address.ss_family == AF_INET ? sizeof(struct sockaddr_in)
								 : sizeof(struct sockaddr_in6);
	snprintf(place.text, sizeof(place.text), "%s", value->text);
	for (unsigned i = 0; i < front->place_count; i++)
		if (memcmp(&front->places[i].address, &place.address, place.address_size) == 0)
			return "place is given twice";
	front->places[front->place_count++] = place;
	return NULL;
}

static const char *take_queue_size(struct setup *setup, const struct conf_value *value)
{
	return values_parse_size(value->text, 16 << 10, 64 << 20, &setup->front.queue_bytes,
				 setup->reason);
}

/* ---- sections ---- */

#define GATHER_MAX_MS 50
#define MINUTE_MS     60000
#define HOUR_MS	      (60 * MINUTE_MS)
#define DAY_MS	      (24 * HOUR_MS)

static const char *take_front_number(struct setup_front *front, const struct conf_value *value)
{
	unsigned number = (unsigned)value->number;
	switch (value->item) {
	case FRONT_EDGES:
		front->edges = number;
		break;
	case FRONT_WORKERS:
		front->workers = number;
		break;
	case FRONT_MAILS_PER_WORKER:
		front->mails_per_worker = number;
		break;
	case FRONT_SESSIONS:
		front->sessions_max = number;
		break;
	case FRONT_AT_CAPACITY:
		front->at_capacity = (enum setup_capacity)number;
		break;
	default:
		front->log_level = (int)number;
		break;
	}
	return NULL;
}

static const char *take_front(struct setup *setup, const struct conf_value *value)
{
	struct setup_front *front = &setup->front;
	switch (value->item) {
	case FRONT_HOSTNAME:
		return take_hostname(front, value->text);
	case FRONT_LISTEN:
		return take_listen(front, value);
	case FRONT_USER:
		return owner_take_user(&front->edge_owner, value->text);
	case FRONT_WORKER_USER:
		return owner_take_user(&front->worker_owner, value->text);
	case FRONT_KEY_USER:
		return owner_take_user(&front->key_owner, value->text);
	case FRONT_CHROOT:
		return take_path(value->text, front->chroot);
	case FRONT_QUEUE_SIZE:
		return take_queue_size(setup, value);
	case FRONT_QUEUE_TIMEOUT:
		return take_time(setup, value, 0, HOUR_MS, &front->queue_timeout_ms);
	case FRONT_GATHER:
		return take_time(setup, value, 0, GATHER_MAX_MS, &front->gather_ms);
	case FRONT_DRAIN:
		return take_time(setup, value, 0, HOUR_MS, &front->drain_ms);
	case FRONT_METRICS:
		return take_path(value->text, front->metrics);
	case FRONT_PROXY:
		return take_networks(&front->proxy, value);
	case FRONT_XCLIENT:
		return take_networks(&front->xclient, value);
	default:
		return take_front_number(front, value);
	}
}

static const char *take_limits_number(struct setup_limits *limits, const struct conf_value *value)
{
	unsigned number = (unsigned)value->number;
	unsigned *const numbers[LIMITS_COUNT] = {
		[LIMITS_RECIPIENTS] = &limits->recipients_max,
		[LIMITS_COMMANDS] = &limits->commands_max,
		[LIMITS_JUNK] = &limits->junk_max,
		[LIMITS_ERRORS] = &limits->errors_max,
		[LIMITS_MAILS] = &limits->mails_max,
		[LIMITS_PREFIX_IPV4] = &limits->prefix_ipv4,
		[LIMITS_PREFIX_IPV6] = &limits->prefix_ipv6,
		[LIMITS_PREFIX_IPV6_SITE] = &limits->prefix_ipv6_site,
		[LIMITS_SITE_MULTIPLE] = &limits->site_multiple,
		[LIMITS_CONNECTIONS] = &limits->connections_max,
		[LIMITS_WORKERS] = &limits->workers_max,
		[LIMITS_RATE] = &limits->rate_max,
		[LIMITS_STRESS_SHARE] = &limits->stress_share,
		[LIMITS_DATA_RATE] = &limits->data_rate,
		[LIMITS_STRESS_DATA_RATE] = &limits->stress_data_rate,
	};
	if (numbers[value->item] != NULL)
		*numbers[value->item] = number;
	return NULL;
}

static const char *take_limits(struct setup *setup, const struct conf_value *value)
{
	struct setup_limits *limits = &setup->limits;
	switch (value->item) {
	case LIMITS_GREET_PAUSE:
		return take_time(setup, value, 0, MINUTE_MS, &limits->greet_pause_ms);
	case LIMITS_GREET_CACHE:
		return take_time(setup, value, 0, 30U * DAY_MS, &limits->greet_cache_ms);
	case LIMITS_EARLY_TALKER:
		limits->early_talker = (enum setup_talker)value->number;
		return NULL;
	case LIMITS_SIZE:
		return values_parse_size(value->text, 1 << 10, UINT64_C(1) << 40, &limits->size_max,
					 setup->reason);
	case LIMITS_BARE_NEWLINE:
		limits->bare_newline = (enum setup_newline)value->number;
		return NULL;
	case LIMITS_NORMALIZED:
		return take_networks(&limits->normalized, value);
	case LIMITS_UNLIMITED:
		return take_networks(&limits->unlimited, value);
	case LIMITS_TARPIT:
		return take_time(setup, value, 0, MINUTE_MS, &limits->tarpit_ms);
	case LIMITS_COMMAND_TIMEOUT:
		return take_time(setup, value, 100, HOUR_MS, &limits->command_timeout_ms);
	case LIMITS_STRESS_TIMEOUT:
		return take_time(setup, value, 100, HOUR_MS, &limits->stress_timeout_ms);
	case LIMITS_DATA_TIMEOUT:
		return take_time(setup, value, 100, HOUR_MS, &limits->data_timeout_ms);
	case LIMITS_SESSION_TIMEOUT:
		return take_time(setup, value, 100, DAY_MS, &limits->session_timeout_ms);
	case LIMITS_GIVE_WAY:
		return take_time(setup, value, 100, HOUR_MS, &limits->give_way_ms);
	case LIMITS_WORKER_TIMEOUT:
		return take_time(setup, value, 100, DAY_MS, &limits->worker_timeout_ms);
	default:
		return take_limits_number(limits, value);
	}
}

static const char *take_trust(struct setup *setup, const struct conf_value *value)
{
	struct setup_trust *trust = &setup->trust;
	switch (value->item) {
	case TRUST_USERS:
		return take_path(value->text, trust->users);
	case TRUST_FORWARD:
		return values_parse_place(value->text, &trust->forward);
	case TRUST_FORWARD_TIMEOUT:
		return take_time(setup, value, 100, HOUR_MS, &trust->forward_timeout_ms);
	default:
		return take_time(setup, value, 0, 7 * DAY_MS, &trust->forward_cache_ms);
	}
}

/* CHAIN:KEY, or one file that has both. */
static const char *take_certificate(struct setup_tls *tls, const char *text)
{
	struct keys_paths *paths = &tls->certificates[tls->certificate_count];
	const char *colon = strchr(text, ':');
	const char *key = colon == NULL ? text : colon + 1;
	size_t size = colon == NULL ? strlen(text) : (size_t)(colon - text);
	if (tls->certificate_count == KEYS_PAIRS_MAX)
		return "there are 32 certificates at most";
	if (text[0] != '/' || key[0] != '/' || size > KEYS_PATH_MAX || strlen(key) > KEYS_PATH_MAX)
		return "permitted are CHAIN:KEY and one file with both, as absolute paths";
	snprintf(paths->chain, sizeof(paths->chain), "%.*s", (int)size, text);
	snprintf(paths->key, sizeof(paths->key), "%s", key);
	tls->certificate_count++;
	return NULL;
}

static const char *take_tls(struct setup_tls *tls, const struct conf_value *value)
{
	if (value->item == TLS_CERTIFICATES)
		return take_certificate(tls, value->text);
	tls->is_required = value->number != 0;
	return NULL;
}

static const char *take_sink(struct setup *setup, const struct conf_value *value)
{
	struct setup_sink *sink = &setup->sink;
	switch (value->item) {
	case SINK_KIND:
		sink->kind = (enum setup_sink_kind)value->number;
		return NULL;
	case SINK_TO:
		return values_parse_place(value->text, &sink->to);
	case SINK_TELL:
		sink->tell = (enum setup_tell)value->number;
		return NULL;
	case SINK_CONNECT_TIMEOUT:
		return take_time(setup, value, 100, HOUR_MS, &sink->connect_timeout_ms);
	case SINK_TIMEOUT:
		return take_time(setup, value, 100, HOUR_MS, &sink->timeout_ms);
	case SINK_LMTP_RECIPIENTS:
		sink->lmtp_recipients_max = (unsigned)value->number;
		return NULL;
	case SINK_DELIVERED:
		return take_path(value->text, sink->delivered);
	default:
		sink->maildir = (enum setup_maildir)value->number;
		return NULL;
	}
}

static const char *take_value(const struct conf_value *value, void *context)
{
	struct setup *setup = context;
	switch (value->section) {
	case SECTION_FRONT:
		return take_front(setup, value);
	case SECTION_LIMITS:
		return take_limits(setup, value);
	case SECTION_TRUST:
		return take_trust(setup, value);
	case SECTION_TLS:
		return take_tls(&setup->tls, value);
	case SECTION_SINK:
		return take_sink(setup, value);
	case SECTION_DECISION:
		return judge_take(&setup->judge, value);
	default:
		return handle_take(&setup->handle, &handle_items[value->item], value->text);
	}
}

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
	if (has_forward && setup->trust.forward.address.ss_family == AF_UNSPEC)
		return "trust: the path of a UNIX socket in \"forward\" has 107 bytes at most";
	return NULL;
}

static const char *check(const struct setup *setup)
{
	const struct setup_limits *limits = &setup->limits;
	const char *reason = check_sink(&setup->sink);
	if (reason == NULL)
		reason = check_trust(setup);
	if (reason != NULL)
		return reason;
	if (setup->tls.is_required && setup->tls.certificate_count == 0)
		return "tls: \"require\" needs \"certificates\"";
	if (limits->stress_timeout_ms > limits->command_timeout_ms)
		return "limits: \"stress-timeout\" is longer than \"command-timeout\"";
	return NULL;
}

static unsigned count_cores(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return count < SETUP_EDGES_MAX ? (unsigned)count : SETUP_EDGES_MAX;
}

static void add_default_places(struct setup_front *front)
{
	static const char *const places[] = { "0.0.0.0@25", "::@25" };
	for (unsigned i = 0; i < 2; i++)
		values_parse_place(places[i], &front->places[front->place_count++]);
}

/*
 * The limit as given, else a fifth of the workers. Where connections are not counted there is no
 * such default: all clients may have one address, that of a balancer.
 */
static unsigned workers_of_network(const struct setup *setup)
{
	const struct setup_limits *limits = &setup->limits;
	if (limits->workers_max != FIFTH)
		return limits->workers_max;
	return limits->connections_max > 0 ? (setup->front.workers + 4) / 5 : 0;
}

/* EHLO is to say what the sink takes. */
static void complete_recipients(struct setup *setup)
{
	const unsigned lmtp_max = setup->sink.lmtp_recipients_max;
	if (setup->sink.kind == SETUP_SINK_LMTP && lmtp_max > 0 &&
	    lmtp_max < setup->limits.recipients_max)
		setup->limits.recipients_max = lmtp_max;
}

/*
 * Fills in the defaults that depend on other values. Workers and the keyholder have the user of
 * edges where theirs is not named.
 */
static void complete(struct setup *setup)
{
	struct setup_front *front = &setup->front;
	setup->limits.workers_max = workers_of_network(setup);
	complete_recipients(setup);
	if (front->place_count == 0)
		add_default_places(front);
	if (front->edges == 0)
		front->edges = count_cores();
	if (front->worker_owner.user[0] == '\0')
		front->worker_owner = front->edge_owner;
	if (front->key_owner.user[0] == '\0')
		front->key_owner = front->edge_owner;
	networks_sort(&front->proxy);
	networks_sort(&front->xclient);
	networks_sort(&setup->limits.normalized);
	networks_sort(&setup->limits.unlimited);
	setup->has_zones = setup->handle.lists[HANDLE_ZONES][0] != '\0';
}

/* What other files say. */
static int finish(struct setup *setup, struct conf_error *reterr_error)
{
	struct keys_error error = { .reason = "" };
	const char *reason = check(setup);
	if (reason != NULL)
		return conf_refuse(reterr_error, -EINVAL, "%s", reason);
	complete(setup);
	if (setup->tls.certificate_count > 0) {
		int ret = keys_read_chains(setup->tls.certificates, setup->tls.certificate_count,
					   &setup->tls.chains, &error);
		if (ret != 0)
			return conf_refuse(reterr_error, ret, "certificate %.240s: %s", error.path,
					   error.reason);
	}
	return judge_finish(&setup->judge, reterr_error);
}

int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error)
{
	memset(ret_setup, 0, sizeof(*ret_setup));
	set_defaults(ret_setup);
	int ret = handle_init(&ret_setup->handle, REQUESTS);
	if (ret == 0)
		ret = judge_init(&ret_setup->judge, ret_setup->handle.client);
	if (ret != 0)
		return conf_refuse(reterr_error, ret, "%s", dnsblv6_strerror(ret));
	ret = conf_parse(text, text_size, &table, take_value, ret_setup, reterr_error);
	return ret == 0 ? finish(ret_setup, reterr_error) : ret;
}

void setup_deinit(struct setup *setup)
{
	networks_deinit(&setup->front.proxy);
	networks_deinit(&setup->front.xclient);
	networks_deinit(&setup->limits.normalized);
	networks_deinit(&setup->limits.unlimited);
	keys_free_chains(setup->tls.chains);
	setup->tls.chains = NULL;
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
