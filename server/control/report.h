/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * report.h - what the server knows about itself, as text.
 *
 * Flow: parent.c collects a struct report -> report_print() -> control.c.
 *
 * Lines of fields with tabs between, which dnsblv6ctl(8) describes; and the
 * text format of Prometheus, whose names follow from those of the counters:
 * "transfers-failed" of a zone is dnsblv6_zone_transfers_failed_total.
 *
 * No clock, no socket: everything comes in the report. Nothing is kept.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "server/counts/driverstatus.h"
#include "server/counts/followstatus.h"
#include "server/counts/zonestatus.h"
#include "server/control/request.h"
#include "server/settings/settings.h"
#include "server/askers/talkers.h"
#include "server/control/totals.h"

#ifdef __cplusplus
extern "C" {
#endif

struct report_worker {
	uint64_t generation;
	size_t index;
	pid_t pid;	   /* 0: not running */
	const char *state; /* "starting", "serving", "draining", "dead" */
	uint64_t uptime_s;
	uint64_t restarts; /* of its place in this generation */
};

/* A network interface whose driver answers. */
struct report_interface {
	const char *name;
	const char *mode; /* "driver", or "generic" for the kernel behind it */
};

/* The process that fills the driver's tables. */
struct report_filler {
	uint64_t generation;
	pid_t pid; /* 0: not running */
	uint64_t uptime_s;
	uint64_t restarts;
};

struct report {
	uint64_t now_s; /* Unix time */
	uint64_t uptime_s;
	uint64_t generation; /* the one that serves; 0: none does yet */
	uint64_t restarts;   /* of workers of all generations */
	uint64_t reloads;
	uint64_t reloads_refused;
	bool is_stopping;
	const struct report_worker *workers;
	size_t worker_count;
	const struct settings *settings; /* of the newest generation, as the zonestatus */
	const struct zonestatus *zonestatus;
	const struct followstatus *followstatus;
	const struct driverstatus *driverstatus;
	const struct report_interface *interfaces; /* none: sockets answer all */
	size_t interface_count;
	const struct report_filler *filler; /* NULL without interfaces */
	const struct totals *totals;
	struct talkers_shape shape;
	const struct talkers *tables;
	size_t table_count;
};

/* What request asks for; not for REQUEST_RELOAD and REQUEST_STOP. 0 or -ENOMEM. */
int report_print(const struct report *report, const struct request *request, FILE *out);

#ifdef __cplusplus
}
#endif
