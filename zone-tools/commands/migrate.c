/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * migrate.c - dnsblv6-zone migrate: zones.conf and dnsblv6d.conf from a command line of rbldnsd.
 *
 * The line -> what it says (rbldnsdline.h) -> each zone's lists are read once, since what they are
 * decides about settings -> both files in memory -> zones.conf is read as any other -> keys and
 * files are written. Nothing is written before all of it is known to be good.
 */

#include "zone-tools/commands/build.h"
#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/migrate_notes.h"

#include "zone-tools/keys/anchor.h"
#include "zone-tools/lists/sources.h"
#include "zone-tools/zones/handover.h"
#include "zone-tools/zones/rbldnsdline.h"

#include "lib/common/log.h"
#include "lib/common/version.h"
#include "lib/common/wholefile.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum { NS_MAX = 8, BAD_LINES_LEAST = 20 };

/* What has to be permitted for what rbldnsd takes. */
struct needs {
	bool is_clean; /* nothing is to be told of its lists */
	bool has_ns;
	bool allow_reserved;
	bool allow_unterminated;
	uint64_t empty_files;
	uint64_t bad_lines;
};

struct migrate {
	const char *output;
	const char *server;
	const char *stores;
	const char *keys;
	const char *ns[NS_MAX];
	size_t ns_count;
	bool is_unsigned;
	struct rbldnsdline line;
	struct needs *needs; /* of each zone; ours */
	char *zones_text;    /* ours, as the other */
	char *server_text;
};

static const char *take_ns(void *member, const char *argument)
{
	struct migrate *migrate = member;
	if (migrate->ns_count == NS_MAX)
		return "more than 8 name servers";
	migrate->ns[migrate->ns_count++] = argument;
	return NULL;
}

#define AT(member) OPTIONS_AT(struct migrate, member)

static const struct options_bound rows[] = {
	{ { 'o', "output", "FILE", "zones.conf to write (standard output)" }, AT(output) },
	{ { 0, "server", "FILE", "dnsblv6d.conf to write (standard output)" }, AT(server) },
	{ { 'n', "ns", "NAME[,ADDRESS...]", "name server, for lists without $NS; may be repeated" },
	  .take = take_ns },
	{ { 0, "stores", "DIR", "where stores will be (/var/lib/dnsblv6)" }, AT(stores) },
	{ { 0, "key-files", "DIR", "where keys are made (/etc/dnsblv6/keys)" }, AT(keys) },
	{ { 0, "unsigned", NULL, "make no keys: zones will not be signed" }, AT(is_unsigned) },
};

static const struct options_table table = {
	.program = "dnsblv6-zone migrate",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "[options] 'rbldnsd ...'",
	.summary =
		"Writes zones.conf and dnsblv6d.conf that do what a command line of rbldnsd does.",
	OPTIONS_ROWS(rows),
};

/* ---- the lists of a zone ---- */

/* Reads all lists of a zone with what needs permits. EX_OK with the findings that would stop a build. */
static int read_lists(const struct migrate *migrate, size_t zone, struct findings *findings,
		      struct needs *needs)
{
	const struct rbldnsdline *line = &migrate->line;
	struct sources_options options = { .cut_host_bits = line->has_option['e'],
					   .allow_reserved = needs->allow_reserved,
					   .allow_empty = needs->empty_files > 0,
					   .allow_unterminated = true,
					   .now_s = (uint64_t)time(NULL) };
	struct listing listing;
	int ret = listing_init(&listing) == 0 ? 0 : -ENOMEM;
	uint64_t allowed = findings->bad_lines_allowed;
	for (size_t i = 0; ret == 0 && i < line->list_count; i++) {
		if (rbldnsdline_has(&line->lists[i], zone))
			ret = sources_read(&listing, line->lists[i].list, &options, findings, NULL);
	}
	if (ret == 0) {
		needs->has_ns = listing.zone.ns_count > 0;
		needs->allow_unterminated = listing.has_unterminated;
		needs->bad_lines = allowed - findings->bad_lines_allowed;
		needs->empty_files += listing.empty_files;
	}
	listing_deinit(&listing);
	return ret == -EINVAL ? EX_USAGE : commands_exit_status(ret);
}

/*
 * What one more option mends is told before everything that lists say, and nothing is printed but that:
 * reserved space in a list is no reason to stop here.
 */
static int look_at_zone(const struct migrate *migrate, size_t zone, struct needs *needs)
{
	struct findings quiet = { .stream = stderr, .limit = 0, .bad_lines_allowed = UINT64_MAX };
	const char *classic = migrate->line.zones[zone];
	char name[DNSBLV6_NAME_TEXT_SIZE];
	if (!rbldnsdline_make_name(&migrate->line, zone, name, sizeof(name))) {
		log_error(classic,
			  "zone not migrated (its name with a 6 is too long, or is another zone)");
		return EX_DATAERR;
	}
	int status = read_lists(migrate, zone, &quiet, needs);
	needs->allow_reserved = quiet.refusal_count > needs->empty_files;
	needs->is_clean = status == EX_OK && quiet.refusal_count == 0 && needs->bad_lines == 0;
	if (status == EX_OK && !needs->has_ns && migrate->ns_count == 0) {
		log_error(classic, "zone not migrated (no list has $NS: give --ns)");
		return EX_USAGE;
	}
	return EX_OK;
}

static int look_at_zones(struct migrate *migrate)
{
	int status = EX_OK;
	migrate->needs = calloc(migrate->line.zone_count, sizeof(*migrate->needs));
	if (migrate->needs == NULL)
		return EX_TEMPFAIL;
	for (size_t i = 0; status == EX_OK && i < migrate->line.zone_count; i++)
		status = look_at_zone(migrate, i, &migrate->needs[i]);
	return status;
}

/* With what needs permits: its warnings, and what nothing permits. */
static int tell_zone(const struct migrate *migrate, size_t zone, struct needs *needs)
{
	struct findings told = { .stream = stderr,
				 .limit = FINDINGS_SHOWN,
				 .bad_lines_allowed = UINT64_MAX };
	if (needs->is_clean)
		return EX_OK;
	int status = read_lists(migrate, zone, &told, needs);
	findings_end(&told);
	if (status == EX_OK && told.refusal_count > 0)
		status = EX_DATAERR;
	if (status != EX_OK)
		log_error(migrate->line.zones[zone], "zone not migrated (its lists are refused)");
	return status;
}

/* ---- zones.conf ---- */

static void write_lists(const struct migrate *migrate, size_t zone, FILE *out)
{
	const struct rbldnsdline *line = &migrate->line;
	for (size_t i = 0; i < line->list_count; i++) {
		if (rbldnsdline_has(&line->lists[i], zone))
			fprintf(out, "    list: \"%s\"\n", line->lists[i].list);
	}
}

static void write_settings(const struct migrate *migrate, const struct needs *needs, FILE *out)
{
	const struct rbldnsdline *line = &migrate->line;
	for (size_t i = 0; i < migrate->ns_count; i++)
		fprintf(out, "    ns: \"%s\"\n", migrate->ns[i]);
	if (line->has_ttl)
		fprintf(out, "    ttl: %" PRIu32 "\n", line->ttl);
	if (line->has_option['e'])
		fprintf(out, "    cut-host-bits: on\n");
	if (needs->allow_reserved)
		fprintf(out, "    # Its lists have private or reserved space today.\n"
			     "    allow-reserved: on\n");
	if (needs->empty_files > 0)
		fprintf(out, "    # One of its files is empty today.\n"
			     "    allow-empty: on\n");
	if (needs->allow_unterminated)
		fprintf(out, "    # The last line of a list has no line feed today.\n"
			     "    allow-unterminated: on\n");
	if (needs->bad_lines > 0)
		fprintf(out,
			"    # Its lists have %" PRIu64 " lines that cannot be read today, which "
			"rbldnsd passes over: as\n    # many again may come, and %d in all at "
			"least.\n    max-bad-lines: %" PRIu64 "\n",
			needs->bad_lines, (int)BAD_LINES_LEAST,
			2 * needs->bad_lines > BAD_LINES_LEAST ? 2 * needs->bad_lines
							       : BAD_LINES_LEAST);
}

static int write_zone(const struct migrate *migrate, size_t zone, FILE *zones, FILE *server)
{
	const char *classic = migrate->line.zones[zone];
	char name[DNSBLV6_NAME_TEXT_SIZE];
	int status = tell_zone(migrate, zone, &migrate->needs[zone]);
	if (status != EX_OK || !rbldnsdline_make_name(&migrate->line, zone, name, sizeof(name)))
		return status;
	fprintf(zones, "  - domain: %s\n    store: %s/%smdb\n    classic: %s\n", name,
		migrate->stores, name, classic);
	if (!migrate->is_unsigned)
		fprintf(zones, "    key: %s/%spem\n", migrate->keys, name);
	write_lists(migrate, zone, zones);
	write_settings(migrate, &migrate->needs[zone], zones);
	fprintf(server, "  - domain: %s\n    store: %s/%smdb\n    classic: %s\n", name,
		migrate->stores, name, classic);
	return EX_OK;
}

/* ---- dnsblv6d.conf ---- */

static void write_server(const struct migrate *migrate, FILE *out)
{
	const struct rbldnsdline *line = &migrate->line;
	const char *comma = "";
	char listen[128];
	fprintf(out, "server:\n    listen: [ ");
	for (size_t i = 0; i < line->listen_count; i++) {
		if (!rbldnsdline_make_listen(line->listen[i], listen, sizeof(listen))) {
			log_warning("-b",
				    "address left out, text=%s (a name of a host or of a "
				    "service: give it to \"listen\" as numbers)",
				    line->listen[i]);
			continue;
		}
		fprintf(out, "%s\"%s\"", comma, listen);
		comma = ", ";
	}
	if (*comma == '\0')
		fprintf(out, "127.0.0.1@53, \"::1@53\"");
	fprintf(out, " ]\n");
	fprintf(out, "    # Where dnsblv6d is started by root, and not by its unit; so is "
		     "\"dnsblv6d --check\".\n"
		     "    #user: dnsblv6\n");
	fprintf(out, "    # The socket of dnsblv6ctl(8); the unit makes its directory.\n"
		     "    #control: /run/dnsblv6/control\n");
	fprintf(out, "zone:\n");
}

/* ---- all of it ---- */

static int make_texts(struct migrate *migrate)
{
	size_t size;
	size_t server_size;
	FILE *zones = open_memstream(&migrate->zones_text, &size);
	FILE *server = open_memstream(&migrate->server_text, &server_size);
	int status = zones != NULL && server != NULL ? EX_OK : EX_TEMPFAIL;
	if (status == EX_OK) {
		fprintf(zones, "# Made by dnsblv6-zone migrate; zones.conf(5) says more.\nzone:\n");
		fprintf(server, "# Made by dnsblv6-zone migrate; dnsblv6d.conf(5) says more.\n");
		write_server(migrate, server);
	}
	for (size_t i = 0; status == EX_OK && i < migrate->line.zone_count; i++)
		status = write_zone(migrate, i, zones, server);
	if (zones != NULL)
		fclose(zones);
	if (server != NULL)
		fclose(server);
	return status;
}

/* Two zones may come to have one name; a name server may be none. */
static int check_text(const struct migrate *migrate)
{
	struct zonesconf conf = { 0 };
	struct conf_error error;
	int ret = zonesconf_parse(migrate->zones_text, strlen(migrate->zones_text),
				  build_settings(), &conf, &error);
	if (ret != 0)
		conf_log_error("zones.conf", &error);
	zonesconf_deinit(&conf);
	return ret == 0 ? EX_OK : EX_DATAERR;
}

/* A key that is there stays: the zone above may know it. */
static int make_key(const struct migrate *migrate, const char *zone)
{
	char path[PATH_MAX];
	struct dnsblv6_labels labels;
	struct key *key = NULL;
	snprintf(path, sizeof(path), "%s/%spem", migrate->keys, zone);
	if (access(path, F_OK) == 0)
		return EX_OK;
	int ret = anchor_parse_zone(zone, &labels);
	if (ret == DNSBLV6_OK)
		ret = key_generate(KEY_ECDSAP256SHA256, &key);
	if (ret == DNSBLV6_OK)
		ret = key_write(key, path);
	if (ret == DNSBLV6_OK)
		handover_give(path);
	key_free(key);
	return commands_end(path, "key not written", ret);
}

static int make_keys(const struct migrate *migrate)
{
	int status = EX_OK;
	for (size_t i = 0; status == EX_OK && i < migrate->line.zone_count; i++) {
		char name[DNSBLV6_NAME_TEXT_SIZE];
		if (rbldnsdline_make_name(&migrate->line, i, name, sizeof(name)))
			status = make_key(migrate, name);
	}
	return status;
}

/* A file that is there is the operator's: then nothing is made, no key either. */
static int check_file(const char *path)
{
	if (path == NULL || access(path, F_OK) != 0)
		return EX_OK;
	return commands_end(path, "file not written", -EEXIST);
}

static int write_file(const char *path, const char *text)
{
	if (path == NULL) {
		fputs(text, stdout);
		return EX_OK;
	}
	int ret = wholefile_write(AT_FDCWD, path, text, strlen(text), 0644,
				  WHOLEFILE_FIRST | WHOLEFILE_LASTS);
	return commands_end(path, "file not written", ret);
}

/* Where the second is not written the first is not left: another run would take it for the operator's. */
static int write_files(const struct migrate *migrate)
{
	int status = write_file(migrate->output, migrate->zones_text);
	if (status != EX_OK)
		return status;
	status = write_file(migrate->server, migrate->server_text);
	if (status != EX_OK && migrate->output != NULL)
		unlink(migrate->output);
	return status;
}

static int run(struct migrate *migrate, const char *text)
{
	char here[PATH_MAX];
	char why[RBLDNSDLINE_REASON_MAX];
	const char *reason = getcwd(here, sizeof(here)) == NULL ? strerror(errno) : NULL;
	if (reason == NULL)
		reason = rbldnsdline_parse(text, here, &migrate->line, why);
	if (reason != NULL) {
		log_error("rbldnsd", "command line refused (%s)", reason);
		return EX_USAGE;
	}
	int status = check_file(migrate->output);
	if (status == EX_OK)
		status = check_file(migrate->server);
	if (status == EX_OK)
		status = look_at_zones(migrate);
	if (status == EX_OK)
		status = make_texts(migrate);
	if (status == EX_OK)
		status = check_text(migrate);
	if (status == EX_OK && !migrate->is_unsigned)
		status = make_keys(migrate);
	if (status == EX_OK)
		status = write_files(migrate);
	if (status == EX_OK)
		migrate_notes_tell(&migrate->line);
	return status;
}

int migrate_command(int argc, char **argv)
{
	struct migrate migrate = { .stores = "/var/lib/dnsblv6", .keys = "/etc/dnsblv6/keys" };
	options_parse(&table, argc, argv, &migrate);
	if (argc - optind != 1)
		options_fail(&table, "give the command line of rbldnsd as one word, in quotes");
	if (migrate.stores[0] != '/' || migrate.keys[0] != '/')
		options_fail(&table, "--stores and --key-files take an absolute path");
	if (migrate.output != NULL && migrate.server != NULL &&
	    strcmp(migrate.output, migrate.server) == 0)
		options_fail(&table, "--output and --server are one file");
	int status = run(&migrate, argv[optind]);
	rbldnsdline_deinit(&migrate.line);
	free(migrate.needs);
	free(migrate.zones_text);
	free(migrate.server_text);
	return status;
}
