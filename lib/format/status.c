/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/status.h"

#include <string.h>

const char *dnsblv6_strerror(int status)
{
	switch (status) {
	case DNSBLV6_OK:
		return "no error";
#define X(name, code, text)                                                                        \
	case name:                                                                                 \
		return text;
		DNSBLV6_STATUS_MAP(X)
#undef X
	default:
		break;
	}
	/* glibc: static text, and unlike strerror() safe between threads */
	const char *text = status < 0 && status > -2000 ? strerrordesc_np(-status) : NULL;
	return text != NULL ? text : "unknown status";
}
