/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/postfix/policy_setup.h"

#include <string.h>

static const char *take_place(struct policy_setup *setup, const struct place *place,
			      enum setup_protocol protocol)
{
	if (setup->place_count == SETUP_PLACES_MAX)
		return "there are 16 places at most";
	for (unsigned i = 0; i < setup->place_count; i++)
		if (strcmp(setup->places[i].place.text, place->text) == 0)
			return "place is given twice";
	if (place->address.ss_family != AF_UNIX && !values_is_loopback(&place->address))
		return "permitted are an absolute path, and an address of loopback with @ and a "
		       "port";
	setup->places[setup->place_count++] =
		(struct setup_place){ .protocol = protocol, .place = *place };
	return NULL;
}

static const char *take_listen(void *setup, const struct conf_value *value)
{
	return take_place(setup, &value->place, SETUP_POLICY);
}

static const char *take_lines(void *setup, const struct conf_value *value)
{
	return take_place(setup, &value->place, SETUP_LINES);
}

static const struct conf_item policy_items[] = {
	{ "listen", CONF_PLACE, .max = PLACE_SOCKET_MAX, .is_list = true, .take = take_listen },
	{ "lines", CONF_PLACE, .max = PLACE_SOCKET_MAX, .is_list = true, .take = take_lines },
	OWNER_USER("user", struct policy_setup, owner),
	OWNER_SOCKET_GROUP(struct policy_setup, owner),
	OWNER_SOCKET_MODE(struct policy_setup, owner),
	{ "clients", CONF_NUMBER, CONF_AT(struct policy_setup, clients_max), .min = 1, .max = 65536,
	  .preset = "4096" },
	PROGRAM_METRICS(struct policy_setup),
	CONF_LOG_LEVEL(struct policy_setup),
};

static const struct conf_section sections[] = {
	{ "policy", CONF_ITEMS(policy_items) },
	{ "decision", CONF_ITEMS(judge_items), .offset = offsetof(struct policy_setup, judge) },
	{ "library", CONF_ITEMS(handle_items), .offset = offsetof(struct policy_setup, handle) },
};

const struct conf_table policy_setup_table = { CONF_SECTIONS(sections) };

int policy_setup_parse(const char *text, size_t text_size, void *ret_setup,
		       struct conf_error *reterr_error)
{
	struct policy_setup *setup = ret_setup;
	struct place usual;
	memset(setup, 0, sizeof(*setup));
	int ret = program_parse(text, text_size, &policy_setup_table, setup, &setup->handle,
				&setup->judge, reterr_error);
	if (ret == 0 && setup->place_count == 0 && values_parse_place(SETUP_LISTEN, &usual) == NULL)
		take_place(setup, &usual, SETUP_POLICY);
	return ret;
}

void policy_setup_deinit(void *data)
{
	struct policy_setup *setup = data;
	judge_deinit(&setup->judge);
	handle_deinit(&setup->handle);
}
