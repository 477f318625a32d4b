/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/querylog/dnstap.h"

#include "lib/format/ascii.h"

#include <netinet/in.h>
#include <string.h>

#include "server/dnstap.pb-c.h"

#define HEADER_SIZE 12
#define NS_IN_S	    1000000000u

static struct tap_sample head_of(const uint8_t *sample)
{
	struct tap_sample head;
	memcpy(&head, sample, sizeof(head));
	return head;
}

bool dnstap_is_whole(const uint8_t *sample, size_t size)
{
	if (size < sizeof(struct tap_sample) || size > TAP_SAMPLE_MAX)
		return false;
	struct tap_sample head = head_of(sample);
	return (uint64_t)head.query_size + head.response_size == size - sizeof(head) &&
	       (head.client.ss_family == AF_INET || head.client.ss_family == AF_INET6);
}

/* ---- zones ---- */

/* In lower case; compressed or cut names have no size. */
static size_t read_qname(const uint8_t *query, size_t query_size, uint8_t *ret_name)
{
	size_t size = 0;
	while (HEADER_SIZE + size < query_size && size < SETTINGS_NAME_MAX) {
		uint8_t label = query[HEADER_SIZE + size];
		if (label > 63 || size + 1U + label > SETTINGS_NAME_MAX ||
		    HEADER_SIZE + size + 1U + label > query_size)
			return 0;
		ret_name[size++] = label;
		if (label == 0)
			return size;
		for (uint8_t i = 0; i < label; i++, size++)
			ret_name[size] = ascii_lower(query[HEADER_SIZE + size]);
	}
	return 0;
}

static bool ends_with(const uint8_t *name, size_t size, const struct settings_name *zone)
{
	size_t at = 0;
	while (size - at > zone->size)
		at += 1U + name[at];
	return size - at == zone->size && memcmp(name + at, zone->wire, zone->size) == 0;
}

bool dnstap_is_wanted(const struct settings_dnstap *settings, const uint8_t *sample,
		      const struct settings_name **ret_zone)
{
	struct tap_sample head = head_of(sample);
	uint8_t name[SETTINGS_NAME_MAX];
	size_t size = read_qname(sample + sizeof(head), head.query_size, name);
	*ret_zone = NULL;
	for (size_t i = 0; i < settings->zone_count && size > 0; i++) {
		const struct settings_name *zone = &settings->zones[i];
		if (ends_with(name, size, zone) &&
		    (*ret_zone == NULL || zone->size > (*ret_zone)->size))
			*ret_zone = zone;
	}
	return settings->zone_count == 0 || *ret_zone != NULL;
}

/* ---- the message ---- */

static ProtobufCBinaryData bytes_of(const void *data, size_t size)
{
	/* protobuf-c reads it only. */
	return (ProtobufCBinaryData){ size, (uint8_t *)(uintptr_t)data };
}

/* False when it is of no family, or bound to all addresses. */
static bool read_address(const struct sockaddr_storage *address, ProtobufCBinaryData *ret_bytes,
			 uint32_t *ret_port)
{
	static const struct in6_addr any = IN6ADDR_ANY_INIT;
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	size_t size = address->ss_family == AF_INET ? sizeof(four->sin_addr) : sizeof(any);
	const void *data = address->ss_family == AF_INET ? (const void *)&four->sin_addr
							 : (const void *)&six->sin6_addr;
	*ret_port = ntohs(address->ss_family == AF_INET ? four->sin_port : six->sin6_port);
	*ret_bytes = bytes_of(data, size);
	return address->ss_family != AF_UNSPEC && memcmp(data, &any, size) != 0;
}

static void put_addresses(const struct tap_sample *head, Dnstap__Message *message)
{
	message->has_socket_family = message->has_socket_protocol = 1;
	message->socket_family = head->client.ss_family == AF_INET ? DNSTAP__SOCKET_FAMILY__INET
								   : DNSTAP__SOCKET_FAMILY__INET6;
	message->socket_protocol =
		head->is_tcp ? DNSTAP__SOCKET_PROTOCOL__TCP : DNSTAP__SOCKET_PROTOCOL__UDP;
	message->has_query_address =
		read_address(&head->client, &message->query_address, &message->query_port);
	message->has_response_address =
		read_address(&head->server, &message->response_address, &message->response_port);
	message->has_query_port = 1;
	message->has_response_port = head->server.ss_family != AF_UNSPEC;
}

static void put_query(const struct tap_sample *head, const uint8_t *query, Dnstap__Message *message)
{
	message->has_query_time_sec = message->has_query_time_nsec = 1;
	message->query_time_sec = head->asked_ns / NS_IN_S;
	message->query_time_nsec = (uint32_t)(head->asked_ns % NS_IN_S);
	message->has_query_message = query != NULL;
	message->query_message = bytes_of(query, head->query_size);
}

static void put_response(const struct tap_sample *head, const uint8_t *response,
			 Dnstap__Message *message)
{
	message->has_response_time_sec = message->has_response_time_nsec = 1;
	message->response_time_sec = head->answered_ns / NS_IN_S;
	message->response_time_nsec = (uint32_t)(head->answered_ns % NS_IN_S);
	message->has_response_message = 1;
	message->response_message = bytes_of(response, head->response_size);
}

size_t dnstap_encode(const struct settings_dnstap *settings, const uint8_t *sample,
		     bool is_response, const struct settings_name *zone, uint8_t *ret_wire)
{
	struct tap_sample head = head_of(sample);
	const uint8_t *query = sample + sizeof(head);
	Dnstap__Dnstap frame = DNSTAP__DNSTAP__INIT;
	Dnstap__Message message = DNSTAP__MESSAGE__INIT;
	message.type = is_response ? DNSTAP__MESSAGE__TYPE__AUTH_RESPONSE
				   : DNSTAP__MESSAGE__TYPE__AUTH_QUERY;
	put_addresses(&head, &message);
	/* As in other servers, a response says when it was asked for, and not again what. */
	put_query(&head, is_response ? NULL : query, &message);
	if (is_response)
		put_response(&head, query + head.query_size, &message);
	if (zone != NULL) {
		message.has_query_zone = 1;
		message.query_zone = bytes_of(zone->wire, zone->size);
	}
	frame.type = DNSTAP__DNSTAP__TYPE__MESSAGE;
	frame.message = &message;
	frame.has_identity = settings->identity[0] != '\0';
	frame.identity = bytes_of(settings->identity, strlen(settings->identity));
	frame.has_version = settings->version[0] != '\0';
	frame.version = bytes_of(settings->version, strlen(settings->version));
	return dnstap__dnstap__pack(&frame, ret_wire);
}
