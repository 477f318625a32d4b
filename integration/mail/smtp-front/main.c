/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * smtp-front - takes SMTP sessions, and gives a process to those that have proved themselves.
 *
 * smtp-front(8) is the manual.
 */

#include "integration/mail/smtp-front/nanny/front.h"
#include "lib/common/options.h"

static const struct options_bound rows[] = DAEMON_ROWS(SMTP_FRONT_CONF);
static const struct options_table table = DAEMON_TABLE(
	rows, "smtp-front", SMTP_FRONT_LIBRARIES,
	"Takes SMTP sessions, and gives a process to those that have proved themselves.");

int main(int argc, char **argv)
{
	const struct daemon_command command = daemon_read_command(&table, argc, argv);
	return front_run(&command);
}
