/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/common/log.h"
#include "lib/process/clock.h"
#include "server/zone/catalog.h"
#include "server/control/report.h"

static const char context[] = "dnsblv6d";

/* How many workers there may be now, those that drain too. */
static int count_slots(const struct parent *parent)
{
	int count = 0;
	const struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	count += (int)generation->settings.workers;
	return count;
}

/* The table of the past, and those of every generation or of one alone. NULL: no memory. */
static struct talkers *list_tables(const struct parent *parent, const struct generation *only,
				   size_t *ret_count)
{
	size_t count = 0;
	struct talkers *tables = NULL;
	const struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	count += generation->settings.workers;
	tables = calloc(count + 1, sizeof(*tables));
	if (tables == NULL)
		return NULL;
	tables[0] = talkers_of_worker(&parent->past_talkers, 0);
	count = 1;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		if ((only != NULL && generation != only) ||
		    !talkers_is_alike(&generation->talkers.shape, &parent->past_talkers.shape))
			continue;
		for (size_t i = 0; i < generation->settings.workers; i++)
			tables[count++] = talkers_of_worker(&generation->talkers, i);
	}
	*ret_count = count;
	return tables;
}

int accounts_keep_talkers(const struct parent *parent, const struct generation *generation)
{
	size_t count = 0;
	struct talkers *tables = list_tables(parent, generation, &count);
	int ret = tables == NULL ? -ENOMEM : talkers_merge(&tables[0], tables, count);
	free(tables);
	return ret;
}

/* All that was counted, into an empty totals. 0 or -ENOMEM. */
static int add_up(const struct parent *parent, struct totals *totals)
{
	int ret = totals_add(totals, &parent->past);
	totals->server[COUNTERS_SERVER_TAPPED_LOST] += querylog_count_lost(&parent->querylog);
	const struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		if (ret == 0)
			ret = totals_add_bank(totals, &generation->bank, &generation->settings);
	}
	return ret;
}

void accounts_log(const struct parent *parent)
{
	struct totals totals;
	totals_init(&totals);
	if (add_up(parent, &totals) != 0)
		log_error(context, "counters lost (%s)", strerror(ENOMEM));
	char text[COUNTERS_TEXT_MAX];
	log_info(context, "counters, %s",
		 counts_format(counters_server_labels, totals.server, COUNTERS_SERVER_COUNT, true,
			       text, sizeof(text)));
	const struct settings *settings =
		&TAILQ_LAST(&parent->generations, generation_list)->settings;
	for (size_t i = 0; i < catalog_count_faces(settings); i++) {
		const char *name = catalog_face_name(settings, i)->text;
		const uint64_t *values = totals_find(&totals, name);
		if (values == NULL)
			continue;
		log_info(name, "counters, %s",
			 counts_format(counters_face_labels, values, COUNTERS_FACE_COUNT, true,
				       text, sizeof(text)));
	}
	totals_deinit(&totals);
}

/* ---- what dnsblv6ctl asks for ---- */

static struct report_worker describe_slot(const struct generation *generation, size_t index)
{
	const struct crew_slot *slot = &generation->crew.slots[index];
	const struct worker_state *known = &generation->states[index];
	const char *state = slot->pid == 0			 ? "dead"
			    : generation_is_draining(generation) ? "draining"
			    : known->word == WORKER_SERVES	 ? "serving"
								 : "starting";
	return (struct report_worker){
		.generation = generation->number,
		.index = index,
		.pid = slot->pid,
		.state = state,
		.uptime_s = slot->pid == 0 ? 0 : (clock_now_ms() - slot->began_ms) / 1000,
		.restarts = known->restarts,
	};
}

static struct report_worker *list_workers(const struct parent *parent, size_t *ret_count)
{
	struct report_worker *workers = calloc((size_t)count_slots(parent) + 1, sizeof(*workers));
	size_t count = 0;
	const struct generation *generation = NULL;
	if (workers == NULL)
		return NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		for (size_t i = 0; i < generation->settings.workers; i++)
			workers[count++] = describe_slot(generation, i);
	}
	*ret_count = count;
	return workers;
}

/* They are borrowed from the parent. */
static void list_driver(const struct parent *parent, struct report_interface *interfaces,
			struct report *report)
{
	const struct load *load = &parent->driver->load;
	for (size_t i = 0; i < load->link_count; i++)
		interfaces[i] = (struct report_interface){ load->links[i].name,
							   load->links[i].is_generic ? "generic"
										     : "driver" };
	report->interfaces = interfaces;
	report->interface_count = load->link_count;
}

static struct report_filler describe_filler(const struct generation *generation)
{
	const struct crew_slot *slot = &generation->crew.slots[generation->settings.workers];
	return (struct report_filler){
		.generation = generation->number,
		.pid = slot->pid,
		.uptime_s = slot->pid == 0 ? 0 : (clock_now_ms() - slot->began_ms) / 1000,
		.restarts = generation->filler_restarts,
	};
}

int accounts_write_report(const struct parent *parent, const struct request *request, FILE *out)
{
	const struct generation *shown =
		parent->serving != NULL ? parent->serving
					: TAILQ_LAST(&parent->generations, generation_list);
	struct totals totals;
	totals_init(&totals);
	struct report report = { .now_s = (uint64_t)time(NULL),
				 .uptime_s = (clock_now_ms() - parent->started_ms) / 1000,
				 .generation = parent->serving != NULL ? shown->number : 0,
				 .restarts = parent->past_restarts,
				 .reloads = parent->reloads,
				 .reloads_refused = parent->reloads_refused,
				 .is_stopping = parent->is_stopping,
				 .settings = &shown->settings,
				 .zonestatus = &shown->zonestatus,
				 .followstatus = &shown->followstatus,
				 .driverstatus = &shown->driverstatus,
				 .totals = &totals,
				 .shape = parent->past_talkers.shape };
	struct report_worker *workers = list_workers(parent, &report.worker_count);
	struct talkers *tables = list_tables(parent, NULL, &report.table_count);
	struct report_interface interfaces[XDP_LINKS_MAX];
	struct report_filler filler = { 0 };
	list_driver(parent, interfaces, &report);
	if (generation_has_filler(shown)) {
		filler = describe_filler(shown);
		report.filler = &filler;
	}
	report.workers = workers;
	report.tables = tables;
	for (size_t i = 0; i < report.worker_count; i++)
		report.restarts += workers[i].restarts;
	int ret = workers == NULL || tables == NULL ? -ENOMEM : add_up(parent, &totals);
	if (ret == 0)
		ret = report_print(&report, request, out);
	totals_deinit(&totals);
	free(workers);
	free(tables);
	return ret;
}
