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

/* The sections "server", "dnstap" and "xdp" of the file, and what all sections need. */

const char taking_no_memory[] = "out of memory";

void *taking_add(void *array, size_t *count, size_t size)
{
	char *entries = NULL;
	memcpy(&entries, array, sizeof(entries));
	entries = reallocarray(entries, *count + 1, size);
	if (entries == NULL)
		return NULL;
	memcpy(array, &entries, sizeof(entries));
	return memset(entries + (*count)++ * size, 0, size);
}

const char *taking_prefix(void *member, const struct conf_value *value)
{
	struct settings_prefixes *prefixes = member;
	struct dnsblv6_prefix prefix;
	int ret = dnsblv6_prefix_parse(value->text, strlen(value->text), &prefix);
	if (ret != DNSBLV6_OK)
		return dnsblv6_strerror(ret);
	struct dnsblv6_prefix *added = taking_add(&prefixes->all, &prefixes->count, sizeof(*added));
	if (added == NULL)
		return taking_no_memory;
	*added = prefix;
	return NULL;
}

const char *taking_listen(void *member, const struct conf_value *value)
{
	struct listener_addresses *listen = member;
	if (listen->count == LISTENER_ADDRESS_MAX)
		return "permitted are at most 64 addresses";
	listen->all[listen->count++] = value->address;
	return NULL;
}

/* "user" or "user:group"; the group of the user when none is named. */
const char *taking_owner(void *member, const struct conf_value *value)
{
	struct settings_owner *owner = member;
	char user[SETTINGS_USER_MAX + 1];
	snprintf(user, sizeof(user), "%s", value->text);
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
	snprintf(owner->text, sizeof(owner->text), "%s", value->text);
	owner->uid = uid;
	owner->gid = gid;
	return NULL;
}

const char *taking_path(void *member, const struct conf_value *value)
{
	const struct settings *settings = value->context;
	const char *path = value->text;
	size_t max = value->item->size;
	int size = path[0] == '/' ? snprintf(member, max, "%s", path)
				  : snprintf(member, max, "%s/%s", settings->directory, path);
	return size < 0 || (size_t)size >= max ? "path is too long" : NULL;
}

/* "/" is none: it is the root of every process. */
const char *taking_chroot(void *member, const struct conf_value *value)
{
	char *path = member;
	const char *reason = taking_path(member, value);
	for (size_t size = strlen(path); size > 0 && path[size - 1] == '/'; size--)
		path[size - 1] = '\0';
	return reason;
}

/* 0 is one for each core. */
const char *taking_workers(void *member, const struct conf_value *value)
{
	long count = value->number > 0 ? (long)value->number : sysconf(_SC_NPROCESSORS_ONLN);
	unsigned *workers = member;
	*workers = count < 1			  ? 1
		   : count > SETTINGS_WORKERS_MAX ? SETTINGS_WORKERS_MAX
						  : (unsigned)count;
	return NULL;
}

const char *taking_cookie(void *member, const struct conf_value *value)
{
	return cookie_add_secret(member, value->text)
		       ? NULL
		       : "permitted are at most 4 secrets, 32 hexadecimal digits each";
}

static void copy_identity(void *member, const char *text)
{
	snprintf(member, SETTINGS_IDENTITY_MAX + 1, "%s", text);
}

const char *taking_identity(void *member, const struct conf_value *value)
{
	char host[HOST_NAME_MAX + 1] = "";
	bool is_auto = strcmp(value->text, "auto") == 0;
	if (is_auto && gethostname(host, sizeof(host) - 1) != 0)
		return "this machine has no name";
	copy_identity(member, is_auto ? host : value->text);
	return NULL;
}

const char *taking_version(void *member, const struct conf_value *value)
{
	bool is_auto = strcmp(value->text, "auto") == 0;
	copy_identity(member, is_auto ? "dnsblv6d " DNSBLV6_VERSION : value->text);
	return NULL;
}

/* ---- section "dnstap" ---- */

bool settings_has_dnstap(void)
{
#ifdef DNSBLV6_DNSTAP
	return true;
#else
	return false;
#endif
}

/* "socket", of which the whole path has no more bytes than the row permits, or "file". */
const char *taking_log(void *member, const struct conf_value *value)
{
	struct settings_dnstap *dnstap = member;
	struct conf_item item = *value->item;
	struct conf_value path = *value;
	if (!settings_has_dnstap())
		return "this build has no dnstap";
	if (dnstap->path[0] != '\0')
		return "there is one of \"socket\" and \"file\"";
	dnstap->is_socket = strcmp(item.name, "socket") == 0;
	item.size = (size_t)item.max + 1;
	path.item = &item;
	return taking_path(dnstap->path, &path);
}

const char *taking_messages(void *member, const struct conf_value *value)
{
	struct settings_dnstap *dnstap = member;
	dnstap->has_queries = value->number != 1;
	dnstap->has_responses = value->number != 0;
	return NULL;
}

const char *taking_log_zone(void *member, const struct conf_value *value)
{
	struct settings_dnstap *dnstap = member;
	struct settings_name *name = taking_add(&dnstap->zones, &dnstap->zone_count, sizeof(*name));
	return name != NULL ? taking_name(name, value) : taking_no_memory;
}

/* ---- section "xdp" ---- */

bool settings_has_xdp(void)
{
#ifdef DNSBLV6_XDP
	return true;
#else
	return false;
#endif
}

const char *taking_interface(void *member, const struct conf_value *value)
{
	struct settings_interfaces *interfaces = member;
	if (!settings_has_xdp())
		return "this build has no answers from the network driver";
	if (interfaces->count == SETTINGS_INTERFACES_MAX)
		return "permitted are at most 8 interfaces";
	for (size_t i = 0; i < interfaces->count; i++) {
		if (strcmp(interfaces->names[i], value->text) == 0)
			return "this interface is named already";
	}
	snprintf(interfaces->names[interfaces->count++], IF_NAMESIZE, "%s", value->text);
	return NULL;
}
