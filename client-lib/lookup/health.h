/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* health.h - dnsblv6-lookup --zone-health: probes all zones and prints how they are. */

#include "client-lib/lookup/lookup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The exit status: 0 when all are well, 1 when one is not. */
int health_run(struct lookup *lookup);

#ifdef __cplusplus
}
#endif
