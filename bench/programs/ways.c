/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * ways - the same mails to the same mailboxes, in each of the ways to keep a mail for many.
 *
 *     ways [options] WAY DIRECTORY
 *
 * The ways are those of Pathak, Jafri and Hu, "The Case for Spam-Aware High Performance Mail Server
 * Architecture" (ICDCS 2009), part 6, each with the syncs that make a mail durable:
 *
 *     floor      a bare append to one file, and a sync of it: what any way costs at least
 *     mbox       a copy behind the file of each recipient, and a sync of it
 *     maildir    a file for each recipient, a sync of it, and of the directory that names it
 *     hardlinks  one file, a sync of it, a link for each recipient, and a sync of each directory
 *     store      lib/mailstore: one record, and a sync
 *
 * A mail is acknowledged, and the next one begun, when it is on disk. With --group so many are written
 * before one sync, as for clients that wait together; floor and store alone can. Mails are those of
 * bench/smtp-load/trace.h: sizes are log-normal about --size, recipients follow one another round and
 * round. Directories of mailboxes are made before the clock starts.
 *
 * Prints mails=, seconds=, bytes= (of their texts, each counted once), and syncs= and written= as
 * costed_sync.c has counted them when it is loaded, without what making a store costs. With
 * --kill it ends itself by
 * SIGKILL then, so that DIRECTORY is what a killed process leaves.
 */

#include "bench/smtp-load/message.h"
#include "bench/smtp-load/trace.h"
#include "lib/common/options.h"
#include "lib/mailstore/dnsblv6-mail.h"
#include "lib/mailstore/filedisk.h"
#include "lib/mailstore/mailstore.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define COUNTERS_AT	 16 /* in the file of costed_sync.c */
#define SIZE_MAX_BYTES	 (1u << 20)
#define NAME_SIZE	 32 /* of a mailbox */
#define PERMISSIONS_FILE 0600
#define PERMISSIONS_DIR	 0700

struct ways {
	/* options */
	uint64_t mails;	 /* the end after so many, */
	uint64_t bytes;	 /* so many bytes of text, */
	uint64_t millis; /* or so long */
	unsigned recipients;
	unsigned group;
	bool is_killed;
	struct trace_options trace;

	const char *directory;
	int directory_fd;
	char *text; /* of the mail, and a dot that no way writes */
	struct maillayer *store;
	int floor_fd;
	uint64_t written; /* mails, and bytes of their texts */
	uint64_t written_bytes;
};

static const char *take_sigma(void *member, const char *argument)
{
	char *end = NULL;
	double sigma = strtod(argument, &end);
	if (*end != '\0' || !(sigma >= 0 && sigma <= 10))
		return "takes a number from 0 to 10";
	*(double *)member = sigma;
	return NULL;
}

static const struct options_bound rows[] = {
	{ { 'n', "mails", "N", "end after so many mails" },
	  OPTIONS_AT(struct ways, mails),
	  .min = 1,
	  .max = UINT32_MAX },
	{ { 0, "bytes", "N", "end after so many bytes of text" },
	  OPTIONS_AT(struct ways, bytes),
	  .min = 1,
	  .max = INT64_MAX },
	{ { 'm', "millis", "N",
	    "end after so many milliseconds (1000, when nothing else ends it)" },
	  OPTIONS_AT(struct ways, millis),
	  .min = 1,
	  .max = 86400000 },
	{ { 'r', "recipients", "N", "of each mail (1)" },
	  OPTIONS_AT(struct ways, recipients),
	  .min = 1,
	  .max = TRACE_RECIPIENTS_MAX },
	{ { 'u', "users", "N", "that there are (1000)" },
	  OPTIONS_AT(struct ways, trace.users),
	  .min = 1,
	  .max = 1000000 },
	{ { 'g', "group", "N", "floor and store: mails for one sync (1)" },
	  OPTIONS_AT(struct ways, group),
	  .min = 1,
	  .max = 1000 },
	{ { 0, "size", "BYTES", "median of the texts (4096)" },
	  OPTIONS_AT(struct ways, trace.size_bytes),
	  .min = MESSAGE_SIZE_MIN,
	  .max = SIZE_MAX_BYTES },
	{ { 0, "size-sigma", "S", "they are log-normal about it; 0 is a fixed size (0)" },
	  OPTIONS_AT(struct ways, trace.size_sigma),
	  .take = take_sigma },
	{ { 0, "seed", "N", "equal ones give equal mails (1)" },
	  OPTIONS_AT(struct ways, trace.seed),
	  .max = UINT32_MAX },
	{ { 'k', "kill", NULL, "end by SIGKILL" }, OPTIONS_AT(struct ways, is_killed) },
};

static const struct options_table table = {
	.program = "ways",
	.usage = "[options] floor|mbox|maildir|hardlinks|store DIRECTORY",
	.summary = "Delivers mails in one of the ways to keep a mail for many.",
	OPTIONS_ROWS(rows),
};

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "ways: %s: %s\n", what, why);
	exit(EX_OSERR);
}

/* What a call returned, unless it failed. */
static int checked(int ret, const char *what)
{
	if (ret < 0)
		fail(what, strerror(errno));
	return ret;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t sent = write(fd, bytes, size);
		if (sent < 0)
			fail("write", strerror(errno));
		bytes += sent;
		size -= (size_t)sent;
	}
}

__attribute__((format(printf, 2, 3))) static void format_path(char *out, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(out, PATH_MAX, format, arguments);
	va_end(arguments);
}

static unsigned user_of(const struct ways *ways, const struct trace_session *mail, unsigned index)
{
	return (mail->first_user + index) % ways->trace.users;
}

/* ---- ways with files ---- */

static void begin_floor(struct ways *ways)
{
	ways->floor_fd =
		checked(openat(ways->directory_fd, "floor",
			       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, PERMISSIONS_FILE),
			"floor");
}

static void deliver_floor(struct ways *ways, const struct trace_session *mail)
{
	write_all(ways->floor_fd, ways->text, mail->size_bytes);
}

static void sync_floor(struct ways *ways)
{
	checked(fdatasync(ways->floor_fd), "fdatasync");
}

static void deliver_mbox(struct ways *ways, const struct trace_session *mail)
{
	static const char from[] = "From sender@example.net Thu Jan  1 00:00:00 1970\n";
	char path[PATH_MAX];
	for (unsigned i = 0; i < mail->recipients; i++) {
		format_path(path, "user%u", user_of(ways, mail, i));
		int fd =
			checked(openat(ways->directory_fd, path,
				       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, PERMISSIONS_FILE),
				path);
		write_all(fd, from, sizeof(from) - 1);
		write_all(fd, ways->text, mail->size_bytes);
		write_all(fd, "\n", 1);
		checked(fsync(fd), path);
		close(fd);
	}
}

static void begin_maildir(struct ways *ways)
{
	static const char *const parts[] = { "", "/tmp", "/new", "/cur" };
	char path[PATH_MAX];
	for (unsigned user = 0; user < ways->trace.users; user++) {
		for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			format_path(path, "user%u%s", user, parts[i]);
			checked(mkdirat(ways->directory_fd, path, PERMISSIONS_DIR), path);
		}
	}
}

/* A new file in tmp/ of a user, synced; path is its name. */
static void write_file(struct ways *ways, const struct trace_session *mail, unsigned user,
		       char *path)
{
	format_path(path, "user%u/tmp/%" PRIu64, user, mail->number);
	int fd = checked(openat(ways->directory_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				PERMISSIONS_FILE),
			 path);
	write_all(fd, ways->text, mail->size_bytes);
	checked(fsync(fd), path);
	close(fd);
}

static void sync_new(struct ways *ways, unsigned user)
{
	char path[PATH_MAX];
	format_path(path, "user%u/new", user);
	int fd =
		checked(openat(ways->directory_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path);
	checked(fsync(fd), path);
	close(fd);
}

static void deliver_maildir(struct ways *ways, const struct trace_session *mail)
{
	char from[PATH_MAX];
	char to[PATH_MAX];
	for (unsigned i = 0; i < mail->recipients; i++) {
		unsigned user = user_of(ways, mail, i);
		write_file(ways, mail, user, from);
		format_path(to, "user%u/new/%" PRIu64, user, mail->number);
		checked(renameat(ways->directory_fd, from, ways->directory_fd, to), to);
		sync_new(ways, user);
	}
}

static void deliver_hardlinks(struct ways *ways, const struct trace_session *mail)
{
	char from[PATH_MAX];
	char to[PATH_MAX];
	write_file(ways, mail, user_of(ways, mail, 0), from);
	for (unsigned i = 0; i < mail->recipients; i++) {
		unsigned user = user_of(ways, mail, i);
		format_path(to, "user%u/new/%" PRIu64, user, mail->number);
		checked(linkat(ways->directory_fd, from, ways->directory_fd, to, 0), to);
		sync_new(ways, user);
	}
	checked(unlinkat(ways->directory_fd, from, 0), from);
}

/* ---- ours ---- */

static void check_store(int ret, const char *what)
{
	if (ret != 0)
		fail(what, mail_strerror(ret));
}

static void begin_store(struct ways *ways)
{
	char log[PATH_MAX];
	char index[PATH_MAX];
	struct mailstore_recovery recovery;
	struct mailstore_setup setup = { .index_path = index };
	format_path(log, "%s/log", ways->directory);
	format_path(index, "%s/index.mdb", ways->directory);
	check_store(filedisk_make(log), log);
	check_store(filedisk_open(log, &setup.disk), log);
	check_store(mailstore_open(&setup, &ways->store, &recovery), ways->directory);
}

static void deliver_store(struct ways *ways, const struct trace_session *trace)
{
	static const char sender[] = "sender@example.net";
	char texts[TRACE_RECIPIENTS_MAX][NAME_SIZE];
	struct mailname names[TRACE_RECIPIENTS_MAX];
	struct mailid id;
	for (unsigned i = 0; i < trace->recipients; i++) {
		int size = snprintf(texts[i], NAME_SIZE, "user%u@example.com",
				    user_of(ways, trace, i));
		names[i] = (struct mailname){ (const uint8_t *)texts[i], (size_t)size };
	}
	const struct mailstore_mail mail = {
		.sender = { (const uint8_t *)sender, sizeof(sender) - 1 },
		.recipients = names,
		.recipient_count = trace->recipients,
		.text = (const uint8_t *)ways->text,
		.size = trace->size_bytes,
		.time_us = clock_ns(CLOCK_REALTIME) / 1000,
	};
	check_store(maillayer_deliver(ways->store, &mail, &id), "deliver");
}

static void sync_store(struct ways *ways)
{
	check_store(maillayer_sync(ways->store), "sync");
}

/* ---- the run ---- */

struct way {
	const char *name;
	void (*begin)(struct ways *ways);
	void (*deliver)(struct ways *ways, const struct trace_session *mail);
	void (*sync)(struct ways *ways); /* NULL: each delivery has done it */
};

static const struct way all[] = {
	{ "floor", begin_floor, deliver_floor, sync_floor },
	{ "mbox", NULL, deliver_mbox, NULL },
	{ "maildir", begin_maildir, deliver_maildir, NULL },
	{ "hardlinks", begin_maildir, deliver_hardlinks, NULL },
	{ "store", begin_store, deliver_store, sync_store },
};

static const struct way *find_way(const char *name)
{
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	}
	options_fail(&table, "no way '%s'", name);
}

static void deliver_group(struct ways *ways, const struct way *way)
{
	for (unsigned i = 0; i < ways->group; i++) {
		struct trace_session mail;
		trace_make(&ways->trace, ways->written, &mail);
		message_copy(mail.number, mail.size_bytes, 0, ways->text,
			     message_wire_size(mail.size_bytes));
		way->deliver(ways, &mail);
		ways->written++;
		ways->written_bytes += mail.size_bytes;
	}
	if (way->sync != NULL)
		way->sync(ways);
}

static bool has_ended(const struct ways *ways, uint64_t passed_ns)
{
	return (ways->mails > 0 && ways->written >= ways->mails) ||
	       (ways->bytes > 0 && ways->written_bytes >= ways->bytes) ||
	       (ways->millis > 0 && passed_ns >= ways->millis * 1000000);
}

/* Syncs and bytes so far, as costed_sync.c has them in its file; 0 where there is none. */
static void read_counters(uint64_t ret_counters[2])
{
	const char *path = getenv("DNSBLV6_SYNC_FILE");
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ret_counters[0] = ret_counters[1] = 0;
	if (fd < 0)
		return;
	if (pread(fd, ret_counters, 2 * sizeof(*ret_counters), COUNTERS_AT) < 0)
		fail(path, strerror(errno));
	close(fd);
}

static void run(struct ways *ways, const struct way *way)
{
	uint64_t before[2];
	uint64_t after[2];
	if (way->begin != NULL)
		way->begin(ways);
	read_counters(before);
	const uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t passed_ns = 0;
	do {
		deliver_group(ways, way);
		passed_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
	} while (!has_ended(ways, passed_ns));
	/* What its index owes is a part of what mails cost. */
	if (!ways->is_killed)
		maillayer_close(ways->store);
	read_counters(after);
	printf("mails=%" PRIu64 " seconds=%.6f bytes=%" PRIu64 " syncs=%" PRIu64 " written=%" PRIu64
	       "\n",
	       ways->written, (double)passed_ns / 1e9, ways->written_bytes, after[0] - before[0],
	       after[1] - before[1]);
	if (ways->is_killed && fflush(stdout) == 0)
		raise(SIGKILL);
}

int main(int argc, char **argv)
{
	static char text[SIZE_MAX_BYTES + 16];
	struct ways ways = { .recipients = 1, .group = 1, .text = text };
	options_settle_process();
	trace_set_defaults(&ways.trace);
	options_parse(&table, argc, argv, &ways);
	if (argc - optind != 2)
		options_fail(&table, "wants a way and a directory");
	const struct way *way = find_way(argv[optind]);
	if (ways.group > 1 && way->sync == NULL)
		options_fail(&table, "%s has no sync for many mails", way->name);
	if (ways.recipients > ways.trace.users)
		options_fail(&table, "fewer users than recipients");
	if (ways.mails == 0 && ways.bytes == 0 && ways.millis == 0)
		ways.millis = 1000;
	ways.trace.spam = 1;
	ways.trace.spam_min = ways.trace.spam_max = ways.recipients;
	ways.directory = argv[optind + 1];
	ways.directory_fd =
		checked(open(ways.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ways.directory);
	run(&ways, way);
	return EX_OK;
}
