/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/unbound/dnsblv6-unbound.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unbound.h>

#define CLASS_IN   1
#define ERROR_MAX  256
#define TEXT_MAX   256
#define TRIAL_NAME "trial.libdnsblv6.invalid."

struct setting {
	char *key;
	char *value; /* in the memory of key */
};

struct dnsblv6_unbound {
	struct setting settings[DNSBLV6_UNBOUND_SETTINGS_MAX];
	unsigned count;
	bool is_used;
	char error[ERROR_MAX];
};

/* A question on its way. */
struct query {
	LIST_ENTRY(query) link;
	struct session *session;
	uint64_t id;
	int async_id;
	bool is_cancelled; /* libunbound could not: its callback is waited for */
};

/* libunbound in one process, for one handle. */
struct session {
	struct ub_ctx *context;
	LIST_HEAD(, query) queries;
	dnsblv6_reply_fn reply; /* of the process() that goes on */
	void *library;
};

/* ---- settings ---- */

/* ZONE=ADDRESS */
static int set_stub(struct ub_ctx *context, const char *value)
{
	char zone[TEXT_MAX];
	const char *equals = strchr(value, '=');

	if (equals == NULL || (size_t)(equals - value) >= sizeof(zone))
		return UB_SYNTAX;
	memcpy(zone, value, (size_t)(equals - value));
	zone[equals - value] = '\0';
	int ret = ub_ctx_set_option(context, "do-not-query-localhost:", "no");
	return ret != UB_NOERROR ? ret : ub_ctx_set_stub(context, zone, equals + 1, 0);
}

/* An address of loopback is asked too, since the program names it. */
static int set_forward(struct ub_ctx *context, const char *value)
{
	int ret = ub_ctx_set_option(context, "do-not-query-localhost:", "no");
	return ret != UB_NOERROR ? ret : ub_ctx_set_fwd(context, value);
}

static int set_tls(struct ub_ctx *context, const char *value)
{
	bool is_yes = strcmp(value, "yes") == 0;

	if (!is_yes && strcmp(value, "no") != 0)
		return UB_SYNTAX;
	return ub_ctx_set_tls(context, is_yes);
}

static int set_option(struct ub_ctx *context, const char *key, const char *value)
{
	char option[TEXT_MAX];
	int size = snprintf(option, sizeof(option), "%s:", key);

	if (size < 0 || (size_t)size >= sizeof(option))
		return UB_SYNTAX;
	return ub_ctx_set_option(context, option, value);
}

static int set_resolv_conf(struct ub_ctx *context, const char *value)
{
	int ret = ub_ctx_set_option(context, "do-not-query-localhost:", "no");
	return ret != UB_NOERROR ? ret : ub_ctx_resolvconf(context, value);
}

static int apply_one(struct ub_ctx *context, const struct setting *setting)
{
	static const struct {
		const char *key;
		int (*set)(struct ub_ctx *context, const char *value);
	} keys[] = {
		{ "trust-anchor", ub_ctx_add_ta },
		{ "trust-anchor-file", ub_ctx_add_ta_file },
		{ "forward", set_forward },
		{ "tls", set_tls },
		{ "stub", set_stub },
		{ "resolv-conf", set_resolv_conf },
		{ "config", ub_ctx_config },
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(setting->key, keys[i].key) == 0)
			return keys[i].set(context, setting->value);
	}
	return set_option(context, setting->key, setting->value);
}

static int to_errno(int status)
{
	switch (status) {
	case UB_NOERROR:
		return 0;
	case UB_NOMEM:
		return -ENOMEM;
	case UB_SYNTAX:
	case UB_READFILE:
	case UB_INITFAIL:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/* A context that says nothing on stderr, as libunbound does by itself. */
static struct ub_ctx *make_context(void)
{
	struct ub_ctx *context = ub_ctx_create();

	if (context == NULL)
		return NULL;
	if (ub_ctx_debugout(context, NULL) != UB_NOERROR ||
	    ub_ctx_async(context, 1) != UB_NOERROR) {
		ub_ctx_delete(context);
		return NULL;
	}
	return context;
}

/* All settings; *ret_bad is the one that does not do. */
static int apply(const struct dnsblv6_unbound *resolver, struct ub_ctx *context, unsigned *ret_bad)
{
	for (unsigned i = 0; i < resolver->count; i++) {
		int status = apply_one(context, &resolver->settings[i]);
		if (status != UB_NOERROR) {
			*ret_bad = i;
			return status;
		}
	}
	return UB_NOERROR;
}

static int refuse(struct dnsblv6_unbound *resolver, const struct setting *setting, int status)
{
	snprintf(resolver->error, sizeof(resolver->error), "%.48s \"%.96s\" is refused (%s)",
		 setting->key, setting->value, ub_strerror(status));
	return to_errno(status);
}

/* Has it work once, for a name that it has been told: keys, files and TLS are looked at then. */
static int try_context(struct ub_ctx *context)
{
	struct ub_result *result = NULL;

	int status = ub_ctx_data_add(context, TRIAL_NAME " A 127.0.0.1");
	if (status == UB_NOERROR)
		status = ub_resolve(context, TRIAL_NAME, 1, CLASS_IN, &result);
	if (result != NULL)
		ub_resolve_free(result);
	return status;
}

static int try_settings(struct dnsblv6_unbound *resolver)
{
	unsigned bad = 0;
	struct ub_ctx *context = make_context();

	if (context == NULL)
		return -ENOMEM;
	int status = apply(resolver, context, &bad);
	int ret = 0;
	if (status != UB_NOERROR) {
		ret = refuse(resolver, &resolver->settings[bad], status);
	} else {
		status = try_context(context);
		ret = to_errno(status);
		if (ret != 0)
			snprintf(resolver->error, sizeof(resolver->error),
				 "libunbound does not start: a trust anchor, a file, or TLS without"
				 " OpenSSL (%s)",
				 ub_strerror(status));
	}
	ub_ctx_delete(context);
	return ret;
}

int dnsblv6_unbound_set(struct dnsblv6_unbound *resolver, const char *key, const char *value)
{
	unsigned bad = 0;

	if (resolver == NULL || key == NULL || value == NULL)
		return -EINVAL;
	resolver->error[0] = '\0';
	if (resolver->is_used || resolver->count == DNSBLV6_UNBOUND_SETTINGS_MAX) {
		snprintf(resolver->error, sizeof(resolver->error), "%.64s cannot be set any more",
			 key);
		return resolver->is_used ? -EBUSY : -ENOSPC;
	}
	size_t key_size = strlen(key) + 1;
	size_t value_size = strlen(value) + 1;
	struct setting *setting = &resolver->settings[resolver->count];
	struct ub_ctx *context = make_context();
	setting->key = malloc(key_size + value_size);
	if (context == NULL || setting->key == NULL) {
		free(setting->key);
		ub_ctx_delete(context);
		return -ENOMEM;
	}
	setting->value = setting->key + key_size;
	memcpy(setting->key, key, key_size);
	memcpy(setting->value, value, value_size);
	resolver->count++;
	int status = apply(resolver, context, &bad);
	ub_ctx_delete(context);
	if (status == UB_NOERROR)
		return 0;
	int ret = refuse(resolver, &resolver->settings[bad], status);
	resolver->count--;
	free(setting->key);
	return ret;
}

const char *dnsblv6_unbound_error(const struct dnsblv6_unbound *resolver)
{
	return resolver->error;
}

int dnsblv6_unbound_new(struct dnsblv6_unbound **ret_resolver)
{
	struct dnsblv6_unbound *resolver = calloc(1, sizeof(*resolver));

	if (resolver == NULL)
		return -ENOMEM;
	*ret_resolver = resolver;
	return 0;
}

void dnsblv6_unbound_free(struct dnsblv6_unbound *resolver)
{
	if (resolver == NULL)
		return;
	for (unsigned i = 0; i < resolver->count; i++)
		free(resolver->settings[i].key);
	free(resolver);
}

/* ---- questions ---- */

static void drop(struct query *query)
{
	LIST_REMOVE(query, link);
	free(query);
}

static int status_of(int error, const struct ub_result *result)
{
	if (error != UB_NOERROR || result == NULL)
		return -EIO;
	if (result->bogus)
		return -EBADMSG;
	return result->answer_packet != NULL && result->answer_len > 0 ? 0 : -EIO;
}

static void on_result(void *of, int error, struct ub_result *result)
{
	struct query *query = of;
	struct session *session = query->session;
	uint64_t id = query->id;
	bool is_cancelled = query->is_cancelled;
	int status = status_of(error, result);

	drop(query);
	if (!is_cancelled && session->reply != NULL) {
		if (status == 0)
			session->reply(session->library, id, 0, result->answer_packet,
				       (size_t)result->answer_len, result->secure != 0);
		else
			session->reply(session->library, id, status, NULL, 0, 0);
	}
	if (result != NULL)
		ub_resolve_free(result);
}

static int session_ask(void *of, const char *name, int type, uint64_t id)
{
	struct session *session = of;
	struct query *query = calloc(1, sizeof(*query));

	if (query == NULL)
		return -ENOMEM;
	query->session = session;
	query->id = id;
	LIST_INSERT_HEAD(&session->queries, query, link);
	int status = ub_resolve_async(session->context, name, type, CLASS_IN, query, on_result,
				      &query->async_id);
	if (status == UB_NOERROR)
		return 0;
	drop(query);
	return to_errno(status);
}

static void session_cancel(void *of, uint64_t id)
{
	struct session *session = of;
	struct query *query;

	LIST_FOREACH(query, &session->queries, link)
	{
		if (query->id == id && !query->is_cancelled)
			break;
	}
	if (query == NULL)
		return;
	if (ub_cancel(session->context, query->async_id) == UB_NOERROR)
		drop(query);
	else
		query->is_cancelled = true;
}

static void session_process(void *of, dnsblv6_reply_fn reply, void *library)
{
	struct session *session = of;

	session->reply = reply;
	session->library = library;
	ub_process(session->context);
	session->reply = NULL;
}

static int session_fd(void *of)
{
	const struct session *session = of;

	return ub_fd(session->context);
}

static int session_open(void *of, void **ret_session)
{
	unsigned bad = 0;
	struct session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		return -ENOMEM;
	LIST_INIT(&session->queries);
	session->context = make_context();
	int ret = session->context == NULL ? -ENOMEM : to_errno(apply(of, session->context, &bad));
	if (ret != 0) {
		ub_ctx_delete(session->context);
		free(session);
		return ret;
	}
	*ret_session = session;
	return 0;
}

/*
 * The thread of a copy does not exist, and the pipes to it are the parent's: to end it
 * would end the parent's. So its memory and its descriptors stay, and so do the queries: the list of
 * them may be half changed.
 */
static void session_close(void *of, int is_copy)
{
	struct session *session = of;
	struct query *query = LIST_FIRST(&session->queries);

	if (is_copy)
		return;
	ub_ctx_delete(session->context);
	while (query != NULL) {
		struct query *next = LIST_NEXT(query, link);
		free(query);
		query = next;
	}
	free(session);
}

int dnsblv6_unbound_use(struct dnsblv6_unbound *resolver, struct dnsblv6 *client)
{
	static const struct dnsblv6_resolver functions = {
		.size = sizeof(functions),
		.open = session_open,
		.close = session_close,
		.fd = session_fd,
		.ask = session_ask,
		.cancel = session_cancel,
		.process = session_process,
	};

	if (resolver == NULL || client == NULL)
		return -EINVAL;
	resolver->error[0] = '\0';
	int ret = try_settings(resolver);
	if (ret == 0)
		ret = dnsblv6_set_resolver(client, &functions, resolver);
	if (ret == 0)
		resolver->is_used = true;
	else if (resolver->error[0] == '\0')
		snprintf(resolver->error, sizeof(resolver->error), "not used (%s)",
			 dnsblv6_strerror(ret));
	return ret;
}
