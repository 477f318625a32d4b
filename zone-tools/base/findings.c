/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/base/findings.h"

#include "lib/common/log.h"

#include <inttypes.h>

static void print_place(FILE *stream, struct findings_place place)
{
	if (place.file == NULL)
		return;
	if (place.line == 0)
		fprintf(stream, "[%s] ", place.file);
	else
		fprintf(stream, "[%s:%" PRIu64 "] ", place.file, place.line);
}

void findings_add(struct findings *findings, enum finding_grade grade, struct findings_place place,
		  const char *what, const char *text, size_t text_size, const char *reason)
{
	bool is_refusal = grade == FINDING_REFUSAL;
	uint64_t *count = is_refusal ? &findings->refusal_count : &findings->warning_count;
	if ((*count)++ >= findings->limit)
		return;

	char quoted[LOG_QUOTE_MAX];
	fputs(is_refusal ? "error: " : "warning: ", findings->stream);
	print_place(findings->stream, place);
	fputs(what, findings->stream);
	if (text != NULL)
		fprintf(findings->stream, ", text=%s", log_quote(text, text_size, quoted));
	if (reason != NULL)
		fprintf(findings->stream, " (%s)", reason);
	fputc('\n', findings->stream);
}

void findings_add_bad_line(struct findings *findings, struct findings_place place, const char *text,
			   size_t text_size, const char *reason)
{
	if (findings->bad_lines_allowed > 0) {
		findings->bad_lines_allowed--;
		findings_add(findings, FINDING_WARNING, place, "line ignored", text, text_size,
			     reason);
		return;
	}
	findings_add(findings, FINDING_REFUSAL, place, "line refused", text, text_size, reason);
}

static void print_rest(const struct findings *findings, const char *grade, uint64_t count)
{
	if (count <= findings->limit)
		return;
	uint64_t rest = count - findings->limit;
	fprintf(findings->stream, "%s: %" PRIu64 " more finding%s not shown\n", grade, rest,
		rest == 1 ? "" : "s");
}

void findings_tell_skipped(struct findings *findings)
{
	if (findings->skipped_count > 0)
		fprintf(findings->stream,
			"warning: entries left out, count=%" PRIu64
			" (reserved space; --skip-reserved)\n",
			findings->skipped_count);
	findings->skipped_count = 0;
}

void findings_end(struct findings *findings)
{
	findings_tell_skipped(findings);
	print_rest(findings, "warning", findings->warning_count);
	print_rest(findings, "error", findings->refusal_count);
}
