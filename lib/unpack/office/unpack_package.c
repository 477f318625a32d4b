/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/office/unpack_package.h"

#include <string.h>

#include "lib/content/little.h"
#include "lib/format/hex.h"

#define STANDARD_ROUNDS 50000
#define PURPOSE_SIZE	8
#define INFO_HEAD	8   /* 2 major and 2 minor version, 4 more: then XML, or bytes */
#define VALUE_MAX	160 /* characters of an attribute: of a hash in base64, and blanks */

struct text {
	const char *at;
	size_t size;
};

/* ---- XML ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_text(struct text text, const char *other)
{
	return text.size == strlen(other) && memcmp(text.at, other, text.size) == 0;
}

static struct text behind(struct text text, size_t size)
{
	return (struct text){ text.at + size, text.size - size };
}

/* Up to the first such character that is in no quotes, or all. */
static size_t find_plain(struct text text, const char *characters)
{
	char quote = '\0';
	size_t at = 0;
	for (; at < text.size; at++) {
		const char c = text.at[at];
		if (quote != '\0')
			quote = c == quote ? '\0' : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c != '\0' && strchr(characters, c) != NULL)
			break;
	}
	return at;
}

/* The next tag: what is between its brackets. Behind it is what *text has afterwards. */
static bool next_tag(struct text *text, struct text *ret_tag)
{
	while (text->size > 0) {
		const char *open = memchr(text->at, '<', text->size);
		if (open == NULL)
			return false;
		*text = behind(*text, (size_t)(open - text->at) + 1);
		if (text->size >= 3 && memcmp(text->at, "!--", 3) == 0) {
			*text = behind(*text, 3);
			const char *end = memmem(text->at, text->size, "-->", 3);
			*text = behind(*text, end != NULL ? (size_t)(end - text->at) : text->size);
			continue;
		}
		*ret_tag = (struct text){ text->at, find_plain(*text, ">") };
		*text = behind(*text, ret_tag->size);
		return true;
	}
	return false;
}

/* Without what stands before a colon. */
static bool is_tag(struct text tag, const char *name)
{
	struct text own = { tag.at, find_plain(tag, " \t\r\n/") };
	const char *colon = memchr(own.at, ':', own.size);
	return is_text(colon != NULL ? behind(own, (size_t)(colon - own.at) + 1) : own, name);
}

static struct text trim(struct text text)
{
	while (text.size > 0 && is_blank(text.at[0]))
		text = behind(text, 1);
	while (text.size > 0 && is_blank(text.at[text.size - 1]))
		text.size--;
	return text;
}

static bool get_attribute(struct text tag, const char *name, struct text *ret_value)
{
	tag = behind(tag, find_plain(tag, " \t\r\n"));
	for (;;) {
		const size_t equal = find_plain(tag, "=");
		if (equal == tag.size)
			return false;
		const struct text own = trim((struct text){ tag.at, equal });
		tag = trim(behind(tag, equal + 1));
		if (tag.size == 0 || (tag.at[0] != '"' && tag.at[0] != '\''))
			return false;
		const char *end = memchr(tag.at + 1, tag.at[0], tag.size - 1);
		if (end == NULL)
			return false;
		*ret_value = (struct text){ tag.at + 1, (size_t)(end - tag.at) - 1 };
		if (is_text(own, name))
			return true;
		tag = behind(tag, (size_t)(end - tag.at) + 1);
	}
}

/* "&#65;" and "&#x41;", of ASCII: how many characters that is; 0: it is none. */
static size_t read_reference(struct text text, char *ret_character)
{
	const bool is_hex = text.size > 2 && text.at[2] == 'x';
	const int base = is_hex ? 16 : 10;
	uint32_t number = 0;
	size_t at = is_hex ? 3 : 2;
	if (text.size < 4 || text.at[0] != '&' || text.at[1] != '#')
		return 0;
	for (; at < text.size && text.at[at] != ';'; at++) {
		const int digit = hex_value(text.at[at]);
		if (digit < 0 || digit >= base || number > 0x7f)
			return 0;
		number = number * (uint32_t)base + (uint32_t)digit;
	}
	*ret_character = (char)number;
	return at < text.size && number > 0 && number <= 0x7f ? at + 1 : 0;
}

/* Without blanks, which are nothing in numbers and in base64. ret_value has VALUE_MAX. */
static bool read_value(struct text tag, const char *name, char *ret_value, struct text *ret_text)
{
	struct text value;
	size_t size = 0;
	if (!get_attribute(tag, name, &value))
		return false;
	while (value.size > 0) {
		char character = value.at[0];
		const size_t part = read_reference(value, &character);
		value = behind(value, part > 0 ? part : 1);
		if (is_blank(character))
			continue;
		if (size == VALUE_MAX)
			return false;
		ret_value[size++] = character;
	}
	*ret_text = (struct text){ ret_value, size };
	return true;
}

static bool get_number(struct text tag, const char *name, uint32_t max, uint32_t *ret_number)
{
	char bytes[VALUE_MAX];
	struct text value;
	uint32_t number = 0;
	if (!read_value(tag, name, bytes, &value) || value.size == 0)
		return false;
	for (size_t i = 0; i < value.size; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return false;
		number = number * 10 + (uint32_t)(value.at[i] - '0');
		if (number > max)
			return false;
	}
	*ret_number = number;
	return true;
}

static bool get_bytes(struct text tag, const char *name, uint8_t *ret_bytes, size_t room,
		      size_t *ret_size)
{
	char bytes[VALUE_MAX];
	struct text value;
	*ret_size = read_value(tag, name, bytes, &value)
			    ? office_base64(value.at, value.size, ret_bytes, room)
			    : 0;
	return *ret_size > 0;
}

/* ---- agile encryption ---- */

static bool get_hash(struct text tag, enum office_hash *ret_hash)
{
	static const char *const names[] = { [OFFICE_MD5] = "MD5",
					     [OFFICE_SHA1] = "SHA1",
					     [OFFICE_SHA256] = "SHA256",
					     [OFFICE_SHA384] = "SHA384",
					     [OFFICE_SHA512] = "SHA512" };
	char bytes[VALUE_MAX];
	struct text value;
	if (!read_value(tag, "hashAlgorithm", bytes, &value))
		return false;
	const size_t hyphen_at = 3;
	if (value.size > hyphen_at && bytes[hyphen_at] == '-') {
		value.size--;
		memmove(bytes + hyphen_at, bytes + hyphen_at + 1, value.size - hyphen_at);
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*ret_hash = (enum office_hash)i;
		if (is_text(value, names[i]))
			return true;
	}
	return false;
}

static bool is_key_size(size_t size)
{
	return size == 16 || size == 24 || size == 32;
}

static bool read_seal(struct text tag, struct office_seal *ret_seal)
{
	char cipher_bytes[VALUE_MAX];
	char chaining_bytes[VALUE_MAX];
	struct text cipher;
	struct text chaining;
	uint32_t bits = 0;
	if (!read_value(tag, "cipherAlgorithm", cipher_bytes, &cipher) || !is_text(cipher, "AES") ||
	    !read_value(tag, "cipherChaining", chaining_bytes, &chaining) ||
	    !get_hash(tag, &ret_seal->hash) || !get_number(tag, "keyBits", 256, &bits))
		return false;
	if (!is_text(chaining, "ChainingModeCBC") && !is_text(chaining, "ChainingModeCFB"))
		return false;
	ret_seal->mode = is_text(chaining, "ChainingModeCBC") ? OFFICE_CBC : OFFICE_CFB;
	ret_seal->key_size = bits / 8;
	return is_key_size(ret_seal->key_size) &&
	       get_bytes(tag, "saltValue", ret_seal->salt, sizeof(ret_seal->salt),
			 &ret_seal->salt_size);
}

static bool read_password(struct text tag, struct office_package *package)
{
	size_t key_size = 0;
	return read_seal(tag, &package->password) &&
	       get_number(tag, "spinCount", OFFICE_ROUNDS_MAX, &package->rounds) &&
	       get_bytes(tag, "encryptedVerifierHashInput", package->verifier,
			 sizeof(package->verifier), &package->verifier_size) &&
	       get_bytes(tag, "encryptedVerifierHashValue", package->hash, sizeof(package->hash),
			 &package->hash_size) &&
	       get_bytes(tag, "encryptedKeyValue", package->key, sizeof(package->key), &key_size) &&
	       key_size >= package->data.key_size;
}

/*
 * The key of that number, of those that may be a password's: certificates have others. Which keyData counts when there
 * is another, in a name space that nothing here reads, is not known.
 */
static bool read_agile(struct text text, unsigned number, struct office_package *package)
{
	struct text tag;
	unsigned data_count = 0;
	bool has_data = false;
	bool has_key = false;
	package->is_agile = true;
	while (next_tag(&text, &tag)) {
		if (is_tag(tag, "keyData")) {
			has_data = read_seal(tag, &package->data);
			data_count++;
		} else if (is_tag(tag, "encryptedKey") && has_data && !has_key) {
			has_key = read_password(tag, package) && number-- == 0;
		}
	}
	return has_key && data_count == 1;
}

/* A vector of a block: the first bytes, or all of them and 0x36. */
static void make_vector(const uint8_t *bytes, size_t size, uint8_t *ret_vector)
{
	memset(ret_vector, 0x36, OFFICE_BLOCK);
	memcpy(ret_vector, bytes, size < OFFICE_BLOCK ? size : OFFICE_BLOCK);
}

/* What the password's hash opens, with a key of its own for each purpose (2.3.4.11, 2.3.4.13). */
static bool open_with(const struct office_seal *seal, const uint8_t *hash, const uint8_t *purpose,
		      const uint8_t *bytes, size_t size, uint8_t *ret_bytes)
{
	uint8_t key[OFFICE_HASH_MAX];
	uint8_t vector[OFFICE_BLOCK];
	const size_t hash_size = office_hash_size(seal->hash);
	if (!office_hash(seal->hash, hash, hash_size, purpose, PURPOSE_SIZE, key))
		return false;
	if (hash_size < seal->key_size)
		memset(key + hash_size, 0x36, seal->key_size - hash_size);
	make_vector(seal->salt, seal->salt_size, vector);
	return office_decrypt(seal->mode, key, seal->key_size, vector, bytes,
			      size / OFFICE_BLOCK * OFFICE_BLOCK, ret_bytes);
}

static bool unlock_agile(struct office_package *package)
{
	static const uint8_t of_verifier[] = { 0xfe, 0xa7, 0xd2, 0x76, 0x3b, 0x4b, 0x9e, 0x79 };
	static const uint8_t of_hash[] = { 0xd7, 0xaa, 0x0f, 0x6d, 0x30, 0x61, 0x34, 0x4e };
	static const uint8_t of_key[] = { 0x14, 0x6e, 0x0b, 0xe7, 0xab, 0xac, 0xd0, 0xd6 };
	const struct office_seal *seal = &package->password;
	uint8_t hash[OFFICE_HASH_MAX];
	uint8_t plain[OFFICE_HASH_MAX];
	uint8_t said[OFFICE_HASH_MAX] = { 0 };
	const size_t verifier_size = package->verifier_size / OFFICE_BLOCK * OFFICE_BLOCK;
	if (package->hash_size < office_hash_size(seal->hash) ||
	    !office_password(seal->hash, seal->salt, seal->salt_size, package->rounds, hash) ||
	    !open_with(seal, hash, of_verifier, package->verifier, verifier_size, plain) ||
	    !office_hash(seal->hash, plain, verifier_size, "", 0, plain) ||
	    !open_with(seal, hash, of_hash, package->hash, package->hash_size, said) ||
	    memcmp(plain, said, office_hash_size(seal->hash)) != 0)
		return false;
	if (!open_with(seal, hash, of_key, package->key, sizeof(package->key), plain))
		return false;
	memcpy(package->key, plain, sizeof(package->key));
	return true;
}

/* ---- standard encryption ---- */

static bool read_standard(const uint8_t *bytes, size_t size, struct office_package *package)
{
	struct office_header header;
	if (!office_header(bytes, size, &header) || header.hash_size < 2 * OFFICE_BLOCK)
		return false;
	package->data.key_size = header.algorithm == 0x660e   ? 16
				 : header.algorithm == 0x660f ? 24
				 : header.algorithm == 0x6610 ? 32
				 : header.algorithm == 0      ? header.key_bits / 8
							      : 0;
	package->data.mode = OFFICE_ECB;
	package->rounds = STANDARD_ROUNDS;
	package->verifier_size = OFFICE_BLOCK;
	package->hash_size = 2 * OFFICE_BLOCK;
	package->password.salt_size = OFFICE_BLOCK;
	memcpy(package->password.salt, header.salt, OFFICE_BLOCK);
	memcpy(package->verifier, header.verifier, package->verifier_size);
	memcpy(package->hash, header.hash, package->hash_size);
	return is_key_size(package->data.key_size);
}

/* 2.3.4.7: of a hash that stands in 64 bytes of one value. */
static bool hash_in(const uint8_t *hash, uint8_t value, uint8_t *ret_hash)
{
	uint8_t bytes[64];
	memset(bytes, value, sizeof(bytes));
	for (size_t i = 0; i < office_hash_size(OFFICE_SHA1); i++)
		bytes[i] ^= hash[i];
	return office_hash(OFFICE_SHA1, bytes, sizeof(bytes), "", 0, ret_hash);
}

static bool unlock_standard(struct office_package *package)
{
	static const uint8_t block_number[4] = { 0 };
	const size_t hash_size = office_hash_size(OFFICE_SHA1);
	const size_t key_size = package->data.key_size;
	uint8_t hash[OFFICE_HASH_MAX];
	uint8_t second[OFFICE_HASH_MAX];
	uint8_t plain[OFFICE_HASH_MAX];
	if (!office_password(OFFICE_SHA1, package->password.salt, package->password.salt_size,
			     package->rounds, hash) ||
	    !office_hash(OFFICE_SHA1, hash, hash_size, block_number, sizeof(block_number), hash) ||
	    !hash_in(hash, 0x5c, second) || !hash_in(hash, 0x36, package->key))
		return false;
	memcpy(package->key + hash_size, second, hash_size);
	if (!office_decrypt(OFFICE_ECB, package->key, key_size, NULL, package->verifier,
			    package->verifier_size, plain) ||
	    !office_hash(OFFICE_SHA1, plain, package->verifier_size, "", 0, hash))
		return false;
	return office_decrypt(OFFICE_ECB, package->key, key_size, NULL, package->hash,
			      package->hash_size, plain) &&
	       memcmp(hash, plain, hash_size) == 0;
}

/* ---- either ---- */

static bool is_agile(const uint8_t *info, size_t size)
{
	return size >= INFO_HEAD && little_get16(info) == 4 && little_get16(info + 2) == 4;
}

size_t office_package_narrow(uint8_t *info, size_t size)
{
	size_t end = INFO_HEAD;
	if (!is_agile(info, size))
		return size;
	for (size_t at = INFO_HEAD; at < size; at++)
		if (info[at] != '\0')
			info[end++] = info[at];
	return end;
}

bool office_package_read(const uint8_t *info, size_t size, unsigned number,
			 struct office_package *ret_package)
{
	memset(ret_package, 0, sizeof(*ret_package));
	if (size < INFO_HEAD)
		return false;
	const uint32_t major = little_get16(info);
	const uint32_t minor = little_get16(info + 2);
	if (is_agile(info, size))
		return read_agile((struct text){ (const char *)info + INFO_HEAD, size - INFO_HEAD },
				  number, ret_package);
	return number == 0 && major >= 2 && major <= 4 && minor == 2 &&
	       read_standard(info + 4, size - 4, ret_package);
}

bool office_package_unlock(struct office_package *package)
{
	return package->is_agile ? unlock_agile(package) : unlock_standard(package);
}

size_t office_package_open(const struct office_package *package, uint32_t number,
			   const uint8_t *bytes, size_t size, uint8_t *ret_bytes)
{
	const struct office_seal *data = &package->data;
	const uint8_t block_number[] = { (uint8_t)number, (uint8_t)(number >> 8),
					 (uint8_t)(number >> 16), (uint8_t)(number >> 24) };
	const size_t whole = size / OFFICE_BLOCK * OFFICE_BLOCK;
	uint8_t hash[OFFICE_HASH_MAX];
	uint8_t vector[OFFICE_BLOCK];
	if (package->is_agile) {
		if (!office_hash(data->hash, data->salt, data->salt_size, block_number,
				 sizeof(block_number), hash))
			return 0;
		make_vector(hash, office_hash_size(data->hash), vector);
	}
	return office_decrypt(data->mode, package->key, data->key_size,
			      package->is_agile ? vector : NULL, bytes, whole, ret_bytes)
		       ? whole
		       : 0;
}
