/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * cluster_none.c - cluster_process.h where there is no librados.
 */

#include "integration/mail/mail-stored/cluster/cluster_process.h"

#include <sysexits.h>

bool cluster_process_is_built(void)
{
	return false;
}

int cluster_process_run(const struct store_process_start *start)
{
	(void)start;
	return EX_CONFIG; /* stored_setup.c has refused it before */
}
