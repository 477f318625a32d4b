/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hub_places.h - which program of mail-hub listens where, and whether it may.
 *
 * Flow: main.c checks the configuration, hub.c has read it, or again -> here -> programs begin or are told, or all
 *       stays as it was.
 *
 * This file alone knows which items are places of which program. What is wrong is logged.
 */

#include "integration/mail/mail-hub/hub_setup.h"

/* Has no address two programs? Each checks its own configuration, and none sees the others'. */
bool hub_places_are_apart(const struct hub_setup *setup);
/*
 * The same, and is each address of setup one that its program has already, with before, or may get? Without this a
 * program whose port is another server's goes on with what it had; but when it begins anew, which may be after weeks,
 * it does not, and no mail comes.
 */
bool hub_places_may_change(const struct hub_setup *before, const struct hub_setup *setup);
