/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-scan/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/mail/base/scan/scanner.h"
#include "lib/common/options.h"

struct scan_options {
	const char *database;
	const char *peers[SCAN_PEER_COUNT];
	unsigned piece;
	struct scan_settings settings;
	bool is_mail;
	bool is_recursive;
	bool is_quiet;
	bool has_only_found;
	bool has_notes;
	bool is_without_summary;
};

#define BYTES_MAX (UINT64_C(1) << 40)

static const struct options_bound scan_rows[] = {
	{ { 'd', "database", "FILE", "signatures; " TOOL_DATABASE },
	  OPTIONS_AT(struct scan_options, database) },
	{ { 'm', "mail", NULL, "each file is a mail, whatever it looks like" },
	  OPTIONS_AT(struct scan_options, is_mail) },
	{ { 'r', "recursive", NULL, "directories in directories as well" },
	  OPTIONS_AT(struct scan_options, is_recursive) },
	{ { 'q', "quiet", NULL, "say nothing but what is wrong" },
	  OPTIONS_AT(struct scan_options, is_quiet) },
	{ { 'i', "infected", NULL, "no line about a file in which nothing was found" },
	  OPTIONS_AT(struct scan_options, has_only_found) },
	{ { 'n', "notes", NULL, "lines about what is odd, damaged or encrypted" },
	  OPTIONS_AT(struct scan_options, has_notes) },
	{ { 0, "no-summary", NULL, "no lines at the end" },
	  OPTIONS_AT(struct scan_options, is_without_summary) },
	{ { 0, "piece", "BYTES", "of a file at a time; 65536" },
	  OPTIONS_AT(struct scan_options, piece),
	  .min = 1,
	  .max = SCAN_PIECE_MAX },
	{ { 0, "clamd", "SOCKET", "a clamd that is asked besides, a path or ADDRESS@PORT" },
	  OPTIONS_AT(struct scan_options, peers[SCAN_CLAMD]) },
	{ { 0, "rspamd", "SOCKET", "an rspamd" },
	  OPTIONS_AT(struct scan_options, peers[SCAN_RSPAMD]) },
	{ { 0, "milter", "SOCKET", "a milter" },
	  OPTIONS_AT(struct scan_options, peers[SCAN_MILTER]) },
	{ { 0, "limit-cpu", "MS", "of a process that opens the archives of a file; 5000" },
	  OPTIONS_AT(struct scan_options, settings.cpu_ms),
	  .min = 1,
	  .max = 3600000 },
	{ { 0, "limit-total", "BYTES", "that may come out of a file; 268435456" },
	  OPTIONS_AT(struct scan_options, settings.budget.total_left),
	  .min = 1,
	  .max = BYTES_MAX },
	{ { 0, "limit-ratio", "NUMBER", "of what comes out to what went in; 200" },
	  OPTIONS_AT(struct scan_options, settings.budget.ratio),
	  .min = 1,
	  .max = 1000000 },
	{ { 0, "limit-spool", "BYTES", "of archives that are opened when whole; 33554432" },
	  OPTIONS_AT(struct scan_options, settings.budget.spool_left),
	  .min = 1,
	  .max = UINT64_C(1) << 32 },
	{ { 0, "limit-members", "NUMBER", "of the archives of a file; 10000" },
	  OPTIONS_AT(struct scan_options, settings.budget.members_left),
	  .min = 1,
	  .max = 10000000 },
};
static const struct options_table scan_table = {
	.program = "mail-scan",
	.usage = "[options] [FILE|DIRECTORY ...]\n       mail-scan compile [options] -o FILE "
		 "SIGNATURES ...\n       mail-scan info [DATABASE]",
	.summary = "Looks for signatures in files, in mails, and in what is in them.",
	OPTIONS_ROWS(scan_rows),
};

struct run {
	struct scan_options options;
	struct scanner *scanner;
	unsigned long long file_count;
	unsigned long long found_count;
	unsigned long long failed_count;
	unsigned long long bytes;
	uint8_t piece[SCAN_PIECE_MAX];
};

/* ---- one file ---- */

static void fail_file(struct run *run, const char *path, const char *what)
{
	run->failed_count++;
	fflush(stdout);
	fprintf(stderr, "mail-scan: %s: %s\n", path, what);
}

static bool is_alert(enum inspect_class class_)
{
	return class_ == INSPECT_SIGNATURE || class_ == INSPECT_BOMB;
}

static void print_finding(const struct run *run, const char *path,
			  const struct inspect_finding *finding)
{
	const bool is_shown = is_alert(finding->class_) || finding->class_ == INSPECT_BUSY ||
			      run->options.has_notes;
	if (!is_shown || run->options.is_quiet)
		return;
	printf("%s: %s%s%s%s\n", path, finding->path, finding->path[0] != '\0' ? ": " : "",
	       finding->name,
	       is_alert(finding->class_)	 ? " FOUND"
	       : finding->class_ == INSPECT_BUSY ? " ERROR"
						 : "");
}

/* What a peer has said; our own findings have lines of their own. */
static bool print_peer(const struct run *run, const char *path, const struct scan_verdict *verdict)
{
	const bool is_peers = strstr(verdict->log, " peer=") != NULL;
	if (!is_peers || verdict->action < SCAN_DEFER)
		return false;
	/* Behind "5.7.1 ". */
	const char *text = strchr(verdict->text, ' ');
	if (!run->options.is_quiet)
		printf("%s: %s %s\n", path, text != NULL ? text + 1 : verdict->text,
		       verdict->action == SCAN_REJECT ? "FOUND" : "ERROR");
	return true;
}

static void print_verdict(struct run *run, const char *path, const struct scan_verdict *verdict)
{
	const struct inspect_result *result = verdict->result;
	const unsigned alerts = result->counts[INSPECT_SIGNATURE] + result->counts[INSPECT_BOMB];
	unsigned shown = 0;
	for (unsigned i = 0; i < result->finding_count; i++) {
		print_finding(run, path, &result->findings[i]);
		shown += is_alert(result->findings[i].class_) ? 1 : 0;
	}
	if (alerts > shown && !run->options.is_quiet)
		printf("%s: %u more FOUND\n", path, alerts - shown);
	const bool is_peers = print_peer(run, path, verdict);
	if (alerts > 0 || (is_peers && verdict->action == SCAN_REJECT))
		run->found_count++;
	else if (result->counts[INSPECT_BUSY] > 0 || is_peers)
		run->failed_count++;
	else if (!run->options.is_quiet && !run->options.has_only_found)
		printf("%s: OK\n", path);
}

/* 0 or -errno. */
static int push_all(struct run *run, int fd, struct scan *scan)
{
	for (;;) {
		const ssize_t size = read(fd, run->piece, run->options.piece);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -errno;
		if (size == 0)
			return 0;
		run->bytes += (unsigned long long)size;
		scan_push(scan, run->piece, (size_t)size);
		const int ret = scan_wait(scan);
		if (ret != 0)
			return ret;
	}
}

/* A template that has gone is made anew: this program may. */
static void renew_scanner(struct run *run)
{
	const pid_t template_pid = scanner_template(run->scanner);
	if (template_pid <= 0 || waitpid(template_pid, NULL, WNOHANG) == 0)
		return;
	scanner_close(run->scanner);
	run->scanner = NULL;
	(void)scanner_open(&run->options.settings, "mail-scan", -1, &run->scanner);
}

static void scan_fd(struct run *run, const char *path, int fd)
{
	struct scan *scan;
	if (run->scanner != NULL)
		renew_scanner(run);
	run->file_count++;
	if (run->scanner == NULL ||
	    scan_begin(run->scanner, run->options.is_mail ? INSPECT_MAIL : INSPECT_FILE, NULL,
		       &scan) != 0) {
		fail_file(run, path, "not scanned (out of memory)");
		return;
	}
	int ret = push_all(run, fd, scan);
	if (ret == 0) {
		scan_end(scan, true);
		ret = scan_wait(scan);
	}
	if (ret == 0)
		print_verdict(run, path, scan_verdict(scan));
	else
		fail_file(run, path, strerror(-ret));
	scan_free(scan);
}

static void scan_file(struct run *run, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		fail_file(run, path, strerror(errno));
		return;
	}
	scan_fd(run, path, fd);
	close(fd);
}

/* ---- all of them ---- */

static int by_name(const FTSENT **left, const FTSENT **right)
{
	return strcmp((*left)->fts_name, (*right)->fts_name);
}

static void take_entry(struct run *run, FTS *tree, FTSENT *entry)
{
	switch (entry->fts_info) {
	case FTS_F:
		scan_file(run, entry->fts_path);
		break;
	case FTS_D:
		if (entry->fts_level > 0 && !run->options.is_recursive)
			fts_set(tree, entry, FTS_SKIP);
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		fail_file(run, entry->fts_path, strerror(entry->fts_errno));
		break;
	case FTS_DEFAULT:
		/* A named pipe or a device that was named itself. */
		if (entry->fts_level == 0)
			scan_file(run, entry->fts_path);
		break;
	default:
		break;
	}
}

static void scan_tree(struct run *run, char *path)
{
	char *const paths[] = { path, NULL };
	FTSENT *entry;
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
	if (tree == NULL) {
		fail_file(run, path, strerror(errno));
		return;
	}
	while ((entry = fts_read(tree)) != NULL)
		take_entry(run, tree, entry);
	fts_close(tree);
}

static void take_texts(struct scan_options *options)
{
	struct scan_settings *settings = &options->settings;
	if (strlen(options->database) >= sizeof(settings->signatures))
		options_fail(&scan_table, "the database's path is too long");
	snprintf(settings->signatures, sizeof(settings->signatures), "%s", options->database);
	for (unsigned i = 0; i < SCAN_PEER_COUNT; i++)
		snprintf(settings->peers[i], sizeof(settings->peers[i]), "%s",
			 options->peers[i] != NULL ? options->peers[i] : "");
}

static void print_summary(const struct run *run)
{
	printf("\n----------- SCAN SUMMARY -----------\n"
	       "Scanned files: %llu\nInfected files: %llu\nErrors: %llu\nBytes: %llu\n",
	       run->file_count, run->found_count, run->failed_count, run->bytes);
}

int scan_command(int argc, char **argv)
{
	static struct run run;
	struct scan_options *options = &run.options;
	options->database = TOOL_DATABASE;
	options->piece = SCAN_PIECE_MAX;
	scan_settings_init(&options->settings);
	options->settings.mails = 1;
	options->settings.decoders = 1;
	options_parse(&scan_table, argc, argv, options);
	take_texts(options);
	/* Before there is a template, which would say the same of a database once more. */
	if (scanner_check(&options->settings, "mail-scan") != 0 ||
	    scanner_open(&options->settings, "mail-scan", -1, &run.scanner) != 0)
		return TOOL_FAILED;
	for (int i = optind; i < argc; i++) {
		if (strcmp(argv[i], "-") == 0)
			scan_fd(&run, "stdin", STDIN_FILENO);
		else
			scan_tree(&run, argv[i]);
	}
	if (optind == argc)
		scan_fd(&run, "stdin", STDIN_FILENO);
	scanner_close(run.scanner);
	if (!options->is_quiet && !options->is_without_summary)
		print_summary(&run);
	return run.found_count > 0 ? TOOL_FOUND : run.failed_count > 0 ? TOOL_FAILED : TOOL_CLEAN;
}
