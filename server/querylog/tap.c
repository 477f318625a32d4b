/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/querylog/tap.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

/* Between 1 and twice the mean, so that the mean is "every". */
static void set_gap(struct tap *tap)
{
	tap->random ^= tap->random << 13;
	tap->random ^= tap->random >> 7;
	tap->random ^= tap->random << 17;
	tap->left = 1 + (uint32_t)(tap->random % (2 * (uint64_t)tap->every - 1));
}

void tap_init(struct tap *tap, int fd, uint32_t every, uint64_t seed,
	      const struct counters *counters)
{
	*tap = (struct tap){ .fd = fd, .every = every, .random = seed | 1, .counters = *counters };
	set_gap(tap);
}

uint64_t tap_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void copy_address(const struct sockaddr *address, struct sockaddr_storage *ret_address)
{
	size_t size = address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
						    : sizeof(struct sockaddr_in6);
	memcpy(ret_address, address, size);
}

void tap_put(struct tap *tap, uint64_t asked_ns, int fd, bool is_tcp, const struct sockaddr *client,
	     struct tap_bytes query, struct tap_bytes response)
{
	struct tap_sample sample;
	socklen_t server_size = sizeof(sample.server);
	set_gap(tap);
	memset(&sample, 0, sizeof(sample));
	sample.asked_ns = asked_ns;
	sample.answered_ns = tap_now_ns();
	sample.query_size = (uint32_t)query.size;
	sample.response_size = (uint32_t)response.size;
	sample.is_tcp = is_tcp;
	copy_address(client, &sample.client);
	if (getsockname(fd, (struct sockaddr *)&sample.server, &server_size) != 0)
		memset(&sample.server, 0, sizeof(sample.server));
	/* sendmsg() reads only. */
	struct iovec parts[] = { { &sample, sizeof(sample) },
				 { (void *)(uintptr_t)query.data, query.size },
				 { (void *)(uintptr_t)response.data, response.size } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
	bool is_sent = sendmsg(tap->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
	counters_count(&tap->counters.server[is_sent ? COUNTERS_SERVER_TAPPED
						     : COUNTERS_SERVER_TAPPED_LOST]);
}
