/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/nodehealth.h"

#include "integration/mail/mail-stored/nodes/locate.h"
#include "lib/common/log.h"

static const char context[] = "mail-stored";

static const struct nodesetup_peer *peer_of(const struct nodehealth *health)
{
	return &health->setup->peers[health->at];
}

/* ---- up and down ---- */

bool nodehealth_go_down(struct nodehealth *health, const char *reason)
{
	if (health->is_down)
		return false;
	health->is_down = true;
	health->is_stuck = false;
	health->downs++;
	/* All nodes may be starting. */
	if (health->was_up)
		log_warning(context, "node is down, node=%s place=%s (%s)", peer_of(health)->name,
			    peer_of(health)->address.text, reason);
	else
		log_info(context, "node is not there yet, node=%s place=%s (%s)",
			 peer_of(health)->name, peer_of(health)->address.text, reason);
	return true;
}

void nodehealth_go_up(struct nodehealth *health)
{
	health->was_up = true;
	if (!health->is_down)
		return;
	health->is_down = false;
	log_info(context, "node is up, node=%s place=%s", peer_of(health)->name,
		 peer_of(health)->address.text);
}

/* ---- what it says ---- */

void nodehealth_count_broken(struct nodehealth *health, uint64_t now_ms)
{
	health->broken++;
	health->broken_ms = now_ms;
	if (health->broken == 1)
		log_warning(context, "node breaks the protocol, node=%s place=%s",
			    peer_of(health)->name, peer_of(health)->address.text);
}

bool nodehealth_is_pausing(const struct nodehealth *health, uint64_t now_ms)
{
	return health->broken > 1 && now_ms - health->broken_ms < NODEHEALTH_PAUSE_MS;
}

void nodehealth_take_sum(struct nodehealth *health, uint64_t sum)
{
	char words[LOCATE_WORDS_MAX];
	const bool differed = health->differs;
	if (sum == health->sum)
		return;
	health->sum = sum;
	locate_compare(health->setup, health->at, sum, words);
	health->differs = words[0] != '\0';
	/* Said once, until it says something else. */
	if (health->differs)
		log_warning(context, "node has another configuration, node=%s place=%s differs=%s",
			    peer_of(health)->name, peer_of(health)->address.text, words);
	else if (differed && sum != 0)
		log_info(context, "node has this configuration again, node=%s place=%s",
			 peer_of(health)->name, peer_of(health)->address.text);
}

/* ---- mails without an answer ---- */

bool nodehealth_get_stuck(struct nodehealth *health, uint64_t now_ms)
{
	if (health->is_stuck)
		return false;
	health->is_stuck = true;
	health->next_mail_ms = now_ms;
	log_warning(context, "node takes no mail, node=%s place=%s (no answer in %u s)",
		    peer_of(health)->name, peer_of(health)->address.text,
		    health->setup->timeout_ms / 1000);
	return true;
}

void nodehealth_note_mail(struct nodehealth *health, uint64_t now_ms)
{
	health->mail_ms = now_ms;
	if (health->is_stuck)
		log_info(context, "node takes mail again, node=%s place=%s", peer_of(health)->name,
			 peer_of(health)->address.text);
	health->is_stuck = false;
}

void nodehealth_note_refusal(struct nodehealth *health, uint64_t now_ms)
{
	health->next_mail_ms = now_ms;
}

bool nodehealth_keeps_away(struct nodehealth *health, uint64_t now_ms)
{
	if (!health->is_stuck)
		return false;
	if (now_ms < health->next_mail_ms)
		return true;
	health->next_mail_ms = now_ms + health->setup->timeout_ms;
	return false;
}
