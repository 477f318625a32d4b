/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * dump.c - dnsblv6-zone dump: the list of a store, or its zone as a master file.
 */

#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/build.h"
#include "zone-tools/commands/zonecall.h"

#include "zone-tools/reading/contents.h"
#include "zone-tools/reading/zonefile.h"

#include "lib/common/options.h"
#include "lib/common/version.h"
#include "lib/store/tables.h"

#include <inttypes.h>
#include <stdio.h>

struct dump {
	const char *store;
	bool has_values;
	bool is_of_clients;
	bool is_zonefile;
	struct reader *reader;
	uint32_t ttl;	/* of the clients' values, once it was printed */
	bool has_range; /* that what follows may go on with: without --values any set is as good */
	struct dnsblv6_addr first;
	struct dnsblv6_addr last;
};

#define AT(member) OPTIONS_AT(struct dump, member)

static const struct options_bound rows[] = {
	{ { 's', "store", "FILE", "store to read" }, AT(store), .is_required = true },
	{ { 0, "values", NULL, "print A, TTL and text of each prefix as well" }, AT(has_values) },
	{ { 0, "clients", NULL, "print the list of clients, as an acl" }, AT(is_of_clients) },
	{ { 0, "zonefile", NULL, "print the zone as a master file (RFC 1035)" }, AT(is_zonefile) },
	ROWS_CONFIG,
};

static const struct options_table table = {
	.program = "dnsblv6-zone dump",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "--store FILE [--values | --clients | --zonefile]",
	.summary = "Prints what a store lists: one prefix a line, fewest prefixes, in order.",
	OPTIONS_ROWS(rows),
};

/* ---- the list ---- */

/* The column behind the prefix, when the list is not the apex's. */
static void print_origin(const struct contents_origin *origin)
{
	char text[DNSBLV6_NAME_TEXT_SIZE];
	if (origin->origin.name.size == 0)
		return;
	dnsblv6_name_format(origin->origin.name.wire, origin->origin.name.size, text);
	printf("\t%s", text);
}

/* A text as lists have it: $ is the address, $$ a dollar sign. */
static void print_text(const struct dnsblv6_value *value)
{
	for (unsigned i = 0; i < value->text_size; i++) {
		uint8_t c = value->text[i];
		if (c == DNSBLV6_TEXT_ADDRESS)
			putchar('$');
		else if (c == '$')
			fputs("$$", stdout);
		else
			putchar(c);
	}
}

static int print_values(struct dump *dump, const char *prefix, const struct contents_origin *origin,
			uint32_t set)
{
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	struct store_bytes encoded;
	struct dnsblv6_value value;
	size_t offset = 0;
	dnsblv6_set_make_key(set, key);
	int ret = reader_get(dump->reader, STORE_SETS, key, sizeof(key), &encoded);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	while ((ret = dnsblv6_set_next(encoded.data, encoded.size, &offset, &value)) ==
	       DNSBLV6_OK) {
		char a[DNSBLV6_ADDR_TEXT_SIZE];
		dnsblv6_addr_format(dnsblv6_addr_from_ipv4(value.a), a);
		fputs(prefix, stdout);
		print_origin(origin);
		printf("\t%s\t%" PRIu32 "\t", a, value.ttl);
		print_text(&value);
		putchar('\n');
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int print_range(struct dump *dump, const struct contents_origin *origin,
		       struct dnsblv6_addr first, struct dnsblv6_addr last, uint32_t set)
{
	struct dnsblv6_prefix prefix = dnsblv6_prefix_of_range(first, last);
	int ret = DNSBLV6_OK;
	do {
		char text[DNSBLV6_PREFIX_TEXT_SIZE];
		dnsblv6_prefix_format(prefix, text);
		if (dump->has_values) {
			ret = print_values(dump, text, origin, set);
		} else {
			fputs(text, stdout);
			print_origin(origin);
			putchar('\n');
		}
	} while (ret == DNSBLV6_OK && dnsblv6_prefix_follow(&prefix, last));
	return ret;
}

static int print_joined(struct dump *dump, const struct contents_origin *origin)
{
	if (!dump->has_range)
		return DNSBLV6_OK;
	dump->has_range = false;
	return print_range(dump, origin, dump->first, dump->last, DNSBLV6_SET_NONE);
}

/* As contents_fn. */
static int take_range(void *context, const struct contents_origin *origin,
		      struct dnsblv6_addr first, struct dnsblv6_addr last, uint32_t set)
{
	struct dump *dump = context;
	if (dump->has_values)
		return print_range(dump, origin, first, last, set);
	if (dump->has_range && dnsblv6_addr_compare(dnsblv6_addr_next(dump->last), first) == 0) {
		dump->last = last;
		return DNSBLV6_OK;
	}
	int ret = print_joined(dump, origin);
	dump->has_range = true;
	dump->first = first;
	dump->last = last;
	return ret;
}

static int print_lists(struct dump *dump)
{
	struct dnsblv6_facts facts;
	int ret = contents_read_facts(dump->reader, &facts);
	for (uint16_t i = 0; ret == DNSBLV6_OK; i++) {
		struct contents_origin origin;
		ret = contents_read_origin(dump->reader, i, &origin);
		if (ret == DNSBLV6_OK)
			ret = contents_walk(dump->reader, &facts, &origin, take_range, dump);
		if (ret == DNSBLV6_OK)
			ret = print_joined(dump, &origin);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* ---- the clients ---- */

static void print_action(const struct dnsblv6_value *value)
{
	static const char *const names[] = { "pass", "ignore", "refuse", "empty", "pass" };
	char a[DNSBLV6_ADDR_TEXT_SIZE];
	if (value->a == 0) {
		printf(" :%s\n", value->ttl < 5 ? names[value->ttl] : "refuse");
		return;
	}
	dnsblv6_addr_format(dnsblv6_addr_from_ipv4(value->a), a);
	printf(" :%s:", a);
	/* At the start "=" says that no base template is wanted. */
	if (value->text_size > 0 && value->text[0] == '=')
		putchar('=');
	print_text(value);
	putchar('\n');
}

/* As contents_fn. */
static int print_client(void *context, const struct contents_origin *origin,
			struct dnsblv6_addr first, struct dnsblv6_addr last, uint32_t number)
{
	struct dump *dump = context;
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	struct store_bytes set;
	struct dnsblv6_value value;
	size_t offset = 0;
	(void)origin;
	dnsblv6_set_make_key(number, key);
	int ret = reader_get(dump->reader, STORE_SETS, key, sizeof(key), &set);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_set_next(set.data, set.size, &offset, &value);
	if (ret != DNSBLV6_OK)
		return ret;
	/* The values of an acl have one TTL. */
	if (value.a != 0 && dump->ttl == 0) {
		dump->ttl = value.ttl;
		printf("$TTL %" PRIu32 "\n", value.ttl);
	}
	struct dnsblv6_prefix prefix = dnsblv6_prefix_of_range(first, last);
	do {
		char text[DNSBLV6_PREFIX_TEXT_SIZE];
		dnsblv6_prefix_format(prefix, text);
		fputs(text, stdout);
		print_action(&value);
	} while (dnsblv6_prefix_follow(&prefix, last));
	return DNSBLV6_OK;
}

/* ---- the command ---- */

static void parse_command_line(struct dump *dump, int argc, char **argv)
{
	options_parse_alone(&table, argc, argv, dump);
	if (dump->has_values + dump->is_of_clients + dump->is_zonefile > 1)
		options_fail(&table, "--values, --clients and --zonefile go without each other");
}

static int print_chosen(struct dump *dump)
{
	if (dump->is_of_clients)
		return contents_walk_clients(dump->reader, print_client, dump);
	return dump->is_zonefile ? zonefile_print(dump->reader, stdout) : print_lists(dump);
}

/* What damage has taken away looks like an end: only the checksum tells. */
static int print_all(struct dump *dump)
{
	int ret = reader_start(dump->store, &zone_store, &dump->reader);
	if (ret == DNSBLV6_OK)
		ret = print_chosen(dump);
	if (ret == DNSBLV6_OK)
		ret = reader_verify(dump->reader);
	reader_close(dump->reader);
	return ret;
}

static int read_store(void *context)
{
	struct dump *dump = context;
	return commands_end(dump->store, "store not read", print_all(dump));
}

static int run_command(int argc, char **argv)
{
	struct dump dump = { 0 };
	parse_command_line(&dump, argc, argv);
	return commands_fence(dump.store, "read", read_store, &dump);
}

int dump_command(int argc, char **argv)
{
	return zonecall_run(&table, build_settings(), ZONECALL_NO_LISTS, argc, argv, run_command);
}
