/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/nodesetup.h"

#include <stdio.h>
#include <string.h>

#define MINUTE_MS 60000
/* Of a node: its module and, of version 2, its LMTP, each with a pulse; some are being lost. */
#define LINKS_OF_NODE 2
#define MORE_LINKS    16

static const char pin_head[] = "sha256//";

/* ---- one value ---- */

/* Of a node: a word of letters, digits and "-". */
static const char *check_name(const char *text)
{
	static const char permitted[] =
		"permitted are 1 to 63 letters of ASCII, digits, and \"-\" or \".\" between them";
	const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
	const size_t size = strlen(text);
	if (size == 0 || size > NODESETUP_NAME_MAX || strspn(text, letters) != size)
		return permitted;
	return text[0] == '-' || text[0] == '.' ? permitted : NULL;
}

static const char *take_node(void *member, const struct conf_value *value)
{
	const char *reason = check_name(value->text);
	if (reason == NULL)
		snprintf(member, NODESETUP_NAME_MAX + 1, "%s", value->text);
	return reason;
}

static const char *take_tcp(void *member, const struct conf_value *value)
{
	struct place *place = member;
	if (value->place.address.ss_family != AF_INET && value->place.address.ss_family != AF_INET6)
		return "permitted is ADDRESS@PORT";
	*place = value->place;
	return NULL;
}

/* Kept as it is written. */
static const char *take_lmtp(void *member, const struct conf_value *value)
{
	if (value->place.address.ss_family != AF_INET && value->place.address.ss_family != AF_INET6)
		return "permitted is ADDRESS@PORT";
	snprintf(member, PLACE_TEXT_MAX + 1, "%s", value->place.text);
	return NULL;
}

static const char *take_pin(void *member, const struct conf_value *value)
{
	static const char permitted[] =
		"permitted is sha256//, and 44 digits of base64 behind it: see \"key\" in "
		"mail-stored(8)";
	const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *text = value->text + strlen(pin_head);
	if (strlen(value->text) != NODESETUP_PIN_SIZE - 1 ||
	    strncmp(value->text, pin_head, strlen(pin_head)) != 0 || strspn(text, digits) != 43 ||
	    text[43] != '=')
		return permitted;
	snprintf(member, NODESETUP_PIN_SIZE, "%s", value->text);
	return NULL;
}

/* The first item of an entry makes it. */
static const char *take_peer(void *member, const struct conf_value *value)
{
	struct nodesetup *setup = member; /* that of the section */
	const char *reason = check_name(value->text);
	if (reason != NULL)
		return reason;
	if (setup->peer_count == NODES_MAX)
		return "there are 64 nodes at most";
	for (unsigned i = 0; i < setup->peer_count; i++)
		if (strcmp(setup->peers[i].name, value->text) == 0)
			return "node is given twice";
	snprintf(setup->peers[setup->peer_count++].name, NODESETUP_NAME_MAX + 1, "%s", value->text);
	return NULL;
}

void *nodesetup_find_peer(void *section)
{
	struct nodesetup *setup = section;
	return &setup->peers[setup->peer_count - 1];
}

/* ---- the tables ---- */

#define NUMBER(...)  CONF_RANGE(CONF_NUMBER, struct nodesetup, __VA_ARGS__)
#define TIME(...)    CONF_RANGE(CONF_MS, struct nodesetup, __VA_ARGS__)
#define PEER(member) CONF_AT(struct nodesetup_peer, member)

const struct conf_item nodesetup_items[NODESETUP_ITEMS] = {
	{ "node", CONF_TEXT, CONF_AT(struct nodesetup, node), .take = take_node },
	{ "listen", CONF_PLACE, CONF_AT(struct nodesetup, listen), .max = PLACE_TEXT_MAX,
	  .take = take_tcp },
	{ "certificate", CONF_PATH, CONF_AT(struct nodesetup, certificate) },
	{ "key", CONF_PATH, CONF_AT(struct nodesetup, key) },
	{ "location", CONF_PLACE, CONF_AT(struct nodesetup, location), .max = PLACE_SOCKET_MAX },
	NUMBER("version", version, 1, 2, "1"),
	NUMBER("copies", copies, 1, 2, "1"),
	NUMBER("links", links_max, 2, 4096, "128"), /* one is for no session */
	TIME("silence", silence_ms, 500, MINUTE_MS, "3s"),
	TIME("timeout", timeout_ms, 1000, 10 * MINUTE_MS, "20s"),
	{ "memory", CONF_SIZE, CONF_AT(struct nodesetup, memory_max), .min = 1 << 20,
	  .max = INT64_C(1) << 40, .preset = "512M" },
};

const struct conf_item nodesetup_peer_items[NODESETUP_PEER_ITEMS] = {
	{ "name", CONF_TEXT, .take = take_peer, .max = NODESETUP_NAME_MAX },
	{ "number", CONF_NUMBER, PEER(number), .min = 1, .max = NODE_NUMBER_MAX },
	{ "address", CONF_PLACE, PEER(address), .max = PLACE_TEXT_MAX, .take = take_tcp },
	{ "lmtp", CONF_PLACE, PEER(lmtp), .max = PLACE_TEXT_MAX, .take = take_lmtp },
	{ "key", CONF_TEXT, PEER(pin), .take = take_pin },
	{ "spread", CONF_CHOICE, PEER(is_spread), .choices = conf_no_yes, .preset = "yes" },
};

/* ---- values together ---- */

bool nodesetup_is_on(const struct nodesetup *setup)
{
	return setup->node[0] != '\0';
}

const struct nodesetup_peer *nodesetup_find_number(const struct nodesetup *setup, unsigned number)
{
	for (unsigned i = 0; i < setup->peer_count; i++)
		if (setup->peers[i].number == number)
			return &setup->peers[i];
	return NULL;
}

unsigned nodesetup_links(const struct nodesetup *setup)
{
	return setup->peer_count * (LINKS_OF_NODE * setup->links_max + MORE_LINKS);
}

static const char *check_peer(const struct nodesetup *setup, unsigned at)
{
	const struct nodesetup_peer *peer = &setup->peers[at];
	if (peer->number == 0)
		return "peer: \"number\" is not given";
	if (peer->address.text[0] == '\0')
		return "peer: \"address\" is not given";
	if (peer->pin[0] == '\0')
		return "peer: \"key\" is not given";
	if (nodesetup_find_number(setup, peer->number) != peer)
		return "peer: two nodes have one number";
	for (unsigned i = 0; i < at; i++)
		if (strcmp(setup->peers[i].pin, peer->pin) == 0)
			return "peer: two nodes have one key";
	return NULL;
}

static const char *check_node(struct nodesetup *setup)
{
	bool is_known = false;
	bool is_spread = false;
	if (setup->listen.text[0] == '\0')
		return "nodes: \"listen\" is not given";
	if (setup->certificate[0] == '\0' || setup->key[0] == '\0')
		return "nodes: \"certificate\" and \"key\" are not given";
	for (unsigned i = 0; i < setup->peer_count; i++) {
		is_spread = is_spread || setup->peers[i].is_spread;
		if (strcmp(setup->peers[i].name, setup->node) == 0) {
			setup->self = i;
			is_known = true;
		}
	}
	if (!is_known)
		return "nodes: \"node\" is not the name of a peer";
	if (!is_spread)
		return "peer: at least one node has \"spread: yes\"";
	return setup->copies > setup->peer_count ? "nodes: \"copies\" needs as many nodes" : NULL;
}

const char *nodesetup_check(struct nodesetup *setup)
{
	if (!nodesetup_is_on(setup))
		return setup->peer_count > 0 || setup->listen.text[0] != '\0'
			       ? "nodes: \"node\" is not given"
			       : NULL;
	for (unsigned i = 0; i < setup->peer_count; i++) {
		const char *reason = check_peer(setup, i);
		if (reason != NULL)
			return reason;
	}
	return check_node(setup);
}
