/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/setup.h"

#include "lib/common/options.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define NS_PER_S	1e9
#define SECONDS_MAX	86400
#define RATE_MAX	1e6
#define CONNECTIONS_MAX 1000000

enum setup_option {
	OPT_CONNECTIONS,
	OPT_RATE,
	OPT_POISSON,
	OPT_OPEN_MAX,
	OPT_SESSIONS,
	OPT_SECONDS,
	OPT_WARMUP,
	OPT_DRAIN,
	OPT_TIMEOUT,
	OPT_BOUNCES,
	OPT_UNFINISHED,
	OPT_LEAVE_AFTER,
	OPT_HOLD,
	OPT_SPAM,
	OPT_SPAM_RECIPIENTS,
	OPT_HAM_RECIPIENTS,
	OPT_SIZE,
	OPT_SIZE_SIGMA,
	OPT_SIZE_RANGE,
	OPT_SEED,
	OPT_SENDER,
	OPT_HELO,
	OPT_VALID,
	OPT_INVALID,
	OPT_USERS,
	OPT_CLIENTS,
	OPT_DRAW,
	OPT_TELL,
	OPT_PIPELINING,
	OPT_LMTP,
	OPT_POP,
	OPT_PASSWORD,
	OPT_DELETE,
	OPT_REUSE,
	OPT_SERIES,
	OPT_PRINT,
	OPTION_COUNT,
};

static const struct options_bound rows[OPTION_COUNT] = {
	[OPT_CONNECTIONS] = { .row = { 'c', "connections", "N",
				       "closed loop: so many sessions at a time (100)" } },
	[OPT_RATE] = { .row = { 'r', "rate", "N",
				"open loop: so many begin each second, however slow the server "
				"is" } },
	[OPT_POISSON] = { .row = { 0, "poisson", NULL, "the gaps between those are exponential" } },
	[OPT_OPEN_MAX] = { .row = { 0, "open-max", "N",
				    "open loop: most sessions at a time; others are skipped "
				    "(20000)" } },
	[OPT_SESSIONS] = { .row = { 'n', "sessions", "N", "end after so many" } },
	[OPT_SECONDS] = { .row = { 's', "seconds", "S",
				   "end after so long (10, or when --sessions have ended)" } },
	[OPT_WARMUP] = { .row = { 0, "warmup", "S",
				  "not in rates and latencies, before the seconds (0)" } },
	[OPT_DRAIN] = { .row = { 0, "drain", "S",
				 "wait so long for open sessions at the end (10)" } },
	[OPT_TIMEOUT] = { .row = { 't', "timeout", "S",
				   "give up a session without progress (30)" } },
	[OPT_BOUNCES] = { .row = { 'b', "bounces", "SHARE",
				   "sessions without a valid recipient (0)" } },
	[OPT_UNFINISHED] = { .row = { 'u', "unfinished", "SHARE",
				      "sessions that the client leaves (0)" } },
	[OPT_LEAVE_AFTER] = { .row = { 0, "leave-after", "LIST",
				       "when: of connect,helo,mail,rcpt (all, each as often)" } },
	[OPT_HOLD] = { .row = { 0, "hold", "S", "it stays so long before it leaves (0)" } },
	[OPT_SPAM] = { .row = { 0, "spam", "SHARE",
				"sessions that are spam, by their recipients (0)" } },
	[OPT_SPAM_RECIPIENTS] = { .row = { 0, "spam-recipients", "MIN-MAX",
					   "of such a session (5-15)" } },
	[OPT_HAM_RECIPIENTS] = { .row = { 0, "ham-recipients", "MEAN", "of others (1.02)" } },
	[OPT_SIZE] = { .row = { 0, "size", "BYTES",
				"of a message, header and text; the median (4096)" } },
	[OPT_SIZE_SIGMA] = { .row = { 0, "size-sigma", "S",
				      "log-normal about it; 0 is a fixed size (0)" } },
	[OPT_SIZE_RANGE] = { .row = { 0, "size-range", "MIN-MAX",
				      "cuts the ends of it (64-1048576)" } },
	[OPT_SEED] = { .row = { 0, "seed", "N", "equal ones give equal sessions (1)" } },
	[OPT_SENDER] = { .row = { 'f', "sender", "ADDRESS", "(sender@example.net)" } },
	[OPT_HELO] = { .row = { 0, "helo", "NAME", "(client.example.net)" } },
	[OPT_VALID] = { .row = { 0, "valid", "TEMPLATE",
				 "valid recipients (user%d@example.com)" } },
	[OPT_INVALID] = { .row = { 0, "invalid", "TEMPLATE", "others (nouser%d@example.com)" } },
	[OPT_USERS] = { .row = { 0, "users", "N", "%d is from 0 to N - 1 (1000)" } },
	[OPT_CLIENTS] = { .row = { 0, "clients", "FILE",
				   "addresses of sessions in turn; lines as of bench/trace-gen "
				   "too" } },
	[OPT_DRAW] = { .row = { 0, "draw", "PREFIX", "addresses of sessions by chance" } },
	[OPT_TELL] = { .row = { 0, "tell", "WAY",
				"the server is told by bind, proxy1, proxy2, xclient" } },
	[OPT_PIPELINING] = { .row = { 'p', "pipelining", NULL,
				      "MAIL, RCPT and DATA at once where the server has it" } },
	[OPT_LMTP] = { .row = { 0, "lmtp", NULL,
				"LMTP in place of SMTP: a reply for each recipient" } },
	[OPT_POP] = { .row = { 0, "pop", NULL,
			       "POP3: valid recipients log in, and read as many mails as they look "
			       "for" } },
	[OPT_PASSWORD] = { .row = { 0, "password", "WORD", "of POP3: of all of them (secret)" } },
	[OPT_DELETE] = { .row = { 0, "delete", NULL, "of POP3: and delete what they have read" } },
	[OPT_REUSE] = { .row = { 0, "reuse", "N",
				 "closed loop: so many may follow a session on its connection, "
				 "without "
				 "QUIT "
				 "(0)" } },
	[OPT_SERIES] = { .row = { 0, "series", "FILE", "write a row for each second" } },
	[OPT_PRINT] = { .row = { 0, "print", "N", "print the first N sessions and end" } },
};

static const struct options_table table = {
	.program = "smtp-load",
	.usage = "[options] HOST PORT",
	.summary = "Puts an SMTP, LMTP or POP3 server under load and prints what became of the "
		   "sessions.",
	.bound = rows,
	.row_count = OPTION_COUNT,
};

/* ---- values ---- */

static double read_number(const char *option, const char *text, double min, double max)
{
	char *end = NULL;
	errno = 0;
	double number = strtod(text, &end);
	if (end == text || *end != '\0' || errno != 0 || !(number >= min && number <= max))
		options_fail(&table, "--%s takes a number from %g to %g, not '%s'", option, min,
			     max, text);
	return number;
}

static double read_share(const char *option, const char *text)
{
	return read_number(option, text, 0, 1);
}

static uint64_t read_seconds(const char *option, const char *text)
{
	return (uint64_t)(read_number(option, text, 0, SECONDS_MAX) * NS_PER_S);
}

static unsigned read_count(const char *option, const char *text, unsigned min, unsigned max)
{
	return (unsigned)options_number(&table, option, text, min, max);
}

static void read_range(const char *option, const char *text, unsigned max, unsigned *ret_min,
		       unsigned *ret_max)
{
	char first[16];
	const char *dash = strchr(text, '-');
	if (dash == NULL || (size_t)(dash - text) >= sizeof(first))
		options_fail(&table, "--%s takes two numbers as MIN-MAX, not '%s'", option, text);
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	unsigned least = read_count(option, first, 1, max);
	*ret_max = read_count(option, dash + 1, least, max);
	*ret_min = least;
}

static void read_text(const char *option, const char *text, char *ret_text)
{
	size_t size = strlen(text);
	if (size >= SESSION_TEXT_MAX || strpbrk(text, " \r\n<>") != NULL)
		options_fail(&table, "--%s takes up to %d bytes without blanks or <>, not '%s'",
			     option, SESSION_TEXT_MAX - 1, text);
	memcpy(ret_text, text, size + 1);
}

static void read_template(const char *option, const char *text,
			  struct session_template *ret_template)
{
	if (strpbrk(text, " \r\n<>") != NULL || session_parse_template(text, ret_template) != 0)
		options_fail(&table, "--%s takes an address with one %%d, not '%s'", option, text);
}

static unsigned read_points(const char *text)
{
	unsigned points = 0;
	for (const char *word = text; *word != '\0';) {
		size_t size = strcspn(word, ",");
		unsigned point = 0;
		while (point < TRACE_POINTS && (strlen(trace_point_name(point)) != size ||
						memcmp(trace_point_name(point), word, size) != 0))
			point++;
		if (point == TRACE_POINTS)
			options_fail(&table,
				     "--leave-after takes some of connect,helo,mail,rcpt, not '%s'",
				     text);
		points |= 1u << point;
		word += size + (word[size] == ',');
	}
	return points;
}

static enum session_tell read_tell(const char *text)
{
	static const char *const names[] = { [SESSION_TELL_BIND] = "bind",
					     [SESSION_TELL_PROXY1] = "proxy1",
					     [SESSION_TELL_PROXY2] = "proxy2",
					     [SESSION_TELL_XCLIENT] = "xclient" };
	for (unsigned i = SESSION_TELL_BIND; i <= SESSION_TELL_XCLIENT; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
	}
	options_fail(&table, "--tell takes bind, proxy1, proxy2 or xclient, not '%s'", text);
}

static void read_clients(const char *path, struct setup *setup)
{
	size_t line = 0;
	clients_close(&setup->clients);
	int ret = clients_open(path, &setup->clients, &line);
	if (ret == 0)
		return;
	fprintf(stderr, "smtp-load: %s:%zu: %s\n", path, line, dnsblv6_strerror(ret));
	exit(line > 0 || ret <= -2000 ? EX_DATAERR : EX_NOINPUT);
}

static void read_prefix(const char *text, struct clients *clients)
{
	int ret = dnsblv6_prefix_parse(text, strlen(text), &clients->prefix);
	if (ret < 0)
		options_fail(&table, "--draw takes a prefix, not '%s' (%s)", text,
			     dnsblv6_strerror(ret));
	clients->has_prefix = true;
}

/* ---- options ---- */

/* How much and how long. False: it is about something else. */
static bool read_load_option(struct driver_settings *driver, enum setup_option option,
			     const char *text)
{
	const char *name = rows[option].row.name;
	switch (option) {
	case OPT_CONNECTIONS:
		driver->connections = read_count(name, text, 1, CONNECTIONS_MAX);
		return true;
	case OPT_RATE:
		driver->rate = read_number(name, text, 0.001, RATE_MAX);
		return true;
	case OPT_POISSON:
		driver->is_poisson = true;
		return true;
	case OPT_OPEN_MAX:
		driver->open_max = read_count(name, text, 1, CONNECTIONS_MAX);
		return true;
	case OPT_SESSIONS:
		driver->sessions = options_number(&table, name, text, 1, UINT32_MAX);
		return true;
	case OPT_SECONDS:
		driver->window_ns = read_seconds(name, text);
		return true;
	case OPT_WARMUP:
		driver->warmup_ns = read_seconds(name, text);
		return true;
	case OPT_DRAIN:
		driver->drain_ns = read_seconds(name, text);
		return true;
	case OPT_TIMEOUT:
		driver->timeout_ns = read_seconds(name, text);
		return true;
	case OPT_HOLD:
		driver->hold_ns = read_seconds(name, text);
		return true;
	default:
		return false;
	}
}

/* What sessions there are. */
static bool read_trace_option(struct trace_options *trace, enum setup_option option,
			      const char *text)
{
	const char *name = rows[option].row.name;
	switch (option) {
	case OPT_BOUNCES:
		trace->bounces = read_share(name, text);
		return true;
	case OPT_UNFINISHED:
		trace->unfinished = read_share(name, text);
		return true;
	case OPT_LEAVE_AFTER:
		trace->points = read_points(text);
		return true;
	case OPT_SPAM:
		trace->spam = read_share(name, text);
		return true;
	case OPT_SPAM_RECIPIENTS:
		read_range(name, text, TRACE_RECIPIENTS_MAX, &trace->spam_min, &trace->spam_max);
		return true;
	case OPT_HAM_RECIPIENTS:
		trace->ham_mean = read_number(name, text, 1, TRACE_RECIPIENTS_MAX);
		return true;
	case OPT_SIZE:
		trace->size_bytes = read_count(name, text, 1, TRACE_SIZE_MAX);
		return true;
	case OPT_SIZE_SIGMA:
		trace->size_sigma = read_number(name, text, 0, 10);
		return true;
	case OPT_SIZE_RANGE:
		read_range(name, text, TRACE_SIZE_MAX, &trace->size_min, &trace->size_max);
		return true;
	case OPT_SEED:
		trace->seed = options_number(&table, name, text, 0, UINT64_MAX);
		return true;
	case OPT_USERS:
		trace->users = read_count(name, text, 1, UINT32_MAX);
		return true;
	default:
		return false;
	}
}

/* Who speaks to whom. */
static void read_other_option(struct setup *setup, enum setup_option option, const char *text)
{
	struct session_rules *rules = &setup->driver.rules;
	const char *name = rows[option].row.name;
	switch (option) {
	case OPT_SENDER:
		read_text(name, text, rules->sender);
		break;
	case OPT_HELO:
		read_text(name, text, rules->helo);
		break;
	case OPT_VALID:
		read_template(name, text, &rules->valid);
		break;
	case OPT_INVALID:
		read_template(name, text, &rules->invalid);
		break;
	case OPT_CLIENTS:
		read_clients(text, setup);
		break;
	case OPT_DRAW:
		read_prefix(text, &setup->clients);
		break;
	case OPT_TELL:
		rules->tell = read_tell(text);
		break;
	case OPT_PIPELINING:
		rules->has_pipelining = true;
		break;
	case OPT_LMTP:
		rules->is_lmtp = true;
		break;
	case OPT_POP:
		rules->is_pop = true;
		break;
	case OPT_PASSWORD:
		read_text(name, text, rules->password);
		break;
	case OPT_DELETE:
		rules->deletes = true;
		break;
	case OPT_REUSE:
		rules->reuse = read_count(name, text, 0, UINT32_MAX - 1);
		break;
	case OPT_SERIES:
		setup->series_path = text;
		break;
	default:
		setup->print_count = options_number(&table, name, text, 1, UINT32_MAX);
	}
}

static void set_defaults(struct setup *setup)
{
	memset(setup, 0, sizeof(*setup));
	struct driver_settings *driver = &setup->driver;
	driver->open_max = 20000;
	driver->timeout_ns = (uint64_t)(30 * NS_PER_S);
	driver->drain_ns = (uint64_t)(10 * NS_PER_S);
	trace_set_defaults(&driver->trace);
	driver->trace.clients = &setup->clients;
	read_text("sender", "sender@example.net", driver->rules.sender);
	read_text("password", "secret", driver->rules.password);
	read_text("helo", "client.example.net", driver->rules.helo);
	read_template("valid", "user%d@example.com", &driver->rules.valid);
	read_template("invalid", "nouser%d@example.com", &driver->rules.invalid);
}

static void check(struct setup *setup)
{
	struct driver_settings *driver = &setup->driver;
	const char *problem = trace_check(&driver->trace);
	if (problem != NULL)
		options_fail(&table, "%s", problem);
	if (driver->connections > 0 && driver->rate > 0)
		options_fail(&table, "--connections and --rate are two kinds of load");
	if (driver->rules.tell != SESSION_TELL_NOTHING && !clients_has_any(&setup->clients))
		options_fail(&table, "--tell needs addresses, of --clients or --draw");
	if (driver->rules.reuse > 0 && driver->rate > 0)
		options_fail(&table, "--reuse is of the closed loop");
	if (driver->rules.reuse > 0 && driver->rules.tell != SESSION_TELL_NOTHING)
		options_fail(&table,
			     "--tell is of connections, and --reuse has many sessions on one");
	/* One that is to leave behind the greeting or HELO has neither there. */
	if (driver->rules.reuse > 0 && driver->trace.unfinished > 0)
		options_fail(&table, "--unfinished has sessions that --reuse cannot begin");
	if (driver->rules.is_pop && (driver->rules.is_lmtp || driver->rules.reuse > 0 ||
				     driver->rules.tell == SESSION_TELL_XCLIENT))
		options_fail(&table, "--pop has no --lmtp, --reuse or XCLIENT");
	if (setup->clients.count > 0 && setup->clients.has_prefix)
		options_fail(&table, "addresses are of --clients or of --draw");
	if (driver->timeout_ns == 0)
		options_fail(&table, "--timeout 0 gives up at once");
	if (driver->rate == 0 && driver->connections == 0)
		driver->connections = 100;
	if (driver->window_ns == 0 && driver->sessions == 0)
		driver->window_ns = (uint64_t)(10 * NS_PER_S);
	driver->rules.users = driver->trace.users;
}

static void find_server(struct driver_settings *driver, const char *host, const char *port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	options_number(&table, "PORT", port, 1, 65535);
	int ret = getaddrinfo(host, port, &hints, &found);
	if (ret != 0) {
		fprintf(stderr, "smtp-load: %s: %s\n", host, gai_strerror(ret));
		exit(EX_NOHOST);
	}
	memcpy(&driver->server, found->ai_addr, found->ai_addrlen);
	driver->server_size = found->ai_addrlen;
	freeaddrinfo(found);
}

void setup_read(int argc, char **argv, struct setup *ret_setup)
{
	const char *text = NULL;
	int option = 0;
	options_settle_process();
	set_defaults(ret_setup);
	while ((option = options_next(&table, argc, argv, &text)) != OPTIONS_END) {
		enum setup_option known = (enum setup_option)option;
		if (!read_load_option(&ret_setup->driver, known, text) &&
		    !read_trace_option(&ret_setup->driver.trace, known, text))
			read_other_option(ret_setup, known, text);
	}
	check(ret_setup);
	if (ret_setup->print_count > 0)
		return;
	if (argc - optind != 2)
		options_fail(&table, "wants HOST and PORT");
	find_server(&ret_setup->driver, argv[optind], argv[optind + 1]);
}

void setup_deinit(struct setup *setup)
{
	clients_close(&setup->clients);
}
