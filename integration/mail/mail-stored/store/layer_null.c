/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/layers.h"

#include <errno.h>
#include <stdlib.h>

static int null_deliver(struct maillayer *layer, const struct mailstore_mail *mail,
			struct mailid *ret_id)
{
	(void)layer;
	if (mail->recipient_count == 0 || mail->recipient_count > MAIL_RECIPIENTS_MAX)
		return MAILSTORE_ERECIPIENTS;
	*ret_id = (struct mailid){ 0 };
	return 0;
}

static int null_sync(struct maillayer *layer)
{
	(void)layer;
	return 0;
}

static void null_close(struct maillayer *layer)
{
	free(layer);
}

int layer_null_open(struct maillayer **ret_layer)
{
	static const struct maillayer_ops ops = {
		.name = "null", .deliver = null_deliver, .sync = null_sync, .close = null_close
	};
	struct maillayer *layer = malloc(sizeof(*layer));
	if (layer == NULL)
		return -ENOMEM;
	layer->ops = &ops;
	*ret_layer = layer;
	return 0;
}

/* Until there is one. */
int layer_sort_open(const char *directory, struct maillayer **ret_layer)
{
	(void)directory;
	(void)ret_layer;
	return -EOPNOTSUPP;
}
