/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/content/kind.h"

#include "lib/content/little.h"
#include "lib/content/tarhead.h"
#include "lib/format/ascii.h"
#include "lib/format/bytes.h"
#include "lib/format/hex.h"

#include <stdbool.h>
#include <string.h>

/* ---- by bytes at a place ---- */

struct mark {
	enum content_kind kind;
	unsigned offset;
	unsigned size;
	const char *bytes;
};

#define MARK(kind, offset, text)                                                                   \
	{                                                                                          \
		kind, offset, sizeof(text) - 1, text                                               \
	}

/* Those that cannot be anything else. What wants a closer look is in takes below. */
static const struct mark marks[] = {
	MARK(CONTENT_PE, 0, "MZ"),
	MARK(CONTENT_ELF, 0, "\177ELF"),
	MARK(CONTENT_MACHO, 0, "\xfe\xed\xfa\xce"),
	MARK(CONTENT_MACHO, 0, "\xfe\xed\xfa\xcf"),
	MARK(CONTENT_MACHO, 0, "\xce\xfa\xed\xfe"),
	MARK(CONTENT_MACHO, 0, "\xcf\xfa\xed\xfe"),
	MARK(CONTENT_OLE, 0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
	MARK(CONTENT_PDF, 0, "%PDF-"),
	MARK(CONTENT_RTF, 0, "{\\rt"),
	MARK(CONTENT_GRAPHICS, 0, "GIF8"),
	MARK(CONTENT_GRAPHICS, 0, "\x89PNG\r\n\x1a\n"),
	MARK(CONTENT_GRAPHICS, 0, "\xff\xd8\xff"),
	MARK(CONTENT_GRAPHICS, 0, "II*\0"),
	MARK(CONTENT_GRAPHICS, 0, "MM\0*"),
	MARK(CONTENT_GRAPHICS, 0, "\0\0\0\x0cjP  "),
	MARK(CONTENT_GRAPHICS, 0, "8BPS\0\1"),
	MARK(CONTENT_GRAPHICS, 8, "WEBPVP8"),
	MARK(CONTENT_TNEF, 0, "\x78\x9f\x3e\x22"),
	MARK(CONTENT_GZIP, 0, "\x1f\x8b\x08"),
	MARK(CONTENT_XZ, 0,
	     "\xfd"
	     "7zXZ\0"),
	MARK(CONTENT_LZIP, 0, "LZIP\0"),
	MARK(CONTENT_LZIP, 0, "LZIP\1"),
	MARK(CONTENT_ZSTD, 0, "\x28\xb5\x2f\xfd"),
	MARK(CONTENT_LZ4, 0, "\x04\x22\x4d\x18"),
	MARK(CONTENT_LZ4, 0, "\x02\x21\x4c\x18"), /* of the kernel's tools */
	MARK(CONTENT_LZOP, 0, "\x89LZO\0\r\n\x1a\n"),
	MARK(CONTENT_ZIP, 0, "PK\3\4"),
	MARK(CONTENT_ZIP, 0, "PK\5\6"),	       /* without members */
	MARK(CONTENT_ZIP, 0, "PK\7\10PK\3\4"), /* of several volumes */
	MARK(CONTENT_ZIP, 0, "PK00PK\3\4"),    /* of one, made for several */
	MARK(CONTENT_CPIO, 0, "070701"),
	MARK(CONTENT_CPIO, 0, "070702"),
	MARK(CONTENT_CPIO, 0, "070707"),
	MARK(CONTENT_AR, 0, "!<arch>\n"),
	MARK(CONTENT_CAB, 0, "MSCF\0\0\0\0"),
	MARK(CONTENT_RAR, 0, "Rar!\x1a\7\0"),
	MARK(CONTENT_RAR, 0, "Rar!\x1a\7\1\0"),
	MARK(CONTENT_7Z, 0, "7z\xbc\xaf\x27\x1c"),
	MARK(CONTENT_XAR, 0, "xar!"),
	MARK(CONTENT_LZFU, 8, "LZFu"),
	MARK(CONTENT_LZFU, 8, "MELA"),
	MARK(CONTENT_ONENOTE, 0,
	     "\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3"),
	MARK(CONTENT_MSO, 0, "ActiveMime\0\0"),
	MARK(CONTENT_CHM, 0, "ITSF\2\0\0\0"),
	MARK(CONTENT_CHM, 0, "ITSF\3\0\0\0"),
};

static bool has(const uint8_t *head, size_t size, size_t offset, const char *mark, size_t mark_size)
{
	return size >= offset + mark_size && memcmp(head + offset, mark, mark_size) == 0;
}

/* ---- by a closer look, each at a mark that other files may have by chance ---- */

/* Mach-O's for several processors counts them where a class has its version, which is 45 or more. */
static enum content_kind take_cafebabe(const uint8_t *head, size_t size)
{
	if (size < 8 || bytes_get(head, 4) != 0xcafebabe)
		return CONTENT_OTHER;
	return bytes_get(head + 4, 4) < 40 ? CONTENT_MACHO : CONTENT_JAVA;
}

static enum content_kind take_flash(const uint8_t *head, size_t size)
{
	const bool is_it = size >= 8 && strchr("FCZ", head[0]) != NULL && head[0] != '\0' &&
			   memcmp(head + 1, "WS", 2) == 0 && head[3] > 0 && head[3] < 0x40;
	return is_it ? CONTENT_SWF : CONTENT_OTHER;
}

static enum content_kind take_bitmap(const uint8_t *head, size_t size)
{
	const bool is_it = size >= 18 && memcmp(head, "BM", 2) == 0 &&
			   little_get32(head + 6) == 0 && little_get32(head + 14) >= 12 &&
			   little_get32(head + 14) <= 124;
	return is_it ? CONTENT_GRAPHICS : CONTENT_OTHER;
}

/* A block's mark, pi, or the end's, its root: behind "BZh" and how large blocks are. */
static enum content_kind take_bzip2(const uint8_t *head, size_t size)
{
	if (size < 4 || memcmp(head, "BZh", 3) != 0 || head[3] < '1' || head[3] > '9')
		return CONTENT_OTHER;
	const bool is_it = size < 10 || has(head, size, 4, "\x31\x41\x59\x26\x53\x59", 6) ||
			   has(head, size, 4, "\x17\x72\x45\x38\x50\x90", 6);
	return is_it ? CONTENT_BZIP2 : CONTENT_OTHER;
}

/* Of compress(1), 9 to 16 bits. */
static enum content_kind take_compress(const uint8_t *head, size_t size)
{
	const bool is_it = size >= 3 && head[0] == 0x1f && head[1] == 0x9d &&
			   (head[2] & 0x1f) >= 9 && (head[2] & 0x1f) <= 16;
	return is_it ? CONTENT_COMPRESS : CONTENT_OTHER;
}

/* Frames to skip, which Zstandard (RFC 8878 3.1.2) and LZ4 share: what is behind the first says. */
static enum content_kind take_skippable(const uint8_t *head, size_t size)
{
	if (size < 8 || (little_get32(head) & 0xfffffff0) != 0x184d2a50)
		return CONTENT_OTHER;
	const uint64_t behind = 8 + (uint64_t)little_get32(head + 4);
	return behind < size && has(head, size, (size_t)behind, "\x04\x22\x4d\x18", 4)
		       ? CONTENT_LZ4
		       : CONTENT_ZSTD;
}

/*
 * LZMA alone has no mark. As liblzma guesses it: a dictionary of 2^n or
 * 2^n + 2^(n-1) bytes, and a size that is unknown or below 256 GiB; the first byte of the range
 * coder is 0.
 */
static enum content_kind take_lzma(const uint8_t *head, size_t size)
{
	if (size < 18 || head[0] >= 225 || head[13] != 0)
		return CONTENT_OTHER;
	const uint32_t dictionary = little_get32(head + 1);
	const uint64_t whole = little_get64(head + 5);
	uint32_t rounded = dictionary - 1;
	for (unsigned shift = 2; shift <= 16; shift *= 2)
		rounded |= rounded >> shift;
	rounded |= (dictionary - 1) >> 3;
	const bool is_power = dictionary == UINT32_MAX ||
			      (dictionary >= 4096 &&
			       (rounded + 1 == dictionary || (dictionary & (dictionary - 1)) == 0));
	const bool is_size = whole == UINT64_MAX || whole < (uint64_t)1 << 38;
	return is_power && is_size ? CONTENT_LZMA : CONTENT_OTHER;
}

/* A header of PAX needs no name. */
static enum content_kind take_tar(const uint8_t *head, size_t size)
{
	return size >= TARHEAD_SIZE && tarhead_is_right(head) ? CONTENT_TAR : CONTENT_OTHER;
}

/* The old binary form, of either end: a name's size at 20, and the type of the file at 6. */
static enum content_kind take_old_cpio(const uint8_t *head, size_t size)
{
	if (size < 26)
		return CONTENT_OTHER;
	const bool is_little = little_get16(head) == 070707;
	if (!is_little && bytes_get16(head) != 070707)
		return CONTENT_OTHER;
	const uint32_t mode = is_little ? little_get16(head + 6) : bytes_get16(head + 6);
	const uint32_t name_size = is_little ? little_get16(head + 20) : bytes_get16(head + 20);
	/* The entry at the end has neither a type nor a mode. */
	const bool is_it =
		name_size > 1 && name_size <= 4096 && (mode == 0 || (mode & 0170000) != 0);
	return is_it ? CONTENT_CPIO : CONTENT_OTHER;
}

bool content_is_cab(const uint8_t *head)
{
	return little_get32(head + 16) < little_get32(head + 8) &&
	       little_get16(head + 24) == 0x103 && little_get16(head + 26) > 0 &&
	       little_get16(head + 28) > 0;
}

static enum content_kind take_cab(const uint8_t *head, size_t size)
{
	const bool is_it = has(head, size, 0, "MSCF", 4) && size >= 36 && content_is_cab(head);
	return is_it ? CONTENT_CAB : CONTENT_OTHER;
}

/* "-lh5-" and the like, with the level of the header at 20. */
static enum content_kind take_lha(const uint8_t *head, size_t size)
{
	if (size < 21 || head[2] != '-' || head[6] != '-' || head[20] > 3)
		return CONTENT_OTHER;
	const bool is_it = memcmp(head + 3, "lh", 2) == 0 || memcmp(head + 3, "lz", 2) == 0 ||
			   memcmp(head + 3, "pm", 2) == 0;
	return is_it ? CONTENT_LHA : CONTENT_OTHER;
}

/* The size of the first header, and its type, which is a comment's. */
static enum content_kind take_arj(const uint8_t *head, size_t size)
{
	if (size < 11 || head[0] != 0x60 || head[1] != 0xea)
		return CONTENT_OTHER;
	const uint32_t header_size = little_get16(head + 2);
	const bool is_it = header_size >= 30 && header_size <= 2600 && head[10] == 2;
	return is_it ? CONTENT_ARJ : CONTENT_OTHER;
}

/* The place behind a length of BER, in any form. */
static size_t skip_length(const uint8_t *head, size_t size, size_t at)
{
	return at < size && head[at] >= 0x80 ? at + 1 + (head[at] & 0x7f) : at + 1;
}

/*
 * A SEQUENCE that begins with a type of PKCS #7, from signedData to encryptedData (RFC 5652), or with one that S/MIME
 * has besides: authData, compressedData, authEnvelopedData.
 */
static enum content_kind take_cms(const uint8_t *head, size_t size)
{
	static const char pkcs[] = "\x2a\x86\x48\x86\xf7\x0d\x01\x07";
	static const char smime[] = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01";
	static const uint8_t smime_types[] = { 0x02, 0x09, 0x17 };
	if (size < 2 || head[0] != 0x30)
		return CONTENT_OTHER;
	size_t at = skip_length(head, size, 1);
	if (at >= size || head[at] != 0x06)
		return CONTENT_OTHER;
	at = skip_length(head, size, at + 1);
	const size_t last = at + (has(head, size, at, pkcs, 8) ? 8 : 10);
	const bool is_smime = has(head, size, at, smime, 10) && last < size &&
			      memchr(smime_types, head[last], sizeof(smime_types)) != NULL;
	const bool is_pkcs =
		has(head, size, at, pkcs, 8) && last < size && head[last] >= 2 && head[last] <= 6;
	return is_pkcs || is_smime ? CONTENT_CMS : CONTENT_OTHER;
}

/*
 * RFC 1950 2.2, as zlib writes it: deflate, a window of 32 KiB, without a dictionary, FCHECK right;
 * then the first block of RFC 1951 is of a type that there is, and a stored one's size is there
 * twice.
 */
static enum content_kind take_zlib(const uint8_t *head, size_t size)
{
	if (size < 8 || head[0] != 0x78 || bytes_get16(head) % 31 != 0 || (head[1] & 0x20) != 0)
		return CONTENT_OTHER;
	const unsigned type = head[2] >> 1 & 3;
	const bool is_it =
		type == 0 ? (little_get16(head + 3) ^ little_get16(head + 5)) == 0xffff : type != 3;
	return is_it ? CONTENT_ZLIB : CONTENT_OTHER;
}

typedef enum content_kind take_fn(const uint8_t *head, size_t size);

/* From the surest to the weakest. */
static take_fn *const takes[] = {
	take_cafebabe,	take_flash, take_bitmap, take_bzip2, take_compress,
	take_skippable, take_cms,   take_tar,	 take_cab,   take_lha,
	take_old_cpio,	take_arj,   take_lzma,
};

/* ---- text, and what is made of it ---- */

/* As far as a search goes: lower case, and UTF-16 by its low bytes. */
struct narrow {
	const uint8_t *bytes; /* of text, as they are; UTF-16 has none */
	size_t size;
	bool is_text;
	bool is_wide;
	char text[CONTENT_HEAD_SIZE];
};

/* What file(1) and ClamAV take for text: all but NUL and most controls. */
static bool is_text_byte(uint8_t byte)
{
	return byte >= 0x20 ? byte != 0x7f
			    : byte == '\t' || byte == '\n' || byte == '\r' || byte == '\a' ||
				      byte == '\b' || byte == '\f' || byte == 0x1b;
}

static void narrow_bytes(const uint8_t *head, size_t size, struct narrow *ret_narrow)
{
	const bool has_mark = has(head, size, 0, "\xef\xbb\xbf", 3);
	ret_narrow->is_text = size > 0;
	ret_narrow->bytes = has_mark ? head + 3 : head;
	for (size_t i = has_mark ? 3 : 0; i < size; i++) {
		ret_narrow->is_text = ret_narrow->is_text && is_text_byte(head[i]);
		ret_narrow->text[ret_narrow->size++] = (char)ascii_lower(head[i]);
	}
}

/* UTF-16 with its mark. Characters beyond Latin are text and are not searched for. */
static void narrow_words(const uint8_t *head, size_t size, struct narrow *ret_narrow)
{
	const bool is_little = head[0] == 0xff;
	ret_narrow->is_wide = true;
	ret_narrow->is_text = true;
	for (size_t i = 2; i + 1 < size; i += 2) {
		const uint32_t word = is_little ? little_get16(head + i) : bytes_get16(head + i);
		const uint8_t byte = word < 0x100 ? (uint8_t)word : 0x80;
		ret_narrow->is_text = ret_narrow->is_text && is_text_byte(byte);
		ret_narrow->text[ret_narrow->size++] = (char)ascii_lower(byte);
	}
}

/* Field names that mails have, mostly ClamAV's. */
static const char *const field_names[] = {
	"received",
	"return-path",
	"date",
	"message-id",
	"mime-version",
	"content-type",
	"from",
	"to",
	"cc",
	"subject",
	"reply-to",
	"sender",
	"delivered-to",
	"delivery-date",
	"envelope-to",
	"x-original-to",
	"x-envelope-to",
	"x-envelope-from",
	"x-apparently-to",
	"x-real-to",
	"x-sieve",
	"x-uidl",
	"x-mozilla-status",
	"x-evs",
	"x-mailer",
	"x-account-key",
	"dkim-signature",
	"arc-seal",
	"received-spf",
	"resent-from",
	"list-id",
	"authentication-results",
	"x-google-smtp-source",
	"status",
	"in-reply-to",
	"content-transfer-encoding",
	"for",
};

static bool begins_with(const struct narrow *narrow, size_t at, const char *word)
{
	const size_t word_size = strlen(word);
	return narrow->size - at >= word_size && memcmp(narrow->text + at, word, word_size) == 0;
}

static bool is_known_field(const struct narrow *narrow, size_t at)
{
	for (size_t i = 0; i < sizeof(field_names) / sizeof(field_names[0]); i++) {
		const size_t behind = at + strlen(field_names[i]);
		if (begins_with(narrow, at, field_names[i]) && behind < narrow->size &&
		    narrow->text[behind] == ':')
			return true;
	}
	return false;
}

/* Behind the field at *at, whatever its name, and the lines that go on with it. */
static bool skip_field(const struct narrow *narrow, size_t *at)
{
	size_t next = *at;
	while (next < narrow->size && narrow->text[next] > ' ' && narrow->text[next] < 0x7f &&
	       narrow->text[next] != ':')
		next++;
	const bool has_name = next > *at;
	while (next < narrow->size && (narrow->text[next] == ' ' || narrow->text[next] == '\t'))
		next++;
	if (!has_name || next == narrow->size || narrow->text[next] != ':')
		return false;
	do {
		while (next < narrow->size && narrow->text[next] != '\n')
			next++;
		next += next < narrow->size;
	} while (next < narrow->size && (narrow->text[next] == ' ' || narrow->text[next] == '\t'));
	*at = next;
	return true;
}

/*
 * What does not begin with fields is a mail when two of them are there, each on a line of its own: clients pass a
 * first line that is none, and controls. A text that cites a mail has none of MIME.
 */
static bool has_two_fields(const struct narrow *narrow)
{
	bool has_mime = !narrow->is_text;
	unsigned count = 0;
	for (size_t at = 0; at < narrow->size; at++) {
		if ((at > 0 && narrow->text[at - 1] != '\n') || !is_known_field(narrow, at))
			continue;
		count++;
		has_mime = has_mime || begins_with(narrow, at, "content-") ||
			   begins_with(narrow, at, "mime-");
	}
	return has_mime && count >= 2;
}

static size_t skip_lines(const struct narrow *narrow)
{
	size_t at = 0;
	while (at < narrow->size && (narrow->text[at] == '\r' || narrow->text[at] == '\n'))
		at++;
	return at;
}

/* A first field may be longer than the head, and those that are known come behind it. */
static bool is_only_fields(const struct narrow *narrow)
{
	size_t at = skip_lines(narrow);
	while (at < narrow->size) {
		if (!skip_field(narrow, &at))
			return false;
	}
	return true;
}

/* Clients do not mind which field is the first: that of a draft of Outlook is "X-Unsent". */
static bool is_mail_at(const struct narrow *narrow, size_t at)
{
	/* Programs begin with "from ", too. */
	if (has(narrow->bytes, narrow->size, at, "From ", 5) ||
	    has(narrow->bytes, narrow->size, at, ">From ", 6))
		return true;
	do {
		if (is_known_field(narrow, at))
			return true;
	} while (skip_field(narrow, &at));
	return false;
}

static bool is_any_mail(const struct narrow *narrow)
{
	return !narrow->is_wide && ((narrow->is_text && is_mail_at(narrow, skip_lines(narrow))) ||
				    has_two_fields(narrow));
}

/* Apple Mail has how many bytes a mail has in a line before it, and blanks behind the number. */
static bool is_counted_mail(const struct narrow *narrow)
{
	size_t at = 0;
	while (at < narrow->size && narrow->text[at] >= '0' && narrow->text[at] <= '9')
		at++;
	const size_t digits = at;
	while (at < narrow->size && narrow->text[at] == ' ')
		at++;
	return narrow->is_text && !narrow->is_wide && digits > 0 && at > digits &&
	       at < narrow->size && narrow->text[at] == '\n' && is_mail_at(narrow, at + 1);
}

/* Their lines look like fields, and some are called as those of mails are. */
static bool is_calendar(const struct narrow *narrow)
{
	return begins_with(narrow, skip_lines(narrow), "begin:v");
}

/* What stands in a page, anywhere in its head: readers of mail look no further either. */
static const char *const html_words[] = {
	"<html",  "<!doctype html", "<head>", "<body",	  "<script", "<iframe", "<title>",
	"<meta ", "<table",	    "<img ",  "<object ", "<embed ", "<form ",	"<style",
	"<font ", "<a href",	    "<br>",   "<p>",	  "<div",    "<svg",
};

static bool is_html(const struct narrow *narrow)
{
	for (size_t at = 0; at < narrow->size; at++) {
		if (narrow->text[at] != '<')
			continue;
		for (size_t i = 0; i < sizeof(html_words) / sizeof(html_words[0]); i++) {
			if (begins_with(narrow, at, html_words[i]))
				return true;
		}
	}
	return false;
}

/* Readers of PDF look for its mark in the first KiB, whatever version follows, or for the one that it had before. */
static bool is_late_pdf(const struct narrow *narrow)
{
	static const char old[] = "%!ps-adobe-3.0";
	for (size_t at = 0; at < narrow->size; at++) {
		if (narrow->text[at] != '%')
			continue;
		if (begins_with(narrow, at, "%pdf-") ||
		    (begins_with(narrow, at, "%!ps-adobe-") && narrow->size - at > sizeof(old) &&
		     begins_with(narrow, at + sizeof(old) - 1, " pdf-")))
			return true;
	}
	return false;
}

static void narrow_head(const uint8_t *head, size_t size, struct narrow *ret_narrow)
{
	*ret_narrow = (struct narrow){ 0 };
	if (has(head, size, 0, "\xff\xfe", 2) || has(head, size, 0, "\xfe\xff", 2))
		narrow_words(head, size, ret_narrow);
	else
		narrow_bytes(head, size, ret_narrow);
}

/*
 * The translations of a program (gettext's .mo): their mark, of either end, and a version. The first of them has
 * fields, of MIME as well.
 */
static bool is_catalog(const uint8_t *head, size_t size)
{
	if (size < 28)
		return false;
	const bool is_little = little_get32(head) == 0x950412de;
	const uint64_t version = is_little ? little_get32(head + 4) : bytes_get(head + 4, 4);
	return (is_little || bytes_get(head, 4) == 0x950412de) && version >> 16 <= 1 &&
	       (version & 0xffff) <= 1;
}

static enum content_kind take_text(const uint8_t *head, size_t size)
{
	struct narrow narrow;
	narrow_head(head, size, &narrow);
	if (is_any_mail(&narrow) && !is_catalog(head, size) && !is_calendar(&narrow))
		return CONTENT_MAIL;
	/* Of eight bits, and a text all the same (lib/mstream/yenc.h). */
	if (begins_with(&narrow, 0, "=ybegin "))
		return CONTENT_TEXT;
	if (!narrow.is_wide && is_late_pdf(&narrow))
		return CONTENT_PDF;
	/* Browsers pass controls, and those that are NULs. */
	if (is_html(&narrow))
		return CONTENT_HTML;
	return narrow.is_text ? CONTENT_TEXT : CONTENT_OTHER;
}

enum content_kind content_kind(const uint8_t *head, size_t size)
{
	if (size > CONTENT_HEAD_SIZE)
		size = CONTENT_HEAD_SIZE;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (has(head, size, marks[i].offset, marks[i].bytes, marks[i].size))
			return marks[i].kind;
	}
	for (size_t i = 0; i < sizeof(takes) / sizeof(takes[0]); i++) {
		const enum content_kind kind = takes[i](head, size);
		if (kind != CONTENT_OTHER)
			return kind;
	}
	/* "x^" begins texts, too. */
	const bool is_maybe_text = size >= 2 && head[1] == '^';
	if (!is_maybe_text && take_zlib(head, size) != CONTENT_OTHER)
		return CONTENT_ZLIB;
	const enum content_kind kind = take_text(head, size);
	return kind == CONTENT_OTHER ? take_zlib(head, size) : kind;
}

/* Marks of few bytes, with which a text may begin, too. */
static bool is_marked(enum content_kind kind)
{
	return (kind >= CONTENT_PE && kind <= CONTENT_TNEF) || kind == CONTENT_CPIO ||
	       kind == CONTENT_COMPRESS || kind == CONTENT_CMS;
}

/* Is the sum of a header, of level 0 or 1, right? Its size is the first byte. */
static bool has_lha_sum(const uint8_t *head, size_t size)
{
	uint8_t sum = 0;
	if (take_lha(head, size) == CONTENT_OTHER || head[20] > 1 || size < 2 + (size_t)head[0])
		return false;
	for (size_t i = 0; i < head[0]; i++)
		sum = (uint8_t)(sum + head[2 + i]);
	return sum == head[1];
}

enum content_kind content_archive_besides(enum content_kind kind, const uint8_t *head, size_t size)
{
	if (kind != CONTENT_TAR && take_tar(head, size) == CONTENT_TAR)
		return CONTENT_TAR;
	return kind != CONTENT_LHA && has_lha_sum(head, size) ? CONTENT_LHA : CONTENT_OTHER;
}

enum content_kind content_kind_besides(enum content_kind kind, const uint8_t *head, size_t size)
{
	struct narrow narrow;
	if (size > CONTENT_HEAD_SIZE)
		size = CONTENT_HEAD_SIZE;
	if (kind > CONTENT_HTML && !is_marked(kind))
		return CONTENT_OTHER;
	narrow_head(head, size, &narrow);
	/* The names of archives' members end in a NUL, so that their heads are no texts. */
	const bool is_read = (is_marked(kind) && (kind <= CONTENT_TNEF || narrow.is_text)) ||
			     is_catalog(head, size) || is_calendar(&narrow);
	if (is_read && is_any_mail(&narrow))
		return CONTENT_MAIL;
	if (is_counted_mail(&narrow))
		return CONTENT_MAIL;
	if (size == CONTENT_HEAD_SIZE && !narrow.is_wide && is_only_fields(&narrow))
		return CONTENT_MAIL;
	return is_marked(kind) && is_html(&narrow) ? CONTENT_HTML : CONTENT_OTHER;
}

/*
 * cpio in ASCII: numbers of 8 digits behind the mark, of base 16, or, in the older form, of 6 and 11, of base 8. One or
 * another may be none, as readers do not look at all of them.
 */
static bool has_cpio_digits(const uint8_t *head, size_t size)
{
	const bool is_old = has(head, size, 0, "070707", 6);
	const size_t end = is_old ? 76 : 110;
	size_t count = 0;
	if (size < end || memcmp(head, "0707", 4) != 0)
		return false;
	for (size_t i = 6; i < end; i++) {
		const int digit = hex_value((char)head[i]);
		count += digit >= 0 && (digit < 8 || !is_old);
	}
	return count >= (end - 6) * 3 / 4;
}

bool content_is_sure(enum content_kind kind, const uint8_t *head, size_t size)
{
	return (kind == CONTENT_LHA && has_lha_sum(head, size)) ||
	       (kind == CONTENT_CPIO && has_cpio_digits(head, size));
}

bool content_may_have_files(enum content_kind kind, const uint8_t *head, size_t size)
{
	struct narrow narrow;
	if (kind <= CONTENT_HTML)
		return true;
	if (kind != CONTENT_PE && kind != CONTENT_GRAPHICS && kind != CONTENT_SWF)
		return false;
	narrow_head(head, size < CONTENT_HEAD_SIZE ? size : CONTENT_HEAD_SIZE, &narrow);
	/* As a page or a mail it is an object beside. */
	return narrow.is_text && !is_any_mail(&narrow) && !is_html(&narrow);
}

const char *content_kind_name(enum content_kind kind)
{
	static const char *const names[CONTENT_KIND_COUNT] = {
		[CONTENT_OTHER] = "other",
		[CONTENT_TEXT] = "text",
		[CONTENT_HTML] = "html",
		[CONTENT_MAIL] = "mail",
		[CONTENT_PE] = "pe",
		[CONTENT_ELF] = "elf",
		[CONTENT_MACHO] = "mach-o",
		[CONTENT_OLE] = "ole",
		[CONTENT_PDF] = "pdf",
		[CONTENT_RTF] = "rtf",
		[CONTENT_GRAPHICS] = "graphics",
		[CONTENT_JAVA] = "java",
		[CONTENT_SWF] = "swf",
		[CONTENT_TNEF] = "tnef",
		[CONTENT_GZIP] = "gzip",
		[CONTENT_ZLIB] = "zlib",
		[CONTENT_BZIP2] = "bzip2",
		[CONTENT_XZ] = "xz",
		[CONTENT_LZMA] = "lzma",
		[CONTENT_LZIP] = "lzip",
		[CONTENT_ZSTD] = "zstd",
		[CONTENT_COMPRESS] = "compress",
		[CONTENT_LZ4] = "lz4",
		[CONTENT_LZOP] = "lzop",
		[CONTENT_ZIP] = "zip",
		[CONTENT_TAR] = "tar",
		[CONTENT_CPIO] = "cpio",
		[CONTENT_AR] = "ar",
		[CONTENT_CAB] = "cab",
		[CONTENT_LHA] = "lha",
		[CONTENT_ARJ] = "arj",
		[CONTENT_RAR] = "rar",
		[CONTENT_7Z] = "7z",
		[CONTENT_ISO9660] = "iso9660",
		[CONTENT_XAR] = "xar",
		[CONTENT_LZFU] = "lzfu",
		[CONTENT_CMS] = "cms",
		[CONTENT_ONENOTE] = "onenote",
		[CONTENT_MSO] = "mso",
		[CONTENT_CHM] = "chm",
		[CONTENT_PDF_SEALED] = "sealed pdf",
	};
	return (unsigned)kind < CONTENT_KIND_COUNT ? names[kind] : "other";
}
