/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/boxplan.h"

#include <math.h>
#include <string.h>

/* Mails of a user have their numbers from its own times this on. */
#define NUMBERS_EACH (UINT64_C(1) << 32)

static const char *const special_names[WORKLOAD_SPECIALS] = { "INBOX", "Sent", "Drafts", "Trash" };
static const char *const words[] = {
	"Archive", "Projects", "Customers", "Orders",  "Travel", "Reports", "Team",	"Invoices",
	"Private", "Meetings", "Contracts", "Support", "Lists",	 "Sales",   "Planning", "Events",
};

/* How many mails lie in each folder, as shares. */
static void share_out(const struct workload *workload, unsigned count,
		      double ret_shares[BOXPLAN_FOLDERS])
{
	double left = 1;
	double sum = 0;
	for (unsigned i = 0; i < WORKLOAD_SPECIALS; i++)
		left -= ret_shares[i] = workload->specials[i];
	for (unsigned i = WORKLOAD_SPECIALS; i < count; i++)
		sum += ret_shares[i] = pow(i - WORKLOAD_SPECIALS + 1, -workload->folder_power);
	for (unsigned i = WORKLOAD_SPECIALS; i < count; i++)
		ret_shares[i] *= left / sum;
	if (count == WORKLOAD_SPECIALS)
		ret_shares[BOXPLAN_INBOX] += left;
}

/* Another folder of that depth below one that is there, or of the depth that can be had. */
static void name_folder(struct boxplan *plan, struct dice *dice, uint8_t depths[BOXPLAN_FOLDERS],
			unsigned depth)
{
	unsigned index = plan->folder_count;
	unsigned parent = 0;
	unsigned candidates = 0;
	for (unsigned i = WORKLOAD_SPECIALS; i < index && depth > 0; i++)
		if (depths[i] == depth - 1 && dice_below(dice, ++candidates) == 0)
			parent = i;
	const char *word = words[dice_below(dice, sizeof(words) / sizeof(words[0]))];
	struct boxplan_folder *folder = &plan->folders[index];
	depths[index] = parent > 0 ? (uint8_t)depth : 0;
	/* The index tells folders with one word apart. Four levels are below BOXPLAN_NAME_MAX. */
	char above[BOXPLAN_NAME_MAX] = "";
	if (parent > 0)
		snprintf(above, sizeof(above), "%.62s/", plan->folders[parent].name);
	snprintf(folder->name, sizeof(folder->name), "%.44s%.12s%02u", above, word, index % 100);
}

static void name_folders(struct boxplan *plan, const struct workload *workload, struct dice *dice,
			 unsigned count)
{
	uint8_t depths[BOXPLAN_FOLDERS] = { 0 };
	for (; plan->folder_count < count; plan->folder_count++) {
		if (plan->folder_count < WORKLOAD_SPECIALS)
			snprintf(plan->folders[plan->folder_count].name, BOXPLAN_NAME_MAX, "%s",
				 special_names[plan->folder_count]);
		else
			name_folder(plan, dice, depths,
				    dice_pick(dice, workload->depths, WORKLOAD_DEPTHS));
	}
}

static unsigned draw_folders(const struct workload *workload, struct dice *dice)
{
	double count = dice_lognormal(dice, workload->folders, workload->folders_sigma);
	return (unsigned)fmax(WORKLOAD_SPECIALS, fmin(count, workload->folders_max));
}

static double draw_mails(const struct workload *workload, struct dice *dice)
{
	double sigma = workload->mails_sigma;
	double median = workload->mails / exp(sigma * sigma / 2);
	return fmin(dice_lognormal(dice, median, sigma), workload->mails_max);
}

void boxplan_make(struct boxplan *ret_plan, const struct workload *workload, uint64_t seed,
		  uint64_t user, double scale)
{
	struct dice dice;
	double shares[BOXPLAN_FOLDERS];
	dice_begin(&dice, seed, DICE_MAILBOX, user);
	memset(ret_plan, 0, sizeof(*ret_plan));
	unsigned count = draw_folders(workload, &dice);
	double mails = draw_mails(workload, &dice) * scale;
	double rounding = dice_unit(&dice);
	name_folders(ret_plan, workload, &dice, count);
	share_out(workload, count, shares);

	/* All are rounded with one number: what has a larger share never has fewer mails. */
	for (unsigned i = 0; i < count; i++) {
		struct boxplan_folder *folder = &ret_plan->folders[i];
		folder->mails = (uint32_t)(shares[i] * mails + rounding);
		folder->first = user * NUMBERS_EACH + ret_plan->mails;
		ret_plan->mails += folder->mails;
		/* From here on there are none; those above have the larger shares. */
		if (i >= WORKLOAD_SPECIALS && folder->mails == 0) {
			memset(folder, 0, sizeof(*folder) * (count - i));
			ret_plan->folder_count = i;
			break;
		}
	}
}

void boxplan_mail(const struct boxplan *plan, const struct workload *workload, uint64_t seed,
		  unsigned folder, uint32_t index, int64_t now_s, const char *to,
		  struct mailplan *ret_mail)
{
	const struct boxplan_folder *there = &plan->folders[folder];
	/* Ages fall off exponentially, and the oldest is the first. */
	double rank = (index + 1.0) / (there->mails + 1.0);
	double age_s = fmin(-log(rank) * workload->history_s, 10 * workload->history_s);
	const struct mailplan_wish wish = {
		.seed = seed,
		.run = MAILPLAN_FILLED,
		.number = there->first + index,
		.time_s = now_s - (int64_t)age_s,
		.to = to,
	};
	mailplan_make(ret_mail, workload, &wish);
}

bool boxplan_is_seen(const struct boxplan *plan, const struct workload *workload, uint64_t seed,
		     unsigned folder, uint32_t index)
{
	struct dice dice;
	dice_begin(&dice, seed, DICE_MAILBOX, ~(plan->folders[folder].first + index));
	return folder != BOXPLAN_INBOX || dice_unit(&dice) >= workload->unread_share;
}
