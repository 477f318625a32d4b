/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The first bytes of a connection from a balancer, as they come: more is wanted until a byte
 * decides, from then on nothing that follows changes anything, and nothing is written before.
 */

#include "lib/wire/proxy.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNWRITTEN 0xa5

static bool is_unwritten(const struct proxy *proxy)
{
	const uint8_t *bytes = (const uint8_t *)proxy;
	for (size_t i = 0; i < sizeof(*proxy); i++)
		if (bytes[i] != UNWRITTEN)
			return false;
	return true;
}

/* In memory of exactly that size, for the sanitizer. */
static enum proxy_status parse(const uint8_t *data, size_t size, struct proxy *ret_proxy,
			       size_t *ret_used)
{
	uint8_t *bytes = malloc(size > 0 ? size : 1);
	require(bytes != NULL, "memory");
	memcpy(bytes, data, size);
	memset(ret_proxy, UNWRITTEN, sizeof(*ret_proxy));
	*ret_used = SIZE_MAX;
	enum proxy_status status = proxy_parse(bytes, size, ret_proxy, ret_used);
	free(bytes);
	if (status == PROXY_DONE)
		require(*ret_used <= size && *ret_used <= PROXY_SIZE_MAX, "a header of its size");
	else
		require(*ret_used == SIZE_MAX && is_unwritten(ret_proxy), "nothing is written");
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy whole;
	struct proxy part;
	size_t whole_used = 0;
	size_t part_used = 0;
	enum proxy_status status = parse(data, size, &whole, &whole_used);
	require(status != PROXY_MORE || size < PROXY_SIZE_MAX, "a header has an end");
	/* What comes behind a decision does not matter, so the last parts are enough. */
	size_t from = size > PROXY_SIZE_MAX + 2 ? PROXY_SIZE_MAX - 2 : 0;
	for (size_t cut = from; cut < size; cut++) {
		enum proxy_status so_far = parse(data, cut, &part, &part_used);
		if (so_far == PROXY_MORE)
			continue;
		require(so_far == status, "decided once");
		require(status != PROXY_DONE ||
				(part_used == whole_used && part_used <= cut &&
				 part.is_local == whole.is_local &&
				 part.client_port == whole.client_port &&
				 memcmp(&part.client_addr, &whole.client_addr, 16) == 0 &&
				 memcmp(&part.local_addr, &whole.local_addr, 16) == 0),
			"the same header");
	}
	return 0;
}
