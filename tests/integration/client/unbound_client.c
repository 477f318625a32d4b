/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unbound_client.c - libdnsblv6 with libunbound as its resolver, for test_libunbound.py.
 *
 *     unbound_client [-u KEY=VALUE] ... [-o KEY=VALUE] ... [-f]
 *
 * Settings of the resolver (-u) and of the handle (-o). Each line of standard input is an address,
 * each of standard output what became of it: verdict, "secure" or "plain", and the state of the
 * first zone. With -f every other line is a new child's, which has a resolver of its own while the
 * parent's goes on.
 */
#include <dnsblv6-unbound.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

enum { TIMEOUT_MS = 20000, LINE_SIZE = 128 };

static struct dnsblv6_unbound *resolver;
static struct dnsblv6 *client;

static _Noreturn void refuse(const char *why)
{
	fprintf(stderr, "unbound_client: %s\n", why);
	exit(EX_CONFIG);
}

static void set(int letter, char *text)
{
	char *equals = strchr(text, '=');

	if (equals == NULL)
		refuse("KEY=VALUE expected");
	*equals = '\0';
	if (letter == 'u' && dnsblv6_unbound_set(resolver, text, equals + 1) < 0)
		refuse(dnsblv6_unbound_error(resolver));
	if (letter == 'o' && dnsblv6_set(client, text, equals + 1) < 0)
		refuse(dnsblv6_error(client));
}

static void check(const char *line)
{
	struct dnsblv6_ip ip;
	struct dnsblv6_result result;
	struct dnsblv6_zone_info zone;

	if (dnsblv6_ip_parse(line, &ip) < 0 ||
	    dnsblv6_check(client, &ip, TIMEOUT_MS, &result) < 0 ||
	    dnsblv6_zone_get(client, 0, &zone) < 0) {
		puts("error");
		return;
	}
	printf("%s %s %s\n", dnsblv6_verdict_name(result.verdict),
	       result.zones_secure != 0 ? "secure" : "plain", dnsblv6_zone_state_name(zone.state));
}

static void check_in_child(const char *line)
{
	pid_t pid = fork();

	if (pid == 0) {
		check(line);
		dnsblv6_free(client);
		dnsblv6_unbound_free(resolver);
		fflush(stdout);
		_exit(EX_OK); /* the copy of the parent's libunbound stays: no leak to tell of */
	}
	(void)waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	char line[LINE_SIZE];
	int forks = 0;
	int lines = 0;
	int letter;

	if (dnsblv6_unbound_new(&resolver) < 0 || dnsblv6_new(&client) < 0)
		return EX_OSERR;
	while ((letter = getopt(argc, argv, "fu:o:")) >= 0) {
		if (letter == 'f')
			forks = 1;
		else if (letter == 'u' || letter == 'o')
			set(letter, optarg);
		else
			return EX_USAGE;
	}
	if (dnsblv6_unbound_use(resolver, client) < 0)
		refuse(dnsblv6_unbound_error(resolver));
	if (dnsblv6_start(client) < 0)
		refuse(dnsblv6_error(client));
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (forks && ++lines % 2 == 0)
			check_in_child(line);
		else
			check(line);
	}
	dnsblv6_free(client);
	dnsblv6_unbound_free(resolver);
	return EX_OK;
}
