/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/uvhandle.h"

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
	struct uvhandle *uvhandle = prepare->data;
	dnsblv6_process(uvhandle->client);
	/* A callback may have ended it all. */
	if (!uvhandle->is_open)
		return;
	int timeout_ms = dnsblv6_timeout_ms(uvhandle->client);
	if (timeout_ms < 0)
		uv_timer_stop(&uvhandle->deadline);
	else
		uv_timer_start(&uvhandle->deadline, deadline_on_timer, (uint64_t)timeout_ms, 0);
}

int uvhandle_open(struct uvhandle *ret_asking, uv_loop_t *loop, struct dnsblv6 *client)
{
	struct uvhandle *uvhandle = ret_asking;
	uvhandle->client = client;
	uvhandle->is_open = false;
	int ret = uv_poll_init(loop, &uvhandle->poll, dnsblv6_fd(client));
	if (ret != 0)
		return ret;
	/* The others cannot fail. */
	uv_prepare_init(loop, &uvhandle->prepare);
	uvhandle->prepare.data = uvhandle;
	uv_prepare_start(&uvhandle->prepare, prepare_on_round);
	uv_timer_init(loop, &uvhandle->deadline);
	uvhandle->is_open = true;
	return uv_poll_start(&uvhandle->poll, UV_READABLE, poll_on_readable);
}

void uvhandle_close(struct uvhandle *uvhandle)
{
	if (!uvhandle->is_open)
		return;
	uvhandle->is_open = false;
	uv_close((uv_handle_t *)&uvhandle->poll, NULL);
	uv_close((uv_handle_t *)&uvhandle->prepare, NULL);
	uv_close((uv_handle_t *)&uvhandle->deadline, NULL);
}
