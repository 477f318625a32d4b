/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/scanner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/scan/decoders.h"
#include "integration/mail/base/scan/scan_parts.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

/* A template that has gone is told of so often. */
#define LOST_EVERY_MS 60000

/* ---- signatures, and what goes with them ---- */

/* For each mail: itself, a part in the text of a part, and what is in an archive in an archive. */
static struct inspect_sizes sizes_of(const struct scan_settings *settings)
{
	const unsigned mails = settings->mails;
	return (struct inspect_sizes){ .inspections = mails,
				       .objects = 4 * mails + 32,
				       .mails = mails + 16,
				       .decoders = 2 * mails + 16 };
}

static void free_set(struct signature_set *set)
{
	if (set == NULL)
		return;
	inspect_pool_free(set->pool);
	match_worker_free(set->worker);
	match_close(set->db);
	free(set);
}

static void log_not_opened(const char *context, const char *error, int ret)
{
	log_error(context, "signatures not opened, %s", error[0] != '\0' ? error : strerror(-ret));
}

static int make_set(const struct scan_settings *settings, const char *context,
		    struct signature_set **ret_set)
{
	char error[MATCH_ERROR_SIZE] = "";
	const struct inspect_sizes sizes = sizes_of(settings);
	struct signature_set *set = (struct signature_set *)calloc(1, sizeof(*set));
	if (set == NULL)
		return -ENOMEM;
	int ret = 0;
	if (settings->signatures[0] != '\0')
		ret = match_open(settings->signatures, &set->db, error);
	if (ret == 0 && set->db != NULL)
		ret = match_worker_new(set->db, &set->worker);
	if (ret == 0)
		ret = inspect_pool_new(set->worker, &sizes, &set->pool);
	if (ret != 0) {
		log_not_opened(context, error, ret);
		free_set(set);
		return ret;
	}
	*ret_set = set;
	return 0;
}

void scan_leave_set(struct scanner *scanner, struct signature_set *set)
{
	set->scan_count--;
	if (set->scan_count == 0 && set != scanner->set)
		free_set(set);
}

/* A file that cannot be seen never looks new, so that is said: once, until it can be. */
static bool can_see_signatures(struct scanner *scanner)
{
	struct stat facts;
	const bool can_see = stat(scanner->settings.signatures, &facts) == 0;
	if (!can_see && !scanner->is_blind)
		log_warning(scanner->context, "signatures stay as they are, path=%s (%s)",
			    scanner->settings.signatures, strerror(errno));
	scanner->is_blind = !can_see;
	return can_see;
}

void scanner_refresh(struct scanner *scanner)
{
	struct signature_set *set;
	struct signature_set *old = scanner->set;
	if (old->db == NULL || !can_see_signatures(scanner) ||
	    !match_is_stale(old->db, scanner->settings.signatures))
		return;
	int ret = make_set(&scanner->settings, scanner->context, &set);
	if (ret != 0) {
		match_not_taken(old->db, ret);
		return;
	}
	scanner->set = set;
	if (old->scan_count == 0)
		free_set(old);
	log_info(scanner->context, "signatures opened anew, path=%s count=%u",
		 scanner->settings.signatures, match_count(set->db));
}

/* ---- scanners ---- */

static int open_parts(struct scanner *scanner)
{
	int ret = slots_init(&scanner->scans, sizeof(struct scan), scanner->settings.mails);
	if (ret == 0)
		ret = make_set(&scanner->settings, scanner->context, &scanner->set);
	else
		log_error(scanner->context, "no memory for mails that are scanned (%s)",
			  strerror(-ret));
	return ret;
}

int scanner_open(const struct scan_settings *settings, const char *context, int ask_fd,
		 struct scanner **ret_scanner)
{
	struct scanner *scanner = (struct scanner *)calloc(1, sizeof(*scanner));
	if (scanner == NULL) {
		log_error(context, "no memory for a scanner");
		return EX_OSERR;
	}
	scanner->settings = *settings;
	scanner->settings.mails = settings->mails > 0 ? settings->mails : 1;
	scanner->context = context;
	scanner->ask_fd = ask_fd;
	if (ask_fd < 0) {
		const int ret = decoders_fork(&scanner->settings, context, &scanner->template_pid,
					      &scanner->ask_fd);
		if (ret != 0) {
			log_error(context, "no template of decoder processes (%s)", strerror(-ret));
			scanner_close(scanner);
			return EX_OSERR;
		}
	}
	if (open_parts(scanner) != 0) {
		scanner_close(scanner);
		return EX_NOINPUT;
	}
	*ret_scanner = scanner;
	return EX_OK;
}

int scanner_check(const struct scan_settings *settings, const char *context)
{
	char error[MATCH_ERROR_SIZE] = "";
	struct match_db *db = NULL;
	if (settings->signatures[0] == '\0')
		return EX_OK;
	const int ret = match_open(settings->signatures, &db, error);
	if (ret != 0)
		log_not_opened(context, error, ret);
	match_close(db);
	return ret == 0 ? EX_OK : EX_NOINPUT;
}

int scanner_run_template(const struct scan_settings *settings, const char *context, int ask_fd,
			 int (*confine)(void *context), void *confine_context)
{
	return decoders_run(settings, context, ask_fd, confine, confine_context);
}

void scanner_close(struct scanner *scanner)
{
	if (scanner == NULL)
		return;
	slots_deinit(&scanner->scans);
	free_set(scanner->set);
	if (scanner->template_pid > 0) {
		close(scanner->ask_fd);
		/* Where the filter of this process has no such call its parent does it. */
		while (waitpid(scanner->template_pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	free(scanner);
}

pid_t scanner_template(const struct scanner *scanner)
{
	return scanner->template_pid;
}

void scan_note_lost(struct scanner *scanner)
{
	const uint64_t now_ms = clock_now_ms();
	if (scanner->lost_ms != 0 && now_ms - scanner->lost_ms < LOST_EVERY_MS)
		return;
	scanner->lost_ms = now_ms;
	log_error(scanner->context,
		  "archive decoders are gone, mails with some kinds of archives count as busy");
}
