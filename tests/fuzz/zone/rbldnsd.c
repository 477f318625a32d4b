/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A list of any bytes in one of rbldnsd's formats: the first byte says which. With other line ends
 * and comments it is the same list.
 */

#include "zone-tools/names/names.h"

#include "tests/fuzz/zone/lists.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const types[] = { "combined", "ip4set", "ip4trie", "ip4tset", "ip6trie",
				     "ip6tset",	 "dnset",  "generic", "acl" };

struct seen {
	int status;
	uint64_t refusal_count;
	uint64_t warning_count;
	uint64_t digest;
};

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

/* The file twice, for what lasts from one to the next. */
static struct seen read_list(const char *type, int fd, FILE *stream)
{
	const struct sources_options options = { .now_s = 1800000000,
						 .allow_reserved = true,
						 .allow_unterminated = true };
	struct findings findings = { .stream = stream, .limit = 20 };
	struct seen seen = { 0 };
	struct listing listing;
	char list[96];
	snprintf(list, sizeof(list), "%s:/proc/self/fd/%d,/proc/self/fd/%d", type, fd, fd);
	require(listing_init(&listing) == DNSBLV6_OK, "memory");
	seen.status = sources_read(&listing, list, &options, &findings, NULL);
	seen.refusal_count = findings.refusal_count;
	seen.warning_count = findings.warning_count;
	if (seen.status == DNSBLV6_OK) {
		seen.digest = lists_digest(&listing);
		make_names(&listing, &findings);
	}
	listing_deinit(&listing);
	close(fd);
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *stream;
	if (size == 0)
		return 0;
	if (stream == NULL)
		stream = fopen("/dev/null", "w");
	require(stream != NULL, "a stream");
	const char *type = types[data[0] % (sizeof(types) / sizeof(types[0]))];
	const struct seen seen = read_list(type, lists_make(data + 1, size - 1), stream);
	if (!lists_may_rewrite(data + 1, size - 1))
		return 0;
	const struct seen again = read_list(type, lists_make_rewritten(data + 1, size - 1), stream);
	require(again.status == seen.status && again.refusal_count == seen.refusal_count &&
			again.warning_count == seen.warning_count,
		"the same is refused");
	require(again.digest == seen.digest, "the same is read");
	return 0;
}
