/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * dnsblv6-zone - lists in, store out. The program's own text is dnsblv6-zone.1.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/chain/chain.h"
#include "zone-tools/keys/key.h"
#include "zone-tools/keys/keyset.h"
#include "zone-tools/zones/handover.h"

#include "lib/common/log.h"
#include "lib/common/subcommands.h"
#include "lib/common/version.h"
#include "lib/lmdb/fence.h"
#include "lib/lmdb/store.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <sysexits.h>

static const struct subcommand commands[] = {
	{ "build", build_command, "make or replace a store from lists" },
	{ "update", update_command, "add addresses to a store, or remove them" },
	{ "check", check_command, "report what is wrong with lists or a store" },
	{ "sign", sign_command, "renew the signatures of a store" },
	{ "dump", dump_command, "print the list, or the zone, that a store holds" },
	{ "log", history_command, "print what changed in a store, and when" },
	{ "diff", diff_command, "print what two stores list differently" },
	{ "rollback", rollback_command, "publish an earlier version of a store again" },
	{ "watch", watch_command, "build zones of zones.conf whenever their lists change" },
	{ "migrate", migrate_command, "write zones.conf from a command line of rbldnsd" },
	{ "conf-check", confcheck_command, "report what is wrong with zones.conf" },
	{ "keygen", keygen_command, "make a key that signs a zone" },
	{ "ds", ds_command, "print what the zone above publishes about a key" },
	{ "roll", roll_command, "print how keys follow each other, and make a step of it" },
};

int commands_exit_status(int status)
{
	switch (status) {
	case KEY_EMODE:
		return EX_NOPERM;
	case -EEXIST:
		return EX_CANTCREAT;
	case KEY_ECRYPTO:
		return EX_SOFTWARE;
	case CHAIN_EMOVED:
	case KEYSET_EMOVED:
		return EX_TEMPFAIL;
	default:
		return store_exit_status(status);
	}
}

int commands_end(const char *place, const char *what, int status)
{
	if (status != DNSBLV6_OK)
		log_error(place, "%s (%s)", what, chain_strerror(status));
	return commands_exit_status(status);
}

/* What has become of the process that had the store. */
static int end_fence(const char *store, const char *done, int ret, int status)
{
	if (ret == STORE_ECORRUPT) {
		log_error(store, "store not %s (%s: move it away and build it again)", done,
			  store_strerror(ret));
		return EX_DATAERR;
	}
	if (ret != STORE_OK) {
		log_error(store, "store not %s (%s)", done, store_strerror(ret));
		return EX_OSERR;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* A reader that has gone ends both. */
	if (WTERMSIG(status) == SIGPIPE) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	log_error(store, "store not %s, signal=%d", done, WTERMSIG(status));
	return EX_SOFTWARE;
}

int commands_fence(const char *store, const char *done, int (*run)(void *context), void *context)
{
	const bool is_new = handover_is_absent(store);
	int status = 0;
	const bool is_lost = fflush(stdout) != 0;
	int ret = fence_run(run, context, &status);
	/* Of what was lost before it the child has told, at its end (output.h). */
	if (is_lost && ret == STORE_OK && WIFEXITED(status))
		clearerr(stdout);
	if (is_new)
		handover_give(store);
	return end_fence(store, done, ret, status);
}

int main(int argc, char **argv)
{
	static const struct subcommands table = {
		.program = "dnsblv6-zone",
		.libraries = DNSBLV6_LIBRARIES,
		.summary = "Turns lists of addresses into the zone that dnsblv6d serves.",
		.rows = commands,
		.row_count = sizeof(commands) / sizeof(commands[0]),
	};
	/* A finding is printed in parts: as one write no line of another job comes between them. */
	(void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	return subcommands_run(&table, argc, argv);
}
