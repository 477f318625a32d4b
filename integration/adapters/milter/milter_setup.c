/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/milter_setup.h"

#include <errno.h>
#include <string.h>

static const struct conf_item milter_items[] = {
	MILTERPLACE_SOCKET(struct milter_setup, place, SETUP_SOCKET),
	OWNER_USER("user", struct milter_setup, owner),
	OWNER_SOCKET_GROUP(struct milter_setup, owner),
	OWNER_SOCKET_MODE(struct milter_setup, owner),
	{ "quarantine", CONF_CHOICE, CONF_AT(struct milter_setup, is_quarantine),
	  .choices = conf_no_yes, .preset = "no" },
	PROGRAM_METRICS(struct milter_setup),
	CONF_LOG_LEVEL(struct milter_setup),
};

static const struct conf_section sections[] = {
	{ "milter", CONF_ITEMS(milter_items) },
	{ "decision", CONF_ITEMS(judge_items), .offset = offsetof(struct milter_setup, judge) },
	{ "library", CONF_ITEMS(handle_items), .offset = offsetof(struct milter_setup, handle) },
};

const struct conf_table milter_setup_table = { CONF_SECTIONS(sections) };

int milter_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error)
{
	struct milter_setup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	int ret = program_parse(text, text_size, &milter_setup_table, setup, &setup->handle,
				&setup->judge, reterr_error);
	if (ret == 0 && setup->is_quarantine && setup->judge.action != JUDGE_REJECT)
		ret = conf_refuse(reterr_error, -EINVAL,
				  "quarantine is for \"action: reject\" alone");
	return ret;
}

void milter_setup_deinit(void *data)
{
	struct milter_setup *setup = data;
	judge_deinit(&setup->judge);
	handle_deinit(&setup->handle);
}
