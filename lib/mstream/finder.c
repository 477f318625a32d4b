/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/finder.h"

/* What is the same for one call of a decoder. */
struct flow {
	const struct finder_files *files;
	void *context;
	void **file;
};

static void begin_file(void *context, enum mstream_coding coding, const char *name)
{
	const struct flow *flow = context;
	*flow->file = flow->files->begin(flow->context, coding, name);
}

static void end_file(void *context, bool is_whole)
{
	const struct flow *flow = context;
	if (*flow->file != NULL)
		flow->files->end(flow->context, *flow->file, is_whole);
	*flow->file = NULL;
}

static void take_data(void *context, const uint8_t *bytes, size_t size)
{
	const struct flow *flow = context;
	if (*flow->file != NULL && !flow->files->data(flow->context, *flow->file, bytes, size))
		end_file(context, false);
}

static void take_oddity(void *context, enum mstream_oddity oddity)
{
	const struct flow *flow = context;
	flow->files->odd(flow->context, oddity);
}

static const struct mstream_files functions = { begin_file, take_data, end_file, take_oddity };

void finder_begin(struct finder *ret_finder, bool is_tnef)
{
	ret_finder->is_tnef = is_tnef;
	ret_finder->embedded = NULL;
	ret_finder->address = NULL;
	ret_finder->value = NULL;
	ret_finder->string = NULL;
	addresses_begin(&ret_finder->addresses);
	inlined_begin(&ret_finder->inlined);
	quoted_begin(&ret_finder->quoted);
	if (is_tnef)
		tnef_begin(&ret_finder->of.tnef);
	else
		embedded_begin(&ret_finder->of.embedded);
}

void finder_expect(struct finder *finder)
{
	if (!finder->is_tnef)
		embedded_expect(&finder->of.embedded);
}

bool finder_is_open(const struct finder *finder)
{
	return finder->embedded != NULL || finder->address != NULL || finder->value != NULL ||
	       finder->string != NULL;
}

void finder_push(struct finder *finder, const uint8_t *bytes, size_t size,
		 const struct finder_files *files, void *context)
{
	struct flow flow = { files, context, &finder->embedded };
	if (finder->is_tnef) {
		tnef_push(&finder->of.tnef, bytes, size, &functions, &flow);
		return;
	}
	embedded_push(&finder->of.embedded, bytes, size, &functions, &flow);
	flow.file = &finder->address;
	addresses_push(&finder->addresses, bytes, size, &functions, &flow);
	flow.file = &finder->value;
	inlined_push(&finder->inlined, bytes, size, &functions, &flow);
	flow.file = &finder->string;
	quoted_push(&finder->quoted, bytes, size, &functions, &flow);
}

void finder_end(struct finder *finder, bool is_whole, const struct finder_files *files,
		void *context)
{
	struct flow flow = { files, context, &finder->embedded };
	if (finder->is_tnef) {
		tnef_end(&finder->of.tnef, is_whole, &functions, &flow);
		return;
	}
	embedded_end(&finder->of.embedded, is_whole, &functions, &flow);
	flow.file = &finder->address;
	addresses_end(&finder->addresses, is_whole, &functions, &flow);
	flow.file = &finder->value;
	inlined_end(&finder->inlined, is_whole, &functions, &flow);
	flow.file = &finder->string;
	quoted_end(&finder->quoted, is_whole, &functions, &flow);
}
