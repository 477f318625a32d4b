/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/milter_setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* libmilter looks for a port that is none in /etc/services. */
static const char *take_socket(void *data, const struct conf_value *value)
{
	struct milter_setup *setup = data;
	const char *text = value->text;
	const char *at = strchr(text, '@');
	struct place place;
	setup->path[0] = '\0';
	if (values_parse_place(text, &place) != NULL)
		return "permitted are an absolute path and ADDRESS@PORT, such as 127.0.0.1@8891";
	if (place.address.ss_family == AF_UNIX) {
		snprintf(setup->path, sizeof(setup->path), "%s", text);
		snprintf(setup->connection, sizeof(setup->connection), "local:%s", text);
	} else {
		snprintf(setup->connection, sizeof(setup->connection), "%s:%s@%.*s",
			 place.address.ss_family == AF_INET ? "inet" : "inet6", at + 1,
			 (int)(at - text), text);
	}
	return NULL;
}

static const struct conf_item milter_items[] = {
	{ "socket", CONF_TEXT, .max = SETUP_SOCKET_MAX, .take = take_socket,
	  .preset = SETUP_SOCKET },
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
