/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any text as what a caller asks about by name. What is taken is a name that can be asked, or an
 * IPv4 address, and what is written of it is read as the same.
 */

#include "client-lib/config/topic.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

static void check_name(const struct topic *topic)
{
	uint8_t bytes[16];
	unsigned at = 0;

	dnsblv6_addr_to_bytes(topic->addr, bytes);
	require(bytes[0] == 0xff, "a name where addresses are kept");
	while (at < topic->name.size) {
		require(topic->name.wire[at] >= 1 && topic->name.wire[at] <= 63, "a bad label");
		at += 1u + topic->name.wire[at];
	}
	require(at == topic->name.size && at >= 2, "a name without an end");
}

static void check_text(const struct topic *topic)
{
	char text[CONFIG_TEXT_MAX];
	struct topic again;

	topic_format(topic, text);
	require(strlen(text) < DNSBLV6_LABELS_MAX, "a text that is too long");
	require(topic_parse(text, &again) == 0, "refused the second time");
	require(again.kind == topic->kind && dnsblv6_addr_compare(again.addr, topic->addr) == 0 &&
			again.name.size == topic->name.size &&
			memcmp(again.name.wire, topic->name.wire, topic->name.size) == 0,
		"another one the second time");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct topic topic;

	if (text == NULL)
		abort();
	if (topic_parse(text, &topic) == 0) {
		if (topic.kind == CONFIG_NAME)
			check_name(&topic);
		else
			require(topic.kind == CONFIG_SITE && dnsblv6_addr_is_ipv4(topic.addr) &&
					topic.name.size == 0,
				"no address of a site");
		check_text(&topic);
	}
	free(text);
	return 0;
}
