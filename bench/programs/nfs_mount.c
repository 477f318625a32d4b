/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * nfs-mount - an NFSv3 client in user space, for kernels without one: FUSE on one side, libnfs on the other.
 *
 *     nfs-mount ADDRESS NFS-PORT MOUNT-PORT PATH DIRECTORY [SUFFIX]
 *
 * What bench/cluster mounts the papers' NFS server with. One thread: a request of FUSE becomes one
 * call to the server, and the answer of that the reply; many are on their way at a time. It does
 * what Linux' own client does to need few calls, so that the server is not made to look slow:
 *
 *     - what is written is kept until fsync() or close(), and a file that fits in BUFFER_SIZE is
 *       then one WRITE with FILE_SYNC; a larger one is WRITEs and a COMMIT;
 *     - names and attributes are cached for CACHE_S (mailboxes are only written by programs under
 *       this client and others like it); directories are not opened nor synced, since the server
 *       has changes of names on disk before it answers;
 *     - a name that ends in SUFFIX is a maildir's, made by this machine and therefore new: CREATE
 *       and LINK find out that it is not, as they do for Linux, and no LOOKUP comes before them.
 *
 * A server that does not answer is waited for, as "hard" mounts do. Calls by kind are printed at
 * SIGUSR1 and at the end (SIGTERM): "getattr=1 lookup=2 ...". Not done is what delivery
 * into maildirs does not need: links by name, renaming, locks, writing but at the end of a file.
 */

#include "bench/programs/nfs_calls.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#define TICK_MS 1000

/* libnfs exports it, and its headers have forgotten it. */
void rpc_set_autoreconnect(struct rpc_context *context, int retries);

static volatile sig_atomic_t is_stopped, is_asked;

/* ---- begin and end ---- */

static void on_signal(int number)
{
	if (number == SIGUSR1)
		is_asked = 1;
	else
		is_stopped = 1;
}

static int serve(struct fuse_session *session)
{
	struct fuse_buf buffer = { 0 };
	int ret = 0;
	while (ret == 0 && !is_stopped && !fuse_session_exited(session)) {
		struct pollfd polls[] = {
			{ .fd = fuse_session_fd(session), .events = POLLIN },
			{ .fd = rpc_get_fd(nfs_server),
			  .events = (short)rpc_which_events(nfs_server) },
		};
		if (poll(polls, 2, TICK_MS) < 0 && errno != EINTR)
			return -errno;
		if (rpc_service(nfs_server, polls[1].revents) != 0)
			fprintf(stderr, "nfs-mount: %s\n", rpc_get_error(nfs_server));
		if (is_asked) {
			is_asked = 0;
			nfs_print_counts();
		}
		if (polls[0].revents == 0)
			continue;
		const int size = fuse_session_receive_buf(session, &buffer);
		if (size > 0)
			fuse_session_process_buf(session, &buffer);
		else if (size != -EINTR && size != -EAGAIN)
			ret = size == 0 ? -ENODEV : size;
	}
	free(buffer.mem);
	return ret;
}

static int mount_on(const char *directory)
{
	char name[] = "nfs-mount", option[] = "-o",
	     options[] = "allow_other,fsname=nfs,subtype=nfs-mount,max_read=65536";
	char *words[] = { name, option, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	struct fuse_session *session =
		fuse_session_new(&args, &nfs_operations, sizeof(nfs_operations), NULL);
	if (session == NULL)
		return -EINVAL;
	int ret = fuse_session_mount(session, directory) == 0 ? 0 : -EIO;
	if (ret == 0) {
		puts("ready");
		fflush(stdout);
		ret = serve(session);
		fuse_session_unmount(session);
	}
	fuse_session_destroy(session);
	fuse_opt_free_args(&args);
	return ret;
}

/* What the beginning of a connection comes to. */
struct begin {
	bool is_over;
	int error;
	const char *path; /* to be mounted */
};

static void on_connected(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct begin *begin = private_data;
	(void)from;
	(void)data;
	begin->is_over = true;
	begin->error = status == RPC_STATUS_SUCCESS ? 0 : ECONNREFUSED;
}

static void on_mounted(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct begin *begin = private_data;
	const mountres3 *res = data;
	(void)from;
	begin->is_over = true;
	begin->error = status != RPC_STATUS_SUCCESS ? EIO : (int)res->fhs_status;
	if (begin->error != 0)
		return;
	const fhandle3 *handle = &res->mountres3_u.mountinfo.fhandle;
	begin->error = -nfs_set_root(handle->fhandle3_val, handle->fhandle3_len);
}

static int wait_for(struct rpc_context *on, struct begin *begin)
{
	while (!begin->is_over) {
		struct pollfd polled = { .fd = rpc_get_fd(on),
					 .events = (short)rpc_which_events(on) };
		(void)poll(&polled, 1, TICK_MS);
		if (rpc_service(on, polled.revents) != 0)
			return -ECONNREFUSED;
	}
	begin->is_over = false;
	return -begin->error;
}

static struct rpc_context *connect_to(const char *address, const char *port, int program,
				      int version)
{
	struct begin begin = { 0 };
	struct rpc_context *made = rpc_init_context();
	if (made != NULL &&
	    rpc_connect_port_async(made, address, atoi(port), program, version, on_connected,
				   &begin) == 0 &&
	    wait_for(made, &begin) == 0)
		return made;
	if (made != NULL)
		rpc_destroy_context(made);
	return NULL;
}

/* The handle of the root comes by the mount protocol. 0 or -errno. */
static int find_root(const char *address, const char *port, char *path)
{
	struct begin begin = { 0 };
	struct rpc_context *mounts = connect_to(address, port, MOUNT_PROGRAM, MOUNT_V3);
	int ret = -ECONNREFUSED;
	if (mounts == NULL)
		return ret;
	if (rpc_mount3_mnt_async(mounts, on_mounted, path, &begin) == 0)
		ret = wait_for(mounts, &begin);
	rpc_destroy_context(mounts);
	return ret;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	if (argc < 6 || argc > 7) {
		fprintf(stderr,
			"usage: nfs-mount ADDRESS NFS-PORT MOUNT-PORT PATH DIRECTORY [SUFFIX]\n");
		return EX_USAGE;
	}
	nfs_own_suffix = argc > 6 ? argv[6] : NULL;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	int ret = find_root(argv[1], argv[3], argv[4]);
	if (ret == 0) {
		nfs_server = connect_to(argv[1], argv[2], NFS_PROGRAM, NFS_V3);
		ret = nfs_server == NULL ? -ECONNREFUSED : 0;
	}
	if (ret == 0) {
		rpc_set_autoreconnect(nfs_server, -1);
		ret = mount_on(argv[5]);
	}
	nfs_print_counts();
	if (ret != 0 && ret != -ENODEV)
		fprintf(stderr, "nfs-mount: %s\n", strerror(-ret));
	return ret == 0 || ret == -ENODEV ? EX_OK : EX_UNAVAILABLE;
}
