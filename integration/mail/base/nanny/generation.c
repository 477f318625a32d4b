/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/nanny/generation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"

#define BEGIN_MAX_MS  60000 /* until all processes of a generation have what they need */
#define BEGIN_LOOK_MS 10    /* between looks at whether one of them has died */
#define LAST_MS	      2000  /* for an edge or a worker to end without its clients */

/* ---- processes ---- */

/*
 * A block that no living process has: gauges of two in one would be those of the last to set them,
 * and gone with the first to end. False: there is none.
 */
static bool take_block(struct nanny *nanny, struct crew_slot *slot)
{
	unsigned block = 1;
	slot->block = 0;
	if (slot->role == NANNY_KEYHOLDER)
		return true; /* it counts nothing */
	while (block < NANNY_SLOTS && nanny->is_taken[block])
		block++;
	if (block == NANNY_SLOTS)
		return false;
	nanny->is_taken[block] = true;
	slot->block = block;
	return true;
}

static void give_block_back(struct nanny *nanny, struct crew_slot *slot)
{
	if (slot->block == 0)
		return;
	bank_clear_gauges(&nanny->bank, slot->block);
	scoreboard_clear(nanny->scoreboard, slot->block);
	nanny->is_taken[slot->block] = false;
	slot->block = 0;
}

void generation_start(struct nanny *nanny, struct generation *generation, struct crew_slot *slot)
{
	pid_t pid = -EAGAIN;
	if (take_block(nanny, slot))
		pid = child_fork(slot);
	else
		crew_not_begun(slot, clock_now_ms());
	if (pid == 0)
		roles_run(nanny, generation, slot);
	if (pid > 0)
		return;
	log_error(nanny->program->context, "process not started, role=%s index=%u (%s)",
		  roles_name(nanny->program, slot->role), slot->index, strerror(-pid));
	give_block_back(nanny, slot);
	generation->failure = EX_OSERR;
}

static void log_death(const struct nanny_program *program, const struct crew_slot *slot, pid_t pid,
		      int status)
{
	char end[CHILD_END_TEXT_SIZE];
	log_error(program->context, "process died, role=%s index=%u pid=%d %s restart_ms=%llu%s",
		  roles_name(program, slot->role), slot->index, (int)pid,
		  child_format_end(status, end),
		  (unsigned long long)crew_slot_pause_ms(slot, clock_now_ms()),
		  child_has_broken_filter(status)
			  ? " (it made a system call that no mail server makes)"
			  : "");
}

static void note_end(struct nanny *nanny, struct generation *generation, struct crew_slot *slot,
		     int status)
{
	pid_t pid = slot->pid;
	bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == EX_OK;
	bool is_told = generation->crew.is_told[slot->role];
	/* These have nothing to finish, and end by the signal itself. */
	bool has_no_end = slot->role == NANNY_KEYHOLDER || slot->role == NANNY_CHECKER;
	crew_ended(slot, is_good && slot->role == NANNY_WORKER, clock_now_ms());
	give_block_back(nanny, slot);
	if (is_told && (is_good || has_no_end))
		return;
	if (is_good && slot->role == NANNY_WORKER)
		return; /* it has retired */
	generation->failure = WIFEXITED(status) && !is_good ? WEXITSTATUS(status) : EX_SOFTWARE;
	if (!is_told)
		nanny_count(nanny, slot->role);
	log_death(nanny->program, slot, pid, status);
}

void generation_reap(struct nanny *nanny)
{
	int status = 0;
	pid_t pid = 0;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct generation *generation = NULL;
		SLIST_FOREACH(generation, &nanny->generations, link)
		{
			struct crew_slot *slot = crew_find(&generation->crew, pid);
			if (slot != NULL)
				note_end(nanny, generation, slot, status);
		}
	}
}

/* ---- generations ---- */

static void close_end(int *end)
{
	if (*end >= 0)
		close(*end);
	*end = -1;
}

/* Behind this a process that takes another's place waits for no word. */
static void close_beginning(struct generation *generation)
{
	for (unsigned end = 0; end < 2; end++) {
		close_end(&generation->ready_ends[end]);
		close_end(&generation->word_ends[end]);
	}
}

static void free_all(struct generation *generation)
{
	if (generation == NULL)
		return;
	for (unsigned i = 0; i < LISTENERS_EDGES_MAX; i++) {
		for (unsigned end = 0; end < 2; end++) {
			close_end(&generation->key_ends[i][end]);
			close_end(&generation->check_ends[i][end]);
		}
	}
	close_beginning(generation);
	if (generation->shared != NULL)
		generation->program->unshare(generation->shared);
	crew_deinit(&generation->crew);
	nanny_free_setup(generation->program, generation->setup);
	free(generation);
}

static int open_pairs(const struct generation *generation, int (*ends)[2])
{
	for (unsigned i = 0; i < generation->values.listeners.edge_count; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends[i]) != 0)
			return -errno;
	}
	return 0;
}

static int init_crew(struct generation *generation)
{
	const struct nanny_values *values = &generation->values;
	const unsigned counts[NANNY_ROLES] = {
		[NANNY_KEYHOLDER] = values->certificate_count > 0,
		[NANNY_CHECKER] = values->checkers,
		[NANNY_EDGE] = values->listeners.edge_count,
		[NANNY_WORKER] = values->workers,
	};
	const int ret = crew_init(&generation->crew, counts, NANNY_ROLES, NULL);
	generation->crew.last_ms = LAST_MS;
	return ret;
}

/* setup is the generation's from now on, in either case. NULL: logged. */
struct generation *generation_new(const struct nanny_program *program, void *setup)
{
	struct generation *generation = calloc(1, sizeof(*generation));
	int ret = -ENOMEM;
	if (generation == NULL) {
		nanny_free_setup(program, setup);
	} else {
		memset(generation->key_ends, -1, sizeof(generation->key_ends));
		memset(generation->check_ends, -1, sizeof(generation->check_ends));
		memset(generation->ready_ends, -1, sizeof(generation->ready_ends));
		memset(generation->word_ends, -1, sizeof(generation->word_ends));
		generation->program = program;
		generation->setup = setup;
		generation->values = program->values(setup);
		ret = init_crew(generation);
	}
	if (ret == 0 && program->share != NULL)
		ret = program->share(setup, &generation->shared);
	if (ret == 0 && generation->values.certificate_count > 0)
		ret = open_pairs(generation, generation->key_ends);
	if (ret == 0 && generation->values.checkers > 0)
		ret = open_pairs(generation, generation->check_ends);
	if (ret == 0 && (pipe2(generation->ready_ends, O_CLOEXEC | O_NONBLOCK) != 0 ||
			 pipe2(generation->word_ends, O_CLOEXEC) != 0))
		ret = -errno;
	if (ret == 0)
		return generation;
	log_error(program->context, "processes not prepared (%s)", strerror(-ret));
	free_all(generation);
	return NULL;
}

void generation_end(struct nanny *nanny, struct generation *generation)
{
	SLIST_REMOVE(&nanny->generations, generation, generation, link);
	free_all(generation);
}

int generation_stop_signal(void)
{
	sigset_t pending;
	if (sigpending(&pending) != 0)
		return 0;
	if (sigismember(&pending, SIGTERM) == 1)
		return SIGTERM;
	return sigismember(&pending, SIGINT) == 1 ? SIGINT : 0;
}

/*
 * Until all have what they need. false: one has died, or takes for ever, or the program is to end,
 * which is obeyed when they are gone.
 */
static bool wait_until_ready(struct nanny *nanny, struct generation *generation)
{
	struct pollfd ready = { .fd = generation->ready_ends[NANNY_READY_NANNY], .events = POLLIN };
	uint64_t until = clock_now_ms() + BEGIN_MAX_MS;
	unsigned count = 0;
	char bytes[64];
	close_end(&generation->ready_ends[NANNY_READY_CHILD]);
	while (count < generation->crew.count && generation->failure == EX_OK &&
	       clock_now_ms() < until && generation_stop_signal() == 0) {
		ssize_t size = poll(&ready, 1, BEGIN_LOOK_MS) > 0
				       ? read(ready.fd, bytes, sizeof(bytes))
				       : -1;
		if (size > 0)
			count += (unsigned)size;
		generation_reap(nanny);
	}
	return count == generation->crew.count;
}

/* They wait for a word that does not come: no session is lost with them. */
void generation_abandon(struct nanny *nanny, struct generation *generation)
{
	for (unsigned role = 0; role < NANNY_ROLES; role++)
		child_tell(&generation->crew, role, clock_now_ms());
	for (unsigned i = 0; i < generation->crew.count; i++) {
		struct crew_slot *slot = &generation->crew.slots[i];
		if (slot->pid == 0)
			continue;
		child_wait(slot->pid, 0);
		give_block_back(nanny, slot);
		crew_ended(slot, true, clock_now_ms());
	}
	generation_end(nanny, generation);
}

int generation_begin(struct nanny *nanny, struct generation *generation)
{
	generation->number = nanny->generation_count++;
	SLIST_INSERT_HEAD(&nanny->generations, generation, link);
	for (unsigned i = 0; i < generation->crew.count; i++)
		generation_start(nanny, generation, &generation->crew.slots[i]);
	if (wait_until_ready(nanny, generation))
		return EX_OK;
	int status = generation->failure != EX_OK ? generation->failure : EX_OSERR;
	const int number = generation_stop_signal();
	if (number != 0)
		log_info(nanny->program->context, "processes not started, signal=%d", number);
	else
		log_error(nanny->program->context, "processes not started, status=%d", status);
	generation_abandon(nanny, generation);
	return status;
}

int generation_release(struct generation *generation)
{
	static const char words[1 + NANNY_SLOTS_OF_GENERATION];
	/* Less than what a pipe takes at once. */
	ssize_t size =
		write(generation->word_ends[NANNY_WORD_NANNY], words, generation->crew.count);
	if (size != (ssize_t)generation->crew.count)
		return size < 0 ? -errno : -EIO;
	close_beginning(generation);
	return 0;
}
