/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * held_send - the answer to STLS goes out but for its first byte when what its client has said behind that is read.
 *
 * For LD_PRELOAD. A socket whose client takes no replies may be full at that byte, but rarely is at any that a
 * test knows. The linker gives the function its name, as for moved_clock.c.
 */

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define EXPORTED __attribute__((visibility("default")))

static const char answer[] = "+OK Begin TLS";
static const char question[] = "STLS\r\n";

EXPORTED ssize_t held_send(int fd, const void *bytes, size_t size, int flags);

static int begins(const void *bytes, size_t size, const char *text)
{
	return size >= strlen(text) && memcmp(bytes, text, strlen(text)) == 0;
}

static int is_behind_question(int fd)
{
	char byte;
	struct tcp_info info;
	socklen_t info_size = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) != 0)
		return 1;
	return info.tcpi_bytes_received > strlen(question) &&
	       recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

ssize_t held_send(int fd, const void *bytes, size_t size, int flags)
{
	if (begins(bytes, size, answer + 1) && !is_behind_question(fd)) {
		errno = EAGAIN;
		return -1;
	}
	return sendto(fd, bytes, begins(bytes, size, answer) ? 1 : size, flags, NULL, 0);
}
