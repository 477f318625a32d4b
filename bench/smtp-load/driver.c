/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/smtp-load/driver.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S    1000000000u
#define EVENTS	    256
#define BEGUN_MAX   64 /* before sockets are looked at again */
#define INPUT_SIZE  (64u << 10)
#define INPUTS_MAX  16		    /* of one connection before others have their turn */
#define PAUSE_NS    (NS_PER_S / 10) /* after a connection that failed, in the closed loop */
#define WAIT_MAX_NS (NS_PER_S / 4)  /* a signal between two looks is seen then */

struct connection {
	struct session session;
	int fd;
	bool is_connected;
	bool is_counted; /* its outcome */
	bool is_greeted;
	bool is_held; /* in the queue of those that stay */
	uint64_t due_ns;
	uint64_t since_ns; /* when it came into its queue */
	struct connection *previous;
	struct connection *next;
};

/* Who waits for as long as all others in it: the first is the first to have waited enough. */
struct queue {
	struct connection *first;
	struct connection *last;
	uint64_t period_ns;
};

struct driver {
	const struct driver_settings *settings;
	struct figures *figures;
	int epoll_fd;
	struct queue waiting; /* for the server */
	struct queue held;
	uint64_t start_ns; /* of the clock; all other times are since then */
	uint64_t now_ns;
	uint64_t due_ns;    /* open loop: the next one */
	uint64_t paused_ns; /* closed loop: none before */
	uint64_t number;    /* of the next session */
	uint64_t due_count; /* that were due so far: those that began, and those left out */
	bool is_over;	    /* no more sessions begin */
	int error;
	const char *call;
	char output[SESSION_OUTPUT_MAX];
	char input[INPUT_SIZE];
};

static uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void look_at_clock(struct driver *driver)
{
	driver->now_ns = clock_ns() - driver->start_ns;
}

/* No session begins behind those that were due. */
static bool is_last(const struct driver *driver)
{
	return driver->settings->sessions > 0 && driver->due_count >= driver->settings->sessions;
}

/* ---- queues ---- */

static void queue_add(struct queue *queue, struct connection *connection, uint64_t now_ns)
{
	connection->since_ns = now_ns;
	connection->next = NULL;
	connection->previous = queue->last;
	if (queue->last != NULL)
		queue->last->next = connection;
	else
		queue->first = connection;
	queue->last = connection;
}

static void queue_remove(struct queue *queue, struct connection *connection)
{
	if (connection->previous != NULL)
		connection->previous->next = connection->next;
	else
		queue->first = connection->next;
	if (connection->next != NULL)
		connection->next->previous = connection->previous;
	else
		queue->last = connection->previous;
}

/* The first, which is in it no more, or NULL. */
static struct connection *queue_take(struct queue *queue)
{
	struct connection *first = queue->first;
	if (first == NULL)
		return NULL;
	queue->first = first->next;
	if (queue->first != NULL)
		queue->first->previous = NULL;
	else
		queue->last = NULL;
	return first;
}

static uint64_t queue_due_ns(const struct queue *queue)
{
	return queue->first != NULL ? queue->first->since_ns + queue->period_ns : UINT64_MAX;
}

/* The same, when it has waited enough. */
static struct connection *queue_take_due(struct queue *queue, uint64_t now_ns)
{
	return queue_due_ns(queue) <= now_ns ? queue_take(queue) : NULL;
}

static struct queue *queue_of(struct driver *driver, const struct connection *connection)
{
	return connection->is_held ? &driver->held : &driver->waiting;
}

/* ---- the end of a session ---- */

static void count_outcome(struct driver *driver, struct connection *connection)
{
	if (connection->is_counted || connection->session.outcome == SESSION_OPEN)
		return;
	connection->is_counted = true;
	figures_decided(driver->figures, driver->now_ns, &connection->session);
}

/* It is in no queue any more. */
static void close_connection(struct driver *driver, struct connection *connection)
{
	count_outcome(driver, connection);
	figures_ended(driver->figures, driver->now_ns, connection->session.outcome,
		      driver->now_ns - connection->due_ns);
	if (connection->fd >= 0)
		close(connection->fd);
	free(connection);
}

static void finish(struct driver *driver, struct connection *connection)
{
	queue_remove(queue_of(driver, connection), connection);
	close_connection(driver, connection);
}

static void fail(struct driver *driver, struct connection *connection, const char *call, int error)
{
	if (connection->session.outcome == SESSION_OPEN) {
		connection->session.outcome = SESSION_FAILED;
		driver->error = error;
		driver->call = call;
		if (!connection->is_connected)
			driver->paused_ns = driver->now_ns + PAUSE_NS;
	}
	finish(driver, connection);
}

/* A session that was left may stay for a while. */
static void end(struct driver *driver, struct connection *connection)
{
	if (connection->session.outcome != SESSION_LEFT || driver->held.period_ns == 0) {
		finish(driver, connection);
		return;
	}
	if (connection->is_held)
		return;
	count_outcome(driver, connection);
	queue_remove(&driver->waiting, connection);
	connection->is_held = true;
	queue_add(&driver->held, connection, driver->now_ns);
}

/* ---- traffic ---- */

/* Negative: -errno. */
static int send_output(struct driver *driver, struct connection *connection)
{
	const struct session_rules *rules = &driver->settings->rules;
	for (;;) {
		size_t size = session_output(&connection->session, rules, driver->output);
		if (size == 0)
			return 0;
		ssize_t sent = send(connection->fd, driver->output, size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN ? 0 : -errno;
		session_sent(&connection->session, (size_t)sent);
	}
}

static void note_greeting(struct driver *driver, struct connection *connection)
{
	if (connection->is_greeted || !session_is_greeted(&connection->session))
		return;
	connection->is_greeted = true;
	figures_greeted(driver->figures, driver->now_ns, driver->now_ns - connection->due_ns);
}

/* Another session on the connection of one that was delivered, unless there is to be none. */
static void go_on(struct driver *driver, struct connection *connection)
{
	struct session *session = &connection->session;
	const struct driver_settings *settings = driver->settings;
	if (driver->is_over || is_last(driver)) {
		session_quit(session, &settings->rules);
		return;
	}
	figures_ended(driver->figures, driver->now_ns, session->outcome,
		      driver->now_ns - connection->due_ns);
	struct trace_session plan;
	trace_make(&settings->trace, driver->number++, &plan);
	driver->due_count++;
	session_again(session, &settings->rules, &plan);
	connection->is_counted = false;
	connection->due_ns = driver->now_ns;
	figures_begun(driver->figures, driver->now_ns, 0);
}

enum traffic { TRAFFIC_WAITS, TRAFFIC_HAS_MORE, TRAFFIC_GONE };

/* One read, and what follows from it. TRAFFIC_GONE: the connection is no more. */
static enum traffic take_input(struct driver *driver, struct connection *connection,
			       bool has_hung_up)
{
	ssize_t size = recv(connection->fd, driver->input, sizeof(driver->input), 0);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR ? TRAFFIC_HAS_MORE : TRAFFIC_WAITS;
	if (size <= 0) {
		fail(driver, connection, "recv", size < 0 ? errno : ECONNRESET);
		return TRAFFIC_GONE;
	}
	if (connection->is_held)
		return TRAFFIC_HAS_MORE;
	enum session_status status = session_input(&connection->session, &driver->settings->rules,
						   driver->input, (size_t)size);
	note_greeting(driver, connection);
	count_outcome(driver, connection);
	if (status == SESSION_OVER) {
		bool is_gone =
			connection->session.outcome != SESSION_LEFT || driver->held.period_ns == 0;
		end(driver, connection);
		return is_gone ? TRAFFIC_GONE : TRAFFIC_HAS_MORE;
	}
	if (status == SESSION_DONE)
		go_on(driver, connection);
	int ret = send_output(driver, connection);
	if (ret < 0 && !has_hung_up) {
		fail(driver, connection, "send", -ret);
		return TRAFFIC_GONE;
	}
	/* The kernel tells once: the end, when it has told that already, has to be read. */
	return (size_t)size < sizeof(driver->input) && !has_hung_up ? TRAFFIC_WAITS
								    : TRAFFIC_HAS_MORE;
}

static bool finish_connecting(struct driver *driver, struct connection *connection)
{
	int error = 0;
	socklen_t size = sizeof(error);
	if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error != 0) {
		fail(driver, connection, "connect", error);
		return false;
	}
	connection->is_connected = true;
	return true;
}

static void read_all(struct driver *driver, struct connection *connection, bool has_hung_up)
{
	enum traffic traffic = TRAFFIC_HAS_MORE;
	const bool is_pop = driver->settings->rules.is_pop; /* a mail may be large */
	for (unsigned i = 0; (is_pop || i < INPUTS_MAX) && traffic == TRAFFIC_HAS_MORE; i++)
		traffic = take_input(driver, connection, has_hung_up);
	if (traffic != TRAFFIC_HAS_MORE)
		return;
	/* Who says so much at once does not speak SMTP. */
	if (connection->session.outcome == SESSION_OPEN)
		connection->session.outcome = SESSION_BROKEN;
	finish(driver, connection);
}

static void on_event(struct driver *driver, struct connection *connection, uint32_t events)
{
	if (!connection->is_connected && !finish_connecting(driver, connection))
		return;
	if (!connection->is_held) {
		queue_remove(&driver->waiting, connection);
		queue_add(&driver->waiting, connection, driver->now_ns);
		int ret = send_output(driver, connection);
		/* What it said before it hung up says more than the error. */
		if (ret < 0 && (events & EPOLLIN) == 0) {
			fail(driver, connection, "send", -ret);
			return;
		}
	}
	const uint32_t hung_up = EPOLLERR | EPOLLHUP | EPOLLRDHUP;
	if ((events & (EPOLLIN | hung_up)) != 0)
		read_all(driver, connection, (events & hung_up) != 0);
}

/* ---- beginning ---- */

/* The connection comes from the client's address itself: one of 127/8, or of the machine. */
static int bind_to(int fd, struct dnsblv6_addr client)
{
	int on = 1;
	uint8_t bytes[16];
	dnsblv6_addr_to_bytes(client, bytes);
	/* A port is chosen only with the destination: there are enough for each pair. */
	if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) != 0)
		return -errno;
	int ret = 0;
	if (dnsblv6_addr_is_ipv4(client)) {
		struct sockaddr_in address = { .sin_family = AF_INET };
		memcpy(&address.sin_addr, bytes + 12, 4);
		ret = bind(fd, (struct sockaddr *)&address, sizeof(address));
	} else {
		struct sockaddr_in6 address = { .sin6_family = AF_INET6 };
		memcpy(&address.sin6_addr, bytes, 16);
		ret = bind(fd, (struct sockaddr *)&address, sizeof(address));
	}
	return ret == 0 ? 0 : -errno;
}

/* -errno with *ret_call, or 0. */
static int open_connection(struct driver *driver, struct connection *connection,
			   const char **ret_call)
{
	const struct driver_settings *settings = driver->settings;
	int on = 1;
	*ret_call = "socket";
	connection->fd =
		socket(settings->server.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connection->fd < 0)
		return -errno;
	setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (settings->rules.tell == SESSION_TELL_BIND) {
		*ret_call = "bind";
		int ret = bind_to(connection->fd, connection->session.plan.client);
		if (ret < 0)
			return ret;
	}
	*ret_call = "connect";
	if (connect(connection->fd, (const struct sockaddr *)&settings->server,
		    settings->server_size) != 0 &&
	    errno != EINPROGRESS)
		return -errno;
	*ret_call = "epoll_ctl";
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				     .data.ptr = connection };
	return epoll_ctl(driver->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) == 0 ? 0 : -errno;
}

/* Only without memory it fails; a connection that is not to be had is counted. */
static int begin_session(struct driver *driver, uint64_t due_ns)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	if (connection == NULL)
		return -ENOMEM;
	struct trace_session plan;
	trace_make(&driver->settings->trace, driver->number++, &plan);
	driver->due_count++;
	session_begin(&connection->session, &driver->settings->rules, &plan);
	connection->due_ns = due_ns;
	queue_add(&driver->waiting, connection, driver->now_ns);
	figures_begun(driver->figures, driver->now_ns, driver->now_ns - due_ns);

	const char *call = NULL;
	int ret = open_connection(driver, connection, &call);
	if (ret < 0)
		fail(driver, connection, call, -ret);
	return 0;
}

static int begin_closed(struct driver *driver)
{
	int ret = 0;
	for (unsigned i = 0;
	     i < BEGUN_MAX && ret == 0 && !is_last(driver) && driver->now_ns >= driver->paused_ns &&
	     driver->figures->open < driver->settings->connections;
	     i++) {
		look_at_clock(driver);
		ret = begin_session(driver, driver->now_ns);
	}
	return ret;
}

static void set_next_due(struct driver *driver)
{
	const struct driver_settings *settings = driver->settings;
	double gap_s = settings->is_poisson
			       ? trace_gap_s(&settings->trace, driver->due_count, settings->rate)
			       : 1 / settings->rate;
	driver->due_ns += (uint64_t)(gap_s * NS_PER_S);
}

static int begin_open(struct driver *driver)
{
	int ret = 0;
	for (unsigned i = 0;
	     i < BEGUN_MAX && ret == 0 && !is_last(driver) && driver->due_ns <= driver->now_ns;
	     i++) {
		if (driver->figures->open < driver->settings->open_max) {
			look_at_clock(driver);
			ret = begin_session(driver, driver->due_ns);
		} else {
			/* The trace has no gap there: a slower server gets the same sessions. */
			driver->due_count++;
			driver->figures->skipped++;
		}
		set_next_due(driver);
	}
	return ret;
}

static int begin_sessions(struct driver *driver)
{
	if (driver->is_over)
		return 0;
	return driver->settings->connections > 0 ? begin_closed(driver) : begin_open(driver);
}

/* ---- time ---- */

static void expire(struct driver *driver)
{
	struct connection *connection = NULL;
	while ((connection = queue_take_due(&driver->held, driver->now_ns)) != NULL)
		close_connection(driver, connection);
	while ((connection = queue_take_due(&driver->waiting, driver->now_ns)) != NULL) {
		if (connection->session.outcome == SESSION_OPEN)
			connection->session.outcome = SESSION_TIMEOUT;
		close_connection(driver, connection);
	}
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When something is to be done that no socket tells of. */
static uint64_t next_time_ns(const struct driver *driver, uint64_t end_ns)
{
	const struct driver_settings *settings = driver->settings;
	uint64_t next_ns = least(queue_due_ns(&driver->waiting), queue_due_ns(&driver->held));
	next_ns = least(next_ns, least(end_ns, driver->now_ns + WAIT_MAX_NS));
	if (driver->is_over || is_last(driver))
		return next_ns;
	if (settings->connections == 0)
		return least(next_ns, driver->due_ns);
	return driver->figures->open < settings->connections ? least(next_ns, driver->paused_ns)
							     : next_ns;
}

static int wait_for_events(struct driver *driver, uint64_t end_ns)
{
	struct epoll_event events[EVENTS];
	uint64_t next_ns = next_time_ns(driver, end_ns);
	uint64_t wait_ns = next_ns > driver->now_ns ? next_ns - driver->now_ns : 0;
	const struct timespec wait = { (time_t)(wait_ns / NS_PER_S), (long)(wait_ns % NS_PER_S) };

	int count = epoll_pwait2(driver->epoll_fd, events, EVENTS, &wait, NULL);
	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	look_at_clock(driver);
	/* Each is of another connection, and none is freed by another's event. */
	for (int i = 0; i < count; i++)
		on_event(driver, events[i].data.ptr, events[i].events);
	look_at_clock(driver);
	expire(driver);
	return 0;
}

/* ---- the run ---- */

static bool has_ended(struct driver *driver, const volatile int *stop)
{
	const struct driver_settings *settings = driver->settings;
	if (*stop != 0)
		return true;
	if (settings->window_ns > 0 && driver->now_ns >= settings->warmup_ns + settings->window_ns)
		return true;
	return is_last(driver) && driver->figures->open == 0;
}

/* The window, and then what is still open. */
static int run(struct driver *driver, const volatile int *stop)
{
	const struct driver_settings *settings = driver->settings;
	uint64_t end_ns =
		settings->window_ns > 0 ? settings->warmup_ns + settings->window_ns : UINT64_MAX;
	int ret = 0;
	while (ret == 0 && !has_ended(driver, stop)) {
		ret = begin_sessions(driver);
		if (ret == 0)
			ret = wait_for_events(driver, end_ns);
	}
	driver->is_over = true;
	driver->figures->window_to_ns = least(driver->now_ns, end_ns);
	end_ns = driver->now_ns + settings->drain_ns;
	while (ret == 0 && driver->figures->open > 0 && driver->now_ns < end_ns && *stop < 2)
		ret = wait_for_events(driver, end_ns);
	return ret;
}

static void abandon(struct driver *driver)
{
	struct connection *connection = NULL;
	while ((connection = queue_take(&driver->held)) != NULL)
		close_connection(driver, connection);
	while ((connection = queue_take(&driver->waiting)) != NULL) {
		driver->figures->outcomes[SESSION_OPEN] +=
			connection->session.outcome == SESSION_OPEN;
		close_connection(driver, connection);
	}
}

int driver_run(const struct driver_settings *settings, const volatile int *stop,
	       struct figures *ret_figures, int *ret_error, const char **ret_call)
{
	struct driver *driver = calloc(1, sizeof(*driver));
	if (driver == NULL)
		return -ENOMEM;
	driver->settings = settings;
	driver->figures = ret_figures;
	driver->waiting.period_ns = settings->timeout_ns;
	driver->held.period_ns = settings->hold_ns;
	driver->start_ns = clock_ns();
	figures_init(ret_figures, settings->warmup_ns);

	driver->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int ret = driver->epoll_fd < 0 ? -errno : run(driver, stop);
	abandon(driver);
	if (driver->epoll_fd >= 0)
		close(driver->epoll_fd);
	*ret_error = driver->error;
	*ret_call = driver->call;
	if (ret < 0)
		figures_deinit(ret_figures);
	free(driver);
	return ret;
}
