/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/fill.h"

#include "bench/users-load/drive/fill_parts.h"
#include "bench/users-load/drive/smtprun.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define TOLD_MAX 10

int fill_take_user(struct fill *fill, uint32_t *ret_user, struct boxplan *ret_plan)
{
	const struct setup *setup = fill->setup;
	if (fill->next_user >= setup->users || fill->errors >= FILL_ERRORS_MAX)
		return -1;
	*ret_user = fill->next_user++;
	boxplan_make(ret_plan, &setup->workload, setup->seed, *ret_user, setup->scale);
	return 0;
}

void fill_tell(struct fill *fill, uint32_t user, const char *what, const char *reason)
{
	if (fill->errors++ < TOLD_MAX)
		fprintf(stderr, "users-load: user %" PRIu32 ", %s: %s\n", user, what, reason);
}

void fill_plan_mail(const struct fill *fill, const struct boxplan *plan, uint32_t user,
		    unsigned folder, uint32_t index, struct mailplan *ret_mail)
{
	char to[SESSION_TEXT_MAX];
	smtprun_address(&fill->setup->address, user, to);
	boxplan_mail(plan, &fill->setup->workload, fill->setup->seed, folder, index, FILL_NOW_S, to,
		     ret_mail);
}

static void run(struct fill *fill, int (*way)(struct fill *))
{
	fill->next_user = fill->setup->from;
	const int ret = way(fill);
	if (ret != 0)
		fill_tell(fill, fill->next_user, "beginning", strerror(-ret));
	uv_run(&fill->loop, UV_RUN_DEFAULT);
}

static int print(const struct fill *fill, double seconds)
{
	printf("users=%" PRIu64 " folders=%" PRIu64 " mails=%" PRIu64 " bytes=%" PRIu64
	       " errors=%" PRIu64 " seconds=%.3f\n",
	       fill->users, fill->folders, fill->mails, fill->bytes, fill->errors, seconds);
	if (fflush(stdout) != 0)
		return EX_IOERR;
	return fill->errors == 0 ? EX_OK : EX_UNAVAILABLE;
}

int fill_mailboxes(const struct setup *setup)
{
	struct fill *fill = calloc(1, sizeof(*fill));
	if (fill == NULL || uv_loop_init(&fill->loop) != 0) {
		free(fill);
		return EX_OSERR;
	}
	const uint64_t start_ns = uv_hrtime();
	fill->setup = setup;
	fill->links.loop = &fill->loop;
	fill->links.timeout_ms = setup->timeout_ns / 1000000;
	if (setup->lmtp.ss_family != 0) {
		run(fill, fill_by_lmtp);
		fill->has_inbox = true;
	}
	fill->links.security = setup->security;
	if (setup->imap.ss_family != 0 && fill->errors < FILL_ERRORS_MAX) {
		if (setup->security != LINK_PLAIN && links_tls_context_new(&fill->links.tls) != 0)
			fill_tell(fill, 0, "TLS", "no memory");
		else
			run(fill, fill_by_imap);
	}
	fill->users = setup->users - setup->from;
	const int status = print(fill, (double)(uv_hrtime() - start_ns) / 1e9);
	links_tls_context_free(fill->links.tls);
	uv_loop_close(&fill->loop);
	free(fill);
	return status;
}
