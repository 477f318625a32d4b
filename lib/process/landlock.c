/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel has it since version 6; the system's header may be older than the kernel. */
struct ruleset {
	uint64_t files;
	uint64_t network;
	uint64_t scopes;
};

/* LANDLOCK_ACCESS_FS_* are bits that are numbered without gaps, version by version. */
static const unsigned file_bits[] = { 0, 13, 14, 15, 15, 16 };
#define FILE_VERSION_MAX (sizeof(file_bits) / sizeof(file_bits[0]) - 1)
#define NETWORK_VERSION	 4
#define NETWORK_ALL	 3u /* bind and connect */
#define SCOPE_VERSION	 6
#define SCOPE_ALL	 3u /* abstract UNIX sockets and signals */
#define FILE_TRUNCATE	 (UINT64_C(1) << 14)

/* Reading a store takes a lock file, which a reader makes when it is missing. */
static const uint64_t file_needed = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
				    LANDLOCK_ACCESS_FS_MAKE_REG | FILE_TRUNCATE;

/* Keeping a tree of files; to move one between directories there is a bit since version 2. */
static const uint64_t tree_needed = LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR |
				    LANDLOCK_ACCESS_FS_REMOVE_FILE | (UINT64_C(1) << 13);

int landlock_find_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
			       LANDLOCK_CREATE_RULESET_VERSION);
	return version < 0 ? 0 : (int)version;
}

static struct ruleset make_ruleset(int version)
{
	size_t row = (size_t)version > FILE_VERSION_MAX ? FILE_VERSION_MAX : (size_t)version;
	return (struct ruleset){
		.files = (UINT64_C(1) << file_bits[row]) - 1,
		.network = version >= NETWORK_VERSION ? NETWORK_ALL : 0,
		.scopes = version >= SCOPE_VERSION ? SCOPE_ALL : 0,
	};
}

static int permit(int ruleset_fd, const struct ruleset *ruleset, const char *directory,
		  uint64_t needed)
{
	int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* nothing there that could be used */
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = needed & ruleset->files,
		.parent_fd = fd,
	};
	long ret = syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &beneath,
			   0u);
	int error = errno;
	close(fd);
	return ret == 0 ? 0 : -error;
}

static int restrict_to(const char *const *directories, size_t count, uint64_t needed,
		       const struct ruleset *given)
{
	struct ruleset ruleset = *given;
	/* What an old kernel does not know is zero, and zeros it takes. */
	int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0u);
	if (fd < 0)
		return -errno;
	int ret = 0;
	for (size_t i = 0; i < count && ret == 0; i++)
		ret = permit(fd, &ruleset, directories[i], needed);
	if (ret == 0 && syscall(SYS_landlock_restrict_self, fd, 0u) != 0)
		ret = -errno;
	close(fd);
	return ret;
}

int landlock_restrict(const char *const *directories, size_t count)
{
	const struct ruleset ruleset = make_ruleset(landlock_find_version());
	return restrict_to(directories, count, file_needed, &ruleset);
}

int landlock_restrict_trees(const char *const *directories, size_t count)
{
	const struct ruleset ruleset = make_ruleset(landlock_find_version());
	return restrict_to(directories, count, file_needed | tree_needed, &ruleset);
}

int landlock_restrict_files(const char *const *directories, size_t count)
{
	const struct ruleset ruleset = { .files = make_ruleset(landlock_find_version()).files };
	return restrict_to(directories, count, file_needed | tree_needed, &ruleset);
}
