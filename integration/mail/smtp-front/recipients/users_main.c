/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * smtp-front-users - which addresses are recipients: text in, database out. The program's own text
 * is smtp-front-users.8.
 */

#include "integration/mail/base/users/users.h"
#include "integration/mail/base/users/users_address.h"
#include "integration/mail/base/users/users_build.h"
#include "integration/mail/base/users/users_list.h"
#include "integration/mail/smtp-front/recipients/users_hash.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/pop3/scram.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>

/* Of the lines refused; the others are counted, as a wrong file has nothing but wrong lines. */
#define REFUSALS_SHOWN	   20
#define MAX_SHRINK_PERCENT 50
#define SCRAM_ITERATIONS   4096 /* the least of RFC 7677 */

struct command_line {
	const char *database;
	const char *logins;	    /* NULL: the database has what checks logins, too */
	struct users_builder build; /* facts and max_shrink_percent */
	enum users_hash_method method;
	bool is_scram;
	uint32_t iterations;
	char **words; /* lists, or addresses */
	int word_count;
	uint64_t refused;	  /* lines */
	uint64_t refused_targets; /* of aliases, when no line was refused */
	bool has_unread_list;	  /* and a line that says why */
};

/* A command takes so many options from the first on, and words of this name or none. */
struct command {
	const char *name;
	size_t first_option;
	size_t option_count;
	const char *word;
	int (*run)(struct command_line *line);
};

enum row {
	OPTION_DATABASE, /* of all commands but hash */
	OPTION_EXTENSION,
	OPTION_KEEP_CASE,
	OPTION_MAX_SHRINK,
	OPTION_LOGINS, /* of build alone */
	OPTION_METHOD, /* from here on of hash */
	OPTION_SCRAM,
	OPTION_ITERATIONS,
};

static const char *take_extension(void *member, const char *argument)
{
	static const char permitted[] = "!#$%&'*+-/=?^_`{|}~.";
	char *extension = member;
	if (strlen(argument) != 1 || strchr(permitted, argument[0]) == NULL)
		return "not one of !#$%&'*+-/=?^_`{|}~.";
	*extension = argument[0];
	return NULL;
}

static const char *take_keep_case(void *member, const char *argument)
{
	bool *folds_case = member;
	(void)argument;
	*folds_case = false;
	return NULL;
}

static const char *take_method(void *member, const char *argument)
{
	return users_hash_find(argument, member) ? NULL : "not yescrypt, sha512 or bcrypt";
}

#define AT(member) OPTIONS_AT(struct command_line, member)

static const struct options_bound rows[] = {
	[OPTION_DATABASE] = { { 'd', "database", "FILE", "the database" },
			      AT(database),
			      .is_required = true },
	[OPTION_EXTENSION] = { { 'x', "extension", "CHARACTER",
				 "begins what is not looked at in a local part, such as +" },
			       AT(build.facts.extension),
			       .take = take_extension },
	[OPTION_KEEP_CASE] = { { 0, "keep-case", NULL, "John@ and john@ are two users" },
			       AT(build.facts.folds_case),
			       .take = take_keep_case },
	[OPTION_MAX_SHRINK] = { { 0, "max-shrink", "PERCENT", "the list may shrink by (50)" },
				AT(build.max_shrink_percent),
				.max = 100 },
	[OPTION_LOGINS] = { { 0, "logins", "FILE",
			      "passwords go into this database, and into no other" },
			    AT(logins) },
	[OPTION_METHOD] = { { 'm', "method", "NAME",
			      "of hash: yescrypt (default), sha512 or bcrypt" },
			    AT(method),
			    .take = take_method },
	[OPTION_SCRAM] = { { 's', "scram", NULL, "of hash: keys of SCRAM-SHA-256 instead" },
			   AT(is_scram) },
	[OPTION_ITERATIONS] = { { 'i', "iterations", "NUMBER", "of these (4096)" },
				AT(iterations),
				.min = SCRAM_ITERATIONS,
				.max = SCRAM_ITERATIONS_MAX },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static const struct options_table all = {
	.program = "smtp-front-users",
	.libraries = SMTP_FRONT_USERS_LIBRARIES,
	.usage = "COMMAND [--database FILE] [options] [LIST ... | ADDRESS ...]",
	.summary = "Turns lists of recipients into the database that smtp-front asks.\n\n"
		   "  build  make a database of the LISTs, or replace what one has\n"
		   "  check  read all of a database and say whether it is whole\n"
		   "  dump   print the list that a database holds\n"
		   "  find   look each ADDRESS up\n"
		   "  hash   read a password and print the word that a list has of it",
	OPTIONS_ROWS(rows),
};

static int fail(const char *path, const char *what, int status)
{
	log_error(path, "%s (%s)", what, users_strerror(status));
	return store_exit_status(status);
}

/* ---- the command line ---- */

static void parse_command_line(const struct command *command, int argc, char **argv,
			       struct command_line *ret_line)
{
	struct options_table own = all;
	const struct options_table *table = &own;
	own.bound = rows + command->first_option;
	own.row_count = command->option_count;
	*ret_line = (struct command_line){
		.build = { .facts = { .folds_case = true, .built_at_s = time(NULL) },
			   .max_shrink_percent = MAX_SHRINK_PERCENT },
		.iterations = SCRAM_ITERATIONS,
	};
	options_parse(table, argc, argv, ret_line);
	ret_line->words = argv + optind;
	ret_line->word_count = argc - optind;
	if (ret_line->logins != NULL && ret_line->database != NULL &&
	    strcmp(ret_line->logins, ret_line->database) == 0)
		options_fail(table, "--logins and --database are the same file");
	if (command->word != NULL && ret_line->word_count == 0)
		options_fail(table, "no %s given", command->word);
	if (command->word == NULL && ret_line->word_count > 0)
		options_fail(table, "unexpected word"); /* of hash it may be a password */
}

static void print_facts(const char *path, const char *what, const struct users_facts *facts)
{
	log_info(path, "%s, addresses=%" PRIu64 " catch-alls=%" PRIu64 " domains=%" PRIu64, what,
		 facts->address_count, facts->catchall_count, facts->domain_count);
}

/* ---- build ---- */

/* A list that is read. */
struct list {
	const char *path;
	FILE *file;
	uint64_t line_number;
	char line[USERS_LIST_LINE_MAX];
	size_t size; /* of the whole line, which may be more */
};

/* false behind the last line, and when reading has failed. */
static bool next_line(struct list *list)
{
	int c;
	list->size = 0;
	while ((c = getc_unlocked(list->file)) != EOF && c != '\n') {
		if (list->size < sizeof(list->line))
			list->line[list->size] = (char)c;
		list->size++;
	}
	list->line_number++;
	return c != EOF || (list->size > 0 && ferror(list->file) == 0);
}

static int add_line(struct users_builder *build, const struct list *list)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t mark_size = sizeof(mark) - 1;
	if (list->size > sizeof(list->line))
		return USERS_ELINE;
	if (list->line_number == 1 && list->size >= mark_size &&
	    memcmp(list->line, mark, mark_size) == 0)
		return users_build_add(build, list->line + mark_size, list->size - mark_size);
	return users_build_add(build, list->line, list->size);
}

/* Logs have more readers than a list or a database. */
static void log_refusal(const struct list *list, const struct users_facts *facts, int status)
{
	char place[PATH_MAX + 24];
	char shown[USERS_LIST_SHOWN_MAX];
	char text[LOG_QUOTE_MAX];
	const size_t size = list->size < sizeof(list->line) ? list->size : sizeof(list->line);
	const size_t shown_size = users_list_show(list->line, size, facts, shown);
	snprintf(place, sizeof(place), "%s:%" PRIu64, list->path, list->line_number);
	log_error(place, "line refused, text=%s (%s)", log_quote(shown, shown_size, text),
		  users_strerror(status));
}

/* It has no line any more: all lists were one list. */
static void refuse_target(void *context, struct store_bytes alias, struct store_bytes target,
			  int status)
{
	struct command_line *line = context;
	struct users_value none;
	char alias_text[USERS_LIST_PRINT_MAX];
	char target_text[USERS_ADDRESS_PRINT_MAX];
	users_value_clear(&none);
	if (++line->refused_targets > REFUSALS_SHOWN)
		return;
	const size_t alias_size = users_list_print(alias, &none, alias_text);
	const size_t target_size =
		users_address_print(target.data, target.size, false, target_text);
	log_error(NULL, "alias refused, %.*s to=%.*s (%s)", (int)alias_size, alias_text,
		  (int)target_size, target_text, users_strerror(status));
}

static int add_lines(struct users_builder *build, struct list *list, uint64_t *refused)
{
	errno = 0;
	while (next_line(list)) {
		int ret = add_line(build, list);
		bool is_refused = ret <= USERS_ESHRINK;
		if (ret != STORE_OK && !is_refused)
			return ret;
		if (is_refused && ++*refused <= REFUSALS_SHOWN)
			log_refusal(list, &build->facts, ret);
	}
	if (ferror(list->file) == 0)
		return STORE_OK;
	return errno != 0 ? -errno : -EIO;
}

/* "-" is standard input. */
static int add_list(struct users_builder *build, const char *path, uint64_t *refused)
{
	struct list list = { .path = path };
	struct stat st;
	bool is_input = strcmp(path, "-") == 0;
	list.file = is_input ? stdin : fopen(path, "re");
	if (list.file == NULL)
		return -errno;
	int ret = fstat(fileno(list.file), &st) == 0 && S_ISDIR(st.st_mode) ? -EISDIR : STORE_OK;
	if (ret == STORE_OK)
		ret = add_lines(build, &list, refused);
	if (!is_input)
		fclose(list.file);
	return ret;
}

static void log_more(const char *what, uint64_t refused)
{
	if (refused > REFUSALS_SHOWN)
		log_error(NULL, "more %s refused, count=%" PRIu64, what, refused - REFUSALS_SHOWN);
}

static int add_lists(struct users_builder *build, void *context)
{
	struct command_line *line = context;
	for (int i = 0; i < line->word_count; i++) {
		int ret = add_list(build, line->words[i], &line->refused);
		if (ret != STORE_OK) {
			log_error(line->words[i], "list not read (%s)", users_strerror(ret));
			line->has_unread_list = true;
			return ret;
		}
	}
	log_more("lines", line->refused);
	if (line->refused > 0)
		return USERS_EREFUSED;
	/* An empty list was rather lost than meant: no recipient would get mail. */
	return build->facts.domain_count > 0 ? STORE_OK : USERS_EEMPTY;
}

static void log_shrink(const char *path, const struct users_builder *build)
{
	log_error(path,
		  "list would shrink too much, %s: before=%" PRIu64 " now=%" PRIu64
		  " (%.1f%%; --max-shrink %u permits %u%%)",
		  build->unit, build->before, build->now,
		  100.0 * (double)(build->before - build->now) / (double)build->before,
		  build->max_shrink_percent, build->max_shrink_percent);
}

/* Whether a login is of one of them. A mailbox of a catch-all has none. */
static bool are_read(struct users *users, const struct users_mailboxes *mailboxes)
{
	char entry[USERS_ENTRY_SIZE];
	char text[USERS_ADDRESS_PRINT_MAX];
	struct users_secret secret;
	bool is_any = false;
	for (size_t i = 0; !is_any && i < mailboxes->count; i++) {
		const char *name = mailboxes->names[i];
		const size_t size =
			users_address_print((const uint8_t *)name, strlen(name), false, text);
		is_any = users_find_secret(users, text, size, entry, &secret) == USERS_VALID &&
			 users_secret_is_any(&secret);
	}
	explicit_bzero(&secret, sizeof(secret));
	return is_any;
}

/*
 * Mail for <postmaster> is always taken, and no line has to be there for it. Where logins are elsewhere
 * the database does not know them.
 */
static void warn_of_postmaster(const char *path, const struct users_builder *build)
{
	struct users_mailboxes mailboxes;
	struct users *users = NULL;
	if (!build->has_secrets || users_open(path, &users) != STORE_OK)
		return;
	if (users_find_mailboxes(users, USERS_POSTMASTER, strlen(USERS_POSTMASTER), &mailboxes) ==
		    USERS_VALID &&
	    !are_read(users, &mailboxes))
		log_warning(
			path,
			"mail for <postmaster> is for no login, mailbox=%s (a line \"postmaster "
			"to=ADDRESS\" gives it to one)",
			mailboxes.names[0]);
	users_close(users);
}

static int build_one(const char *path, struct users_builder *build, users_build_fn fill,
		     struct command_line *line)
{
	build->refuse = refuse_target;
	int ret = users_build(path, build, fill, line);
	log_more("targets", line->refused_targets);
	if (ret == USERS_ESHRINK)
		log_shrink(path, build);
	if (ret != STORE_OK && line->has_unread_list) {
		/* The line before has the reason, which is not one of the database. */
		log_error(path, "database not changed (a list was not read)");
		return store_exit_status(ret);
	}
	if (ret != STORE_OK)
		return fail(path, "database not changed", ret);
	print_facts(path, "database built", &build->facts);
	warn_of_postmaster(path, build);
	return EX_OK;
}

static int copy_line(void *context, const char *line, size_t size)
{
	return users_build_add(context, line, size);
}

/* Standard input can be read once: the second database is made of the first. */
static int add_logins(struct users_builder *build, void *context)
{
	const struct command_line *line = context;
	struct users *users = NULL;
	int ret = users_open(line->logins, &users);
	if (ret == STORE_OK)
		ret = users_walk(users, copy_line, build);
	users_close(users);
	return ret;
}

/* With --logins two: all of it for what checks passwords, and first; the same without for others. */
static int build_command(struct command_line *line)
{
	struct users_builder second = line->build;
	if (line->logins == NULL)
		return build_one(line->database, &line->build, add_lists, line);
	const int status = build_one(line->logins, &line->build, add_lists, line);
	if (status != EX_OK)
		return status;
	second.drops_secrets = true;
	return build_one(line->database, &second, add_logins, line);
}

/* ---- check, dump and find ---- */

static int check_command(struct command_line *line)
{
	struct users_facts facts;
	int ret = users_verify(line->database, &facts);
	if (ret != STORE_OK)
		return fail(line->database, "database not OK", ret);
	print_facts(line->database, "database OK", &facts);
	return EX_OK;
}

static int print_line(void *context, const char *text, size_t size)
{
	(void)context;
	fwrite(text, 1, size, stdout);
	putchar('\n');
	return ferror(stdout) ? -EIO : 0;
}

static int dump_command(struct command_line *line)
{
	struct users *users = NULL;
	int ret = users_open(line->database, &users);
	if (ret == STORE_OK)
		ret = users_walk(users, print_line, NULL);
	users_close(users);
	if (ret != STORE_OK && !ferror(stdout))
		return fail(line->database, "database not printed", ret);
	return EX_OK;
}

/* A tab before the first word, a blank before each other. */
static void print_word(const char *word, unsigned *count)
{
	printf("%c%s", (*count)++ == 0 ? '\t' : ' ', word);
}

/* That there are some: what they are is for dump alone. */
static int print_secrets(struct users *users, const char *address, unsigned *count)
{
	char entry[USERS_ENTRY_SIZE];
	struct users_secret secret;
	const int ret = users_find_secret(users, address, strlen(address), entry, &secret);
	if (ret != USERS_VALID)
		return ret;
	if (secret.password[0] != '\0')
		print_word("password=*", count);
	if (secret.scram[0] != '\0')
		print_word("scram=*", count);
	explicit_bzero(&secret, sizeof(secret));
	return ret;
}

/* Where mail for an alias goes: "to=" and its targets, as a list has them. */
static int print_targets(struct users *users, const char *address, const char *entry,
			 unsigned *count)
{
	struct users_mailboxes mailboxes;
	char text[USERS_ADDRESS_PRINT_MAX];
	const int ret = users_find_mailboxes(users, address, strlen(address), &mailboxes);
	if (ret != USERS_VALID || (mailboxes.count == 1 && strcmp(mailboxes.names[0], entry) == 0))
		return ret;
	print_word("to=", count);
	for (size_t i = 0; i < mailboxes.count; i++) {
		const char *name = mailboxes.names[i];
		const size_t size =
			users_address_print((const uint8_t *)name, strlen(name), false, text);
		printf("%s%.*s", i > 0 ? "," : "", (int)size, text);
	}
	return ret;
}

/* An address in a line: what it is, and what is behind its entry if there is anything. */
static int print_answer(struct users *users, const char *address)
{
	static const char *const words[] = {
		[USERS_VALID] = "valid",
		[USERS_UNKNOWN] = "unknown",
		[USERS_NOT_OURS] = "not-ours",
	};
	struct users_settings settings = { 0 };
	char entry[USERS_ENTRY_SIZE];
	char text[USERS_SETTINGS_PRINT_MAX];
	unsigned count = 0;
	int behind = 0;
	int ret = users_find_settings(users, address, strlen(address), entry, &settings);
	if (ret < 0)
		return ret;
	printf("%s\t%s", address, words[ret]);
	if (users_settings_print(&settings, text) > 0)
		print_word(text, &count);
	if (ret == USERS_VALID)
		behind = print_secrets(users, address, &count);
	if (ret == USERS_VALID && behind >= 0)
		behind = print_targets(users, address, entry, &count);
	putchar('\n');
	return behind < 0 ? behind : ret;
}

static int find_command(struct command_line *line)
{
	struct users *users = NULL;
	int status = EX_OK;
	int ret = users_open(line->database, &users);
	for (int i = 0; ret >= 0 && i < line->word_count; i++) {
		ret = print_answer(users, line->words[i]);
		if (ret != USERS_VALID)
			status = 1;
	}
	users_close(users);
	return ret < 0 ? fail(line->database, "database not read", ret) : status;
}

/* ---- hash ---- */

static int fail_hash(const char *reason, int error)
{
	if (error == 0)
		log_error(NULL, "password not taken (%s)", reason);
	else
		log_error(NULL, "password not read (%s)", strerror(error));
	return error == 0 ? EX_DATAERR : EX_IOERR;
}

static int hash_command(struct command_line *line)
{
	char password[USERS_HASH_PASSWORD_SIZE];
	char word[USERS_HASH_WORD_SIZE];
	int error = 0;
	const char *reason = users_hash_read(password, &error);
	if (reason == NULL)
		reason = line->is_scram ? users_hash_make_scram(line->iterations, password, word)
					: users_hash_make(line->method, password, word);
	explicit_bzero(password, sizeof(password));
	if (reason != NULL)
		return fail_hash(reason, error);
	puts(word);
	return EX_OK;
}

/* ---- the program ---- */

static const struct command commands[] = {
	{ "build", OPTION_DATABASE, OPTION_METHOD, "LIST", build_command },
	{ "check", OPTION_DATABASE, 1, NULL, check_command },
	{ "dump", OPTION_DATABASE, 1, NULL, dump_command },
	{ "find", OPTION_DATABASE, 1, "ADDRESS", find_command },
	{ "hash", OPTION_METHOD, ROW_COUNT - OPTION_METHOD, NULL, hash_command },
};

int main(int argc, char **argv)
{
	const char *ignored;
	options_settle_process();
	signal(SIGPIPE, SIG_IGN); /* a build ends as it would with a reader of its lines */
	if (argc < 2 || argv[1][0] == '-') {
		(void)options_next(&all, argc, argv, &ignored);
		options_fail(&all, "no command given");
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct command_line line;
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		parse_command_line(&commands[i], argc - 1, argv + 1, &line);
		return commands[i].run(&line);
	}
	options_fail(&all, "unknown command '%s'", argv[1]);
}
