/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/status.h"

#include "lib/lmdb/store.h"

const char *mailstore_strerror(int status)
{
	switch (status) {
#define X(name, code, text)                                                                        \
	case name:                                                                                 \
		return text;
		MAILSTORE_STATUS_MAP(X)
#undef X
	default:
		return store_strerror(status);
	}
}
