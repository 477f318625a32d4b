/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/store.h"

const char *store_strerror(int status)
{
	switch (status) {
#define X(name, code, text)                                                                        \
	case name:                                                                                 \
		return text;
		STORE_STATUS_MAP(X)
#undef X
	default:
		return dnsblv6_strerror(status);
	}
}
