/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * key.c - any bytes as a key file: refused as one of the ways there are to be
 * wrong, or a key that signs.
 */
#include "zone-tools/keys/key.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_key(const struct key *key)
{
	uint8_t dnskey[KEY_DNSKEY_MAX];
	uint8_t signature[DNSBLV6_SIGNATURE_BYTES];
	size_t size = key_dnskey(key, dnskey);
	expect(size == (key_algorithm(key) == KEY_ED25519 ? 36 : 68));
	expect(key_sign(key, dnskey, size, signature) == DNSBLV6_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct key *key = NULL;
	int fd = memfd_create("key", MFD_CLOEXEC);
	expect(fd >= 0 && fchmod(fd, S_IRUSR | S_IWUSR) == 0);
	expect(write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int ret = key_read(path, &key);
	close(fd);
	expect(ret == DNSBLV6_OK || ret == KEY_EFORMAT || ret == KEY_EALGORITHM);
	if (ret == DNSBLV6_OK)
		try_key(key);
	key_free(key);
	return 0;
}
