/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/scan-milter/scansetup.h"

#include <errno.h>
#include <string.h>

static const struct conf_item milter_items[] = {
	MILTERPLACE_SOCKET(struct scansetup, place, SCANSETUP_SOCKET),
	OWNER_USER("user", struct scansetup, owner),
	OWNER_SOCKET_GROUP(struct scansetup, owner),
	OWNER_SOCKET_MODE(struct scansetup, owner),
	PROGRAM_METRICS(struct scansetup),
	CONF_LOG_LEVEL(struct scansetup),
};

static const struct conf_section sections[] = {
	{ "milter", CONF_ITEMS(milter_items) },
	{ "scan", CONF_ITEMS(scan_items), .offset = offsetof(struct scansetup, scan) },
};

const struct conf_table scansetup_table = { CONF_SECTIONS(sections) };

int scansetup_parse(const char *text, size_t text_size, void *ret_setup,
		    struct conf_error *reterr_error)
{
	struct scansetup *setup = ret_setup;
	memset(setup, 0, sizeof(*setup));
	int ret = conf_parse(text, text_size, &scansetup_table, setup, reterr_error);
	/* The mail server has its own quarantine. */
	if (ret == 0)
		ret = scan_settings_finish(&setup->scan, false, reterr_error);
	if (ret == 0 && !setup->scan.is_on)
		ret = conf_refuse(reterr_error, -EINVAL,
				  "there is no section \"scan\": what to scan with");
	/* A field costs nothing here: the mail server adds it when the mail has come. */
	setup->scan.has_header = true;
	return ret;
}
