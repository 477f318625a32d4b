/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mail-hub - a mail server of several programs, with one configuration.
 *
 * main() in order: options, configuration, and then what was asked for: the programs (hub.c), a look at
 * what they would get, or that itself. mail-hub(8) is the manual.
 */
#include "integration/common/program.h"
#include "integration/mail/mail-hub/hub.h"
#include "integration/mail/mail-hub/hub_files.h"
#include "integration/mail/mail-hub/hub_places.h"
#include "integration/mail/mail-hub/hub_programs.h"
#include "lib/common/log.h"

#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

struct command {
	const char *config_path;
	const char *shown;
	bool is_check;
};

static const struct options_bound rows[] = {
	{ { 'c', "config", "FILE", "read FILE instead of " MAIL_HUB_CONF },
	  OPTIONS_AT(struct command, config_path),
	  .standard = MAIL_HUB_CONF },
	{ { 'n', "check", NULL, "check the configuration, also that of each program, and exit" },
	  OPTIONS_AT(struct command, is_check) },
	{ { 's', "show", "PROGRAM", "print the configuration that PROGRAM gets, and exit" },
	  OPTIONS_AT(struct command, shown) },
};

static const struct options_table table = {
	.program = "mail-hub",
	.libraries = MAIL_HUB_LIBRARIES,
	.usage = "[--config FILE] [--check | --show PROGRAM]",
	.summary = "Runs smtp-front, pop-front and mail-stored as one mail server.",
	OPTIONS_ROWS(rows),
};

static int check(const struct hub_setup *setup)
{
	hub_warn_of_root(setup);
	int status = hub_places_are_apart(setup) ? hub_files_try(setup) : EX_CONFIG;
	if (status == EX_OK)
		puts("configuration OK");
	return status;
}

static int show(const struct hub_setup *setup, const char *name)
{
	unsigned program = hub_programs_find(name);
	if (program == HUB_PROGRAMS)
		options_fail(&table, "'%s' is not a program of mail-hub", name);
	if (!hub_programs[program].is_wanted(setup)) {
		log_error(hub_context, "program is not configured, program=%s", name);
		return EX_CONFIG;
	}
	char *text = hub_programs_text(program, setup);
	if (text == NULL)
		return EX_OSERR;
	fputs(text, stdout);
	free(text);
	return EX_OK;
}

int main(int argc, char **argv)
{
	static struct hub_setup setup;
	struct command command = { 0 };
	struct conf_error error;
	options_settle_process();
	options_parse_alone(&table, argc, argv, &command);
	if (command.is_check && command.shown != NULL)
		options_fail(&table, "--check and --show are two things");
	if (program_read(command.config_path, hub_setup_parse, &setup, &error) != 0) {
		conf_log_error(command.config_path, &error);
		return EX_CONFIG;
	}
	if (command.is_check)
		return check(&setup);
	return command.shown != NULL ? show(&setup, command.shown)
				     : hub_run(&setup, command.config_path);
}
