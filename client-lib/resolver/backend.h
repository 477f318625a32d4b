/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * backend.h - a resolver of the program's own, behind stub.c.
 *
 * Flow: stub.c -> backend_ask() -> the functions of dnsblv6_set_resolver() ->
 *       backend_process() -> stub.c, by backend_read() with a message_reply.
 *
 * What such a resolver says is believed no more than what came over the network:
 * it is parsed by the same parser. Only whether it is secure is the resolver's word.
 */

#include "client-lib/config/config.h"
#include "client-lib/dnsblv6.h"
#include "client-lib/base/message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero: there is none, and nothing here does anything. */
struct backend {
	const struct dnsblv6_resolver *functions;
	void *resolver;
};

/* Has it every function that is known here? */
bool backend_is_whole(const struct dnsblv6_resolver *functions);

/* Opens what config has, if it has one. 0, or what it said. */
int backend_open(struct backend *ret_backend, const struct config *config);
/* is_copy: this process is a child, and the parent goes on with it. */
void backend_close(struct backend *backend, bool is_copy);
bool backend_is_used(const struct backend *backend);
int backend_fd(const struct backend *backend);

/* name is in lower case, without root label. */
int backend_ask(const struct backend *backend, const struct dnsblv6_labels *name, uint16_t type,
		uint64_t id);
void backend_cancel(const struct backend *backend, uint64_t id);
void backend_process(const struct backend *backend, dnsblv6_reply_fn reply, void *library);

/*
 * What came, as a reply: MESSAGE_FAILURE with the INFO-CODE of RFC 8914 when there was none, or
 * none that can be read. Its is_secure is the resolver's word.
 */
struct backend_bytes {
	int status;
	const uint8_t *bytes;
	size_t size;
	bool is_secure;
};
void backend_read(const struct backend_bytes *came, const struct dnsblv6_labels *name,
		  uint16_t type, struct message_reply *ret_reply);

#ifdef __cplusplus
}
#endif
