/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/base/progress.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/process/clock.h"

enum { QUIET_MS = 2000, REDRAW_MS = 200 };

void progress_init(struct progress *progress)
{
	*progress =
		(struct progress){ .is_shown = isatty(STDERR_FILENO), .start_ms = clock_now_ms() };
}

void progress_step(struct progress *progress, const char *what, uint64_t done)
{
	if (progress == NULL || !progress->is_shown)
		return;
	uint64_t now = clock_now_ms();
	if (now - progress->start_ms < QUIET_MS || now - progress->last_ms < REDRAW_MS)
		return;
	progress->last_ms = now;
	int width = fprintf(stderr, "\r%s %llu", what, (unsigned long long)done) - 1;
	if (width < progress->width)
		fprintf(stderr, "%*s", progress->width - width, "");
	progress->width = width;
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress == NULL || progress->width == 0)
		return;
	fprintf(stderr, "\r%*s\r", progress->width, "");
	fflush(stderr);
	progress->width = 0;
}
