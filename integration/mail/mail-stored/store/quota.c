/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/quota.h"

#include <string.h>

bool quota_exists(const struct quota *quota)
{
	return quota->users != NULL || quota->setup->quota_messages > 0 ||
	       quota->setup->quota_octets > 0;
}

int quota_limits(const struct quota *quota, struct mailname mailbox,
		 struct quota_limits *ret_limits)
{
	(void)mailbox;
	*ret_limits = (struct quota_limits){ .messages = quota->setup->quota_messages,
					     .octets = quota->setup->quota_octets,
					     .keep_s = quota->setup->keep_s };
	return 0;
}

int quota_check(const struct quota *quota, struct maillayer *layer, struct mailname mailbox,
		uint64_t octets)
{
	struct quota_limits limits;
	struct mailcounts counts;
	int ret = quota_limits(quota, mailbox, &limits);
	if (ret != 0 || (limits.messages == 0 && limits.octets == 0))
		return ret;
	ret = maillayer_peek_counts(layer, mailbox, &counts);
	if (ret != 0)
		return ret;
	bool is_full = (limits.messages > 0 && counts.mails >= limits.messages) ||
		       (limits.octets > 0 &&
			(counts.octets >= limits.octets || octets > limits.octets - counts.octets));
	return is_full ? MAILSTORE_EQUOTA : 0;
}
