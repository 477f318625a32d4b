/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/xdp-kernel/links.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/common/values.h"

/* ---- interfaces ---- */

static int ask(int fd, struct ifreq *request, struct xdp_link *ret_link)
{
	struct xdp_link link = { 0 };
	if (ioctl(fd, SIOCGIFINDEX, request) != 0)
		return -errno;
	link.index = (uint32_t)request->ifr_ifindex;
	if (ioctl(fd, SIOCGIFMTU, request) != 0)
		return -errno;
	link.mtu = (uint32_t)request->ifr_mtu;
	if (ioctl(fd, SIOCGIFHWADDR, request) != 0)
		return -errno;
	if (request->ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return -EPROTONOSUPPORT;
	memcpy(link.mac, request->ifr_hwaddr.sa_data, sizeof(link.mac));
	*ret_link = link;
	return 0;
}

int links_find(const char *name, struct xdp_link *ret_link)
{
	struct ifreq request;
	memset(&request, 0, sizeof(request));
	if (strlen(name) >= sizeof(request.ifr_name))
		return -ENODEV;
	memcpy(request.ifr_name, name, strlen(name));
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int ret = ask(fd, &request, ret_link);
	close(fd);
	return ret;
}

/* ---- addresses ---- */

struct expansion {
	struct sockaddr_storage *all;
	size_t max;
	size_t count;
};

static bool is_wildcard(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *ipv6 = (const void *)address;
	const struct sockaddr_in *ipv4 = (const void *)address;
	return address->ss_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&ipv6->sin6_addr)
					      : ipv4->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Nothing but what counts: two of them are alike when their bytes are. */
static struct sockaddr_storage make_address(const struct sockaddr *address, in_port_t port_be16)
{
	struct sockaddr_storage made;
	memset(&made, 0, sizeof(made));
	made.ss_family = address->sa_family;
	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *from = (const void *)address;
		struct sockaddr_in6 *to = (void *)&made;
		to->sin6_addr = from->sin6_addr;
		to->sin6_port = port_be16;
	} else {
		const struct sockaddr_in *from = (const void *)address;
		struct sockaddr_in *to = (void *)&made;
		to->sin_addr = from->sin_addr;
		to->sin_port = port_be16;
	}
	return made;
}

/* Those beyond what there is room for may be counted twice. */
static void add(struct expansion *expansion, const struct sockaddr_storage *address)
{
	size_t written = expansion->count < expansion->max ? expansion->count : expansion->max;
	if (values_is_loopback(address))
		return;
	for (size_t i = 0; i < written; i++) {
		if (memcmp(&expansion->all[i], address, sizeof(*address)) == 0)
			return;
	}
	if (expansion->count < expansion->max)
		expansion->all[expansion->count] = *address;
	expansion->count++;
}

static void add_all(struct expansion *expansion, const struct ifaddrs *interfaces,
		    sa_family_t family, in_port_t port_be16)
{
	for (const struct ifaddrs *at = interfaces; at != NULL; at = at->ifa_next) {
		if (at->ifa_addr == NULL || at->ifa_addr->sa_family != family)
			continue;
		const struct sockaddr_storage address = make_address(at->ifa_addr, port_be16);
		add(expansion, &address);
	}
}

int links_expand(const struct sockaddr_storage *listen, size_t listen_count,
		 struct sockaddr_storage *ret_addresses, size_t ret_max)
{
	struct ifaddrs *interfaces = NULL;
	struct expansion expansion = { ret_addresses, ret_max, 0 };
	if (getifaddrs(&interfaces) != 0)
		return -errno;
	for (size_t i = 0; i < listen_count; i++) {
		sa_family_t family = listen[i].ss_family;
		const struct sockaddr_in6 *ipv6 = (const void *)&listen[i];
		const struct sockaddr_in *ipv4 = (const void *)&listen[i];
		in_port_t port_be16 = family == AF_INET6 ? ipv6->sin6_port : ipv4->sin_port;
		const struct sockaddr_storage address =
			make_address((const struct sockaddr *)&listen[i], port_be16);
		if (is_wildcard(&address))
			add_all(&expansion, interfaces, family, port_be16);
		else
			add(&expansion, &address);
	}
	freeifaddrs(interfaces);
	return (int)expansion.count;
}
