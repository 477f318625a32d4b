/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/store.h"

#include <errno.h>
#include <sysexits.h>

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

int store_exit_status(int status)
{
	switch (status) {
	case STORE_OK:
		return EX_OK;
	case -EACCES:
	case -EPERM:
	case -EROFS:
	case STORE_ELOCK:
		return EX_NOPERM;
	case -ENOENT:
	case -EISDIR:
	case -ENOTDIR:
	case -ELOOP:
		return EX_NOINPUT;
	case -ENOMEM:
	case STORE_EREADERS:
	case STORE_EVERIFIER:
	case STORE_EREPLACED:
	case STORE_EMOVED:
		return EX_TEMPFAIL;
	default:
		return status <= -2000 ? EX_DATAERR : EX_IOERR;
	}
}
