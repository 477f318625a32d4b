/* SPDX-License-Identifier: GPL-3.0-or-later */

/* A plain list of any bytes, once as it is and once with all options on. */

#include "zone-tools/base/listing.h"
#include "zone-tools/lists/sources.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_list(const char *list, const struct sources_options *options, FILE *stream)
{
	struct findings findings = { .stream = stream, .limit = 20 };
	struct listing listing;
	if (listing_init(&listing) == DNSBLV6_OK)
		sources_read(&listing, list, options, &findings, NULL);
	listing_deinit(&listing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char list[64];
	int fd = memfd_create("list", MFD_CLOEXEC);
	FILE *stream = fopen("/dev/null", "w");
	if (fd >= 0 && stream != NULL && write(fd, data, size) == (ssize_t)size) {
		snprintf(list, sizeof(list), "/proc/self/fd/%d", fd);
		read_list(list, &(struct sources_options){ 0 }, stream);
		read_list(list,
			  &(struct sources_options){ .ignore_columns = true,
						     .cut_host_bits = true,
						     .allow_reserved = true },
			  stream);
	}
	if (stream != NULL)
		fclose(stream);
	close(fd);
	return 0;
}
