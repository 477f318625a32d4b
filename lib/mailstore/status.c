/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/status.h"

#include <errno.h>
#include <sysexits.h>

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

bool mailstore_is_full(int status)
{
	return status == -ENOSPC || status == -EDQUOT;
}

int mailstore_name_limit(int status)
{
	return status == -EFBIG ? -EDQUOT : status;
}

int mailstore_exit_status(int status)
{
	switch (status) {
	case -EBUSY:
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -ENOTCONN:
	case -EPIPE:
	case -ESHUTDOWN:
	case -ETIMEDOUT:
	case MAILSTORE_EAWAY:
	case MAILSTORE_EFAILED:
	case MAILSTORE_EUNSURE:
		return EX_TEMPFAIL;
	case -EOPNOTSUPP:
		return EX_UNAVAILABLE;
	case MAILSTORE_EMAIL:
	case -ENOENT:
		return EX_NOINPUT;
	case -EEXIST:
		return EX_CANTCREAT;
	case -E2BIG:
	case -EBADMSG:
	case -EPROTO:
	case -EPROTOTYPE:
		return EX_DATAERR;
	case MAILSTORE_EBOX:
	case MAILSTORE_ERECIPIENTS:
		return EX_USAGE;
	default:
		return store_exit_status(status);
	}
}
