/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * imagefile.h - a database of signatures on its way into a file.
 *
 * Flow: compile_write(): tables.h -> imagefile_make_hs(), Vectorscan's part of it ->
 *       imagefile_write() -> a file as image.h says.
 *
 * The file is written by another name beside its own, synced and renamed, so that there is always
 * a whole one. Errors are 0 or -errno, with one line in reterr of MATCH_ERROR_SIZE.
 */

#include "lib/match/compiler/tables.h"
#include "lib/match/match.h"

int imagefile_make_hs(struct tables *tables, char *reterr);
int imagefile_write(struct tables *tables, const char *path, char *reterr);
