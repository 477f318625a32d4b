/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/commands/migrate_notes.h"

#include "lib/common/log.h"

/* Options that both do by themselves, -b, -e and -w, have no line. */
static const struct note {
	char letter;
	const char *text;
} notes[] = {
	{ 'u', "the unit of dnsblv6d has a user of its own; lists have to be readable for "
	       "dnsblv6-zone" },
	{ 'r',
	  "dnsblv6-zone reads lists where they are; \"chroot\" in dnsblv6d.conf is for stores" },
	{ 'c', "dnsblv6-zone watch sees a change when it is made" },
	{ 'p', "systemd knows the process; dnsblv6d writes no such file" },
	{ 'l', "\"dnstap\" in dnsblv6d.conf logs queries" },
	{ 's', "dnsblv6ctl metrics has counters of each zone" },
	{ 'x', "extensions have no counterpart" },
	{ 'X', "extensions have no counterpart" },
	{ 'F', "log lines go to standard error, which systemd keeps" },
	{ 'A', "name servers are not added to answers" },
	{ 'v', "\"version\" in dnsblv6d.conf" },
	{ 'C', "a list that begins as gzip data do is read as such" },
	{ 'd', "dnsblv6-zone dump --zonefile" },
	{ '4', "\"listen\" in dnsblv6d.conf has addresses" },
	{ '6', "\"listen\" in dnsblv6d.conf has addresses" },
};

void migrate_notes_tell(const struct rbldnsdline *line)
{
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		char option[] = { '-', notes[i].letter, '\0' };
		if (line->has_option[(unsigned char)notes[i].letter])
			log_info(option, "option has no setting (%s)", notes[i].text);
	}
	if (line->has_ttl)
		log_info("-t",
			 "option is for bitmaps (classic answers have the $TTL of their list, or "
			 "2100 seconds)");
	if (line->has_ttl_limits)
		log_info("-t",
			 "option has no setting (TTLs are those of the list, without limits)");
}
