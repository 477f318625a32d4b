/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/settings/taking.h"

#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/common/version.h"

/* The section "server" of the file, and what all sections need. */

const char taking_no_memory[] = "out of memory";

void *taking_grow(void *entries, size_t count, size_t size)
{
	char *grown = reallocarray(entries, count + 1, size);
	if (grown != NULL)
		memset(grown + count * size, 0, size);
	return grown;
}

const char *taking_prefix(struct dnsblv6_prefix **prefixes, size_t *count, const char *text)
{
	struct dnsblv6_prefix prefix;
	int ret = dnsblv6_prefix_parse(text, strlen(text), &prefix);
	if (ret != DNSBLV6_OK)
		return dnsblv6_strerror(ret);
	struct dnsblv6_prefix *grown = taking_grow(*prefixes, *count, sizeof(*grown));
	if (grown == NULL)
		return taking_no_memory;
	*prefixes = grown;
	grown[(*count)++] = prefix;
	return NULL;
}

static const char *take_listen(struct taking *taking, const struct sockaddr_storage *address)
{
	struct settings *settings = taking->settings;
	if (!taking->has_listen)
		settings->listen.count = 0;
	taking->has_listen = true;
	if (settings->listen.count == LISTENER_ADDRESS_MAX)
		return "permitted are at most 64 addresses";
	settings->listen.all[settings->listen.count++] = *address;
	return NULL;
}

/* "user" or "user:group"; the group of the user when none is named. */
static const char *find_user(const char *text, uid_t *ret_uid, gid_t *ret_gid)
{
	char user[SETTINGS_USER_MAX + 1];
	snprintf(user, sizeof(user), "%s", text);
	char *group = strchr(user, ':');
	if (group != NULL)
		*group++ = '\0';

	const struct passwd *passwd = getpwnam(user);
	if (passwd == NULL)
		return "no such user";
	uid_t uid = passwd->pw_uid;
	gid_t gid = passwd->pw_gid;
	if (group != NULL) {
		const struct group *found = getgrnam(group);
		if (found == NULL)
			return "no such group";
		gid = found->gr_gid;
	}
	*ret_uid = uid;
	*ret_gid = gid;
	return NULL;
}

static const char *take_user(struct settings *settings, const char *text)
{
	snprintf(settings->user, sizeof(settings->user), "%s", text);
	return find_user(text, &settings->uid, &settings->gid);
}

static const char *take_control_owner(struct settings *settings, const char *text)
{
	snprintf(settings->control_owner, sizeof(settings->control_owner), "%s", text);
	return find_user(text, &settings->control_uid, &settings->control_gid);
}

static const char *take_control(struct taking *taking, const char *path)
{
	struct settings *settings = taking->settings;
	size_t max = sizeof(settings->control_path);
	int size = path[0] == '/' ? snprintf(settings->control_path, max, "%s", path)
				  : snprintf(settings->control_path, max, "%s/%s",
					     taking->directory, path);
	return size < 0 || (size_t)size >= max ? "path is longer than a socket's may be" : NULL;
}

/* "/" is none: it is the root of every process. */
static const char *take_chroot(struct taking *taking, const char *path)
{
	struct settings *settings = taking->settings;
	int size = path[0] == '/' ? snprintf(settings->chroot_path, sizeof(settings->chroot_path),
					     "%s", path)
				  : snprintf(settings->chroot_path, sizeof(settings->chroot_path),
					     "%s/%s", taking->directory, path);
	if (size < 0 || (size_t)size >= sizeof(settings->chroot_path))
		return "path is too long";
	while (size > 0 && settings->chroot_path[size - 1] == '/')
		settings->chroot_path[--size] = '\0';
	return NULL;
}

static unsigned count_workers(int64_t number)
{
	if (number > 0)
		return (unsigned)number;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (cores < 1)
		return 1;
	return cores > SETTINGS_WORKERS_MAX ? SETTINGS_WORKERS_MAX : (unsigned)cores;
}

/* What holds off clients that ask too much. */
static const char *take_limit(struct settings *settings, const struct conf_value *value)
{
	unsigned number = (unsigned)value->number;
	switch (value->item) {
	case SERVER_TCP_MAX_CLIENTS_PER_NETWORK:
		settings->tcp_max_clients_per_network = number;
		break;
	case SERVER_TCP_QUERY_TIMEOUT:
		settings->tcp_query_timeout_s = number;
		break;
	case SERVER_COOKIES:
		settings->has_cookies = number != 0;
		break;
	case SERVER_COOKIE_SECRET:
		return cookie_add_secret(&settings->cookies, value->text)
			       ? NULL
			       : "permitted are at most 4 secrets, 32 hexadecimal digits each";
	case SERVER_RATE_LIMIT:
		settings->rate_limit = number;
		break;
	case SERVER_RATE_LIMIT_SLIP:
		settings->rate_limit_slip = number;
		break;
	case SERVER_RATE_LIMIT_NETWORKS:
		settings->rate_limit_networks = number;
		break;
	case SERVER_RATE_LIMIT_ALLOW:
		return taking_prefix(&settings->rate_limit_allow, &settings->rate_limit_allow_count,
				     value->text);
	}
	return NULL;
}

const char *taking_identity(char *target, const char *text, bool is_version)
{
	char host[HOST_NAME_MAX + 1] = "";
	if (strcmp(text, "auto") == 0) {
		if (!is_version && gethostname(host, sizeof(host) - 1) != 0)
			return "this machine has no name";
		text = is_version ? "dnsblv6d " DNSBLV6_VERSION : host;
	}
	snprintf(target, SETTINGS_IDENTITY_MAX + 1, "%s", text);
	return NULL;
}

/* What this server says of itself. */
static const char *take_identity(struct settings *settings, const struct conf_value *value)
{
	bool is_version = value->item == SERVER_VERSION;
	char *target = is_version			? settings->version
		       : value->item == SERVER_IDENTITY ? settings->identity
							: settings->nsid;
	return taking_identity(target, value->text, is_version);
}

/* What is for the operator of the server, and not for its clients. */
static const char *take_operation(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	switch (value->item) {
	case SERVER_CONTROL:
		return take_control(taking, value->text);
	case SERVER_CONTROL_OWNER:
		return take_control_owner(settings, value->text);
	case SERVER_CONTROL_MODE:
		return conf_parse_mode(value->text, &settings->control_mode);
	case SERVER_CONFINE:
		settings->confine = (enum settings_confine)value->number;
		break;
	case SERVER_CHROOT:
		return take_chroot(taking, value->text);
	case SERVER_TOP_SIZE:
		settings->top_size = (unsigned)value->number;
		break;
	case SERVER_TOP_PREFIX_IPV4:
		settings->top_ipv4_length = (unsigned)value->number;
		break;
	case SERVER_TOP_PREFIX_IPV6:
		settings->top_ipv6_length = (unsigned)value->number;
		break;
	case SERVER_IDENTITY:
	case SERVER_VERSION:
	case SERVER_NSID:
		return take_identity(settings, value);
	default:
		return take_limit(settings, value);
	}
	return NULL;
}

const char *taking_server(struct taking *taking, const struct conf_value *value)
{
	struct settings *settings = taking->settings;
	switch (value->item) {
	case SERVER_LISTEN:
		return take_listen(taking, &value->address);
	case SERVER_USER:
		return take_user(settings, value->text);
	case SERVER_PIN_WORKERS:
		settings->has_pinned_workers = value->number != 0;
		break;
	case SERVER_WORKERS:
		settings->workers = count_workers(value->number);
		break;
	case SERVER_TCP_MAX_CLIENTS:
		settings->tcp_max_clients = (unsigned)value->number;
		break;
	case SERVER_TCP_IDLE_TIMEOUT:
		settings->tcp_idle_timeout_s = (unsigned)value->number;
		break;
	case SERVER_UDP_MAX_PAYLOAD:
		settings->udp_max_payload = (unsigned)value->number;
		break;
	case SERVER_LOG_LEVEL:
		settings->log_level = (int)value->number;
		break;
	case SERVER_DRAIN_TIMEOUT:
		settings->drain_timeout_s = (unsigned)value->number;
		break;
	case SERVER_VERIFY_INTERVAL:
		settings->verify_interval_s = (unsigned)value->number;
		break;
	case SERVER_TRANSFER_MAX:
		settings->transfer_max = (unsigned)value->number;
		break;
	case SERVER_TRANSFER_TIMEOUT:
		settings->transfer_timeout_s = (unsigned)value->number;
		break;
	case SERVER_TRANSFER_IDLE_TIMEOUT:
		settings->transfer_idle_timeout_s = (unsigned)value->number;
		break;
	default:
		return take_operation(taking, value);
	}
	return NULL;
}
