/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/programs/nfs_calls.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <nfsc/libnfs-raw-nfs.h>

#define BUFFER_SIZE   65536
#define CACHE_S	      3600.0
#define BUCKETS	      65536
#define DIRECTORY_TOP 65536 /* bytes of a directory that are read */
#define BLOCK_SIZE    4096

/* A file or directory that the kernel knows; its number is the server's. */
struct node {
	struct node *next;
	uint64_t number;
	uint64_t lookups;
	struct nfs_fh3 handle;
	char bytes[NFS3_FHSIZE];
};

/* One that is open for writing: what the server has not got yet. */
struct file {
	struct node *node;
	uint64_t at;
	size_t size;
	bool has_unstable; /* the server may have parts of it in memory alone */
	char bytes[BUFFER_SIZE];
};

/* What waits for the server's answer. */
struct ask {
	fuse_req_t request;
	struct file *file;
	size_t size; /* of what was written, or may be read */
	uint64_t at;
	bool is_end; /* the file is closed behind it */
};

enum call {
	GETATTR,
	LOOKUP,
	READ,
	WRITE,
	COMMIT,
	CREATE,
	MKDIR,
	REMOVE,
	LINK,
	READDIR,
	FSSTAT,
	CALLS
};

static const char *const call_names[CALLS] = { "getattr", "lookup",  "read",  "write",
					       "commit",  "create",  "mkdir", "remove",
					       "link",	  "readdir", "fsstat" };
static uint64_t counts[CALLS];
struct rpc_context *nfs_server;
static struct node *buckets[BUCKETS];
static struct node root;
const char *nfs_own_suffix;

/* ---- nodes ---- */

static struct node *node_of(fuse_ino_t number)
{
	if (number == FUSE_ROOT_ID)
		return &root;
	struct node *node = buckets[number % BUCKETS];
	while (node != NULL && node->number != number)
		node = node->next;
	return node;
}

/* NULL: no memory. */
static struct node *remember(uint64_t number, const struct nfs_fh3 *handle)
{
	struct node *node = node_of(number);
	if (node == NULL) {
		node = calloc(1, sizeof(*node));
		if (node == NULL || handle->data.data_len > sizeof(node->bytes)) {
			free(node);
			return NULL;
		}
		node->number = number;
		node->next = buckets[number % BUCKETS];
		buckets[number % BUCKETS] = node;
		node->handle.data.data_val = node->bytes;
		node->handle.data.data_len = handle->data.data_len;
		memcpy(node->bytes, handle->data.data_val, handle->data.data_len);
	}
	node->lookups++;
	return node;
}

static void forget_one(fuse_ino_t number, uint64_t lookups)
{
	struct node **at = &buckets[number % BUCKETS];
	while (*at != NULL && (*at)->number != number)
		at = &(*at)->next;
	struct node *node = *at;
	if (node == NULL || number == FUSE_ROOT_ID)
		return;
	node->lookups -= lookups < node->lookups ? lookups : node->lookups;
	if (node->lookups == 0) {
		*at = node->next;
		free(node);
	}
}

/* ---- replies ---- */

static struct ask *ask_of(fuse_req_t request)
{
	struct ask *ask = calloc(1, sizeof(*ask));
	if (ask == NULL)
		fuse_reply_err(request, ENOMEM);
	else
		ask->request = request;
	return ask;
}

/* What the beginning of a call has said: 0, or it is not on its way and the request fails. */
static void asked(enum call call, int ret, struct ask *ask)
{
	counts[call]++;
	if (ret == 0)
		return;
	fuse_reply_err(ask->request, EIO);
	free(ask);
}

/* errno, or 0. The first member of each result is its status. */
static int error_of(int status, const void *result)
{
	if (status != RPC_STATUS_SUCCESS)
		return EIO;
	const nfsstat3 said = *(const nfsstat3 *)result;
	return said == NFS3_OK ? 0 : -nfsstat3_to_errno((int)said);
}

static struct stat stat_of(const struct fattr3 *from)
{
	static const mode_t kinds[] = {
		[NF3REG] = S_IFREG, [NF3DIR] = S_IFDIR, [NF3LNK] = S_IFLNK
	};
	const unsigned type = (unsigned)from->type;
	return (struct stat){
		.st_ino = from->fileid,
		.st_mode = from->mode | (type < sizeof(kinds) / sizeof(kinds[0]) ? kinds[type] : 0),
		.st_nlink = from->nlink,
		.st_uid = from->uid,
		.st_gid = from->gid,
		.st_size = (off_t)from->size,
		.st_blksize = BUFFER_SIZE,
		.st_blocks = (blkcnt_t)(from->used / 512),
		.st_atim = { .tv_sec = from->atime.seconds, .tv_nsec = from->atime.nseconds },
		.st_mtim = { .tv_sec = from->mtime.seconds, .tv_nsec = from->mtime.nseconds },
		.st_ctim = { .tv_sec = from->ctime.seconds, .tv_nsec = from->ctime.nseconds },
	};
}

/* NULL: no memory, or the server has not said what this needs. */
static struct node *entry_of(const struct nfs_fh3 *handle, const struct post_op_attr *facts,
			     struct fuse_entry_param *ret_entry)
{
	if (!facts->attributes_follow)
		return NULL;
	const struct fattr3 *attributes = &facts->post_op_attr_u.attributes;
	struct node *node = remember(attributes->fileid, handle);
	*ret_entry = (struct fuse_entry_param){
		.ino = attributes->fileid,
		.attr = stat_of(attributes),
		.attr_timeout = CACHE_S,
		.entry_timeout = CACHE_S,
	};
	return node;
}

static void end_with_status(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	(void)from;
	fuse_reply_err(ask->request, error_of(status, data));
	free(ask);
}

/* ---- names ---- */

static bool is_own(const char *name)
{
	const size_t size = strlen(name), end = nfs_own_suffix != NULL ? strlen(nfs_own_suffix) : 0;
	return end > 0 && size > end && strcmp(name + size - end, nfs_own_suffix) == 0;
}

static struct diropargs3 place_of(fuse_ino_t parent, const char *name)
{
	return (struct diropargs3){ .dir = node_of(parent)->handle, .name = (char *)name };
}

static void on_lookup(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const LOOKUP3res *res = data;
	struct fuse_entry_param entry;
	const int error = error_of(status, data);
	(void)from;
	if (error != 0)
		fuse_reply_err(ask->request, error);
	else if (entry_of(&res->LOOKUP3res_u.resok.object, &res->LOOKUP3res_u.resok.obj_attributes,
			  &entry) == NULL)
		fuse_reply_err(ask->request, EIO);
	else
		fuse_reply_entry(ask->request, &entry);
	free(ask);
}

static void do_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct ask *ask;
	if (is_own(name)) {
		fuse_reply_err(request, ENOENT);
		return;
	}
	if ((ask = ask_of(request)) == NULL)
		return;
	LOOKUP3args args = { .what = place_of(parent, name) };
	asked(LOOKUP, rpc_nfs3_lookup_async(nfs_server, on_lookup, &args, ask), ask);
}

static void do_forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups)
{
	forget_one(number, lookups);
	fuse_reply_none(request);
}

static void on_getattr(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const GETATTR3res *res = data;
	const int error = error_of(status, data);
	(void)from;
	if (error != 0) {
		fuse_reply_err(ask->request, error);
	} else {
		const struct stat facts = stat_of(&res->GETATTR3res_u.resok.obj_attributes);
		fuse_reply_attr(ask->request, &facts, CACHE_S);
	}
	free(ask);
}

static void do_getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	struct ask *ask = ask_of(request);
	GETATTR3args args = { .object = node_of(number)->handle };
	(void)info;
	if (ask != NULL)
		asked(GETATTR, rpc_nfs3_getattr_async(nfs_server, on_getattr, &args, ask), ask);
}

static void on_mkdir(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const MKDIR3res *res = data;
	struct fuse_entry_param entry;
	const int error = error_of(status, data);
	(void)from;
	if (error != 0)
		fuse_reply_err(ask->request, error);
	else if (!res->MKDIR3res_u.resok.obj.handle_follows ||
		 entry_of(&res->MKDIR3res_u.resok.obj.post_op_fh3_u.handle,
			  &res->MKDIR3res_u.resok.obj_attributes, &entry) == NULL)
		fuse_reply_err(ask->request, EIO);
	else
		fuse_reply_entry(ask->request, &entry);
	free(ask);
}

static void do_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct ask *ask = ask_of(request);
	MKDIR3args args = { .where = place_of(parent, name) };
	if (ask == NULL)
		return;
	args.attributes.mode.set_it = 1;
	args.attributes.mode.set_mode3_u.mode = mode & 07777;
	asked(MKDIR, rpc_nfs3_mkdir_async(nfs_server, on_mkdir, &args, ask), ask);
}

static void do_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct ask *ask = ask_of(request);
	REMOVE3args args = { .object = place_of(parent, name) };
	if (ask != NULL)
		asked(REMOVE, rpc_nfs3_remove_async(nfs_server, end_with_status, &args, ask), ask);
}

static void on_link(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const LINK3res *res = data;
	struct fuse_entry_param entry;
	const int error = error_of(status, data);
	const struct node *node = node_of(ask->at);
	(void)from;
	if (error != 0)
		fuse_reply_err(ask->request, error);
	else if (node == NULL ||
		 entry_of(&node->handle, &res->LINK3res_u.resok.file_attributes, &entry) == NULL)
		fuse_reply_err(ask->request, EIO);
	else
		fuse_reply_entry(ask->request, &entry);
	free(ask);
}

static void do_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name)
{
	struct ask *ask = ask_of(request);
	LINK3args args = { .file = node_of(number)->handle, .link = place_of(parent, name) };
	if (ask == NULL)
		return;
	ask->at = number;
	asked(LINK, rpc_nfs3_link_async(nfs_server, on_link, &args, ask), ask);
}

/* ---- files ---- */

static struct file *file_of(const struct fuse_file_info *info)
{
	return (struct file *)(uintptr_t)info->fh;
}

static void on_create(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const CREATE3res *res = data;
	struct fuse_entry_param entry;
	struct fuse_file_info info = { .fh = (uint64_t)(uintptr_t)ask->file };
	int error = error_of(status, data);
	(void)from;
	if (error == 0 && !res->CREATE3res_u.resok.obj.handle_follows)
		error = EIO;
	if (error == 0) {
		ask->file->node = entry_of(&res->CREATE3res_u.resok.obj.post_op_fh3_u.handle,
					   &res->CREATE3res_u.resok.obj_attributes, &entry);
		error = ask->file->node == NULL ? EIO : 0;
	}
	if (error == 0) {
		fuse_reply_create(ask->request, &entry, &info);
	} else {
		fuse_reply_err(ask->request, error);
		free(ask->file);
	}
	free(ask);
}

static void do_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *info)
{
	struct ask *ask = ask_of(request);
	CREATE3args args = { .where = place_of(parent, name), .how = { .mode = GUARDED } };
	sattr3 *facts = &args.how.createhow3_u.g_obj_attributes;
	(void)info;
	if (ask == NULL)
		return;
	ask->file = calloc(1, sizeof(*ask->file));
	if (ask->file == NULL) {
		fuse_reply_err(request, ENOMEM);
		free(ask);
		return;
	}
	facts->mode.set_it = 1;
	facts->mode.set_mode3_u.mode = mode & 07777;
	asked(CREATE, rpc_nfs3_create_async(nfs_server, on_create, &args, ask), ask);
}

static void do_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	struct file *file = calloc(1, sizeof(*file));
	if (file == NULL) {
		fuse_reply_err(request, ENOMEM);
		return;
	}
	file->node = node_of(number);
	info->fh = (uint64_t)(uintptr_t)file;
	fuse_reply_open(request, info);
}

static void end_ask(struct ask *ask, int error)
{
	if (ask->is_end)
		free(ask->file);
	if (error == 0 && ask->size > 0)
		fuse_reply_write(ask->request, ask->size);
	else
		fuse_reply_err(ask->request, error);
	free(ask);
}

static void on_commit(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const int error = error_of(status, data);
	(void)from;
	if (error == 0)
		ask->file->has_unstable = false;
	end_ask(ask, error);
}

/* What was written before is on the server's disk behind it. */
static void commit(struct ask *ask)
{
	COMMIT3args args = { .file = ask->file->node->handle };
	asked(COMMIT, rpc_nfs3_commit_async(nfs_server, on_commit, &args, ask), ask);
}

static void on_write(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const WRITE3res *res = data;
	struct file *file = ask->file;
	int error = error_of(status, data);
	(void)from;
	if (error == 0 && res->WRITE3res_u.resok.count != file->size)
		error = EIO;
	file->size = 0;
	if (error != 0 || ask->size > 0 || !file->has_unstable)
		end_ask(ask, error);
	else
		commit(ask);
}

/* All that is kept goes to the server, and stays there when is_stable and nothing went before. */
static void flush(struct ask *ask, bool is_stable)
{
	struct file *file = ask->file;
	WRITE3args args = { .file = file->node->handle, .offset = file->at };
	file->has_unstable = file->has_unstable || !is_stable;
	args.count = (count3)file->size;
	args.stable = file->has_unstable ? UNSTABLE : FILE_SYNC;
	args.data.data_val = file->bytes;
	args.data.data_len = (u_int)file->size;
	asked(WRITE, rpc_nfs3_write_async(nfs_server, on_write, &args, ask), ask);
}

/* Takes as much as there is room for; the program writes the rest with its next call. */
static void do_write(fuse_req_t request, fuse_ino_t number, const char *bytes, size_t size,
		     off_t at, struct fuse_file_info *info)
{
	struct file *file = file_of(info);
	struct ask *ask;
	(void)number;
	if (file->size == 0)
		file->at = (uint64_t)at;
	if (file->at + file->size != (uint64_t)at) {
		fuse_reply_err(request, EOPNOTSUPP);
		return;
	}
	const size_t room = BUFFER_SIZE - file->size;
	const size_t part = size < room ? size : room;
	memcpy(file->bytes + file->size, bytes, part);
	file->size += part;
	if (file->size < BUFFER_SIZE) {
		fuse_reply_write(request, part);
		return;
	}
	if ((ask = ask_of(request)) == NULL)
		return;
	ask->file = file;
	ask->size = part;
	flush(ask, false);
}

static void settle(fuse_req_t request, struct fuse_file_info *info, bool is_end)
{
	struct ask *ask = ask_of(request);
	if (ask == NULL)
		return;
	ask->file = file_of(info);
	ask->is_end = is_end;
	if (ask->file->size > 0)
		flush(ask, true);
	else if (ask->file->has_unstable)
		commit(ask);
	else
		end_ask(ask, 0);
}

static void do_fsync(fuse_req_t request, fuse_ino_t number, int is_data,
		     struct fuse_file_info *info)
{
	(void)number;
	(void)is_data;
	settle(request, info, false);
}

static void do_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	(void)number;
	settle(request, info, true);
}

static void on_read(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const READ3res *res = data;
	const int error = error_of(status, data);
	(void)from;
	if (error != 0)
		fuse_reply_err(ask->request, error);
	else
		fuse_reply_buf(ask->request, res->READ3res_u.resok.data.data_val,
			       res->READ3res_u.resok.data.data_len);
	free(ask);
}

static void do_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
		    struct fuse_file_info *info)
{
	struct ask *ask = ask_of(request);
	READ3args args = { .file = node_of(number)->handle, .offset = (offset3)at };
	(void)info;
	args.count = (count3)(size < BUFFER_SIZE ? size : BUFFER_SIZE);
	if (ask != NULL)
		asked(READ, rpc_nfs3_read_async(nfs_server, on_read, &args, ask), ask);
}

/* ---- directories ---- */

static void on_readdir(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const READDIR3res *res = data;
	const int error = error_of(status, data);
	char *bytes = error == 0 ? malloc(ask->size) : NULL;
	size_t used = 0;
	(void)from;
	if (error != 0 || bytes == NULL) {
		fuse_reply_err(ask->request, error != 0 ? error : ENOMEM);
	} else {
		for (const entry3 *at = res->READDIR3res_u.resok.reply.entries; at != NULL;
		     at = at->nextentry) {
			const struct stat facts = { .st_ino = at->fileid };
			const size_t size =
				fuse_add_direntry(ask->request, bytes + used, ask->size - used,
						  at->name, &facts, (off_t)at->cookie);
			if (size > ask->size - used)
				break;
			used += size;
		}
		fuse_reply_buf(ask->request, bytes, used);
	}
	free(bytes);
	free(ask);
}

/* The cookie of the last entry is where the next piece begins; servers here ignore its verifier. */
static void do_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
		       struct fuse_file_info *info)
{
	struct ask *ask = ask_of(request);
	READDIR3args args = { .dir = node_of(number)->handle, .cookie = (cookie3)at };
	(void)info;
	if (ask == NULL)
		return;
	ask->size = size;
	args.count = (count3)(size < DIRECTORY_TOP ? size : DIRECTORY_TOP);
	asked(READDIR, rpc_nfs3_readdir_async(nfs_server, on_readdir, &args, ask), ask);
}

static void do_fsyncdir(fuse_req_t request, fuse_ino_t number, int is_data,
			struct fuse_file_info *info)
{
	(void)number;
	(void)is_data;
	(void)info;
	fuse_reply_err(request, ENOSYS); /* as good as done, from then on */
}

static void do_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	(void)number;
	(void)info;
	fuse_reply_err(request, ENOSYS);
}

/* ---- space ---- */

static void on_statfs(struct rpc_context *from, int status, void *data, void *private_data)
{
	struct ask *ask = private_data;
	const FSSTAT3res *res = data;
	const int error = error_of(status, data);
	(void)from;
	if (error != 0) {
		fuse_reply_err(ask->request, error);
	} else {
		const FSSTAT3resok *said = &res->FSSTAT3res_u.resok;
		const struct statvfs facts = {
			.f_bsize = BLOCK_SIZE,
			.f_frsize = BLOCK_SIZE,
			.f_blocks = said->tbytes / BLOCK_SIZE,
			.f_bfree = said->fbytes / BLOCK_SIZE,
			.f_bavail = said->abytes / BLOCK_SIZE,
			.f_files = said->tfiles,
			.f_ffree = said->ffiles,
			.f_namemax = NAME_MAX,
		};
		fuse_reply_statfs(ask->request, &facts);
	}
	free(ask);
}

static void do_statfs(fuse_req_t request, fuse_ino_t number)
{
	struct ask *ask = ask_of(request);
	FSSTAT3args args = { .fsroot = node_of(number)->handle };
	if (ask != NULL)
		asked(FSSTAT, rpc_nfs3_fsstat_async(nfs_server, on_statfs, &args, ask), ask);
}

/* ---- for the program ---- */

void nfs_print_counts(void)
{
	for (size_t i = 0; i < CALLS; i++)
		printf("%s=%" PRIu64 "%c", call_names[i], counts[i], i + 1 < CALLS ? ' ' : '\n');
	fflush(stdout);
}

int nfs_set_root(const char *bytes, size_t size)
{
	if (size > sizeof(root.bytes))
		return -EOVERFLOW;
	root.number = FUSE_ROOT_ID;
	root.handle.data.data_val = root.bytes;
	root.handle.data.data_len = (u_int)size;
	memcpy(root.bytes, bytes, size);
	return 0;
}

/* A reply to a larger one would be cut, and look like the end of a file. */
static void do_init(void *unused, struct fuse_conn_info *connection)
{
	(void)unused;
	connection->max_read = BUFFER_SIZE;
}

const struct fuse_lowlevel_ops nfs_operations = {
	.init = do_init,
	.lookup = do_lookup,
	.forget = do_forget,
	.getattr = do_getattr,
	.mkdir = do_mkdir,
	.unlink = do_unlink,
	.link = do_link,
	.create = do_create,
	.open = do_open,
	.read = do_read,
	.write = do_write,
	.fsync = do_fsync,
	.release = do_release,
	.opendir = do_opendir,
	.readdir = do_readdir,
	.fsyncdir = do_fsyncdir,
	.statfs = do_statfs,
};
