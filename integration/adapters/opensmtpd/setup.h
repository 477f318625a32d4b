/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * setup.h - the configuration of dnsblv6-filter: filter.conf, read and checked.
 *
 * Flow: program.h -> setup_parse() -> lib/common/conf.c, judge.h and handle.h for the items of
 *       their sections -> service.c has options, a judge and a handle to start.
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
#include "integration/adapters/opensmtpd/filter.h"

#ifdef __cplusplus
extern "C" {
#endif

struct setup {
	struct filter_options options;
	int log_level;
	struct handle handle;
	struct judge judge;
};

/*
 * 0, or a negative errno with *reterr_error; setup_deinit() ends *ret_setup in either case. The
 * allow list is read too. It must not be moved: the judge borrows the handle's client.
 */
int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error);
void setup_deinit(struct setup *setup);

#ifdef __cplusplus
}
#endif
