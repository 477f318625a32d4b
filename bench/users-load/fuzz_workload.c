/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A file that says that it has parameters of users: what is refused has a reason and a line of the
 * file; what is taken is printed with a line for each parameter, and mails, mailboxes and sessions
 * can be made of it.
 */

#include "bench/users-load/behaviour.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "workload: %s\n", what);
	abort();
}

/* As much of one as a fuzzer has the time for. */
static void use(const struct workload *workload)
{
	const struct behaviour_view view = {
		.exists = 9, .known = 7, .keep = 5, .folder_count = 3, .has_selected = true
	};
	const struct mailplan_wish wish = { .number = 1 };
	struct mailplan mail;
	struct boxplan box;
	char bytes[256];
	mailplan_make(&mail, workload, &wish);
	size_t from = mail.size_bytes > 200 ? mail.size_bytes - 200 : 0;
	require(mailplan_copy(&mail, from, bytes, sizeof(bytes)) == mail.size_bytes - from,
		"the end of a mail");
	boxplan_make(&box, workload, 1, 1, 1);
	require(box.folder_count >= WORKLOAD_SPECIALS && box.folder_count <= BOXPLAN_FOLDERS,
		"folders");
	for (unsigned kind = 0; kind < WORKLOAD_CLIENTS; kind++) {
		struct behaviour behaviour;
		struct dice dice;
		struct behaviour_step step = { 0 };
		dice_begin(&dice, 1, DICE_SESSION, kind);
		behaviour_begin(&behaviour, (enum workload_kind)kind, &dice);
		for (unsigned i = 0; i < 50 && step.command != BEHAVIOUR_END; i++) {
			behaviour_next(&behaviour, workload, &view, &step);
			require(step.first <= step.last && step.last <= view.exists,
				"mails that are there");
			require(step.think_s >= 0 && step.idle_s >= 0, "times");
		}
	}
	require(workload_recipients(workload, &(struct dice){ { 1, 2, 3, 4 } }) >= 1, "recipients");
}

static void print(const uint8_t *data, size_t size)
{
	char *text = NULL;
	size_t text_size = 0;
	struct workload_error error;
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
	FILE *out = open_memstream(&text, &text_size);
	require(file != NULL && out != NULL, "memory");
	require(workload_print(file, false, out, &error) == 0, "what is read is printed");
	fclose(file);
	fclose(out);
	unsigned lines = 0;
	for (size_t i = 0; i < text_size; i++)
		lines += text[i] == '\n';
	require(lines == WORKLOAD_PARAMETERS, "a line for each parameter");
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct workload workload;
	struct workload_error error = { 0 };
	if (size == 0)
		return 0;
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
	require(file != NULL, "memory");
	int status = workload_read(file, &workload, &error);
	fclose(file);
	if (status == 0) {
		print(data, size);
		use(&workload);
		return 0;
	}
	unsigned lines = 1;
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	require(error.line <= lines, "a line of the file");
	require(error.reason[0] != '\0' && strlen(error.reason) < WORKLOAD_REASON_MAX, "a reason");
	return 0;
}
