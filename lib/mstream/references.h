/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * references.h - characters that a page has by their numbers or names: "&#65;", "&#x41;", "&comma;".
 *
 * Flow: a text in pieces of any size -> references_undo() -> runs of what it says -> addresses.c, inlined.c,
 *       quoted.c.
 *
 *     while (size > 0) {
 *             size_t used = references_undo(&references, bytes, size, &run, &run_size);
 *             ... run_size bytes, which may be none ...
 *     }
 *
 * Of names there are those of ASCII, as an address with data is made of these. What is no reference is what it is.
 * A plain value; no allocation.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REFERENCES_NAME_SIZE 18 /* of "&DiacriticalGrave", and a NUL */

/* Begins as all zeros. */
struct references {
	/* All but .byte is references.c's own. */
	uint8_t state;
	uint8_t name_size;
	char name[REFERENCES_NAME_SIZE]; /* from its "&" on */
	uint8_t byte;			 /* the character: a run that is one begins here */
	uint32_t character;
};

/*
 * How many of the bytes were used; size > 0. The run is in bytes, or in references until its next call. Each call
 * uses bytes or ends what earlier ones have begun.
 */
size_t references_undo(struct references *references, const uint8_t *bytes, size_t size,
		       const uint8_t **ret_run, size_t *ret_run_size);
/* Has one begun? */
bool references_is_open(const struct references *references);
/* The run that is left at the end of the text. */
void references_end(struct references *references, const uint8_t **ret_run, size_t *ret_run_size);

#ifdef __cplusplus
}
#endif
