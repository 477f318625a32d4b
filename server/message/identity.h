/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * identity.h - which server answers: the names of class CHAOS.
 *
 * Flow: answer.c has a question of that class -> identity_find() -> a TXT.
 *
 *     id.server, hostname.bind         identity of the settings (RFC 4892)
 *     version.server, version.bind     version of the settings
 */

#include "server/settings/settings.h"

/*
 * The text for a name in wire form, whatever its case; NULL when there is none.
 * settings may be NULL. Borrowed from the settings.
 */
const char *identity_find(const struct settings *settings, const uint8_t *name, size_t name_size);
