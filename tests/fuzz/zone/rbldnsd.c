/* SPDX-License-Identifier: GPL-3.0-or-later */

/* A list of any bytes in one of rbldnsd's formats: the first byte says which. */

#include "zone-tools/base/listing.h"
#include "zone-tools/names/names.h"
#include "zone-tools/lists/sources.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const types[] = { "combined", "ip4set", "ip4trie", "ip4tset", "ip6trie",
				     "ip6tset",	 "dnset",  "generic", "acl" };

static void make_names(struct listing *listing, struct findings *findings)
{
	struct names_plan names = { 0 };
	struct names_rrs rrs;
	if (names_make(listing, NULL, findings, &names) == DNSBLV6_OK) {
		for (size_t i = 0; i < names.count; i++)
			names_get(&names, i, 60, &rrs);
	}
	names_deinit(&names);
}

static void read_list(const char *list, FILE *stream)
{
	const struct sources_options options = { .now_s = 1800000000, .allow_reserved = true };
	struct findings findings = { .stream = stream, .limit = 20 };
	struct listing listing;
	if (listing_init(&listing) == DNSBLV6_OK &&
	    sources_read(&listing, list, &options, &findings, NULL) == DNSBLV6_OK)
		make_names(&listing, &findings);
	listing_deinit(&listing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char list[64];
	if (size == 0)
		return 0;
	int fd = memfd_create("list", MFD_CLOEXEC);
	FILE *stream = fopen("/dev/null", "w");
	if (fd >= 0 && stream != NULL && write(fd, data + 1, size - 1) == (ssize_t)size - 1) {
		/* The file twice, for what lasts from one to the next. */
		const char *type = types[data[0] % (sizeof(types) / sizeof(types[0]))];
		snprintf(list, sizeof(list), "%s:/proc/self/fd/%d,/proc/self/fd/%d", type, fd, fd);
		read_list(list, stream);
	}
	if (stream != NULL)
		fclose(stream);
	close(fd);
	return 0;
}
