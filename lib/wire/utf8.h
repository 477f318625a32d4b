/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * utf8.h - characters beyond ASCII in addresses, names and passwords.
 *
 * Flow: parsers of addresses, of SASL and of what goes into the log -> utf8_size().
 *
 * No function here keeps a pointer, allocates or logs.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Size of the UTF-8 character beyond ASCII that text begins with, 2 to 4; 0 when it is none (RFC 3629:
 * no overlong form, no surrogate, nothing beyond U+10FFFF) or a control character (U+0080 to U+009F).
 */
size_t utf8_size(const char *text, size_t text_size);

#ifdef __cplusplus
}
#endif
