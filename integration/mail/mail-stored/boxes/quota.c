/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/boxes/quota.h"

#include <string.h>

bool quota_exists(const struct quota *quota)
{
	return quota->users != NULL || quota->setup->quota_messages > 0 ||
	       quota->setup->quota_octets > 0;
}

static void lock(const struct quota *quota)
{
	if (quota->turn != NULL)
		(void)pthread_mutex_lock(quota->turn);
}

static void unlock(const struct quota *quota)
{
	if (quota->turn != NULL)
		(void)pthread_mutex_unlock(quota->turn);
}

bool quota_has_users(const struct quota *quota)
{
	lock(quota);
	bool has_users = quota->users != NULL;
	unlock(quota);
	return has_users;
}

void quota_give_users(struct quota *quota, struct users *users)
{
	lock(quota);
	quota->users = users;
	unlock(quota);
}

bool quota_may_expire(const struct quota *quota)
{
	return quota->setup->keep_s > 0 || quota_has_users(quota);
}

/* What a list says of the mailbox itself stands before what holds for all. */
static uint64_t choose(uint64_t own, uint64_t usual)
{
	return own > 0 ? own : usual;
}

int quota_limits(const struct quota *quota, struct mailname mailbox,
		 struct quota_limits *ret_limits)
{
	const struct stored_setup *setup = quota->setup;
	struct users_settings settings = { 0 };
	char entry[USERS_ENTRY_SIZE];
	int ret = 0;
	lock(quota);
	if (quota->users != NULL && mailbox.size < sizeof(entry)) {
		memcpy(entry, mailbox.bytes, mailbox.size);
		entry[mailbox.size] = '\0';
		ret = users_settings_of(quota->users, entry, &settings);
	}
	unlock(quota);
	/* No list may have it any more, or it was never one of its entries. */
	if (ret != 0 && ret != DNSBLV6_ENOTFOUND)
		return ret;
	*ret_limits = (struct quota_limits){
		.messages = choose(settings.messages_max, setup->quota_messages),
		.octets = choose(settings.octets_max, setup->quota_octets),
		.keep_s = choose(settings.keep_s, setup->keep_s),
	};
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
