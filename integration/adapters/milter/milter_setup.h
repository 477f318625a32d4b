/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * milter_setup.h - the configuration of dnsblv6-milter: milter.conf, read and checked.
 *
 * Flow: program.h -> milter_setup_parse() -> lib/common/conf.c, handle.h for each item of "library" and
 *       judge.h for each of "decision" -> milter.c has a place to listen at, session.c a judge.
 *
 *     milter:
 *         socket: /run/dnsblv6-milter/socket
 *     decision:
 *         action: reject
 *     library:
 *         zones: bl6.example
 */

#include <stdbool.h>
#include <stddef.h>

#include "integration/common/handle.h"
#include "integration/common/judge.h"
#include "integration/common/milterplace.h"
#include "integration/common/owner.h"
#include "integration/common/program.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SETUP_SOCKET "/run/dnsblv6-milter/socket"

struct milter_setup {
	struct milterplace place;
	struct owner owner;
	bool is_quarantine;
	char metrics[PROGRAM_PATH_MAX + 1]; /* "": none */
	int log_level;
	struct handle handle;
	struct judge judge;
};

extern const struct conf_table milter_setup_table;

/*
 * For program.h: 0, or a negative errno with *reterr_error; milter_setup_deinit() ends it in either
 * case. The setup is a struct milter_setup, which must not be moved.
 */
int milter_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error);
void milter_setup_deinit(void *setup);

#ifdef __cplusplus
}
#endif
