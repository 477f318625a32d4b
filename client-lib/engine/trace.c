/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/trace.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define DEBUG	    7 /* of syslog(3) */
#define VALUE_MAX   256
#define VALUES_MAX  4 /* A records that are shown */
#define SERVER_SIZE (DNSBLV6_ADDR_TEXT_SIZE + 6)

static void __attribute__((format(printf, 2, 3)))
tell(const struct zones *all, const char *format, ...)
{
	char line[TRACE_LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	/* clang-tidy 14 does not see va_start() here, as it does elsewhere. */
	vsnprintf(line, sizeof(line), format, arguments); // NOLINT(clang-analyzer-valist*)
	va_end(arguments);
	all->log(all->log_context, DEBUG, line);
}

/* ADDRESS@PORT */
static void format_server(const struct config_server *server, char *ret_text)
{
	char address[DNSBLV6_ADDR_TEXT_SIZE];

	dnsblv6_addr_format(dnsblv6_addr_from_bytes(server->address.sin6_addr.s6_addr), address);
	snprintf(ret_text, SERVER_SIZE, "%s@%u", address, ntohs(server->address.sin6_port));
}

void trace_servers(const struct zones *all)
{
	const struct config *config = all->config;

	if (all->log != NULL && config->resolver != NULL) {
		tell(all, "server of the program's own");
		return;
	}
	for (unsigned i = 0; all->log != NULL && i < config->server_count; i++) {
		char text[SERVER_SIZE];

		format_server(config->servers + i, text);
		tell(all, "server %s%s", text, config->servers[i].is_trusted ? ", trusted" : "");
	}
}

static const char *type_name(uint16_t type)
{
	switch (type) {
	case MESSAGE_A:
		return "A";
	case MESSAGE_AAAA:
		return "AAAA";
	default:
		return "TXT";
	}
}

void trace_question(const struct zone *zone, const struct dnsblv6_labels *name, uint16_t type)
{
	char text[DNSBLV6_NAME_TEXT_SIZE];

	if (zone->all->log == NULL)
		return;
	dnsblv6_name_format(name->wire, name->size, text);
	tell(zone->all, "asks %s %s", type_name(type), text);
}

/* The records of an answer, as a reader knows them. */
static void format_values(const struct message_reply *reply, char *ret_text)
{
	char aaaa[INET6_ADDRSTRLEN];
	size_t size = 0;

	if (reply->aaaa_count > 0) {
		inet_ntop(AF_INET6, reply->aaaa, aaaa, sizeof(aaaa));
		snprintf(ret_text, VALUE_MAX, "AAAA %s", aaaa);
		return;
	}
	snprintf(ret_text, VALUE_MAX, "%s", reply->a_count > 0 ? "A" : "TXT");
	for (unsigned i = 0; i < reply->a_count && i < VALUES_MAX; i++) {
		char address[INET_ADDRSTRLEN];

		size = strlen(ret_text);
		inet_ntop(AF_INET, reply->a[i], address, sizeof(address));
		snprintf(ret_text + size, VALUE_MAX - size, " %s", address);
	}
}

static void format_reply(const struct message_reply *reply, char *ret_text)
{
	switch (reply->kind) {
	case MESSAGE_ANSWER:
		format_values(reply, ret_text);
		break;
	case MESSAGE_NODATA:
		snprintf(ret_text, VALUE_MAX, "no such record");
		break;
	case MESSAGE_NXDOMAIN:
		snprintf(ret_text, VALUE_MAX, "no such name");
		break;
	default:
		snprintf(ret_text, VALUE_MAX, "no answer, RCODE %u", reply->rcode);
	}
}

void trace_reply(const struct zone *zone, const struct dnsblv6_labels *name, int status,
		 const struct message_reply *reply, bool is_trusted)
{
	char text[DNSBLV6_NAME_TEXT_SIZE], value[VALUE_MAX], server[SERVER_SIZE] = "";

	if (zone->all->log == NULL)
		return;
	dnsblv6_name_format(name->wire, name->size, text);
	if (reply == NULL) {
		tell(zone->all, "%s: no reply (%s)", text, dnsblv6_strerror(status));
		return;
	}
	const struct config_server *replier = stub_replier(zone->all->stub);
	if (replier != NULL)
		format_server(replier, server);
	format_reply(reply, value);
	tell(zone->all, "%s: %s, TTL %u s%s%s%s", text, value, reply->ttl_s,
	     reply->is_secure && is_trusted ? ", secure" : "", replier != NULL ? ", from " : "",
	     server);
}
