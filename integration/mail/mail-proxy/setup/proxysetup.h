/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * proxysetup.h - the configuration of mail-proxy: proxy.conf, read and checked.
 *
 * Flow: main.c -> proxysetup_parse() -> lib/common/conf.c -> mailproxy.c for the nanny, which gives it
 *       to the processes over fork().
 *
 *     proxy:
 *         hostname: mail.example.org
 *     listener:
 *       - listen: 0.0.0.0@25
 *         next-hop: 127.0.0.1@10025
 *       - listen: 0.0.0.0@110
 *         protocol: pop3
 *         next-hop: 127.0.0.1@10110
 *     scan:
 *         signatures: /var/lib/mail-scan/mail.signatures
 *     tls:
 *         certificates: [ /etc/ssl/mail.pem ]
 *
 * Times are in milliseconds here. mail-proxy(8) says what each item is for. A setup is made by the
 * nanny for each generation and not changed after fork().
 */

#include <stdint.h>

#include "integration/common/networks.h"
#include "integration/common/owner.h"
#include "integration/common/program.h"
#include "integration/mail/base/loop/limits.h"
#include "integration/mail/base/scan/scan_settings.h"
#include "integration/mail/base/setup/mailsetup.h"

#ifdef __cplusplus
extern "C" {
#endif

enum proxy_speech { PROXY_SMTP, PROXY_LMTP, PROXY_POP3 };

/* Whom a listener is for. */
enum proxy_mode {
	PROXY_PLAIN,	   /* clients that connect to it, for next_hop */
	PROXY_FILTER,	   /* a mail server that speaks to itself through it: XFORWARD, XCLIENT */
	PROXY_TRANSPARENT, /* clients that nftables redirects: their own destination is next */
};

/* What becomes of STARTTLS and STLS. */
enum proxy_tls {
	PROXY_TLS_USUAL,    /* until the configuration is complete */
	PROXY_TLS_NONE,	    /* not offered */
	PROXY_TLS_OWN,	    /* ended here, with a certificate of ours */
	PROXY_TLS_IMPLICIT, /* the same, and clients begin with it */
	PROXY_TLS_PASS,	    /* passed on: what follows is not scanned, and the log says so */
};

/* An entry of section "listener". */
struct proxysetup_listener {
	enum proxy_speech speech;
	enum proxy_mode mode;
	struct place next_hop; /* "": none, in PROXY_TRANSPARENT */
	enum proxy_tls tls;
	bool has_plain_logins;	  /* with PROXY_TLS_OWN: clients may log in without it */
	unsigned proxy_to;	  /* version of the PROXY header to the next hop; 0: none */
	struct networks proxy_of; /* peers that begin with one */
};

/* Section "proxy". */
struct proxysetup_proxy {
	char hostname[MAILSETUP_HOSTNAME_MAX + 1];
	struct owner owner;
	struct owner key_owner;
	unsigned processes;    /* never 0 */
	unsigned sessions_max; /* of each process */
	unsigned drain_ms;
	char metrics[PROGRAM_PATH_MAX + 1]; /* "": none */
	int log_level;
};

/* Section "limits". 0 is "no limit" for what is not a time. */
struct proxysetup_limits {
	unsigned command_ms; /* for a client's command */
	unsigned data_ms;    /* for a byte of a mail, from or to a client */
	unsigned mail_ms;    /* all of a mail */
	unsigned connect_ms; /* to the next hop */
	unsigned reply_ms;   /* of the next hop */
	unsigned end_ms;     /* for its reply to the end of a mail */
	uint64_t size_max;   /* of a mail */
	unsigned errors_max;
	unsigned commands_max;
	struct limits_rules network;
	struct networks unlimited;
};

/* Section "pop3". */
struct proxysetup_pop3 {
	unsigned idle_ms;    /* between commands */
	uint64_t hold_first; /* bytes of a mail that wait for what follows them */
	uint64_t hold_last;
};

struct proxysetup {
	struct proxysetup_proxy proxy;
	struct proxysetup_listener listeners[LISTENERS_PLACES_MAX];
	unsigned listener_count;
	struct place places[LISTENERS_PLACES_MAX]; /* of these, in the same order */
	struct proxysetup_limits limits;
	struct proxysetup_pop3 pop3;
	struct mailsetup_tls tls;
	struct scan_settings scan;
};

extern const struct conf_table proxysetup_table;

/* For program.h: 0 with the setup, or *reterr_error. proxysetup_deinit() follows in either case. */
int proxysetup_parse(const char *text, size_t text_size, void *ret_setup,
		     struct conf_error *reterr_error);
void proxysetup_deinit(void *setup);

#ifdef __cplusplus
}
#endif
