/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodeserver.h"

#include "integration/mail/mail-stored/module/nodeadmit.h"
#include "integration/mail/mail-stored/module/nodeanswers.h"
#include "integration/mail/mail-stored/nodes/noderouter.h"
#include "lib/common/log.h"
#include "lib/common/wholefile.h"
#include "lib/format/address.h"
#include "lib/process/doors.h"
#include "lib/process/ration.h"
#include "lib/wire/proxy.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sysexits.h>
#include <unistd.h>

static const char context[] = "mail-stored";

#define PAUSE_MS 1000
/* Mails of other nodes may be many: a line says how many in so long. */
#define MISPLACED_LOG_MS 60000
/* A mail whose segment is emptied between two requests is looked for so often. */
#define LOOKS_MAX 4
/* Read before it is sent: so much of a mail, in one turn of the loop. */
#define TRIED_MAX   (UINT64_C(2) << 20)
#define TRIED_PIECE 65536
/* Lines about connections that are refused, in a second: anything that reaches the port causes them. */
#define REFUSAL_LINES_MAX 5

/* A link of another node, and that to the store which is for it. */
struct session {
	LIST_ENTRY(session) entry;
	struct server *server;
	struct nodelink *peer;
	struct nodelink *store; /* NULL: not yet, or not any more */
	bool is_ready;		/* the peer */
	bool has_store;		/* the store has greeted */
	bool is_ended;
	char address[DNSBLV6_ADDR_TEXT_SIZE]; /* the peer's */
	/* The request at hand. */
	bool is_asked;
	uint8_t type;
	uint64_t serial;
	uint64_t store_serial; /* of what the store was asked last */
	uint64_t mail;	       /* of SEGMENT */
	unsigned looks;
	struct mailrow row;
	/* It waits for the store's greeting. */
	struct storewire_request waiting;
	uint8_t name[MAILBOX_NAME_MAX];
	struct nodewire_memory memory;
	uint8_t *bytes;
	uint64_t room_size;
	bool is_waiting;
};

struct server {
	const struct nodeserver_start *start;
	struct nodetls *tls;
	struct nodewire_room room;
	struct locate locate;
	uint64_t misplaced; /* since the last line about them */
	uint64_t misplaced_ms;
	struct ration refusals;	      /* lines about them */
	struct mailplace unread;      /* of the last line about a mail that was not read */
	uint64_t heard_ms[NODES_MAX]; /* of each peer, by its place: its last request */
	uint64_t looked_ms;	      /* when the timer of "silence" last came */
	bool is_twofold[NODES_MAX];   /* of each peer: a line has said that it has two addresses */
	struct doors *doors;
	LIST_HEAD(session_list, session) list;
	struct session_list ended;
	unsigned count;
	bool has_quotas;
	bool is_stopping;
	uv_loop_t loop;
	uv_signal_t term;
	uv_timer_t drain;
	uv_timer_t silence;
	uv_prepare_t prepare;
};

/* ---- the end ---- */

static void forget_memory(struct session *session)
{
	if (session->memory.fd >= 0)
		close(session->memory.fd);
	nodewire_give_back(&session->server->room, session->room_size);
	free(session->bytes);
	session->memory = (struct nodewire_memory){ .fd = -1 };
	session->bytes = NULL;
	session->room_size = 0;
	session->is_waiting = false;
}

/* Links free themselves; the session waits until the loop has nothing of it at hand. */
static void end_session(struct session *session)
{
	if (session->is_ended)
		return;
	session->is_ended = true;
	nodelink_close(session->peer);
	nodelink_close(session->store);
	forget_memory(session);
	LIST_REMOVE(session, entry);
	LIST_INSERT_HEAD(&session->server->ended, session, entry);
	session->server->count--;
}

/* Those whose reply is on its way end behind it. */
static void end_idle(struct server *server)
{
	struct session *session = LIST_FIRST(&server->list);
	while (session != NULL) {
		struct session *behind = LIST_NEXT(session, entry);
		if (!session->is_asked && !nodelink_is_sending(session->peer))
			end_session(session);
		session = behind;
	}
}

static void prepare_on_wait(uv_prepare_t *prepare)
{
	struct server *server = prepare->data;
	struct session *session = NULL;
	if (server->is_stopping)
		end_idle(server);
	while ((session = LIST_FIRST(&server->ended)) != NULL) {
		LIST_REMOVE(session, entry);
		free(session);
	}
	if (server->is_stopping && server->count == 0)
		uv_stop(&server->loop);
}

/* ---- replies to the other node ---- */

static void answer(struct session *session, struct storewire_reply *reply,
		   const struct nodewire_memory *memory)
{
	reply->type = session->type;
	reply->serial = session->serial;
	session->is_asked = false;
	forget_memory(session);
	if (nodelink_answer(session->peer, reply, memory) != 0)
		end_session(session);
}

static void answer_status(struct session *session, int status)
{
	struct storewire_reply reply = { .status = status };
	answer(session, &reply, NULL);
}

/* ---- the store ---- */

static void ask_store(struct session *session, struct storewire_request *request,
		      const struct nodewire_memory *memory)
{
	if (nodelink_ask(session->store, request, memory) != 0) {
		end_session(session);
		return;
	}
	session->store_serial = request->serial;
	nodelink_limit(session->store, session->server->start->setup->nodes.timeout_ms);
}

static void look_for_mail(struct session *session)
{
	struct storewire_request request = { .type = STOREWIRE_ROW, .number = session->mail };
	session->looks++;
	ask_store(session, &request, NULL);
}

/*
 * What the disk does not give while the mail is on its way ends the link, and the lock and the session that it is
 * for: so it is read once before. 0 or -errno.
 */
static int try_to_read(int fd, uint64_t at, uint64_t size)
{
	uint8_t bytes[TRIED_PIECE];
	const uint64_t end = at + (size < TRIED_MAX ? size : TRIED_MAX);
	int ret = 0;
	while (ret == 0 && at < end) {
		const size_t piece = end - at < sizeof(bytes) ? (size_t)(end - at) : sizeof(bytes);
		ret = wholefile_get(fd, at, bytes, piece);
		at += piece;
	}
	return ret == -ENODATA ? MAILSTORE_EDAMAGED : ret;
}

/* A client that looks again, or comes each minute, gets to the same mail. */
static void log_unread(struct server *server, const struct mailplace *place, int status)
{
	const struct mailplace *last = &server->unread;
	if (last->segment == place->segment && last->at == place->at)
		return;
	server->unread = *place;
	log_error(context, "mail not read, segment=%016" PRIx64 " at=%" PRIu64 " (%s)",
		  place->segment, place->at, mailstore_strerror(status));
}

static void send_record(struct session *session, int fd)
{
	const struct mailrow *row = &session->row;
	struct storewire_reply sent = { .number = MAILRECORD_HEAD_SIZE + row->meta_size };
	const struct nodewire_memory memory = { .fd = fd, .at = row->place.at, .size = row->size };
	int ret = try_to_read(fd, row->place.at, row->size);
	if (ret == 0) {
		answer(session, &sent, &memory);
		return;
	}
	log_unread(session->server, &row->place, ret);
	answer_status(session, ret);
}

/* The record of a mail begins at its place in the segment. */
static void take_segment(struct session *session, const struct storewire_reply *reply,
			 const struct nodelink_message *message)
{
	if (reply->status == -ENOENT && session->looks < LOOKS_MAX) {
		look_for_mail(session); /* it was copied to another segment */
		return;
	}
	if (reply->status != 0 || message->memory.fd < 0) {
		answer_status(session, reply->status != 0 ? reply->status : -EPROTO);
		return;
	}
	send_record(session, message->memory.fd);
}

static void take_row(struct session *session, const struct storewire_reply *reply)
{
	struct storewire_request request = { .type = STOREWIRE_SEGMENT };
	if (reply->status != 0 || reply->rows_size != MAILROW_SIZE) {
		answer_status(session, reply->status != 0 ? reply->status : -EPROTO);
		return;
	}
	mailrow_decode(reply->rows, &session->row);
	request.number = session->row.place.segment;
	ask_store(session, &request, NULL);
}

/* Whatever the store has answered: it is there. */
static void pong(struct session *session)
{
	struct storewire_reply hello = { .number = session->server->has_quotas
							   ? STOREWIRE_HAS_QUOTAS
							   : 0 };
	uint8_t *out = hello.id.bytes;
	bytes_put(&out, *session->server->start->since_us, 8);
	bytes_put(&out, locate_sum(&session->server->start->setup->nodes), 8);
	answer(session, &hello, NULL);
}

static void store_on_message(void *owner, struct nodelink *link, struct nodelink_message *message)
{
	struct session *session = owner;
	struct storewire_reply reply;
	if (storewire_decode_reply(message->packet, message->packet_size, &reply) != 0 ||
	    reply.serial != session->store_serial || !session->is_asked) {
		end_session(session);
		return;
	}
	nodelink_limit(link, 0);
	if (session->type == STOREWIRE_HELLO)
		pong(session);
	else if (session->type != STOREWIRE_SEGMENT)
		answer(session, &reply, message->memory.fd >= 0 ? &message->memory : NULL);
	else if (reply.type == STOREWIRE_ROW)
		take_row(session, &reply);
	else
		take_segment(session, &reply, message);
}

static void begin_request(struct session *session)
{
	struct storewire_request request = session->waiting;
	const bool has_memory = session->memory.fd >= 0 || session->bytes != NULL;
	session->is_waiting = false;
	if (session->type == STOREWIRE_SEGMENT) {
		session->mail = request.number;
		session->looks = 0;
		look_for_mail(session);
	} else {
		ask_store(session, &request, has_memory ? &session->memory : NULL);
	}
}

static void store_on_ready(void *owner, struct nodelink *link)
{
	struct session *session = owner;
	session->has_store = true;
	session->server->has_quotas = nodelink_has_quotas(link);
	if (session->is_waiting)
		begin_request(session);
}

/* A lock has gone with it. Before it has greeted there is none: then the store is not there. */
static void store_on_lost(void *owner, struct nodelink *link, int status)
{
	struct session *session = owner;
	const bool was_there = session->has_store;
	(void)link;
	(void)status;
	session->store = NULL;
	session->has_store = false;
	if (was_there)
		end_session(session);
	else if (session->is_asked)
		answer_status(session, MAILSTORE_EAWAY);
}

static const struct nodelink_rules store_rules = { store_on_ready, store_on_message,
						   store_on_lost };

static int open_store(struct session *session)
{
	struct server *server = session->server;
	const struct nodelink_start start = { .loop = &server->loop,
					      .rules = &store_rules,
					      .owner = session,
					      .setup = &server->start->setup->nodes,
					      .room = &server->room };
	return nodelink_open_local(&start, server->start->store_path, &session->store);
}

/* ---- requests of the other node ---- */

static void log_broken(const struct nodelink *link)
{
	const struct nodesetup_peer *peer = nodelink_peer(link);
	log_warning(context, "node breaks the protocol, node=%s place=%s", peer->name,
		    peer->address.text);
}

/* What it has said is no request. */
static void break_off(struct session *session)
{
	log_broken(session->peer);
	end_session(session);
}

/* 0, or why it is refused. What came is borrowed, and kept until the store has answered. */
static int keep(struct session *session, const struct storewire_request *request,
		struct nodelink_message *message)
{
	session->waiting = *request;
	if (request->mailbox.size > 0)
		memcpy(session->name, request->mailbox.bytes, request->mailbox.size);
	session->waiting.mailbox.bytes = session->name;
	if (message->dropped != 0)
		return message->dropped;
	if (message->memory.fd >= 0) {
		session->memory = message->memory;
		session->room_size = message->room_size;
		message->memory.fd = -1;
	} else if (message->memory.bytes_size > 0) {
		session->bytes = malloc(message->memory.bytes_size);
		if (session->bytes == NULL)
			return -ENOMEM;
		memcpy(session->bytes, message->memory.bytes, message->memory.bytes_size);
		session->memory.bytes = session->bytes;
		session->memory.bytes_size = message->memory.bytes_size;
	}
	return 0;
}

/* What is kept, now or when the store has greeted. */
static void pass_on(struct session *session)
{
	if (session->store == NULL && open_store(session) != 0)
		answer_status(session, MAILSTORE_EAWAY);
	else if (session->has_store)
		begin_request(session);
	else
		session->is_waiting = true;
}

static void tell_misplaced(struct server *server, uint64_t now_ms)
{
	if (server->misplaced == 0 ||
	    (server->misplaced_ms != 0 && now_ms - server->misplaced_ms < MISPLACED_LOG_MS))
		return;
	log_warning(context,
		    "mail refused whose mailbox is of another node, count=%" PRIu64
		    " (databases of users differ?)",
		    server->misplaced);
	server->misplaced = 0;
	server->misplaced_ms = now_ms;
}

/* 0 or a status: a mailbox of another node would be split. */
static int admit(struct session *session)
{
	struct server *server = session->server;
	if (session->type != STOREWIRE_DELIVER)
		return 0;
	int ret = nodeadmit_check(&server->locate, &session->waiting, &session->memory);
	server->misplaced += ret == MAILSTORE_EAWAY;
	tell_misplaced(server, uv_now(&server->loop));
	return ret;
}

static void take_request(struct session *session, struct nodelink_message *message)
{
	struct storewire_request request;
	if (storewire_decode_request(message->packet, message->packet_size, &request) != 0 ||
	    request.has_memory) {
		break_off(session);
		return;
	}
	session->is_asked = true;
	session->type = request.type;
	session->serial = request.serial;
	int ret = keep(session, &request, message);
	if (ret == 0)
		ret = admit(session);
	if (ret != 0)
		answer_status(session, ret);
	else
		pass_on(session);
}

/* What costs the store next to nothing is asked: behind a store that hangs the node is down. */
static void take_ping(struct session *session)
{
	session->is_asked = true;
	session->type = STOREWIRE_HELLO;
	session->serial = 0;
	session->waiting = (struct storewire_request){ .type = STOREWIRE_MAKE_ID };
	pass_on(session);
}

static size_t place_of(const struct session *session)
{
	return (size_t)(nodelink_peer(session->peer) - session->server->start->setup->nodes.peers);
}

static uint64_t *heard_of(const struct session *session)
{
	return &session->server->heard_ms[place_of(session)];
}

static void peer_on_message(void *owner, struct nodelink *link, struct nodelink_message *message)
{
	struct session *session = owner;
	*heard_of(session) = uv_now(&session->server->loop);
	/* One request at a time: replies to what is sent without reading any would pile up here. */
	if (session->is_asked || nodelink_is_sending(link))
		break_off(session);
	else if (message->packet_size == 0)
		take_ping(session);
	else
		take_request(session, message);
}

/*
 * A copy of a node's machine has its key, and takes mails for its mailboxes that no other node looks for there. A node
 * that has two addresses is such a case, too: so it is said, and no more.
 */
static void look_for_copy(const struct session *session)
{
	struct server *server = session->server;
	const size_t place = place_of(session);
	const struct session *other = NULL;
	if (server->is_twofold[place])
		return;
	LIST_FOREACH(other, &server->list, entry)
	{
		if (!other->is_ready || place_of(other) != place ||
		    strcmp(other->address, session->address) == 0)
			continue;
		server->is_twofold[place] = true;
		log_warning(context, "node comes from two addresses, node=%s client=%s other=%s",
			    nodelink_peer(session->peer)->name, session->address, other->address);
		return;
	}
}

static void peer_on_ready(void *owner, struct nodelink *link)
{
	struct session *session = owner;
	(void)link;
	session->is_ready = true;
	*heard_of(session) = uv_now(&session->server->loop);
	look_for_copy(session);
}

static void tell_left_out(struct server *server, uint64_t now_ms)
{
	const unsigned left_out = ration_settle(&server->refusals, now_ms);
	if (left_out > 0)
		log_info(context, "lines left out, count=%u", left_out);
}

static bool may_log_refusal(struct server *server)
{
	const uint64_t now_ms = uv_now(&server->loop);
	tell_left_out(server, now_ms);
	return ration_take(&server->refusals, now_ms, REFUSAL_LINES_MAX);
}

static void log_stranger(struct session *session, int status)
{
	if (!may_log_refusal(session->server))
		return;
	log_warning(context, "connection of no node refused, client=%s (%s)", session->address,
		    status == -EACCES ? "its key is not that of a peer"
		    : status > -2000  ? strerror(-status)
				      : "no TLS of ours");
}

static void peer_on_lost(void *owner, struct nodelink *link, int status)
{
	struct session *session = owner;
	if (session->is_ready && status == -EPROTO)
		log_broken(link);
	else if (!session->is_ready)
		log_stranger(session, status);
	session->peer = NULL;
	end_session(session);
}

static const struct nodelink_rules peer_rules = { peer_on_ready, peer_on_message, peer_on_lost };

/* ---- connections ---- */

/* One that has shown no key yet makes room, the oldest: whatever takes all places so is no node. */
static bool make_room(struct server *server)
{
	struct session *session = NULL;
	struct session *found = NULL;
	if (server->count < nodesetup_links(&server->start->setup->nodes))
		return true;
	LIST_FOREACH(session, &server->list, entry)
	if (!session->is_ready)
		found = session;
	if (found != NULL)
		end_session(found);
	return found != NULL;
}

static void name_peer(const struct sockaddr *peer, char *ret_text)
{
	struct proxy ends;
	proxy_of_socket(peer, peer, &ends);
	dnsblv6_addr_format(ends.client_addr, ret_text);
}

static void take_peer(void *owner, unsigned door, int fd, const struct sockaddr *peer)
{
	struct server *server = owner;
	const struct nodesetup *setup = &server->start->setup->nodes;
	const bool has_room = make_room(server);
	struct session *session = has_room ? calloc(1, sizeof(*session)) : NULL;
	const struct nodelink_start start = {
		.loop = &server->loop,
		.rules = &peer_rules,
		.owner = session,
		.tls = server->tls,
		.setup = setup,
		.room = &server->room,
		.memory_max = server->start->setup->size_max + NODEANSWERS_MEMORY_MORE,
	};
	(void)door;
	if (!has_room && may_log_refusal(server))
		log_warning(context, "link refused, as nodes have all that they may, links=%u",
			    server->count);
	if (session == NULL) {
		close(fd);
		return;
	}
	session->server = server;
	name_peer(peer, session->address);
	session->memory.fd = -1;
	if (nodelink_open_server(&start, fd, &session->peer) != 0) {
		free(session);
		return;
	}
	LIST_INSERT_HEAD(&server->list, session, entry);
	server->count++;
}

static void log_wait(void *owner, int error)
{
	(void)owner;
	log_warning(context, "nodes have to wait (%s)", strerror(error));
}

static const struct doors_rules door_rules = { PAUSE_MS, NULL, take_peer, log_wait };

/* ---- nodes that hang ---- */

/*
 * A node whose processes stand still while its kernel goes on keeps its links, and with them the locks of its clients.
 * It asks each NODEROUTER_PULSE_MS otherwise, but while it waits for an answer. When this process itself stood
 * still, what the others said meanwhile is not read yet.
 */
static void silence_on_timer(uv_timer_t *timer)
{
	struct server *server = timer->data;
	const uint64_t now_ms = uv_now(&server->loop);
	const uint64_t limit_ms =
		2 * (uint64_t)(server->start->setup->nodes.silence_ms + NODEROUTER_PULSE_MS);
	const bool stood_still = now_ms - server->looked_ms > limit_ms / 2;
	struct session *session = NULL;
	server->looked_ms = now_ms;
	tell_left_out(server, now_ms);
	tell_misplaced(server, now_ms);
	LIST_FOREACH(session, &server->list, entry)
	if (session->is_ready && (session->is_asked || stood_still))
		*heard_of(session) = now_ms;
	session = LIST_FIRST(&server->list);
	while (session != NULL) {
		struct session *behind = LIST_NEXT(session, entry);
		if (session->is_ready && now_ms - *heard_of(session) > limit_ms)
			end_session(session);
		session = behind;
	}
}

/* ---- begin and end ---- */

static void drain_on_timer(uv_timer_t *timer)
{
	struct server *server = timer->data;
	uv_stop(&server->loop);
}

static void term_on_raise(uv_signal_t *raised, int number)
{
	struct server *server = raised->data;
	(void)number;
	if (server->is_stopping)
		return;
	server->is_stopping = true;
	doors_close(server->doors);
	server->doors = NULL;
	uv_timer_start(&server->drain, drain_on_timer, NODESERVER_DRAIN_MS, 0);
}

static int open_handles(struct server *server)
{
	uv_signal_init(&server->loop, &server->term); /* these cannot fail */
	uv_timer_init(&server->loop, &server->drain);
	uv_timer_init(&server->loop, &server->silence);
	uv_prepare_init(&server->loop, &server->prepare);
	server->term.data = server;
	server->drain.data = server;
	server->silence.data = server;
	server->prepare.data = server;
	uv_prepare_start(&server->prepare, prepare_on_wait);
	server->looked_ms = uv_now(&server->loop);
	uv_timer_start(&server->silence, silence_on_timer, NODEROUTER_PULSE_MS,
		       NODEROUTER_PULSE_MS);
	int ret = doors_open(&server->loop, &server->start->listen_fd, 1, &door_rules, server,
			     &server->doors);
	if (ret == 0)
		ret = doors_watch(server->doors);
	return ret == 0 ? uv_signal_start(&server->term, term_on_raise, SIGTERM) : ret;
}

static void close_handles(struct server *server)
{
	doors_close(server->doors);
	while (!LIST_EMPTY(&server->list))
		end_session(LIST_FIRST(&server->list));
	server->is_stopping = false;
	uv_close((uv_handle_t *)&server->term, NULL);
	uv_close((uv_handle_t *)&server->drain, NULL);
	uv_close((uv_handle_t *)&server->silence, NULL);
	uv_close((uv_handle_t *)&server->prepare, NULL);
	uv_run(&server->loop, UV_RUN_DEFAULT);
	prepare_on_wait(&server->prepare);
}

static int serve(struct server *server)
{
	int ret = open_handles(server);
	if (ret != 0)
		log_error(context, "loop not started (%s)", uv_strerror(ret));
	else
		log_info(context, "node ready, place=%s", server->start->setup->nodes.listen.text);
	if (ret == 0)
		uv_run(&server->loop, UV_RUN_DEFAULT);
	close_handles(server);
	tell_left_out(server, UINT64_MAX);
	tell_misplaced(server, UINT64_MAX);
	return ret == 0 ? EX_OK : EX_OSERR;
}

int nodeserver_run(const struct nodeserver_start *start)
{
	const struct nodesetup *nodes = &start->setup->nodes;
	struct server *server = calloc(1, sizeof(*server));
	if (server == NULL)
		return EX_OSERR;
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	server->start = start;
	server->has_quotas = true; /* until the store has said so */
	server->room.max = nodes->memory_max;
	LIST_INIT(&server->list);
	LIST_INIT(&server->ended);
	server->locate.setup = nodes;
	int status = stored_setup_open_users(start->setup, &server->locate.users);
	if (status == EX_OK)
		status = nodetls_new(nodes, &server->tls);
	if (status == EX_OK && start->confine != NULL)
		status = start->confine(start->setup);
	if (status == EX_OK && uv_loop_init(&server->loop) != 0)
		status = EX_OSERR;
	if (status == EX_OK) {
		status = serve(server);
		uv_loop_close(&server->loop);
	}
	nodetls_free(server->tls);
	users_close(server->locate.users);
	free(server);
	return status;
}
