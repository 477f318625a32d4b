/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/boxes/expiry.h"

#include "integration/mail/base/store/copyname.h"
#include "lib/process/clock.h"

#define MAILS_MAX 256 /* in one step, and so in one deletion */

/* Of the mails of the mailbox from expiry->mail on; *ret_has_more says whether there are more of them. */
static int expire_some(struct expiry *expiry, struct mailname mailbox, uint64_t before_us,
		       bool *ret_has_more)
{
	struct mailentry entries[MAILS_MAX];
	uint64_t mails[MAILS_MAX];
	size_t listed = 0;
	size_t count = 0;
	int ret = maillayer_list(expiry->layer, mailbox, expiry->mail, MAILS_MAX, entries, &listed);
	/* Times need not be in the order of numbers: a clock was set, or old mails were imported. */
	for (size_t i = 0; ret == 0 && i < listed; i++)
		if (entries[i].time_us < before_us)
			mails[count++] = entries[i].mail;
	*ret_has_more = ret == 0 && listed == MAILS_MAX;
	if (*ret_has_more)
		expiry->mail = entries[listed - 1].mail + 1;
	if (ret != 0 || count == 0)
		return ret;
	ret = maillayer_erase(expiry->layer, mailbox, mails, count, clock_wall_us());
	if (ret == 0)
		__atomic_fetch_add(expiry->expired, count, __ATOMIC_RELAXED);
	return ret;
}

/* What holds for the mailbox. One of which that cannot be read keeps its mails, and no other one's. */
static uint64_t keep_of(struct expiry *expiry, struct mailname mailbox)
{
	struct mailname owner;
	struct quota_limits limits;
	unsigned number;
	/* Copies are kept as long as what they are copies of, and so is what was brought. */
	if (!copyname_parse(mailbox, &number, &owner) && !copyname_parse_brought(mailbox, &owner))
		owner = mailbox;
	int ret = quota_limits(expiry->quota, owner, &limits);
	if (ret != 0)
		expiry->skipped = ret;
	return ret == 0 ? limits.keep_s : 0;
}

/* The mailbox that is looked at, or the next one. */
int expiry_step(struct expiry *expiry)
{
	struct mailname name = { expiry->box, expiry->box_size };
	struct mailcounts counts;
	bool has_more = false;
	uint64_t now = clock_wall_us();
	uint64_t keep_s = 0;
	int ret = 0;
	if (expiry->mail == 0)
		ret = maillayer_next_box(expiry->layer, name, expiry->box, &expiry->box_size,
					 &counts);
	name.size = expiry->box_size;
	if (ret == 0)
		keep_s = keep_of(expiry, name);
	if (keep_s > 0 && keep_s <= now / 1000000)
		ret = expire_some(expiry, name, now - keep_s * 1000000, &has_more);
	if (ret != 0 || !has_more)
		expiry->mail = 0;
	return ret == DNSBLV6_ENOTFOUND && expiry->skipped != 0 ? expiry->skipped : ret;
}

void expiry_rewind(struct expiry *expiry)
{
	expiry->box_size = 0;
	expiry->mail = 0;
	expiry->skipped = 0;
}
