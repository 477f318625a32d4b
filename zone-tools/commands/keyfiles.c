/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/commands/keyfiles.h"

#include "zone-tools/commands/commands.h"

#include "zone-tools/chain/chain.h"

#include "lib/common/log.h"
#include "lib/format/ascii.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>

void keyfiles_init(struct keyfiles *files)
{
	memset(files, 0, sizeof(*files));
	files->count = 1; /* the place of --key */
}

const char *keyfiles_set_active(void *member, const char *path)
{
	struct keyfiles *files = member;
	files->paths[0] = path;
	return NULL;
}

bool keyfiles_has_active(const struct keyfiles *files)
{
	return files->paths[0] != NULL;
}

bool keyfiles_lack_active(const struct keyfiles *files)
{
	return !keyfiles_has_active(files) && (files->count > 1 || files->set.withdrawn_count > 0);
}

const char *keyfiles_add(void *member, const char *path)
{
	struct keyfiles *files = member;
	if (files->count == SIGNER_KEYS_MAX)
		return "more keys than a zone has";
	files->paths[files->count++] = path;
	return NULL;
}

const char *keyfiles_withdraw(void *member, const char *text)
{
	struct keyfiles *files = member;
	const int64_t tag = ascii_number(text, strlen(text), UINT16_MAX);
	if (tag < 0)
		return "not a key tag, which is a number up to 65535";
	if (files->set.withdrawn_count == SIGNER_KEYS_MAX)
		return "more keys than a zone has";
	files->set.withdrawn[files->set.withdrawn_count++] = (uint16_t)tag;
	return NULL;
}

/* Why key number cannot be in the zone beside those before it; NULL when it can. */
static const char *find_conflict(const struct keyfiles *files, size_t number)
{
	const struct key *key = files->set.keys[number];
	for (size_t i = 0; i < number; i++) {
		if (key_algorithm(files->set.keys[i]) != key_algorithm(key))
			return "all keys of a zone have one algorithm";
		/* Signatures name their key by its tag alone. */
		if (key_tag(files->set.keys[i]) == key_tag(key))
			return "given twice, or of the same key tag as another";
	}
	return NULL;
}

int keyfiles_read(struct keyfiles *files)
{
	if (!keyfiles_has_active(files))
		return EX_OK;
	for (size_t i = 0; i < files->count; i++) {
		struct key *key = NULL;
		int ret = key_read(files->paths[i], &key);
		files->set.keys[i] = key;
		files->set.key_count = i + 1;
		if (ret != DNSBLV6_OK)
			return commands_end(files->paths[i], "key not read", ret);
		const char *problem = find_conflict(files, i);
		if (problem != NULL) {
			log_error(files->paths[i], "key not taken (%s)", problem);
			return EX_DATAERR;
		}
	}
	return EX_OK;
}

int keyfiles_end(const struct keyset *set, const char *store, const char *what, int status)
{
	char keys[KEYSET_TEXT_SIZE];
	keyset_describe(set, status, keys);
	log_error(store, "%s %s(%s)", what, keys, chain_strerror(status));
	return commands_exit_status(status);
}

void keyfiles_report_kept(const struct keyfiles *files, const char *store)
{
	for (size_t i = 0; i < files->set.dnskey_count; i++) {
		const struct keyset_dnskey *dnskey = &files->set.dnskeys[i];
		if (!dnskey->is_given)
			log_warning(store,
				    "key kept that was not given, tag=%u expires=%" PRIu64
				    " (--publish renews its signature, --withdraw takes it away)",
				    dnskey->tag, dnskey->signature_s);
	}
}

void keyfiles_deinit(struct keyfiles *files)
{
	/* Those of a directory are keydir.c's. */
	for (size_t i = 0; !files->set.is_rolled && i < SIGNER_KEYS_MAX; i++)
		key_free((struct key *)(uintptr_t)files->set.keys[i]);
	memset(files, 0, sizeof(*files));
}
