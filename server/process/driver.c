/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/sharedmem.h"
#include "server/xdp-kernel/links.h"

static const char context[] = "dnsblv6d";

/* ---- memory ---- */

/* Which children get it: MADV_DOFORK or MADV_DONTFORK. */
static void advise(const struct driver *driver, int advice)
{
	const struct tables_arrays *arrays = &driver->load.arrays;
	const struct {
		void *memory;
		size_t size;
	} all[] = {
		{ arrays->config, sizeof(*arrays->config) },
		{ arrays->zones, sizeof(*arrays->zones) * XDP_ZONES_MAX },
		{ arrays->lines, sizeof(*arrays->lines) * arrays->line_count },
		{ arrays->counts,
		  sizeof(*arrays->counts) * (XDP_ZONES_MAX + 1) * arrays->processor_count },
		{ driver->shared, sizeof(*driver->shared) },
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (madvise(all[i].memory, all[i].size, advice) != 0)
			log_warning(context,
				    "tables of the network driver are in other processes (%s)",
				    strerror(errno));
	}
}

/* 0 or -errno. */
static int open_shared(struct driver *driver)
{
	int fd = memfd_create("dnsblv6d-filler", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	driver->shared = sharedmem_new(sizeof(*driver->shared));
	if (driver->shared == NULL) {
		close(fd);
		return -ENOMEM;
	}
	driver->lock_fd = fd;
	return 0;
}

static void close_shared(struct driver *driver)
{
	if (driver->shared == NULL)
		return;
	sharedmem_free(driver->shared, sizeof(*driver->shared));
	close(driver->lock_fd);
	driver->shared = NULL;
}

/* ---- the program ---- */

static void log_memory(const struct settings *settings)
{
	char text[TABLES_TEXT_SIZE];
	tables_describe(settings->xdp.memory_size, text);
	log_info(context, "network driver answers, %s", text);
}

void driver_open(const struct settings *settings, struct driver *ret_driver)
{
	struct driver driver = { .keeper.fd = -1, .lock_fd = -1 };
	*ret_driver = driver;
	if (settings->xdp.interfaces.count == 0 || load_attach(settings, &driver.load) != 0)
		return;
	int ret = open_shared(&driver);
	if (ret != 0)
		log_error(context, "network driver not used (%s)", strerror(-ret));
	if (ret == 0)
		ret = keeper_start(&driver.load, settings->xdp.keep_s, &driver.keeper);
	if (ret != 0) {
		load_detach(&driver.load);
		load_close(&driver.load);
		close_shared(&driver);
		return;
	}
	advise(&driver, MADV_DONTFORK);
	log_memory(settings);
	*ret_driver = driver;
}

void driver_close(struct driver *driver)
{
	keeper_end(&driver->keeper);
	load_close(&driver->load);
	close_shared(driver);
}

void driver_forget(const struct driver *driver)
{
	if (!driver_is_open(driver))
		return;
	keeper_forget(&driver->keeper);
	close(driver->lock_fd);
}

/* ---- fillers ---- */

pid_t driver_fork_filler(const struct driver *driver, struct crew_slot *slot)
{
	advise(driver, MADV_DOFORK);
	pid_t pid = child_fork(slot);
	if (pid != 0)
		advise(driver, MADV_DONTFORK);
	return pid;
}

/* As they are now; one that cannot be looked at keeps what it had. */
static void find_links(const struct driver *driver, struct filler_start *start)
{
	start->link_count = driver->load.link_count;
	for (size_t i = 0; i < start->link_count; i++) {
		start->links[i] = driver->load.links[i].link;
		int ret = links_find(driver->load.links[i].name, &start->links[i]);
		if (ret != 0)
			log_warning(context, "interface not looked at, interface=%s (%s)",
				    driver->load.links[i].name, strerror(-ret));
	}
}

/* None when there are too many: then all is left to the sockets. */
static void find_addresses(struct filler_start *start)
{
	const struct listener_addresses *listen = &start->settings->listen;
	int count =
		links_expand(listen->all, listen->count, start->addresses, FILLER_ADDRESSES_MAX);
	if (count < 0)
		log_error(context, "addresses not found for the network driver (%s)",
			  strerror(-count));
	start->address_count = count < 0 ? 0 : (size_t)count;
	if (start->address_count > FILLER_ADDRESSES_MAX)
		start->address_count = FILLER_ADDRESSES_MAX;
}

void driver_run_filler(const struct driver *driver, struct filler_start *start)
{
	keeper_forget(&driver->keeper);
	/* Those that verify stores are its children. */
	advise(driver, MADV_DONTFORK);
	start->arrays = &driver->load.arrays;
	start->shared = driver->shared;
	start->lock_fd = driver->lock_fd;
	find_links(driver, start);
	find_addresses(start);
	exit(filler_serve(start));
}

void driver_hand_over(const struct driver *driver, uint64_t generation)
{
	if (!driver_is_open(driver))
		return;
	/* In this order: a filler looks at the owner behind each lease that it gives. */
	__atomic_store_n(&driver->shared->owner, generation, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	tables_silence(&driver->load.arrays);
}
