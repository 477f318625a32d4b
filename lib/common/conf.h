/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * conf.h - a configuration file read against one table: a row for each item.
 *
 * Flow: each program has a table and a struct of its settings -> conf_parse() -> values.h for
 *       the values -> the members that the rows name. The functions "take" of the rows are for
 *       what is more than a value.
 *
 *     server:
 *         listen: [ 127.0.0.1@5300, "::1@5300" ]
 *         tcp-idle-timeout: 10s
 *     zone:
 *       - domain: bl6.example.
 *         store: bl6.mdb
 *
 * This file alone knows libknot's yparser, which reads lines. It adds what yparser does not say:
 * the refused value, what would be permitted, and an item given twice.
 *
 *     static const struct conf_item items[] = {
 *             { "workers", CONF_NUMBER, .min = 1, .max = 256, .preset = "1",
 *               CONF_AT(struct settings, workers) },
 *             { "timeout", CONF_SECONDS, .min = 1, .max = 3600, .preset = "10s",
 *               CONF_AT(struct settings, timeout_s) },
 *     };
 *     static const struct conf_section sections[] = { { "server", CONF_ITEMS(items) } };
 *     static const struct conf_table table = { CONF_SECTIONS(sections) };
 *     struct conf_error error;
 *     struct settings settings = { 0 };
 *     if (conf_parse(text, text_size, &table, &settings, &error) != 0)
 *             conf_log_error("dnsblv6d.conf", &error);
 *
 * Values are borrowed until the function that takes them returns. Nothing here
 * but conf_log_error() logs, and nothing is kept after conf_parse() has returned.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/common/values.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a value is, and what the member has without a function "take". */
enum conf_type {
	CONF_NUMBER,  /* min to max; bool, unsigned or uint64_t, by its size */
	CONF_SECONDS, /* a time, min to max seconds, in the file with s, m, h or d; the same */
	CONF_AGE,     /* the same, and a number without s, m, h or d is refused, but for 0 */
	CONF_MS,      /* a time, min to max milliseconds, in the file also with ms; the same */
	CONF_SIZE,    /* min to max bytes, in the file also with K, M or G; the same */
	CONF_CHOICE,  /* one of the words in choices, as its index; the same, or an enum */
	CONF_MODE,    /* permissions; unsigned */
	CONF_TEXT,    /* 1 to max bytes; char [] */
	CONF_PATH,    /* absolute, 1 to max bytes; char [] */
	CONF_ADDRESS, /* IPv4 or IPv6, with @port or default_port; struct sockaddr_storage */
	CONF_PLACE,   /* ADDRESS@PORT or an absolute path, 1 to max bytes; struct place */
	CONF_NAME,    /* a domain name; always with "take" */
};

struct conf_value;

/* NULL when the value is taken, else why not: static text for conf_error.reason, or context's. */
typedef const char *(*conf_take_fn)(void *member, const struct conf_value *value);

struct conf_item {
	const char *name;
	enum conf_type type;
	size_t offset; /* of the member in the struct of its section: CONF_AT() */
	size_t size;   /* of the member */
	int64_t min;   /* of addresses: the port's */
	int64_t max;   /* of texts 0: what the member holds */
	/* As in the file, of lists with blanks between; taken when the file has no such item. */
	const char *preset;
	const char *const *choices; /* ends with NULL */
	conf_take_fn take;
	uint16_t default_port;
	bool is_list;
	bool is_secret; /* not shown in an error */
	bool needs_restart;
};

/* The member of a row. */
#define CONF_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

/* A row of a number, a time or a size; and one of a word, or of a bool as two words. */
#define CONF_RANGE(kind, type, name, member, least, most, usual)                                   \
	{                                                                                          \
		name, kind, CONF_AT(type, member), .min = (least), .max = (most),                  \
						   .preset = (usual)                               \
	}
#define CONF_ONE_OF(type, name, member, words, usual)                                              \
	{                                                                                          \
		name, CONF_CHOICE, CONF_AT(type, member), .choices = (words), .preset = (usual)    \
	}

struct conf_section {
	const char *name;
	const struct conf_item *items;
	size_t item_count; /* at most CONF_ITEMS_MAX */
	size_t offset;	   /* of the struct that has the members, in the context of conf_parse() */
	/*
	 * The entry that has been begun last, whose members these are. With it, "- first item:
	 * value" begins each entry; the first item's "take" makes it, and has the struct of the
	 * section as its member. Presets of the others follow.
	 */
	void *(*find_entry)(void *context);
};

struct conf_table {
	const struct conf_section *sections;
	size_t section_count; /* at most CONF_SECTIONS_MAX */
};

#define CONF_COUNT(rows)    (sizeof(rows) / sizeof((rows)[0]))
#define CONF_ITEMS(rows)    .items = (rows), .item_count = CONF_COUNT(rows)
#define CONF_SECTIONS(rows) .sections = (rows), .section_count = CONF_COUNT(rows)

#define CONF_ITEMS_MAX	  48
#define CONF_SECTIONS_MAX 8
#define CONF_SIZE_MAX	  (1 << 20) /* bytes of a file: more is a mistake, not a configuration */

struct conf_value {
	const struct conf_item *item;
	void *context;			 /* of conf_parse() */
	size_t line;			 /* from 1; 0: a preset */
	const char *text;		 /* as written, for every type */
	int64_t number;			 /* up to CONF_MODE */
	struct sockaddr_storage address; /* CONF_ADDRESS */
	struct place place;		 /* CONF_PLACE */
	const uint8_t *name;		 /* CONF_NAME: lower-case wire form with the root label */
	size_t name_size;
};

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
 * Writes the values of text, and then the presets of items that it does not have, to the members
 * in context, which are zero before. Returns 0; -EINVAL when the text was refused, or -ENOMEM.
 * Anything but 0 fills *reterr_error. Values before the refused one have been taken.
 */
int conf_parse(const char *text, size_t text_size, const struct conf_table *table, void *context,
	       struct conf_error *reterr_error);
/*
 * The text of a file for conf_parse(); it is the caller's, to be freed. 0, or -errno with
 * *reterr_error.
 */
int conf_load(const char *path, char **ret_text, size_t *ret_size, struct conf_error *reterr_error);

/*
 * The name of the first item that needs a restart and differs between two contexts, byte by byte,
 * or NULL. Items of entries are not looked at.
 */
const char *conf_find_restart(const struct conf_table *table, const void *old_context,
			      const void *new_context);
/* Copies the members of such items, which have no memory of their own. */
void conf_keep_restart(const struct conf_table *table, const void *old_context, void *new_context);

/* An error about the whole file, which no line shows alone. Returns ret. */
int conf_refuse(struct conf_error *ret_error, int ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Why a file was refused: "PATH:LINE: configuration refused, ..." into CONF_ERROR_MAX bytes. */
#define CONF_ERROR_MAX 4096
void conf_format_error(const char *path, const struct conf_error *error, char *ret_text);
/* Logs one error line for a refused file. */
void conf_log_error(const char *path, const struct conf_error *error);

/* ---- words of several programs ---- */

/* For a CONF_CHOICE, in the order of enum log_level. */
extern const char *const conf_log_levels[];
/* For a bool. */
extern const char *const conf_off_on[];
extern const char *const conf_no_yes[];

/* The row "log-level" of a struct that has a member log_level. */
#define CONF_LOG_LEVEL(type)                                                                       \
	{                                                                                          \
		"log-level", CONF_CHOICE, CONF_AT(type, log_level), .choices = conf_log_levels,    \
								    .preset = "info"               \
	}

#ifdef __cplusplus
}
#endif
