/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "lib/content/little.h"
#include "lib/format/array.h"
#include "lib/format/ascii.h"
#include "lib/format/hex.h"
#include "lib/unpack/office/unpack_office.h"
#include "lib/unpack/pdf/unpack_dictionary.h"
#include "lib/unpack/pdf/unpack_lock.h"
#include "lib/unpack/pdf/unpack_seal.h"
#include "lib/unpack/pdf/unpack_string.h"

/*
 * An encrypted PDF, of which unpack_seal.h has made a copy, when the empty password opens it.
 *
 * At its end the copy is read twice. First what may be locks, wherever they stand, and what may be the file's
 * identifier: its tables are not looked at, as they may lie, and a lock says itself whether a key is its own. Then,
 * for each lock that opens, unpack_pdf.c gets all of it again with the streams decrypted, and scripts in strings: what
 * other strings say is not looked at. What is plain all the same, as tables are, or by a crypt filter, has been read
 * before; that there is such that a lock would have encrypted is told.
 */
#define LOCKS                                                                                      \
	4 /* that are tried: one for each time that a PDF was changed, and all the same mostly */
#define IDS	   4
#define PIECE_SIZE 4096

struct id {
	uint8_t bytes[PDF_LOCK_ID];
	size_t size;
};

/* What is known of the object that is read. */
struct thing {
	uint32_t number;
	uint32_t generation;
	bool is_file;
	bool is_filtered;
	char filter[PDF_LOCK_NAME];
};

struct sealed {
	struct unpack *unpack;
	unsigned lock_count;
	unsigned id_count;
	bool is_full; /* there are more locks */
	bool has_unknown;
	struct pdf_lock locks[LOCKS];
	struct id ids[IDS];
	struct pdf_lock *lock;
	struct thing thing;
	/* A string. */
	uint8_t *string;
	size_t string_size;
	size_t string_room;
};

/* Before the end, where the reader of PDFs has its own. */
struct sealed_state {
	uint8_t last; /* byte */
	bool is_lost;
};

/* ---- records ---- */

struct record {
	uint8_t type;
	uint8_t *bytes;
	size_t size;
};

/* Those of one kind that follow each other become one, where they are. How many bytes are left. */
static size_t join(uint8_t *bytes, size_t size)
{
	size_t to = 0;
	size_t head = 0; /* of the record that grows */
	for (size_t at = 0; size - at >= PDF_SEAL_HEAD;) {
		const uint8_t type = bytes[at];
		const uint32_t said = little_get32(bytes + at + 1);
		at += PDF_SEAL_HEAD;
		const size_t part = said < size - at ? said : size - at;
		const size_t grown = to - head - (to > 0 ? PDF_SEAL_HEAD : 0) + part;
		if (to == 0 || bytes[head] != type || grown > UINT32_MAX) {
			head = to;
			to += PDF_SEAL_HEAD;
		}
		memmove(bytes + to, bytes + at, part);
		to += part;
		at += part;
		const size_t whole = to - head - PDF_SEAL_HEAD;
		bytes[head] = type;
		for (unsigned i = 0; i < 4; i++)
			bytes[head + 1 + i] = (uint8_t)(whole >> (8 * i));
	}
	return to;
}

static bool next_record(const struct unpack *unpack, size_t *at, struct record *ret_record)
{
	if (unpack->spool_size - *at < PDF_SEAL_HEAD)
		return false;
	ret_record->type = unpack->spool[*at];
	ret_record->size = little_get32(unpack->spool + *at + 1);
	ret_record->bytes = unpack->spool + *at + PDF_SEAL_HEAD;
	*at += PDF_SEAL_HEAD + ret_record->size;
	return true;
}

/* ---- words of a text ---- */

struct text {
	const uint8_t *begin;
	const uint8_t *at;
	const uint8_t *end;
};

static void skip_blanks(struct text *text)
{
	while (text->at < text->end && pdf_is_space(*text->at))
		text->at++;
}

/* Before a value. */
static void skip_comments(struct text *text)
{
	skip_blanks(text);
	while (text->at < text->end && *text->at == '%') {
		while (text->at < text->end && *text->at != '\r' && *text->at != '\n')
			text->at++;
		skip_blanks(text);
	}
}

static int peek(const struct text *text)
{
	return text->at < text->end ? *text->at : -1;
}

/* A name without its slash, of which as much is kept as there is room for. */
static void take_name(struct text *text, char *ret_name)
{
	size_t size = 0;
	memset(ret_name, 0, PDF_LOCK_NAME);
	for (text->at++;
	     text->at < text->end && !pdf_is_space(*text->at) && !pdf_is_delimiter(*text->at);
	     text->at++) {
		const int value =
			*text->at == '#' && text->end - text->at > 2 ? hex_pair(text->at + 1) : -1;
		if (size < PDF_LOCK_NAME - 1)
			ret_name[size++] = (char)(value >= 0 ? value : *text->at);
		text->at += value >= 0 ? 2 : 0;
	}
}

static bool take_number(struct text *text, uint32_t *ret_number)
{
	const bool is_negative = peek(text) == '-';
	struct text at = *text;
	uint32_t number = 0;
	at.at += is_negative;
	if (at.at >= at.end || *at.at < '0' || *at.at > '9')
		return false;
	for (; at.at < at.end && ascii_is_digit(*at.at); at.at++)
		number = number * 10 + (*at.at - '0');
	*text = at;
	*ret_number = is_negative ? 0 - number : number;
	return true;
}

/* Into sealed->string. false: there is none, or no memory for it. */
static bool take_string(struct sealed *sealed, struct text *text)
{
	struct pdf_string string = { PDF_STRING_NONE, false, false, 0, 0, 0 };
	if (peek(text) == '(')
		string.mode = PDF_STRING_LITERAL;
	else if (peek(text) == '<' && text->end - text->at > 1 && text->at[1] != '<')
		string.mode = PDF_STRING_HEX;
	if (string.mode == PDF_STRING_NONE)
		return false;
	sealed->string_size = 0;
	for (text->at++; text->at < text->end && string.mode != PDF_STRING_NONE; text->at++) {
		if (!array_reserve(sealed->string, sealed->string_size + PDF_STRING_ADDED,
				   &sealed->string_room))
			return false;
		sealed->string_size +=
			pdf_string_take(&string, *text->at, sealed->string + sealed->string_size);
	}
	return true;
}

/* The number that ends before at, which goes to its begin. */
static uint32_t number_before(const uint8_t *begin, const uint8_t **at)
{
	uint32_t number = 0;
	uint32_t unit = 1;
	while (*at > begin && pdf_is_space((*at)[-1]))
		--*at;
	for (; *at > begin && ascii_is_digit((*at)[-1]); unit *= 10)
		number += unit * (uint32_t)(*--*at - '0');
	return number;
}

/* "12 0 obj". *text goes behind it. */
static bool take_begin(struct text *text, struct thing *ret_thing)
{
	const uint8_t *before = text->at;
	if (text->end - text->at < 3 || memcmp(text->at, "obj", 3) != 0 || before == text->begin ||
	    !(pdf_is_space(before[-1]) || ascii_is_digit(before[-1])))
		return false;
	memset(ret_thing, 0, sizeof(*ret_thing));
	ret_thing->generation = number_before(text->begin, &before);
	ret_thing->number = number_before(text->begin, &before);
	text->at += 3;
	return true;
}

/* ---- locks ---- */

static bool is_named(const char *name, const char *wanted)
{
	return strcmp(name, wanted) == 0;
}

static void take_bytes(struct sealed *sealed, struct text *text, uint8_t *ret_bytes, size_t room,
		       size_t *ret_size)
{
	if (!take_string(sealed, text))
		return;
	const size_t size = sealed->string_size < room ? sealed->string_size : room;
	if (size > 0)
		memcpy(ret_bytes, sealed->string, size);
	*ret_size = size;
}

static void take_method(struct pdf_lock *lock, const char *filter, const char *method)
{
	if (lock->filter_count == PDF_LOCK_FILTERS)
		return;
	struct pdf_lock_filter *into = &lock->filters[lock->filter_count++];
	memcpy(into->name, filter, sizeof(into->name));
	into->cipher = is_named(method, "V2")		 ? PDF_CIPHER_RC4
		       : is_named(method, "None")	 ? PDF_CIPHER_NONE
		       : strncmp(method, "AESV", 4) == 0 ? PDF_CIPHER_AES
							 : PDF_CIPHER_UNKNOWN;
}

static void add_id(struct sealed *sealed, struct text *text)
{
	struct id id = { .size = 0 };
	if (peek(text) == '[')
		text->at++;
	skip_comments(text);
	take_bytes(sealed, text, id.bytes, sizeof(id.bytes), &id.size);
	for (unsigned i = 0; i < sealed->id_count; i++) {
		if (memcmp(&sealed->ids[i], &id, sizeof(id)) == 0)
			return;
	}
	if (sealed->id_count < IDS)
		sealed->ids[sealed->id_count++] = id;
}

/* Of a key in a dictionary that may be a lock. */
static void take_value(struct sealed *sealed, struct pdf_lock *lock, const char *name,
		       struct text *text)
{
	uint32_t number = 0;
	size_t size = 0;
	const struct {
		const char *name;
		uint8_t *bytes;
		size_t room;
		size_t *size;
	} strings[] = { { "O", lock->owner, sizeof(lock->owner), &size },
			{ "U", lock->user, sizeof(lock->user), &lock->user_size },
			{ "UE", lock->user_key, sizeof(lock->user_key), &size } };
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		if (is_named(name, strings[i].name))
			take_bytes(sealed, text, strings[i].bytes, strings[i].room,
				   strings[i].size);
	}
	if (is_named(name, "ID"))
		add_id(sealed, text);
	if (is_named(name, "EncryptMetadata"))
		lock->has_plain_metadata = peek(text) == 'f';
	if (!take_number(text, &number))
		return;
	if (is_named(name, "V"))
		lock->version = number;
	else if (is_named(name, "R"))
		lock->revision = number;
	else if (is_named(name, "P"))
		lock->permissions = number;
	else if (is_named(name, "Length"))
		lock->bits = number;
}

/* Of a key whose value is a name, too. */
static void take_name_value(struct pdf_lock *lock, const char *name, const char *filter,
			    const struct text *text)
{
	struct text at = *text;
	char value[PDF_LOCK_NAME];
	if (peek(text) != '/')
		return;
	take_name(&at, value);
	char *into = is_named(name, "StmF")   ? lock->streams
		     : is_named(name, "StrF") ? lock->strings
		     : is_named(name, "EFF")  ? lock->files
					      : NULL;
	if (into != NULL)
		memcpy(into, value, sizeof(value));
	else if (is_named(name, "CFM"))
		take_method(lock, filter, value);
}

static bool is_same(const struct pdf_lock *one, const struct pdf_lock *other)
{
	return one->version == other->version && one->revision == other->revision &&
	       one->bits == other->bits && one->permissions == other->permissions &&
	       one->has_plain_metadata == other->has_plain_metadata &&
	       memcmp(one->owner, other->owner, sizeof(one->owner)) == 0 &&
	       memcmp(one->user, other->user, sizeof(one->user)) == 0 &&
	       memcmp(one->user_key, other->user_key, sizeof(one->user_key)) == 0 &&
	       memcmp(one->filters, other->filters, sizeof(one->filters)) == 0 &&
	       strcmp(one->streams, other->streams) == 0 &&
	       strcmp(one->strings, other->strings) == 0 && strcmp(one->files, other->files) == 0;
}

/* One that says what a lock says is one, when it opens. */
static void end_lock(struct sealed *sealed, struct pdf_lock *lock)
{
	static const struct pdf_lock none;
	const bool is_lock = lock->version > 0 && lock->revision > 0 && lock->user_size >= 32;
	bool is_known = false;
	for (unsigned i = 0; i < sealed->lock_count && is_lock; i++)
		is_known = is_known || is_same(&sealed->locks[i], lock);
	if (is_lock && !is_known && sealed->lock_count < LOCKS)
		sealed->locks[sealed->lock_count++] = *lock;
	else if (is_lock && !is_known)
		sealed->is_full = true;
	*lock = none;
}

static bool is_word(const struct text *text, const char *word)
{
	const size_t size = strlen(word);
	return (size_t)(text->end - text->at) >= size && memcmp(text->at, word, size) == 0;
}

static void find_locks(struct sealed *sealed, const uint8_t *bytes, size_t size)
{
	struct text text = { bytes, bytes, bytes + size };
	struct pdf_lock lock;
	struct thing thing;
	char name[PDF_LOCK_NAME] = "";
	char filter[PDF_LOCK_NAME] = "";
	memset(&lock, 0, sizeof(lock));
	while (text.at < text.end) {
		if (*text.at == '/') {
			take_name(&text, name);
			skip_comments(&text);
			if (is_word(&text, "<<"))
				memcpy(filter, name, sizeof(filter));
			take_name_value(&lock, name, filter, &text);
			take_value(sealed, &lock, name, &text);
		} else if (take_begin(&text, &thing) || is_word(&text, "endobj") ||
			   is_word(&text, "startxref")) {
			end_lock(sealed, &lock);
			text.at += text.at < text.end;
		} else {
			text.at++;
		}
	}
	end_lock(sealed, &lock);
}

/* In the data of a stream, behind what seems to be its end, may be what is read there when its length lies. */
static void find_all_locks(struct sealed *sealed)
{
	static const char word[] = "endstream";
	struct record record;
	for (size_t at = 0; next_record(sealed->unpack, &at, &record);) {
		const uint8_t *begin = record.bytes;
		const uint8_t *end = record.bytes + record.size;
		if (record.type != PDF_SEAL_IS_TEXT)
			begin = memmem(record.bytes, record.size, word, sizeof(word) - 1);
		if (begin != NULL)
			find_locks(sealed, begin, (size_t)(end - begin));
	}
}

/* The file may have no identifier. */
static bool open_lock(const struct sealed *sealed, struct pdf_lock *lock)
{
	bool is_open = pdf_lock_open(lock, sealed->ids[0].bytes, 0);
	for (unsigned i = 0; i < sealed->id_count && !is_open; i++)
		is_open = pdf_lock_open(lock, sealed->ids[i].bytes, sealed->ids[i].size);
	return is_open;
}

/* ---- what is encrypted ---- */

/* Of a stream its bytes, of a string its digits. */
static void give(struct sealed *sealed, const uint8_t *bytes, size_t size, bool is_string)
{
	static const char digits[] = "0123456789abcdef";
	if (!is_string) {
		unpack_pdf_push(sealed->unpack, bytes, size);
		return;
	}
	for (size_t i = 0; i < size; i++) {
		const uint8_t pair[] = { (uint8_t)digits[bytes[i] >> 4],
					 (uint8_t)digits[bytes[i] & 15] };
		unpack_pdf_push(sealed->unpack, pair, sizeof(pair));
	}
}

/* Behind the vector, without what fills the last block. 0: there is nothing. */
static size_t size_of_plain(const uint8_t *key, size_t key_size, const uint8_t *bytes, size_t size)
{
	uint8_t last[OFFICE_BLOCK];
	const size_t whole = size / OFFICE_BLOCK * OFFICE_BLOCK;
	if (whole < 2 * (size_t)OFFICE_BLOCK ||
	    !office_decrypt(OFFICE_CBC, key, key_size, bytes + whole - 2 * (size_t)OFFICE_BLOCK,
			    bytes + whole - OFFICE_BLOCK, OFFICE_BLOCK, last))
		return 0;
	const uint8_t filled = last[OFFICE_BLOCK - 1];
	return whole - OFFICE_BLOCK - (filled <= OFFICE_BLOCK ? filled : 0);
}

static void give_aes(struct sealed *sealed, const uint8_t *key, size_t key_size,
		     const uint8_t *bytes, size_t size, bool is_string)
{
	uint8_t plain[PIECE_SIZE];
	const size_t plain_size = size_of_plain(key, key_size, bytes, size);
	if (!is_string)
		unpack_pdf_set_length(sealed->unpack, plain_size);
	for (size_t at = 0; at < plain_size; at += PIECE_SIZE) {
		const size_t left = plain_size - at;
		const size_t part = left < PIECE_SIZE ? left : PIECE_SIZE;
		const size_t whole = (part + OFFICE_BLOCK - 1) / OFFICE_BLOCK * OFFICE_BLOCK;
		if (!office_decrypt(OFFICE_CBC, key, key_size, bytes + at,
				    bytes + at + OFFICE_BLOCK, whole, plain))
			return;
		give(sealed, plain, part, is_string);
	}
}

/* What RC4 has made is as before behind it, for another lock. */
static void give_rc4(struct sealed *sealed, const uint8_t *key, size_t key_size, uint8_t *bytes,
		     size_t size, bool is_string)
{
	if (!is_string)
		unpack_pdf_set_length(sealed->unpack, size);
	office_rc4(key, key_size, bytes, size);
	give(sealed, bytes, size, is_string);
	office_rc4(key, key_size, bytes, size);
}

static void give_decrypted(struct sealed *sealed, enum pdf_cipher cipher, uint8_t *bytes,
			   size_t size, bool is_string)
{
	const struct thing *thing = &sealed->thing;
	uint8_t key[PDF_LOCK_KEY];
	const size_t key_size =
		pdf_lock_key(sealed->lock, cipher, thing->number, thing->generation, key);
	sealed->has_unknown = sealed->has_unknown || cipher == PDF_CIPHER_UNKNOWN || key_size == 0;
	if (cipher == PDF_CIPHER_AES && key_size > 0)
		give_aes(sealed, key, key_size, bytes, size, is_string);
	else if (cipher == PDF_CIPHER_RC4 && key_size > 0)
		give_rc4(sealed, key, key_size, bytes, size, is_string);
}

/* ---- the second reading ---- */

static void take_string_value(struct sealed *sealed, struct text *text)
{
	const enum pdf_cipher cipher = pdf_lock_cipher(sealed->lock, sealed->lock->strings);
	const uint8_t *from = text->at;
	skip_comments(text);
	unpack_pdf_push(sealed->unpack, from, (size_t)(text->at - from));
	if (cipher == PDF_CIPHER_NONE || !take_string(sealed, text))
		return;
	unpack_pdf_push(sealed->unpack, (const uint8_t *)"<", 1);
	give_decrypted(sealed, cipher, sealed->string, sealed->string_size, true);
	unpack_pdf_push(sealed->unpack, (const uint8_t *)">", 1);
}

static void take_fact(struct thing *thing, const char *name, const struct text *text)
{
	struct text at = *text;
	thing->is_file = thing->is_file || is_named(name, "EmbeddedFile");
	thing->is_filtered = thing->is_filtered || is_named(name, "Crypt");
	skip_blanks(&at);
	if (is_named(name, "Name") && peek(&at) == '/')
		take_name(&at, thing->filter);
}

static void give_text(struct sealed *sealed, const struct record *record)
{
	struct text text = { record->bytes, record->bytes, record->bytes + record->size };
	char name[PDF_LOCK_NAME];
	while (text.at < text.end) {
		const uint8_t *from = text.at;
		bool has_value = false;
		if (*text.at == '/') {
			take_name(&text, name);
			take_fact(&sealed->thing, name, &text);
			has_value = is_named(name, "JS");
		} else if (take_begin(&text, &sealed->thing)) {
			has_value = true;
		} else {
			text.at++;
		}
		unpack_pdf_push(sealed->unpack, from, (size_t)(text.at - from));
		if (has_value)
			take_string_value(sealed, &text);
	}
}

/*
 * Its dictionary may say which crypt filter it has; that of all files is another one than that of other streams. What
 * is to be plain by its dictionary and does not look so is decrypted all the same: not all readers believe it.
 */
static enum pdf_cipher cipher_of(const struct thing *thing, const struct pdf_lock *lock)
{
	const char *const filters[] = { thing->is_filtered ? thing->filter : "",
					thing->is_file ? lock->files : "", lock->streams,
					lock->files };
	enum pdf_cipher cipher = PDF_CIPHER_NONE;
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		if (cipher == PDF_CIPHER_NONE)
			cipher = pdf_lock_cipher(lock, filters[i]);
	}
	return cipher;
}

static void give_stream(struct sealed *sealed, const struct record *record)
{
	const enum pdf_cipher cipher = cipher_of(&sealed->thing, sealed->lock);
	/* It counted as a member when it was read the first time. */
	if (sealed->lock == &sealed->locks[0])
		sealed->unpack->budget->members_left++;
	unpack_pdf_push(sealed->unpack, (const uint8_t *)"\n", 1);
	if (cipher != PDF_CIPHER_NONE)
		give_decrypted(sealed, cipher, record->bytes, record->size, false);
}

static void give_all(struct sealed *sealed)
{
	struct record record;
	unpack_pdf_begin_opened(sealed->unpack);
	memset(&sealed->thing, 0, sizeof(sealed->thing));
	for (size_t at = 0;
	     next_record(sealed->unpack, &at, &record) && !sealed->unpack->is_over;) {
		if (record.type == PDF_SEAL_IS_TEXT)
			give_text(sealed, &record);
		else
			give_stream(sealed, &record);
	}
	unpack_pdf_end(sealed->unpack);
}

/* Is a stream not in the copy that was to be, as it was encrypted if it was as the lock says? */
static bool is_passed(const struct pdf_lock *lock, unsigned facts)
{
	const bool is_locked = pdf_lock_cipher(lock, lock->streams) != PDF_CIPHER_NONE;
	const bool has_plain = lock->has_plain_metadata && lock->version >= 4;
	return (is_locked && (facts & PDF_SEAL_STREAM) != 0) ||
	       (is_locked && (facts & PDF_SEAL_METADATA) != 0 && !has_plain) ||
	       ((is_locked || pdf_lock_cipher(lock, lock->files) != PDF_CIPHER_NONE) &&
		(facts & PDF_SEAL_FILE) != 0);
}

static void open_all(struct sealed *sealed, unsigned facts)
{
	bool is_open = false;
	bool has_passed = false;
	find_all_locks(sealed);
	for (unsigned i = 0; i < sealed->lock_count && !sealed->unpack->is_over; i++) {
		sealed->lock = &sealed->locks[i];
		if (!open_lock(sealed, sealed->lock))
			continue;
		is_open = true;
		has_passed = has_passed || is_passed(sealed->lock, facts);
		give_all(sealed);
	}
	if (!is_open || has_passed || sealed->is_full || sealed->has_unknown)
		unpack_tell_of(sealed->unpack, UNPACK_ENCRYPTED, "");
	free(sealed->string);
}

/* ---- the copy ---- */

void unpack_sealed_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct sealed_state *state = unpack->state;
	if (size == 0)
		return;
	state->last = bytes[size - 1];
	state->is_lost = state->is_lost || !unpack_keep(unpack, bytes, size);
}

/* What is not encrypted has been read, whatever there was no room for. */
void unpack_sealed_end(struct unpack *unpack)
{
	const struct sealed_state *state = unpack->state;
	struct sealed sealed;
	const unsigned facts = state->last;
	if (unpack->is_silent || unpack->is_over || (facts & PDF_SEAL_ENCRYPTED) == 0)
		return;
	if (state->is_lost || unpack->spool_size == 0) {
		unpack_tell_of(unpack, UNPACK_ENCRYPTED, "");
		return;
	}
	memset(&sealed, 0, sizeof(sealed));
	sealed.unpack = unpack;
	unpack->in = unpack->spool_size;
	/* The budget has what was kept, and free_spool() gives that back. */
	const size_t kept = unpack->spool_size;
	unpack->spool_size = join(unpack->spool, kept - 1);
	open_all(&sealed, facts);
	unpack->spool_size = kept;
}
