/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dnsblv6-lookup - is this address listed? For a shell, for scripts, and to see
 * what libdnsblv6 does.
 *
 * It uses what dnsblv6.h declares and nothing else of the library, so that
 * it is an example as well. dnsblv6-lookup(1) is the manual.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client-lib/lookup/decode.h"
#include "client-lib/lookup/print.h"
#include "client-lib/lookup/verdicts.h"

#define TIMEOUT_DEFAULT_MS 5000
#define HEALTH_DEFAULT_MS  10000 /* a zone is called unreachable after 5 s of silence */
#define TIMEOUT_MAX_S	   3600
#define SERVERS_SIZE	   1024

enum row {
	ROW_ZONES,
	ROW_SERVER,
	ROW_THRESHOLD,
	ROW_TIMEOUT,
	ROW_SET,
	ROW_NAME,
	ROW_REASON,
	ROW_JSON,
	ROW_STATS,
	ROW_TRACE,
	ROW_DECODE,
	ROW_HEALTH,
	ROW_HELP,
	ROW_VERSION,
	ROW_COUNT
};

static const struct row_text {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *help;
} rows[ROW_COUNT] = {
	[ROW_ZONES] = { 'z', "zones", "ZONES",
			"what to ask: 'bl6.example*2 bl.example=127.0.0.2'" },
	[ROW_SERVER] = { 's', "server", "ADDRESS[@PORT]", "resolver to ask; may be given again" },
	[ROW_THRESHOLD] = { 0, "threshold", "SCORE", "listed from this score on; default 1" },
	[ROW_TIMEOUT] = { 't', "timeout", "SECONDS", "wait so long for a verdict; default 5" },
	[ROW_SET] = { 0, "set", "KEY=VALUE", "any option of libdnsblv6(3); may be given again" },
	[ROW_NAME] = { 0, "name", NULL, "what follows are names, or hashes, and no addresses" },
	[ROW_REASON] = { 'r', "reason", NULL, "print the text for the one who is refused too" },
	[ROW_JSON] = { 'j', "json", NULL, "print JSON, one object a line" },
	[ROW_STATS] = { 0, "stats", NULL, "print the counters to standard error at the end" },
	[ROW_TRACE] = { 0, "trace", NULL, "tell each step on standard error" },
	[ROW_DECODE] = { 'd', "decode", NULL, "print whole blocks: BLOCK AAAA, or with --zones" },
	[ROW_HEALTH] = { 0, "zone-health", NULL, "probe the zones and print how they are" },
	[ROW_HELP] = { 'h', "help", NULL, "print this and exit" },
	[ROW_VERSION] = { 'V', "version", NULL, "print the version and exit" },
};

enum mode { MODE_VERDICTS, MODE_NAMES, MODE_DECODE, MODE_HEALTH };

struct command {
	enum mode mode;
	bool has_zones;
	bool has_stats;
	char servers[SERVERS_SIZE]; /* all of --server */
	struct lookup lookup;
	struct input input;
};

static void print_help(void)
{
	puts("usage: " LOOKUP_PROGRAM " --zones ZONES [options] [ADDRESS ...]\n"
	     "       " LOOKUP_PROGRAM " --zones ZONES --name [options] NAME ...\n"
	     "       " LOOKUP_PROGRAM " --zones ZONES --zone-health\n"
	     "       " LOOKUP_PROGRAM " --decode BLOCK AAAA\n"
	     "Asks DNS blacklists about addresses, or about those in the lines of standard "
	     "input.\n");
	for (int i = 0; i < ROW_COUNT; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", rows[i].letter ? '-' : ' ',
			 rows[i].letter ? rows[i].letter : ' ', rows[i].letter ? ", " : "  ",
			 rows[i].name, rows[i].argument != NULL ? " " : "",
			 rows[i].argument != NULL ? rows[i].argument : "");
		printf("  %-32s %s\n", left, rows[i].help);
	}
}

/* getopt's two lists; a value is the row, moved above all letters. */
#define ROW_BASE 256

static void make_lists(char *ret_letters, struct option *ret_longs)
{
	*ret_letters++ = ':'; /* we print the errors */
	for (int i = 0; i < ROW_COUNT; i++) {
		int has = rows[i].argument != NULL ? required_argument : no_argument;

		ret_longs[i] = (struct option){ rows[i].name, has, NULL, ROW_BASE + i };
		if (rows[i].letter == 0)
			continue;
		*ret_letters++ = rows[i].letter;
		if (has == required_argument)
			*ret_letters++ = ':';
	}
	*ret_letters = '\0';
	ret_longs[ROW_COUNT] = (struct option){ NULL, 0, NULL, 0 };
}

static enum row find_row(int value)
{
	if (value >= ROW_BASE)
		return (enum row)(value - ROW_BASE);
	int i = 0;
	while (i < ROW_COUNT && rows[i].letter != value)
		i++;
	return (enum row)i;
}

#define TRY_HELP "; try '" LOOKUP_PROGRAM " --help'"

/* ---- options ---- */

static int set(struct command *command, const char *key, const char *value)
{
	if (dnsblv6_set(command->lookup.client, key, value) < 0)
		return lookup_fail(EX_USAGE, "%s" TRY_HELP, dnsblv6_error(command->lookup.client));
	if (strcmp(key, "zones") == 0)
		command->has_zones = true;
	return 0;
}

static int set_pair(struct command *command, char *pair)
{
	char *equals = strchr(pair, '=');

	if (equals == NULL)
		return lookup_fail(EX_USAGE, "--set takes KEY=VALUE, not '%s'" TRY_HELP, pair);
	*equals = '\0';
	return set(command, pair, equals + 1);
}

static int add_server(struct command *command, const char *server)
{
	size_t used = strlen(command->servers), room = sizeof(command->servers) - used;

	if (snprintf(command->servers + used, room, "%s%s", used > 0 ? " " : "", server) >=
	    (int)room)
		return lookup_fail(EX_USAGE, "--server is given too often" TRY_HELP);
	return set(command, "servers", command->servers);
}

static int set_timeout(struct command *command, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end != '\0' || !(seconds >= 0.001 && seconds <= TIMEOUT_MAX_S))
		return lookup_fail(EX_USAGE,
				   "--timeout takes seconds from 0.001 to %d, not '%s'" TRY_HELP,
				   TIMEOUT_MAX_S, text);
	command->lookup.timeout_ms = (int)(seconds * 1000);
	return 0;
}

static int set_mode(struct command *command, enum mode mode)
{
	if (command->mode != MODE_VERDICTS && command->mode != mode)
		return lookup_fail(EX_USAGE,
				   "--name, --decode and --zone-health are three things" TRY_HELP);
	command->mode = mode;
	return 0;
}

static int take_option(struct command *command, enum row row, char *argument)
{
	switch (row) {
	case ROW_ZONES:
		return set(command, "zones", argument);
	case ROW_SERVER:
		return add_server(command, argument);
	case ROW_THRESHOLD:
		return set(command, "threshold", argument);
	case ROW_TIMEOUT:
		return set_timeout(command, argument);
	case ROW_SET:
		return set_pair(command, argument);
	case ROW_NAME:
		return set_mode(command, MODE_NAMES);
	case ROW_REASON:
		command->lookup.has_reason = true;
		return 0;
	case ROW_JSON:
		command->lookup.is_json = true;
		return 0;
	case ROW_STATS:
		command->has_stats = true;
		return 0;
	case ROW_TRACE:
		command->lookup.is_trace = true;
		return 0;
	case ROW_DECODE:
		return set_mode(command, MODE_DECODE);
	default:
		return set_mode(command, MODE_HEALTH);
	}
}

static int refuse(int value, char *const *argv)
{
	if (value == ':')
		return lookup_fail(EX_USAGE, "option '%s' needs an argument" TRY_HELP,
				   argv[optind - 1]);
	if (optopt != 0 && optopt < ROW_BASE)
		return lookup_fail(EX_USAGE, "unknown option '-%c'" TRY_HELP, optopt);
	return lookup_fail(EX_USAGE, "unknown or ambiguous option '%s'" TRY_HELP, argv[optind - 1]);
}

/* --help and --version: all is said then. */
static int finish(enum row row)
{
	if (row == ROW_HELP)
		print_help();
	else
		printf(LOOKUP_PROGRAM " %s\n", dnsblv6_version());
	if (fflush(stdout) != 0)
		return lookup_fail(EX_IOERR, "standard output: not written");
	return 0;
}

/* -1: go on; else the exit status. */
static int read_command(struct command *command, int argc, char **argv)
{
	char letters[2 * ROW_COUNT + 2];
	struct option longs[ROW_COUNT + 1];
	int value;

	make_lists(letters, longs);
	opterr = 0;
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (value == ':' || value == '?')
			return refuse(value, argv);
		enum row row = find_row(value);
		if (row == ROW_HELP || row == ROW_VERSION)
			return finish(row);
		int status = take_option(command, row, optarg);
		if (status != 0)
			return status;
	}
	return -1;
}

/* ---- what is asked for ---- */

static void print_stats(const struct lookup *lookup)
{
	const char *name;
	uint64_t count;

	for (unsigned i = 0; dnsblv6_stat_get(lookup->client, i, &name, &count) == 0; i++)
		fprintf(stderr, "%s\t%llu\n", name, (unsigned long long)count);
}

static int start(struct lookup *lookup)
{
	if (lookup->is_trace)
		dnsblv6_set_log(lookup->client, verdicts_trace_line, NULL);
	int ret = dnsblv6_start(lookup->client);
	if (ret == -EINVAL)
		return lookup_fail(EX_USAGE, "%s" TRY_HELP, dnsblv6_error(lookup->client));
	if (ret < 0)
		return lookup_fail(EX_OSERR, "%s", dnsblv6_error(lookup->client));
	lookup_load_zones(lookup);
	return 0;
}

/* The exit status: 0 when all are well, 1 when one is not. */
static int run_health(struct lookup *lookup)
{
	int well = dnsblv6_probe(lookup->client, lookup->timeout_ms);

	if (well < 0)
		return lookup_fail(EX_SOFTWARE, "zones not probed (%s)", dnsblv6_strerror(well));
	lookup_load_zones(lookup);
	if (lookup->is_terminal && !lookup->is_json)
		printf("%-32s  %-15s  %-7s  %4s  %6s  %8s  %6s\n", "zone", "state", "mode",
		       "weight", "asked", "failures", "age_s");
	for (unsigned i = 0; i < lookup->zone_count; i++)
		print_zone(lookup, &lookup->zones[i]);
	if (fflush(stdout) != 0)
		return lookup_fail(EX_IOERR, "standard output: not written");
	return (unsigned)well == lookup->zone_count ? 0 : 1;
}

static int run(struct command *command, char *const *operands, int count)
{
	struct lookup *lookup = &command->lookup;

	if (command->mode == MODE_DECODE && !command->has_zones) {
		if (count != 2)
			return lookup_fail(EX_USAGE,
					   "--decode takes BLOCK and AAAA, or --zones" TRY_HELP);
		return decode_words(lookup, operands[0], operands[1]);
	}
	if (!command->has_zones)
		return lookup_fail(EX_USAGE, "--zones is missing" TRY_HELP);
	if (command->mode == MODE_HEALTH && count > 0)
		return lookup_fail(EX_USAGE, "unexpected word '%s'" TRY_HELP, operands[0]);
	if (command->mode == MODE_NAMES && count == 0)
		return lookup_fail(EX_USAGE, "--name needs names behind it" TRY_HELP);

	if (lookup->timeout_ms == 0)
		lookup->timeout_ms =
			command->mode == MODE_HEALTH ? HEALTH_DEFAULT_MS : TIMEOUT_DEFAULT_MS;
	int status = start(lookup);
	if (status != 0)
		return status;
	input_init(&command->input, operands, (size_t)count);
	if (command->mode == MODE_HEALTH)
		status = run_health(lookup);
	else if (command->mode == MODE_NAMES)
		status = verdicts_run_names(lookup, operands, (size_t)count);
	else if (command->mode == MODE_DECODE)
		status = decode_run(lookup, &command->input);
	else
		status = verdicts_run(lookup, &command->input);
	if (command->has_stats)
		print_stats(lookup);
	return status;
}

/*
 * A standard stream that is closed becomes one that fails when it is used: a descriptor of the
 * library would have its number, and be read or written in its place.
 */
static void settle_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

int main(int argc, char **argv)
{
	static struct command command; /* its buffers are large for a stack */

	settle_streams();
	command.lookup.is_terminal = isatty(STDOUT_FILENO) == 1;
	int ret = dnsblv6_new(&command.lookup.client);
	if (ret < 0)
		return lookup_fail(EX_OSERR, "%s", dnsblv6_strerror(ret));
	/* What a person asks about is asked. */
	dnsblv6_set(command.lookup.client, "scope", "all");
	int status = read_command(&command, argc, argv);
	if (status < 0)
		status = run(&command, argv + optind, argc - optind);
	dnsblv6_free(command.lookup.client);
	return status;
}
