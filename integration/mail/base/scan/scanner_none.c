/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scanner_none.c - the scanner of a build without Vectorscan or libarchive: there is none.
 */
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/base/scan/template.h"

#include <errno.h>
#include <sysexits.h>

#include "lib/common/log.h"

static int refuse(const char *context)
{
	log_error(context, "this build has no scanner, as it lacks Vectorscan or libarchive");
	return EX_UNAVAILABLE;
}

int scanner_open(const struct scan_settings *settings, const char *context, int ask_fd,
		 struct scanner **ret_scanner)
{
	(void)ask_fd;
	(void)settings;
	*ret_scanner = NULL;
	return refuse(context);
}

int scanner_check(const struct scan_settings *settings, const char *context)
{
	return settings->is_on ? refuse(context) : EX_OK;
}

void scanner_close(struct scanner *scanner)
{
	(void)scanner;
}

int scan_begin(struct scanner *scanner, enum inspect_kind kind,
	       const struct scan_envelope *envelope, struct scan **ret_scan)
{
	(void)scanner;
	(void)kind;
	(void)envelope;
	*ret_scan = NULL;
	return -EAGAIN;
}

void scan_push(struct scan *scan, const uint8_t *bytes, size_t size)
{
	(void)scan;
	(void)bytes;
	(void)size;
}

void scan_end(struct scan *scan, bool is_whole)
{
	(void)scan;
	(void)is_whole;
}

int scan_wait(struct scan *scan)
{
	(void)scan;
	return -EAGAIN;
}

const struct scan_verdict *scan_verdict(const struct scan *scan)
{
	static const struct scan_verdict none = { .action = SCAN_DEFER, .code = 451 };
	(void)scan;
	return &none;
}

void scan_free(struct scan *scan)
{
	(void)scan;
}

/* No failure, so that scanner_open() says why there is none. */
int template_pair(int ret_ends[TEMPLATE_ENDS])
{
	for (unsigned i = 0; i < TEMPLATE_ENDS; i++)
		ret_ends[i] = -1;
	return 0;
}

int scanner_run_template(const struct scan_settings *settings, const char *context, int ask_fd,
			 int (*confine)(void *context), void *confine_context)
{
	(void)settings;
	(void)ask_fd;
	(void)confine;
	(void)confine_context;
	log_error(context, "this build has no decoders");
	return EX_UNAVAILABLE;
}
