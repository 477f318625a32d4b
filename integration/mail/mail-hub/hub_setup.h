/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hub_setup.h - the configuration of mail-hub: hub.conf, read and checked.
 *
 * Flow: main.c, hub.c -> hub_setup_parse() -> lib/common/conf.c -> hub_programs.c, which prints the
 *       configurations of the programs from it.
 *
 *     hub:
 *         hostname: mail.example.org
 *         user: mail-hub
 *         certificate: /etc/ssl/mail-hub/fullchain.pem
 *         key: /etc/ssl/mail-hub/key.pem
 *         pop3s: [ 0.0.0.0@995, "::@995" ]
 *     cluster:
 *         pool: mail
 *
 * Texts are kept as they were written, since they are written again; they have no quotes, backslashes
 * or control characters. What only a program can know about them it says when it checks its
 * configuration. A plain value. mail-hub(8) says what each item is for.
 */

#include "integration/common/owner.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HUB_HOSTNAME_MAX 253
#define HUB_PATH_MAX	 240 /* two of them are the value of a certificate */
#define HUB_RUN_MAX	 80  /* the path of a socket in it has 107 bytes at most */
#define HUB_LIST_MAX	 16
#define HUB_TEXT_MAX	 255
#define HUB_WORD_MAX	 63 /* names in a cluster */

/* Where none is given behind an address. */
enum { HUB_PORT_SMTP = 25, HUB_PORT_LMTP = 0, HUB_PORT_POP3 = 110, HUB_PORT_POP3S = 995 };

struct hub_list {
	char texts[HUB_LIST_MAX][HUB_TEXT_MAX + 1];
	unsigned count;
};

struct hub_setup {
	/* Section "hub". */
	char hostname[HUB_HOSTNAME_MAX + 1];
	char directory[HUB_PATH_MAX + 1];
	char run[HUB_RUN_MAX + 1];
	char programs[HUB_PATH_MAX + 1]; /* "": where mail-hub itself is */
	struct owner owner;		 /* that all programs become; user "": none */
	char certificate[HUB_PATH_MAX + 1];
	char key[HUB_PATH_MAX + 1]; /* "": in the certificate's file */
	struct hub_list smtp;
	struct hub_list lmtp;
	struct hub_list pop3;
	struct hub_list pop3s;
	struct hub_list zones;
	char signatures[HUB_PATH_MAX + 1]; /* "": mails are not scanned with any */
	char clamd[HUB_TEXT_MAX + 1];	   /* "": it is not asked */
	bool has_plain_logins;
	struct hub_list mechanisms;	/* none: those of pop-front */
	char metrics[HUB_PATH_MAX + 1]; /* "": "metrics" in the directory "run" */
	int log_level;
	/* Section "cluster"; "" is what mail-stored takes where it is told nothing. */
	char pool[HUB_WORD_MAX + 1]; /* "": the mails are on this machine */
	char node[HUB_WORD_MAX + 1];
	char ceph_conf[HUB_PATH_MAX + 1];
	char ceph_user[HUB_WORD_MAX + 1];
};

extern const struct conf_table hub_setup_table;

/* For program.h. */
int hub_setup_parse(const char *text, size_t text_size, void *ret_setup,
		    struct conf_error *reterr_error);

#ifdef __cplusplus
}
#endif
