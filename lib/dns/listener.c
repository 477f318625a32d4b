/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/dns/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
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

/* A row for each worker, without sockets yet. */
static int make_rows(struct listener *listener, size_t worker_count, size_t address_count)
{
	size_t count = worker_count * address_count;
	*listener =
		(struct listener){ .worker_count = worker_count, .address_count = address_count };
	listener->udp = malloc((count + 1) * sizeof(int));
	listener->tcp = malloc((count + 1) * sizeof(int));
	if (listener->udp == NULL || listener->tcp == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		listener->udp[i] = listener->tcp[i] = -1;
	return 0;
}

int listener_open(struct listener *listener, struct listener_addresses *addresses,
		  size_t worker_count, struct listener_error *reterr_error)
{
	*reterr_error = (struct listener_error){ .protocol = "" };
	int made = make_rows(listener, worker_count, addresses->count);
	if (made != 0)
		return made;
	for (size_t i = 0; i < addresses->count; i++) {
		int ret = open_address(listener, i, &addresses->all[i], &reterr_error->protocol);
		if (ret == 0)
			continue;
		reterr_error->address = addresses->all[i];
		return ret;
	}
	return 0;
}

/* ---- sockets that others have bound ---- */

static const char not_ip[] = "neither UDP nor TCP over IPv4 or IPv6";

static int get_option(int fd, int level, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);
	return getsockopt(fd, level, option, &value, &size) == 0 ? value : -1;
}

/* IPv4 clients of such a socket would have addresses that no rule about addresses knows. */
static bool takes_both_families(int fd, const struct sockaddr_storage *address)
{
	if (address->ss_family != AF_INET6)
		return false;
	const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
	return IN6_IS_ADDR_V4MAPPED(six) ||
	       (is_wildcard(address) && get_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) != 1);
}

/* Its address and type, when it can be ours; otherwise the reason why not. */
static const char *look_at(int fd, struct sockaddr_storage *ret_address, int *ret_type)
{
	struct sockaddr_storage address;
	memset(&address, 0, sizeof(address));
	socklen_t size = sizeof(address);
	int type = get_option(fd, SOL_SOCKET, SO_TYPE);
	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
	    (address.ss_family != AF_INET && address.ss_family != AF_INET6) ||
	    (type != SOCK_DGRAM && type != SOCK_STREAM))
		return not_ip;
	if (get_port(&address) == 0)
		return "not bound to a port";
	if (takes_both_families(fd, &address))
		return "takes IPv4 as well; BindIPv6Only=ipv6-only would not";
	if (type == SOCK_STREAM && get_option(fd, SOL_SOCKET, SO_ACCEPTCONN) != 1)
		return "a connection, not a listening socket; Accept=no would pass one";
	*ret_address = address;
	*ret_type = type;
	return NULL;
}

/* As a socket that we have opened. */
static int make_ours(int fd, const struct sockaddr_storage *address, int type)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	return type == SOCK_DGRAM ? set_udp_options(fd, address) : 0;
}

static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family || get_port(a) != get_port(b))
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *other = (const struct sockaddr_in6 *)b;
	return IN6_ARE_ADDR_EQUAL(&six->sin6_addr, &other->sin6_addr) &&
	       six->sin6_scope_id == other->sin6_scope_id;
}

/* Where address stands in addresses; their count when it does not. */
static size_t find_address(const struct listener_addresses *addresses,
			   const struct sockaddr_storage *address)
{
	size_t index = 0;
	while (index < addresses->count && !is_same_address(&addresses->all[index], address))
		index++;
	return index;
}

/* The addresses of the sockets take the place of those before. */
static const char *take_addresses(struct listener_addresses *addresses, int first_fd, int count,
				  int *ret_fd)
{
	addresses->count = 0;
	for (int fd = first_fd; fd < first_fd + count; fd++) {
		struct sockaddr_storage address;
		int type = 0;
		*ret_fd = fd;
		const char *reason = look_at(fd, &address, &type);
		if (reason != NULL)
			return reason;
		if (make_ours(fd, &address, type) != 0)
			return "options not set";
		if (find_address(addresses, &address) < addresses->count)
			continue;
		if (addresses->count == LISTENER_ADDRESS_MAX)
			return "more than 64 addresses";
		addresses->all[addresses->count++] = address;
	}
	return NULL;
}

/* To the first worker that has none for this address. */
static const char *deal_out(struct listener *listener, const struct listener_addresses *addresses,
			    int fd)
{
	struct sockaddr_storage address;
	int type = 0;
	const char *reason = look_at(fd, &address, &type);
	if (reason != NULL)
		return reason;
	int *sockets = type == SOCK_DGRAM ? listener->udp : listener->tcp;
	size_t index = find_address(addresses, &address);
	for (size_t worker = 0; worker < listener->worker_count; worker++) {
		int *socket = &sockets[worker * listener->address_count + index];
		if (*socket >= 0)
			continue;
		*socket = fd;
		return NULL;
	}
	return "more sockets of this address than workers";
}

/* Workers that got no socket of an address share those of the first ones, in turn. */
static const char *share_out(const struct listener *listener, int *sockets, size_t index)
{
	size_t given = 0;
	while (given < listener->worker_count &&
	       sockets[given * listener->address_count + index] >= 0)
		given++;
	if (given == 0)
		return sockets == listener->udp ? "no UDP socket of the same address"
						: "no TCP socket of the same address";
	for (size_t worker = given; worker < listener->worker_count; worker++) {
		int shared = sockets[worker % given * listener->address_count + index];
		int fd = fcntl(shared, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return "no descriptor for another worker";
		sockets[worker * listener->address_count + index] = fd;
	}
	return NULL;
}

static int any_socket(const struct listener *listener, size_t index)
{
	return listener->udp[index] >= 0 ? listener->udp[index] : listener->tcp[index];
}

const char *listener_adopt(struct listener *listener, struct listener_addresses *addresses,
			   size_t worker_count, int first_fd, int count, int *reterr_fd)
{
	*listener = (struct listener){ 0 };
	const char *reason = take_addresses(addresses, first_fd, count, reterr_fd);
	if (reason != NULL)
		return reason;
	if (make_rows(listener, worker_count, addresses->count) != 0)
		return "out of memory";
	for (int fd = first_fd; fd < first_fd + count && reason == NULL; fd++) {
		*reterr_fd = fd;
		reason = deal_out(listener, addresses, fd);
	}
	for (size_t i = 0; i < listener->address_count && reason == NULL; i++) {
		*reterr_fd = any_socket(listener, i);
		reason = share_out(listener, listener->udp, i);
		if (reason == NULL)
			reason = share_out(listener, listener->tcp, i);
	}
	return reason;
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
