/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG	   511
#define PORT_TRIES 32 /* a port free for UDP may be taken for TCP */
#define UDP_BUFFER                                                                                 \
	(4 * 1024 * 1024) /* what arrives while a worker is replaced; the kernel may give less */

static socklen_t address_size(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					     : sizeof(struct sockaddr_in6);
}

static uint16_t get_port(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)address)->sin_port);
	return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET)
		((struct sockaddr_in *)address)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
}

static bool is_wildcard(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ((const struct sockaddr_in *)address)->sin_addr.s_addr == INADDR_ANY;
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int enable(int fd, int level, int option)
{
	int on = 1;
	return setsockopt(fd, level, option, &on, sizeof(on)) == 0 ? 0 : -errno;
}

/* What makes UDP answers leave from the address that was asked, and never in fragments. */
static int set_udp_options(int fd, const struct sockaddr_storage *address)
{
	int size = UDP_BUFFER;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	int discover = IP_PMTUDISC_OMIT;
	if (address->ss_family == AF_INET) {
		/* Against forged fragmentation-needed messages; old kernels do without. */
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover));
		return is_wildcard(address) ? enable(fd, IPPROTO_IP, IP_PKTINFO) : 0;
	}
	discover = IPV6_PMTUDISC_OMIT;
	setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &discover, sizeof(discover));
	return is_wildcard(address) ? enable(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO) : 0;
}

/* Returns the socket or -errno. */
static int open_socket(const struct sockaddr_storage *address, int type, bool is_shared)
{
	int fd = socket(address->ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int ret = 0;
	if (address->ss_family == AF_INET6)
		ret = enable(fd, IPPROTO_IPV6, IPV6_V6ONLY);
	/* Connections of the server before us may still be waiting to end. */
	if (ret == 0 && type == SOCK_STREAM)
		ret = enable(fd, SOL_SOCKET, SO_REUSEADDR);
	if (ret == 0 && is_shared)
		ret = enable(fd, SOL_SOCKET, SO_REUSEPORT);
	if (ret == 0 && type == SOCK_DGRAM)
		ret = set_udp_options(fd, address);
	if (ret == 0 && bind(fd, (const struct sockaddr *)address, address_size(address)) != 0)
		ret = -errno;
	if (ret == 0 && type == SOCK_STREAM && is_shared && listen(fd, BACKLOG) != 0)
		ret = -errno;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

/* Is the address free of others, ours to share? 0 or -errno. */
static int probe(const struct sockaddr_storage *address, int type)
{
	int fd = open_socket(address, type, false);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* A port that is free for UDP now. */
static int take_port(struct sockaddr_storage *address)
{
	int fd = open_socket(address, SOCK_DGRAM, false);
	if (fd < 0)
		return fd;
	struct sockaddr_storage bound;
	memset(&bound, 0, sizeof(bound));
	socklen_t size = sizeof(bound);
	int ret = getsockname(fd, (struct sockaddr *)&bound, &size) == 0 ? 0 : -errno;
	close(fd);
	if (ret == 0)
		set_port(address, get_port(&bound));
	return ret;
}

static int open_row(struct listener *listener, size_t index, const struct sockaddr_storage *address,
		    const char **ret_protocol)
{
	*ret_protocol = "udp";
	int ret = probe(address, SOCK_DGRAM);
	if (ret == 0) {
		*ret_protocol = "tcp";
		ret = probe(address, SOCK_STREAM);
	}
	for (size_t worker = 0; ret == 0 && worker < listener->worker_count; worker++) {
		size_t at = worker * listener->address_count + index;
		*ret_protocol = "udp";
		listener->udp[at] = open_socket(address, SOCK_DGRAM, true);
		if (listener->udp[at] < 0)
			return listener->udp[at];
		*ret_protocol = "tcp";
		listener->tcp[at] = open_socket(address, SOCK_STREAM, true);
		if (listener->tcp[at] < 0)
			return listener->tcp[at];
	}
	return ret;
}

static void close_row(struct listener *listener, size_t index)
{
	for (size_t worker = 0; worker < listener->worker_count; worker++) {
		size_t at = worker * listener->address_count + index;
		if (listener->udp[at] >= 0)
			close(listener->udp[at]);
		if (listener->tcp[at] >= 0)
			close(listener->tcp[at]);
		listener->udp[at] = -1;
		listener->tcp[at] = -1;
	}
}

static int open_address(struct listener *listener, size_t index, struct sockaddr_storage *address,
			const char **ret_protocol)
{
	if (get_port(address) != 0)
		return open_row(listener, index, address, ret_protocol);
	int ret = -EADDRINUSE;
	for (int i = 0; i < PORT_TRIES && ret == -EADDRINUSE; i++) {
		set_port(address, 0);
		*ret_protocol = "udp";
		ret = take_port(address);
		if (ret == 0)
			ret = open_row(listener, index, address, ret_protocol);
		if (ret != 0)
			close_row(listener, index);
	}
	return ret;
}

int listener_open(struct listener *listener, struct settings *settings,
		  struct listener_error *reterr_error)
{
	size_t count = settings->workers * settings->listen_count;
	*listener = (struct listener){ .worker_count = settings->workers,
				       .address_count = settings->listen_count };
	*reterr_error = (struct listener_error){ .protocol = "" };
	listener->udp = malloc((count + 1) * sizeof(int));
	listener->tcp = malloc((count + 1) * sizeof(int));
	if (listener->udp == NULL || listener->tcp == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		listener->udp[i] = listener->tcp[i] = -1;
	for (size_t i = 0; i < settings->listen_count; i++) {
		int ret = open_address(listener, i, &settings->listen[i], &reterr_error->protocol);
		if (ret == 0)
			continue;
		reterr_error->port =
			settings_format_address(&settings->listen[i], reterr_error->address);
		return ret;
	}
	return 0;
}

void listener_close(struct listener *listener)
{
	for (size_t i = 0;
	     listener->udp != NULL && listener->tcp != NULL && i < listener->address_count; i++)
		close_row(listener, i);
	free(listener->udp);
	free(listener->tcp);
	*listener = (struct listener){ 0 };
}

const int *listener_udp(const struct listener *listener, size_t worker)
{
	return listener->udp + worker * listener->address_count;
}

const int *listener_tcp(const struct listener *listener, size_t worker)
{
	return listener->tcp + worker * listener->address_count;
}
