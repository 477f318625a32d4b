/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/scanner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "lib/common/log.h"

/* The test file of EICAR, in halves, so that nothing of this program is taken for it. */
#define TEST_FILE_SIZE 68
static const char test_file_begin[] = "X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-";
static const char test_file_end[] = "STANDARD-ANTIVIRUS-TEST-FILE!$H+H*";

struct scanner {
	struct scan_settings settings;
	const char *context;
	char pattern[TEST_FILE_SIZE];
	unsigned scan_count;
};

struct scan {
	struct scanner *scanner;
	char kept[TEST_FILE_SIZE]; /* the last bytes before this piece */
	size_t kept_size;
	uint64_t bytes;
	struct inspect_result result;
	struct scan_verdict verdict;
};

int scanner_open(const struct scan_settings *settings, const char *context, int ask_fd,
		 struct scanner **ret_scanner)
{
	(void)ask_fd;
	struct scanner *scanner = calloc(1, sizeof(*scanner));
	if (scanner == NULL) {
		log_error(context, "out of memory for the scanner");
		return EX_OSERR;
	}
	scanner->settings = *settings;
	scanner->context = context;
	memcpy(scanner->pattern, test_file_begin, sizeof(test_file_begin) - 1);
	memcpy(scanner->pattern + sizeof(test_file_begin) - 1, test_file_end,
	       sizeof(test_file_end) - 1);
	*ret_scanner = scanner;
	return 0;
}

void scanner_close(struct scanner *scanner)
{
	free(scanner);
}

pid_t scanner_template(const struct scanner *scanner)
{
	(void)scanner;
	return 0;
}

void scanner_refresh(struct scanner *scanner)
{
	(void)scanner;
}

int scan_begin(struct scanner *scanner, enum inspect_kind kind,
	       const struct scan_envelope *envelope, struct scan **ret_scan)
{
	(void)kind;
	(void)envelope;
	if (scanner->settings.mails > 0 && scanner->scan_count >= scanner->settings.mails)
		return -EAGAIN;
	struct scan *scan = calloc(1, sizeof(*scan));
	if (scan == NULL)
		return -EAGAIN;
	scan->scanner = scanner;
	scanner->scan_count++;
	*ret_scan = scan;
	return 0;
}

static void find(struct scan *scan, const uint8_t *bytes, size_t size)
{
	const char *pattern = scan->scanner->pattern;
	if (scan->result.finding_count > 0)
		return;
	const uint8_t *at = memmem(bytes, size, pattern, TEST_FILE_SIZE);
	if (at == NULL)
		return;
	struct inspect_finding *finding = &scan->result.findings[0];
	scan->result.finding_count = 1;
	scan->result.counts[INSPECT_SIGNATURE] = 1;
	finding->class_ = INSPECT_SIGNATURE;
	snprintf(finding->name, sizeof(finding->name), "Eicar-Signature");
}

void scan_push(struct scan *scan, const uint8_t *bytes, size_t size)
{
	uint8_t seam[2 * TEST_FILE_SIZE];
	size_t begin = size < TEST_FILE_SIZE ? size : TEST_FILE_SIZE;
	memcpy(seam, scan->kept, scan->kept_size);
	memcpy(seam + scan->kept_size, bytes, begin);
	find(scan, seam, scan->kept_size + begin);
	find(scan, bytes, size);
	if (size >= TEST_FILE_SIZE) {
		memcpy(scan->kept, bytes + size - TEST_FILE_SIZE, TEST_FILE_SIZE);
		scan->kept_size = TEST_FILE_SIZE;
	} else {
		size_t all = scan->kept_size + size;
		size_t lost = all > TEST_FILE_SIZE ? all - TEST_FILE_SIZE : 0;
		memcpy(scan->kept, seam + lost, all - lost);
		scan->kept_size = all - lost;
	}
	scan->bytes += size;
}

void scan_end(struct scan *scan, bool is_whole)
{
	struct scan_verdict *verdict = &scan->verdict;
	(void)is_whole;
	scan->result.bytes = scan->bytes;
	scan->result.objects = 1;
	*verdict = (struct scan_verdict){ .action = SCAN_ACCEPT, .code = 250 };
	verdict->result = &scan->result;
	snprintf(verdict->log, sizeof(verdict->log), "clean");
	if (scan->result.finding_count == 0)
		return;
	verdict->action = SCAN_REJECT;
	verdict->code = 550;
	snprintf(verdict->text, sizeof(verdict->text), "5.7.1 %s", scan->result.findings[0].name);
	snprintf(verdict->log, sizeof(verdict->log), "found=%s", scan->result.findings[0].name);
}

bool scan_is_busy(const struct scan *scan)
{
	(void)scan;
	return false;
}

size_t scan_poll(const struct scan *scan, struct pollfd *ret_fds, int *ret_timeout_ms)
{
	(void)scan;
	(void)ret_fds;
	*ret_timeout_ms = -1;
	return 0;
}

void scan_turn(struct scan *scan)
{
	(void)scan;
}

int scan_wait(struct scan *scan)
{
	(void)scan;
	return 0;
}

bool scan_has_found(const struct scan *scan)
{
	return scan->result.counts[INSPECT_SIGNATURE] > 0;
}

const struct scan_verdict *scan_verdict(const struct scan *scan)
{
	return &scan->verdict;
}

void scan_free(struct scan *scan)
{
	if (scan == NULL)
		return;
	scan->scanner->scan_count--;
	free(scan);
}

int scanner_run_template(const struct scan_settings *settings, const char *context, int ask_fd,
			 int (*confine)(void *context), void *confine_context)
{
	(void)settings;
	(void)ask_fd;
	(void)confine;
	(void)confine_context;
	log_error(context, "this build has no decoders");
	return EX_UNAVAILABLE;
}
