/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * ds.c - dnsblv6-zone ds: what to tell others about the key of a zone, or its keys in a directory.
 */

#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/rows.h"
#include "zone-tools/commands/zonecall.h"

#include "zone-tools/keys/anchor.h"
#include "zone-tools/keys/keyring.h"

#include "lib/common/log.h"
#include "lib/common/version.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

struct ds {
	struct dnsblv6_labels zone;
	const char *file;
	const char *directory;
	bool is_dnskey;
};

#define AT(member) OPTIONS_AT(struct ds, member)

static const struct options_bound rows[] = {
	{ { 'z', "zone", "NAME", "zone that the key signs, such as bl6.example." },
	  AT(zone),
	  .take = rows_take_name,
	  .is_required = true },
	{ { 'k', "key", "FILE", "file that keygen wrote" }, AT(file) },
	{ { 0, "keys", "DIR", "directory of keys that follow each other" }, AT(directory) },
	{ { 0, "dnskey", NULL, "print the DNSKEY record instead" }, AT(is_dnskey) },
	ROWS_CONFIG,
};

static const struct options_table table = {
	.program = "dnsblv6-zone ds",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--zone NAME --key FILE [--dnskey]\n"
		 "       dnsblv6-zone ds --zone NAME --keys DIR [--dnskey]\n"
		 "       dnsblv6-zone ds ZONE [--config FILE] [--dnskey]",
	.summary = "Prints the DS record that the zone above publishes about a key.",
	OPTIONS_ROWS(rows),
};

static int end_read(const char *path, int status)
{
	log_error(path, "key not read (%s)", keyring_strerror(status));
	return commands_exit_status(status);
}

/* Frees it. */
static int print_key(const struct ds *ds, struct key *key)
{
	int ret = ds->is_dnskey ? anchor_print_dnskey(stdout, &ds->zone, key)
				: anchor_print_ds(stdout, &ds->zone, key);
	key_free(key);
	return commands_end(NULL, "output not written", ret);
}

static int print_file(const struct ds *ds)
{
	struct key *key = NULL;
	int ret = key_read(ds->file, &key);
	return ret == DNSBLV6_OK ? print_key(ds, key) : end_read(ds->file, ret);
}

/* Of each, in the order of names. The first status that is not EX_OK. */
static int print_found(const struct ds *ds, struct dirent **entries, int count)
{
	char path[KEYRING_PATH_MAX];
	uint8_t algorithm;
	uint16_t tag;
	bool is_there = false;
	int status = EX_OK;
	for (int i = 0; i < count && status == EX_OK; i++) {
		if (!keyring_parse_name(ds->directory, &ds->zone, entries[i]->d_name, &algorithm,
					&tag, path))
			continue;
		is_there = true;
		struct key *key = NULL;
		int ret = keyring_open(path, algorithm, tag, &key);
		status = ret == DNSBLV6_OK ? print_key(ds, key) : end_read(path, ret);
	}
	return is_there ? status : end_read(ds->directory, DNSBLV6_ENOTFOUND);
}

static int print_keys(const struct ds *ds)
{
	struct dirent **entries = NULL;
	const int count = scandir(ds->directory, &entries, NULL, alphasort);
	if (count < 0)
		return end_read(ds->directory, -errno);
	const int status = print_found(ds, entries, count);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free((void *)entries);
	return status;
}

static int run_command(int argc, char **argv)
{
	struct ds ds = { 0 };
	options_parse_alone(&table, argc, argv, &ds);
	if (ds.file == NULL && ds.directory == NULL)
		options_fail(&table, "--key is missing, or --keys");
	if (ds.file != NULL && ds.directory != NULL)
		options_fail(&table, "--key and --keys are two ways");
	return ds.file != NULL ? print_file(&ds) : print_keys(&ds);
}

int ds_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}
