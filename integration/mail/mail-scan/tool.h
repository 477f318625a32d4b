/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tool.h - the commands of mail-scan, and what they share.
 *
 * Flow: main() -> one command with its own options -> scanner.h, match.h or compile.h. Nothing else
 *       includes this.
 */

#define TOOL_DATABASE "/var/lib/mail-scan/mail.signatures"

/* Exit statuses of scan_command(), which are clamscan's. */
enum { TOOL_CLEAN, TOOL_FOUND, TOOL_FAILED };

/* argv[0] is the command's name. */
int scan_command(int argc, char **argv);
int compile_command(int argc, char **argv);
int info_command(int argc, char **argv);
