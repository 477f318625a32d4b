/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/stored_setup.h"

#include "integration/mail/mail-stored/cluster/cluster_process.h"
#include "lib/common/log.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* ---- one value ---- */

static const char *take_lmtp(void *data, const struct conf_value *value)
{
	struct stored_setup *setup = data;
	if (setup->lmtp_count == STORED_LMTP_MAX)
		return "there are 8 places at most";
	for (unsigned i = 0; i < setup->lmtp_count; i++)
		if (strcmp(setup->lmtp[i].text, value->place.text) == 0)
			return "place is given twice";
	setup->lmtp[setup->lmtp_count++] = value->place;
	return NULL;
}

/* ---- the table ---- */

#define HOUR_MS 3600000
#define DAY_S	86400

#define NUMBER(...) CONF_RANGE(CONF_NUMBER, struct stored_setup, __VA_ARGS__)
#define TIME(...)   CONF_RANGE(CONF_MS, struct stored_setup, __VA_ARGS__)
#define SIZE(...)   CONF_RANGE(CONF_SIZE, struct stored_setup, __VA_ARGS__)

static const char *const layers[] = { "log", "sort", "null", "rados", NULL };

static const struct conf_item stored_items[] = {
	{ "directory", CONF_PATH, CONF_AT(struct stored_setup, directory),
	  .preset = "/var/lib/mail-stored" },
	{ "socket", CONF_PATH, CONF_AT(struct stored_setup, socket), .max = PLACE_SOCKET_MAX,
	  .preset = "/run/mail-stored/socket" },
	OWNER_USER("user", struct stored_setup, owner),
	OWNER_SOCKET_GROUP(struct stored_setup, owner),
	OWNER_SOCKET_MODE(struct stored_setup, owner),
	{ "layer", CONF_CHOICE, CONF_AT(struct stored_setup, layer), .choices = layers,
	  .preset = "log" },
	{ "users", CONF_PATH, CONF_AT(struct stored_setup, users) },
	{ "logins", CONF_PATH, CONF_AT(struct stored_setup, logins) },
	NUMBER("clients", clients_max, 1, 65536, "1024"),
	SIZE("segment-size", segment_size, 1 << 16, INT64_C(1) << 40, "64M"),
	SIZE("size", size_max, 1 << 10, INT64_C(1) << 40, "50M"),
	SIZE("reserve", reserve, 0, INT64_C(1) << 50, "64M"),
	TIME("index-delay", index_ms, 10, HOUR_MS, "1s"),
	NUMBER("collect-share", collect_share, 0, 100, "77"),
	TIME("collect-interval", collect_ms, 100, 24 * HOUR_MS, "10s"),
	NUMBER("quota-messages", quota_messages, 0, INT64_C(1) << 40, "0"),
	SIZE("quota-octets", quota_octets, 0, INT64_C(1) << 50, "0"),
	{ "keep", CONF_AGE, CONF_AT(struct stored_setup, keep_s), .min = 0,
	  .max = INT64_C(36500) * DAY_S, .preset = "0" },
	TIME("keep-interval", keep_ms, 100, 24 * HOUR_MS, "1h"),
	PROGRAM_METRICS(struct stored_setup),
	CONF_LOG_LEVEL(struct stored_setup),
};

static const struct conf_item lmtp_items[] = {
	{ "listen", CONF_PLACE, .max = PLACE_SOCKET_MAX, .is_list = true, .take = take_lmtp },
	{ "hostname", CONF_TEXT, CONF_AT(struct stored_setup, hostname) },
	NUMBER("sessions", lmtp_sessions_max, 1, 65536, "1000"),
	NUMBER("recipients", lmtp_recipients_max, 1, 10000, "1000"),
	TIME("timeout", lmtp_timeout_ms, 100, HOUR_MS, "5m"),
	SIZE("memory", lmtp_memory_max, 1 << 20, INT64_C(1) << 40, "256M"),
};

static const struct conf_section sections[] = {
	{ "stored", CONF_ITEMS(stored_items) },
	{ "lmtp", CONF_ITEMS(lmtp_items) },
	{ "cluster", CONF_ITEMS(cluster_setup_items),
	  .offset = offsetof(struct stored_setup, cluster) },
	{ "nodes", CONF_ITEMS(nodesetup_items), .offset = offsetof(struct stored_setup, nodes) },
	{ "peer", CONF_ITEMS(nodesetup_peer_items), .offset = offsetof(struct stored_setup, nodes),
	  .find_entry = nodesetup_find_peer },
};

const struct conf_table stored_setup_table = { CONF_SECTIONS(sections) };

const char *stored_setup_logins(const struct stored_setup *setup)
{
	const bool is_own = setup->logins[0] != '\0' || setup->layer != STORED_RADOS;
	return is_own ? setup->logins : setup->cluster.logins;
}

static const char *check_cluster(struct stored_setup *setup)
{
	const char *reason = cluster_setup_check(&setup->cluster);
	if (reason != NULL || !setup->cluster.has_users)
		return reason;
	if (setup->users[0] == '\0')
		return "cluster: \"users: yes\" needs \"users\" of section stored";
	if (strcmp(setup->cluster.logins, setup->users) == 0)
		return "cluster: \"logins\" is the same file as \"users\" of section stored";
	/* mail-cluster is told them, as values between blanks. */
	if (strchr(setup->users, ' ') != NULL || strchr(setup->cluster.logins, ' ') != NULL)
		return "cluster: with \"users: yes\" no path of a database has blanks";
	return NULL;
}

static int check_layer(struct stored_setup *setup, struct conf_error *reterr_error)
{
	bool is_rados = setup->layer == STORED_RADOS;
	if (setup->layer != STORED_LOG && !is_rados &&
	    (setup->quota_messages > 0 || setup->quota_octets > 0 || setup->keep_s > 0))
		return conf_refuse(reterr_error, -EINVAL,
				   "stored: quotas and \"keep\" need layer log or rados");
	if (setup->layer != STORED_LOG && nodesetup_is_on(&setup->nodes))
		return conf_refuse(reterr_error, -EINVAL, "nodes: they need layer log");
	if (!is_rados)
		return 0;
	if (!cluster_process_is_built())
		return conf_refuse(
			reterr_error, -EINVAL,
			"stored: layer rados needs librados, which this program was built without");
	const char *reason = check_cluster(setup);
	return reason == NULL ? 0 : conf_refuse(reterr_error, -EINVAL, "%s", reason);
}

int stored_setup_open_users(const struct stored_setup *setup, struct users **ret_users)
{
	const int ret = setup->users[0] != '\0' ? users_open(setup->users, ret_users) : 0;
	if (ret == 0)
		return EX_OK;
	log_error("mail-stored", "recipients not opened, path=%s (%s)", setup->users,
		  users_strerror(ret));
	return EX_NOINPUT;
}

int stored_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error)
{
	struct stored_setup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	gethostname(setup->hostname, STORED_HOSTNAME_MAX);
	int ret = conf_parse(text, text_size, &stored_setup_table, setup, reterr_error);
	if (ret != 0)
		return ret;
	const char *reason = nodesetup_check(&setup->nodes);
	if (reason == NULL && nodesetup_is_on(&setup->nodes) &&
	    strlen(setup->socket) > PLACE_SOCKET_MAX - strlen(".store"))
		reason = "nodes: the path of \"socket\" has 101 bytes at most";
	if (reason != NULL)
		return conf_refuse(reterr_error, -EINVAL, "%s", reason);
	return check_layer(setup, reterr_error);
}
