/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * roles.c - what a new process does first: it lets go of what is not its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/base/nanny/generation.h"
#include "integration/mail/base/tls/keyholder.h"
#include "lib/common/log.h"

struct role {
	const struct generation *generation;
	unsigned role;
	int ready_fd; /* -1: the nanny does not wait */
	int word_fd;  /* the same */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static struct role make_role(const struct generation *generation, unsigned role)
{
	return (struct role){ generation, role, generation->ready_ends[NANNY_READY_CHILD],
			      generation->word_ends[NANNY_WORD_CHILD] };
}

/*
 * Everything that could be wrong outside has been looked at: a process that begins says so, and
 * waits until all of the generation have. An end in place of the word is the nanny's.
 */
static int wait_for_word(struct role *role)
{
	char word;
	ssize_t size = write(role->ready_fd, "", 1);
	close_fd(&role->ready_fd);
	if (size == 1) {
		do
			size = read(role->word_fd, &word, 1);
		while (size < 0 && errno == EINTR);
	}
	close_fd(&role->word_fd);
	return size == 1 ? EX_OK : EX_UNAVAILABLE;
}

static int confine(void *context)
{
	struct role *role = context;
	const char *step = "";
	const struct nanny_program *program = role->generation->program;
	const struct confine_rights rights = program->rights(role->generation->setup, role->role);
	int ret = confine_process(&rights, &step);
	if (ret == 0)
		return role->ready_fd < 0 ? EX_OK : wait_for_word(role);
	log_error(program->context, "process not confined, role=%s step=%s (%s)",
		  roles_name(role->role), step, strerror(-ret));
	return ret == -EPERM ? EX_NOPERM : EX_OSERR;
}

/* Those of other edges, and of places that there were before. */
static void close_listeners(struct nanny *nanny, int kept_edge, struct listeners_shared *ret_kept)
{
	listeners_close(&nanny->former, &nanny->listeners);
	listeners_share(&nanny->listeners, kept_edge, ret_kept);
}

/* All but one end, of an edge, or of all edges when that is negative. */
static void close_keys(struct nanny *nanny, const struct generation *own, int kept_edge,
		       int kept_end)
{
	struct generation *generation = NULL;
	SLIST_FOREACH(generation, &nanny->generations, link)
	{
		for (int edge = 0; edge < LISTENERS_EDGES_MAX; edge++) {
			for (int end = 0; end < 2; end++) {
				bool is_kept = generation == own && end == kept_end &&
					       (kept_edge < 0 || kept_edge == edge);
				if (!is_kept)
					close_fd(&generation->key_ends[edge][end]);
			}
		}
	}
}

static int run_keyholder(struct nanny *nanny, struct generation *generation)
{
	const struct nanny_values *values = &generation->values;
	int sockets[LISTENERS_EDGES_MAX];
	struct role role = make_role(generation, NANNY_KEYHOLDER);
	close_listeners(nanny, -1, NULL);
	close_keys(nanny, generation, -1, NANNY_KEY_HOLDER);
	close_fd(&nanny->queue_ends[NANNY_QUEUE_EDGES]);
	close_fd(&nanny->queue_ends[NANNY_QUEUE_WORKERS]);
	for (unsigned i = 0; i < values->listeners.edge_count; i++)
		sockets[i] = generation->key_ends[i][NANNY_KEY_HOLDER];
	struct keyholder_start start = { .chains = values->chains,
					 .sockets = sockets,
					 .socket_count = values->listeners.edge_count,
					 .confine = confine,
					 .context = &role };
	return keyholder_run(&start);
}

/* An edge, or a worker. */
static int run_child(struct nanny *nanny, struct generation *generation,
		     const struct crew_slot *slot)
{
	const bool is_edge = slot->role == NANNY_EDGE;
	const struct nanny_program *program = nanny->program;
	struct role role = make_role(generation, slot->role);
	struct listeners_shared shared = { .count = 0 };
	close_listeners(nanny, is_edge ? (int)slot->index : -1, &shared);
	struct nanny_child child = {
		.setup = generation->setup,
		.shared = generation->shared,
		.counters = nanny->counters,
		.index = slot->index,
		.process = slot->block,
		.listeners = shared.fds,
		.listener_places = shared.places,
		.listener_count = shared.count,
		.queue_fd = nanny->queue_ends[is_edge ? NANNY_QUEUE_EDGES : NANNY_QUEUE_WORKERS],
		.keyholder_fd = is_edge ? generation->key_ends[slot->index][NANNY_KEY_EDGE] : -1,
		.scoreboard = nanny->scoreboard,
		.passed = nanny->passed,
		.confine = confine,
		.context = &role,
	};
	close_keys(nanny, is_edge ? generation : NULL, (int)slot->index, NANNY_KEY_EDGE);
	close_fd(&nanny->queue_ends[is_edge ? NANNY_QUEUE_WORKERS : NANNY_QUEUE_EDGES]);
	return is_edge ? program->run_edge(&child) : program->run_worker(&child);
}

const char *roles_name(unsigned role)
{
	static const char *const names[NANNY_ROLES] = {
		[NANNY_KEYHOLDER] = "keyholder",
		[NANNY_EDGE] = "edge",
		[NANNY_WORKER] = "worker",
	};
	return names[role];
}

/* What a terminal, or a service manager, sends to all is for the nanny alone. */
static void ignore_signals(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
}

void roles_run(struct nanny *nanny, struct generation *generation, const struct crew_slot *slot)
{
	int status = EX_OK;
	prctl(PR_SET_NAME, roles_name(slot->role));
	close_fd(&generation->ready_ends[NANNY_READY_NANNY]);
	close_fd(&generation->word_ends[NANNY_WORD_NANNY]);
	log_set_level((enum log_level)generation->values.log_level);
	ignore_signals();
	sigprocmask(SIG_SETMASK, &nanny->before, NULL);
	if (slot->role == NANNY_KEYHOLDER)
		status = run_keyholder(nanny, generation);
	else
		status = run_child(nanny, generation, slot);
	exit(status);
}
