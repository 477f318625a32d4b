/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mail-proxy - stands between mail clients and any mail server, and scans mails as they flow.
 *
 * mail-proxy(8) is the manual.
 */

#include "integration/mail/mail-proxy/process/mailproxy.h"
#include "lib/common/options.h"

static const struct options_bound rows[] = DAEMON_ROWS(MAIL_PROXY_CONF);
static const struct options_table table = DAEMON_TABLE(
	rows, "mail-proxy", MAIL_PROXY_LIBRARIES,
	"Stands between mail clients and any mail server, and scans mails as they flow.");

int main(int argc, char **argv)
{
	const struct daemon_command command = daemon_read_command(&table, argc, argv);
	return mailproxy_run(&command);
}
