/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/asking.h"

static void poll_on_readable(uv_poll_t *poll, int status, int events)
{
	(void)poll;
	(void)status;
	(void)events;
	/* prepare_on_round() is next. */
}

static void deadline_on_timer(uv_timer_t *timer)
{
	(void)timer;
}

/* Behind all events of a round. */
static void prepare_on_round(uv_prepare_t *prepare)
{
	struct asking *asking = prepare->data;
	dnsblv6_process(asking->client);
	/* A callback may have ended it all. */
	if (!asking->is_open)
		return;
	int timeout_ms = dnsblv6_timeout_ms(asking->client);
	if (timeout_ms < 0)
		uv_timer_stop(&asking->deadline);
	else
		uv_timer_start(&asking->deadline, deadline_on_timer, (uint64_t)timeout_ms, 0);
}

int asking_open(struct asking *ret_asking, uv_loop_t *loop, struct dnsblv6 *client)
{
	struct asking *asking = ret_asking;
	asking->client = client;
	asking->is_open = false;
	int ret = uv_poll_init(loop, &asking->poll, dnsblv6_fd(client));
	if (ret != 0)
		return ret;
	/* The others cannot fail. */
	uv_prepare_init(loop, &asking->prepare);
	asking->prepare.data = asking;
	uv_prepare_start(&asking->prepare, prepare_on_round);
	uv_timer_init(loop, &asking->deadline);
	asking->is_open = true;
	return uv_poll_start(&asking->poll, UV_READABLE, poll_on_readable);
}

void asking_close(struct asking *asking)
{
	if (!asking->is_open)
		return;
	asking->is_open = false;
	uv_close((uv_handle_t *)&asking->poll, NULL);
	uv_close((uv_handle_t *)&asking->prepare, NULL);
	uv_close((uv_handle_t *)&asking->deadline, NULL);
}
