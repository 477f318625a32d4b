/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/config/servers.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client-lib/config/words.h"
#include "lib/format/ascii.h"

/* ---- addresses ---- */

/* An index, or the name of an interface; 0 when it is neither. */
static uint32_t parse_scope(const char *text, size_t size)
{
	char name[SERVERS_SCOPE_MAX];

	if (size == 0 || size >= sizeof(name) || memchr(text, '\0', size) != NULL)
		return 0;
	memcpy(name, text, size);
	name[size] = '\0';
	if (name[strspn(name, "0123456789")] != '\0')
		return if_nametoindex(name);
	const int64_t index = ascii_number(name, size, INT32_MAX);

	return index > 0 ? (uint32_t)index : 0;
}

/* What is asked must be one host. */
static bool is_unicast(struct dnsblv6_addr addr)
{
	if (dnsblv6_addr_is_ipv4(addr))
		return dnsblv6_addr_ipv4(addr) >> 28 < 0xe;
	return addr.hi >> 56 != 0xff;
}

static struct dnsblv6_addr this_machine_if_any(struct dnsblv6_addr addr)
{
	if (addr.hi == 0 && addr.lo == 0)
		return (struct dnsblv6_addr){ 0, 1 };
	if (dnsblv6_addr_is_ipv4(addr) && dnsblv6_addr_ipv4(addr) == INADDR_ANY)
		return dnsblv6_addr_from_ipv4(INADDR_LOOPBACK);
	return addr;
}

bool servers_parse(const char *text, size_t size, struct sockaddr_in6 *ret_address)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(SERVERS_PORT) };
	const char *percent = memchr(text, '%', size);
	const size_t addr_size = percent != NULL ? (size_t)(percent - text) : size;
	struct dnsblv6_addr addr;

	if (dnsblv6_addr_parse(text, addr_size, &addr) != DNSBLV6_OK || !is_unicast(addr))
		return false;
	dnsblv6_addr_to_bytes(this_machine_if_any(addr), address.sin6_addr.s6_addr);
	if (percent != NULL) {
		address.sin6_scope_id = parse_scope(percent + 1, size - addr_size - 1);
		if (address.sin6_scope_id == 0 || !IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr))
			return false;
	}
	*ret_address = address;
	return true;
}

bool servers_parse_with_port(const char *text, size_t size, struct sockaddr_in6 *ret_address)
{
	const char *at = memchr(text, '@', size);

	if (at == NULL)
		return servers_parse(text, size, ret_address);
	const int64_t port = ascii_number(at + 1, (size_t)(text + size - at - 1), UINT16_MAX);

	if (port <= 0 || !servers_parse(text, (size_t)(at - text), ret_address))
		return false;
	ret_address->sin6_port = htons((uint16_t)port);
	return true;
}

bool servers_is_loopback(const struct sockaddr_in6 *address)
{
	const uint8_t *bytes = address->sin6_addr.s6_addr;

	if (IN6_IS_ADDR_V4MAPPED(&address->sin6_addr))
		return bytes[12] == 127;
	return IN6_IS_ADDR_LOOPBACK(&address->sin6_addr);
}

/* ---- resolv.conf ---- */

/* The next word of the line, which becomes shorter; a comment ends it. Empty: none is left. */
static struct word next_word(struct word *line)
{
	struct word word;

	while (line->size > 0 && ascii_is_space(*line->text)) {
		line->text++;
		line->size--;
	}
	word = (struct word){ line->text, 0 };
	while (word.size < line->size && !ascii_is_space(word.text[word.size]) &&
	       word.text[word.size] != '#' && word.text[word.size] != ';')
		word.size++;
	line->text += word.size;
	line->size -= word.size;
	return word;
}

static void take_server(struct servers *servers, struct word word)
{
	struct config_server *server = &servers->list[servers->count];

	if (servers->count < CONFIG_SERVERS_MAX &&
	    servers_parse(word.text, word.size, &server->address))
		servers->count++;
}

static void take_options(struct servers *servers, struct word line)
{
	struct word word;

	while ((word = next_word(&line)).size > 0) {
		if (words_is(word, "trust-ad"))
			servers->trusts_ad = true;
	}
}

/* A keyword begins in the first column. */
static void take_line(struct servers *servers, struct word line)
{
	if (line.size == 0 || ascii_is_space(*line.text))
		return;
	struct word keyword = next_word(&line);

	if (words_is(keyword, "nameserver"))
		take_server(servers, next_word(&line));
	else if (words_is(keyword, "options"))
		take_options(servers, line);
}

/* A line that grows as the file is read. */
struct line {
	char text[SERVERS_LINE_MAX];
	size_t size;
	bool is_long;
};

static void end_line(struct servers *servers, struct line *line)
{
	if (!line->is_long)
		take_line(servers, (struct word){ line->text, line->size });
	line->size = 0;
	line->is_long = false;
}

static void take_bytes(struct servers *servers, struct line *line, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n')
			end_line(servers, line);
		else if (line->size < sizeof(line->text))
			line->text[line->size++] = bytes[i];
		else
			line->is_long = true;
	}
}

/* false: what is behind could not be read. */
static bool read_all(int fd, struct servers *servers)
{
	struct line line = { .size = 0 };
	char bytes[4096];
	size_t total = 0;

	while (total < SERVERS_FILE_MAX) {
		ssize_t size = read(fd, bytes, sizeof(bytes));

		if (size < 0 && errno == EINTR)
			continue;
		if (size == 0)
			end_line(servers, &line);
		if (size <= 0)
			return size == 0; /* half a line is no line: 192.0.2.1 is not 192.0.2.10 */
		take_bytes(servers, &line, bytes, (size_t)size);
		total += (size_t)size;
	}
	return true;
}

bool servers_read(const char *path, struct servers *ret_servers)
{
	struct servers servers = { .count = 0 };
	bool is_read = false;
	/* Not blocking: a FIFO without a writer is an empty file. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0) {
		is_read = read_all(fd, &servers);
		close(fd);
	}
	*ret_servers = servers;
	return is_read;
}

bool servers_has_changed(const char *path, struct config_stamp *stamp)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return false;
	const struct config_stamp found = {
		.device = status.st_dev,
		.inode = status.st_ino,
		.size = (uint64_t)status.st_size,
		.changed_ns = (int64_t)status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec,
	};
	bool has_changed = found.device != stamp->device || found.inode != stamp->inode ||
			   found.size != stamp->size || found.changed_ns != stamp->changed_ns;
	*stamp = found;
	return has_changed;
}
