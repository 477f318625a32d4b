/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cached_setup.h - the configuration of dnsblv6-cached: cached.conf, read and checked.
 *
 * Flow: program.h -> cached_setup_parse() -> lib/common/conf.c, and handle.h for each item of
 *       "library" -> main.c has the directory, the zones and a handle to start.
 *
 *     cached:
 *         directory: /run/dnsblv6-cached
 *     zone:
 *       - domain: bl6.example
 *     library:
 *         cache-size: 64M
 */

#include <stddef.h>

#include "integration/common/handle.h"
#include "integration/common/owner.h"
#include "integration/common/program.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SETUP_DIRECTORY "/run/dnsblv6-cached"

#define SETUP_ZONES_MAX	    64 /* as many as a handle has */
#define SETUP_ZONE_MAX	    255
#define SETUP_LABEL_MAX	    31
#define SETUP_DIRECTORY_MAX 90 /* with "/socket" behind it: the path of a UNIX socket */

struct setup_zone {
	char name[SETUP_ZONE_MAX + 1]; /* lower case, no final dot */
	size_t name_size;
	char label[SETUP_LABEL_MAX + 1]; /* "": none */
	const char *mode;		 /* static; NULL: auto */
};

struct cached_setup {
	char directory[SETUP_DIRECTORY_MAX + 1];
	struct owner owner;
	unsigned clients_max;
	char metrics[PROGRAM_PATH_MAX + 1]; /* "": none */
	int log_level;
	struct setup_zone zones[SETUP_ZONES_MAX];
	unsigned zone_count;
	struct handle handle;
};

extern const struct conf_table cached_setup_table;

/*
 * For program.h: 0, or a negative errno with *reterr_error; cached_setup_deinit() ends it in either
 * case. The setup is a struct cached_setup.
 */
int cached_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error);
void cached_setup_deinit(void *setup);

/* Index of a zone, in whatever case; negative when there is none. */
int cached_setup_find_zone(const struct cached_setup *setup, const char *name, size_t name_size);

#ifdef __cplusplus
}
#endif
