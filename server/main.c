/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6d - serves DNS blacklists out of stores.
 *
 * main() in order: options, configuration, sockets and the program in the network driver (which
 * may need root), privileges away, confinement, workers. dnsblv6d(8) is the manual.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/process/daemon.h"
#include "lib/common/checkup.h"
#include "lib/common/log.h"
#include "lib/process/systemd.h"
#include "lib/dns/listener.h"
#include "lib/dns/peer.h"
#include "server/confine/confine.h"
#include "server/control/control.h"
#include "server/process/driver.h"
#include "server/process/parent.h"
#include "server/zone/rehearse.h"
#include "server/settings/settings.h"

static const char context[] = "dnsblv6d";

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6D_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "dnsblv6d", DNSBLV6D_LIBRARIES,
		     "Serves DNS blacklists out of stores that dnsblv6-zone builds.");

static int bind_sockets(struct listener *listener, struct settings *settings)
{
	struct listener_error error;
	char address[PEER_TEXT_SIZE] = "";
	int ret = listener_open(listener, &settings->listen, settings->workers, &error);
	if (ret == 0)
		return EX_OK;
	uint16_t port = peer_format((const struct sockaddr *)&error.address, address);
	log_error(context, "cannot listen, address=%s port=%u protocol=%s (%s)", address, port,
		  error.protocol, strerror(-ret));
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

static int adopt_sockets(struct listener *listener, struct settings *settings, int count)
{
	int fd = -1;
	const char *reason = listener_adopt(listener, &settings->listen, settings->workers,
					    SYSTEMD_FIRST_FD, count, &fd);
	if (reason == NULL)
		return EX_OK;
	log_error(context, "socket of the service manager not usable, fd=%d (%s)", fd, reason);
	return EX_CONFIG;
}

/* Sockets that were passed are in the place of "listen". */
static int open_listener(struct listener *listener, struct settings *settings)
{
	int count = systemd_take_sockets();
	if (count < 0) {
		log_error(context, "sockets of the service manager not taken (%s)",
			  strerror(-count));
		return EX_OSERR;
	}
	int status = count > 0 ? adopt_sockets(listener, settings, count)
			       : bind_sockets(listener, settings);
	if (status != EX_OK)
		return status;
	for (size_t i = 0; i < settings->listen.count; i++) {
		char address[PEER_TEXT_SIZE];
		uint16_t port = peer_format((struct sockaddr *)&settings->listen.all[i], address);
		log_info(context, "listening, address=%s port=%u", address, port);
	}
	return EX_OK;
}

/* Before privileges are dropped, because only root gives things away. */
static int open_control(const struct settings *settings, struct control **ret_control)
{
	if (settings->control_path[0] == '\0')
		return EX_OK;
	int ret = control_open(settings, ret_control);
	if (ret == 0)
		return EX_OK;
	log_error(context, "control socket not opened, path=%s (%s)", settings->control_path,
		  strerror(-ret));
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

/* The last step that root is for. */
static int drop_privileges(const struct settings *settings)
{
	struct daemon_user user = { .name = settings->owner.text,
				    .uid = settings->owner.uid,
				    .gid = settings->owner.gid,
				    .groups = &settings->owner.gid,
				    .group_count = 1 };
	if (settings->owner.text[0] != '\0' && geteuid() == 0)
		confine_prepare(settings);
	return daemon_drop_privileges(&user, context);
}

/* SIGHUP has it read by the user that the server has become. */
static void warn_of_reload(const char *config_path)
{
	if (access(config_path, R_OK) != 0)
		log_warning(config_path,
			    "configuration cannot be read again, reloads will be refused (%s)",
			    strerror(errno));
}

static int confine(const struct settings *settings, struct callfilter *ret_worker_filter)
{
	struct confine_means means = confine_look();
	const char *step = NULL;
	if (!confine_is_enough(settings, &means)) {
		log_error(context, "\"confine: on\" is not possible, landlock=%d seccomp=%s",
			  means.landlock, means.has_seccomp ? "yes" : "no");
		return EX_OSERR;
	}
	int ret = confine_parent(settings, &step);
	if (ret == 0) {
		step = "seccomp";
		ret = confine_make_filter(settings, ret_worker_filter);
	}
	if (ret != 0) {
		bool is_path = strcmp(step, "chroot") == 0;
		log_error(context, "not confined, step=%s%s%s (%s)", step, is_path ? " path=" : "",
			  is_path ? settings->chroot_path : "", strerror(-ret));
		return ret == -EPERM ? EX_NOPERM : EX_OSERR;
	}
	if (settings->confine != SETTINGS_CONFINE_OFF)
		log_info(context, "confined, landlock=%d seccomp=%s", means.landlock,
			 means.has_seccomp ? "yes" : "no");
	return EX_OK;
}

static int serve(const struct daemon_command *command, struct settings *settings)
{
	struct listener listener = { 0 };
	struct callfilter worker_filter = { 0 };
	/* What SIGHUP compares with: ports as written, not as chosen. */
	struct settings configured = *settings;
	/* Of which each worker has a share for its clients: parent.c. */
	daemon_raise_descriptors();
	struct control *control = NULL;
	struct driver driver = { .keeper.fd = -1 };
	int status = open_listener(&listener, settings);
	if (status == EX_OK)
		status = open_control(settings, &control);
	if (status == EX_OK)
		driver_open(settings, &driver);
	if (status == EX_OK)
		status = drop_privileges(settings);
	if (status == EX_OK)
		warn_of_reload(command->config_path);
	if (status == EX_OK)
		status = confine(settings, &worker_filter);
	if (status == EX_OK)
		status = parent_run(command->config_path, settings, &configured, &listener,
				    &worker_filter, control, &driver);
	else
		settings_deinit(settings);
	callfilter_deinit(&worker_filter);
	driver_close(&driver);
	control_close(control);
	listener_close(&listener);
	return status;
}

/* Directories that a start needs, and that are outside of any store. */
static int look_at_directories(const struct settings *settings)
{
	char around[SETTINGS_CONTROL_MAX + 1];
	memcpy(around, settings->control_path, sizeof(around));
	int status = checkup_directory(context, "chroot", settings->chroot_path, false);
	if (status == EX_OK && around[0] != '\0')
		status = checkup_directory(context, "control", dirname(around), false);
	return status;
}

/* settings is taken over. */
static int check(const char *config_path, struct settings *settings)
{
	int status = rehearse_stores(settings);
	if (status == EX_OK)
		status = look_at_directories(settings);
	warn_of_reload(config_path);
	settings_deinit(settings);
	if (status != EX_OK)
		return status;
	puts("configuration OK");
	return EX_OK;
}

int main(int argc, char **argv)
{
	struct daemon_command command = daemon_read_command(&table, argc, argv);
	struct settings settings;
	struct conf_error error;
	if (settings_read(&settings, command.config_path, &error) != 0) {
		conf_log_error(command.config_path, &error);
		settings_deinit(&settings);
		return EX_CONFIG;
	}
	settings_log_warnings(command.config_path, &settings);
	if (command.is_check)
		return check(command.config_path, &settings);
	log_set_level((enum log_level)settings.log_level);
	return serve(&command, &settings);
}
