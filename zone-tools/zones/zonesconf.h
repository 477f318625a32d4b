/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * zonesconf.h - zones.conf: for each zone its store, its lists and its options of build.
 *
 * Flow: conf.h reads the file -> zonesconf_parse() holds each setting against the row of the option
 *       of its name -> zonecall.c writes the options of one zone before those of a command line.
 *
 *     zone:
 *       - domain: bl6.example.
 *         store: /var/lib/dnsblv6/bl6.example.mdb
 *         list: /var/lib/lists/list.txt
 *         ttl: 900
 *         zonemd: on
 *
 * What a setting is called, what it may be and what it means are the option's, but for "domain"
 * (--zone) and "list" (an operand). A zonesconf owns its memory.
 */

#include "zone-tools/records/store_settings.h"

#include "lib/common/conf.h"
#include "lib/common/options.h"

#define ZONESCONF_ZONES_MAX 1000
#define ZONESCONF_VALUE_MAX 4096
/* The option of build that "NAME: off" is a setting of, where a store may remember that it was on. */
#define ZONESCONF_FORGET "forget"

/* What a contradiction is about: the setting of one of these names, counted from 0. */
struct zonesconf_about {
	const char *const *names; /* ends with NULL; the first that is given counts */
	size_t number;
};

/* The options that may be settings: all rows but those of one run, and "zone". */
struct zonesconf_command {
	const struct options_table *table; /* bound rows, "store" among them */
	size_t context_size;		   /* of what the rows write to */
	void (*init)(void *context);
	/* Why the settings of a zone do not go together; NULL when they do. */
	const char *(*find_conflict)(void *context, const char *domain,
				     struct zonesconf_about *ret_about);
};

struct zonesconf_zone {
	char *domain;			/* lower case, with its last dot; ours */
	size_t line;			/* of the file */
	struct store_settings settings; /* names of options and "list", as in the file */
	size_t *lines;			/* of each of them; ours */
	size_t line_capacity;
	void *context;		     /* what the values were tried on; ours */
	struct store_settings tried; /* copies that it borrows */
};

struct zonesconf {
	struct zonesconf_zone *zones;
	size_t count;
	size_t capacity;
	char reason[OPTIONS_REASON_MAX];	 /* why a value was not taken */
	const struct zonesconf_command *command; /* borrowed until zonesconf_parse() returns */
};

/*
 * ret_conf is zeroed before; end it with zonesconf_deinit() either way. 0, or what conf_parse()
 * returns.
 */
int zonesconf_parse(const char *text, size_t size, const struct zonesconf_command *command,
		    struct zonesconf *ret_conf, struct conf_error *reterr_error);
/* The same of a file. */
int zonesconf_load(const char *path, const struct zonesconf_command *command,
		   struct zonesconf *ret_conf, struct conf_error *reterr_error);
void zonesconf_deinit(struct zonesconf *conf);

/* In any case, with or without the last dot. */
bool zonesconf_is_same_name(const char *one, const char *other);
/* By its name, so; NULL when there is none. */
const struct zonesconf_zone *zonesconf_find(const struct zonesconf *conf, const char *name);
/* The index of that setting, the number-th of its name from 0; settings.count when there is none. */
size_t zonesconf_find_setting(const struct zonesconf_zone *zone, const char *name, size_t number);
/* An error about the setting of that index, at its line. Returns -EINVAL. */
int zonesconf_refuse(const struct zonesconf_zone *zone, size_t index, const char *reason,
		     struct conf_error *ret_error);
/* The last value of that setting; NULL when it has none. */
const char *zonesconf_get(const struct zonesconf_zone *zone, const char *name);

/* Calls fn for each file of the settings of that name, "list" or "except". */
void zonesconf_each_file(const struct zonesconf_zone *zone, const char *name,
			 void (*fn)(void *context, const char *path), void *context);
