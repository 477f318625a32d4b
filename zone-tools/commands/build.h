/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * build.h - the options of dnsblv6-zone build, as settings of zones.conf.
 *
 * Flow: build.c has the rows -> zonecall.c and watch.c hold zones.conf against them.
 */

#include "zone-tools/zones/zonesconf.h"

const struct zonesconf_command *build_settings(void);

/* Of a zone whose settings are those: what build_zone() and sign_zone() leave to their caller. */
bool build_has_secondaries(const struct zonesconf_zone *zone);
/* Waits for them as a build does. EX_OK, EX_UNAVAILABLE, or why a store cannot be read. */
int build_await(const struct zonesconf_zone *zone);
