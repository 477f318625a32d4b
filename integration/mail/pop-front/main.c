/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pop-front - has POP3 sessions, and gives a process to those whose login was right.
 *
 * pop-front(8) is the manual.
 */

#include "integration/mail/pop-front/nanny/pop.h"
#include "lib/common/options.h"

static const struct options_bound rows[] = DAEMON_ROWS(POP_FRONT_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "pop-front", POP_FRONT_LIBRARIES,
		     "Has POP3 sessions, and gives a process to those whose login was right.");

int main(int argc, char **argv)
{
	const struct daemon_command command = daemon_read_command(&table, argc, argv);
	return pop_run(&command);
}
