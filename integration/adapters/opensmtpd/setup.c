/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/setup.h"

#include <errno.h>
#include <string.h>

#include "lib/common/log.h"

#define SESSIONS_DEFAULT 16384
#define SESSIONS_MAX	 1048576
#define REQUESTS	 "16384" /* as many as there are sessions */

enum { SECTION_FILTER, SECTION_DECISION, SECTION_LIBRARY, SECTION_COUNT };

enum { FILTER_PHASE, FILTER_DISCONNECT, FILTER_SESSIONS, FILTER_LOG_LEVEL, FILTER_COUNT };

/* In the order of enum line_phase. */
static const char *const phases[] = { "connect", "helo", "mail-from", "rcpt-to", NULL };
static const char *const answers[] = { "no", "yes", NULL };

static const struct conf_item filter_items[] = {
	[FILTER_PHASE] = { "phase", .type = CONF_CHOICE, .choices = phases },
	[FILTER_DISCONNECT] = { "disconnect", .type = CONF_CHOICE, .choices = answers },
	[FILTER_SESSIONS] = { "sessions", .type = CONF_NUMBER, .min = 1, .max = SESSIONS_MAX },
	[FILTER_LOG_LEVEL] = { "log-level", .type = CONF_CHOICE, .choices = conf_log_levels },
};

static const struct conf_section sections[] = {
	[SECTION_FILTER] = { "filter", filter_items, FILTER_COUNT, false },
	[SECTION_DECISION] = { "decision", judge_items, JUDGE_ITEMS, false },
	[SECTION_LIBRARY] = { "library", handle_items, HANDLE_ITEMS, false },
};

static const struct conf_table table = { sections, SECTION_COUNT };

static const char *take_filter(struct setup *setup, const struct conf_value *value)
{
	switch (value->item) {
	case FILTER_PHASE:
		setup->options.phase = (enum line_phase)value->number;
		return NULL;
	case FILTER_DISCONNECT:
		setup->options.is_disconnecting = value->number == 1;
		return NULL;
	case FILTER_SESSIONS:
		setup->options.sessions_max = (size_t)value->number;
		return NULL;
	default:
		setup->log_level = (int)value->number;
		return NULL;
	}
}

static const char *take_value(const struct conf_value *value, void *context)
{
	struct setup *setup = context;
	switch (value->section) {
	case SECTION_FILTER:
		return take_filter(setup, value);
	case SECTION_DECISION:
		return judge_take(&setup->judge, value);
	default:
		return handle_take(&setup->handle, &handle_items[value->item], value->text);
	}
}

int setup_parse(const char *text, size_t text_size, struct setup *ret_setup,
		struct conf_error *reterr_error)
{
	memset(ret_setup, 0, sizeof(*ret_setup));
	ret_setup->options.phase = LINE_AT_MAIL_FROM;
	ret_setup->options.sessions_max = SESSIONS_DEFAULT;
	ret_setup->log_level = LOG_LEVEL_INFO;
	int ret = handle_init(&ret_setup->handle, REQUESTS);
	if (ret == 0)
		ret = judge_init(&ret_setup->judge, ret_setup->handle.client);
	if (ret != 0)
		return conf_refuse(reterr_error, ret, "%s", dnsblv6_strerror(ret));
	ret = conf_parse(text, text_size, &table, take_value, ret_setup, reterr_error);
	if (ret != 0)
		return ret;
	if (ret_setup->handle.lists[HANDLE_ZONES][0] == '\0')
		return conf_refuse(reterr_error, -EINVAL, "no zone is given");
	return judge_finish(&ret_setup->judge, reterr_error);
}

void setup_deinit(struct setup *setup)
{
	judge_deinit(&setup->judge);
	handle_deinit(&setup->handle);
}
