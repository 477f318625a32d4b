/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/process/mailproxy.h"

#include <errno.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/nanny/nanny.h"
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/base/setup/mailcheckup.h"
#include "integration/mail/mail-proxy/facts/proxycount.h"
#include "integration/mail/mail-proxy/process/proxyworker.h"
#include "integration/mail/mail-proxy/setup/proxysetup.h"

static const char context[] = "mail-proxy";

/* Sessions stay in the process that has accepted them: nothing goes through the nanny's queue. */
#define QUEUE_BYTES 4096

/* ---- the configuration ---- */

static struct nanny_values values_of(const void *own)
{
	const struct proxysetup *setup = own;
	const struct proxysetup_proxy *proxy = &setup->proxy;
	return (struct nanny_values){
		.listeners = { setup->places, setup->listener_count, proxy->processes },
		/* As many templates of decoders as edges. */
		.checkers = setup->scan.is_on ? proxy->processes : 0,
		.certificate_count = setup->tls.certificate_count,
		.chains = setup->tls.chains,
		.sessions_max = proxy->sessions_max,
		.queue_bytes = QUEUE_BYTES,
		.drain_ms = proxy->drain_ms,
		.log_level = proxy->log_level,
		.metrics = proxy->metrics,
	};
}

static struct confine_rights rights_of(const void *own, unsigned role)
{
	const struct proxysetup *setup = own;
	const bool is_keyholder = role == NANNY_KEYHOLDER;
	const bool is_template = role == NANNY_CHECKER;
	return (struct confine_rights){
		.owner = is_keyholder ? &setup->proxy.key_owner : &setup->proxy.owner,
		/* Sockets of next hops and peers, and new signatures, are outside of any other root. */
		.root = "",
		.has_network = !is_keyholder && !is_template,
		.has_memory = !is_keyholder && !is_template,
		.has_children = is_template,
		/* It opens new signatures. */
		.has_loop = is_template,
	};
}

/* What it names outside of itself. */
static int check(const void *own)
{
	const struct proxysetup *setup = own;
	const int status = mailcheckup_keys(context, setup->tls.chains);
	mailcheckup_scan(context, &setup->proxy.owner, &setup->scan);
	return status == EX_OK ? scanner_check(&setup->scan, context) : status;
}

static int share(const void *own, void **ret_shared)
{
	const struct proxysetup *setup = own;
	struct proxyworker_shared *shared = calloc(1, sizeof(*shared));
	*ret_shared = shared;
	if (shared == NULL)
		return -ENOMEM;
	shared->template_ends[TEMPLATE_ASK] = shared->template_ends[TEMPLATE_OWN] = -1;
	const int ret = popfound_new(&shared->found);
	return ret == 0 && setup->scan.is_on ? template_pair(shared->template_ends) : ret;
}

static void unshare(void *own)
{
	struct proxyworker_shared *shared = own;
	popfound_free(shared->found);
	for (unsigned i = 0; i < TEMPLATE_ENDS; i++) {
		if (shared->template_ends[i] >= 0)
			(void)close(shared->template_ends[i]);
	}
	free(shared);
}

/* ---- the processes ---- */

static int run_template(const struct nanny_child *child)
{
	const struct proxysetup *setup = child->setup;
	const struct proxyworker_shared *shared = child->shared;
	(void)close(shared->template_ends[TEMPLATE_ASK]);
	return scanner_run_template(&setup->scan, context, shared->template_ends[TEMPLATE_OWN],
				    child->confine, child->context);
}

int mailproxy_run(const struct daemon_command *command)
{
	static const unsigned numbers[NANNY_EVENTS] = {
		[NANNY_KEYHOLDER] = PROXY_KEYHOLDER_RESTARTS,
		[NANNY_CHECKER] = PROXY_RESTARTS,
		[NANNY_EDGE] = PROXY_RESTARTS,
		[NANNY_WORKER] = PROXY_RESTARTS,
		[NANNY_RELOADED] = PROXY_RELOADS,
		[NANNY_RELOAD_REFUSED] = PROXY_RELOADS_REFUSED,
	};
	static const struct nanny_program program = {
		.context = context,
		.setup_size = sizeof(struct proxysetup),
		.parse = proxysetup_parse,
		.deinit = proxysetup_deinit,
		.values = values_of,
		.rights = rights_of,
		.check = check,
		.prepare = check,
		.share = share,
		.unshare = unshare,
		.checker_name = "decoders",
		.run_checker = run_template,
		.run_edge = proxyworker_run,
		.counters = &proxycount_table,
		.event_numbers = numbers,
	};
	return nanny_run(&program, command);
}
