/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6ctl - asks a running dnsblv6d how it is, and tells it what to do.
 *
 * One line to the control socket, one answer back (request.h says how both
 * look), and the text of it to standard output. dnsblv6ctl(8) is the manual.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/options.h"
#include "lib/common/wholefile.h"
#include "lib/format/array.h"
#include "lib/process/clock.h"
#include "lib/process/listening.h"
#include "server/control/request.h"

#define TIMEOUT_MAX_S 3600
#define HEAD_MAX      2048 /* "ok SIZE", or an error with the line of a configuration */
#define CHUNK_SIZE    16384

struct command {
	const char *socket_path;
	const char *output_path; /* NULL: standard output */
	unsigned timeout_s;
	struct request request;
	char line[REQUEST_MAX];
};

#define AT(member) OPTIONS_AT(struct command, member)

static const struct options_bound rows[] = {
	{ { 's', "socket", "PATH", "talk to PATH instead of " DNSBLV6CTL_SOCKET },
	  AT(socket_path) },
	{ { 't', "timeout", "SECONDS", "wait so long for the answer; default 90" },
	  AT(timeout_s),
	  .min = 1,
	  .max = TIMEOUT_MAX_S },
	{ { 'o', "output", "FILE", "write the answer to FILE, all of it or nothing" },
	  AT(output_path) },
};

static const struct options_table table = {
	.program = "dnsblv6ctl",
	.usage = "[--socket PATH] [--timeout SECONDS] [--output FILE]\n"
		 "       status | zones | stats | metrics | driver | top [NUMBER] | reload | stop",
	.summary = "Asks a running dnsblv6d how it is, and tells it what to do.",
	OPTIONS_ROWS(rows),
};

/* What the server has said. */
struct answer {
	char *data; /* all that came; ours */
	size_t size;
	size_t max;
};

__attribute__((format(printf, 2, 3))) static int fail(int status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("dnsblv6ctl: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	return status;
}

/* ---- the command line ---- */

static void read_words(struct command *command, int argc, char **argv)
{
	if (optind == argc)
		options_fail(&table, "a request is missing");
	if (argc - optind > 2)
		options_fail(&table, "'%s' is not expected", argv[optind + 2]);
	bool has_argument = argc - optind == 2;
	int size = snprintf(command->line, sizeof(command->line), "%s%s%s", argv[optind],
			    has_argument ? " " : "", has_argument ? argv[optind + 1] : "");
	const char *reason =
		(size_t)size + 1 >= sizeof(command->line)
			? "the request is too long"
			: request_parse(command->line, (size_t)size, &command->request);
	if (reason != NULL)
		options_fail(&table, "'%.80s': %s", argv[argc - 1], reason);
	command->line[size] = '\n';
	command->line[size + 1] = '\0';
}

static struct command read_command(int argc, char **argv)
{
	struct command command = { .socket_path = DNSBLV6CTL_SOCKET, .timeout_s = 90 };
	options_settle_process();
	options_parse(&table, argc, argv, &command);
	read_words(&command, argc, argv);
	return command;
}

/* ---- talking ---- */

/* Waits where more clients wait than the socket keeps. */
static int connect_to(const char *path, unsigned timeout_s, int *ret_fd)
{
	int ret = listening_connect_path(path, SOCK_STREAM, timeout_s, ret_fd);
	return ret == -EAGAIN ? -ETIMEDOUT : ret;
}

/* 0, -ETIMEDOUT or -errno. */
static int wait_for(int fd, short events, uint64_t end_ms)
{
	uint64_t now = clock_now_ms();
	struct pollfd polled = { .fd = fd, .events = events };
	if (now >= end_ms)
		return -ETIMEDOUT;
	int ret = poll(&polled, 1, (int)(end_ms - now));
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	return ret == 0 ? -ETIMEDOUT : 0;
}

static int reserve(struct answer *answer)
{
	if (answer->size < answer->max)
		return 0;
	if (answer->max > REQUEST_ANSWER_MAX + HEAD_MAX)
		return -EMSGSIZE;
	return array_reserve(answer->data, answer->size + CHUNK_SIZE, &answer->max) ? 0 : -ENOMEM;
}

/* Until the server closes the connection: for "stop" that is its end. */
static int read_all(int fd, uint64_t end_ms, struct answer *answer)
{
	for (;;) {
		int ret = reserve(answer);
		if (ret == 0)
			ret = wait_for(fd, POLLIN, end_ms);
		if (ret != 0)
			return ret;
		ssize_t size = recv(fd, answer->data + answer->size, answer->max - answer->size,
				    MSG_DONTWAIT);
		if (size == 0)
			return 0;
		if (size < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (size > 0)
			answer->size += (size_t)size;
	}
}

static int talk(const struct command *command, int fd, struct answer *answer)
{
	uint64_t end_ms = clock_now_ms() + command->timeout_s * UINT64_C(1000);
	size_t size = strlen(command->line);
	/* A new socket has room for so short a line. */
	ssize_t sent = send(fd, command->line, size, MSG_NOSIGNAL);
	if (sent != (ssize_t)size)
		return sent < 0 ? -errno : -EIO;
	return read_all(fd, end_ms, answer);
}

/* ---- the answer ---- */

static int print(const struct command *command, const char *text, size_t size)
{
	if (command->output_path != NULL) {
		int ret = wholefile_write(AT_FDCWD, command->output_path, text, size, 0666, 0);
		return ret == 0 ? EX_OK
				: fail(EX_IOERR, "%s: %s", command->output_path, strerror(-ret));
	}
	fwrite(text, 1, size, stdout);
	return EX_OK;
}

/* "ok SIZE" and so much behind it, or an error. */
static int take_answer(const struct command *command, struct answer *answer)
{
	char *end = answer->size > 0 ? memchr(answer->data, '\n', answer->size) : NULL;
	if (end == NULL)
		return fail(EX_SOFTWARE, "the server has closed the connection without an answer");
	*end = '\0';
	size_t rest = answer->size - (size_t)(end + 1 - answer->data);
	unsigned long long size = 0;
	if (strncmp(answer->data, "error ", 6) == 0)
		return fail(command->request.verb == REQUEST_RELOAD ? EX_CONFIG : EX_UNAVAILABLE,
			    "%s", answer->data + 6);
	if (sscanf(answer->data, "ok %llu", &size) != 1 || size != rest)
		return fail(EX_SOFTWARE, "the answer is not complete");
	return print(command, end + 1, rest);
}

static int fail_to_talk(const struct command *command, int ret)
{
	if (ret == -EMSGSIZE)
		return fail(EX_SOFTWARE, "the answer is longer than one of a dnsblv6d");
	int status = ret == -EACCES || ret == -EPERM ? EX_NOPERM
		     : ret == -ETIMEDOUT	     ? EX_TEMPFAIL
						     : EX_UNAVAILABLE;
	return fail(status, "%s: %s", command->socket_path, strerror(-ret));
}

int main(int argc, char **argv)
{
	struct command command = read_command(argc, argv);
	struct answer answer = { 0 };
	int fd = -1;
	int ret = connect_to(command.socket_path, command.timeout_s, &fd);
	if (ret == 0)
		ret = talk(&command, fd, &answer);
	int status = ret == 0 ? take_answer(&command, &answer) : fail_to_talk(&command, ret);
	if (fd >= 0)
		close(fd);
	free(answer.data);
	return status;
}
