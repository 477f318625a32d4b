/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/rbldnsd_reader.h"

#include "zone-tools/lists/rbldnsd_address.h"

#include <string.h>
#include <strings.h>

/* What stands for an action among raw values: no list has 0.0.0.0 for a value. */
static struct dnsblv6_value action_value(enum dnsblv6_acl_action action)
{
	return (struct dnsblv6_value){ .ttl = action };
}

static bool find_action(const char *word, struct dnsblv6_value *ret_value)
{
	static const struct {
		const char *name;
		enum dnsblv6_acl_action action;
	} actions[] = {
		{ "ignore", DNSBLV6_ACL_IGNORE }, { "blackhole", DNSBLV6_ACL_IGNORE },
		{ "refuse", DNSBLV6_ACL_REFUSE }, { "empty", DNSBLV6_ACL_EMPTY },
		{ "pass", DNSBLV6_ACL_PASS },
	};
	size_t size = strcspn(word, ": \t#;");
	for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strlen(actions[i].name) == size &&
		    strncasecmp(actions[i].name, word, size) == 0) {
			*ret_value = action_value(actions[i].action);
			return true;
		}
	}
	return false;
}

/* "=action", ":action", or a value as all lists have them. */
static int read_value(struct rbldnsd *reader, const char *at, uint32_t *ret_number,
		      const char **ret_fault)
{
	struct dnsblv6_value value;
	*ret_fault = NULL;
	if ((*at == ':' || *at == '=') && find_action(at + 1, &value))
		return value_pool_add(&reader->set.raw, &value, ret_number);
	if (*at == '=') {
		*ret_fault = "not an action: ignore, refuse, empty, pass";
		return DNSBLV6_OK;
	}
	struct dnsblv6_value fallback = rbldnsd_default(reader);
	return rbldnsd_keep_value(reader, at, &fallback, ret_number, ret_fault);
}

/* For the entries below. What an action says is no value: A and text of before stay. */
static int read_default(struct rbldnsd *reader, const char *at)
{
	const char *fault;
	uint32_t number = 0;
	int ret = read_value(reader, at, &number, &fault);
	if (ret != DNSBLV6_OK)
		return ret;
	if (fault != NULL)
		return reading_refuse_line(reader->reading, fault);
	reader->set.action_number = number;
	if (reader->set.raw.values[number].a != 0)
		reader->set.default_number = number;
	return DNSBLV6_OK;
}

static const char *read_client(const char **at, struct rbldnsd_range *ret_range)
{
	const char *start = *at;
	const char *fault = rbldnsd_address_parse(RBLDNSD_IP4TRIE, false, at, ret_range);
	if (fault == NULL && rbldnsd_is_behind_address(**at))
		return NULL;
	*at = start;
	if (rbldnsd_address_parse(RBLDNSD_IP6TRIE, false, at, ret_range) == NULL &&
	    rbldnsd_is_behind_address(**at))
		return NULL;
	return fault != NULL ? fault : "what follows the address does not belong there";
}

int rbldnsd_acl_read(struct rbldnsd *reader, const char *line)
{
	struct reading *reading = reader->reading;
	struct rbldnsd_range range;
	/* "::1" is a client. */
	if ((line[0] == ':' && line[1] != ':') || line[0] == '=')
		return read_default(reader, line);
	const char *at = line;
	const char *fault = read_client(&at, &range);
	if (fault == NULL && range.has_host_bits && !reading->options->cut_host_bits)
		fault = dnsblv6_strerror(DNSBLV6_EHOSTBITS);

	uint32_t number = reader->set.action_number;
	int ret = DNSBLV6_OK;
	at = rbldnsd_skip_blanks(at);
	if (fault == NULL && !rbldnsd_is_end(*at))
		ret = read_value(reader, at, &number, &fault);
	if (ret != DNSBLV6_OK)
		return ret;
	if (fault != NULL)
		return reading_refuse_line(reading, fault);
	reading->listed_count++;
	struct dnsblv6_prefix prefix = { range.first, range.prefix_len };
	return rbldnsd_add_once(reader, prefix, number);
}

int rbldnsd_acl_begin_file(struct rbldnsd *reader)
{
	struct dnsblv6_value ignore = action_value(DNSBLV6_ACL_IGNORE);
	reader->set.default_number = 0; /* the built-in value is the first of its pool */
	return value_pool_add(&reader->set.raw, &ignore, &reader->set.action_number);
}
