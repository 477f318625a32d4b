/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/status.h"

#include <string.h>

/* Static text, safe between threads; NULL when there is none. */
static const char *errno_text(int number)
{
#ifdef __GLIBC__
	return strerrordesc_np(number); /* unlike its strerror() */
#else
	return strerror(number); /* musl: static; FreeBSD: each thread's own */
#endif
}

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
	const char *text = status < 0 && status > -2000 ? errno_text(-status) : NULL;
	return text != NULL ? text : "unknown status";
}
