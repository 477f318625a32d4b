/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/locate.h"

#include "integration/mail/base/store/copyname.h"
#include "lib/common/wholefile.h"
#include "lib/format/fnv.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPREAD_MAX     (5 * NODES_MAX + 2)
#define IDENTITY       "log/0000000000000000" /* MAILSTORE.md, part 2: not written again */
#define INDEX	       "index.mdb"
#define PLACE	       "place"
#define PLACE_FILE_MAX 64

/* ---- by name: FNV-1a, and the finish of SplitMix64. These must stay as they are. ---- */

static uint64_t weigh(uint64_t hash, unsigned number)
{
	uint64_t x = hash + number * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static unsigned spread(const struct nodesetup *setup, struct mailname mailbox)
{
	const uint64_t hash = fnv_add(FNV_START, mailbox.bytes, mailbox.size);
	uint64_t best = 0;
	unsigned found = setup->self;
	bool is_found = false;
	for (unsigned i = 0; i < setup->peer_count; i++) {
		const struct nodesetup_peer *peer = &setup->peers[i];
		const uint64_t weight = weigh(hash, peer->number);
		if (!peer->is_spread || (is_found && weight <= best))
			continue;
		best = weight;
		found = i;
		is_found = true;
	}
	return found;
}

/* ---- by the database ---- */

/* The number of an entry, or 0 where none says one. 0 or a status of users.h. */
static int read_number(const struct locate *locate, struct mailname mailbox, unsigned *ret_number)
{
	char entry[USERS_ENTRY_SIZE];
	struct users_settings settings;
	*ret_number = 0;
	if (locate->users == NULL || mailbox.size >= sizeof(entry))
		return 0;
	memcpy(entry, mailbox.bytes, mailbox.size);
	entry[mailbox.size] = '\0';
	int ret = users_settings_of(locate->users, entry, &settings);
	if (ret == 0)
		*ret_number = (unsigned)settings.node;
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

static unsigned find_number(const struct locate *locate, struct mailname mailbox)
{
	unsigned number;
	return read_number(locate, mailbox, &number) == 0 ? number : 0;
}

unsigned locate_find_stranger(const struct locate *locate, struct mailname mailbox)
{
	(void)copyname_parse_brought(mailbox, &mailbox);
	const unsigned number = find_number(locate, mailbox);
	return nodesetup_find_number(locate->setup, number) == NULL ? number : 0;
}

bool locate_is_known(const struct locate *locate, struct mailname mailbox)
{
	unsigned number;
	(void)copyname_parse_brought(mailbox, &mailbox);
	return read_number(locate, mailbox, &number) == 0 &&
	       (number == 0 || nodesetup_find_number(locate->setup, number) != NULL);
}

unsigned locate_find(const struct locate *locate, struct mailname mailbox)
{
	unsigned owner;
	struct mailname copied;
	const struct nodesetup_peer *of_copies = NULL;
	(void)copyname_parse_brought(mailbox, &mailbox);
	if (copyname_parse(mailbox, &owner, &copied))
		of_copies = nodesetup_find_number(locate->setup, owner);
	if (of_copies != NULL)
		return locate_next(locate->setup, (unsigned)(of_copies - locate->setup->peers));
	const unsigned number = find_number(locate, mailbox);
	const struct nodesetup_peer *peer =
		number != 0 ? nodesetup_find_number(locate->setup, number) : NULL;
	return peer != NULL ? (unsigned)(peer - locate->setup->peers)
			    : spread(locate->setup, mailbox);
}

unsigned locate_next(const struct nodesetup *setup, unsigned peer)
{
	const unsigned number = setup->peers[peer].number;
	unsigned first = peer;
	unsigned next = peer;
	for (unsigned i = 0; i < setup->peer_count; i++) {
		const unsigned other = setup->peers[i].number;
		if (other < setup->peers[first].number)
			first = i;
		if (other > number && (next == peer || other < setup->peers[next].number))
			next = i;
	}
	return next != peer ? next : first;
}

/* ---- what nodes agree about ---- */

#define SUM_FORMAT UINT64_C(1)

#define SET_BITS 20
#define SET_MASK ((UINT64_C(1) << SET_BITS) - 1)

/* In any order. One number more, or another in its place, is another sum: of 255 no two have the same 20 bits. */
static uint64_t sum_numbers(const struct nodesetup *setup, bool is_of_spread)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < setup->peer_count; i++)
		if (setup->peers[i].is_spread || !is_of_spread)
			sum ^= weigh(0, setup->peers[i].number) >> (64 - SET_BITS);
	return sum;
}

static uint64_t sum_as(const struct nodesetup *setup, unsigned peer)
{
	return SUM_FORMAT << 56 | (uint64_t)setup->peers[peer].number << 48 |
	       (uint64_t)setup->copies << 40 | sum_numbers(setup, false) << SET_BITS |
	       sum_numbers(setup, true);
}

uint64_t locate_sum(const struct nodesetup *setup)
{
	return sum_as(setup, setup->self);
}

void locate_compare(const struct nodesetup *setup, unsigned peer, uint64_t sum, char *ret_words)
{
	static const struct {
		const char *word;
		uint64_t bits;
	} parts[] = { { "number", UINT64_C(0xff) << 48 },
		      { "copies", UINT64_C(0xff) << 40 },
		      { "peer", SET_MASK << SET_BITS },
		      { "spread", SET_MASK } };
	const uint64_t other = sum ^ sum_as(setup, peer);
	size_t size = 0;
	ret_words[0] = '\0';
	for (size_t i = 0; sum >> 56 == SUM_FORMAT && i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((other & parts[i].bits) != 0)
			size += (size_t)snprintf(ret_words + size, LOCATE_WORDS_MAX - size, "%s%s",
						 size > 0 ? "," : "", parts[i].word);
}

/* ---- the files ---- */

/* Numbers in ascending order, and a line end. */
static size_t print_spread(const struct nodesetup *setup, char *ret_text)
{
	size_t size = 0;
	ret_text[0] = '\0';
	for (unsigned number = 1; number <= NODE_NUMBER_MAX; number++) {
		const struct nodesetup_peer *peer = nodesetup_find_number(setup, number);
		if (peer != NULL && peer->is_spread)
			size += (size_t)snprintf(ret_text + size, SPREAD_MAX - size, "%u ", number);
	}
	return size + (size_t)snprintf(ret_text + size, SPREAD_MAX - size, "\n");
}

static int compare(int directory, const char *name, const char *text, size_t size)
{
	char bytes[SPREAD_MAX];
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, bytes, sizeof(bytes));
	int ret = got < 0 ? -errno : 0;
	close(fd);
	if (ret == 0 && ((size_t)got != size || memcmp(bytes, text, size) != 0))
		ret = -EINVAL;
	return ret;
}

static uint64_t time_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000 + (uint64_t)st->st_mtim.tv_nsec / 1000;
}

static void raise_since(uint64_t time_us, uint64_t *since_us)
{
	if (time_us > *since_us)
		*since_us = time_us;
}

static int write_file(int directory, const char *name, const char *text, size_t size)
{
	int ret = wholefile_write(directory, name, text, size, 0644, WHOLEFILE_LASTS);
	/* -EINVAL says of the text that it is another one. */
	return ret == -EINVAL ? -EIO : ret;
}

/* 0 when the file has that text, or DNSBLV6_ENOTFOUND when it has from now on; -EINVAL or -errno. */
static int check_file(const char *path, const char *name, const char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int ret = compare(fd, name, text, size);
	if (ret == -ENOENT) {
		ret = write_file(fd, name, text, size);
		ret = ret == 0 ? DNSBLV6_ENOTFOUND : ret;
	}
	close(fd);
	return ret;
}

/*
 * When the identity came here that is here: it is not written again, and that of a copy is another file, or the same
 * one that was written since then. Where that cannot be kept, it may be so since now.
 */
static uint64_t find_place(int directory, const struct stat *identity)
{
	char text[PLACE_FILE_MAX];
	struct stat st;
	const size_t size =
		(size_t)snprintf(text, sizeof(text), "%ju %jd.%09ld\n", (uintmax_t)identity->st_ino,
				 (intmax_t)identity->st_ctim.tv_sec, identity->st_ctim.tv_nsec);
	int ret = compare(directory, PLACE, text, size);
	if (ret != 0)
		ret = write_file(directory, PLACE, text, size);
	return ret == 0 && fstatat(directory, PLACE, &st, 0) == 0 ? time_of(&st) : clock_wall_us();
}

/*
 * An index is made anew of what a log has left when a segment was lost, and may be a new file when a backup was put
 * back: which mails are missing since then, and which were deleted before, is not known. A file system that does not
 * say when a file was made does not tell this.
 */
static int find_since(int directory, uint64_t *ret_since_us)
{
	struct stat st;
	struct stat identity;
	struct statx index;
	uint64_t since_us = 0;
	if (fstatat(directory, "spread", &st, 0) == 0)
		raise_since(time_of(&st), &since_us); /* else it was removed under a daemon */
	if (fstatat(directory, IDENTITY, &identity, 0) != 0 ||
	    statx(directory, INDEX, 0, STATX_BTIME, &index) != 0)
		return -errno;
	raise_since(find_place(directory, &identity), &since_us);
	if ((index.stx_mask & STATX_BTIME) != 0)
		raise_since((uint64_t)index.stx_btime.tv_sec * 1000000 +
				    index.stx_btime.tv_nsec / 1000,
			    &since_us);
	*ret_since_us = since_us;
	return 0;
}

int locate_find_since(const char *directory, uint64_t *ret_since_us)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int ret = find_since(fd, ret_since_us);
	close(fd);
	return ret;
}

int locate_check_spread(const struct nodesetup *setup, const char *directory)
{
	char text[SPREAD_MAX];
	int ret = check_file(directory, "spread", text, print_spread(setup, text));
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

int locate_check_node(const struct nodesetup *setup, const char *directory)
{
	char text[SPREAD_MAX];
	int size = snprintf(text, sizeof(text), "%u\n", setup->peers[setup->self].number);
	return check_file(directory, "node", text, (size_t)size);
}
