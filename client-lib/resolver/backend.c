/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/resolver/backend.h"

#include <errno.h>
#include <string.h>

#define SERVFAIL    2
#define EDE_BOGUS   6 /* RFC 8914 */
#define EDE_NETWORK 23

bool backend_is_whole(const struct dnsblv6_resolver *functions)
{
	return functions->size >= sizeof(*functions) && functions->open != NULL &&
	       functions->close != NULL && functions->fd != NULL && functions->ask != NULL &&
	       functions->cancel != NULL && functions->process != NULL;
}

int backend_open(struct backend *ret_backend, const struct config *config)
{
	void *resolver = NULL;

	if (config->resolver == NULL)
		return 0;
	int ret = config->resolver->open(config->resolver_context, &resolver);
	if (ret < 0)
		return ret;
	ret_backend->resolver = resolver;
	/* Last: a child that is forked here must not close one of before. */
	__atomic_store_n(&ret_backend->functions, config->resolver, __ATOMIC_RELEASE);
	return 0;
}

void backend_close(struct backend *backend, bool is_copy)
{
	const struct dnsblv6_resolver *functions = backend->functions;

	/* First: a child that is forked in the call below must not close the same once more. */
	backend->functions = NULL;
	if (functions != NULL)
		functions->close(backend->resolver, is_copy);
}

bool backend_is_used(const struct backend *backend)
{
	return backend->functions != NULL;
}

int backend_fd(const struct backend *backend)
{
	return backend->functions->fd(backend->resolver);
}

int backend_ask(const struct backend *backend, const struct dnsblv6_labels *name, uint16_t type,
		uint64_t id)
{
	char text[DNSBLV6_NAME_TEXT_SIZE + 1];
	size_t size = dnsblv6_name_format(name->wire, name->size, text);

	text[size] = '.';
	text[size + 1] = '\0';
	return backend->functions->ask(backend->resolver, text, type, id);
}

void backend_cancel(const struct backend *backend, uint64_t id)
{
	backend->functions->cancel(backend->resolver, id);
}

void backend_process(const struct backend *backend, dnsblv6_reply_fn reply, void *library)
{
	backend->functions->process(backend->resolver, reply, library);
}

static int parse(const struct backend_bytes *came, const struct dnsblv6_labels *name, uint16_t type,
		 struct message_reply *ret_reply)
{
	struct message_question question = { .name = *name, .type = type };

	if (came->status != 0)
		return came->status;
	if (came->bytes == NULL || came->size < 2)
		return -EBADMSG;
	question.id = (uint16_t)(came->bytes[0] << 8 | came->bytes[1]);
	int ret = message_parse(&question, came->bytes, came->size, ret_reply);
	/* There is no other way to ask it. */
	return ret == 0 && ret_reply->kind == MESSAGE_TRUNCATED ? -EMSGSIZE : ret;
}

void backend_read(const struct backend_bytes *came, const struct dnsblv6_labels *name,
		  uint16_t type, struct message_reply *ret_reply)
{
	int ret = parse(came, name, type, ret_reply);

	if (ret != 0) {
		memset(ret_reply, 0, sizeof(*ret_reply));
		ret_reply->kind = MESSAGE_FAILURE;
		ret_reply->rcode = SERVFAIL;
		ret_reply->ede = ret == -EBADMSG ? EDE_BOGUS : EDE_NETWORK;
	}
	ret_reply->is_secure = ret == 0 && came->is_secure;
}
