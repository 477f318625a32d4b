/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * keygen.c - dnsblv6-zone keygen: a new key in a file, and its DS record.
 */

#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/rows.h"

#include "zone-tools/keys/anchor.h"
#include "zone-tools/zones/handover.h"

#include "lib/common/version.h"

#include <stdio.h>
#include <sysexits.h>

struct keygen {
	struct dnsblv6_labels zone;
	const char *file;
	uint8_t algorithm;
};

static const char *take_algorithm(void *member, const char *argument)
{
	uint8_t *algorithm = member;
	*algorithm = key_parse_algorithm(argument);
	return *algorithm == 0 ? "neither ecdsap256sha256 nor ed25519" : NULL;
}

#define AT(member) OPTIONS_AT(struct keygen, member)

static const struct options_bound rows[] = {
	{ { 'z', "zone", "NAME", "zone that it will sign, such as bl6.example." },
	  AT(zone),
	  .take = rows_take_name,
	  .is_required = true },
	{ { 'k', "key", "FILE", "file to write; must not exist" }, AT(file), .is_required = true },
	{ { 0, "algorithm", "WORD", "ecdsap256sha256 (default) or ed25519" },
	  AT(algorithm),
	  .take = take_algorithm },
};

static const struct options_table table = {
	.program = "dnsblv6-zone keygen",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--zone NAME --key FILE [--algorithm WORD]",
	.summary = "Makes a key that signs a zone, and prints the DS record for the zone above.",
	OPTIONS_ROWS(rows),
};

int keygen_command(int argc, char **argv)
{
	struct keygen keygen = { .algorithm = KEY_ECDSAP256SHA256 };
	struct key *key = NULL;
	options_parse_alone(&table, argc, argv, &keygen);

	int ret = key_generate(keygen.algorithm, &key);
	if (ret == DNSBLV6_OK)
		ret = key_write(key, keygen.file);
	int status = commands_end(keygen.file, "key not written", ret);
	if (status == EX_OK) {
		handover_give(keygen.file);
		/* The key stays: "ds" prints the record again. */
		ret = anchor_print_ds(stdout, &keygen.zone, key);
		status = commands_end(NULL, "output not written", ret);
	}
	key_free(key);
	return status;
}
