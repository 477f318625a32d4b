/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * sendfile - the floor of a large RETR: a file goes to each connection that says something, by
 * sendfile(2), and nothing else is done.
 *
 *     sendfile HOST PORT FILE
 *
 * bench/pop runs it beside POP3 servers. One connection at a time; it ends with a signal.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

/* For one call: what pop-front has, so that calls are as many. */
#define SEND_MAX (1U << 20)

static int fail(const char *what)
{
	fprintf(stderr, "sendfile: %s: %s\n", what, strerror(errno));
	return EX_OSERR;
}

static int listen_at(const char *host, const char *port)
{
	const int on = 1;
	struct sockaddr_in address = { .sin_family = AF_INET };
	address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || inet_pton(AF_INET, host, &address.sin_addr) != 1)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
			       listen(fd, 16) == 0
		       ? fd
		       : -1;
}

static void serve(int client, int file, off_t size)
{
	char word[64];
	off_t at = 0;
	if (recv(client, word, sizeof(word), 0) <= 0)
		return;
	while (at < size) {
		const off_t left = size - at;
		if (sendfile(client, file, &at, left < SEND_MAX ? (size_t)left : SEND_MAX) <= 0)
			return;
	}
}

int main(int argc, char **argv)
{
	struct stat facts;
	if (argc != 4) {
		fputs("usage: sendfile HOST PORT FILE\n", stderr);
		return EX_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	const int file = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &facts) != 0)
		return fail(argv[3]);
	const int listener = listen_at(argv[1], argv[2]);
	if (listener < 0)
		return fail(argv[1]);
	for (;;) {
		const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			continue;
		serve(client, file, facts.st_size);
		close(client);
	}
}
