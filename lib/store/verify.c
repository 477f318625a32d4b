/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/store/verify.h"

#include "lib/store/reader.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child sends back: a status, and the facts when that is DNSBLV6_OK. */
struct report {
	int status;
	struct dnsblv6_facts facts;
};

static int read_facts(struct reader *reader, struct dnsblv6_facts *ret_facts)
{
	struct store_bytes value;
	int ret = reader_get(reader, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE),
			     &value);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	ret = dnsblv6_facts_decode(value.data, value.size, ret_facts);
	return ret == DNSBLV6_OK ? DNSBLV6_OK : STORE_ECORRUPT;
}

static int verify(const char *path, struct dnsblv6_facts *ret_facts)
{
	struct reader *reader = NULL;
	int ret = reader_open(path, &reader);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = reader_begin(reader);
	if (ret == DNSBLV6_OK) {
		ret = reader_verify(reader);
		if (ret == DNSBLV6_OK)
			ret = read_facts(reader, ret_facts);
		reader_end(reader);
	}
	reader_close(reader);
	return ret;
}

static void run_child(const char *path, int fd)
{
	const struct rlimit no_core = { 0, 0 };
	struct report report;
	memset(&report, 0, sizeof(report));
	/* A crash here is an answer, not an accident: no core file, no message. */
	setrlimit(RLIMIT_CORE, &no_core);
	report.status = verify(path, &report.facts);
	if (write(fd, &report, sizeof(report)) != (ssize_t)sizeof(report))
		_exit(1);
	_exit(0);
}

/* A pipe gives a report of this size in one piece, or nothing. */
static bool read_report(int fd, struct report *ret_report)
{
	ssize_t size;
	do {
		size = read(fd, ret_report, sizeof(*ret_report));
	} while (size < 0 && errno == EINTR);
	return size == (ssize_t)sizeof(*ret_report);
}

int verify_store(const char *path, struct dnsblv6_facts *ret_facts)
{
	int fds[2];
	if (pipe(fds) != 0)
		return -errno;
	pid_t pid = fork();
	if (pid < 0) {
		int ret = -errno;
		close(fds[0]);
		close(fds[1]);
		return ret;
	}
	if (pid == 0)
		run_child(path, fds[1]);

	struct report report;
	close(fds[1]);
	bool has_report = read_report(fds[0], &report);
	close(fds[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (!has_report)
		return STORE_ECORRUPT;
	if (report.status == DNSBLV6_OK && ret_facts != NULL)
		*ret_facts = report.facts;
	return report.status;
}
