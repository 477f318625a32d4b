/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "lib/unpack/pdf/unpack_filters.h"
#include "lib/unpack/pdf/unpack_pdfstate.h"

/*
 * Streams of a PDF (ISO 32000-1, 7.3.8), as they come, without its tables:
 *
 *     12 0 obj << /Length 544 /Filter [/ASCIIHexDecode /FlateDecode] >> stream CRLF ... CRLF endstream
 *
 * A file in it is a stream, and a script is one, or a string. A stream ends with the word, or where another begins,
 * and what is compressed with its own end, also where the length is an object elsewhere. A length is
 * believed as far as the word within it is data; one that is a lie hides no stream and no key behind it.
 * Filters are read from the dictionary as far as ASCII, runs and LZW go, before FlateDecode and behind it;
 * what stands for that and begins as zlib is that, whatever is said. What a predictor has made of rows is
 * undone, unless they are long, or TIFF's of few bits. Images are decompressed as long as they are not
 * dense: a white page is as dense as a bomb.
 * What has other filters is given as it is, and what is encrypted, which unpack_sealed.c opens. That filters and
 * parameters are in objects of their own is said.
 */
#define STREAM_WORD_SIZE 6
#define EARLY		 PDF_INNER "EarlyChange"
#define DEFLATE_CODES	 6  /* of a block's first byte: 0 for bytes as they are */
#define ZLIB_BEHIND	 16 /* bytes, of a sum and what fills up to a whole line */

_Static_assert(sizeof(struct pdf_state) <= UNPACK_HERE_STATE, "the row has room for it");

/* ---- dictionaries ---- */

static void take_all_filters(struct pdf_state *state, const char *at)
{
	const bool is_elsewhere = pdf_dictionary_is_elsewhere(at);
	state->is_unfiltered =
		!pdf_stages_set(&state->stages, at, &state->is_flate) || is_elsewhere;
}

/* What an object elsewhere says of a predictor is not known. */
static void set_parameters(struct pdf_state *state, char *parameters)
{
	char *end = parameters + pdf_dictionary_size(parameters);
	const char kept = *end;
	const bool is_elsewhere = *parameters >= '0' && *parameters <= '9';
	*end = '\0';
	state->is_unpredicted = !pdf_predictor_set(&state->predictor, parameters) || is_elsewhere;
	state->is_late = pdf_dictionary_find(parameters, EARLY) != NULL &&
			 pdf_dictionary_number(parameters, EARLY) == 0;
	*end = kept;
}

/* What is compressed twice is opened once here: a predictor of the second is not known. */
static void take_parameters(struct pdf_state *state, const char *filters, char *values)
{
	const char *at = filters;
	enum pdf_filter filter = PDF_PLAIN;
	bool has_flate = false;
	char *parameters = NULL;
	state->is_unpredicted = false;
	state->is_late = false;
	state->predictor.row_size = 0;
	while (parameters == NULL && filters != NULL &&
	       (filter = pdf_dictionary_filter(&at)) != PDF_PLAIN) {
		if (filter == PDF_FLATE || filter == PDF_LZW)
			parameters = pdf_dictionary_parameters(values, filters, at - 1);
		state->predicted = filter == PDF_FLATE && has_flate ? PDF_PLAIN : filter;
		has_flate = has_flate || filter == PDF_FLATE;
	}
	if (parameters != NULL)
		set_parameters(state, parameters);
}

/* An earlier part of the dictionary may have said it. */
static void take_kind(struct pdf_state *state, char *dictionary, bool has_begin)
{
	state->has_objects = pdf_dictionary_find(dictionary, "/ObjStm") != NULL ||
			     (state->has_objects && !has_begin);
	if (has_begin) {
		state->fact = PDF_SEAL_STREAM;
		state->is_doubted = false;
	}
	const bool is_metadata = pdf_dictionary_has(dictionary, "/Type", "/Metadata");
	if (is_metadata)
		state->fact = PDF_SEAL_METADATA;
	else if (pdf_dictionary_find(dictionary, "/EmbeddedFile") != NULL)
		state->fact = PDF_SEAL_FILE;
	state->is_doubted = state->is_doubted || is_metadata ||
			    pdf_dictionary_has(dictionary, "/Type", "/XRef");
}

/* A crypt filter may say that it leaves all as it is, if it is said here. */
static void take_crypt(struct pdf_state *state, const char *filters, char *values, bool is_whole)
{
	if (filters == NULL || pdf_dictionary_find(filters, "/Crypt") == NULL)
		return;
	state->is_doubted = is_whole && pdf_dictionary_is_uncrypted(values);
	state->fact = state->is_doubted ? 0 : PDF_SEAL_STREAM;
}

/* What the text has of a dictionary, whose begin may have been left behind: its length, and its filters. */
static void take_dictionary(struct pdf_state *state, bool is_whole)
{
	char dictionary[PDF_TEXT_SIZE + 1];
	const size_t size = state->text_size - (is_whole ? STREAM_WORD_SIZE : 0);
	const bool has_begin =
		pdf_dictionary_copy(state->text, size, &state->place, is_whole, dictionary);
	const uint64_t length = pdf_dictionary_number(dictionary, "/Length");
	take_kind(state, dictionary, has_begin);
	state->is_image = pdf_dictionary_find(dictionary, "/Image") != NULL &&
			  pdf_dictionary_find(dictionary, "/EmbeddedFile") == NULL;
	if (has_begin || length > 0)
		state->length = length;
	state->has_filters = state->has_filters && !has_begin;
	char *values = pdf_dictionary_all_parameters(dictionary);
	const char *at = pdf_dictionary_filters(dictionary, &state->has_filters);
	if (has_begin || (at != NULL && values != NULL))
		take_parameters(state, at, values);
	else if (values != NULL)
		state->is_unpredicted = true;
	take_crypt(state, at, values, has_begin && is_whole);
	if (has_begin || at != NULL)
		take_all_filters(state, at != NULL ? at : "");
}

/*
 * What a trailer says, or the dictionary of a stream that has the tables: then no stream is what it seems, and
 * unpack_sealed.c is to open them.
 */
static void look_for_key(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	if (state->is_encrypted)
		return;
	state->is_encrypted = pdf_has_name(state->text, state->text_size, "/Encrypt");
	if (state->is_encrypted || pdf_has_name(state->text, state->text_size, "/Standard"))
		pdf_seal_open(&state->seal, unpack);
}

static void begin_text(struct pdf_state *state)
{
	state->text_size = 0;
	memset(&state->place, 0, sizeof(state->place));
}

static void add_predictor(struct pdf_state *state)
{
	if (state->predictor.row_size == 0)
		return;
	if (pdf_stages_add_rows(&state->stages, state->predicted))
		pdf_predictor_begin(&state->predictor);
	else
		state->is_unpredicted = true;
}

/* JPEG, JPEG 2000 and JBIG2: nothing comes out of them. */
static bool is_coded(const struct pdf_state *state)
{
	static const char heads[][3] = { "\xff\xd8\xff", "\xff\x4f\xff", { 0, 0, 0 } };
	bool is_so = false;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		is_so = is_so || memcmp(state->seal.kept, heads[i], sizeof(heads[i])) == 0;
	return is_so && state->seal.kept_size >= sizeof(heads[0]) && !state->is_flate &&
	       state->is_image && state->has_filters;
}

/*
 * Is what was there of the stream nothing that a cipher has made? Such begins as zlib by chance, but goes on as no
 * codes of deflate do, nor as a text. Who has the key makes it begin as anything: that is told at the end.
 */
static bool is_plain(const struct pdf_state *state)
{
	const bool is_direct = state->stages.before[0].filter == PDF_PLAIN;
	const bool is_ended = state->inflated == INFLATE_ENDED;
	const uint64_t used = 2 + state->inflate.stream.total_in;
	if (!is_direct || state->body == PDF_RAW || state->body == PDF_HEAD)
		return (is_direct && is_coded(state)) || pdf_seal_is_text(&state->seal);
	if (state->inflated == INFLATE_BAD || (state->seal.kept[2] & DEFLATE_CODES) == 0)
		return false;
	if (is_ended)
		return used + ZLIB_BEHIND >= state->seal.kept_size;
	return state->body == PDF_PASSED || state->seal.kept_size == PDF_SEAL_KEPT;
}

/*
 * Some writers leave metadata plain, and readers differ in what they believe: such is read in both ways. Most plain
 * PDFs have metadata, and few a crypt filter, for which a copy is begun.
 */
static void decide(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	const bool is_kept = state->is_doubted && (state->fact == 0 || state->seal.member != NULL);
	const bool is_passed = is_plain(state) && !is_kept;
	if (is_passed && state->seal.kept_size > PDF_SEAL_NOTHING)
		state->facts |= state->fact;
	pdf_seal_decide(&state->seal, unpack, is_passed);
}

static void keep(struct unpack *unpack, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	if (state->seal.mode != PDF_SEAL_PLAIN && pdf_seal_take(&state->seal, unpack, byte))
		decide(unpack);
}

static void take_raw(struct unpack *unpack, uint8_t byte)
{
	pdf_filters_take(unpack, byte);
	keep(unpack, byte);
}

/* What is encrypted may end like a line with none behind it: kept as far as a length has it, if one is said. */
static void keep_line_end(struct unpack *unpack)
{
	const struct pdf_state *state = unpack->state;
	const uint64_t begin = state->taken - state->held_size;
	for (unsigned i = 0; i + PDF_END_WORD_SIZE < state->held_size; i++)
		if (state->length == 0 || begin + i < state->length)
			keep(unpack, state->held[i]);
}

/* In a stream, the text before this one has been that stream's. */
static void begin_stream(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	char name[32];
	take_dictionary(state, true);
	look_for_key(unpack);
	for (unsigned i = 0; i < state->text_size && state->is_within; i++)
		pdf_seal_text(&state->seal, unpack, state->text[i]);
	pdf_seal_begin_stream(&state->seal);
	/* Its dictionary has said that of what was encrypted. */
	if (state->is_opened)
		state->length = 0;
	state->inflated = INFLATE_MORE;
	state->mode = PDF_STREAM;
	state->word = WORD_NONE;
	state->body = PDF_HEAD;
	state->held_size = 0;
	state->word_size = 0;
	state->head_size = 0;
	begin_text(state);
	state->has_word = false;
	state->lzw_stage = NULL;
	state->taken = 0;
	snprintf(name, sizeof(name), "stream %u", ++state->count);
	unpack_open(unpack, name);
	add_predictor(state);
	if (state->is_unfiltered || (state->is_unpredicted && !state->is_image))
		unpack_tell(unpack, UNPACK_UNSUPPORTED);
}

static void end_stream(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	pdf_filters_end(unpack);
	pdf_script_end(&state->inside, unpack);
	unpack_close(unpack, true);
	if (state->seal.mode == PDF_SEAL_UNDECIDED)
		decide(unpack);
	pdf_seal_end_stream(&state->seal, unpack);
	state->mode = PDF_TEXT;
	state->stages.before[0].filter = PDF_PLAIN;
	state->stages.behind[0].filter = PDF_INFLATED;
	state->predictor.row_size = 0;
	state->is_unpredicted = false;
	state->is_unfiltered = false;
	state->has_filters = false;
	state->has_objects = false;
	state->is_doubted = false;
	state->fact = PDF_SEAL_STREAM;
	state->is_flate = false;
	state->length = 0;
}

/* ---- bytes ---- */

static void leave_text(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	if (state->mode == PDF_TEXT)
		take_dictionary(state, false);
	if (state->mode == PDF_TEXT || state->has_word)
		look_for_key(unpack);
	state->text_size = PDF_TEXT_SIZE / 2;
	memmove(state->text, state->text + PDF_TEXT_SIZE / 2, PDF_TEXT_SIZE / 2);
}

static void take_text(struct unpack *unpack, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	if (state->text_size == PDF_TEXT_SIZE)
		leave_text(unpack);
	state->text[state->text_size++] = byte;
	state->word = byte == 'm' && pdf_ends_with_stream(state->text, state->text_size)
			      ? WORD_STREAM
			      : WORD_NONE;
}

static void release(struct unpack *unpack, size_t kept)
{
	struct pdf_state *state = unpack->state;
	const size_t size = state->held_size - kept;
	for (size_t i = 0; i < size; i++)
		take_raw(unpack, state->held[i]);
	memmove(state->held, state->held + size, kept);
	state->held_size = (uint8_t)kept;
}

/* Ends of lines are held, as the last of them is not the stream's. */
static void hold_line_end(struct unpack *unpack, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	const bool is_second = byte == '\n' && state->word_size == 0 && state->held_size == 1 &&
			       state->held[0] == '\r';
	if (!is_second)
		release(unpack, 0);
	state->word_size = 0;
	state->held[state->held_size++] = byte;
}

/*
 * The word, whose last byte was taken, is data when all of it is within the length, or when there is no
 * length and what is compressed has not come to its own end.
 */
static bool is_data(struct unpack *unpack)
{
	const struct pdf_state *state = unpack->state;
	if (state->length > 0)
		return state->taken <= state->length && state->body != PDF_PASSED &&
		       !state->stages.before[0].is_over;
	pdf_filters_flush(unpack);
	return state->body == PDF_INFLATE && !state->stages.before[0].is_over;
}

static void take_stream(struct unpack *unpack, uint8_t byte)
{
	static const char word[] = PDF_END_WORD;
	struct pdf_state *state = unpack->state;
	state->taken++;
	if (byte == (uint8_t)word[state->word_size]) {
		state->held[state->held_size++] = byte;
		if (++state->word_size < PDF_END_WORD_SIZE)
			return;
		if (is_data(unpack)) {
			release(unpack, 0);
			state->word_size = 0;
			state->has_word = true;
			return;
		}
		keep_line_end(unpack);
		end_stream(unpack);
		begin_text(state);
		return;
	}
	/* "endstren..." may have it from its second e on. */
	if (state->word_size == 7 && byte == 'n') {
		release(unpack, 1);
		state->held[state->held_size++] = byte;
		state->word_size = 2;
		return;
	}
	if (byte == '\r' || byte == '\n') {
		hold_line_end(unpack, byte);
		return;
	}
	release(unpack, 0);
	state->word_size = 0;
	if (byte == 'e') {
		state->held[state->held_size++] = byte;
		state->word_size = 1;
		return;
	}
	take_raw(unpack, byte);
}

/*
 * The line of "stream" ends at byte, or else byte is the first of the stream. In a stream it begins
 * another: a comment that reads so would hide the one behind it.
 */
static void begin_next(struct unpack *unpack, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	state->is_within = state->mode == PDF_STREAM;
	if (state->is_within)
		end_stream(unpack);
	begin_stream(unpack);
	if (byte != '\n')
		take_stream(unpack, byte);
}

static void take_word(struct unpack *unpack, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	const bool is_blank = byte == ' ' || byte == '\t';
	if (state->word == WORD_NONE)
		take_text(unpack, byte);
	else if (state->word != WORD_CR && byte == '\r')
		state->word = WORD_CR;
	else if (state->word != WORD_CR && is_blank)
		state->word = WORD_BLANK;
	else if (state->word != WORD_STREAM || byte == '\n' || pdf_is_delimiter(byte))
		begin_next(unpack, byte);
	else
		state->word = WORD_NONE;
}

static void take_byte(struct unpack *unpack, uint8_t byte)
{
	struct pdf_state *state = unpack->state;
	const bool is_text = state->mode == PDF_TEXT;
	if (is_text)
		unpack->in++;
	else
		take_stream(unpack, byte);
	take_word(unpack, byte);
	if (is_text && state->mode == PDF_TEXT)
		pdf_seal_text(&state->seal, unpack, byte);
	if (!unpack->is_over)
		pdf_script_take(&state->outside, unpack, &state->script_count, byte);
	/* What is a script here may be an encrypted one. */
	if (state->outside.is_open)
		pdf_seal_open(&state->seal, unpack);
}

int unpack_pdf_begin(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	memset(state, 0, offsetof(struct pdf_state, inflate));
	memset(&state->inflate, 0, offsetof(struct unpack_inflate, out_bytes));
	state->lzw_stage = NULL;
	state->predictor.row_size = 0;
	state->stages.behind[0].filter = PDF_INFLATED;
	state->has_objects = false;
	state->is_doubted = false;
	state->fact = PDF_SEAL_STREAM;
	state->facts = 0;
	state->script_count = 0;
	pdf_seal_begin(&state->seal);
	pdf_script_begin(&state->outside);
	pdf_script_begin(&state->inside);
	return unpack_inflate_init(&state->inflate);
}

void unpack_pdf_begin_opened(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	unpack_pdf_begin(unpack);
	state->is_encrypted = true;
	state->is_opened = true;
	state->seal.is_over = true;
}

void unpack_pdf_set_length(struct unpack *unpack, uint64_t length)
{
	((struct pdf_state *)unpack->state)->length = length;
}

void unpack_pdf_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && !unpack->is_over; i++)
		take_byte(unpack, bytes[i]);
}

/* A stream or a script without its end is one as far as it goes. */
static void end_all(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	if (state->mode == PDF_TEXT || state->has_word)
		look_for_key(unpack);
	if (state->mode == PDF_TEXT)
		return;
	release(unpack, 0);
	end_stream(unpack);
}

void unpack_pdf_end(struct unpack *unpack)
{
	struct pdf_state *state = unpack->state;
	if (!unpack->is_over)
		end_all(unpack);
	pdf_script_end(&state->inside, unpack);
	pdf_script_end(&state->outside, unpack);
	state->facts |= state->is_encrypted ? PDF_SEAL_ENCRYPTED : 0;
	if (!pdf_seal_end(&state->seal, unpack, state->facts) && state->is_encrypted &&
	    !state->is_opened)
		unpack_tell_of(unpack, UNPACK_ENCRYPTED, "");
}
