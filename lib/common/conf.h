/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * conf.h - a configuration file read against one table of sections and items.
 *
 * Flow: server/settings/settings.c has the table and takes the values one by one.
 *
 *     server:
 *         listen: [ 127.0.0.1@5300, "::1@5300" ]
 *         tcp-idle-timeout: 10s
 *     zone:
 *       - domain: bl6.example.
 *         store: bl6.mdb
 *
 * This file alone knows libknot's yparser. It adds what yparser does not say:
 * the refused value, what would be permitted, and an item given twice.
 *
 *     struct conf_error error;
 *     int ret = conf_read("dnsblv6d.conf", &table, take_value, &settings, &error);
 *     if (ret != 0)
 *             log_error(...error.line, error.item, error.value, error.reason...);
 *
 * Values are borrowed until the function that takes them returns. Nothing here
 * but conf_log_error() logs, and nothing is kept after conf_read() and conf_parse() have returned.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

enum conf_type {
	CONF_NUMBER,  /* min to max */
	CONF_TIME,    /* seconds from min to max, in the file also with s, m, h or d */
	CONF_TEXT,    /* 1 to max bytes */
	CONF_CHOICE,  /* one of the words in choices */
	CONF_ADDRESS, /* IPv4 or IPv6, with @port or default_port */
	CONF_NAME,    /* a domain name */
};

struct conf_item {
	const char *name;
	enum conf_type type;
	uint16_t default_port;
	bool is_list;
	int64_t min;
	int64_t max;
	const char *const *choices; /* ends with NULL */
};

struct conf_section {
	const char *name;
	const struct conf_item *items;
	size_t item_count; /* at most CONF_ITEMS_MAX */
	bool has_entries;  /* "- first item: value" begins each; the first is CONF_NAME or CONF_TEXT
			    */
};

struct conf_table {
	const struct conf_section *sections;
	size_t section_count; /* at most CONF_SECTIONS_MAX */
};

#define CONF_ITEMS_MAX	  48
#define CONF_SECTIONS_MAX 8
#define CONF_SIZE_MAX	  (1 << 20) /* bytes of a file: more is a mistake, not a configuration */

struct conf_value {
	size_t section; /* index in the table */
	size_t item;	/* index in the section; 0 begins an entry where the section has entries */
	size_t line;	/* from 1 */
	int64_t number; /* CONF_NUMBER, CONF_TIME; for CONF_CHOICE the index of the word */
	const char *text;		 /* as written, for every type */
	struct sockaddr_storage address; /* CONF_ADDRESS */
	const uint8_t *name;		 /* CONF_NAME: lower-case wire form with the root label */
	size_t name_size;
};

/* NULL when the value is taken, else why not: static text for conf_error.reason. */
typedef const char *(*conf_fn)(const struct conf_value *value, void *context);

#define CONF_ITEM_MAX	128
#define CONF_VALUE_MAX	520 /* quoted as log_quote() does */
#define CONF_REASON_MAX 512

struct conf_error {
	size_t line;		    /* 0: about the whole file */
	char item[CONF_ITEM_MAX];   /* as written, quoted when unknown; "" when there is none */
	char value[CONF_VALUE_MAX]; /* quoted and cut */
	char reason[CONF_REASON_MAX];
};

/*
 * Returns 0; -EINVAL when the text was refused; -errno when it could not be
 * read. Anything but 0 fills *reterr_error. Values before the refused one have
 * been given to fn.
 */
int conf_read(const char *path, const struct conf_table *table, conf_fn fn, void *context,
	      struct conf_error *reterr_error);
int conf_parse(const char *text, size_t text_size, const struct conf_table *table, conf_fn fn,
	       void *context, struct conf_error *reterr_error);
/* The text alone, for conf_parse(); it is the caller's, to be freed. 0, or -errno as above. */
int conf_load(const char *path, char **ret_text, size_t *ret_size, struct conf_error *reterr_error);

/* An error about the whole file, which no line shows alone. Returns ret. */
int conf_refuse(struct conf_error *ret_error, int ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Why a file was refused: "PATH:LINE: configuration refused, ..." into CONF_ERROR_MAX bytes. */
#define CONF_ERROR_MAX 4096
void conf_format_error(const char *path, const struct conf_error *error, char *ret_text);
/* Logs one error line for a refused file. */
void conf_log_error(const char *path, const struct conf_error *error);

/* ---- values of several programs ---- */

/* For a CONF_CHOICE, in the order of enum log_level. */
extern const char *const conf_log_levels[];

/* NULL, or why not, static text; the item's max has to be less than size. */
const char *conf_parse_path(const char *text, char *ret_path, size_t size);

/*
 * Permissions as chmod(1) takes them, three octal digits and zeros before them. NULL, or
 * why not, static text; *ret_mode is written on success only.
 */
const char *conf_parse_mode(const char *text, unsigned *ret_mode);

#ifdef __cplusplus
}
#endif
