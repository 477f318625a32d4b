/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/pdf/unpack_seal.h"

#include <string.h>

/* Fewer that are encrypted may look like a text by chance. */
#define TEXT_MIN 32

static const char stream_end[] = "\nendstream";

/* ---- the copy ---- */

static void end_copy(struct pdf_seal *seal, struct unpack *unpack, bool is_whole)
{
	void *member = seal->member;
	seal->member = NULL;
	seal->is_over = true;
	if (member != NULL)
		unpack->events->end(unpack->context, member, is_whole);
}

static void give(struct pdf_seal *seal, struct unpack *unpack, uint8_t type, const uint8_t *bytes,
		 size_t size)
{
	const uint8_t head[PDF_SEAL_HEAD] = { type, (uint8_t)size, (uint8_t)(size >> 8), 0, 0 };
	if (seal->member == NULL || size == 0)
		return;
	seal->given += sizeof(head) + size;
	if (seal->given > unpack->budget->spool_left) {
		end_copy(seal, unpack, false);
		return;
	}
	unpack->events->data(unpack->context, seal->member, head, sizeof(head));
	unpack->events->data(unpack->context, seal->member, bytes, size);
}

static void flush_text(struct pdf_seal *seal, struct unpack *unpack)
{
	const size_t size = seal->text_size;
	seal->text_size = 0;
	give(seal, unpack, PDF_SEAL_IS_TEXT, seal->text, size);
}

static void flush_kept(struct pdf_seal *seal, struct unpack *unpack)
{
	const size_t size = seal->kept_size;
	seal->kept_size = 0;
	give(seal, unpack, PDF_SEAL_IS_DATA, seal->kept, size);
}

void pdf_seal_begin(struct pdf_seal *ret_seal)
{
	memset(ret_seal, 0, offsetof(struct pdf_seal, text));
}

void pdf_seal_open(struct pdf_seal *seal, struct unpack *unpack)
{
	const size_t at = seal->text_size;
	if (seal->member != NULL || seal->is_over || unpack->events->begin_as == NULL)
		return;
	seal->member = unpack->events->begin_as(unpack->context, CONTENT_PDF_SEALED);
	seal->is_over = seal->member == NULL;
	if (seal->is_round)
		give(seal, unpack, PDF_SEAL_IS_TEXT, seal->text + at, PDF_SEAL_TEXT - at);
}

bool pdf_seal_end(struct pdf_seal *seal, struct unpack *unpack, unsigned facts)
{
	const uint8_t last = (uint8_t)facts;
	const bool is_whole = !unpack->is_over && !unpack->is_silent;
	flush_text(seal, unpack);
	const bool was_given = seal->member != NULL && is_whole;
	if (was_given)
		unpack->events->data(unpack->context, seal->member, &last, 1);
	end_copy(seal, unpack, is_whole);
	return was_given;
}

/* ---- what is in it ---- */

void pdf_seal_turn(struct pdf_seal *seal, struct unpack *unpack)
{
	seal->is_round = true;
	if (seal->member != NULL)
		flush_text(seal, unpack);
	seal->text_size = 0;
}

void pdf_seal_begin_stream(struct pdf_seal *seal)
{
	seal->mode = seal->is_over ? PDF_SEAL_PLAIN : PDF_SEAL_UNDECIDED;
	seal->kept_size = 0;
}

bool pdf_seal_take(struct pdf_seal *seal, struct unpack *unpack, uint8_t byte)
{
	seal->kept[seal->kept_size++] = byte;
	if (seal->kept_size < PDF_SEAL_KEPT)
		return false;
	if (seal->mode == PDF_SEAL_DATA)
		flush_kept(seal, unpack);
	return seal->mode == PDF_SEAL_UNDECIDED;
}

void pdf_seal_decide(struct pdf_seal *seal, struct unpack *unpack, bool is_plain)
{
	seal->mode = is_plain ? PDF_SEAL_PLAIN : PDF_SEAL_DATA;
	if (is_plain)
		return;
	pdf_seal_open(seal, unpack);
	flush_text(seal, unpack);
	flush_kept(seal, unpack);
}

void pdf_seal_end_stream(struct pdf_seal *seal, struct unpack *unpack)
{
	if (seal->mode == PDF_SEAL_DATA)
		flush_kept(seal, unpack);
	seal->mode = PDF_SEAL_OUTSIDE;
	for (size_t i = 0; i < sizeof(stream_end) - 1; i++)
		pdf_seal_text(seal, unpack, (uint8_t)stream_end[i]);
}

bool pdf_seal_is_text(const struct pdf_seal *seal)
{
	unsigned count = 0;
	for (unsigned i = 0; i < seal->kept_size; i++) {
		const uint8_t byte = seal->kept[i];
		count += (byte >= ' ' && byte <= '~') || byte == '\t' || byte == '\r' ||
			 byte == '\n';
	}
	return seal->kept_size <= PDF_SEAL_NOTHING ||
	       (seal->kept_size >= TEXT_MIN && count >= seal->kept_size - seal->kept_size / 8);
}
