/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/networks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/common/wholefile.h"
#include "lib/format/array.h"
#include "lib/format/ascii.h"

void networks_deinit(struct networks *networks)
{
	free(networks->prefixes);
	memset(networks, 0, sizeof(*networks));
}

/* ---- the set ---- */

const char *networks_add(struct networks *networks, const char *text, size_t text_size)
{
	struct dnsblv6_prefix prefix;
	int ret = dnsblv6_prefix_parse(text, text_size, &prefix);
	if (ret != DNSBLV6_OK)
		return dnsblv6_strerror(ret);
	if (!array_reserve(networks->prefixes, networks->count + 1, &networks->room))
		return strerror(ENOMEM);
	networks->prefixes[networks->count++] = prefix;
	return NULL;
}

/* IPv4 by itself and before all else: ::/0 does not hold it, though its numbers are among those. */
static int compare_addrs(struct dnsblv6_addr a, struct dnsblv6_addr b)
{
	int order = dnsblv6_addr_is_ipv4(b) - dnsblv6_addr_is_ipv4(a);
	return order != 0 ? order : dnsblv6_addr_compare(a, b);
}

/* A wider one is before those that it holds. */
static int compare(const void *a, const void *b)
{
	const struct dnsblv6_prefix *left = a;
	const struct dnsblv6_prefix *right = b;
	int order = compare_addrs(left->first, right->first);
	return order != 0 ? order : left->prefix_len - right->prefix_len;
}

const char *networks_take(void *member, const struct conf_value *value)
{
	return networks_add(member, value->text, strlen(value->text));
}

/* Without those within others, so that one look at the last before an address is enough. */
void networks_sort(struct networks *networks)
{
	size_t kept = 0;
	struct dnsblv6_prefix *prefixes = networks->prefixes;
	if (networks->count > 1)
		qsort(prefixes, networks->count, sizeof(prefixes[0]), compare);
	for (size_t i = 0; i < networks->count; i++)
		if (kept == 0 || !dnsblv6_prefix_contains(prefixes[kept - 1], prefixes[i].first))
			prefixes[kept++] = prefixes[i];
	networks->count = kept;
}

bool networks_contain(const struct networks *networks, struct dnsblv6_addr addr)
{
	size_t low = 0; /* those before it begin at addr or before it */
	size_t high = networks->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_addrs(networks->prefixes[middle].first, addr) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && dnsblv6_prefix_contains(networks->prefixes[low - 1], addr);
}

/* ---- a file ---- */

static int refuse(struct networks_error *error, size_t line, int ret, const char *reason)
{
	error->line = line;
	snprintf(error->reason, sizeof(error->reason), "%s", reason);
	return ret;
}

/* Of a line what is neither blank nor a comment. */
static void trim(const char **text, size_t *size)
{
	const char *comment = memchr(*text, '#', *size);
	if (comment != NULL)
		*size = (size_t)(comment - *text);
	while (*size > 0 && ascii_is_space((*text)[*size - 1]))
		(*size)--;
	while (*size > 0 && ascii_is_space((*text)[0])) {
		(*text)++;
		(*size)--;
	}
}

static int take_line(struct networks *networks, const char *text, size_t size, size_t number,
		     struct networks_error *error)
{
	char quoted[LOG_QUOTE_MAX];
	if (size > NETWORKS_LINE_MAX)
		return refuse(error, number, -EINVAL, "the line is too long");
	trim(&text, &size);
	if (size == 0)
		return 0;
	const char *reason = networks_add(networks, text, size);
	if (reason == NULL)
		return 0;
	error->line = number;
	snprintf(error->reason, sizeof(error->reason), "%s: %s", log_quote(text, size, quoted),
		 reason);
	return -EINVAL;
}

int networks_parse(const char *text, size_t text_size, struct networks *ret_networks,
		   struct networks_error *reterr_error)
{
	struct networks networks = { 0 };
	size_t number = 1;
	int ret = 0;
	while (text_size > 0 && ret == 0) {
		const char *end = memchr(text, '\n', text_size);
		size_t size = end != NULL ? (size_t)(end - text) : text_size;
		ret = take_line(&networks, text, size, number++, reterr_error);
		size_t taken = end != NULL ? size + 1 : size;
		text += taken;
		text_size -= taken;
	}
	if (ret != 0) {
		networks_deinit(&networks);
		return ret;
	}
	networks_sort(&networks);
	*ret_networks = networks;
	return 0;
}

/* What grows while it is read is cut where it ended before. */
static int read_all(int fd, char **ret_text, size_t *ret_size)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EISDIR;
	if (status.st_size > NETWORKS_FILE_MAX)
		return -EFBIG;
	char *text = malloc((size_t)status.st_size + 1);
	if (text == NULL)
		return -ENOMEM;
	ssize_t size = wholefile_take(fd, text, (size_t)status.st_size);
	if (size < 0) {
		free(text);
		return (int)size;
	}
	*ret_text = text;
	*ret_size = (size_t)size;
	return 0;
}

int networks_read(const char *path, struct networks *ret_networks,
		  struct networks_error *reterr_error)
{
	char *text = NULL;
	size_t size = 0;
	/* A FIFO must not hold up a program that reads its list again. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return refuse(reterr_error, 0, -errno, strerror(errno));
	int ret = read_all(fd, &text, &size);
	close(fd);
	if (ret == -EISDIR)
		return refuse(reterr_error, 0, ret, "not a file");
	if (ret != 0)
		return refuse(reterr_error, 0, ret, strerror(-ret));
	ret = networks_parse(text, size, ret_networks, reterr_error);
	free(text);
	return ret;
}
