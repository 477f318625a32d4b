/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pop-front - has POP3 sessions, and gives a process to those whose login was right.
 *
 * pop-front(8) is the manual.
 */

#include "integration/mail/pop-front/nanny/pop.h"
#include "lib/common/options.h"

static const struct options_bound rows[] = DAEMON_ROWS(POP_FRONT_CONF);

static const struct options_table table = {
	.program = "pop-front",
	.libraries = POP_FRONT_LIBRARIES,
	.usage = DAEMON_USAGE,
	.summary = "Has POP3 sessions, and gives a process to those whose login was right.",
	.bound = rows,
	.row_count = DAEMON_ROW_COUNT,
};

int main(int argc, char **argv)
{
	const struct daemon_command command = daemon_read_command(&table, argc, argv);
	return pop_run(&command);
}
