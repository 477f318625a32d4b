/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * filter_setup.h - the configuration of dnsblv6-filter: filter.conf, read and checked.
 *
 * Flow: program.h -> filter_setup_parse() -> lib/common/conf.c, judge.h and handle.h for the items of
 *       their sections -> main.c has options, a judge and a handle to start.
 *
 *     filter:
 *         phase: mail-from
 *     decision:
 *         deadline: 2s
 *     library:
 *         zones: bl6.example
 */

#include "integration/common/handle.h"
#include "integration/common/judge.h"
#include "integration/common/program.h"
#include "integration/adapters/opensmtpd/filter.h"

#ifdef __cplusplus
extern "C" {
#endif

struct filter_setup {
	struct filter_options options;
	int log_level;
	struct handle handle;
	struct judge judge;
};

extern const struct conf_table filter_setup_table;

/*
 * For program.h: 0, or a negative errno with *reterr_error; filter_setup_deinit() ends it in either
 * case. The allow list is read too. The setup is a
 * struct filter_setup, which must not be moved.
 */
int filter_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error);
void filter_setup_deinit(void *setup);

#ifdef __cplusplus
}
#endif
