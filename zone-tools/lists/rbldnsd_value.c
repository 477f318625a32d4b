/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/rbldnsd_value.h"

#include "zone-tools/base/listing.h"
#include "zone-tools/lists/rbldnsd_address.h"

#include <string.h>

/* ---- reading ---- */

static bool set_text(struct dnsblv6_value *value, const char *text)
{
	size_t size = strlen(text);
	bool is_cut = size > RBLDNSD_RAW_MAX;
	value->text = (const uint8_t *)text;
	value->text_size = (uint8_t)(is_cut ? RBLDNSD_RAW_MAX : size);
	return is_cut;
}

const char *rbldnsd_value_parse(const char *text, const struct dnsblv6_value *fallback,
				struct dnsblv6_value *ret_value, bool *ret_is_cut)
{
	struct dnsblv6_value value = *fallback;
	bool is_cut = false;
	if (*text != ':') {
		is_cut = set_text(&value, text);
	} else {
		text++;
		const char *fault = rbldnsd_address_parse_a(&text, &value.a);
		if (fault != NULL)
			return fault;
		text += strspn(text, " \t");
		if (*text == ':') {
			text++;
			is_cut = set_text(&value, text + strspn(text, " \t"));
		} else if (*text != '\0') {
			return "no colon between A value and text";
		}
	}
	*ret_value = value;
	*ret_is_cut = is_cut;
	return NULL;
}

/* ---- compiling ---- */

struct piece {
	const uint8_t *bytes;
	size_t size;
};

/* The address, as dnsblv6_value_expand() wants to find it. */
static const uint8_t address_mark[] = { DNSBLV6_TEXT_ADDRESS };
static const struct piece address_piece = { address_mark, sizeof(address_mark) };

/*
 * Bytes beyond the end are dropped. That is right with marks among them, for an
 * address is longer than its mark: what falls off here falls off in the answer.
 */
struct output {
	uint8_t *bytes;
	size_t size;
};

static void put(struct output *out, struct piece piece)
{
	if (piece.size > RBLDNSD_TEXT_MAX - out->size)
		piece.size = RBLDNSD_TEXT_MAX - out->size;
	if (piece.size > 0)
		memcpy(out->bytes + out->size, piece.bytes, piece.size);
	out->size += piece.size;
}

static struct piece variable(const struct rbldnsd_scope *scope, unsigned number)
{
	const char *text = scope->variables[number];
	return (struct piece){ (const uint8_t *)text, text != NULL ? strlen(text) : 0 };
}

static struct piece without_first(struct piece piece, size_t count)
{
	return (struct piece){ piece.bytes + count, piece.size - count };
}

/* Template at a dollar sign: puts what it stands for, returns how much of the template that was. */
static size_t put_dollar(struct output *out, struct piece template, struct piece own_text,
			 const struct rbldnsd_scope *scope)
{
	uint8_t next = template.size > 1 ? template.bytes[1] : 0;
	if (next == '$') {
		put(out, (struct piece){ template.bytes, 1 });
		return 2;
	}
	if (next == '=') {
		put(out, own_text);
		return 2;
	}
	if (next >= '0' && next <= '9') {
		struct piece value = variable(scope, next - '0');
		put(out, value.bytes != NULL ? value : (struct piece){ template.bytes, 2 });
		return 2;
	}
	put(out, address_piece);
	return 1;
}

static void put_template(struct output *out, struct piece template, struct piece own_text,
			 const struct rbldnsd_scope *scope)
{
	while (template.size > 0) {
		const uint8_t *dollar = memchr(template.bytes, '$', template.size);
		size_t literal = dollar != NULL ? (size_t)(dollar - template.bytes) : template.size;
		put(out, (struct piece){ template.bytes, literal });
		template = without_first(template, literal);
		if (dollar != NULL)
			template =
				without_first(template, put_dollar(out, template, own_text, scope));
	}
}

struct dnsblv6_value rbldnsd_value_compile(const struct dnsblv6_value *raw,
					   const struct rbldnsd_scope *scope, uint8_t *ret_text)
{
	struct output out = { ret_text, 0 };
	if (raw->a == 0 && raw->ttl != 0)
		return (struct dnsblv6_value){ .ttl = raw->ttl, .text = ret_text };
	struct piece text = { raw->text, raw->text_size };
	struct piece base = variable(scope, RBLDNSD_VARIABLE_BASE);

	if (text.size > 0 && text.bytes[0] == '=') {
		text = without_first(text, 1);
		put_template(&out, text, text, scope);
	} else if (base.size > 0) {
		put_template(&out, base, text.size > 0 ? text : address_piece, scope);
	} else {
		put_template(&out, text, text, scope);
	}
	return (struct dnsblv6_value){
		.a = raw->a,
		.ttl = scope->ttl != 0 ? scope->ttl : LISTING_TTL_DEFAULT,
		.text_size = (uint8_t)out.size,
		.text = ret_text,
	};
}
