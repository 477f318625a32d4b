/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/embedded.h"

#include <string.h>
#include <strings.h>

#include "lib/mstream/uuencode.h"

enum embedded_mode {
	MODE_TEXT,
	MODE_CLASSIC_FIRST, /* "begin" was there: is the next line one of uuencode? */
	MODE_CLASSIC,
	MODE_CLASSIC_END, /* the line of no bytes was there */
	MODE_BASE64,
	MODE_YENC,
	MODE_BINHEX,
};

#define JUNK_LINES  16	   /* before a file's first: prose of uuencode is passed soon */
#define BEGINNINGS  "bB=(" /* of a line that begins a file */
#define BINHEX_SAYS "(This file must be converted with BinHex"

/* What is the same for one call. */
struct flow {
	struct embedded *embedded;
	const uint8_t *at;
	const uint8_t *end;
	/* The next of each behind at, or end; looked for anew when at has passed it. */
	const uint8_t *next_lf;
	const uint8_t *next_cr;
	struct outflow out;
};

void embedded_begin(struct embedded *ret_embedded)
{
	memset(ret_embedded, 0, sizeof(*ret_embedded));
}

void embedded_expect(struct embedded *embedded)
{
	embedded->is_said = true;
}

/* ---- files ---- */

static void say_odd(struct flow *flow)
{
	if (!flow->embedded->has_odd)
		flow->out.files->odd(flow->out.context, MSTREAM_BAD_CODING);
	flow->embedded->has_odd = true;
}

static void begin_file(struct flow *flow, enum mstream_coding coding)
{
	flow->embedded->has_odd = false;
	flow->out.files->begin(flow->out.context, coding, flow->embedded->name);
}

static void end_file(struct flow *flow, bool is_whole)
{
	outflow_flush(&flow->out);
	flow->out.files->end(flow->out.context, is_whole);
	flow->embedded->mode = MODE_TEXT;
}

static void end_open(struct flow *flow)
{
	flow->out.files->odd(flow->out.context, MSTREAM_NO_END);
	end_file(flow, true);
}

/* ---- lines of a text ---- */

static void take_text_line(struct flow *flow)
{
	struct embedded *embedded = flow->embedded;
	const uint8_t *line = embedded->line;
	const size_t size = embedded->line_size;
	const enum uuencode_form form =
		uuencode_begins(line, size, embedded->is_said, embedded->name);
	if (form == UUENCODE_CLASSIC) {
		if (embedded->is_said || uuencode_is_sure(line, size))
			embedded->junk_left = JUNK_LINES;
		else if (embedded->mode == MODE_TEXT)
			embedded->junk_left = 0;
		embedded->mode = MODE_CLASSIC_FIRST;
		embedded->has_junk = false;
	} else if (form == UUENCODE_BASE64) {
		begin_file(flow, MSTREAM_UUENCODE);
		embedded->mode = MODE_BASE64;
	} else if (yenc_begin(&embedded->of.yenc, line, size, embedded->name)) {
		begin_file(flow, MSTREAM_YENC);
		embedded->mode = MODE_YENC;
	} else if (size >= strlen(BINHEX_SAYS) &&
		   strncasecmp((const char *)line, BINHEX_SAYS, strlen(BINHEX_SAYS)) == 0) {
		embedded->has_binhex = true;
	}
}

/* ---- BinHex ---- */

static void end_binhex(struct flow *flow, bool is_text_whole)
{
	struct embedded *embedded = flow->embedded;
	const bool is_complete = binhex_end(&embedded->of.binhex, is_text_whole, &flow->out);
	if (!is_complete && is_text_whole)
		flow->out.files->odd(flow->out.context, MSTREAM_NO_END);
	if (embedded->of.binhex.is_odd)
		say_odd(flow);
	outflow_flush(&flow->out);
	embedded->mode = MODE_TEXT;
}

/* What is kept of its first line. */
static void take_binhex_line(struct flow *flow)
{
	struct embedded *embedded = flow->embedded;
	struct binhex *binhex = &embedded->of.binhex;
	const size_t size = embedded->line_size > 0 ? embedded->line_size - 1u : 0;
	embedded->has_binhex = false;
	embedded->has_odd = false;
	embedded->mode = MODE_BINHEX;
	embedded->line_size = 0;
	binhex_begin(binhex);
	binhex_push(binhex, embedded->line + 1, size, &flow->out);
	if (!binhex->is_done)
		return;
	embedded->is_passed = true;
	end_binhex(flow, true);
}

/* Behind "begin" it is not, when the whole line is one of uuencode. more: bytes of it behind those that are kept. */
static bool is_binhex(const struct flow *flow, size_t more)
{
	const struct embedded *embedded = flow->embedded;
	const uint8_t first = embedded->line_size > 0 ? embedded->line[0] : *flow->at;
	if (first != ':' || embedded->is_passed || !embedded->has_binhex)
		return false;
	return embedded->mode == MODE_TEXT ||
	       (embedded->mode == MODE_CLASSIC_FIRST &&
		(embedded->has_junk || embedded->line_size + more > EMBEDDED_LINE_SIZE));
}

/* ---- lines of uuencode ---- */

static void put_line(struct flow *flow, const struct uuencode_line *line)
{
	if (line->is_odd)
		say_odd(flow);
	if (line->size > 0)
		flow->out.files->data(flow->out.context, line->bytes, line->size);
}

/*
 * Prose begins with "begin", too: a file is there when its first line is one. Where "begin" can hardly be prose its
 * characters need not be those of uuencode, as readers take six bits of any, and it may come late.
 */
static bool is_first_line(const struct embedded *embedded, const struct uuencode_line *line)
{
	if (!embedded->has_junk && !line->is_odd)
		return true;
	return embedded->junk_left > 0 && line->is_full;
}

static void pass_junk(struct flow *flow, bool is_end)
{
	struct embedded *embedded = flow->embedded;
	embedded->has_junk = true;
	if (is_end || embedded->junk_left <= 1)
		embedded->mode = MODE_TEXT;
	else
		embedded->junk_left--;
	take_text_line(flow);
}

static void take_first_line(struct flow *flow, const struct uuencode_line *line)
{
	struct embedded *embedded = flow->embedded;
	if (line->kind == UUENCODE_BLANK)
		return;
	if (!is_first_line(embedded, line) && embedded->has_binhex && embedded->line[0] == ':') {
		take_binhex_line(flow);
		return;
	}
	if (!is_first_line(embedded, line)) {
		pass_junk(flow, line->kind == UUENCODE_END);
		return;
	}
	begin_file(flow, MSTREAM_UUENCODE);
	if (embedded->has_junk)
		say_odd(flow);
	embedded->mode = line->kind == UUENCODE_EMPTY ? MODE_CLASSIC_END : MODE_CLASSIC;
	if (line->kind == UUENCODE_END)
		end_file(flow, true);
	else
		put_line(flow, line);
}

static bool is_beginning(struct flow *flow)
{
	struct embedded *embedded = flow->embedded;
	return uuencode_begins(embedded->line, embedded->line_size, embedded->is_said,
			       embedded->name) != UUENCODE_NONE;
}

/* A file that has no end may be followed by another. */
static void take_classic_line(struct flow *flow, const struct uuencode_line *line)
{
	if (line->kind == UUENCODE_END) {
		end_file(flow, true);
	} else if (line->is_odd && is_beginning(flow)) {
		end_open(flow);
		take_text_line(flow);
	} else if (line->kind == UUENCODE_EMPTY) {
		flow->embedded->mode = MODE_CLASSIC_END;
	} else {
		put_line(flow, line);
	}
}

/*
 * Readers differ about what is behind the line of no bytes: a line of bytes goes on, and some that are neither are
 * passed where "begin" was sure.
 */
static void take_last_line(struct flow *flow, const struct uuencode_line *line)
{
	struct embedded *embedded = flow->embedded;
	const bool is_data = (line->kind == UUENCODE_DATA && !line->is_odd) ||
			     (line->is_full && embedded->junk_left > 0);
	if (line->kind == UUENCODE_BLANK || line->kind == UUENCODE_EMPTY)
		return;
	if (line->kind == UUENCODE_END) {
		end_file(flow, true);
	} else if (is_data) {
		say_odd(flow);
		put_line(flow, line);
		embedded->mode = MODE_CLASSIC;
	} else if (embedded->junk_left > 0 && strchr(BEGINNINGS, embedded->line[0]) == NULL) {
		embedded->junk_left--;
	} else {
		end_open(flow);
		take_text_line(flow);
	}
}

static void take_base64_line(struct flow *flow)
{
	struct uuencode_line line;
	uuencode_take64(flow->embedded->line, flow->embedded->line_size, &line);
	if (line.kind == UUENCODE_END) {
		end_file(flow, true);
	} else if (is_beginning(flow)) {
		end_open(flow);
		take_text_line(flow);
	} else {
		put_line(flow, &line);
	}
}

static void take_line(struct flow *flow)
{
	struct uuencode_line line;
	struct embedded *embedded = flow->embedded;
	const enum embedded_mode mode = (enum embedded_mode)embedded->mode;
	if (mode == MODE_TEXT) {
		take_text_line(flow);
	} else if (mode == MODE_BASE64) {
		take_base64_line(flow);
	} else {
		uuencode_take(embedded->line, embedded->line_size, &line);
		if (mode == MODE_CLASSIC_FIRST)
			take_first_line(flow, &line);
		else if (mode == MODE_CLASSIC)
			take_classic_line(flow, &line);
		else
			take_last_line(flow, &line);
	}
}

/* ---- bytes to lines ---- */

static const uint8_t *find_byte(const struct flow *flow, const uint8_t *known, int byte)
{
	if (known != NULL && known >= flow->at)
		return known;
	const uint8_t *found = memchr(flow->at, byte, (size_t)(flow->end - flow->at));
	return found != NULL ? found : flow->end;
}

static const uint8_t *find_line_end(struct flow *flow)
{
	flow->next_lf = find_byte(flow, flow->next_lf, '\n');
	flow->next_cr = find_byte(flow, flow->next_cr, '\r');
	return flow->next_lf < flow->next_cr ? flow->next_lf : flow->next_cr;
}

/* Most lines of a text are passed by their first byte. */
static bool may_begin(const struct flow *flow)
{
	return flow->embedded->mode != MODE_TEXT || strchr(BEGINNINGS, *flow->at) != NULL;
}

static void keep(struct embedded *embedded, const uint8_t *bytes, size_t size)
{
	const size_t room = EMBEDDED_LINE_SIZE - embedded->line_size;
	if (size > room)
		size = room;
	memcpy(embedded->line + embedded->line_size, bytes, size);
	embedded->line_size += (uint16_t)size;
}

/* A line, or what of it is there. */
static void push_line(struct flow *flow)
{
	struct embedded *embedded = flow->embedded;
	const bool is_first = embedded->line_size == 0 && !embedded->is_passed;
	const uint8_t *line_end = find_line_end(flow);
	if (is_binhex(flow, (size_t)(line_end - flow->at))) {
		if (is_first)
			flow->at++;
		take_binhex_line(flow);
		return;
	}
	if (is_first && line_end > flow->at && !may_begin(flow))
		embedded->is_passed = true;
	if (!embedded->is_passed && line_end > flow->at)
		keep(embedded, flow->at, (size_t)(line_end - flow->at));
	flow->at = line_end;
	if (line_end == flow->end)
		return;
	embedded->is_after_cr = *line_end == '\r';
	flow->at++;
	if (!embedded->is_passed)
		take_line(flow);
	embedded->is_passed = false;
	embedded->line_size = 0;
}

/* ---- bytes to codings without lines ---- */

static void end_yenc(struct flow *flow)
{
	struct embedded *embedded = flow->embedded;
	if (embedded->of.yenc.is_odd)
		say_odd(flow);
	if (!embedded->of.yenc.has_next) {
		end_file(flow, true);
		return;
	}
	end_open(flow);
	keep(embedded, (const uint8_t *)YENC_BEGIN, strlen(YENC_BEGIN));
}

static void push_yenc(struct flow *flow)
{
	struct embedded *embedded = flow->embedded;
	struct yenc *yenc = &embedded->of.yenc;
	flow->at += yenc_push(yenc, flow->at, (size_t)(flow->end - flow->at), &flow->out);
	if (!yenc->is_done)
		return;
	embedded->is_after_cr = !yenc->has_next && flow->at[-1] == '\r';
	end_yenc(flow);
}

static void push_binhex(struct flow *flow)
{
	struct binhex *binhex = &flow->embedded->of.binhex;
	flow->at += binhex_push(binhex, flow->at, (size_t)(flow->end - flow->at), &flow->out);
	if (!binhex->is_done)
		return;
	/* The rest of its line is no beginning of another. */
	flow->embedded->is_passed = true;
	end_binhex(flow, true);
}

void embedded_push(struct embedded *embedded, const uint8_t *bytes, size_t size,
		   const struct mstream_files *files, void *context)
{
	struct flow flow;
	flow.embedded = embedded;
	flow.at = bytes;
	flow.end = bytes + size;
	flow.next_lf = NULL;
	flow.next_cr = NULL;
	flow.out.files = files;
	flow.out.context = context;
	flow.out.size = 0;
	while (flow.at < flow.end) {
		const bool is_second = embedded->is_after_cr && *flow.at == '\n';
		embedded->is_after_cr = false;
		if (is_second)
			flow.at++;
		else if (embedded->mode == MODE_YENC)
			push_yenc(&flow);
		else if (embedded->mode == MODE_BINHEX)
			push_binhex(&flow);
		else
			push_line(&flow);
	}
	outflow_flush(&flow.out);
}

void embedded_end(struct embedded *embedded, bool is_whole, const struct mstream_files *files,
		  void *context)
{
	struct flow flow = { .embedded = embedded, .out = { .files = files, .context = context } };
	if (embedded->line_size > 0 && embedded->mode < MODE_YENC)
		take_line(&flow);
	if (embedded->mode == MODE_YENC) {
		yenc_finish(&embedded->of.yenc);
		if (embedded->of.yenc.is_done)
			end_yenc(&flow);
	}
	if (embedded->mode == MODE_BINHEX)
		end_binhex(&flow, is_whole);
	else if (embedded->mode == MODE_CLASSIC_END)
		end_file(&flow, is_whole);
	else if (embedded->mode >= MODE_CLASSIC && is_whole)
		end_open(&flow);
	else if (embedded->mode >= MODE_CLASSIC)
		end_file(&flow, false);
	embedded_begin(embedded);
}
