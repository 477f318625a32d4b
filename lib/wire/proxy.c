/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/wire/proxy.h"

#include "lib/format/bytes.h"
#include "lib/wire/word.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* ---- version 1 ---- */

#define TEXT_MAX 107 /* the longest line, CRLF included, by the protocol's own count */

static const char text_magic[] = "PROXY ";
#define TEXT_MAGIC_SIZE (sizeof(text_magic) - 1)

/* What is still to be read of the line. */
struct rest {
	const char *at;
	const char *end;
};

/* The next word and the one blank behind it, or the end behind the last. */
static bool take_word(struct rest *rest, bool is_last, const char **ret_word, size_t *ret_size)
{
	const char *blank = memchr(rest->at, ' ', (size_t)(rest->end - rest->at));
	const char *end = blank != NULL ? blank : rest->end;
	if ((blank == NULL) != is_last || end == rest->at)
		return false;
	*ret_word = rest->at;
	*ret_size = (size_t)(end - rest->at);
	rest->at = blank != NULL ? blank + 1 : rest->end;
	return true;
}

static bool is_exactly(const char *word, size_t word_size, const char *text)
{
	return word_size == strlen(text) && memcmp(word, text, word_size) == 0;
}

static bool take_addr(struct rest *rest, bool is_ipv4, struct dnsblv6_addr *ret_addr)
{
	const char *word = NULL;
	size_t size = 0;
	return take_word(rest, false, &word, &size) &&
	       (memchr(word, ':', size) == NULL) == is_ipv4 &&
	       dnsblv6_addr_parse(word, size, ret_addr) == DNSBLV6_OK;
}

static bool take_port(struct rest *rest, bool is_last, uint16_t *ret_port)
{
	const char *word = NULL;
	size_t size = 0;
	return take_word(rest, is_last, &word, &size) && word_parse_port(word, size, ret_port);
}

/* The line without its CRLF, behind "PROXY ". */
static bool parse_text(struct rest rest, struct proxy *proxy)
{
	const char *family = rest.at;
	const char *blank = memchr(rest.at, ' ', (size_t)(rest.end - rest.at));
	size_t family_size = (size_t)((blank != NULL ? blank : rest.end) - family);
	bool is_ipv4 = is_exactly(family, family_size, "TCP4");
	/* What else an UNKNOWN says is to be ignored. */
	proxy->is_local = is_exactly(family, family_size, "UNKNOWN");
	if (proxy->is_local)
		return true;
	if (blank == NULL || (!is_ipv4 && !is_exactly(family, family_size, "TCP6")))
		return false;
	rest.at = blank + 1;
	return take_addr(&rest, is_ipv4, &proxy->client_addr) &&
	       take_addr(&rest, is_ipv4, &proxy->local_addr) &&
	       take_port(&rest, false, &proxy->client_port) &&
	       take_port(&rest, true, &proxy->local_port);
}

static enum proxy_status take_text(const char *text, size_t size, struct proxy *proxy,
				   size_t *ret_used)
{
	size_t seen = size < TEXT_MAX ? size : TEXT_MAX;
	size_t end = 0;
	while (end < seen && text[end] >= ' ' && text[end] <= '~')
		end++;
	if (end == seen || (text[end] == '\r' && end + 1 == seen))
		return size < TEXT_MAX ? PROXY_MORE : PROXY_BAD;
	if (end < TEXT_MAGIC_SIZE || text[end] != '\r' || text[end + 1] != '\n')
		return PROXY_BAD;
	struct rest rest = { text + TEXT_MAGIC_SIZE, text + end };
	*ret_used = end + 2;
	return parse_text(rest, proxy) ? PROXY_DONE : PROXY_BAD;
}

/* ---- version 2 ---- */

#define HEAD_SIZE   16 /* up to the addresses */
#define OF_COMMAND  12
#define OF_FAMILY   13
#define OF_SIZE	    14
#define IPV4_SIZE   12
#define IPV6_SIZE   36
#define IS_LOCAL    0x20
#define IS_PROXY    0x21
#define UNSPECIFIED 0x00
#define TCP_IPV4    0x11
#define TCP_IPV6    0x21

static const uint8_t binary_magic[OF_COMMAND] = { 0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d,
						  0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a };

static struct dnsblv6_addr get_ipv4(const uint8_t *bytes)
{
	return dnsblv6_addr_from_ipv4((uint32_t)bytes_get(bytes, 4));
}

/* What stands at OF_COMMAND, OF_FAMILY and OF_SIZE is looked at as soon as it is there. */
static bool is_possible_head(const uint8_t *bytes, size_t size)
{
	if (size > OF_COMMAND && bytes[OF_COMMAND] != IS_LOCAL && bytes[OF_COMMAND] != IS_PROXY)
		return false;
	/* LOCAL may have any family, which is to be ignored. */
	if (size > OF_FAMILY && bytes[OF_COMMAND] == IS_PROXY && bytes[OF_FAMILY] != UNSPECIFIED &&
	    bytes[OF_FAMILY] != TCP_IPV4 && bytes[OF_FAMILY] != TCP_IPV6)
		return false;
	return size < HEAD_SIZE || HEAD_SIZE + bytes_get16(bytes + OF_SIZE) <= PROXY_SIZE_MAX;
}

static bool get_addresses(const uint8_t *bytes, size_t size, struct proxy *proxy)
{
	const uint8_t *at = bytes + HEAD_SIZE;
	uint8_t family = bytes[OF_FAMILY];
	proxy->is_local = bytes[OF_COMMAND] == IS_LOCAL || family == UNSPECIFIED;
	if (proxy->is_local)
		return true;
	if (size < (family == TCP_IPV4 ? IPV4_SIZE : IPV6_SIZE))
		return false;
	if (family == TCP_IPV4) {
		proxy->client_addr = get_ipv4(at);
		proxy->local_addr = get_ipv4(at + 4);
		at += IPV4_SIZE - 4;
	} else {
		proxy->client_addr = dnsblv6_addr_from_bytes(at);
		proxy->local_addr = dnsblv6_addr_from_bytes(at + 16);
		at += IPV6_SIZE - 4;
	}
	proxy->client_port = (uint16_t)bytes_get16(at);
	proxy->local_port = (uint16_t)bytes_get16(at + 2);
	return true;
}

static enum proxy_status take_binary(const uint8_t *bytes, size_t size, struct proxy *proxy,
				     size_t *ret_used)
{
	if (!is_possible_head(bytes, size))
		return PROXY_BAD;
	if (size < HEAD_SIZE)
		return PROXY_MORE;
	size_t rest_size = bytes_get16(bytes + OF_SIZE);
	if (size < HEAD_SIZE + rest_size)
		return PROXY_MORE;
	*ret_used = HEAD_SIZE + rest_size;
	return get_addresses(bytes, rest_size, proxy) ? PROXY_DONE : PROXY_BAD;
}

/* ---- either ---- */

static bool begins_as(const uint8_t *bytes, size_t size, const void *magic, size_t magic_size)
{
	return memcmp(bytes, magic, size < magic_size ? size : magic_size) == 0;
}

enum proxy_status proxy_parse(const uint8_t *bytes, size_t size, struct proxy *ret_proxy,
			      size_t *ret_used)
{
	struct proxy proxy;
	size_t used = 0;
	enum proxy_status status = PROXY_BAD;
	memset(&proxy, 0, sizeof(proxy));
	if (size == 0)
		return PROXY_MORE;
	if (begins_as(bytes, size, text_magic, TEXT_MAGIC_SIZE))
		status = take_text((const char *)bytes, size, &proxy, &used);
	else if (begins_as(bytes, size, binary_magic, sizeof(binary_magic)))
		status = take_binary(bytes, size, &proxy, &used);
	if (status != PROXY_DONE)
		return status;
	*ret_proxy = proxy;
	*ret_used = used;
	return PROXY_DONE;
}

/* ---- the other way round ---- */

/* Both ends have one family in a header: where they differ, IPv4 is written as IPv6. */
static void format_addr(struct dnsblv6_addr addr, bool as_ipv6, char *ret_text, size_t room)
{
	char text[DNSBLV6_ADDR_TEXT_SIZE];
	(void)dnsblv6_addr_format(addr, text);
	(void)snprintf(ret_text, room, "%s%s",
		       as_ipv6 && dnsblv6_addr_is_ipv4(addr) ? "::ffff:" : "", text);
}

static size_t make_text(const struct proxy *proxy, bool as_ipv6, uint8_t *ret_header)
{
	char client[DNSBLV6_ADDR_TEXT_SIZE + 8];
	char local[DNSBLV6_ADDR_TEXT_SIZE + 8];
	format_addr(proxy->client_addr, as_ipv6, client, sizeof(client));
	format_addr(proxy->local_addr, as_ipv6, local, sizeof(local));
	return (size_t)snprintf((char *)ret_header, PROXY_MADE_MAX, "PROXY %s %s %s %u %u\r\n",
				as_ipv6 ? "TCP6" : "TCP4", client, local, proxy->client_port,
				proxy->local_port);
}

/* An IPv4 address, of 4 bytes, is the end of a mapped one. */
static void put_addr(uint8_t **to, struct dnsblv6_addr addr, size_t size)
{
	uint8_t bytes[16];
	dnsblv6_addr_to_bytes(addr, bytes);
	bytes_put_string(to, bytes + sizeof(bytes) - size, size);
}

static size_t make_binary(const struct proxy *proxy, bool as_ipv6, uint8_t *ret_header)
{
	const size_t ip_size = as_ipv6 ? 16 : 4;
	uint8_t *at = ret_header;
	bytes_put_string(&at, binary_magic, sizeof(binary_magic));
	*at++ = IS_PROXY;
	*at++ = as_ipv6 ? TCP_IPV6 : TCP_IPV4;
	bytes_put16(&at, as_ipv6 ? IPV6_SIZE : IPV4_SIZE);
	put_addr(&at, proxy->client_addr, ip_size);
	put_addr(&at, proxy->local_addr, ip_size);
	bytes_put16(&at, proxy->client_port);
	bytes_put16(&at, proxy->local_port);
	return (size_t)(at - ret_header);
}

size_t proxy_make(unsigned version, const struct proxy *proxy, uint8_t *ret_header)
{
	const bool as_ipv6 = !dnsblv6_addr_is_ipv4(proxy->client_addr) ||
			     !dnsblv6_addr_is_ipv4(proxy->local_addr);
	return version == 1 ? make_text(proxy, as_ipv6, ret_header)
			    : make_binary(proxy, as_ipv6, ret_header);
}

static void take_end(const struct sockaddr *end, struct dnsblv6_addr *ret_addr, uint16_t *ret_port)
{
	uint32_t ipv4 = INADDR_LOOPBACK;
	*ret_port = 0;
	if (end->sa_family == AF_INET6) {
		struct sockaddr_in6 ipv6;
		memcpy(&ipv6, end, sizeof(ipv6));
		*ret_addr = dnsblv6_addr_from_bytes(ipv6.sin6_addr.s6_addr);
		*ret_port = ntohs(ipv6.sin6_port);
		return;
	}
	if (end->sa_family == AF_INET) {
		struct sockaddr_in address;
		memcpy(&address, end, sizeof(address));
		ipv4 = ntohl(address.sin_addr.s_addr);
		*ret_port = ntohs(address.sin_port);
	}
	*ret_addr = dnsblv6_addr_from_ipv4(ipv4);
}

void proxy_of_socket(const struct sockaddr *from, const struct sockaddr *to,
		     struct proxy *ret_proxy)
{
	ret_proxy->is_local = false;
	take_end(from, &ret_proxy->client_addr, &ret_proxy->client_port);
	take_end(to, &ret_proxy->local_addr, &ret_proxy->local_port);
}
