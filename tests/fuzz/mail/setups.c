/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any text as the configuration of a mail server's program: refused with a reason in one line, or taken; read again
 * it comes to the same, and what needs a restart has not changed.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   the program: rows
 *        1      .   the text
 */

#include "integration/mail/mail-hub/hub_setup.h"
#include "integration/mail/mail-stored/stored_setup.h"
#include "integration/mail/pop-front/setup/popsetup.h"
#include "integration/mail/smtp-front/setup/setup.h"
#include "lib/common/log.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct row {
	const struct conf_table *table;
	size_t size; /* of the setup */
	int (*parse)(const char *text, size_t text_size, void *ret_setup,
		     struct conf_error *reterr_error);
	void (*deinit)(void *setup); /* NULL: there is nothing to free */
} rows[] = {
	{ &setup_table, sizeof(struct setup), setup_parse, setup_deinit },
	{ &popsetup_table, sizeof(struct popsetup), popsetup_parse, popsetup_deinit },
	{ &stored_setup_table, sizeof(struct stored_setup), stored_setup_parse, NULL },
	{ &hub_setup_table, sizeof(struct hub_setup), hub_setup_parse, NULL },
};

/* In memory of that size; what is taken does not depend on what was there before. */
static void *read_setup(const struct row *row, const char *text, size_t size, int *ret_status,
			char *ret_error)
{
	struct conf_error error;
	void *setup = malloc(row->size);
	require(setup != NULL, "memory");
	memset(setup, 0xa5, row->size);
	*ret_status = row->parse(text, size, setup, &error);
	ret_error[0] = '\0';
	if (*ret_status == 0)
		return setup;
	conf_format_error("file", &error, ret_error);
	require(error.reason[0] != '\0', "a refusal has its reason");
	require(strncmp(ret_error, "file", 4) == 0 && strchr(ret_error, '\n') == NULL,
		"it is a line");
	return setup;
}

static void free_setup(const struct row *row, void *setup)
{
	if (row->deinit != NULL)
		row->deinit(setup);
	free(setup);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char errors[2][CONF_ERROR_MAX];
	int statuses[2];
	if (size < 1)
		return 0;
	const struct row *row = &rows[(uint8_t)(data[0] - '0') % (sizeof(rows) / sizeof(rows[0]))];
	const char *text = (const char *)data + 1;
	log_set_level(LOG_LEVEL_ERROR);
	void *setup = read_setup(row, text, size - 1, &statuses[0], errors[0]);
	void *again = read_setup(row, text, size - 1, &statuses[1], errors[1]);
	require(statuses[0] == statuses[1] && strcmp(errors[0], errors[1]) == 0,
		"it is refused alike");
	require(statuses[0] != 0 || conf_find_restart(row->table, setup, again) == NULL,
		"nothing has changed");
	free_setup(row, setup);
	free_setup(row, again);
	return 0;
}
