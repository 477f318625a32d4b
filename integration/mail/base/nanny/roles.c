/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * roles.c - what a new process does first: it lets go of what is not its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/base/nanny/generation.h"
#include "integration/mail/base/tls/keyholder.h"
#include "lib/common/log.h"
#include "lib/process/child.h"

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
		  roles_name(program, role->role), step, strerror(-ret));
	return ret == -EPERM ? EX_NOPERM : EX_OSERR;
}

/* Those of other edges, and of places that there were before. */
static void close_listeners(struct nanny *nanny, int kept_edge, struct listeners_shared *ret_kept)
{
	listeners_close(&nanny->former, &nanny->listeners);
	listeners_share(&nanny->listeners, kept_edge, ret_kept);
}

/* Which ends of a kind of pairs stay open: one, of an edge, or of all edges when that is negative. */
struct kept {
	const struct generation *own; /* NULL: none */
	int edge;
	int end;
};

static void close_pairs(int (*ends)[2], const struct generation *generation,
			const struct kept *kept)
{
	for (int edge = 0; edge < LISTENERS_EDGES_MAX; edge++) {
		for (int end = 0; end < 2; end++) {
			bool is_kept = generation == kept->own && end == kept->end &&
				       (kept->edge < 0 || kept->edge == edge);
			if (!is_kept)
				close_fd(&ends[edge][end]);
		}
	}
}

static void close_all_pairs(struct nanny *nanny, struct kept keys, struct kept checks)
{
	struct generation *generation = NULL;
	SLIST_FOREACH(generation, &nanny->generations, link)
	{
		close_pairs(generation->key_ends, generation, &keys);
		close_pairs(generation->check_ends, generation, &checks);
	}
}

static int run_keyholder(struct nanny *nanny, struct generation *generation)
{
	const struct nanny_values *values = &generation->values;
	int sockets[LISTENERS_EDGES_MAX];
	struct role role = make_role(generation, NANNY_KEYHOLDER);
	close_listeners(nanny, -1, NULL);
	close_all_pairs(nanny, (struct kept){ generation, -1, NANNY_KEY_HOLDER },
			(struct kept){ 0 });
	close_fd(&nanny->queue_ends[NANNY_QUEUE_EDGES]);
	close_fd(&nanny->queue_ends[NANNY_QUEUE_WORKERS]);
	for (unsigned i = 0; i < values->listeners.edge_count; i++)
		sockets[i] = generation->key_ends[i][NANNY_KEY_HOLDER];
	struct keyholder_start start = { .program = nanny->program->context,
					 .chains = values->chains,
					 .sockets = sockets,
					 .socket_count = values->listeners.edge_count,
					 .confine = confine,
					 .context = &role };
	return keyholder_run(&start);
}

/* A checker's sockets to all edges, or an edge's one to the checkers; how many. */
static unsigned find_checks(const struct generation *generation, const struct crew_slot *slot,
			    int *ret_fds)
{
	const unsigned edge_count = generation->values.listeners.edge_count;
	if (generation->values.checkers == 0 || slot->role == NANNY_WORKER)
		return 0;
	if (slot->role == NANNY_EDGE) {
		ret_fds[0] = generation->check_ends[slot->index][NANNY_CHECK_EDGE];
		return 1;
	}
	for (unsigned i = 0; i < edge_count; i++)
		ret_fds[i] = generation->check_ends[i][NANNY_CHECK_CHECKER];
	return edge_count;
}

/* Closes what is others'; returns its own end of the queue, -1 for a checker. */
static int keep_own(struct nanny *nanny, const struct generation *generation,
		    const struct crew_slot *slot)
{
	const bool is_edge = slot->role == NANNY_EDGE;
	const bool is_checker = slot->role == NANNY_CHECKER;
	const int edge = is_edge ? (int)slot->index : -1;
	close_all_pairs(nanny, (struct kept){ is_edge ? generation : NULL, edge, NANNY_KEY_EDGE },
			(struct kept){ is_edge || is_checker ? generation : NULL, edge,
				       is_edge ? NANNY_CHECK_EDGE : NANNY_CHECK_CHECKER });
	if (is_edge || is_checker)
		close_fd(&nanny->queue_ends[NANNY_QUEUE_WORKERS]);
	if (!is_edge)
		close_fd(&nanny->queue_ends[NANNY_QUEUE_EDGES]);
	return nanny->queue_ends[is_edge ? NANNY_QUEUE_EDGES : NANNY_QUEUE_WORKERS];
}

/* An edge, a checker or a worker. */
static int run_child(struct nanny *nanny, struct generation *generation,
		     const struct crew_slot *slot)
{
	const bool is_edge = slot->role == NANNY_EDGE;
	const struct nanny_program *program = nanny->program;
	struct role role = make_role(generation, slot->role);
	int checks[LISTENERS_EDGES_MAX];
	const int queue_fd = keep_own(nanny, generation, slot);
	struct listeners_shared shared = { .count = 0 };
	close_listeners(nanny, is_edge ? (int)slot->index : -1, &shared);
	struct nanny_child child = {
		.setup = generation->setup,
		.shared = generation->shared,
		.counters = bank_block(&nanny->bank, slot->block),
		.index = slot->index,
		.process = slot->block,
		.listeners = shared.fds,
		.listener_places = shared.places,
		.listener_count = shared.count,
		.queue_fd = queue_fd,
		.keyholder_fd = is_edge ? generation->key_ends[slot->index][NANNY_KEY_EDGE] : -1,
		.check_fds = checks,
		.check_count = find_checks(generation, slot, checks),
		.scoreboard = nanny->scoreboard,
		.passed = nanny->passed,
		.confine = confine,
		.context = &role,
	};
	if (slot->role == NANNY_CHECKER)
		return program->run_checker(&child);
	return is_edge ? program->run_edge(&child) : program->run_worker(&child);
}

const char *roles_name(const struct nanny_program *program, unsigned role)
{
	static const char *const names[NANNY_ROLES] = {
		[NANNY_KEYHOLDER] = "keyholder",
		[NANNY_CHECKER] = "checker",
		[NANNY_EDGE] = "edge",
		[NANNY_WORKER] = "worker",
	};
	if (role == NANNY_CHECKER && program->checker_name != NULL)
		return program->checker_name;
	return names[role];
}

void roles_run(struct nanny *nanny, struct generation *generation, const struct crew_slot *slot)
{
	int status = EX_OK;
	prctl(PR_SET_NAME, roles_name(nanny->program, slot->role));
	close_fd(&generation->ready_ends[NANNY_READY_NANNY]);
	close_fd(&generation->word_ends[NANNY_WORD_NANNY]);
	log_set_level((enum log_level)generation->values.log_level);
	child_ignore_signals();
	sigprocmask(SIG_SETMASK, &nanny->before, NULL);
	if (slot->role == NANNY_KEYHOLDER)
		status = run_keyholder(nanny, generation);
	else
		status = run_child(nanny, generation, slot);
	exit(status);
}
