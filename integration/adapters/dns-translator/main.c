/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-translate - answers classic DNS blacklist questions out of bitmaps.
 *
 * main() in order: options, configuration, sockets (which may need root or a capability), privileges away,
 * the library's handle, then the loop, or several of them. dnsblv6-translate(8) is the manual.
 */
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/adapters/dns-translator/workers.h"
#include "integration/common/program.h"
#include "lib/common/log.h"
#include "lib/common/version.h"
#include "lib/dns/peer.h"
#include "lib/process/capabilities.h"

static const char context[] = "dnsblv6-translate";

/* Sockets of the library's resolver, 512 at most, and some files. */
#define OWN_DESCRIPTORS 544

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_TRANSLATE_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "dnsblv6-translate", DNSBLV6_TRANSLATE_LIBRARIES,
		     "Answers classic DNS blacklist questions out of bitmaps.");

static int open_listener(struct listener *listener, struct translate_setup *setup)
{
	struct listener_error error;
	char address[PEER_TEXT_SIZE] = "";
	int ret = listener_open(listener, &setup->listen, setup->workers, &error);
	if (ret != 0) {
		uint16_t port =
			error.address.ss_family == AF_UNSPEC
				? 0
				: peer_format((const struct sockaddr *)&error.address, address);
		log_error(context, "cannot listen, address=%s port=%u protocol=%s (%s)", address,
			  port, error.protocol, strerror(-ret));
		return program_refused_status(ret);
	}
	for (size_t i = 0; i < setup->listen.count; i++) {
		uint16_t port = peer_format((struct sockaddr *)&setup->listen.all[i], address);
		log_info(context, "listening, address=%s port=%u", address, port);
	}
	return EX_OK;
}

/* By which another user than root, such as the unit's, could bind a port below 1024. */
static void give_up_capabilities(void)
{
	int ret = geteuid() != 0 ? capabilities_keep(0) : 0;
	if (ret != 0)
		log_warning(context, "capabilities not given up (%s)", strerror(-ret));
}

static void log_ready(const struct translate_setup *setup)
{
	log_info(context, "ready, version=%s zones=%u lists=%u", DNSBLV6_VERSION, setup->zone_count,
		 setup->entry_count);
	program_tell_ready(context);
}

static int serve(struct translate_setup *setup, struct listener *listener)
{
	int status = open_listener(listener, setup);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	if (status == EX_OK)
		give_up_capabilities();
	if (status == EX_OK)
		status = program_start_library(context, setup->handle.client);
	if (status != EX_OK)
		return status;
	log_ready(setup);
	if (setup->workers > 1)
		return workers_run(setup, listener);
	return translate_service_run(setup, listener, 0, service_map_counters(1));
}

static int run(void *data)
{
	struct translate_setup *setup = data;
	struct listener listener = { 0 };
	program_begin(context, setup->log_level, setup->handle.client);
	size_t sockets = (2 * setup->workers + 1) * setup->listen.count;
	setup->tcp_clients_max = daemon_share_descriptors(
		context, OWN_DESCRIPTORS + (unsigned)sockets, setup->tcp_clients_max);
	int status = serve(setup, &listener);
	listener_close(&listener);
	return status;
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, translate_setup_parse, run,
						translate_setup_deinit, NULL };
	static struct translate_setup setup; /* some 150 kB */
	return program_main(&program, argc, argv, &setup);
}
