/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * costed_sync - what a program writes and syncs, counted, and syncs that take longer or do nothing.
 *
 * For LD_PRELOAD before a mail store: bench/store reads and writes the file that DNSBLV6_SYNC_FILE
 * names, which all processes under it have mapped:
 *
 *     at 0    nanoseconds that each sync takes more, behind the real one
 *     at 8    1: syncs do nothing (to measure what they cost; a store is worth nothing then)
 *     at 16   syncs: fsync(), fdatasync(), sync_file_range(), msync(), syncfs() and sync(), and each
 *             write to a file that was opened with O_DSYNC, as LMDB writes its last page
 *     at 24   bytes that went to files by write(), pwrite(), writev(), pwritev() and their like,
 *             sendfile(), copy_file_range(); those of memfd_create() are none
 *     at 32   calls that wrote them
 *
 * as numbers of eight bytes of this machine. Not seen are writes to mapped memory, those that libc's
 * stdio makes by itself, and those by io_uring, which no store here uses. Changes of names (link(),
 * rename()) are not counted as bytes either.
 *
 * The linker gives the functions the names of libc's: no object of ours may define what others of
 * ours use.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SHOWN	  __attribute__((visibility("default")))
#define SECOND_NS UINT64_C(1000000000)
#define NO_PLACE  (-1) /* a write where the file's own position is */

struct shared {
	uint64_t delay_ns;
	uint64_t is_off;
	uint64_t syncs;
	uint64_t bytes;
	uint64_t writes;
};

int costed_fsync(int fd);
int costed_fdatasync(int fd);
int costed_sync_file_range(int fd, off_t offset, off_t count, unsigned flags);
int costed_msync(void *memory, size_t size, int flags);
int costed_syncfs(int fd);
void costed_sync(void);
ssize_t costed_write(int fd, const void *bytes, size_t size);
ssize_t costed_pwrite(int fd, const void *bytes, size_t size, off_t offset);
ssize_t costed_writev(int fd, const struct iovec *parts, int count);
ssize_t costed_pwritev(int fd, const struct iovec *parts, int count, off_t offset);
ssize_t costed_pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags);
ssize_t costed_sendfile(int out_fd, int in_fd, off_t *offset, size_t count);
ssize_t costed_copy_file_range(int in_fd, off_t *in_offset, int out_fd, off_t *out_offset,
			       size_t size, unsigned flags);

static dev_t
	memory_device; /* of what memfd_create() makes; a confined process may ask for no other */
static struct shared none;
static struct shared *shared = &none;

__attribute__((constructor)) static void find_memory(void)
{
	struct stat st;
	int fd = memfd_create("none", MFD_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0)
		memory_device = st.st_dev;
	close(fd);
}

__attribute__((constructor)) static void map_shared(void)
{
	const char *path = getenv("DNSBLV6_SYNC_FILE");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED)
		shared = memory;
	close(fd);
}

static void add(uint64_t *counter, uint64_t number)
{
	__atomic_fetch_add(counter, number, __ATOMIC_RELAXED);
}

static bool is_off(void)
{
	return __atomic_load_n(&shared->is_off, __ATOMIC_RELAXED) != 0;
}

/* ---- syncs ---- */

/* Behind the real one: errno is its own. */
static void pay(void)
{
	const uint64_t ns = __atomic_load_n(&shared->delay_ns, __ATOMIC_RELAXED);
	struct timespec left = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };
	const int error = errno;
	add(&shared->syncs, 1);
	while (ns > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	errno = error;
}

static int sync_by(long number, int fd)
{
	if (is_off())
		return 0;
	int ret = (int)syscall(number, fd);
	pay();
	return ret;
}

SHOWN int costed_fsync(int fd)
{
	return sync_by(SYS_fsync, fd);
}

SHOWN int costed_fdatasync(int fd)
{
	return sync_by(SYS_fdatasync, fd);
}

SHOWN int costed_syncfs(int fd)
{
	return sync_by(SYS_syncfs, fd);
}

SHOWN void costed_sync(void)
{
	if (is_off())
		return;
	syscall(SYS_sync);
	pay();
}

/* One that only begins to write is no wait for the disk. */
SHOWN int costed_sync_file_range(int fd, off_t offset, off_t count, unsigned flags)
{
	if (is_off())
		return 0;
	int ret = (int)syscall(SYS_sync_file_range, fd, offset, count, flags);
	if ((flags & (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER)) != 0)
		pay();
	return ret;
}

SHOWN int costed_msync(void *memory, size_t size, int flags)
{
	if (is_off())
		return 0;
	int ret = (int)syscall(SYS_msync, memory, size, flags);
	if ((flags & MS_SYNC) != 0)
		pay();
	return ret;
}

/* ---- writes ---- */

static bool is_file(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev != memory_device;
}

/* Another descriptor of the same file without O_DSYNC, for syncs that are to do nothing. */
static int open_unsynced(int fd)
{
	char name[sizeof("/proc/self/fd/") + 3 * sizeof(fd)] = "/proc/self/fd/";
	char digits[3 * sizeof(fd)];
	size_t at = sizeof("/proc/self/fd/") - 1;
	size_t count = 0;
	for (unsigned number = (unsigned)fd; number > 0 || count == 0; number /= 10)
		digits[count++] = (char)('0' + number % 10);
	while (count > 0)
		name[at++] = digits[--count];
	name[at] = '\0';
	return open(name, O_WRONLY | O_CLOEXEC);
}

/* By the same call, as far as a filter of calls may tell them apart. */
static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	if (flags != 0) /* -1 is the file's own position to it, too */
		return syscall(SYS_pwritev2, fd, parts, count, offset, 0L, flags);
	if (offset == NO_PLACE)
		return count == 1 ? syscall(SYS_write, fd, parts->iov_base, parts->iov_len)
				  : syscall(SYS_writev, fd, parts, count);
	return count == 1 ? syscall(SYS_pwrite64, fd, parts->iov_base, parts->iov_len, offset)
			  : syscall(SYS_pwritev, fd, parts, count, offset, 0L);
}

static ssize_t write_synced(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	const int other = is_off() && offset != NO_PLACE ? open_unsynced(fd) : -1;
	ssize_t ret = write_parts(other >= 0 ? other : fd, parts, count, offset, flags);
	if (other >= 0)
		close(other);
	else
		pay();
	return ret;
}

static void count_bytes(ssize_t size)
{
	if (size <= 0)
		return;
	add(&shared->bytes, (uint64_t)size);
	add(&shared->writes, 1);
}

static ssize_t write_all(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	const int error = errno;
	if (!is_file(fd)) {
		errno = error;
		return write_parts(fd, parts, count, offset, flags);
	}
	const int status = fcntl(fd, F_GETFL);
	ssize_t ret = status >= 0 && (status & O_DSYNC) != 0
			      ? write_synced(fd, parts, count, offset, flags)
			      : write_parts(fd, parts, count, offset, flags);
	count_bytes(ret);
	return ret;
}

SHOWN ssize_t costed_write(int fd, const void *bytes, size_t size)
{
	const struct iovec part = { (void *)(uintptr_t)bytes, size };
	return write_all(fd, &part, 1, NO_PLACE, 0);
}

SHOWN ssize_t costed_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	const struct iovec part = { (void *)(uintptr_t)bytes, size };
	return write_all(fd, &part, 1, offset, 0);
}

SHOWN ssize_t costed_writev(int fd, const struct iovec *parts, int count)
{
	return write_all(fd, parts, count, NO_PLACE, 0);
}

SHOWN ssize_t costed_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	return write_all(fd, parts, count, offset, 0);
}

SHOWN ssize_t costed_pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	return write_all(fd, parts, count, offset, flags);
}

SHOWN ssize_t costed_sendfile(int out_fd, int in_fd, off_t *offset, size_t count)
{
	ssize_t ret = syscall(SYS_sendfile, out_fd, in_fd, offset, count);
	const int error = errno;
	if (ret > 0 && is_file(out_fd))
		count_bytes(ret);
	errno = error;
	return ret;
}

SHOWN ssize_t costed_copy_file_range(int in_fd, off_t *in_offset, int out_fd, off_t *out_offset,
				     size_t size, unsigned flags)
{
	ssize_t ret =
		syscall(SYS_copy_file_range, in_fd, in_offset, out_fd, out_offset, size, flags);
	count_bytes(ret);
	return ret;
}
