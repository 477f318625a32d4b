/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * scram_text.h - keys of SCRAM-SHA-256 as a word: the form that PostgreSQL keeps in rolpassword.
 *
 * Flow: a store of users has the word -> scram_text_parse() -> scram_challenge(). A password ->
 *       scram_derive() -> scram_text_print() -> a list of users.
 *
 *     SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:...
 *                   iterations and salt           StoredKey, 32 bytes                    ServerKey
 *
 * Each has one spelling: numbers begin with no zero, base64 is that of base64.h. So the word of keys
 * that were parsed is the word that they came from.
 *
 * No function here keeps a pointer, allocates or logs.
 */

#include "lib/pop3/scram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the longest, with a NUL. */
#define SCRAM_TEXT_SIZE 224

/* NULL, or why it is not the word of any keys; static. *ret_keys is written on success only. */
const char *scram_text_parse(const char *text, size_t text_size, struct scram_keys *ret_keys);
/* Its size without the NUL. ret_text has SCRAM_TEXT_SIZE bytes. Mock keys are no user's: not them. */
size_t scram_text_print(const struct scram_keys *keys, char *ret_text);

#ifdef __cplusplus
}
#endif
