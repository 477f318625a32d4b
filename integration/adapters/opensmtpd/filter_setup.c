/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/filter_setup.h"

#include <string.h>

/* In the order of enum line_phase. */
static const char *const phases[] = { "connect", "helo", "mail-from", "rcpt-to", NULL };

static const struct conf_item filter_items[] = {
	{ "phase", CONF_CHOICE, CONF_AT(struct filter_setup, options.phase), .choices = phases,
	  .preset = "mail-from" },
	{ "disconnect", CONF_CHOICE, CONF_AT(struct filter_setup, options.is_disconnecting),
	  .choices = conf_no_yes, .preset = "no" },
	{ "sessions", CONF_NUMBER, CONF_AT(struct filter_setup, options.sessions_max), .min = 1,
	  .max = 1048576, .preset = "16384" },
	CONF_LOG_LEVEL(struct filter_setup),
};

static const struct conf_section sections[] = {
	{ "filter", CONF_ITEMS(filter_items) },
	{ "decision", CONF_ITEMS(judge_items), .offset = offsetof(struct filter_setup, judge) },
	{ "library", CONF_ITEMS(handle_items), .offset = offsetof(struct filter_setup, handle) },
};

const struct conf_table filter_setup_table = { CONF_SECTIONS(sections) };

int filter_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error)
{
	struct filter_setup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	return program_parse(text, text_size, &filter_setup_table, setup, &setup->handle,
			     &setup->judge, reterr_error);
}

void filter_setup_deinit(void *data)
{
	struct filter_setup *setup = data;
	judge_deinit(&setup->judge);
	handle_deinit(&setup->handle);
}
