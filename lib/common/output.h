/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * output.h - did what a program has printed arrive?
 *
 * Flow: options_settle_process() has the end of the program come by here, whatever its status is.
 */

/*
 * For atexit(3): ends standard output. When something of it was lost the process ends here, with a
 * line of the log and EX_IOERR; when a pipe's reader wants no more, such as head, by SIGPIPE, also
 * where that is ignored.
 */
void output_end(void);
