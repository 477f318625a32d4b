/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_status.h"

const char *users_strerror(int status)
{
	switch (status) {
#define X(name, code, text)                                                                        \
	case name:                                                                                 \
		return text;
		USERS_STATUS_MAP(X)
#undef X
	default:
		return store_strerror(status);
	}
}
