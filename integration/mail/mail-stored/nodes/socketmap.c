/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/socketmap.h"

#include "lib/common/log.h"
#include "lib/process/doors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

static const char context[] = "mail-stored";

#define PAUSE_MS 1000
/* "1024:", and the comma. */
#define AROUND_MAX 6

/* ---- the protocol, without sockets ---- */

/* The digits of a netstring and their colon. Bytes of them, 0: more, -EPROTO. */
static int parse_size(const char *bytes, size_t size, size_t *ret_size)
{
	size_t found = 0;
	size_t at = 0;
	while (at < size && at < 5 && bytes[at] >= '0' && bytes[at] <= '9')
		found = 10 * found + (size_t)(bytes[at++] - '0');
	if (at == size)
		return at < 5 ? 0 : -EPROTO;
	if (at == 0 || bytes[at] != ':' || found > SOCKETMAP_LINE_MAX)
		return -EPROTO;
	*ret_size = found;
	return (int)at + 1;
}

int socketmap_parse(const char *bytes, size_t size, struct mailname *ret_name,
		    struct mailname *ret_key)
{
	size_t found = 0;
	int head = parse_size(bytes, size, &found);
	if (head <= 0)
		return head;
	if (size < (size_t)head + found + 1)
		return 0;
	const char *line = bytes + head;
	const char *blank = memchr(line, ' ', found);
	if (line[found] != ',' || blank == NULL || memchr(line, '\0', found) != NULL)
		return -EPROTO;
	const size_t name_size = (size_t)(blank - line);
	*ret_name = (struct mailname){ (const uint8_t *)line, name_size };
	*ret_key = (struct mailname){ (const uint8_t *)blank + 1, found - name_size - 1 };
	return head + (int)found + 1;
}

static bool is_word(struct mailname name, const char *word)
{
	return name.size == strlen(word) && memcmp(name.bytes, word, name.size) == 0;
}

/* Host and port of ADDRESS@PORT. */
static void split_place(const char *place, char *ret_host, size_t room, const char **ret_port)
{
	const char *at = strrchr(place, '@');
	const int size = at != NULL ? (int)(at - place) : 0;
	snprintf(ret_host, room, "%.*s", size, place);
	*ret_port = at != NULL ? at + 1 : "";
}

/* The peer of an address, or NULL: *is_known says whether that is for ever. */
static const struct nodesetup_peer *find(const struct locate *locate, struct mailname key,
					 bool *ret_is_failure)
{
	char entry[USERS_ENTRY_SIZE];
	struct users_mailboxes found;
	const char *address = (const char *)key.bytes;
	*ret_is_failure = false;
	if (memchr(key.bytes, '@', key.size) == NULL)
		return NULL;
	if (locate->users == NULL) {
		if (!users_make_entry(address, key.size, entry))
			return NULL;
	} else {
		int answer = users_find_mailboxes(locate->users, address, key.size, &found);
		*ret_is_failure = answer < 0;
		if (answer != USERS_VALID || found.count == 0)
			return NULL;
		snprintf(entry, sizeof(entry), "%s", found.names[0]);
	}
	const struct mailname box = { (const uint8_t *)entry, strlen(entry) };
	*ret_is_failure = !locate_is_known(locate, box);
	if (*ret_is_failure)
		return NULL;
	return &locate->setup->peers[locate_find(locate, box)];
}

static size_t say(const char *text, char *ret_text)
{
	return (size_t)snprintf(ret_text, SOCKETMAP_LINE_MAX, "%zu:%s,", strlen(text), text);
}

size_t socketmap_answer(const struct locate *locate, struct mailname name, struct mailname key,
			char *ret_text)
{
	char text[PLACE_TEXT_MAX + 256];
	char host[PLACE_TEXT_MAX + 3];
	const char *port = "";
	bool is_failure = false;
	const bool is_transport = is_word(name, "transport");
	const bool is_table = is_word(name, "mailertable");
	if (!is_transport && !is_table && !is_word(name, "location"))
		return say("PERM there are transport, mailertable and location", ret_text);
	const struct nodesetup_peer *peer = find(locate, key, &is_failure);
	if (is_failure)
		return say("TEMP the database of users cannot be read", ret_text);
	if (peer == NULL || peer->lmtp[0] == '\0')
		return say("NOTFOUND ", ret_text);
	split_place(peer->lmtp, host, sizeof(host), &port);
	if (is_transport)
		snprintf(text, sizeof(text), "OK lmtp:inet:[%s]:%s", host, port);
	else if (is_table)
		snprintf(text, sizeof(text), "OK lmtpnode:[%s]", host);
	else
		snprintf(text, sizeof(text), "OK %s %s %s", peer->name, host, port);
	return say(text, ret_text);
}

/* ---- clients ---- */

struct client {
	TAILQ_ENTRY(client) entry;
	struct socketmap *map;
	uv_poll_t poll;
	int fd;
	bool is_closed;
	size_t size;
	char bytes[SOCKETMAP_LINE_MAX + AROUND_MAX];
};

struct socketmap {
	const struct locate *locate;
	uv_loop_t *loop;
	struct doors *doors;
	int listen_fd;
	unsigned count;
	TAILQ_HEAD(map_list, client) list; /* the one that has asked last is the first */
};

static void client_on_close(uv_handle_t *handle)
{
	struct client *client = handle->data;
	close(client->fd);
	free(client);
}

static void cut_off(struct client *client)
{
	if (client->is_closed)
		return;
	client->is_closed = true;
	client->map->count--;
	TAILQ_REMOVE(&client->map->list, client, entry);
	uv_close((uv_handle_t *)&client->poll, client_on_close);
}

/* Answers are small, and a client waits for each: a socket that is full is one of a client that does not. */
static void answer_all(struct client *client)
{
	char text[SOCKETMAP_LINE_MAX];
	struct mailname name;
	struct mailname key;
	int used;
	while ((used = socketmap_parse(client->bytes, client->size, &name, &key)) > 0) {
		const size_t size = socketmap_answer(client->map->locate, name, key, text);
		if (send(client->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size) {
			cut_off(client);
			return;
		}
		client->size -= (size_t)used;
		memmove(client->bytes, client->bytes + used, client->size);
	}
	if (used < 0 || client->size == sizeof(client->bytes))
		cut_off(client);
}

static void client_on_readable(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;
	(void)events;
	ssize_t got = status < 0 ? -1
				 : recv(client->fd, client->bytes + client->size,
					sizeof(client->bytes) - client->size, MSG_DONTWAIT);
	if (got < 0 && status >= 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		cut_off(client);
		return;
	}
	client->size += (size_t)got;
	TAILQ_REMOVE(&client->map->list, client, entry);
	TAILQ_INSERT_HEAD(&client->map->list, client, entry);
	answer_all(client);
}

static void take_client(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct socketmap *map = owner;
	if (map->count >= SOCKETMAP_CLIENTS_MAX)
		cut_off(TAILQ_LAST(&map->list, map_list));
	struct client *client = calloc(1, sizeof(*client));
	(void)door;
	(void)peer;
	if (client == NULL || uv_poll_init(map->loop, &client->poll, fd) != 0) {
		free(client);
		close(fd);
		return;
	}
	client->map = map;
	client->fd = fd;
	client->poll.data = client;
	map->count++;
	TAILQ_INSERT_HEAD(&map->list, client, entry);
	if (uv_poll_start(&client->poll, UV_READABLE, client_on_readable) != 0)
		cut_off(client);
}

static void log_wait(void *owner, int error)
{
	(void)owner;
	log_warning(context, "clients have to wait (%s)", strerror(error));
}

static const struct doors_rules door_rules = { PAUSE_MS, NULL, take_client, log_wait };

/* ---- begin and end ---- */

int socketmap_open(uv_loop_t *loop, int listen_fd, const struct locate *locate,
		   struct socketmap **ret_map)
{
	struct socketmap *map = calloc(1, sizeof(*map));
	if (map == NULL)
		return -ENOMEM;
	map->locate = locate;
	map->loop = loop;
	map->listen_fd = listen_fd;
	TAILQ_INIT(&map->list);
	*ret_map = map;
	int ret = doors_open(loop, &map->listen_fd, 1, &door_rules, map, &map->doors);
	return ret == 0 ? doors_watch(map->doors) : ret;
}

void socketmap_close(struct socketmap *map)
{
	if (map == NULL)
		return;
	doors_close(map->doors);
	map->doors = NULL;
	while (!TAILQ_EMPTY(&map->list))
		cut_off(TAILQ_FIRST(&map->list));
}

void socketmap_free(struct socketmap *map)
{
	free(map);
}
