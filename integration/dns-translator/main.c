/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-translate - answers classic DNS blacklist questions out of bitmaps.
 *
 * main() in order: options, configuration, sockets (which may need root), privileges away,
 * the library's handle, then the loop, or several of them. dnsblv6-translate(8) is the manual.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>

#include "integration/dns-translator/crew.h"
#include "lib/common/daemon.h"
#include "lib/common/log.h"
#include "lib/common/systemd.h"
#include "lib/common/version.h"
#include "lib/dns/peer.h"

static const char context[] = "dnsblv6-translate";

static const struct options_row rows[] = DAEMON_ROWS(DNSBLV6_TRANSLATE_CONF);

static const struct options_table table = {
	.program = "dnsblv6-translate",
	.libraries = DNSBLV6_TRANSLATE_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Answers classic DNS blacklist questions out of bitmaps.",
	.rows = rows,
	.row_count = DAEMON_ROW_COUNT,
};

static int open_listener(struct listener *listener, struct setup *setup)
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
		return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
	}
	for (size_t i = 0; i < setup->listen.count; i++) {
		uint16_t port = peer_format((struct sockaddr *)&setup->listen.all[i], address);
		log_info(context, "listening, address=%s port=%u", address, port);
	}
	return EX_OK;
}

/* A descriptor for each TCP client and each question of the library; often there are 1024. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* What the library says of options. */
static int start_library(const struct setup *setup)
{
	struct dnsblv6 *client = setup->handle.client;
	int ret = dnsblv6_start(client);
	if (ret == 0)
		return EX_OK;
	log_error(context, "library not started (%s)",
		  ret == -EINVAL ? dnsblv6_error(client) : dnsblv6_strerror(ret));
	return ret == -EINVAL ? EX_CONFIG : EX_OSERR;
}

static void log_ready(const struct setup *setup)
{
	log_info(context, "ready, version=%s zones=%u lists=%u", DNSBLV6_VERSION, setup->zone_count,
		 setup->entry_count);
	int ret = systemd_notify("READY=1");
	/* It asked to be told: it waits for READY=1, and stops us when it hears nothing. */
	if (ret != 0)
		log_warning(context, "service manager not told (%s)", strerror(-ret));
}

static int serve(struct setup *setup, struct listener *listener)
{
	int status = open_listener(listener, setup);
	if (status == EX_OK)
		status = owner_drop(&setup->owner, context);
	if (status == EX_OK)
		status = start_library(setup);
	if (status != EX_OK)
		return status;
	log_ready(setup);
	if (setup->workers > 1)
		return crew_run(setup, listener);
	return service_run(setup, listener, 0, service_map_counters(1));
}

static int run(struct setup *setup)
{
	struct listener listener = { 0 };
	/* Of a log whose reader has ended. */
	signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
	dnsblv6_set_log(setup->handle.client, handle_log, (void *)(uintptr_t)context);
	int status = serve(setup, &listener);
	listener_close(&listener);
	return status;
}

int main(int argc, char **argv)
{
	struct daemon_command command =
		daemon_read_command(&table, argc, argv, DNSBLV6_TRANSLATE_CONF);
	static struct setup setup; /* some 150 kB */
	struct conf_error error;
	if (setup_read(command.config_path, &setup, &error) != 0) {
		conf_log_error(command.config_path, &error);
		return EX_CONFIG;
	}
	int status = EX_OK;
	if (command.is_check) {
		puts("configuration OK");
		status = fflush(stdout) == 0 ? EX_OK : EX_IOERR;
	} else {
		log_set_level((enum log_level)setup.log_level);
		status = run(&setup);
	}
	setup_deinit(&setup);
	return status;
}
