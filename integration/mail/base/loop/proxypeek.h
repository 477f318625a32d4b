/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * proxypeek.h - a PROXY header that a handshake of TLS follows, on one socket.
 *
 * Flow: greeting.c and side.c, where TLS reads the socket itself -> proxypeek() -> they read so much
 *       -> proxy_parse().
 */

#include <stddef.h>
#include <stdint.h>

/*
 * How many bytes may be read from fd, 1 to room: none of them is behind the header, whatever comes
 * meanwhile. bytes begins with the had bytes of it that were read before, which are no whole header, and
 * has room for so many more, at least 1; what stands there is written over. Does not wait. Any thread.
 */
size_t proxypeek(int fd, uint8_t *bytes, size_t had, size_t room);
