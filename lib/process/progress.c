/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/progress.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/process/clock.h"

enum { QUIET_MS = 2000, REDRAW_MS = 200, LEFT_MAX_S = 365 * 86400 };

void progress_init(struct progress *progress)
{
	*progress =
		(struct progress){ .is_shown = isatty(STDERR_FILENO), .start_ms = clock_now_ms() };
}

size_t progress_format(const char *what, uint64_t count, uint64_t done, uint64_t total,
		       uint64_t elapsed_ms, char *ret_line)
{
	char left[64] = "";
	/* A total may be a guess: what goes on is not at its end. */
	if (total > 0 && done >= total)
		done = total - 1;
	unsigned percent = total > 0 ? (unsigned)((double)done * 100 / (double)total) : 0;
	if (done > 0 && total > 0 && elapsed_ms >= QUIET_MS) {
		double rest = (double)(total - done) / (double)done;
		double rest_s = (double)elapsed_ms * rest / 1000;
		uint64_t left_s = (uint64_t)(rest_s < LEFT_MAX_S ? rest_s : LEFT_MAX_S) + 1;
		if (left_s < 100)
			snprintf(left, sizeof(left), ", %" PRIu64 " s left", left_s);
		else
			snprintf(left, sizeof(left), ", %" PRIu64 " min left", (left_s + 59) / 60);
	}
	int size = total > 0 ? snprintf(ret_line, PROGRESS_LINE_SIZE, "%s %" PRIu64 ", %u %%%s",
					what, count, percent, left)
			     : snprintf(ret_line, PROGRESS_LINE_SIZE, "%s %" PRIu64, what, count);
	return size < PROGRESS_LINE_SIZE ? (size_t)size : PROGRESS_LINE_SIZE - 1;
}

void progress_step(struct progress *progress, const char *what, uint64_t count, uint64_t done,
		   uint64_t total)
{
	char line[PROGRESS_LINE_SIZE];
	if (progress == NULL || !progress->is_shown)
		return;
	uint64_t now = clock_now_ms();
	if (progress->what != what) {
		progress->what = what;
		progress->what_ms = now;
	}
	if (now - progress->start_ms < QUIET_MS || now - progress->last_ms < REDRAW_MS)
		return;
	progress->last_ms = now;
	int width = (int)progress_format(what, count, done, total, now - progress->what_ms, line);
	fprintf(stderr, "\r%s", line);
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
