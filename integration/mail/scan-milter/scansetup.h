/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scansetup.h - the configuration of mail-scan-milter: scan-milter.conf, read and checked.
 *
 * Flow: program.h -> scansetup_parse() -> lib/common/conf.c, scan_settings.h for the section
 *       "scan" -> scanmilter.c has a place to listen at, the scanner its settings.
 *
 *     milter:
 *         socket: /run/mail-scan-milter/socket
 *     scan:
 *         signatures: /var/lib/mail-scan/mail.signatures
 *
 * A plain value.
 */

#include <stddef.h>

#include "integration/common/milterplace.h"
#include "integration/common/owner.h"
#include "integration/common/program.h"
#include "integration/mail/base/scan/scan_settings.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCANSETUP_SOCKET "/run/mail-scan-milter/socket"

struct scansetup {
	struct milterplace place;
	struct owner owner;
	char metrics[PROGRAM_PATH_MAX + 1]; /* "": none */
	int log_level;
	struct scan_settings scan;
};

extern const struct conf_table scansetup_table;

/* For program.h: 0, or a negative errno with *reterr_error. The setup is a struct scansetup. */
int scansetup_parse(const char *text, size_t text_size, void *ret_setup,
		    struct conf_error *reterr_error);

#ifdef __cplusplus
}
#endif
