/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rados_place.h - which placement group of a pool an object is in.
 *
 * Flow: rados_looks.c has the names of all objects of a pool -> rados_place() -> one question for each
 *       group about the machines that have it, in place of one for each object.
 *
 * RADOS hashes the name as Bob Jenkins' hash of 1996 does, and takes the low bits; a pool whose groups
 * are no power of two has those above the last in the lower half again. No memory, no I/O.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* groups is the pool's pg_num, at least 1. */
uint32_t rados_place(const char *name, size_t size, uint32_t groups);

#ifdef __cplusplus
}
#endif
