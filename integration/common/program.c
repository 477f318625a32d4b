/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/program.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "lib/common/log.h"
#include "lib/process/systemd.h"

int program_read(const char *path, program_parse_fn parse, void *ret_setup,
		 struct conf_error *reterr_error)
{
	char *text = NULL;
	size_t size = 0;
	int ret = conf_load(path, &text, &size, reterr_error);
	if (ret != 0)
		return ret;
	ret = parse(text, size, ret_setup, reterr_error);
	free(text);
	return ret;
}

int program_parse_rows(const char *text, size_t text_size, const struct conf_table *table,
		       void *ret_setup, struct handle *handle, struct judge *judge,
		       struct conf_error *reterr_error)
{
	int ret = handle_init(handle);
	if (ret == 0 && judge != NULL)
		ret = judge_init(judge, handle->client);
	if (ret != 0)
		return conf_refuse(reterr_error, ret, "%s", dnsblv6_strerror(ret));
	return conf_parse(text, text_size, table, ret_setup, reterr_error);
}

int program_parse(const char *text, size_t text_size, const struct conf_table *table,
		  void *ret_setup, struct handle *handle, struct judge *judge,
		  struct conf_error *reterr_error)
{
	int ret =
		program_parse_rows(text, text_size, table, ret_setup, handle, judge, reterr_error);
	if (ret != 0 || judge == NULL)
		return ret;
	if (handle->lists[HANDLE_ZONES][0] == '\0')
		return conf_refuse(reterr_error, -EINVAL, "library: \"zones\" is not given");
	ret = handle_finish(handle, reterr_error);
	return ret == 0 ? judge_finish(judge, reterr_error) : ret;
}

int program_end_check(int status)
{
	if (status == EX_OK)
		puts("configuration OK");
	return status;
}

int program_main(const struct program *program, int argc, char **argv, void *setup)
{
	struct daemon_command command = daemon_read_command(program->options, argc, argv);
	struct conf_error error;
	int status = EX_CONFIG;
	if (program_read(command.config_path, program->parse, setup, &error) != 0)
		conf_log_error(command.config_path, &error);
	else if (!command.is_check)
		status = program->run(setup);
	else
		status = program_end_check(program->check == NULL ? EX_OK : program->check(setup));
	if (program->deinit != NULL)
		program->deinit(setup);
	return status;
}

void program_begin(const char *context, int log_level, struct dnsblv6 *client)
{
	log_set_level((enum log_level)log_level);
	dnsblv6_set_log(client, handle_log, (void *)(uintptr_t)context);
	/* Of a log whose reader has ended, and of clients. */
	signal(SIGPIPE, SIG_IGN);
}

int program_refused_status(int ret)
{
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

int program_start_library(const char *context, struct dnsblv6 *client)
{
	int ret = dnsblv6_start(client);
	if (ret == 0)
		return EX_OK;
	/* What it says of options is in its own words. */
	log_error(context, "library not started (%s)",
		  ret == -EINVAL ? dnsblv6_error(client) : dnsblv6_strerror(ret));
	return ret == -EINVAL ? EX_CONFIG : EX_OSERR;
}

void program_tell_ready(const char *context)
{
	int ret = systemd_notify("READY=1");
	/* It asked to be told: it waits for READY=1, and stops us when it hears nothing. */
	if (ret != 0)
		log_warning(context, "service manager not told (%s)", strerror(-ret));
}

void program_tell_not_reloaded(void)
{
	systemd_notify(PROGRAM_NOT_RELOADED);
}

void program_tell_reloaded(void)
{
	systemd_notify("STATUS=");
}

void program_tell_stopping(const char *context, int signal_number)
{
	log_info(context, "stopping, signal=%d", signal_number);
	systemd_notify("STOPPING=1");
}
