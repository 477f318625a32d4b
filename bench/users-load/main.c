/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * users-load - users of a mail server at work: their sessions of IMAP, the mails between them, and to and from elsewhere.
 *
 *     users-load run --workload FILE --imap HOST:PORT --smtp HOST:PORT --sink HOST:PORT --users N
 *     users-load fill --workload FILE --lmtp HOST:PORT --imap HOST:PORT --users N
 *     users-load verify --workload FILE --imap HOST:PORT --users N
 *     users-load check --workload FILE --imap HOST:PORT
 *     users-load workload --workload FILE
 *
 * Any server will do. What users do is bench/enterprise.workload; each command's --help has its options, report.h the
 * result of a run. Exit 69 when there is no server where one should be.
 */

#include "bench/users-load/drive/check.h"
#include "bench/users-load/drive/fill.h"
#include "bench/users-load/drive/run.h"
#include "bench/users-load/drive/verify.h"
#include "lib/common/subcommands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define SESSIONS_MAX 20000 /* that there are descriptors for */

static int fail(int status, const char *what, int error)
{
	fprintf(stderr, "users-load: %s: %s\n", what, strerror(error));
	return status;
}

static int write_report(const struct report *report, const char *path)
{
	FILE *file = path != NULL ? fopen(path, "we") : stdout;
	if (file == NULL)
		return fail(EX_CANTCREAT, path, errno);
	int ret = report_print(report, file);
	if (path != NULL && fclose(file) != 0)
		ret = -errno;
	return ret < 0 ? fail(EX_IOERR, path != NULL ? path : "standard output", -ret) : EX_OK;
}

static int command_run(int argc, char **argv)
{
	static struct setup setup;
	static struct report report;
	const char *place = NULL;
	setup_read(SETUP_RUN, argc, argv, &setup);
	setup_probe("imap", &setup.imap);
	setup_probe("smtp", &setup.smtp);
	setup_probe("submit", &setup.submit);
	setup_share_descriptors(SESSIONS_MAX);
	const int ret = run_load(&setup, &report, &place);
	return ret != 0 ? fail(EX_UNAVAILABLE, place, -ret)
			: write_report(&report, setup.result_path);
}

static int command_fill(int argc, char **argv)
{
	static struct setup setup;
	setup_read(SETUP_FILL, argc, argv, &setup);
	setup_probe("lmtp", &setup.lmtp);
	setup_probe("imap", &setup.imap);
	return fill_mailboxes(&setup);
}

static int command_verify(int argc, char **argv)
{
	static struct setup setup;
	setup_read(SETUP_VERIFY, argc, argv, &setup);
	setup_probe("imap", &setup.imap);
	return verify_mailboxes(&setup);
}

/* The parameters, and what follows from them. */
static int print_workload(FILE *file, bool is_markdown, struct workload_error *ret_error)
{
	struct workload workload;
	int ret = workload_print(file, is_markdown, stdout, ret_error);
	if (ret != 0)
		return ret;
	rewind(file);
	ret = workload_read(file, &workload, ret_error);
	if (ret != 0)
		return ret;
	putchar('\n');
	return workload_print_sums(&workload, is_markdown, stdout);
}

static int command_check(int argc, char **argv)
{
	static struct setup setup;
	setup_read(SETUP_CHECK, argc, argv, &setup);
	setup_probe("imap", &setup.imap);
	return check_server(&setup);
}

static int command_workload(int argc, char **argv)
{
	static struct setup setup;
	struct workload_error error = { 0 };
	setup_read(SETUP_WORKLOAD, argc, argv, &setup);
	FILE *file = fopen(setup.workload_path, "re");
	if (file == NULL)
		return fail(EX_NOINPUT, setup.workload_path, errno);
	const int ret = print_workload(file, setup.is_markdown, &error);
	fclose(file);
	return ret == 0 ? EX_OK : setup_complain(setup.workload_path, &error);
}

static const struct subcommand commands[] = {
	{ "run", command_run, "users at work for a while" },
	{ "fill", command_fill, "put mails into mailboxes" },
	{ "verify", command_verify, "look whether they are there" },
	{ "check", command_check, "look whether a server is one for it" },
	{ "workload", command_workload, "print the parameters" },
};

int main(int argc, char **argv)
{
	static const struct subcommands table = {
		.program = "users-load",
		.summary = "Users of a mail server at work, for measurements.",
		.rows = commands,
		.row_count = sizeof(commands) / sizeof(commands[0]),
	};
	/* A server that hangs up is an error of a write. */
	signal(SIGPIPE, SIG_IGN);
	return subcommands_run(&table, argc, argv);
}
