/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/body.h"

#include <string.h>

enum place {
	AT_LINE, /* at its first byte */
	AT_TEXT,
	AT_CR,
	AT_DOT,	   /* behind a "." that was the first byte of its line */
	AT_DOT_CR, /* and a CR */
};

/* A call of body_take() or body_take_chunk(). */
struct call {
	struct body *body;
	uint8_t *out;
	size_t out_size;
};

void body_init(struct body *ret_body, uint64_t size_max)
{
	memset(ret_body, 0, sizeof(*ret_body));
	ret_body->size_max = size_max;
	ret_body->at = AT_LINE;
}

static void refuse(struct body *body, enum body_refusal refusal)
{
	if (body->refusal == BODY_FINE)
		body->refusal = refusal;
}

static void put(struct call *call, const uint8_t *bytes, size_t size)
{
	struct body *body = call->body;
	if (body->size_max > 0 && size > body->size_max - body->size)
		refuse(body, BODY_TOO_LARGE);
	if (body->refusal != BODY_FINE)
		return;
	memmove(call->out + call->out_size, bytes, size);
	call->out_size += size;
	body->size += size;
}

static size_t size_before(const uint8_t *bytes, size_t size, char byte)
{
	const uint8_t *end = memchr(bytes, byte, size);
	return end != NULL ? (size_t)(end - bytes) : size;
}

/*
 * Bytes that no rule is about. Looking to the end of all for each of many LFs would take as long as
 * they are many, squared: the others are looked for within a line, and an LF not in a refused mail.
 */
static size_t run_size(const struct body *body, const uint8_t *bytes, size_t size)
{
	if (body->refusal != BODY_FINE)
		return size_before(bytes, size, '\r');
	size = size_before(bytes, size, '\n');
	size = size_before(bytes, size, '\r');
	return size_before(bytes, size, '\0');
}

/* The next line begins; text is what comes out at the end of this one. */
static void end_line(struct call *call, const char *text, bool is_lone_lf)
{
	struct body *body = call->body;
	put(call, (const uint8_t *)text, strlen(text));
	body->at = AT_LINE;
	body->is_behind_lf = is_lone_lf;
	body->has_lf = body->has_lf || is_lone_lf;
}

/* A byte that ends a run. */
static void take_special(struct call *call, const uint8_t *byte, bool is_behind_dot)
{
	struct body *body = call->body;
	if (*byte == '\n' && body->takes_lf) {
		end_line(call, is_behind_dot ? ".\r\n" : "\r\n", true);
	} else if (*byte == '\r') {
		body->at = AT_CR;
		put(call, byte, 1);
	} else {
		refuse(body, *byte == '\n' ? BODY_BARE_LF : BODY_NUL);
	}
}

/* At least one byte within a line. Returns how many. */
static size_t take_text(struct call *call, const uint8_t *bytes, size_t size)
{
	struct body *body = call->body;
	bool is_behind_dot = body->at == AT_DOT;
	body->at = AT_TEXT;
	size_t run = run_size(body, bytes, size);
	/* As most lines end: the whole of it at once. */
	if (size - run >= 2 && bytes[run] == '\r' && bytes[run + 1] == '\n') {
		put(call, bytes, run + 2);
		end_line(call, "", false);
		return run + 2;
	}
	if (run == 0) {
		take_special(call, bytes, is_behind_dot);
		return 1;
	}
	put(call, bytes, run);
	return run;
}

static size_t take_after_cr(struct call *call, const uint8_t *bytes, size_t size)
{
	struct body *body = call->body;
	if (*bytes != '\n') {
		refuse(body, BODY_BARE_CR);
		return take_text(call, bytes, size);
	}
	/* A dot that stands alone behind a lone LF was held, as its CR was. */
	end_line(call, body->at == AT_DOT_CR ? ".\r\n" : "\n", false);
	return 1;
}

enum body_status body_take(struct body *body, const uint8_t *in, size_t in_size, size_t *ret_used,
			   uint8_t *out, size_t *ret_out_size)
{
	struct call call = { .body = body, .out = out };
	size_t used = 0;
	bool is_end = false;
	while (used < in_size && !is_end) {
		if (body->at == AT_LINE && in[used] == '.') {
			body->at = AT_DOT;
			used++;
		} else if (body->at == AT_DOT && in[used] == '\r') {
			body->at = AT_DOT_CR;
			used++;
		} else if (body->at == AT_DOT_CR && in[used] == '\n' && !body->is_behind_lf) {
			is_end = true;
			used++;
		} else if (body->at == AT_CR || body->at == AT_DOT_CR) {
			used += take_after_cr(&call, in + used, in_size - used);
		} else {
			used += take_text(&call, in + used, in_size - used);
		}
	}
	*ret_used = used;
	*ret_out_size = call.out_size;
	if (!is_end)
		return BODY_MORE;
	return body->refusal == BODY_FINE ? BODY_END : BODY_REFUSED;
}

void body_take_chunk(struct body *body, const uint8_t *in, size_t in_size, uint8_t *out,
		     size_t *ret_out_size)
{
	struct call call = { .body = body, .out = out };
	for (size_t used = 0; used < in_size;) {
		if (body->at == AT_CR)
			used += take_after_cr(&call, in + used, in_size - used);
		else
			used += take_text(&call, in + used, in_size - used);
	}
	*ret_out_size = call.out_size;
}

enum body_status body_end(struct body *body, uint8_t *out, size_t *ret_out_size)
{
	static const uint8_t end[BODY_END_MAX] = { '\r', '\n' };
	struct call call = { .body = body, .out = out };
	if (body->at == AT_CR)
		refuse(body, BODY_BARE_CR);
	if (body->at == AT_TEXT)
		put(&call, end, sizeof(end));
	*ret_out_size = call.out_size;
	return body->refusal == BODY_FINE ? BODY_END : BODY_REFUSED;
}

static const struct refusal_rule {
	int code;
	const char *text;
	const char *name;
} refusals[] = {
	[BODY_FINE] = { 250, "2.0.0 Ok", "fine" },
	/* A client that sends these has another end of a mail in mind: 521 ends the session. */
	[BODY_BARE_CR] = { 521, "5.6.0 Lines end with CR LF, lone CR received", "bare_cr" },
	[BODY_BARE_LF] = { 521, "5.6.0 Lines end with CR LF, lone LF received", "bare_lf" },
	[BODY_NUL] = { 550, "5.6.0 Mail contains a NUL", "nul" },
	[BODY_TOO_LARGE] = { 552, "5.3.4 Mail larger than we take", "too_large" },
};

int body_code(enum body_refusal refusal)
{
	return refusals[refusal].code;
}

const char *body_text(enum body_refusal refusal)
{
	return refusals[refusal].text;
}

const char *body_refusal_name(enum body_refusal refusal)
{
	return refusals[refusal].name;
}
