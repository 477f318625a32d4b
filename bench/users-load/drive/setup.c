/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/setup.h"

#include "lib/common/options.h"
#include "lib/common/values.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#define USERS_AT_MOST	4000000
#define OWN_DESCRIPTORS 64
#define PROBE_MS	5000

/* ---- values ---- */

static const char *take_address(void *member, const char *argument)
{
	static const char reason[] = "is no numeric HOST:PORT, as 127.0.0.1:143 or [::1]:143";
	char text[INET6_ADDRSTRLEN + 8];
	const char *colon = strrchr(argument, ':');
	if (colon == NULL || strlen(argument) >= sizeof(text) - 2)
		return reason;
	const bool is_bracketed = argument[0] == '[' && colon > argument && colon[-1] == ']';
	snprintf(text, sizeof(text), "%.*s@%s", (int)(colon - argument) - (is_bracketed ? 2 : 0),
		 argument + is_bracketed, colon + 1);
	return values_parse_address(text, 0, 1, member) ? NULL : reason;
}

static bool read_number(const char *argument, double min, double max, double *ret_number)
{
	char *end = NULL;
	errno = 0;
	*ret_number = strtod(argument, &end);
	return end != argument && *end == '\0' && errno == 0 && *ret_number >= min &&
	       *ret_number <= max;
}

static const char *take_rate(void *member, const char *argument)
{
	return read_number(argument, 0.001, 1e6, member) ? NULL
							 : "is no number from 0.001 to 1000000";
}

static const char *take_scale(void *member, const char *argument)
{
	return read_number(argument, 0.0001, 10, member) ? NULL : "is no number from 0.0001 to 10";
}

static const char *take_seconds(void *member, const char *argument)
{
	double seconds = 0;
	if (!read_number(argument, 0, 864000, &seconds))
		return "is no number of seconds from 0 to 864000";
	*(uint64_t *)member = (uint64_t)(seconds * 1e9);
	return NULL;
}

static const char *take_security(void *member, const char *argument)
{
	static const char *const words[] = { "no", "starttls", "implicit" };
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(argument, words[i]) == 0) {
			*(enum link_security *)member = i;
			return NULL;
		}
	}
	return "is none of no, starttls, implicit";
}

/* ---- options ---- */

#define WORKLOAD                                                                                   \
	{                                                                                          \
		{ 0, "workload", "FILE", "parameters: bench/enterprise.workload" },                \
			OPTIONS_AT(struct setup, workload_path)                                    \
	}
#define ADDRESS(name, member, help)                                                                \
	{                                                                                          \
		{ 0, name, "HOST:PORT", help }, OPTIONS_AT(struct setup, member),                  \
			.take = take_address                                                       \
	}
#define USERS                                                                                      \
	{                                                                                          \
		{ 0, "users", "N", "mailboxes user0 to user(N - 1)" },                             \
			OPTIONS_AT(struct setup, users), .min = 1, .max = USERS_AT_MOST            \
	}
#define SEED                                                                                       \
	{                                                                                          \
		{ 0, "seed", "S", "equal ones give equal loads (1)" },                             \
			OPTIONS_AT(struct setup, seed), .max = UINT64_MAX                          \
	}
#define SCALE                                                                                      \
	{                                                                                          \
		{ 0, "scale", "X", "so many times the mails of the workload in a mailbox (1)" },   \
			OPTIONS_AT(struct setup, scale), .take = take_scale                        \
	}
#define SECONDS(name, member, help)                                                                \
	{                                                                                          \
		{ 0, name, "S", help }, OPTIONS_AT(struct setup, member), .take = take_seconds     \
	}
#define TIMEOUT SECONDS("timeout", timeout_ns, "without any progress (60)")
#define TEXT(name, word, member, help)                                                             \
	{                                                                                          \
		{ 0, name, word, help }, OPTIONS_AT(struct setup, member)                          \
	}
#define NAMES                                                                                      \
	TEXT("domain", "DOMAIN", domain, "of addresses (example.com)"),                            \
		TEXT("name", "TEMPLATE", name, "of users (user%d)"),                               \
		TEXT("login", "TEMPLATE", login, "of logins (NAME@DOMAIN)"),                       \
		TEXT("password", "WORD", password, "of all users (secret)"),                       \
		TEXT("prefix", "TEXT", prefix, "of folders but INBOX, with \"/\" for levels"),     \
	{                                                                                          \
		{ 0, "tls", "HOW", "of IMAP and --submit: no, starttls, implicit (no)" },          \
			OPTIONS_AT(struct setup, security), .take = take_security                  \
	}
#define CONNECTIONS                                                                                \
	{                                                                                          \
		{ 0, "connections", "N", "at a time (8)" }, OPTIONS_AT(struct setup, connections), \
			.min = 1, .max = 1000                                                      \
	}

static const struct options_bound run_rows[] = {
	WORKLOAD,
	ADDRESS("imap", imap, "where mailboxes are"),
	ADDRESS("smtp", smtp, "where mails go to (none are sent)"),
	ADDRESS("submit", submit, "where those of users go to (as --smtp)"),
	ADDRESS("sink", sink, "where this program is the server of the remote domain"),
	USERS,
	{ { 0, "rate", "R", "users are so many times as busy (1)" },
	  OPTIONS_AT(struct setup, rate),
	  .take = take_rate },
	SEED,
	SCALE,
	SECONDS("warmup", warmup_ns, "before the window (10)"),
	SECONDS("window", window_ns, "what is due in it is counted (60)"),
	SECONDS("drain", drain_ns, "for answers and mails behind it, at most (60)"),
	TIMEOUT,
	NAMES,
	TEXT("remote-domain", "DOMAIN", remote_domain, "(example.net)"),
	TEXT("result", "FILE", result_path, "JSON (standard output)"),
};

static const struct options_bound fill_rows[] = {
	WORKLOAD,
	ADDRESS("lmtp", lmtp, "what is in INBOX is delivered here (put there by --imap)"),
	ADDRESS("imap", imap, "other folders are made and filled here (there are none)"),
	USERS,
	{ { 0, "from", "K", "the first of them is user(K), the last user(N - 1) (0)" },
	  OPTIONS_AT(struct setup, from),
	  .max = USERS_AT_MOST },
	SEED,
	SCALE,
	CONNECTIONS,
	TIMEOUT,
	NAMES,
};

static const struct options_bound verify_rows[] = {
	WORKLOAD,
	ADDRESS("imap", imap, "where mailboxes are"),
	USERS,
	SEED,
	SCALE,
	{ { 0, "sample", "K", "so many mailboxes are looked at mail by mail (10)" },
	  OPTIONS_AT(struct setup, sample),
	  .max = USERS_AT_MOST },
	{ { 0, "after", NULL, "a load has been: numbers of mails may differ" },
	  OPTIONS_AT(struct setup, is_after) },
	CONNECTIONS,
	TIMEOUT,
	NAMES,
};

static const struct options_bound check_rows[] = {
	WORKLOAD,
	ADDRESS("imap", imap, "the server"),
	{ { 0, "from", "K", "the user is user(K) (0)" },
	  OPTIONS_AT(struct setup, from),
	  .max = USERS_AT_MOST },
	TIMEOUT,
	NAMES,
};

static const struct options_bound workload_rows[] = {
	WORKLOAD,
	{ { 0, "markdown", NULL, "as a table of Markdown" },
	  OPTIONS_AT(struct setup, is_markdown) },
};

static const struct options_table tables[] = {
	[SETUP_RUN] = { .program = "users-load run",
			.usage = "--workload FILE --imap HOST:PORT --users N [options]",
			.summary =
				"Users at work: sessions of IMAP, and mails; writes what became of "
				"them.",
			OPTIONS_ROWS(run_rows) },
	[SETUP_FILL] = { .program = "users-load fill",
			 .usage = "--workload FILE (--lmtp | --imap) HOST:PORT --users N [options]",
			 .summary = "Mailboxes as they are before a load.",
			 OPTIONS_ROWS(fill_rows) },
	[SETUP_VERIFY] = { .program = "users-load verify",
			   .usage = "--workload FILE --imap HOST:PORT --users N [options]",
			   .summary = "Whether mailboxes have what fill has put there; exit 1 if "
				      "not.",
			   OPTIONS_ROWS(verify_rows) },
	[SETUP_CHECK] = { .program = "users-load check",
			  .usage = "--workload FILE --imap HOST:PORT [options]",
			  .summary =
				  "Whether a server does what clients of the load want; exit 1 if "
				  "not.",
			  OPTIONS_ROWS(check_rows) },
	[SETUP_WORKLOAD] = { .program = "users-load workload",
			     .usage = "--workload FILE [--markdown]",
			     .summary = "The parameters of a load: name, value, source.",
			     OPTIONS_ROWS(workload_rows) },
};

/* ---- what follows ---- */

static void read_template(const struct options_table *table, const char *text,
			  struct session_template *ret_template)
{
	if (session_parse_template(text, ret_template) != 0)
		options_fail(table, "'%s' has not one %%d, or is too long", text);
}

static void make_templates(const struct options_table *table, struct setup *setup)
{
	char text[2 * SESSION_TEXT_MAX];
	snprintf(text, sizeof(text), "%s@%s", setup->name, setup->domain);
	read_template(table, text, &setup->address);
	read_template(table, setup->login != NULL ? setup->login : text, &setup->logins);
	snprintf(text, sizeof(text), "peer%%d@%s", setup->remote_domain);
	read_template(table, text, &setup->abroad);
}

int setup_complain(const char *path, const struct workload_error *error)
{
	fprintf(stderr, "users-load: %s:", path);
	if (error->line > 0)
		fprintf(stderr, "%u:", error->line);
	fprintf(stderr, " %s\n", error->reason);
	return EX_DATAERR;
}

static void read_workload(struct setup *setup)
{
	struct workload_error error;
	FILE *file = fopen(setup->workload_path, "re");
	if (file == NULL) {
		fprintf(stderr, "users-load: %s: %s\n", setup->workload_path, strerror(errno));
		exit(EX_NOINPUT);
	}
	if (workload_read(file, &setup->workload, &error) < 0)
		exit(setup_complain(setup->workload_path, &error));
	fclose(file);
}

static void check(const struct options_table *table, enum setup_command command,
		  const struct setup *setup)
{
	const bool has_imap = setup->imap.ss_family != 0;
	if (setup->workload_path == NULL)
		options_fail(table, "wants --workload");
	if (command == SETUP_WORKLOAD)
		return;
	if (setup->users == 0 && command != SETUP_CHECK)
		options_fail(table, "wants --users");
	if (!has_imap && (command != SETUP_FILL || setup->lmtp.ss_family == 0))
		options_fail(table,
			     command == SETUP_FILL ? "wants --lmtp or --imap" : "wants --imap");
	if ((setup->smtp.ss_family != 0) != (setup->sink.ss_family != 0))
		options_fail(table, "--smtp and --sink go together");
	if (setup->submit.ss_family != 0 && setup->smtp.ss_family == 0)
		options_fail(table, "--submit wants --smtp");
	if (setup->timeout_ns == 0)
		options_fail(table, "--timeout 0 gives up at once");
	if (command == SETUP_RUN && setup->window_ns == 0)
		options_fail(table, "--window 0 counts nothing");
	if (setup->from >= setup->users && command != SETUP_CHECK)
		options_fail(table, "--from is a user below --users");
}

void setup_read(enum setup_command command, int argc, char **argv, struct setup *ret_setup)
{
	const struct options_table *table = &tables[command];
	memset(ret_setup, 0, sizeof(*ret_setup));
	ret_setup->rate = ret_setup->scale = 1;
	ret_setup->seed = 1;
	ret_setup->connections = 8;
	ret_setup->sample = 10;
	ret_setup->warmup_ns = 10000000000u;
	ret_setup->window_ns = ret_setup->drain_ns = ret_setup->timeout_ns = 60000000000u;
	ret_setup->domain = "example.com";
	ret_setup->remote_domain = "example.net";
	ret_setup->name = "user%d";
	ret_setup->password = "secret";
	options_parse(table, argc, argv, ret_setup);
	if (optind < argc)
		options_fail(table, "takes no operands, as '%s'", argv[optind]);
	check(table, command, ret_setup);
	make_templates(table, ret_setup);
	if (command != SETUP_WORKLOAD)
		read_workload(ret_setup);
}

/* ---- the machine ---- */

/* 0 or an errno. */
static int try_to_connect(const struct sockaddr_storage *address)
{
	int error = 0;
	socklen_t size = sizeof(error);
	const int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)address, values_address_size(address)) != 0)
		error = errno;
	if (error == EINPROGRESS) {
		struct pollfd wait = { .fd = fd, .events = POLLOUT };
		if (poll(&wait, 1, PROBE_MS) != 1)
			error = ETIMEDOUT;
		else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
			error = errno;
	}
	close(fd);
	return error;
}

void setup_probe(const char *option, const struct sockaddr_storage *address)
{
	const int error = address->ss_family != 0 ? try_to_connect(address) : 0;
	if (error == 0)
		return;
	fprintf(stderr, "users-load: no server at --%s: %s\n", option, strerror(error));
	exit(EX_UNAVAILABLE);
}

void setup_share_descriptors(unsigned count)
{
	struct rlimit limit;
	const rlim_t wanted = (rlim_t)count + OWN_DESCRIPTORS;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	if (limit.rlim_max < wanted) {
		const struct rlimit higher = { wanted, wanted };
		if (setrlimit(RLIMIT_NOFILE, &higher) == 0)
			return;
	}
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
