/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * dnsblv6-zone - lists in, store out. The program's own text is dnsblv6-zone.1.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/keys/key.h"

#include "lib/common/log.h"
#include "lib/common/version.h"
#include "lib/format/status.h"
#include "lib/lmdb/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "build", build_command, "make or replace a store from lists" },
	{ "update", update_command, "add addresses to a store, or remove them" },
	{ "check", check_command, "report what is wrong with lists or a store" },
	{ "sign", sign_command, "renew the signatures of a store" },
	{ "dump", dump_command, "print the list, or the zone, that a store holds" },
	{ "log", history_command, "print what changed in a store, and when" },
	{ "keygen", keygen_command, "make a key that signs a zone" },
	{ "ds", ds_command, "print what the zone above publishes about a key" },
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static int print_help(void)
{
	puts("usage: dnsblv6-zone COMMAND [options]\n"
	     "Turns lists of addresses into the zone that dnsblv6d serves.\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].help);
	puts("\n'dnsblv6-zone COMMAND --help' lists the options of a command.");
	return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}

static int print_version(void)
{
	printf("dnsblv6-zone %s (%s)\n", DNSBLV6_VERSION, DNSBLV6_LIBRARIES);
	return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}

static bool has_reader(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return poll(&out, 1, 0) <= 0 || (out.revents & POLLERR) == 0;
}

int commands_end_output(bool may_stop)
{
	/* Something in the middle may be lost although the end is not, and its reason too. */
	bool has_failed = ferror(stdout) != 0;
	int error = EIO;
	if (fflush(stdout) != 0) {
		has_failed = true;
		error = errno;
	}
	if (!has_failed || (may_stop && (error == EPIPE || !has_reader())))
		return EX_OK;
	log_error(NULL, "output not written (%s)", store_strerror(-error));
	return EX_IOERR;
}

int commands_exit_status(int status)
{
	switch (status) {
	case DNSBLV6_OK:
		return EX_OK;
	case -EACCES:
	case -EPERM:
	case -EROFS:
	case STORE_ELOCK:
	case KEY_EMODE:
		return EX_NOPERM;
	case -ENOENT:
	case -EISDIR:
		return EX_NOINPUT;
	case -EEXIST:
		return EX_CANTCREAT;
	case KEY_ECRYPTO:
		return EX_SOFTWARE;
	case -ENOMEM:
	case STORE_EREADERS:
	case STORE_EVERIFIER:
	case STORE_EREPLACED:
		return EX_TEMPFAIL;
	default:
		return status <= -2000 ? EX_DATAERR : EX_IOERR;
	}
}

/*
 * A file that took the number of a closed standard stream would be written to
 * in its stead. A file size limit is to be an error, not the end.
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
	/* Children are waited for, also when the process that started this one waits for none. */
	signal(SIGCHLD, SIG_DFL);
}

int main(int argc, char **argv)
{
	settle_process();
	const char *word = argc > 1 ? argv[1] : NULL;
	if (word == NULL) {
		fputs("dnsblv6-zone: no command given; try 'dnsblv6-zone --help'\n", stderr);
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
	fprintf(stderr, "dnsblv6-zone: unknown command '%s'; try 'dnsblv6-zone --help'\n", word);
	return EX_USAGE;
}
