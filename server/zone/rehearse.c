/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/rehearse.h"

#include <errno.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/process/capabilities.h"
#include "lib/process/daemon.h"
#include "lib/common/log.h"
#include "lib/lmdb/verify.h"
#include "lib/store/tables.h"
#include "server/zone/zone.h"

/* 0, or why a worker would not serve it. */
static int look_at(const struct settings_zone *configured)
{
	struct dnsblv6_facts facts;
	struct zone zone;
	int ret = verify_store(configured->store, &zone_store, &facts);
	if (ret != 0)
		return ret;
	zone_init(&zone, configured->domain.wire, configured->domain.size, configured->store);
	return zone_has_apex(&zone, &facts.zone) ? 0 : ZONE_EAPEX;
}

static bool is_refusal(int status)
{
	return status == -EACCES || status == -EPERM || status == STORE_ELOCK;
}

/* Workers of a server that stays root have no capabilities, and read what root's files let them. */
static bool is_root_of_workers(const struct settings *settings)
{
	return geteuid() == 0 &&
	       (settings->confine != SETTINGS_CONFINE_OFF || settings->chroot_path[0] != '\0');
}

static int look_at_all(const struct settings *settings, bool is_other)
{
	int status = EX_OK;
	for (size_t i = 0; i < settings->zone_count; i++) {
		const struct settings_zone *zone = &settings->zones[i];
		int ret = look_at(zone);
		if (ret == 0)
			continue;
		if (is_other && is_refusal(ret)) {
			log_warning(zone->domain.text,
				    "store cannot be opened by this user, path=%s (%s)",
				    zone->store, zone_strerror(ret));
			continue;
		}
		log_error(zone->domain.text, "store cannot be opened, path=%s (%s)", zone->store,
			  zone_explain(ret));
		status = EX_NOINPUT;
	}
	return status;
}

int rehearse_stores(const struct settings *settings)
{
	struct capabilities own;
	const struct daemon_user user = { .name = settings->owner.text,
					  .uid = settings->owner.uid,
					  .gid = settings->owner.gid,
					  .groups = &settings->owner.gid,
					  .group_count = 1 };
	bool is_other = settings->owner.text[0] != '\0' && geteuid() != 0 &&
			geteuid() != settings->owner.uid;
	int status = is_other ? EX_OK : daemon_drop_privileges(&user, "dnsblv6d");
	if (status != EX_OK)
		return status;
	if (!is_root_of_workers(settings) || capabilities_get(&own) != 0)
		return look_at_all(settings, is_other);
	struct capabilities bare = own;
	bare.effective = 0;
	capabilities_set(&bare);
	status = look_at_all(settings, is_other);
	capabilities_set(&own); /* the parent keeps them */
	return status;
}
