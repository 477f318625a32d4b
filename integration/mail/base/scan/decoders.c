/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/decoders.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/scan/decoder.h"
#include "integration/mail/base/scan/template.h"
#include "lib/common/log.h"
#include "lib/process/capabilities.h"
#include "lib/process/child.h"
#include "lib/unpack/unpack.h"

/* The user that owns nothing. */
#define NOBODY 65534

/* What one mail has open in a decoder process. */
static const struct inspect_sizes sizes = {
	.inspections = 16, .objects = 64, .mails = 16, .decoders = 16
};

struct decoders {
	const struct scan_settings *settings;
	const char *context;
	struct match_db *db; /* NULL without signatures */
	struct match_worker *worker;
	struct inspect_pool *pool;
	struct callfilter filter;
	uint64_t data_max;
};

/* ---- what they begin with ---- */

/* Bytes of data that this process has now; 0: not known. */
static uint64_t data_size(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file == NULL)
		return 0;
	const bool is_read = fscanf(file, "%*s %*s %*s %*s %*s %llu", &pages) == 1;
	fclose(file);
	return is_read ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static int make_pool(struct decoders *decoders, struct match_db *db)
{
	struct match_worker *worker = NULL;
	struct inspect_pool *pool = NULL;
	int ret = db != NULL ? match_worker_new(db, &worker) : 0;
	if (ret == 0)
		ret = inspect_pool_new(worker, &sizes, &pool);
	if (ret != 0) {
		match_worker_free(worker);
		return ret;
	}
	inspect_pool_free(decoders->pool);
	match_worker_free(decoders->worker);
	match_close(decoders->db);
	decoders->pool = pool;
	decoders->worker = worker;
	decoders->db = db;
	return 0;
}

static int open_signatures(struct decoders *decoders)
{
	char error[MATCH_ERROR_SIZE] = "";
	struct match_db *db = NULL;
	const char *path = decoders->settings->signatures;
	int ret = path[0] != '\0' ? match_open(path, &db, error) : 0;
	if (ret != 0) {
		log_error(decoders->context, "decoders have no signatures, %s", error);
		return ret;
	}
	ret = make_pool(decoders, db);
	if (ret != 0) {
		match_close(db);
		log_error(decoders->context, "decoders have no memory (%s)", strerror(-ret));
	}
	return ret;
}

static int prepare_all(struct decoders *decoders)
{
	unpack_prepare();
	int ret = open_signatures(decoders);
	if (ret == 0 && callfilter_can_load())
		ret = decoder_make_filter(&decoders->filter);
	/* A build without libseccomp has the other walls. */
	if (ret == -ENOSYS)
		ret = 0;
	const uint64_t data = data_size();
	decoders->data_max = data > 0 ? data + DECODER_HEAP_MAX : RLIM_INFINITY;
	return ret;
}

/*
 * Everything that malloc() gives comes from one heap, as a decoder may do little more than to let it
 * grow; and it gives nothing back, as it ends soon.
 */
static void settle_heap(void)
{
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	mallopt(M_TOP_PAD, 1 << 20);
}

/* ---- in the template, and in its processes ---- */

/* New signatures for those that follow, where the template may still open files. */
static void prepare(void *context)
{
	struct decoders *decoders = (struct decoders *)context;
	char error[MATCH_ERROR_SIZE];
	struct match_db *db;
	if (decoders->db == NULL || !match_is_stale(decoders->db, decoders->settings->signatures))
		return;
	int ret = match_open(decoders->settings->signatures, &db, error);
	if (ret == 0) {
		ret = make_pool(decoders, db);
		if (ret == 0)
			return;
		match_close(db);
	}
	match_not_taken(decoders->db, ret);
}

static void decode(void *context, int fd)
{
	const struct decoders *decoders = (const struct decoders *)context;
	if (decoder_confine(fd, decoders->settings->cpu_ms, decoders->data_max,
			    &decoders->filter) != 0)
		_exit(EX_OSERR);
	_exit(decoder_run(fd, decoders->pool));
}

static void end(struct decoders *decoders)
{
	inspect_pool_free(decoders->pool);
	match_worker_free(decoders->worker);
	match_close(decoders->db);
	callfilter_deinit(&decoders->filter);
}

static int run(const struct scan_settings *settings, const char *context, int ask_fd,
	       int (*confine)(void *context), void *confine_context, bool is_own)
{
	struct decoders decoders = { .settings = settings, .context = context };
	const struct template_start start = {
		.ask_fd = ask_fd,
		.decoders_max = settings->decoders > 0 ? settings->decoders : 1,
		.context = context,
		.decode = decode,
		.prepare = prepare,
		.decode_context = &decoders,
		.is_lasting = is_own,
	};
	settle_heap();
	int status = prepare_all(&decoders) == 0 ? EX_OK : EX_NOINPUT;
	if (status == EX_OK && confine != NULL)
		status = confine(confine_context);
	if (status == EX_OK)
		status = template_run(&start);
	end(&decoders);
	return status;
}

int decoders_run(const struct scan_settings *settings, const char *context, int ask_fd,
		 int (*confine)(void *context), void *confine_context)
{
	return run(settings, context, ask_fd, confine, confine_context, false);
}

/* ---- a template of one's own ---- */

/* A root that may not become another user has no rights that count. */
static void become_nobody(void)
{
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0) {
		capabilities_empty_bounding_set();
		(void)!setresuid(NOBODY, NOBODY, NOBODY);
	}
}

static int drop_rights(void *context)
{
	(void)context;
	become_nobody();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || capabilities_keep(0) != 0)
		return EX_OSERR;
	return 0;
}

static void close_others(int ask_fd)
{
	if (ask_fd > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)ask_fd - 1, 0);
	close_range((unsigned)ask_fd + 1, ~0U, 0);
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (nothing >= 0) {
		dup2(nothing, STDIN_FILENO);
		dup2(nothing, STDOUT_FILENO);
		close(nothing);
	}
}

int decoders_fork(const struct scan_settings *settings, const char *context, pid_t *ret_pid,
		  int *ret_ask_fd)
{
	int ends[TEMPLATE_ENDS];
	int ret = template_pair(ends);
	if (ret != 0)
		return ret;
	const pid_t pid = fork();
	if (pid == 0) {
		/* Those are for the program, which closes its end when it is over. */
		child_ignore_signals();
		close_others(ends[TEMPLATE_OWN]);
		_exit(run(settings, context, ends[TEMPLATE_OWN], drop_rights, NULL, true));
	}
	if (pid < 0)
		ret = -errno;
	close(ends[TEMPLATE_OWN]);
	if (pid < 0) {
		close(ends[TEMPLATE_ASK]);
		return ret;
	}
	*ret_pid = pid;
	*ret_ask_fd = ends[TEMPLATE_ASK];
	return 0;
}
