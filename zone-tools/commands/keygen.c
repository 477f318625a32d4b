/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * keygen.c - dnsblv6-zone keygen: a new key in a file, and its DS record.
 */

#include "zone-tools/commands/commands.h"

#include "zone-tools/keys/anchor.h"
#include "zone-tools/zones/handover.h"

#include "lib/common/log.h"
#include "lib/common/options.h"
#include "lib/common/version.h"

#include <getopt.h>
#include <stdio.h>

enum row { OPTION_ZONE, OPTION_KEY, OPTION_ALGORITHM };

static const struct options_row rows[] = {
	[OPTION_ZONE] = { 'z', "zone", "NAME", "zone that it will sign, such as bl6.example." },
	[OPTION_KEY] = { 'k', "key", "FILE", "file to write; must not exist" },
	[OPTION_ALGORITHM] = { 0, "algorithm", "WORD", "ecdsap256sha256 (default) or ed25519" },
};

static const struct options_table table = {
	.program = "dnsblv6-zone keygen",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--zone NAME --key FILE [--algorithm WORD]",
	.summary = "Makes a key that signs a zone, and prints the DS record for the zone above.",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
};

struct keygen {
	struct dnsblv6_labels zone;
	const char *file;
	uint8_t algorithm;
};

static void parse_zone(struct keygen *keygen, const char *argument)
{
	if (anchor_parse_zone(argument, &keygen->zone) != DNSBLV6_OK)
		options_fail(&table, "--zone '%s': not a domain name", argument);
}

static void parse_algorithm(struct keygen *keygen, const char *argument)
{
	keygen->algorithm = key_parse_algorithm(argument);
	if (keygen->algorithm == 0)
		options_fail(&table, "--algorithm '%s': neither ecdsap256sha256 nor ed25519",
			     argument);
}

static void parse_command_line(struct keygen *keygen, int argc, char **argv)
{
	const char *argument;
	int option;
	while ((option = options_next(&table, argc, argv, &argument)) != OPTIONS_END) {
		if (option == OPTION_ZONE)
			parse_zone(keygen, argument);
		else if (option == OPTION_KEY)
			keygen->file = argument;
		else
			parse_algorithm(keygen, argument);
	}
	if (keygen->zone.size == 0)
		options_fail(&table, "--zone is missing");
	if (keygen->file == NULL)
		options_fail(&table, "--key is missing");
	if (optind < argc)
		options_fail(&table, "unexpected word '%s'", argv[optind]);
}

int keygen_command(int argc, char **argv)
{
	struct keygen keygen = { .algorithm = KEY_ECDSAP256SHA256 };
	struct key *key = NULL;
	parse_command_line(&keygen, argc, argv);

	int ret = key_generate(keygen.algorithm, &key);
	if (ret == DNSBLV6_OK)
		ret = key_write(key, keygen.file);
	if (ret != DNSBLV6_OK) {
		log_error(keygen.file, "key not written (%s)", key_strerror(ret));
		key_free(key);
		return commands_exit_status(ret);
	}
	handover_give(keygen.file);
	/* The key stays: "ds" prints the record again. */
	ret = anchor_print_ds(stdout, &keygen.zone, key);
	if (ret != DNSBLV6_OK)
		log_error(NULL, "output not written (%s)", key_strerror(ret));
	key_free(key);
	return commands_exit_status(ret);
}
