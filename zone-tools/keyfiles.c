/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keyfiles.h"

#include "zone-tools/commands.h"

#include "lib/common/log.h"

#include <string.h>
#include <sysexits.h>

void keyfiles_init(struct keyfiles *files)
{
	memset(files, 0, sizeof(*files));
	files->count = 1; /* the place of --key */
}

void keyfiles_set_active(struct keyfiles *files, const char *path)
{
	files->paths[0] = path;
}

bool keyfiles_has_active(const struct keyfiles *files)
{
	return files->paths[0] != NULL;
}

bool keyfiles_add(struct keyfiles *files, const char *path)
{
	if (files->count == SIGNER_KEYS_MAX)
		return false;
	files->paths[files->count++] = path;
	return true;
}

/* Why key number cannot be in the zone beside those before it; NULL when it can. */
static const char *find_conflict(const struct keyfiles *files, size_t number)
{
	const struct key *key = files->keys[number];
	for (size_t i = 0; i < number; i++) {
		if (key_algorithm(files->keys[i]) != key_algorithm(key))
			return "all keys of a zone have one algorithm";
		/* Signatures name their key by its tag alone. */
		if (key_tag(files->keys[i]) == key_tag(key))
			return "given twice, or of the same key tag as another";
	}
	return NULL;
}

int keyfiles_read(struct keyfiles *files)
{
	if (!keyfiles_has_active(files)) {
		files->count = 0;
		return EX_OK;
	}
	for (size_t i = 0; i < files->count; i++) {
		struct key *key = NULL;
		int ret = key_read(files->paths[i], &key);
		files->keys[i] = key;
		if (ret != DNSBLV6_OK) {
			log_error(files->paths[i], "key not read (%s)", key_strerror(ret));
			return commands_exit_status(ret);
		}
		const char *problem = find_conflict(files, i);
		if (problem != NULL) {
			log_error(files->paths[i], "key not taken (%s)", problem);
			return EX_DATAERR;
		}
	}
	return EX_OK;
}

void keyfiles_deinit(struct keyfiles *files)
{
	for (size_t i = 0; i < SIGNER_KEYS_MAX; i++)
		key_free((struct key *)(uintptr_t)files->keys[i]);
	memset(files, 0, sizeof(*files));
}
