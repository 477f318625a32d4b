/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * build.h - the options of dnsblv6-zone build, as settings of zones.conf.
 *
 * Flow: build.c has the rows -> zonecall.c and watch.c hold zones.conf against them.
 */

#include "zone-tools/zones/zonesconf.h"

#ifdef __cplusplus
extern "C" {
#endif

const struct zonesconf_command *build_settings(void);

#ifdef __cplusplus
}
#endif
