/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/sinks/delivered.h"

#include "lib/format/fnv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#define WAYS  8U
#define MAGIC "DBL6DLV1"

struct entry {
	uint64_t recipient;
	uint8_t mail[DELIVERED_MAIL_SIZE];
	uint32_t added_s;
	uint32_t check;
};

struct delivered {
	char magic[8];
	uint8_t unused[24];
	struct entry entries[DELIVERED_SETS * WAYS];
};
_Static_assert(sizeof(struct delivered) == DELIVERED_FILE_SIZE, "the file");

/* EVP_MD_CTX under a name of ours. */
struct delivered_hash {
	EVP_MD_CTX *context;
};

/* ---- the file ---- */

static int make_table(int fd)
{
	const int ret = posix_fallocate(fd, 0, sizeof(struct delivered));
	if (ret != 0)
		return -ret;
	return pwrite(fd, MAGIC, sizeof(MAGIC) - 1, 0) == sizeof(MAGIC) - 1 ? 0 : -EIO;
}

/* Nothing but zeros: no more of it has come to the disk when the disk was full, or power failed. */
static bool is_unmade(int fd, off_t size)
{
	char block[4096];
	off_t at = 0;

	while (at < size) {
		const ssize_t got = pread(fd, block, sizeof(block), at);
		if (got <= 0)
			return false;
		for (ssize_t i = 0; i < got; i++) {
			if (block[i] != '\0')
				return false;
		}
		at += got;
	}
	return true;
}

/* What is there already is not written over: it may be another file of the operator's. */
static int check_table(int fd)
{
	char magic[sizeof(MAGIC) - 1];
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_size <= (off_t)sizeof(struct delivered) && is_unmade(fd, status.st_size))
		return make_table(fd);
	if (status.st_size > (off_t)sizeof(struct delivered) ||
	    pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, MAGIC, sizeof(magic)) != 0)
		return -EINVAL;
	return status.st_size < (off_t)sizeof(struct delivered) ? make_table(fd) : 0;
}

static int map_table(int fd, struct delivered **ret_table)
{
	const int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
	void *memory = mmap(NULL, sizeof(struct delivered), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*ret_table = memory;
	return 0;
}

int delivered_open(const char *path, struct delivered **ret_table)
{
	if (path[0] == '\0')
		return map_table(-1, ret_table);
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int ret = check_table(fd);
	if (ret == 0)
		ret = map_table(fd, ret_table);
	close(fd);
	return ret;
}

void delivered_close(struct delivered *table)
{
	if (table != NULL)
		munmap(table, sizeof(*table));
}

/* ---- entries ---- */

/* FNV-1a; of nothing it is not 0. */
static uint32_t checksum(const struct entry *entry)
{
	const uint8_t *bytes = (const uint8_t *)entry;
	uint32_t sum = 2166136261U;
	for (size_t i = 0; i < offsetof(struct entry, check); i++)
		sum = (sum ^ bytes[i]) * 16777619U;
	return sum;
}

static bool is_alive(const struct entry *entry, int64_t now_s)
{
	const int64_t age_s = now_s - (int64_t)entry->added_s;
	/* A day, since clocks are set. */
	return entry->check == checksum(entry) && age_s < DELIVERED_KEEP_S && age_s > -86400;
}

static const uint8_t any_mail[DELIVERED_MAIL_SIZE];

static size_t set_of(uint64_t recipient, const uint8_t *mail)
{
	uint64_t part = 0;
	memcpy(&part, mail, sizeof(part));
	return (recipient ^ part) % DELIVERED_SETS * WAYS;
}

/* The entry, or the one that makes room for it: none, else the oldest. */
static struct entry *place_of(struct delivered *table, const struct entry *entry, int64_t now_s)
{
	struct entry *set = &table->entries[set_of(entry->recipient, entry->mail)];
	struct entry *place = set;

	for (unsigned way = 0; way < WAYS; way++) {
		if (set[way].recipient == entry->recipient &&
		    memcmp(set[way].mail, entry->mail, sizeof(entry->mail)) == 0)
			return &set[way];
		if (is_alive(place, now_s) &&
		    (!is_alive(&set[way], now_s) || set[way].added_s < place->added_s))
			place = &set[way];
	}
	return place;
}

static void put(struct delivered *table, uint64_t recipient, const uint8_t *mail, int64_t now_s)
{
	struct entry entry = { .recipient = recipient, .added_s = (uint32_t)now_s };

	memcpy(entry.mail, mail, sizeof(entry.mail));
	entry.check = checksum(&entry);
	*place_of(table, &entry, now_s) = entry;
}

static bool has(const struct delivered *table, uint64_t recipient, const uint8_t *mail,
		int64_t now_s)
{
	/* Read once: other workers write meanwhile, and what has the checksum is to be what is compared. */
	const volatile struct entry *set = &table->entries[set_of(recipient, mail)];

	for (unsigned way = 0; way < WAYS; way++) {
		const struct entry entry = set[way];
		if (entry.recipient == recipient && is_alive(&entry, now_s) &&
		    memcmp(entry.mail, mail, sizeof(entry.mail)) == 0)
			return true;
	}
	return false;
}

bool delivered_has(const struct delivered *table, uint64_t recipient, const uint8_t *mail,
		   int64_t now_s)
{
	return table != NULL && has(table, recipient, mail, now_s);
}

bool delivered_may_have(const struct delivered *table, uint64_t recipient, int64_t now_s)
{
	return table != NULL && has(table, recipient, any_mail, now_s);
}

void delivered_add(struct delivered *table, uint64_t recipient, const uint8_t *mail, int64_t now_s)
{
	if (table == NULL ||
	    (has(table, recipient, mail, now_s) && has(table, recipient, any_mail, now_s)))
		return;
	put(table, recipient, mail, now_s);
	put(table, recipient, any_mail, now_s);
}

int delivered_sync(struct delivered *table)
{
	return table == NULL || msync(table, sizeof(*table), MS_SYNC) == 0 ? 0 : -errno;
}

/* ---- hashes ---- */

struct delivered_hash *delivered_hash_new(void)
{
	struct delivered_hash *hash = malloc(sizeof(*hash));
	if (hash == NULL)
		return NULL;
	hash->context = EVP_MD_CTX_new();
	if (hash->context != NULL) {
		delivered_hash_begin(hash);
		return hash;
	}
	free(hash);
	return NULL;
}

void delivered_hash_free(struct delivered_hash *hash)
{
	if (hash != NULL)
		EVP_MD_CTX_free(hash->context);
	free(hash);
}

void delivered_hash_begin(struct delivered_hash *hash)
{
	(void)EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL);
}

void delivered_hash_add(struct delivered_hash *hash, const uint8_t *bytes, size_t size)
{
	(void)EVP_DigestUpdate(hash->context, bytes, size);
}

void delivered_hash_end(struct delivered_hash *hash, uint8_t *ret_mail)
{
	uint8_t digest[EVP_MAX_MD_SIZE] = { 0 };
	(void)EVP_DigestFinal_ex(hash->context, digest, NULL);
	memcpy(ret_mail, digest, DELIVERED_MAIL_SIZE);
}

/* That two recipients of one sender have the same costs a look at the mail. */
uint64_t delivered_recipient(const struct dnsblv6_ip *client_ip, const char *sender,
			     const char *recipient)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	const bool is_ipv4 = memcmp(client_ip->bytes, mapped, sizeof(mapped)) == 0;
	uint64_t sum = fnv_add(FNV_START, client_ip->bytes, is_ipv4 ? 15 : 6);
	sum = fnv_add(sum, sender, strlen(sender) + 1);
	return fnv_add(sum, recipient, strlen(recipient) + 1);
}
