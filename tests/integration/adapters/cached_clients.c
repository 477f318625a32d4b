/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * cached_clients - many processes that ask dnsblv6-cached at once, for cached.py.
 *
 *     cached_clients [inherit] PROCESSES TIMEOUT-MS PASSES KEY=VALUE ... < ADDRESSES
 *
 * Each line of ADDRESSES is an address and 1 or 0: is it listed? The processes share them as
 * a dealer does cards, so that neighbours are asked about by different processes at
 * the same time. Each makes its handle, with options KEY=VALUE, after the fork, or they
 * all inherit one that was in use before; all begin when the last is ready. PASSES is how often
 * each goes over its share; SIGTERM ends them early, and so does the end of the first. SIGUSR1:
 * what was waited for until now does not count.
 *
 * The first line of output has the processes' numbers. The last says what was seen:
 * wrong verdicts, calls later than LATE_MS behind their timeout, questions to DNS
 * of the clients themselves, and what of the daemon was asked and not answered in time. What a
 * killed process has seen counts, too.
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/dnsblv6.h"

#define PROCESSES_MAX 1024
#define ADDRESSES_MAX 1000000
#define LATE_MS	      2000 /* a loaded machine may be that late by itself */

struct address {
	struct dnsblv6_ip ip;
	bool is_listed;
};

/* Shared memory: one place for each process, and what the parent says to all. */
struct seen {
	uint64_t checked, listed, clear, unknown, wrong, late, errors, cached, queries;
	uint64_t asked, waited; /* of the daemon; waited: in vain */
};

struct board {
	volatile sig_atomic_t is_over;
	volatile sig_atomic_t is_forgetting;
	struct seen seen[PROCESSES_MAX];
};

static struct board *board;

struct run {
	unsigned process_count;
	int timeout_ms;
	unsigned passes;
	char **options;
	struct dnsblv6 *inherited; /* NULL: each has its own */
	struct address *addresses;
	size_t address_count;
};

static void end_on_signal(int number)
{
	(void)number;
	board->is_over = 1;
}

static void forget_on_signal(int number)
{
	(void)number;
	board->is_forgetting = 1;
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static size_t read_addresses(struct address *ret_addresses)
{
	char text[64];
	int is_listed = 0;
	size_t count = 0;
	while (count < ADDRESSES_MAX && scanf("%63s %d", text, &is_listed) == 2) {
		if (dnsblv6_ip_parse(text, &ret_addresses[count].ip) != 0) {
			fprintf(stderr, "cached_clients: \"%s\" is no address\n", text);
			exit(EX_DATAERR);
		}
		ret_addresses[count++].is_listed = is_listed != 0;
	}
	return count;
}

static struct dnsblv6 *make_handle(char **options)
{
	struct dnsblv6 *client = NULL;
	if (dnsblv6_new(&client) != 0)
		return NULL;
	int ret = 0;
	for (; *options != NULL && ret == 0; options++) {
		char *value = strchr(*options, '=');
		if (value == NULL)
			return NULL;
		*value = '\0';
		ret = dnsblv6_set(client, *options, value + 1);
		*value = '=';
	}
	if (ret == 0)
		ret = dnsblv6_start(client);
	if (ret == 0)
		return client;
	fprintf(stderr, "cached_clients: %s\n", dnsblv6_error(client));
	dnsblv6_free(client);
	return NULL;
}

static void check(struct dnsblv6 *client, const struct run *run, const struct address *address,
		  struct seen *seen)
{
	struct dnsblv6_result result;
	int64_t began_ms = now_ms();
	int ret = dnsblv6_check(client, &address->ip, run->timeout_ms, &result);
	seen->late += now_ms() - began_ms > run->timeout_ms + LATE_MS;
	seen->checked++;
	if (ret != 0) {
		seen->errors++;
		return;
	}
	seen->listed += result.verdict == DNSBLV6_LISTED;
	seen->clear += result.verdict == DNSBLV6_CLEAR;
	seen->unknown += result.verdict == DNSBLV6_UNKNOWN;
	seen->wrong += address->is_listed ? result.verdict == DNSBLV6_CLEAR
					  : result.verdict == DNSBLV6_LISTED;
	seen->cached += result.zones_cached != 0;
	seen->queries += result.queries;
}

static uint64_t get_counter(struct dnsblv6 *client, const char *wanted)
{
	const char *name = NULL;
	uint64_t value = 0;
	for (unsigned i = 0; dnsblv6_stat_get(client, i, &name, &value) == 0; i++) {
		if (strcmp(name, wanted) == 0)
			return value;
	}
	return 0;
}

__attribute__((noreturn)) static void ask(const struct run *run, unsigned process, int ready_fd,
					  int start_fd)
{
	char byte = 0;
	struct dnsblv6 *client =
		run->inherited != NULL ? run->inherited : make_handle(run->options);
	if (client == NULL || write(ready_fd, &byte, 1) != 1)
		_exit(EX_CONFIG);
	/* Ends when the parent closes the other end. */
	while (read(start_fd, &byte, 1) < 0 && errno == EINTR)
		;
	uint64_t forgotten = 0;
	bool has_forgotten = false;
	for (unsigned pass = 0; pass < run->passes && !board->is_over; pass++) {
		if (board->is_forgetting && !has_forgotten) {
			forgotten = get_counter(client, "daemon-late");
			has_forgotten = true;
		}
		for (size_t i = process; i < run->address_count; i += run->process_count) {
			if (board->is_over)
				break;
			check(client, run, &run->addresses[i], &board->seen[process]);
		}
	}
	board->seen[process].asked = get_counter(client, "daemon-asked");
	board->seen[process].waited = get_counter(client, "daemon-late") - forgotten;
	dnsblv6_free(client);
	_exit(EX_OK);
}

static void report(const struct run *run, unsigned failed, unsigned killed)
{
	struct seen all = { 0 };
	for (unsigned i = 0; i < run->process_count; i++) {
		const uint64_t *one = (const uint64_t *)&board->seen[i];
		for (size_t f = 0; f < sizeof(all) / sizeof(uint64_t); f++)
			((uint64_t *)&all)[f] += one[f];
	}
	printf("checked=%llu listed=%llu clear=%llu unknown=%llu wrong=%llu late=%llu errors=%llu "
	       "cached=%llu queries=%llu asked=%llu waited=%llu failed=%u killed=%u\n",
	       (unsigned long long)all.checked, (unsigned long long)all.listed,
	       (unsigned long long)all.clear, (unsigned long long)all.unknown,
	       (unsigned long long)all.wrong, (unsigned long long)all.late,
	       (unsigned long long)all.errors, (unsigned long long)all.cached,
	       (unsigned long long)all.queries, (unsigned long long)all.asked,
	       (unsigned long long)all.waited, failed, killed);
}

static int start(const struct run *run, pid_t *ret_pids)
{
	int ready[2];
	int begin[2];
	char byte = 0;
	pid_t parent = getpid();
	if (pipe(ready) != 0 || pipe(begin) != 0)
		return EX_OSERR;
	for (unsigned i = 0; i < run->process_count; i++) {
		ret_pids[i] = fork();
		if (ret_pids[i] < 0)
			return EX_OSERR;
		if (ret_pids[i] == 0) {
			if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
				_exit(EX_OSERR);
			close(begin[1]);
			close(ready[0]);
			ask(run, i, ready[1], begin[0]);
		}
	}
	close(ready[1]);
	close(begin[0]);
	printf("processes");
	for (unsigned i = 0; i < run->process_count; i++)
		printf(" %d", (int)ret_pids[i]);
	printf("\n");
	fflush(stdout);
	unsigned ready_count = 0;
	while (ready_count < run->process_count && read(ready[0], &byte, 1) == 1)
		ready_count++;
	close(ready[0]);
	close(begin[1]);
	return ready_count == run->process_count ? EX_OK : EX_CONFIG;
}

static int finish(const struct run *run, const pid_t *pids)
{
	unsigned failed = 0;
	unsigned killed = 0;
	for (unsigned i = 0; i < run->process_count; i++) {
		int status = 0;
		while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
			;
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		failed += !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) && status != 0;
	}
	report(run, failed, killed);
	return failed == 0 ? EX_OK : EX_SOFTWARE;
}

/* With the first address checked: a connection is open when the process is forked. */
static struct dnsblv6 *make_inherited(const struct run *run)
{
	struct dnsblv6_result result;
	struct dnsblv6 *client = make_handle(run->options);
	if (client == NULL ||
	    dnsblv6_check(client, &run->addresses[0].ip, run->timeout_ms, &result) != 0)
		exit(EX_CONFIG);
	return client;
}

int main(int argc, char **argv)
{
	static pid_t pids[PROCESSES_MAX];
	static struct address addresses[ADDRESSES_MAX];
	bool is_inherited = argc > 1 && strcmp(argv[1], "inherit") == 0;
	char **words = argv + 1 + is_inherited;
	if (argc - is_inherited < 5 || atol(words[0]) < 1 || atol(words[0]) > PROCESSES_MAX) {
		fprintf(stderr, "usage: cached_clients [inherit] PROCESSES TIMEOUT-MS PASSES "
				"KEY=VALUE ...\n");
		return EX_USAGE;
	}
	struct run run = { .process_count = (unsigned)atol(words[0]),
			   .timeout_ms = (int)atol(words[1]),
			   .passes = (unsigned)atol(words[2]),
			   .options = words + 3,
			   .addresses = addresses };
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (board == MAP_FAILED)
		return EX_OSERR;
	run.address_count = read_addresses(run.addresses);
	if (is_inherited)
		run.inherited = make_inherited(&run);
	struct sigaction action = { .sa_handler = end_on_signal };
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = forget_on_signal;
	sigaction(SIGUSR1, &action, NULL);
	int status = start(&run, pids);
	if (status == EX_OK)
		status = finish(&run, pids);
	dnsblv6_free(run.inherited);
	return status;
}
