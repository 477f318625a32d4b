/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The first line of a database of users as text. One that is accepted lies within, has a line end,
 * and says only what smtp-front-users can be told.
 */

#include "integration/mail/base/users/users_copy.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct users_facts facts;
	size_t used = 0;
	const int ret = users_copy_parse(data, size, &facts, &used);
	require(ret == STORE_OK || ret == USERS_ECOPY, "there is one way to refuse it");
	if (ret != STORE_OK)
		return 0;
	require(used > 0 && used <= size && data[used - 1] == '\n', "it is a line");
	require(memchr(data, '\n', used) == data + used - 1, "it is the first one");
	require(facts.built_at_s >= 0, "it was made at some time");
	require(facts.extension == '\0' || strchr("!#$%&'*+-/=?^_`{|}~.", facts.extension) != NULL,
		"an extension begins as it may");
	return 0;
}
