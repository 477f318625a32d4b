/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * path.h - where an object is: "part 2 / a.zip / b.exe".
 *
 * Flow: a part or a member begins -> path_join() of its container's path and its name -> findings.
 *
 *     path_join("part 2 / a.zip", "b.exe", path);
 *
 * A name comes out of a mail: what is no UTF-8, or no character to be seen, is "?" in a path. A path
 * that is too long loses its middle, so that it says where it begins and what it names. Pure.
 */

#include "lib/inspect/inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ret_path has INSPECT_PATH_SIZE bytes, and is neither parent nor name. */
void path_join(const char *parent, const char *name, char *ret_path);

#ifdef __cplusplus
}
#endif
