/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/opensmtpd/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/adapters/opensmtpd/lines.h"
#include "integration/adapters/opensmtpd/pending.h"
#include "integration/adapters/opensmtpd/queue.h"
#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"

static const char context[] = "dnsblv6-filter";

#define GRACE_MS     5000      /* beyond the deadline: the child answers no more */
#define END_MS	     2000      /* a child has to end by itself */
#define UNREAD_MAX   (1 << 20) /* bytes that a child may leave unread; then no more is taken in */
#define GREETING_MAX 65536     /* bytes of what OpenSMTPD says at the beginning */

/* All pass meanwhile: no pause is long. */
static const struct crew_pace pace = { .first_ms = 1000, .most_ms = 1000, .life_ms = 1000 };

enum { AT_IN, AT_OUT, AT_CHILD, AT_SIGNAL, AT_COUNT };

struct guard {
	int (*work)(void *context);
	void *work_context;
	int patience_ms;
	int64_t full_due_ms; /* a child that still leaves too much unread is sent away; -1: none does */
	struct crew_slot child;
	int fd; /* to the child; negative: none */
	int signal_fd;
	struct queue greeting; /* config lines up to config|ready */
	bool is_greeted;       /* config|ready was there */
	bool is_registered;    /* a child has answered that */
	bool is_ended;
	int status;
	struct pending pending;
	struct lines from_smtpd;
	struct lines from_child;
	struct queue to_smtpd;
	struct queue to_child;
};

static void end(struct guard *guard, int status)
{
	guard->is_ended = true;
	guard->status = status;
}

/* ---- to OpenSMTPD ---- */

static void say(struct guard *guard, const char *text, size_t size)
{
	if (queue_put(&guard->to_smtpd, text, size) == 0)
		return;
	log_error(context, "answer not written (%s)", strerror(ENOMEM));
	end(guard, EX_OSERR);
}

static void let_pass(struct guard *guard, const struct line *request)
{
	char text[LINE_ANSWER_MAX];
	size_t size = line_format_answer(request, "proceed", NULL, text);
	say(guard, text, size);
}

static size_t let_all_pass(struct guard *guard)
{
	const struct pending_one *one = NULL;
	size_t count = 0;
	for (; (one = pending_oldest(&guard->pending)) != NULL; count++) {
		let_pass(guard, &one->request);
		pending_drop_oldest(&guard->pending);
	}
	return count;
}

/* ---- a child ---- */

static _Noreturn void be_child(struct guard *guard, int fd)
{
	child_unblock_signals();
	/* Should the guard be killed, its end of the socket is closed with it. */
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	close(guard->signal_fd);
	exit(guard->work(guard->work_context));
}

static int make_child(struct guard *guard)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
		int error = errno;
		crew_not_begun(&guard->child, clock_now_ms());
		return -error;
	}
	pid_t pid = child_fork(&guard->child);
	if (pid == 0) {
		close(ends[0]);
		be_child(guard, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return pid;
	}
	guard->fd = ends[0];
	return 0;
}

static void start_child(struct guard *guard)
{
	memset(&guard->from_child, 0, sizeof(guard->from_child));
	queue_clear(&guard->to_child);
	int ret = make_child(guard);
	if (ret == 0)
		ret = queue_put(&guard->to_child, guard->greeting.bytes,
				queue_size(&guard->greeting));
	if (ret == 0)
		return;
	log_error(context, "process not started (%s)", strerror(-ret));
	if (!guard->is_registered)
		end(guard, EX_OSERR);
}

/* Returns what waitpid() says of it. It may have to be killed. */
static int wait_for_child(struct guard *guard, unsigned patience_ms)
{
	close(guard->fd);
	guard->fd = -1;
	int status = child_wait(guard->child.pid, patience_ms);
	crew_ended(&guard->child, false, clock_now_ms());
	return status;
}

/* Of the program, after its child has ended without being ready. */
static int exit_status_of(int status)
{
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status) != EX_OK ? WEXITSTATUS(status) : EX_SOFTWARE;
}

/* The child answers no more. */
static void lose_child(struct guard *guard, unsigned patience_ms)
{
	char text[CHILD_END_TEXT_SIZE];
	size_t count = let_all_pass(guard);
	int status = wait_for_child(guard, patience_ms);
	if (!guard->is_registered) {
		end(guard, exit_status_of(status));
		return;
	}
	log_error(context, "process ended and is started again, %s passed=%zu",
		  child_format_end(status, text), count);
	if (crew_slot_is_due(&guard->child, clock_now_ms()))
		start_child(guard);
}

static void send_away(struct guard *guard)
{
	log_error(context, "process does not answer, pid=%d", (int)guard->child.pid);
	lose_child(guard, 0);
}

/* What a child says. A later one registers again, which is not for OpenSMTPD. */
static void take_answer(struct guard *guard, const char *text, size_t size)
{
	static const char first[] = "register|";
	static const char last[] = "register|ready";
	if (size >= sizeof(first) - 1 && memcmp(text, first, sizeof(first) - 1) == 0) {
		if (guard->is_registered)
			return;
		guard->is_registered = size == sizeof(last) - 1 && memcmp(text, last, size) == 0;
	} else if (!pending_take(&guard->pending, text, size)) {
		return;
	}
	say(guard, text, size);
	say(guard, "\n", 1);
}

static void read_child(struct guard *guard)
{
	const char *text = NULL;
	size_t size = 0;
	bool is_cut = false;
	char *to = lines_room(&guard->from_child, &size);
	ssize_t got = read(guard->fd, to, size);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		lose_child(guard, END_MS);
		return;
	}
	lines_filled(&guard->from_child, (size_t)got);
	while (lines_next(&guard->from_child, &text, &size, &is_cut))
		take_answer(guard, text, size);
}

/* ---- from OpenSMTPD ---- */

static void keep_greeting(struct guard *guard, const char *text, size_t size, bool is_last)
{
	if (guard->is_greeted)
		return;
	guard->is_greeted = is_last;
	/* None of it matters to a later child but the end. */
	if (!is_last && queue_size(&guard->greeting) + size > GREETING_MAX)
		return;
	if (queue_put(&guard->greeting, text, size) != 0 ||
	    queue_put(&guard->greeting, "\n", 1) != 0)
		end(guard, EX_OSERR);
}

static void pass_on(struct guard *guard, const char *text, size_t size)
{
	if (guard->fd < 0)
		return;
	if (queue_put(&guard->to_child, text, size) != 0 ||
	    queue_put(&guard->to_child, "\n", 1) != 0)
		end(guard, EX_OSERR);
}

/* A request that no child will answer passes. */
static bool is_to_pass(struct guard *guard, const struct line *line)
{
	if (line->kind != LINE_FILTER || !guard->is_greeted)
		return false;
	if (guard->fd >= 0 &&
	    pending_add(&guard->pending, line, (int64_t)clock_now_ms() + guard->patience_ms) == 0)
		return false;
	let_pass(guard, line);
	return true;
}

static void take_line(struct guard *guard, const char *text, size_t size, bool is_cut)
{
	struct line line;
	char quoted[LOG_QUOTE_MAX];
	bool is_line = line_parse(text, size, is_cut, &line) == NULL;
	if (is_cut && (!is_line || line.kind != LINE_FILTER)) {
		log_warning(context, "line ignored, text=%s (it is too long)",
			    log_quote(text, size, quoted));
		return;
	}
	if (is_line && (line.kind == LINE_CONFIG || line.kind == LINE_READY))
		keep_greeting(guard, text, size, line.kind == LINE_READY);
	if (!is_line || !is_to_pass(guard, &line))
		pass_on(guard, text, size);
}

static void read_smtpd(struct guard *guard)
{
	const char *text = NULL;
	size_t size = 0;
	bool is_cut = false;
	char *to = lines_room(&guard->from_smtpd, &size);
	ssize_t got = read(STDIN_FILENO, to, size);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		if (lines_has_half(&guard->from_smtpd))
			log_warning(context, "line ignored (it has no end)");
		end(guard, EX_OK);
		return;
	}
	lines_filled(&guard->from_smtpd, (size_t)got);
	while (!guard->is_ended && lines_next(&guard->from_smtpd, &text, &size, &is_cut))
		take_line(guard, text, size, is_cut);
}

/* ---- the loop ---- */

static void read_signal(struct guard *guard)
{
	struct signalfd_siginfo info;
	if (read(guard->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	int number = (int)info.ssi_signo;
	if (number == SIGTERM || number == SIGINT)
		end(guard, EX_OK);
	else if (guard->child.pid > 0)
		kill(guard->child.pid, number);
}

static int64_t next_ms(const struct guard *guard)
{
	const struct pending_one *oldest = pending_oldest(&guard->pending);
	if (guard->fd < 0)
		return (int64_t)guard->child.due_ms;
	if (oldest == NULL || (guard->full_due_ms >= 0 && guard->full_due_ms < oldest->due_ms))
		return guard->full_due_ms;
	return oldest->due_ms;
}

static void mind_time(struct guard *guard)
{
	int64_t due_ms = next_ms(guard);
	if (guard->is_ended || due_ms < 0 || (int64_t)clock_now_ms() < due_ms)
		return;
	if (guard->fd < 0)
		start_child(guard);
	else
		send_away(guard);
}

static void flush(struct guard *guard)
{
	int ret = queue_flush(&guard->to_smtpd, STDOUT_FILENO);
	if (ret != 0 && ret != -EAGAIN)
		end(guard, EX_OK);
	/* That it has gone is told when it is read from. */
	if (guard->fd >= 0)
		queue_flush(&guard->to_child, guard->fd);
	if (guard->fd < 0 || queue_size(&guard->to_child) <= UNREAD_MAX)
		guard->full_due_ms = -1;
	else if (guard->full_due_ms < 0)
		guard->full_due_ms = (int64_t)clock_now_ms() + guard->patience_ms;
}

/* OpenSMTPD is not listened to while it does not listen, or while the child has too much to read. */
static void wait_for_events(const struct guard *guard, struct pollfd *fds)
{
	bool is_behind = queue_size(&guard->to_smtpd) > 0;
	bool is_child_behind = guard->fd >= 0 && queue_size(&guard->to_child) > 0;
	bool is_full = guard->full_due_ms >= 0;
	fds[AT_IN] = (struct pollfd){ is_behind || is_full ? -1 : STDIN_FILENO, POLLIN, 0 };
	fds[AT_OUT] = (struct pollfd){ is_behind ? STDOUT_FILENO : -1, POLLOUT, 0 };
	fds[AT_CHILD] = (struct pollfd){ guard->fd, POLLIN, 0 };
	if (is_child_behind)
		fds[AT_CHILD].events |= POLLOUT;
	fds[AT_SIGNAL] = (struct pollfd){ guard->signal_fd, POLLIN, 0 };
	int64_t due_ms = next_ms(guard);
	int64_t left_ms = due_ms < 0 ? -1 : due_ms - (int64_t)clock_now_ms();
	poll(fds, AT_COUNT, due_ms < 0 ? -1 : left_ms > 0 ? (int)left_ms : 0);
}

static void turn(struct guard *guard)
{
	struct pollfd fds[AT_COUNT];
	static const short in = POLLIN | POLLHUP | POLLERR;
	wait_for_events(guard, fds);
	if ((fds[AT_SIGNAL].revents & in) != 0)
		read_signal(guard);
	/* First the answers: what is in them does not pass for want of one. */
	if ((fds[AT_CHILD].revents & in) != 0)
		read_child(guard);
	if ((fds[AT_IN].revents & in) != 0)
		read_smtpd(guard);
	mind_time(guard);
	flush(guard);
}

static int open_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void close_all(struct guard *guard)
{
	if (guard->child.pid > 0)
		wait_for_child(guard, END_MS);
	close(guard->signal_fd);
	pending_deinit(&guard->pending);
	queue_deinit(&guard->greeting);
	queue_deinit(&guard->to_smtpd);
	queue_deinit(&guard->to_child);
}

int guard_run(int (*work)(void *context), void *work_context, int deadline_ms)
{
	static struct guard guard; /* some 40 kB */
	guard.work = work;
	guard.work_context = work_context;
	guard.patience_ms = deadline_ms + GRACE_MS;
	guard.fd = -1;
	guard.full_due_ms = -1;
	guard.child.pace = &pace;
	guard.signal_fd = open_signals();
	if (guard.signal_fd < 0) {
		log_error(context, "signals not received (%s)", strerror(errno));
		return EX_OSERR;
	}
	/* A file as standard input, or one for the output, does not block anyway. */
	fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
	fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
	start_child(&guard);
	while (!guard.is_ended)
		turn(&guard);
	close_all(&guard);
	return guard.status;
}
