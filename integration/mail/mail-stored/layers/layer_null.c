/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/layers/layers.h"

#include <errno.h>
#include <stdlib.h>

struct null_layer {
	struct maillayer layer;
	uint64_t count;
};

static int take(struct maillayer *layer, const struct mailstore_mail *mail, struct mailid *ret_id)
{
	struct null_layer *null = (struct null_layer *)layer;
	if (mail->id != NULL)
		return MAILSTORE_EFOREIGN;
	if (mail->recipient_count == 0 || mail->recipient_count > MAIL_RECIPIENTS_MAX)
		return MAILSTORE_ERECIPIENTS;
	uint8_t *at = ret_id->bytes;
	bytes_put(&at, 0, 8);
	bytes_put(&at, ++null->count, 8);
	return 0;
}

static int commit(struct maillayer *layer)
{
	(void)layer;
	return 0;
}

static void end(struct maillayer *layer)
{
	free(layer);
}

int layer_null_open(struct maillayer **ret_layer)
{
	static const struct maillayer_ops ops = {
		.name = "null",
		.deliver = take,
		.sync = commit,
		.close = end,
	};
	struct null_layer *null = calloc(1, sizeof(*null));
	if (null == NULL)
		return -ENOMEM;
	null->layer.ops = &ops;
	*ret_layer = &null->layer;
	return 0;
}
