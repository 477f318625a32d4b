/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * smtp-front-users - which addresses are recipients: text in, database out. The program's own text
 * is smtp-front-users.8.
 */

#include "integration/mail/base/users/users_build.h"
#include "integration/mail/base/users/users_read.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

/* Of the lines refused; the others are counted, as a wrong file has nothing but wrong lines. */
#define REFUSALS_SHOWN 20
#define PASSWDS_MAX    16
/* Where adduser and useradd begin with people, and below which they make accounts of the system. */
#define UID_MIN		   1000
#define MAX_SHRINK_PERCENT 50

struct source {
	const char *path;
	struct users_passwd passwd;
};

struct command_line {
	const char *database;
	struct users_facts facts; /* folds_case and extension */
	struct users_build_guard guard;
	uint32_t uid_min;
	struct source passwds[PASSWDS_MAX];
	unsigned passwd_count;
	char **lists;
	int list_count;
};

enum row {
	OPTION_DATABASE,
	OPTION_PASSWD,
	OPTION_DOMAIN,
	OPTION_MIN_UID,
	OPTION_EXTENSION,
	OPTION_KEEP_CASE,
	OPTION_MAX_SHRINK, /* of build alone, therefore last */
};

static const struct options_row rows[] = {
	[OPTION_DATABASE] = { 'd', "database", "FILE", "the database" },
	[OPTION_PASSWD] = { 'p', "passwd", "FILE", "a file like passwd; --domain has to follow" },
	[OPTION_DOMAIN] = { 0, "domain", "NAME", "domain of the users in that file" },
	[OPTION_MIN_UID] = { 0, "min-uid", "NUMBER", "leave out users below it (1000)" },
	[OPTION_EXTENSION] = { 'x', "extension", "CHARACTER",
			       "begins what is not looked at in a local part, such as +" },
	[OPTION_KEEP_CASE] = { 0, "keep-case", NULL, "John@ and john@ are two users" },
	[OPTION_MAX_SHRINK] = { 0, "max-shrink", "PERCENT", "the list may shrink by (50)" },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static int exit_status(int status)
{
	switch (status) {
	case USERS_OK:
		return EX_OK;
	case -EACCES:
	case -EPERM:
	case -EROFS:
	case USERS_ELOCK:
		return EX_NOPERM;
	case -ENOENT:
	case -EISDIR:
	case -ENOTDIR:
		return EX_NOINPUT;
	case -ENOMEM:
	case USERS_EREADERS:
	case USERS_EREPLACED:
		return EX_TEMPFAIL;
	default:
		return status <= -2000 ? EX_DATAERR : EX_IOERR;
	}
}

static int fail(const char *path, const char *what, int status)
{
	log_error(path, "%s (%s)", what, users_list_strerror(status));
	return exit_status(status);
}

/* A reader that stops early, such as head, is no failure of ours. */
static int flush_output(int status)
{
	if (fflush(stdout) == 0 || errno == EPIPE)
		return status;
	return fail(NULL, "output not written", -errno);
}

/* ---- the command line ---- */

static void take_passwd(const struct options_table *table, struct command_line *line,
			const char *path)
{
	if (line->passwd_count == PASSWDS_MAX)
		options_fail(table, "--passwd '%s': more than %d", path, PASSWDS_MAX);
	line->passwds[line->passwd_count++].path = path;
}

static void take_domain(const struct options_table *table, struct command_line *line,
			const char *domain)
{
	int ret = users_list_check_domain(domain);
	if (ret != USERS_OK)
		options_fail(table, "--domain '%s' is %s", domain, users_list_strerror(ret));
	if (line->passwd_count == 0 || line->passwds[line->passwd_count - 1].passwd.domain != NULL)
		options_fail(table, "--domain '%s' without a --passwd before it", domain);
	line->passwds[line->passwd_count - 1].passwd.domain = domain;
}

static void take_extension(const struct options_table *table, struct command_line *line,
			   const char *argument)
{
	if (strlen(argument) != 1 || strchr("!#$%&'*+-/=?^_`{|}~.", argument[0]) == NULL)
		options_fail(table, "--extension '%s' is not one of !#$%%&'*+-/=?^_`{|}~.",
			     argument);
	line->facts.extension = argument[0];
}

static void take_option(const struct options_table *table, struct command_line *line,
			enum row option, const char *argument)
{
	switch (option) {
	case OPTION_DATABASE:
		line->database = argument;
		break;
	case OPTION_PASSWD:
		take_passwd(table, line, argument);
		break;
	case OPTION_DOMAIN:
		take_domain(table, line, argument);
		break;
	case OPTION_MIN_UID:
		line->uid_min =
			(uint32_t)options_number(table, rows[option].name, argument, 0, UINT32_MAX);
		break;
	case OPTION_MAX_SHRINK:
		line->guard.max_shrink_percent =
			(unsigned)options_number(table, rows[option].name, argument, 0, 100);
		break;
	case OPTION_EXTENSION:
		take_extension(table, line, argument);
		break;
	case OPTION_KEEP_CASE:
		line->facts.folds_case = false;
		break;
	}
}

static void parse_command_line(const struct options_table *table, int argc, char **argv,
			       struct command_line *ret_line)
{
	const char *argument;
	int option;
	*ret_line = (struct command_line){
		.facts = { .folds_case = true },
		.guard = { .max_shrink_percent = MAX_SHRINK_PERCENT },
		.uid_min = UID_MIN,
	};
	while ((option = options_next(table, argc, argv, &argument)) != OPTIONS_END)
		take_option(table, ret_line, (enum row)option, argument);
	for (unsigned i = 0; i < ret_line->passwd_count; i++) {
		if (ret_line->passwds[i].passwd.domain == NULL)
			options_fail(table, "--passwd '%s' without a --domain behind it",
				     ret_line->passwds[i].path);
		ret_line->passwds[i].passwd.uid_min = ret_line->uid_min;
	}
	ret_line->lists = argv + optind;
	ret_line->list_count = argc - optind;
}

static void need_database(const struct options_table *table, const struct command_line *line)
{
	if (line->database == NULL)
		options_fail(table, "--database is missing");
}

/* ---- lists ---- */

static void log_refusal(void *context, const char *path, uint64_t line_number, const char *line,
			size_t size, int status)
{
	uint64_t *count = context;
	char place[PATH_MAX + 24];
	char text[LOG_QUOTE_MAX];
	if (++*count > REFUSALS_SHOWN)
		return;
	snprintf(place, sizeof(place), "%s:%" PRIu64, path, line_number);
	log_error(place, "line refused, text=%s (%s)", log_quote(line, size, text),
		  users_list_strerror(status));
}

/* passwd: NULL, of a list. */
static int read_source(const char *path, const struct users_passwd *passwd, struct users_list *list,
		       uint64_t *refused)
{
	int ret = users_read(path, passwd, list, log_refusal, refused);
	return ret == USERS_OK ? EX_OK : fail(path, "list not read", ret);
}

/* All that the command line names. An exit status; *refused counts the lines that were. */
static int read_all(const struct command_line *line, struct users_list *list, uint64_t *refused)
{
	int status = EX_OK;
	for (unsigned i = 0; status == EX_OK && i < line->passwd_count; i++)
		status =
			read_source(line->passwds[i].path, &line->passwds[i].passwd, list, refused);
	for (int i = 0; status == EX_OK && i < line->list_count; i++)
		status = read_source(line->lists[i], NULL, list, refused);
	if (*refused > REFUSALS_SHOWN)
		log_error(NULL, "more lines refused, count=%" PRIu64, *refused - REFUSALS_SHOWN);
	if (users_list_left_out(list) > 0)
		log_info(NULL, "users left out, count=%" PRIu64 " min-uid=%" PRIu32,
			 users_list_left_out(list), line->uid_min);
	users_list_sort(list);
	return status;
}

static void print_facts(const char *path, const char *what, const struct users_facts *facts)
{
	log_info(path, "%s, addresses=%" PRIu64 " catch-alls=%" PRIu64 " domains=%" PRIu64, what,
		 facts->address_count, facts->catchall_count, facts->domain_count);
}

/* ---- build ---- */

static const struct options_table build_table = {
	.program = "smtp-front-users build",
	.libraries = SMTP_FRONT_USERS_LIBRARIES,
	.usage = "--database FILE [options] [LIST ...]",
	.summary = "Makes a database of recipients, or replaces what one has.",
	.rows = rows,
	.row_count = ROW_COUNT,
};

static void log_shrink(const char *path, const struct users_build_guard *guard)
{
	log_error(path,
		  "list would shrink too much, %s: before=%" PRIu64 " now=%" PRIu64
		  " (%.1f%%; --max-shrink %u permits %u%%)",
		  guard->unit, guard->before, guard->now,
		  100.0 * (double)(guard->before - guard->now) / (double)guard->before,
		  guard->max_shrink_percent, guard->max_shrink_percent);
}

static int build_from(struct command_line *line, struct users_list *list)
{
	uint64_t refused = 0;
	struct users_facts facts;
	int status = read_all(line, list, &refused);
	if (status != EX_OK)
		return status;
	/* An empty list was rather lost than meant: no recipient would get mail. */
	if (refused == 0 && users_list_count(list) == 0)
		log_error(line->database, "database not changed (no recipient in the lists)");
	if (refused > 0)
		log_error(line->database, "database not changed (lines were refused)");
	if (refused > 0 || users_list_count(list) == 0)
		return EX_DATAERR;
	int ret = users_build(line->database, list, time(NULL), &line->guard);
	if (ret == USERS_ESHRINK)
		log_shrink(line->database, &line->guard);
	if (ret != USERS_OK)
		return fail(line->database, "database not changed", ret);
	users_list_facts(list, &facts);
	print_facts(line->database, "database built", &facts);
	return EX_OK;
}

static int build_command(int argc, char **argv)
{
	struct command_line line;
	struct users_list *list = NULL;
	parse_command_line(&build_table, argc, argv, &line);
	need_database(&build_table, &line);
	if (line.list_count == 0 && line.passwd_count == 0)
		options_fail(&build_table, "no LIST and no --passwd given");
	int ret = users_list_new(&line.facts, &list);
	int status = ret == USERS_OK ? build_from(&line, list) : fail(NULL, "list not read", ret);
	users_list_free(list);
	return status;
}

/* ---- check ---- */

static const struct options_table check_table = {
	.program = "smtp-front-users check",
	.libraries = SMTP_FRONT_USERS_LIBRARIES,
	.usage = "[--database FILE] [options] [LIST ...]",
	.summary = "Reads all of a database, and lists, and says what is wrong. Exit 0: nothing.",
	.rows = rows,
	.row_count = OPTION_MAX_SHRINK,
};

static int check_lists(const struct command_line *line)
{
	struct users_list *list = NULL;
	struct users_facts facts;
	uint64_t refused = 0;
	int ret = users_list_new(&line->facts, &list);
	if (ret != USERS_OK)
		return fail(NULL, "list not read", ret);
	int status = read_all(line, list, &refused);
	users_list_facts(list, &facts);
	users_list_free(list);
	if (status == EX_OK && refused == 0)
		print_facts(NULL, "lists OK", &facts);
	return status == EX_OK && refused > 0 ? 1 : status;
}

static int check_database(const struct command_line *line)
{
	struct users_facts facts;
	int ret = users_verify(line->database, &facts);
	if (ret != USERS_OK)
		return fail(line->database, "database not OK", ret);
	print_facts(line->database, "database OK", &facts);
	return EX_OK;
}

static int check_command(int argc, char **argv)
{
	struct command_line line;
	parse_command_line(&check_table, argc, argv, &line);
	bool has_lists = line.list_count > 0 || line.passwd_count > 0;
	if (line.database == NULL && !has_lists)
		options_fail(&check_table, "nothing to check: give --database or a LIST");
	int status = line.database != NULL ? check_database(&line) : EX_OK;
	return status == EX_OK && has_lists ? check_lists(&line) : status;
}

/* ---- dump and find ---- */

static const struct options_table dump_table = {
	.program = "smtp-front-users dump",
	.libraries = SMTP_FRONT_USERS_LIBRARIES,
	.usage = "--database FILE",
	.summary = "Prints a database as a list.",
	.rows = rows,
	.row_count = 1,
};

static int print_line(void *context, const char *text, size_t size)
{
	(void)context;
	return fwrite(text, 1, size, stdout) == size && putchar('\n') != EOF ? 0 : -errno;
}

static int dump_command(int argc, char **argv)
{
	struct command_line line;
	struct users *users = NULL;
	parse_command_line(&dump_table, argc, argv, &line);
	need_database(&dump_table, &line);
	if (line.list_count > 0)
		options_fail(&dump_table, "unexpected word '%s'", line.lists[0]);
	int ret = users_open(line.database, &users);
	if (ret == USERS_OK)
		ret = users_walk(users, print_line, NULL);
	users_close(users);
	if (ret != USERS_OK && ret != -EPIPE)
		return fail(line.database, "database not printed", ret);
	return flush_output(EX_OK);
}

static const struct options_table find_table = {
	.program = "smtp-front-users find",
	.libraries = SMTP_FRONT_USERS_LIBRARIES,
	.usage = "--database FILE ADDRESS ...",
	.summary =
		"Says of each address what an edge says of it. Exit 0: all are valid; 1: not all.",
	.rows = rows,
	.row_count = 1,
};

static int find_all(const struct command_line *line, struct users *users)
{
	static const char *const words[] = {
		[USERS_VALID] = "valid",
		[USERS_UNKNOWN] = "unknown",
		[USERS_NOT_OURS] = "not-ours",
	};
	int status = EX_OK;
	for (int i = 0; i < line->list_count; i++) {
		int answer = users_find(users, line->lists[i], strlen(line->lists[i]));
		if (answer < 0)
			return fail(line->database, "database not read", answer);
		printf("%s\t%s\n", line->lists[i], words[answer]);
		if (answer != USERS_VALID)
			status = 1;
	}
	return status;
}

static int find_command(int argc, char **argv)
{
	struct command_line line;
	struct users *users = NULL;
	parse_command_line(&find_table, argc, argv, &line);
	need_database(&find_table, &line);
	if (line.list_count == 0)
		options_fail(&find_table, "no ADDRESS given");
	int ret = users_open(line.database, &users);
	int status = ret == USERS_OK ? find_all(&line, users)
				     : fail(line.database, "database not opened", ret);
	users_close(users);
	return flush_output(status);
}

/* ---- the program ---- */

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "build", build_command, "make or replace a database from lists" },
	{ "check", check_command, "report what is wrong with a database or lists" },
	{ "dump", dump_command, "print the list that a database holds" },
	{ "find", find_command, "look addresses up" },
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static int print_help(void)
{
	puts("usage: smtp-front-users COMMAND [options]\n"
	     "Turns lists of recipients into the database that smtp-front asks.\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-6s %s\n", commands[i].name, commands[i].help);
	puts("\n'smtp-front-users COMMAND --help' lists the options of a command.");
	return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}

static int print_version(void)
{
	printf("smtp-front-users %s (%s)\n", DNSBLV6_VERSION, SMTP_FRONT_USERS_LIBRARIES);
	return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}

/*
 * A file that took the number of a closed standard stream would be written to in its stead. A
 * limit of the file size is to be an error, not the end; and so is a pipe without a reader.
 */
static void settle_process(void)
{
	int fd;
	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	settle_process();
	const char *word = argc > 1 ? argv[1] : NULL;
	if (word == NULL) {
		fputs("smtp-front-users: no command given; try 'smtp-front-users --help'\n",
		      stderr);
		return EX_USAGE;
	}
	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		return print_help();
	if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
		return print_version();
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(word, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "smtp-front-users: unknown command '%s'; try 'smtp-front-users --help'\n",
		word);
	return EX_USAGE;
}
