/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * settings.h - what dnsblv6d.conf says, as typed values.
 *
 * Flow: main.c reads it once, parent.c again at every SIGHUP; workers get what
 *       was read and never see the file.
 * This file alone knows the items, their defaults and their ranges;
 * dnsblv6d.conf(5) and dnsblv6d.conf.sample say the same in prose.
 */

#include "lib/common/conf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SETTINGS_LISTEN_MAX  64
#define SETTINGS_USER_MAX    64
#define SETTINGS_WORKERS_MAX 256
#define SETTINGS_NAME_MAX    255  /* RFC 1035: octets of a name on the wire */
#define SETTINGS_TEXT_MAX    1024 /* a name as text: four characters for every octet */
#define SETTINGS_PAYLOAD_MAX 4096

struct settings_name {
	size_t size;			 /* 0: there is none */
	uint8_t wire[SETTINGS_NAME_MAX]; /* lower case, with the root label */
	char *text;			 /* for the log: "bl6.example." */
};

struct settings_zone {
	struct settings_name domain;
	struct settings_name classic;
	char *store; /* path, made absolute by the directory of the file */
	size_t line;
};

struct settings {
	struct sockaddr_storage listen[SETTINGS_LISTEN_MAX];
	size_t listen_count;
	char user[SETTINGS_USER_MAX + 1]; /* "" for none: keep the user that started us */
	uid_t uid;			  /* meaningful with user */
	gid_t gid;
	unsigned workers; /* at least 1: "0" in the file has become the number of cores */
	unsigned tcp_max_clients;
	unsigned tcp_idle_timeout_s;
	unsigned udp_max_payload;
	unsigned drain_timeout_s;
	int log_level;
	struct settings_zone *zones;
	size_t zone_count;
};

void settings_init(struct settings *settings);
void settings_deinit(struct settings *settings);

/*
 * Reads path on top of the defaults. Returns 0; or -EINVAL or -errno with
 * *reterr_error filled, as conf_read() does. Call settings_deinit() either way.
 */
int settings_read(struct settings *settings, const char *path, struct conf_error *reterr_error);
/* The same from text; directory is where relative store paths begin. */
int settings_parse(struct settings *settings, const char *text, size_t text_size,
		   const char *directory, struct conf_error *reterr_error);

/* Logs one error line for a refused file. */
void settings_log_error(const char *path, const struct conf_error *error);

/* The first item that differs and only a restart can change, or NULL. */
const char *settings_find_restart_item(const struct settings *old_settings,
				       const struct settings *new_settings);

/* "192.0.2.1" into ret_text of SETTINGS_TEXT_MAX bytes; the port. */
uint16_t settings_format_address(const struct sockaddr_storage *address, char *ret_text);

#ifdef __cplusplus
}
#endif
