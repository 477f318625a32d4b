/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/setup/proxysetup.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* ---- the table ---- */

#define NUMBER(...) CONF_RANGE(CONF_NUMBER, struct proxysetup, __VA_ARGS__)
#define TIME(...)   CONF_RANGE(CONF_MS, struct proxysetup, __VA_ARGS__)
#define SIZE(...)   CONF_RANGE(CONF_SIZE, struct proxysetup, __VA_ARGS__)

static const struct conf_item proxy_items[] = {
	{ "hostname", CONF_TEXT, CONF_AT(struct proxysetup, proxy.hostname),
	  .take = mailsetup_take_hostname },
	OWNER_USER("user", struct proxysetup, proxy.owner),
	OWNER_USER("key-user", struct proxysetup, proxy.key_owner),
	NUMBER("processes", proxy.processes, 0, LISTENERS_EDGES_MAX, "0"),
	NUMBER("sessions", proxy.sessions_max, 1, 1000000, "1000"),
	TIME("drain", proxy.drain_ms, 0, HOUR_MS, "30s"),
	{ "metrics", CONF_PATH, CONF_AT(struct proxysetup, proxy.metrics) },
	{ "log-level", CONF_CHOICE, CONF_AT(struct proxysetup, proxy.log_level),
	  .choices = conf_log_levels, .preset = "info" },
};

static const char *const speeches[] = { "smtp", "lmtp", "pop3", NULL };
static const char *const modes[] = { "plain", "filter", "transparent", NULL };
static const char *const tls_words[] = { "usual", "none", "own", "implicit", "pass", NULL };
static const char *const versions[] = { "no", "v1", "v2", NULL };

/* The first item of an entry makes it. */
static const char *take_listener(void *member, const struct conf_value *value)
{
	struct proxysetup *setup = value->context;
	(void)member;
	if (setup->listener_count == LISTENERS_PLACES_MAX)
		return "there are 16 listeners at most";
	return mailsetup_add_place(setup->places, &setup->listener_count, value);
}

static void *find_listener(void *context)
{
	struct proxysetup *setup = context;
	return &setup->listeners[setup->listener_count - 1];
}

#define IN(member) CONF_AT(struct proxysetup_listener, member)

static const struct conf_item listener_items[] = {
	{ "listen", CONF_ADDRESS, .default_port = 25, .take = take_listener },
	{ "protocol", CONF_CHOICE, IN(speech), .choices = speeches, .preset = "smtp" },
	{ "mode", CONF_CHOICE, IN(mode), .choices = modes, .preset = "plain" },
	{ "next-hop", CONF_PLACE, IN(next_hop), .max = PLACE_SOCKET_MAX },
	{ "tls", CONF_CHOICE, IN(tls), .choices = tls_words, .preset = "usual" },
	{ "plain-logins", CONF_CHOICE, IN(has_plain_logins), .choices = conf_no_yes,
	  .preset = "no" },
	{ "proxy-to", CONF_CHOICE, IN(proxy_to), .choices = versions, .preset = "no" },
	NETWORKS_ROW("proxy-of", struct proxysetup_listener, proxy_of),
};

static const struct conf_item limits_items[] = {
	TIME("command-timeout", limits.command_ms, 100, HOUR_MS, "5m"),
	TIME("data-timeout", limits.data_ms, 100, HOUR_MS, "3m"),
	TIME("mail-timeout", limits.mail_ms, 100, DAY_MS, "1h"),
	TIME("connect-timeout", limits.connect_ms, 100, HOUR_MS, "30s"),
	TIME("reply-timeout", limits.reply_ms, 100, HOUR_MS, "5m"),
	TIME("end-timeout", limits.end_ms, 100, HOUR_MS, "10m"),
	SIZE("size", limits.size_max, 0, INT64_MAX, "0"),
	NUMBER("errors", limits.errors_max, 0, 10000, "20"),
	NUMBER("commands", limits.commands_max, 0, INT_MAX, "0"),
	MAILSETUP_NETWORK_ROWS(struct proxysetup, limits.network),
	NETWORKS_ROW("unlimited", struct proxysetup, limits.unlimited),
};

static const struct conf_item pop3_items[] = {
	/* RFC 1939, part 3: ten minutes at least. */
	TIME("idle-timeout", pop3.idle_ms, 100, HOUR_MS, "10m"),
	SIZE("hold-first", pop3.hold_first, 1024, 65536, "32K"),
	SIZE("hold-last", pop3.hold_last, 1, 16384, "4K"),
};

static const struct conf_item tls_items[] = {
	{ "certificates", CONF_TEXT, CONF_AT(struct proxysetup, tls), .max = 2 * KEYS_PATH_MAX,
	  .is_list = true, .take = mailsetup_take_certificate },
};

static const struct conf_section sections[] = {
	{ "proxy", CONF_ITEMS(proxy_items) },
	{ "listener", CONF_ITEMS(listener_items), .find_entry = find_listener },
	{ "limits", CONF_ITEMS(limits_items) },
	{ "pop3", CONF_ITEMS(pop3_items) },
	{ "tls", CONF_ITEMS(tls_items) },
	{ "scan", .items = scan_items, .item_count = SCAN_ITEMS,
	  .offset = offsetof(struct proxysetup, scan) },
};

const struct conf_table proxysetup_table = { CONF_SECTIONS(sections) };

/* ---- what values must be together ---- */

static const char *check_listener(const struct proxysetup_listener *listener, bool has_tls)
{
	const bool is_transparent = listener->mode == PROXY_TRANSPARENT;
	if (is_transparent && listener->next_hop.text[0] != '\0')
		return "listener: in mode \"transparent\" the next hop is the client's own "
		       "destination, and no \"next-hop\" is given";
	if (!is_transparent && listener->next_hop.text[0] == '\0')
		return "listener: \"next-hop\" is not given";
	if (listener->mode == PROXY_FILTER && listener->speech == PROXY_POP3)
		return "listener: mode \"filter\" is for SMTP and LMTP";
	if ((listener->tls == PROXY_TLS_OWN || listener->tls == PROXY_TLS_IMPLICIT) && !has_tls)
		return "listener: \"tls\" needs \"certificates\" in section tls";
	return NULL;
}

static const char *check(const struct proxysetup *setup)
{
	if (setup->listener_count == 0)
		return "no listener is given";
	for (unsigned i = 0; i < setup->listener_count; i++) {
		const char *reason =
			check_listener(&setup->listeners[i], setup->tls.certificate_count > 0);
		if (reason != NULL)
			return reason;
	}
	return NULL;
}

/* TLS is never taken away from clients in silence: ended here where that is possible, else passed. */
static enum proxy_tls usual_tls(const struct proxysetup *setup,
				const struct proxysetup_listener *listener)
{
	if (listener->mode == PROXY_FILTER)
		return PROXY_TLS_NONE;
	return setup->tls.certificate_count > 0 ? PROXY_TLS_OWN : PROXY_TLS_PASS;
}

/* So that slow mails of one network leave most of the scans to others. */
static unsigned share_of_scans(const struct proxysetup *setup)
{
	return setup->limits.network.connections_max > 0 ? (setup->scan.mails + 3) / 4 : 0;
}

static void complete(struct proxysetup *setup)
{
	struct proxysetup_proxy *proxy = &setup->proxy;
	setup->limits.network.held_max = share_of_scans(setup);
	if (proxy->processes == 0)
		proxy->processes = mailsetup_count_cores();
	if (proxy->key_owner.user[0] == '\0')
		proxy->key_owner = proxy->owner;
	networks_sort(&setup->limits.unlimited);
	for (unsigned i = 0; i < setup->listener_count; i++) {
		struct proxysetup_listener *listener = &setup->listeners[i];
		networks_sort(&listener->proxy_of);
		if (listener->tls == PROXY_TLS_USUAL)
			listener->tls = usual_tls(setup, listener);
	}
}

int proxysetup_parse(const char *text, size_t text_size, void *ret_setup,
		     struct conf_error *reterr_error)
{
	struct proxysetup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	gethostname(setup->proxy.hostname, MAILSETUP_HOSTNAME_MAX);
	int ret = conf_parse(text, text_size, &proxysetup_table, setup, reterr_error);
	if (ret != 0)
		return ret;
	const char *reason = check(setup);
	if (reason != NULL)
		return conf_refuse(reterr_error, -EINVAL, "%s", reason);
	complete(setup);
	if (setup->scan.is_on) {
		/* What has been passed on cannot get another recipient: "quarantine" refuses here. */
		ret = scan_settings_finish(&setup->scan, false, reterr_error);
		if (ret != 0)
			return ret;
	}
	return mailsetup_read_chains(&setup->tls, reterr_error);
}

void proxysetup_deinit(void *ret_setup)
{
	struct proxysetup *setup = ret_setup;
	networks_deinit(&setup->limits.unlimited);
	for (unsigned i = 0; i < LISTENERS_PLACES_MAX; i++)
		networks_deinit(&setup->listeners[i].proxy_of);
	mailsetup_free_chains(&setup->tls);
}
