/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/cluster/lister.h"

#include "integration/mail/base/store/storemail.h"
#include "integration/mail/base/users/users_copy.h"
#include "integration/mail/mail-stored/store/errand.h"
#include "integration/mail/mail-stored/store/store_confine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int build_of(const void *data, int fd)
{
	const struct stored_setup *setup = data;
	struct stat st;
	const char *path = NULL;
	const char *logins = setup->cluster.logins[0] != '\0' ? setup->cluster.logins : NULL;
	if (fstat(fd, &st) != 0)
		return -errno;
	void *list = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (list == MAP_FAILED)
		return -errno;
	int ret = users_copy_build(list, (size_t)st.st_size, setup->users, logins, &path);
	munmap(list, (size_t)st.st_size);
	return ret;
}

/* Behind the change of user, which takes the signal away, and which made it another one. */
static int confine(const void *setup)
{
	umask(022);
	int ret = store_confine_lister(setup);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return ret;
}

int lister_begin(const struct stored_setup *setup, int *ret_fd)
{
	const struct errand errand = { "lister", confine, build_of, setup };
	return errand_begin(&errand, ret_fd);
}

int lister_build(int fd, const void *list, size_t size)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	int status;
	int ready;
	int memory = storemail_seal(list, size);
	if (memory < 0)
		return memory;
	int ret = errand_ask(fd, memory);
	close(memory);
	if (ret != 0)
		return ret;
	do
		ready = poll(&poller, 1, LISTER_TIMEOUT_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return ready == 0 ? -ETIMEDOUT : -errno;
	ret = errand_take(fd, &status);
	return ret < 0 ? ret : status;
}
