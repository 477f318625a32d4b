/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/stored.h"

#include "integration/mail/mail-stored/cluster/cluster_process.h"
#include "integration/mail/mail-stored/lmtp/lmtp.h"
#include "integration/mail/mail-stored/login/loginserver.h"
#include "integration/mail/mail-stored/module/nodemodule.h"
#include "integration/mail/mail-stored/module/nodeserver.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "integration/mail/mail-stored/store/store_confine.h"
#include "integration/mail/mail-stored/store/store_process.h"
#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"
#include "lib/process/listening.h"
#include "lib/process/sharedmem.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

static const char context[] = "mail-stored";

#define BACKLOG 512
#define KILL_AFTER_MS                                                                              \
	30000 /* of a process that was told to end: a large index may take some time */

/* As they are made; LMTP gives the store what it has before the store ends. */
enum { ROLE_STORE, ROLE_NODE, ROLE_MODULE, ROLE_LMTP, ROLE_LOGIN, ROLES };

/* Where the store listens when the module has the socket of clients. */
#define STORE_PATH_END ".store"

/* Clients come again within seconds: no pause is longer than one. */
static const struct crew_pace pace = { .first_ms = 100, .most_ms = 1000, .life_ms = 1000 };

struct parent {
	const struct stored_setup *setup;
	struct crew crew;
	sigset_t waited; /* blocked in the parent */
	sigset_t before; /* what children have */
	uint64_t *counters;
	uint64_t *since_us; /* of store_process.h, in the same memory */
	int store_fd;
	int lmtp_fds[STORED_LMTP_MAX];
	/* Of nodes: the clients of the module, other nodes, and mail servers that ask where. */
	int module_fd;
	int node_fd;
	int location_fd;
	/* Of logins: the end of the process that has the clients, and that of its own. */
	int login_fds[2];
	char store_path[STORED_PATH_MAX + sizeof(STORE_PATH_END)];
	int status;
	bool is_stopping;
};

/* ---- sockets ---- */

static int bind_path(const struct owner *owner, const char *path, int type, int *ret_fd)
{
	int ret = listening_bind_path(path, type, ret_fd);
	if (ret != 0)
		return ret;
	ret = owner_give(owner, path);
	/* A next start could not even see that no process listens at one without a mode. */
	if (ret != 0)
		unlink(path);
	return ret;
}

static int listen_at(int fd)
{
	return listen(fd, BACKLOG) == 0 ? 0 : -errno;
}

static int open_place(const struct parent *parent, const struct place *place, int *ret_fd)
{
	int ret = place->address.ss_family == AF_UNIX
			  ? bind_path(&parent->setup->owner, place->text, SOCK_STREAM, ret_fd)
			  : listening_bind_port((const struct sockaddr *)&place->address,
						place->address_size, LISTENING_IPV6_ONLY, ret_fd);
	return ret == 0 ? listen_at(*ret_fd) : ret;
}

static int refuse_place(const struct stored_setup *setup, const char *place, int ret)
{
	log_error(context, "socket not opened, place=%s (%s)", place,
		  place[0] == '/' ? owner_explain(&setup->owner, ret) : strerror(-ret));
	return program_refused_status(ret);
}

/* That of the store is for the module alone. */
static int open_nodes(struct parent *parent)
{
	const struct stored_setup *setup = parent->setup;
	struct owner own = setup->owner;
	own.group[0] = '\0';
	own.socket_mode = 0600;
	int ret = bind_path(&own, parent->store_path, SOCK_SEQPACKET, &parent->store_fd);
	if (ret == 0)
		ret = listen_at(parent->store_fd);
	if (ret != 0)
		return refuse_place(setup, parent->store_path, ret);
	ret = open_place(parent, &setup->nodes.listen, &parent->node_fd);
	if (ret != 0)
		return refuse_place(setup, setup->nodes.listen.text, ret);
	if (setup->nodes.location.text[0] == '\0')
		return EX_OK;
	ret = open_place(parent, &setup->nodes.location, &parent->location_fd);
	return ret != 0 ? refuse_place(setup, setup->nodes.location.text, ret) : EX_OK;
}

/* One pair for all that follow: a question waits in it for the next process. */
static int open_logins(struct parent *parent)
{
	if (stored_setup_logins(parent->setup)[0] == '\0' ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       parent->login_fds) == 0)
		return EX_OK;
	log_error(context, "process not started (%s)", strerror(errno));
	return EX_OSERR;
}

static int open_sockets(struct parent *parent)
{
	const struct stored_setup *setup = parent->setup;
	const bool has_nodes = nodesetup_is_on(&setup->nodes);
	int *fd = has_nodes ? &parent->module_fd : &parent->store_fd;
	int ret = bind_path(&setup->owner, setup->socket, SOCK_SEQPACKET, fd);
	if (ret == 0)
		ret = listen_at(*fd);
	if (ret != 0)
		return refuse_place(setup, setup->socket, ret);
	int status = open_logins(parent);
	if (status == EX_OK && has_nodes)
		status = open_nodes(parent);
	if (status != EX_OK)
		return status;
	for (unsigned i = 0; i < setup->lmtp_count; i++) {
		ret = open_place(parent, &setup->lmtp[i], &parent->lmtp_fds[i]);
		if (ret != 0)
			return refuse_place(setup, setup->lmtp[i].text, ret);
	}
	return EX_OK;
}

static void close_lmtp(struct parent *parent)
{
	for (unsigned i = 0; i < parent->setup->lmtp_count; i++) {
		if (parent->lmtp_fds[i] >= 0)
			close(parent->lmtp_fds[i]);
		parent->lmtp_fds[i] = -1;
	}
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* All that a child does not serve: its own, with the questions that it asks, are not closed here. */
static void close_others(struct parent *parent, const int *own, const int *own_login)
{
	int *const fds[] = { &parent->store_fd,	   &parent->module_fd,	  &parent->node_fd,
			     &parent->location_fd, &parent->login_fds[0], &parent->login_fds[1] };
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] != own && fds[i] != own_login)
			close_one(fds[i]);
}

static const int *login_fd_or_null(const struct parent *parent)
{
	return parent->login_fds[0] >= 0 ? &parent->login_fds[0] : NULL;
}

/* Whatever is there: the sockets are ours. */
static void remove_paths(const struct parent *parent)
{
	unlink(parent->setup->socket);
	if (nodesetup_is_on(&parent->setup->nodes))
		unlink(parent->store_path);
	if (parent->setup->nodes.location.address.ss_family == AF_UNIX)
		unlink(parent->setup->nodes.location.text);
	for (unsigned i = 0; i < parent->setup->lmtp_count; i++)
		if (parent->setup->lmtp[i].address.ss_family == AF_UNIX)
			unlink(parent->setup->lmtp[i].text);
}

/* ---- processes ---- */

static int run_store(struct parent *parent)
{
	const bool has_nodes = nodesetup_is_on(&parent->setup->nodes);
	const int *login_fd = has_nodes ? NULL : login_fd_or_null(parent);
	const struct store_process_start start = { .setup = parent->setup,
						   .listen_fd = parent->store_fd,
						   .login_fd = login_fd,
						   .counters = parent->counters,
						   .since_us = parent->since_us };
	close_lmtp(parent);
	close_others(parent, &parent->store_fd, login_fd);
	return parent->setup->layer == STORED_RADOS ? cluster_process_run(&start)
						    : store_process_run(&start);
}

/* The store makes it of what the cluster has; SIGTERM ends this wait as it would end any. */
static void wait_for_users(const struct stored_setup *setup)
{
	if (!setup->cluster.has_users || access(setup->users, F_OK) == 0)
		return;
	log_info(context, "lmtp waits for the cluster's users, path=%s", setup->users);
	while (access(setup->users, F_OK) != 0)
		poll(NULL, 0, 500);
}

static int run_lmtp(struct parent *parent)
{
	const struct nodesetup *nodes = &parent->setup->nodes;
	const bool has_links = nodesetup_is_on(nodes) && nodes->version == 2;
	const struct lmtp_start start = { .setup = parent->setup,
					  .listeners = parent->lmtp_fds,
					  .listener_count = parent->setup->lmtp_count,
					  .store_path = has_links ? parent->store_path : NULL,
					  .confine = has_links ? store_confine_linked_lmtp
							       : store_confine_lmtp };
	close_others(parent, NULL, NULL);
	wait_for_users(parent->setup);
	return lmtp_run(&start);
}

static int run_module(struct parent *parent)
{
	const struct nodemodule_start start = { .setup = parent->setup,
						.store_path = parent->store_path,
						.listen_fd = parent->module_fd,
						.location_fd = parent->location_fd,
						.login_fd = login_fd_or_null(parent),
						.since_us = parent->since_us,
						.confine = store_confine_module };
	close_lmtp(parent);
	close_one(&parent->store_fd);
	close_one(&parent->node_fd);
	close_one(&parent->login_fds[1]);
	return nodemodule_run(&start);
}

static int run_node(struct parent *parent)
{
	const struct nodeserver_start start = { .setup = parent->setup,
						.store_path = parent->store_path,
						.listen_fd = parent->node_fd,
						.since_us = parent->since_us,
						.confine = store_confine_node };
	close_lmtp(parent);
	close_others(parent, &parent->node_fd, NULL);
	return nodeserver_run(&start);
}

static int run_login(struct parent *parent)
{
	const struct loginserver_start start = { .setup = parent->setup,
						 .fd = parent->login_fds[1],
						 .confine = store_confine_login };
	close_lmtp(parent);
	close_others(parent, NULL, &parent->login_fds[1]);
	return loginserver_run(&start);
}

static const struct {
	const char *name;
	int (*run)(struct parent *parent);
} roles[ROLES] = {
	[ROLE_STORE] = { "store", run_store },	  [ROLE_NODE] = { "node", run_node },
	[ROLE_MODULE] = { "module", run_module }, [ROLE_LMTP] = { "lmtp", run_lmtp },
	[ROLE_LOGIN] = { "login", run_login },
};

static void begin(struct parent *parent, struct crew_slot *slot)
{
	const char *name = roles[slot->role].name;
	pid_t pid = child_fork(slot);
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		sigprocmask(SIG_SETMASK, &parent->before, NULL);
		exit(roles[slot->role].run(parent));
	}
	if (pid < 0)
		log_warning(context, "process not started, role=%s (%s)", name, strerror(-pid));
}

static void tell(struct parent *parent, unsigned role)
{
	child_tell(&parent->crew, role, clock_now_ms() + KILL_AFTER_MS);
}

/* LMTP first: what it has taken in is for the store, and goes by the module where there are nodes. */
static void stop(struct parent *parent)
{
	const struct crew *crew = &parent->crew;
	if (!parent->is_stopping)
		close_lmtp(parent);
	parent->is_stopping = true;
	tell(parent, ROLE_LMTP);
	if (crew_count(crew, ROLE_LMTP) > 0)
		return;
	tell(parent, ROLE_MODULE);
	tell(parent, ROLE_NODE);
	if (crew_count(crew, ROLE_MODULE) + crew_count(crew, ROLE_NODE) > 0)
		return;
	tell(parent, ROLE_LOGIN);
	tell(parent, ROLE_STORE);
}

/*
 * A store whose disk has failed is not opened again by itself, nor one that could not be opened when
 * this began, nor one whose node another machine has: what is wrong stands in the log, and a person has
 * to look.
 */
static void look_at_end(struct parent *parent, const struct crew_slot *slot, int status)
{
	bool is_final = WIFEXITED(status) &&
			(WEXITSTATUS(status) == EX_IOERR || WEXITSTATUS(status) == EX_DATAERR ||
			 WEXITSTATUS(status) == EX_NOPERM || WEXITSTATUS(status) == EX_TEMPFAIL ||
			 WEXITSTATUS(status) == EX_NOINPUT || WEXITSTATUS(status) == EX_CONFIG);
	char end[64];
	if (is_final) {
		parent->status = WEXITSTATUS(status);
		tell(parent, slot->role); /* none follows, however long the others take */
		stop(parent);
		return;
	}
	if (parent->is_stopping)
		return;
	log_warning(context, "process ended, role=%s %s", roles[slot->role].name,
		    child_format_end(status, end));
}

static void reap(struct parent *parent)
{
	int status = 0;
	pid_t pid = 0;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct crew_slot *slot = crew_find(&parent->crew, pid);
		if (slot == NULL)
			continue;
		crew_ended(slot, false, clock_now_ms());
		look_at_end(parent, slot, status);
	}
	if (parent->is_stopping)
		stop(parent);
}

static void tell_to_count(const struct parent *parent)
{
	const struct crew *crew = &parent->crew;
	for (size_t i = 0; i < crew->count; i++) {
		const struct crew_slot *slot = &crew->slots[i];
		const bool counts = slot->role == ROLE_STORE || slot->role == ROLE_MODULE;
		if (counts && slot->pid != 0)
			kill(slot->pid, SIGUSR1);
	}
}

static void obey(struct parent *parent, int number)
{
	switch (number) {
	case SIGCHLD:
		reap(parent);
		break;
	case SIGTERM:
	case SIGINT:
		if (!parent->is_stopping)
			program_tell_stopping(context, number);
		stop(parent);
		break;
	case SIGUSR1:
		tell_to_count(parent);
		break;
	case SIGHUP:
		log_warning(context, "configuration not reloaded, a restart does that");
		break;
	default: /* something is due */
		break;
	}
}

static bool has_ended(const struct parent *parent)
{
	unsigned count = 0;
	for (unsigned role = 0; role < ROLES; role++)
		count += crew_count(&parent->crew, role);
	return parent->is_stopping && count == 0;
}

static void look_after(struct parent *parent)
{
	struct crew_slot *slot = NULL;
	while (!has_ended(parent)) {
		while ((slot = crew_find_due(&parent->crew, clock_now_ms())) != NULL)
			begin(parent, slot);
		obey(parent, child_wait_signal(&parent->waited, crew_next_ms(&parent->crew)));
		child_kill_overdue(&parent->crew, clock_now_ms());
	}
}

/* ---- begin and end ---- */

static int make_shared(struct parent *parent)
{
	const unsigned node_count = nodesetup_is_on(&parent->setup->nodes) ? 1 : 0;
	const unsigned counts[ROLES] = {
		[ROLE_STORE] = 1,
		[ROLE_NODE] = node_count,
		[ROLE_MODULE] = node_count,
		[ROLE_LMTP] = parent->setup->lmtp_count > 0 ? 1 : 0,
		[ROLE_LOGIN] = stored_setup_logins(parent->setup)[0] != '\0' ? 1 : 0
	};
	uint64_t *memory = sharedmem_new((STORED_COUNTER_COUNT + 1) * sizeof(*memory));
	int ret = memory == NULL ? -ENOMEM : crew_init(&parent->crew, counts, ROLES, &pace);
	if (ret != 0) {
		log_error(context, "process not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	parent->counters = memory;
	parent->since_us = memory + STORED_COUNTER_COUNT;
	return EX_OK;
}

int stored_run(const struct stored_setup *setup)
{
	struct parent parent = { .setup = setup,
				 .store_fd = -1,
				 .module_fd = -1,
				 .node_fd = -1,
				 .location_fd = -1,
				 .login_fds = { -1, -1 },
				 .status = EX_OK };
	memset(parent.lmtp_fds, -1, sizeof(parent.lmtp_fds));
	snprintf(parent.store_path, sizeof(parent.store_path), "%s%s", setup->socket,
		 STORE_PATH_END);
	int status = make_shared(&parent);
	if (status != EX_OK)
		return status;
	child_block_signals(&parent.waited, &parent.before);
	status = open_sockets(&parent);
	if (status == EX_OK)
		status = store_confine_parent();
	if (status == EX_OK) {
		look_after(&parent);
		remove_paths(&parent);
		status = parent.status;
		if (status == EX_OK)
			log_info(context, "stopped");
	}
	close_lmtp(&parent);
	close_others(&parent, NULL, NULL);
	crew_deinit(&parent.crew);
	return status;
}
