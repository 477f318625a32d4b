/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/postfix/request.h"

#include <stdio.h>
#include <string.h>

enum attribute {
	ATTRIBUTE_REQUEST,
	ATTRIBUTE_STATE,
	ATTRIBUTE_ADDRESS,
	ATTRIBUTE_SASL_USERNAME,
	ATTRIBUTE_INSTANCE,
	ATTRIBUTE_COUNT
};

static const char *const attributes[ATTRIBUTE_COUNT] = {
	[ATTRIBUTE_REQUEST] = "request",	[ATTRIBUTE_STATE] = "protocol_state",
	[ATTRIBUTE_ADDRESS] = "client_address", [ATTRIBUTE_SASL_USERNAME] = "sasl_username",
	[ATTRIBUTE_INSTANCE] = "instance",
};

void request_begin(struct request *ret_request)
{
	memset(ret_request, 0, sizeof(*ret_request));
}

/* ---- a line ---- */

/* What goes to the log has no bytes of its own in it. */
static void keep_word(const struct request *request, char *ret_word, size_t size)
{
	if (request->value_size >= size)
		return;
	for (size_t i = 0; i < request->value_size; i++)
		if (request->value[i] <= ' ' || request->value[i] > '~')
			return;
	memcpy(ret_word, request->value, request->value_size + 1);
}

static void take_attribute(struct request *request, enum attribute attribute)
{
	struct question *question = &request->question;
	bool is_whole = request->value_size <= REQUEST_VALUE_MAX &&
			strlen(request->value) == request->value_size;
	switch (attribute) {
	case ATTRIBUTE_REQUEST:
		request->is_policy = is_whole && strcmp(request->value, "smtpd_access_policy") == 0;
		break;
	case ATTRIBUTE_STATE:
		keep_word(request, question->state, sizeof(question->state));
		break;
	case ATTRIBUTE_ADDRESS:
		question->has_ip = is_whole && dnsblv6_ip_parse(request->value, &question->ip) == 0;
		break;
	case ATTRIBUTE_SASL_USERNAME:
		question->is_authenticated = request->value_size > 0;
		break;
	default:
		keep_word(request, question->instance, sizeof(question->instance));
	}
}

static void end_line(struct request *request)
{
	bool is_name = request->has_equals && request->name_size > 0;
	request->question.is_malformed = request->question.is_malformed || !is_name;
	for (unsigned i = 0; i < ATTRIBUTE_COUNT && is_name; i++) {
		if (strlen(attributes[i]) != request->name_size ||
		    memcmp(attributes[i], request->name, request->name_size) != 0 ||
		    (request->seen >> i & 1) != 0)
			continue;
		request->seen |= 1U << i;
		take_attribute(request, (enum attribute)i);
	}
	request->has_equals = false;
	request->line_size = 0;
	request->name_size = 0;
	request->value_size = 0;
	memset(request->name, 0, sizeof(request->name));
	memset(request->value, 0, sizeof(request->value));
}

static void take_byte(struct request *request, char byte)
{
	request->line_size++;
	if (!request->has_equals && byte == '=') {
		request->has_equals = true;
	} else if (request->has_equals) {
		if (request->value_size < REQUEST_VALUE_MAX)
			request->value[request->value_size] = byte;
		request->value_size++;
	} else {
		if (request->name_size < REQUEST_NAME_MAX)
			request->name[request->name_size] = byte;
		request->name_size++;
	}
}

/* ---- a request ---- */

enum question_status request_feed(struct request *request, const char *bytes, size_t size,
				  size_t *ret_taken)
{
	for (size_t i = 0; i < size; i++) {
		if (++request->size > REQUEST_SIZE_MAX) {
			*ret_taken = i;
			return QUESTION_ENDLESS;
		}
		if (bytes[i] != '\n') {
			take_byte(request, bytes[i]);
			continue;
		}
		if (request->line_size > 0) {
			end_line(request);
			continue;
		}
		*ret_taken = i + 1;
		request->question.is_malformed =
			request->question.is_malformed || !request->is_policy;
		return QUESTION_READY;
	}
	*ret_taken = size;
	return QUESTION_MORE;
}

/* ---- a reply ---- */

size_t request_format(const struct judgement *judgement, char *ret_reply)
{
	const size_t size = QUESTION_REPLY_MAX + 1;
	/* A zone without an answer puts off a client that nothing else refuses. */
	const char *defer = judgement->verdict == DNSBLV6_LISTED ? "DEFER" : "DEFER_IF_PERMIT";
	int written = 0;
	switch (judgement->action) {
	case JUDGE_REJECT:
		written = snprintf(ret_reply, size, "action=REJECT %s %s\n\n", judgement->code,
				   judgement->text);
		break;
	case JUDGE_DEFER:
		written = snprintf(ret_reply, size, "action=%s %s %s\n\n", defer, judgement->code,
				   judgement->text);
		break;
	case JUDGE_WARN:
		written = snprintf(ret_reply, size, "action=WARN dnsblv6, not refused, %s\n\n",
				   judgement->header);
		break;
	case JUDGE_PREPEND:
		written = snprintf(ret_reply, size, "action=PREPEND " JUDGE_HEADER_NAME ": %s\n\n",
				   judgement->header);
		break;
	default:
		written = snprintf(ret_reply, size, "action=DUNNO\n\n");
	}
	return (size_t)written;
}
