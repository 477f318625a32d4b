/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/sink.h"

#include "bench/users-load/mailplan.h"
#include "lib/smtp/body.h"
#include "lib/smtp/dialogue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define BACKLOG	    1024
#define HEADER_SIZE 8192 /* servers put their own fields before ours */
#define BUFFER_SIZE (64u << 10)

struct client {
	uv_tcp_t tcp;
	struct sink *sink;
	struct dialogue dialogue;
	struct body body;
	uint64_t chunk_left; /* of BDAT */
	bool is_in_mail;
	bool is_in_chunk;
	bool is_last_chunk;
	unsigned recipient_count;
	uint32_t recipients[SINK_RECIPIENTS_MAX];
	size_t line_size;
	uint8_t line[DIALOGUE_LINE_MAX];
	size_t header_size;
	char header[HEADER_SIZE];
	LIST_ENTRY(client) entry;
};

struct sink {
	struct sink_settings settings;
	struct dialogue_limits limits;
	uv_tcp_t tcp;
	uint32_t mail_count; /* a number for each that has come: tracking.h's UID */
	LIST_HEAD(, client) clients;
	struct dialogue_event event; /* of one call */
	char buffer[BUFFER_SIZE];
};

/* ---- clients ---- */

static void client_on_close(uv_handle_t *handle)
{
	struct client *client = handle->data;
	LIST_REMOVE(client, entry);
	free(client);
}

static void close_client(struct client *client)
{
	if (!uv_is_closing((uv_handle_t *)&client->tcp))
		uv_close((uv_handle_t *)&client->tcp, client_on_close);
}

static bool is_closing(const struct client *client)
{
	return uv_is_closing((const uv_handle_t *)&client->tcp);
}

static void say(struct client *client, const char *text, size_t size)
{
	uv_buf_t buffer = uv_buf_init((char *)text, (unsigned)size);
	if (size > 0 && uv_try_write((uv_stream_t *)&client->tcp, &buffer, 1) != (int)size)
		close_client(client);
}

static void act(struct client *client, enum dialogue_action action);

/* ---- mails ---- */

static void begin_mail(struct client *client)
{
	body_init(&client->body, 0);
	client->header_size = 0;
}

static void keep_header(struct client *client, const uint8_t *bytes, size_t size)
{
	const size_t room = sizeof(client->header) - client->header_size;
	const size_t kept = size < room ? size : room;
	memcpy(client->header + client->header_size, bytes, kept);
	client->header_size += kept;
}

static void tick_off(struct client *client)
{
	struct sink *sink = client->sink;
	uint64_t run = 0;
	uint64_t number = 0;
	sink->mail_count++;
	if (!mailplan_find_id(client->header, client->header_size, &run, &number) ||
	    run != sink->settings.run)
		return;
	const uint64_t now_ns = uv_hrtime() - sink->settings.start_ns;
	for (unsigned i = 0; i < client->recipient_count; i++)
		tracking_seen(sink->settings.tracking, number,
			      TRACKING_REMOTE(client->recipients[i]), sink->mail_count, now_ns);
}

static void end_mail(struct client *client, enum body_status status)
{
	struct sink *sink = client->sink;
	client->is_in_mail = false;
	if (status == BODY_END)
		tick_off(client);
	client->recipient_count = 0;
	act(client,
	    dialogue_answer(&client->dialogue, &sink->limits, body_code(client->body.refusal),
			    body_text(client->body.refusal), &sink->event));
}

/* How many bytes were taken. */
static size_t take_mail(struct client *client, uint8_t *bytes, size_t size)
{
	size_t used = 0;
	size_t out_size = 0;
	const enum body_status status =
		body_take(&client->body, bytes, size, &used, bytes, &out_size);
	keep_header(client, bytes, out_size);
	if (status != BODY_MORE)
		end_mail(client, status);
	return used;
}

static void end_chunk(struct client *client)
{
	uint8_t rest[BODY_END_MAX];
	size_t rest_size = 0;
	struct sink *sink = client->sink;
	client->is_in_chunk = false;
	if (client->is_last_chunk)
		end_mail(client, body_end(&client->body, rest, &rest_size));
	else
		act(client, dialogue_accept(&client->dialogue, &sink->limits, &sink->event));
}

static size_t take_chunk(struct client *client, uint8_t *bytes, size_t size)
{
	size_t out_size = 0;
	const size_t taken = size < client->chunk_left ? size : (size_t)client->chunk_left;
	body_take_chunk(&client->body, bytes, taken, bytes, &out_size);
	keep_header(client, bytes, out_size);
	client->chunk_left -= taken;
	if (client->chunk_left == 0)
		end_chunk(client);
	return taken;
}

/* ---- commands ---- */

static void note_recipient(struct client *client, const char *address)
{
	const struct session_template *template = &client->sink->settings.recipient;
	const size_t size = strlen(template->before);
	char *end = NULL;
	if (strncasecmp(address, template->before, size) != 0)
		return;
	const unsigned long number = strtoul(address + size, &end, 10);
	if (end != address + size && strcasecmp(end, template->behind) == 0 &&
	    number < TRACKING_USERS_MAX && client->recipient_count < SINK_RECIPIENTS_MAX)
		client->recipients[client->recipient_count++] = (uint32_t)number;
}

static void begin_chunk(struct client *client)
{
	const struct dialogue_event *event = &client->sink->event;
	if (event->is_first)
		begin_mail(client);
	client->is_in_chunk = true;
	client->is_last_chunk = event->is_last;
	client->chunk_left = event->chunk_size;
	if (client->chunk_left == 0)
		end_chunk(client);
}

static void act(struct client *client, enum dialogue_action action)
{
	struct sink *sink = client->sink;
	struct dialogue_event *event = &sink->event;
	if (action == DIALOGUE_RECIPIENT)
		note_recipient(client, event->recipient.address);
	if (action == DIALOGUE_MAIL || action == DIALOGUE_RESET)
		client->recipient_count = 0;
	if (action == DIALOGUE_MAIL || action == DIALOGUE_RECIPIENT)
		action = dialogue_accept(&client->dialogue, &sink->limits, event);
	switch (action) {
	case DIALOGUE_REPLY:
	case DIALOGUE_RESET:
		say(client, event->reply, event->reply_size);
		break;
	case DIALOGUE_DATA:
		say(client, event->reply, event->reply_size);
		begin_mail(client);
		client->is_in_mail = true;
		break;
	case DIALOGUE_BDAT:
		begin_chunk(client);
		break;
	default: /* a chunk that is refused, too: it is not read */
		say(client, event->reply, event->reply_size);
		close_client(client);
	}
}

static size_t take_line(struct client *client, const uint8_t *bytes, size_t size)
{
	struct sink *sink = client->sink;
	const uint8_t *newline = memchr(bytes, '\n', size);
	size_t taken = newline != NULL ? (size_t)(newline - bytes) + 1 : size;
	size_t line_size = 0;
	if (taken > sizeof(client->line) - client->line_size) {
		close_client(client);
		return size;
	}
	memcpy(client->line + client->line_size, bytes, taken);
	client->line_size += taken;
	if (newline == NULL)
		return taken;
	const enum lines_status status =
		lines_take(client->line, client->line_size, DIALOGUE_LINE_MAX, &line_size);
	client->line_size = 0;
	if (status == LINES_READY)
		act(client, dialogue_step(&client->dialogue, &sink->limits,
					  (const char *)client->line, line_size, &sink->event));
	else
		act(client,
		    dialogue_malformed(&client->dialogue, &sink->limits, status, &sink->event));
	return taken;
}

/* ---- the loop ---- */

static void client_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
	struct client *client = handle->data;
	(void)suggested;
	*ret_buffer = uv_buf_init(client->sink->buffer, BUFFER_SIZE);
}

static void client_on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct client *client = stream->data;
	uint8_t *bytes = (uint8_t *)buffer->base;
	if (size < 0) {
		close_client(client);
		return;
	}
	while (size > 0 && !is_closing(client)) {
		size_t taken = 0;
		if (client->is_in_mail)
			taken = take_mail(client, bytes, (size_t)size);
		else if (client->is_in_chunk)
			taken = take_chunk(client, bytes, (size_t)size);
		else
			taken = take_line(client, bytes, (size_t)size);
		bytes += taken;
		size -= (ssize_t)taken;
	}
}

static void sink_on_connection(uv_stream_t *server, int status)
{
	struct sink *sink = server->data;
	struct client *client = status == 0 ? calloc(1, sizeof(*client)) : NULL;
	if (client == NULL)
		return;
	uv_tcp_init(sink->settings.loop, &client->tcp);
	client->tcp.data = client;
	client->sink = sink;
	LIST_INSERT_HEAD(&sink->clients, client, entry);
	if (uv_accept(server, (uv_stream_t *)&client->tcp) != 0 ||
	    uv_read_start((uv_stream_t *)&client->tcp, client_on_room, client_on_read) != 0) {
		close_client(client);
		return;
	}
	uv_tcp_nodelay(&client->tcp, 1);
	dialogue_init(&client->dialogue);
	sink->event.reply_size = dialogue_greet(&sink->limits, sink->event.reply);
	say(client, sink->event.reply, sink->event.reply_size);
}

int sink_new(const struct sink_settings *settings, struct sink **ret_sink)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	if (sink == NULL)
		return UV_ENOMEM;
	sink->settings = *settings;
	sink->limits.recipients_max = SINK_RECIPIENTS_MAX;
	sink->limits.hostname = "sink.example.net";
	LIST_INIT(&sink->clients);
	uv_tcp_init(settings->loop, &sink->tcp);
	sink->tcp.data = sink;
	*ret_sink = sink;
	int ret = uv_tcp_bind(&sink->tcp, (const struct sockaddr *)&settings->address, 0);
	if (ret == 0)
		ret = uv_listen((uv_stream_t *)&sink->tcp, BACKLOG, sink_on_connection);
	return ret;
}

void sink_stop(struct sink *sink)
{
	struct client *client = NULL;
	uv_close((uv_handle_t *)&sink->tcp, NULL);
	LIST_FOREACH(client, &sink->clients, entry)
	close_client(client);
}

void sink_free(struct sink *sink)
{
	free(sink);
}
