/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * echo - the floor under every UDP server: each datagram goes back as it came,
 * with the QR bit set.
 *
 *     echo ADDRESS PORT
 *
 * Receives with recvmmsg() and sends with sendmmsg(), up to 64 at a time, and
 * does nothing else: no event loop, no look at the bytes. bench/serve measures
 * servers against it. Ends with SIGTERM.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>

#define BATCH	     64
#define DATAGRAM_MAX 2048
#define BUFFER	     (4 * 1024 * 1024)

static struct mmsghdr messages[BATCH];
static struct iovec vectors[BATCH];
static struct sockaddr_in peers[BATCH];
static uint8_t bytes[BATCH][DATAGRAM_MAX];

static int open_socket(const char *address, const char *port)
{
	struct sockaddr_in local = { .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
	int size = BUFFER;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || inet_pton(AF_INET, address, &local.sin_addr) != 1 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) != 0 ||
	    bind(fd, (struct sockaddr *)&local, sizeof(local)) != 0)
		return -1;
	return fd;
}

static void prepare(int count)
{
	for (int i = 0; i < count; i++) {
		vectors[i] = (struct iovec){ bytes[i], DATAGRAM_MAX };
		messages[i].msg_hdr = (struct msghdr){ .msg_name = &peers[i],
						       .msg_namelen = sizeof(peers[i]),
						       .msg_iov = &vectors[i],
						       .msg_iovlen = 1 };
	}
}

static void send_back(int fd, int count)
{
	for (int i = 0; i < count; i++) {
		vectors[i].iov_len = messages[i].msg_len;
		bytes[i][2] |= 0x80;
	}
	for (int done = 0; done < count;) {
		int sent = sendmmsg(fd, messages + done, (unsigned)(count - done), 0);
		done += sent > 0 ? sent : 1; /* one that cannot be sent is lost, as in a server */
	}
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open_socket(argv[1], argv[2]) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: echo ADDRESS PORT, of a free port\n");
		return EX_USAGE;
	}
	prepare(BATCH);
	for (;;) {
		int count = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
		if (count > 0) {
			send_back(fd, count);
			prepare(count);
		} else if (errno != EINTR) {
			perror("echo");
			return EX_OSERR;
		}
	}
}
