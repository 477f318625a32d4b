/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * records.h - answers of a bitmap zone: plain DNS over the records of a store.
 *
 * Flow: answer.c -> records_answer() -> reply.c. No owner name is taken apart
 * here: which blocks are listed was decided when the store was built.
 */

#include "server/message/reply.h"

/* Puts the answer, or the SOA that says no; and the proof of it. The zone is begun. */
enum reply_result records_answer(struct reply *reply);
