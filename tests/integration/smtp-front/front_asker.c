/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * front_asker - asks a next hop about recipients as an edge of smtp-front does, for
 * test_front_callforward.py.
 *
 *     front_asker HOST PORT TIMEOUT-MS < ADDRESSES
 *
 * Lines of input are asked about at once up to an empty one, which waits for the answers; then
 * the next. Each answer is a line "ADDRESS<tab>CODE<tab>TEXT".
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "integration/mail/smtp-front/recipients/callforward.h"

#define ASKS_MAX 10000

struct ask {
	struct callforward_wait wait;
	uv_loop_t *loop;
	char address[ENVELOPE_ADDRESS_MAX + 1];
};

static struct ask asks[ASKS_MAX];
static unsigned ask_count;
static unsigned open_count;

static void print_answer(const struct ask *ask, const struct callforward_answer *answer)
{
	printf("%s\t%d\t%s\n", ask->address, answer->code, answer->text);
}

static void on_answer(void *context, const struct callforward_answer *answer)
{
	const struct ask *ask = context;
	print_answer(ask, answer);
	if (--open_count == 0)
		uv_stop(ask->loop);
}

static void begin(uv_loop_t *loop, struct callforward *forward, const char *address)
{
	struct callforward_answer answer;
	if (ask_count == ASKS_MAX)
		exit(EX_USAGE);
	struct ask *ask = &asks[ask_count++];
	snprintf(ask->address, sizeof(ask->address), "%.*s", ENVELOPE_ADDRESS_MAX, address);
	ask->loop = loop;
	ask->wait.callback = on_answer;
	ask->wait.context = ask;
	if (callforward_ask(forward, ask->address, strlen(ask->address), false, &ask->wait,
			    &answer) == 0)
		print_answer(ask, &answer);
	else
		open_count++;
}

static void ask_all(uv_loop_t *loop, struct callforward *forward)
{
	char line[1024];
	bool has_more = true;
	while (has_more) {
		has_more = fgets(line, sizeof(line), stdin) != NULL;
		if (has_more && line[0] != '\n') {
			line[strcspn(line, "\n")] = '\0';
			begin(loop, forward, line);
			continue;
		}
		if (open_count > 0)
			uv_run(loop, UV_RUN_DEFAULT);
		/* Time may have gone by in fgets(). */
		uv_update_time(loop);
	}
}

static struct place parse_place(const char *host, const char *port)
{
	struct place place = { .address_size = sizeof(struct sockaddr_in) };
	struct sockaddr_in address = { .sin_family = AF_INET };
	address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
		exit(EX_USAGE);
	memcpy(&place.address, &address, sizeof(address));
	return place;
}

int main(int argc, char **argv)
{
	uv_loop_t loop;
	struct callforward *forward = NULL;
	if (argc != 4)
		return EX_USAGE;
	struct place place = parse_place(argv[1], argv[2]);
	struct callforward_setup setup = {
		.hop = &place,
		.hostname = "front.example.com",
		.timeout_ms = (unsigned)strtoul(argv[3], NULL, 10),
		.valid_ms = 3600000,
		.refused_ms = 300000,
	};
	if (uv_loop_init(&loop) != 0 || callforward_new(&loop, &setup, &forward) != 0)
		return EX_OSERR;
	ask_all(&loop, forward);
	callforward_close(forward);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop) == 0 ? EX_OK : EX_SOFTWARE;
}
