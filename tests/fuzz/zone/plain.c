/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A plain list of any bytes, once as it is and once with all options on: with other line ends and
 * comments it is the same list, and so is what is written of its entries, a prefix a line.
 */

#include "tests/fuzz/zone/lists.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nowhere;

/* What is read, as a number; ret_entries: as a list again. */
static uint64_t read_list(int fd, const struct sources_options *options, uint64_t *ret_refusals,
			  FILE *ret_entries)
{
	struct findings findings = { .stream = nowhere, .limit = 20 };
	struct listing listing;
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(listing_init(&listing) == DNSBLV6_OK, "memory");
	require(sources_read(&listing, path, options, &findings, NULL) == DNSBLV6_OK, "it is read");
	require(listing.dataset_count == 1, "a plain list is one dataset");
	const uint64_t sum = lists_digest(&listing);
	struct dataset_walk walk = dataset_walk_all(&listing.datasets[0]);
	struct entry entry;
	while (ret_entries != NULL && dataset_next(&walk, &entry)) {
		char text[DNSBLV6_PREFIX_TEXT_SIZE];
		dnsblv6_prefix_format((struct dnsblv6_prefix){ .first = entry.first,
							       .prefix_len = entry.prefix_len },
				      text);
		fprintf(ret_entries, "%s%s\n", entry.value == ENTRY_EXCLUDED ? "!" : "", text);
	}
	listing_deinit(&listing);
	*ret_refusals = findings.refusal_count;
	return sum;
}

static void compare_rewritten(const uint8_t *data, size_t size,
			      const struct sources_options *options, uint64_t sum,
			      uint64_t refusals)
{
	uint64_t again;
	if (!lists_may_rewrite(data, size))
		return;
	const int fd = lists_make_rewritten(data, size);
	require(read_list(fd, options, &again, NULL) == sum, "line ends do not matter");
	require(again == refusals, "nor for what is refused");
	close(fd);
}

static void try_list(const uint8_t *data, size_t size, const struct sources_options *options)
{
	const struct sources_options strict = { .allow_reserved = options->allow_reserved,
						.allow_empty = true,
						.allow_unterminated = true };
	char *text = NULL;
	size_t text_size = 0;
	uint64_t refusals;
	uint64_t again;
	FILE *entries = open_memstream(&text, &text_size);
	require(entries != NULL, "memory");
	const int fd = lists_make(data, size);
	const uint64_t sum = read_list(fd, options, &refusals, entries);
	close(fd);
	require(fclose(entries) == 0, "memory");
	compare_rewritten(data, size, options, sum, refusals);
	const int entries_fd = lists_make(text, text_size);
	require(read_list(entries_fd, &strict, &again, NULL) == sum, "entries are the list");
	require(again == 0, "what was read is not refused");
	close(entries_fd);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (nowhere == NULL)
		nowhere = fopen("/dev/null", "w");
	require(nowhere != NULL, "a stream");
	try_list(data, size, &(struct sources_options){ 0 });
	try_list(data, size,
		 &(struct sources_options){
			 .ignore_columns = true, .cut_host_bits = true, .allow_reserved = true });
	return 0;
}
