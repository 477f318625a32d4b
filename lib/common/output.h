/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * output.h - did what a program has printed arrive?
 *
 * Flow: a program has printed all of it -> output_end() -> its exit status, with a line of the log
 *       when something was lost.
 */

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Ends standard output: 0 or -errno, with -EIO for an earlier write whose reason is not known any
 * more. With may_stop a reader that wants no more, such as head, is no failure.
 */
int output_end(bool may_stop);

#ifdef __cplusplus
}
#endif
