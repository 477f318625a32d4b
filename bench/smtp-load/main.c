/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * smtp-load - puts an SMTP, LMTP or POP3 server under load and prints what became of the sessions.
 *
 *     smtp-load [options] HOST PORT
 *
 * Any server will do. --help has the options, trace.h the workload, session.h and pop.h what is said,
 * driver.h the two kinds of load. Prints one line of key=value:
 *
 *     seconds        of the window in which rates and latencies are measured
 *     sessions       that were begun; each becomes one of the following
 *     delivered      the message was taken over: 250 behind its end, by LMTP for each recipient;
 *                    by POP3 the session was had to its end
 *     bounced        every RCPT got a 5xx; by POP3 a wrong password was refused
 *     left           the client left as the trace wanted (--unfinished)
 *     refused        5xx to the connection or another command
 *     deferred       4xx to the connection, a command, or some recipients and 5xx to the rest
 *     broken         an answer that is no reply, or one that cannot follow
 *     timeouts       no progress for --timeout
 *     errors         no connection, or it ended; the last of them is told on standard error
 *     open           still open at the end
 *     open_max       most at a time
 *     skipped        were due, but --open-max were open: not begun, nor taken from the trace
 *     recipients     that were accepted; rejected, tempfailed: with 5xx and 4xx. By POP3 mails read
 *     goodput        messages taken over in a second of the window
 *     decided_per_s  sessions delivered, bounced, refused or deferred in a second of it
 *     greeting_*_ms  from the beginning to the greeting: median, 99 % quantile, maximum
 *     session_*_ms   to the end of a session that the server decided
 *     mail_*_ms      the same of those delivered
 *     late_max_ms    how late a session was begun at most: the load's own slowness
 *
 * Counts are of the whole run, warm-up and drain included. Exit 69 when no server answered.
 */

#include "bench/smtp-load/setup.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>

#define OWN_DESCRIPTORS 16

static volatile int stop; /* how many signals have come */

static void on_signal(int number)
{
	(void)number;
	stop = stop + 1;
}

static int fail(int status, const char *what, int error)
{
	fprintf(stderr, "smtp-load: %s: %s\n", what, strerror(error));
	return status;
}

static int print_trace(const struct setup *setup)
{
	printf("number\tkind\tpoint\tspam\trecipients\tfirst\tsize\tclient\tmessages\n");
	for (uint64_t number = 0; number < setup->print_count; number++) {
		struct trace_session session;
		char client[DNSBLV6_ADDR_TEXT_SIZE] = "-";
		trace_make(&setup->driver.trace, number, &session);
		if (session.has_client)
			dnsblv6_addr_format(session.client, client);
		printf("%" PRIu64 "\t%s\t%s\t%d\t%u\t%u\t%u\t%s\t%u\n", number,
		       trace_kind_name(session.kind),
		       session.kind == TRACE_UNFINISHED ? trace_point_name(session.point) : "-",
		       session.is_spam, session.recipients, session.first_user, session.size_bytes,
		       client, session.messages);
	}
	return EX_OK;
}

/* A descriptor for each session; the soft limit is often 1024, and root may raise the hard one. */
static void share_descriptors(struct driver_settings *driver)
{
	unsigned *most = driver->connections > 0 ? &driver->connections : &driver->open_max;
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < *most + OWN_DESCRIPTORS) {
		const struct rlimit higher = { *most + OWN_DESCRIPTORS, *most + OWN_DESCRIPTORS };
		if (setrlimit(RLIMIT_NOFILE, &higher) == 0)
			return;
	}
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur - OWN_DESCRIPTORS >= *most)
		return;
	/* Of the open loop what does not fit is told as skipped. */
	if (driver->connections > 0)
		fprintf(stderr, "smtp-load: %u sessions at a time: descriptors have a limit\n",
			(unsigned)(limit.rlim_cur - OWN_DESCRIPTORS));
	*most = (unsigned)(limit.rlim_cur - OWN_DESCRIPTORS);
}

static int write_series(const struct figures *figures, const char *path)
{
	FILE *file = fopen(path, "we");
	if (file == NULL)
		return fail(EX_CANTCREAT, path, errno);
	int ret = figures_print_series(figures, file);
	if (fclose(file) != 0)
		ret = -errno;
	return ret < 0 ? fail(EX_IOERR, path, -ret) : EX_OK;
}

static int report(const struct setup *setup, const struct figures *figures)
{
	int status = figures_print(figures, stdout) < 0 ? EX_IOERR : EX_OK;
	if (setup->series_path != NULL && status == EX_OK)
		status = write_series(figures, setup->series_path);
	bool has_answered = figures->greeting.count > 0;
	for (int i = SESSION_DELIVERED; i <= SESSION_BROKEN; i++)
		has_answered = has_answered || figures->outcomes[i] > 0;
	return status == EX_OK && !has_answered ? EX_UNAVAILABLE : status;
}

static int run(const struct setup *setup)
{
	static struct figures figures; /* some 20 kB */
	int error = 0;
	const char *call = NULL;
	int ret = driver_run(&setup->driver, &stop, &figures, &error, &call);
	if (ret < 0)
		return fail(EX_OSERR, "the run ended", -ret);
	if (error != 0)
		fprintf(stderr, "smtp-load: %" PRIu64 " errors, the last: %s: %s\n",
			figures.outcomes[SESSION_FAILED], call, strerror(error));
	int status = report(setup, &figures);
	figures_deinit(&figures);
	return status;
}

int main(int argc, char **argv)
{
	static struct setup setup;
	const struct sigaction action = { .sa_handler = on_signal };
	setup_read(argc, argv, &setup);
	int status = EX_OK;
	if (setup.print_count > 0) {
		status = print_trace(&setup);
	} else {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		share_descriptors(&setup.driver);
		status = run(&setup);
	}
	setup_deinit(&setup);
	return status;
}
