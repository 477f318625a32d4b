/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes of a client and of a server: what goes to the two does not depend on where the bytes are
 * cut, on how much room there is, nor on how long the scan takes. Of a mail in which something was found
 * the client never has that; the server gets commands that are known, each in its line, or a line
 * of an exchange; a client that was not cut off has whole lines.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   bytes in a piece, less one
 *        1      1   STLS (2 bits), no scan (bit 2), hold of 64 to 512 bytes (bits 3 to 5); bit 6: the
 *                   server says all without being asked, and then pieces may matter; bit 7: no login before TLS
 *        2      2   bytes of the client, low byte first
 *        4      .   these, then the server's
 */

#include "integration/mail/mail-proxy/pop3/popproxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No text of an answer has it, as control characters are not passed on in one. */
static const char marker[] = "\x01VIRUS";
static const char marker_at_end[] = "\x01LATE";
static const char marker_mark[] = "\x01MARK";
static const char marker_none[] = "\x01NONE";
#define MARKER_SIZE 6
#define KEYS_MAX    32
#define OUTPUT_ROOM (1 << 20)
#define TURNS_MAX   (1 << 22)

struct output {
	uint8_t *bytes;
	size_t size;
};

struct run {
	struct output client;
	struct output server;
	enum popproxy_status status;
	uint8_t keys[KEYS_MAX][POPPROXY_KEY_SIZE];
	size_t key_count;
	/* the scan */
	bool is_open;
	bool is_slow;
	unsigned busy;
	uint8_t kept[MARKER_SIZE];
	size_t kept_size;
	bool has_found, is_late, is_marked, is_none;
	unsigned holds;
	struct popproxy_verdict verdict;
};

static void append(struct output *output, const void *bytes, size_t size)
{
	require(output->size + size <= OUTPUT_ROOM, "output is bounded");
	memcpy(output->bytes + output->size, bytes, size);
	output->size += size;
}

/* ---- the calls ---- */

static bool begin(void *context)
{
	struct run *run = context;
	require(!run->is_open, "one scan at a time");
	run->is_open = true;
	run->kept_size = 0;
	run->busy = 0;
	run->has_found = run->is_late = run->is_marked = run->is_none = false;
	return true;
}

static bool has(const uint8_t *bytes, size_t size, const char *text)
{
	return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void push(void *context, const uint8_t *bytes, size_t size)
{
	struct run *run = context;
	uint8_t all[MARKER_SIZE + 4096];
	require(run->is_open && run->busy == 0 && size > 0 && size <= 4096, "a push is due");
	memcpy(all, run->kept, run->kept_size);
	memcpy(all + run->kept_size, bytes, size);
	size += run->kept_size;
	run->has_found = run->has_found || has(all, size, marker);
	run->is_late = run->is_late || has(all, size, marker_at_end);
	run->is_marked = run->is_marked || has(all, size, marker_mark);
	run->is_none = run->is_none || has(all, size, marker_none);
	run->kept_size = size < MARKER_SIZE - 1 ? size : MARKER_SIZE - 1;
	memcpy(run->kept, all + size - run->kept_size, run->kept_size);
	run->busy = run->is_slow ? 2 : 0;
}

static void end(void *context, bool is_whole)
{
	struct run *run = context;
	require(run->is_open, "an end is due");
	require(is_whole || run->has_found, "it ends early when something was found");
	run->busy = run->is_slow ? 3 : 0;
}

static bool is_busy(void *context)
{
	struct run *run = context;
	if (run->busy == 0)
		return false;
	run->busy--;
	return true;
}

static bool has_found(void *context)
{
	return ((struct run *)context)->has_found;
}

static const struct popproxy_verdict *verdict(void *context)
{
	struct run *run = context;
	if (is_busy(context))
		return NULL;
	run->verdict = (struct popproxy_verdict){ POPPROXY_ACCEPT, run->has_found, "", "" };
	if (run->is_marked) {
		run->verdict.action = POPPROXY_MARK;
		run->verdict.header = "X-Scan: marked\r\n";
	}
	if (run->is_none)
		run->verdict.action = POPPROXY_DEFER;
	if (run->is_late || run->has_found) {
		run->verdict.action = POPPROXY_WITHHOLD;
		run->verdict.name = "Virus in it";
	}
	return &run->verdict;
}

static void free_scan(void *context)
{
	struct run *run = context;
	require(run->is_open, "a free is due");
	run->is_open = false;
}

static uint8_t *hold(void *context, uint8_t *old, size_t size)
{
	struct run *run = context;
	run->holds += old == NULL;
	run->holds -= size == 0;
	if (size == 0) {
		free(old);
		return NULL;
	}
	uint8_t *bytes = realloc(old, size);
	require(bytes != NULL, "memory");
	return bytes;
}

static bool key(void *context, const char *user, const char *uid, const uint8_t *first,
		size_t first_size, uint8_t *ret_key)
{
	uint64_t hash = 14695981039346656037U;
	(void)context;
	for (; *user != '\0'; user++)
		hash = (hash ^ (uint8_t)*user) * 1099511628211U;
	for (; uid != NULL && *uid != '\0'; uid++)
		hash = (hash ^ (uint8_t)*uid) * 1099511628211U;
	for (size_t i = 0; i < first_size; i++)
		hash = (hash ^ first[i]) * 1099511628211U;
	memset(ret_key, 0, POPPROXY_KEY_SIZE);
	memcpy(ret_key, &hash, sizeof(hash));
	return true;
}

static bool knows(void *context, const uint8_t *wanted, char *ret_name)
{
	struct run *run = context;
	for (size_t i = 0; i < run->key_count; i++)
		if (memcmp(run->keys[i], wanted, POPPROXY_KEY_SIZE) == 0) {
			snprintf(ret_name, POPPROXY_TEXT_MAX, "Virus of before");
			return true;
		}
	return false;
}

static void remember(void *context, const uint8_t *wanted, const char *name)
{
	struct run *run = context;
	require(strcmp(name, "Virus in it") == 0, "it has its name");
	if (run->key_count < KEYS_MAX)
		memcpy(run->keys[run->key_count++], wanted, POPPROXY_KEY_SIZE);
}

static uint64_t now(void *context)
{
	(void)context;
	return 1795000000;
}

static void told(void *context, const struct popproxy_mail *mail)
{
	(void)context;
	require(popproxy_fate_name(mail->fate) != NULL && mail->uid != NULL && mail->name != NULL,
		"it has words");
}

static const struct popproxy_calls calls = { begin,    push,	  end,	is_busy, has_found,
					     verdict,  free_scan, hold, key,	 knows,
					     remember, now,	  told };

/* ---- a run ---- */

struct input {
	const uint8_t *client;
	size_t client_size;
	const uint8_t *server;
	size_t server_size;
	bool is_unasked;
};

static struct popproxy_limits limits_of(uint8_t options)
{
	return (struct popproxy_limits){
		.hostname = "proxy.example.org",
		.stls = options % 4 == 3 ? POPPROXY_STLS_OWN : (enum popproxy_stls)(options % 4),
		.has_plain_logins = (options & 128) == 0,
		.is_scanning = (options & 4) == 0,
		.hold_first = 64U * (1U + ((options >> 3) & 7U)),
		.hold_last = 64,
		.errors_max = 20,
		.commands_max = 500,
	};
}

static size_t least(size_t one, size_t other)
{
	return one < other ? one : other;
}

/* What of the server's there is: a piece more of the line that the proxy waits for, or of anything. */
static size_t server_says(const struct popproxy *proxy, const struct run *run,
			  const struct input *input, size_t at, size_t there, size_t piece)
{
	size_t end = input->server_size;
	if (!input->is_unasked) {
		const uint8_t *lf = memchr(input->server + at, '\n', end - at);
		if (run->status == POPPROXY_CLIENT_TLS || !popproxy_is_at_server(proxy))
			return there;
		end = lf != NULL ? (size_t)(lf - input->server) + 1 : end;
	}
	return least(there + piece, end);
}

/* With every other turn without room. */
static void converse(struct popproxy *proxy, struct run *run, const struct input *input,
		     size_t piece, size_t room)
{
	uint8_t *rooms[2] = { malloc(room), malloc(room) };
	size_t client_at = 0, server_at = 0;
	size_t client_there = 0, server_there = 0;
	unsigned quiet = 0;
	require(rooms[0] != NULL && rooms[1] != NULL, "memory");
	for (unsigned turn = 0; quiet < 12; turn++) {
		struct popproxy_io io = { 0 };
		require(turn < TURNS_MAX, "it ends");
		client_there = least(client_there + piece, input->client_size);
		const size_t server_was = server_there;
		server_there = server_says(proxy, run, input, server_at, server_there, piece);
		io.client = input->client + client_at;
		io.client_size = client_there - client_at;
		io.server = input->server + server_at;
		io.server_size = server_there - server_at;
		io.to_client = rooms[0];
		io.to_server = rooms[1];
		io.to_client_room = run->is_slow && turn % 3 == 1 ? POPPROXY_ROOM_MIN / 2 : room;
		io.to_server_room = run->is_slow && turn % 3 == 2 ? POPPROXY_ROOM_MIN / 2 : room;
		run->status = popproxy_step(proxy, &io);
		if (run->status == POPPROXY_CLIENT_TLS && io.to_client_size == 0 &&
		    io.to_client_room == room)
			popproxy_stls(proxy, &io, true);
		if (turn > 1 && client_there == input->client_size && quiet == 8 &&
		    run->status == POPPROXY_MORE && io.to_client_room == room)
			run->status = popproxy_server_gone(proxy, &io);
		append(&run->client, rooms[0], io.to_client_size);
		append(&run->server, rooms[1], io.to_server_size);
		client_at += io.client_used;
		server_at += io.server_used;
		require(client_at <= client_there && server_at <= server_there, "what is there");
		const bool has_moved =
			io.client_used + io.server_used + io.to_client_size + io.to_server_size > 0;
		const bool has_all =
			client_there == input->client_size && server_there == server_was;
		if (has_moved || !has_all || run->status == POPPROXY_WAITING)
			quiet = run->status >= POPPROXY_TUNNEL ? quiet + 1 : 0;
		else if (quiet != 8 || run->status != POPPROXY_MORE || io.to_client_room == room)
			quiet++;
	}
	free(rooms[0]);
	free(rooms[1]);
}

/* The rooms are kept from one input to the next, as giving them back takes longer than most runs. */
static struct run *run_once(const struct input *input, uint8_t options, size_t piece, bool is_slow)
{
	static uint8_t outputs[2][2][OUTPUT_ROOM];
	const struct popproxy_limits limits = limits_of(options);
	struct popproxy proxy;
	struct run *run = calloc(1, sizeof(*run));
	require(run != NULL, "memory");
	run->is_slow = is_slow;
	run->client.bytes = outputs[is_slow][0];
	run->server.bytes = outputs[is_slow][1];
	popproxy_init(&proxy, &limits, &calls, run);
	converse(&proxy, run, input, piece, POPPROXY_ROOM_MIN + (is_slow ? piece : 65536));
	require(popproxy_is_idle(&proxy) || run->status >= POPPROXY_TUNNEL,
		"it has come to an end");
	popproxy_deinit(&proxy);
	require(!run->is_open && run->holds == 0, "all is given back");
	return run;
}

static bool is_same(const struct output *one, const struct output *other)
{
	return one->size == other->size && memcmp(one->bytes, other->bytes, one->size) == 0;
}

/* Where a session ends for what the server says, commands may still be on their way to it. */
static bool is_begun(const struct output *one, const struct output *other)
{
	return memcmp(one->bytes, other->bytes, least(one->size, other->size)) == 0;
}

/* ---- what the two may get ---- */

static bool is_command(const char *line, size_t size)
{
	static const char *const verbs[] = { "USER", "PASS", "APOP", "AUTH", "STLS", "UTF8",
					     "LANG", "CAPA", "STAT", "LIST", "UIDL", "RETR",
					     "TOP",  "DELE", "NOOP", "RSET", "QUIT" };
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		const size_t verb_size = strlen(verbs[i]);
		if (size >= verb_size && memcmp(line, verbs[i], verb_size) == 0 &&
		    (size == verb_size || line[verb_size] == ' '))
			return true;
	}
	return false;
}

static bool is_message(const char *line, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=",
			   line[i]) == NULL ||
		    line[i] == '\0')
			return size == 1 && line[0] == '*';
	return true;
}

static void check_server(const struct output *output)
{
	const char *bytes = (const char *)output->bytes;
	for (size_t at = 0; at < output->size;) {
		const char *end_of_line = memmem(bytes + at, output->size - at, "\r\n", 2);
		require(end_of_line != NULL, "the server gets lines");
		const size_t size = (size_t)(end_of_line - bytes) - at;
		require(memchr(bytes + at, '\n', size) == NULL &&
				memchr(bytes + at, '\r', size) == NULL &&
				memchr(bytes + at, '\0', size) == NULL,
			"with one end each");
		require(is_command(bytes + at, size) || is_message(bytes + at, size),
			"of commands that are known");
		at += size + 2;
	}
}

static void check_client(const struct run *run, bool is_scanning)
{
	const struct output *output = &run->client;
	require(!is_scanning || !has(output->bytes, output->size, marker),
		"what is found does not get through");
	if (run->status != POPPROXY_CUT && output->size > 0)
		require(output->size >= 2 &&
				memcmp(output->bytes + output->size - 2, "\r\n", 2) == 0,
			"the client gets whole lines");
}

static void check_pieces(const struct run *whole, const struct run *pieces)
{
	require(whole->status == pieces->status, "it ends in the same way");
	require(whole->status >= POPPROXY_END ? is_begun(&whole->server, &pieces->server)
					      : is_same(&whole->server, &pieces->server),
		"pieces do not matter to the server");
	require(is_same(&whole->client, &pieces->client), "pieces do not matter to the client");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4)
		return 0;
	const size_t client_size = least(data[2] + 256U * data[3], size - 4);
	const struct input input = { data + 4, client_size, data + 4 + client_size,
				     size - 4 - client_size, (data[1] & 64) != 0 };
	struct run *whole = run_once(&input, data[1], size, false);
	struct run *pieces = run_once(&input, data[1], data[0] + 1U, true);
	check_server(&whole->server);
	check_client(whole, (data[1] & 4) == 0);
	if (!input.is_unasked)
		check_pieces(whole, pieces);
	free(whole);
	free(pieces);
	return 0;
}
