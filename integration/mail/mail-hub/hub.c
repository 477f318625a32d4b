/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-hub/hub.h"

#include "integration/common/program.h"
#include "integration/mail/mail-hub/hub_files.h"
#include "integration/mail/mail-hub/hub_places.h"
#include "integration/mail/mail-hub/hub_programs.h"
#include "integration/mail/mail-hub/hub_ready.h"
#include "lib/common/log.h"
#include "lib/common/version.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"
#include "lib/process/systemd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

/* Of a program that was told to end: its sessions have half a minute, and it kills what is stuck. */
#define KILL_AFTER_MS 90000

_Static_assert(HUB_PROGRAMS <= CREW_ROLES_MAX, "each program is a role");

struct hub {
	struct hub_setup setup;
	const char *config_path;
	struct crew crew; /* the role of a slot is its program */
	char *texts[HUB_PROGRAMS];
	int ready_fds[HUB_PROGRAMS];
	bool is_ready[HUB_PROGRAMS];
	bool is_stale[HUB_PROGRAMS];  /* not ready yet, and has to read its files again then */
	bool is_ending[HUB_PROGRAMS]; /* told so by a reload, though it may be wanted again */
	bool was_ready;		      /* all of them, once */
	bool is_stopping;
	int status;
	int lock_fd;
	int signal_fd;
	sigset_t before; /* what programs have */
};

static bool is_wanted(const struct hub *hub, unsigned program)
{
	return hub_programs[program].is_wanted(&hub->setup);
}

/* ---- a program begins ---- */

__attribute__((noreturn)) static void run_program(const struct hub *hub, unsigned program)
{
	char path[HUB_FILE_MAX];
	sigprocmask(SIG_SETMASK, &hub->before, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* What a terminal sends to all is for the hub alone; and see reap_one(). */
	setpgid(0, 0);
	setenv("NOTIFY_SOCKET", hub_files_path(&hub->setup, program, HUB_FILE_NOTIFY, path), 1);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	unsetenv("WATCHDOG_USEC");
	hub_files_run(&hub->setup, program, HUB_FILE_CONF, false);
}

static void begin(struct hub *hub, struct crew_slot *slot)
{
	hub->is_ready[slot->role] = false;
	hub->is_stale[slot->role] = false;
	hub->is_ending[slot->role] = false;
	hub->crew.kill_ms[slot->role] = CREW_NEVER;
	(void)hub_ready_take(hub->ready_fds[slot->role]); /* what the one before has said */
	pid_t pid = child_fork(slot);
	if (pid == 0)
		run_program(hub, slot->role);
	if (pid < 0)
		log_warning(hub_context, "program not started, program=%s (%s)",
			    hub_programs[slot->role].name, strerror(-pid));
}

/* Programs that want the store begin when it is there. */
static void allow(struct hub *hub)
{
	for (unsigned program = 0; program < HUB_PROGRAMS; program++) {
		struct crew_slot *slot = &hub->crew.slots[program];
		if (slot->pid == 0 && slot->due_ms == CREW_NEVER)
			slot->due_ms = clock_now_ms();
	}
}

static bool are_all_ready(const struct hub *hub)
{
	for (unsigned program = 0; program < HUB_PROGRAMS; program++)
		if (is_wanted(hub, program) && !hub->is_ready[program])
			return false;
	return true;
}

/* When the last program is ready, or the one that was not is not wanted any more. */
static void note_ready(struct hub *hub)
{
	if (hub->was_ready || hub->is_stopping || !are_all_ready(hub))
		return;
	hub->was_ready = true;
	log_info(hub_context, "ready, version=%s", DNSBLV6_VERSION);
	program_tell_ready(hub_context);
}

/* Its check was good, and what came behind that was not, such as a place that another server has got since. */
static void tell_refusal(const struct hub *hub, unsigned program)
{
	if (!hub->is_stopping)
		log_warning(hub_context,
			    "program has not reloaded, program=%s (it goes on as it was, and has "
			    "said why)",
			    hub_programs[program].name);
}

static void take_words(struct hub *hub, unsigned program)
{
	const struct hub_ready_words words = hub_ready_take(hub->ready_fds[program]);
	if (hub->crew.slots[program].pid == 0)
		return;
	if (words.has_refused)
		tell_refusal(hub, program);
	if (!words.is_ready)
		return;
	hub->is_ready[program] = true;
	if (hub->is_stale[program])
		kill(hub->crew.slots[program].pid, SIGHUP);
	hub->is_stale[program] = false;
	if (program == HUB_STORE)
		allow(hub);
	note_ready(hub);
}

/* ---- a program ends ---- */

static void tell(struct hub *hub, unsigned program)
{
	child_tell(&hub->crew, program, clock_now_ms() + KILL_AFTER_MS);
}

/* What the others have taken in is for the store. */
static void stop(struct hub *hub)
{
	hub->is_stopping = true;
	tell(hub, HUB_SMTP);
	tell(hub, HUB_POP);
	if (crew_count(&hub->crew, HUB_SMTP) == 0 && crew_count(&hub->crew, HUB_POP) == 0)
		tell(hub, HUB_STORE);
}

/*
 * What the disk did not write is not asked of it again by itself; and when another machine has taken
 * this one's place in the cluster, the two would take it from each other for ever.
 */
static bool is_final(unsigned program, int status)
{
	return program == HUB_STORE && WIFEXITED(status) &&
	       (WEXITSTATUS(status) == EX_IOERR || WEXITSTATUS(status) == EX_DATAERR ||
		WEXITSTATUS(status) == EX_CONFIG);
}

/* As an exit status of the hub, which has not served anything: never that all went well. */
static int status_of(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) != EX_OK ? WEXITSTATUS(status)
								 : EX_UNAVAILABLE;
}

static void look_at_end(struct hub *hub, unsigned program, int status)
{
	char end[CHILD_END_TEXT_SIZE];
	const char *name = hub_programs[program].name;
	child_format_end(status, end);
	hub->is_ready[program] = false;
	if (hub->is_stopping || hub->is_ending[program])
		return;
	if (hub->was_ready && !is_final(program, status)) {
		log_warning(hub_context, "program ended, program=%s %s", name, end);
		return;
	}
	log_error(hub_context, "stopping, as a program has ended, program=%s %s", name, end);
	hub->status = status_of(status);
	stop(hub);
}

/*
 * The next process that has ended, or 0. What a killed program leaves behind ends with it: it has the
 * ports or the lock of the next one, and nothing tells it what to do. Its group is that of the program
 * for certain as long as that has not been waited for.
 */
static pid_t reap_one(int *ret_status)
{
	siginfo_t ended = { .si_pid = 0 };
	if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
		return 0;
	kill(-ended.si_pid, SIGKILL);
	return waitpid(ended.si_pid, ret_status, 0);
}

static void reap(struct hub *hub)
{
	int status = 0;
	pid_t pid = 0;
	while ((pid = reap_one(&status)) > 0) {
		struct crew_slot *slot = crew_find(&hub->crew, pid);
		if (slot == NULL)
			continue;
		crew_ended(slot, hub->is_ending[slot->role], clock_now_ms());
		look_at_end(hub, slot->role, status);
	}
	if (hub->is_stopping)
		stop(hub);
}

/* ---- configurations ---- */

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void free_texts(char **texts)
{
	for (unsigned program = 0; program < HUB_PROGRAMS; program++)
		free(texts[program]);
}

/* Texts of the programs that are wanted; false without memory. */
static bool make_texts(const struct hub_setup *setup, char **ret_texts)
{
	bool is_good = true;
	for (unsigned program = 0; program < HUB_PROGRAMS; program++) {
		bool is_needed = hub_programs[program].is_wanted(setup);
		ret_texts[program] = is_needed ? hub_programs_text(program, setup) : NULL;
		is_good = is_good && (!is_needed || ret_texts[program] != NULL);
	}
	if (!is_good)
		log_error(hub_context, "file not written (%s)", strerror(ENOMEM));
	return is_good;
}

static int write_all(const struct hub_setup *setup, char **texts)
{
	int status = EX_OK;
	for (unsigned program = 0; status == EX_OK && program < HUB_PROGRAMS; program++)
		if (texts[program] != NULL)
			status = hub_files_write(setup, program, HUB_FILE_CONF, texts[program]);
	return status;
}

/*
 * Each program checks the file that it would get. When all files are good they are renamed, as writing them
 * again could fail halfway.
 */
static bool change_all(const struct hub_setup *setup, char **texts)
{
	int status = EX_OK;
	for (unsigned program = 0; status == EX_OK && program < HUB_PROGRAMS; program++) {
		if (texts[program] == NULL)
			continue;
		status = hub_files_write(setup, program, HUB_FILE_NEW, texts[program]);
		if (status == EX_OK)
			status = hub_files_check(setup, program, HUB_FILE_NEW);
	}
	bool is_good = status == EX_OK;
	for (unsigned program = 0; program < HUB_PROGRAMS; program++)
		if (texts[program] != NULL)
			is_good = hub_files_end_trial(setup, program, is_good);
	return is_good;
}

/* One that is not wanted any more ends; one that is begins, when the store is there. */
static void want(struct hub *hub, unsigned program, bool has_changed)
{
	struct crew_slot *slot = &hub->crew.slots[program];
	if (!is_wanted(hub, program)) {
		tell(hub, program);
		hub->is_ending[program] = slot->pid != 0;
		return;
	}
	if (hub->crew.is_told[program]) {
		hub->crew.is_told[program] = false;
		slot->due_ms =
			hub->was_ready || hub->is_ready[HUB_STORE] ? clock_now_ms() : CREW_NEVER;
	} else if (slot->pid != 0 && (has_changed || hub_programs[program].does_reload)) {
		/* A process that has only begun would end by it. */
		hub->is_stale[program] = !hub->is_ready[program];
		if (hub->is_ready[program])
			kill(slot->pid, SIGHUP);
	}
}

static void take_over(struct hub *hub, const struct hub_setup *setup, char **texts)
{
	hub->setup = *setup;
	log_set_level((enum log_level)setup->log_level);
	for (unsigned program = 0; program < HUB_PROGRAMS; program++) {
		const char *old = hub->texts[program];
		bool has_changed =
			old == NULL || texts[program] == NULL || strcmp(old, texts[program]) != 0;
		want(hub, program, has_changed);
		free(hub->texts[program]);
		hub->texts[program] = texts[program];
	}
}

static bool read_again(const struct hub *hub, struct hub_setup *ret_setup)
{
	struct conf_error error;
	char text[CONF_ERROR_MAX];
	if (program_read(hub->config_path, hub_setup_parse, ret_setup, &error) != 0) {
		conf_format_error(hub->config_path, &error, text);
		log_error(hub_context, "configuration not reloaded, the old one stays: %s", text);
		return false;
	}
	const char *item = conf_find_restart(&hub_setup_table, &hub->setup, ret_setup);
	if (item != NULL)
		log_warning(hub_context, "configuration change needs a restart, item=%s", item);
	conf_keep_restart(&hub_setup_table, &hub->setup, ret_setup);
	return true;
}

static void reload(struct hub *hub)
{
	struct hub_setup setup = { .log_level = 0 };
	char *texts[HUB_PROGRAMS] = { NULL };
	int told = systemd_notify_reloading();
	if (read_again(hub, &setup)) {
		if (hub_places_may_change(&hub->setup, &setup) && make_texts(&setup, texts) &&
		    change_all(&setup, texts)) {
			take_over(hub, &setup, texts);
			log_info(hub_context, "reloaded");
		} else {
			log_warning(hub_context, "configuration not reloaded, the old one stays");
			free_texts(texts);
		}
	}
	if (told == 0 && hub->was_ready)
		program_tell_ready(hub_context);
	note_ready(hub);
}

/* ---- signals ---- */

static void pass_on(const struct hub *hub, int number)
{
	for (unsigned program = 0; program < HUB_PROGRAMS; program++)
		if (hub->crew.slots[program].pid != 0 && hub->is_ready[program])
			kill(hub->crew.slots[program].pid, number);
}

static void obey(struct hub *hub, int number)
{
	switch (number) {
	case SIGCHLD:
		reap(hub);
		break;
	case SIGHUP:
		if (!hub->is_stopping)
			reload(hub);
		break;
	case SIGUSR1:
		pass_on(hub, number);
		break;
	case SIGTERM:
	case SIGINT:
		if (!hub->is_stopping)
			program_tell_stopping(hub_context, number);
		stop(hub);
		break;
	default:
		break;
	}
}

static bool has_ended(const struct hub *hub)
{
	for (unsigned program = 0; program < HUB_PROGRAMS; program++)
		if (crew_count(&hub->crew, program) > 0)
			return false;
	return hub->is_stopping;
}

/* For signals, for words of programs, or until something is due. */
static void wait_for_any(struct hub *hub)
{
	struct pollfd waited[HUB_PROGRAMS + 1] = { { .fd = hub->signal_fd, .events = POLLIN } };
	struct signalfd_siginfo signal;
	bool is_reload = false;
	uint64_t now_ms = clock_now_ms();
	uint64_t next_ms = crew_next_ms(&hub->crew);
	uint64_t left_ms = next_ms > now_ms ? next_ms - now_ms : 0;
	for (unsigned program = 0; program < HUB_PROGRAMS; program++)
		waited[program + 1] =
			(struct pollfd){ .fd = hub->ready_fds[program], .events = POLLIN };
	poll(waited, HUB_PROGRAMS + 1,
	     next_ms == CREW_NEVER ? -1
	     : left_ms > INT_MAX   ? INT_MAX
				   : (int)left_ms);
	for (unsigned program = 0; program < HUB_PROGRAMS; program++)
		take_words(hub, program);
	while (read(hub->signal_fd, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGHUP)
			is_reload = true;
		else
			obey(hub, (int)signal.ssi_signo);
	}
	/* The last: it takes time, and the next one that comes in it is read before any other signal. */
	if (is_reload)
		obey(hub, SIGHUP);
}

static void look_after(struct hub *hub)
{
	struct crew_slot *slot = NULL;
	while (!has_ended(hub)) {
		while ((slot = crew_find_due(&hub->crew, clock_now_ms())) != NULL)
			begin(hub, slot);
		wait_for_any(hub);
		child_kill_overdue(&hub->crew, clock_now_ms());
	}
}

/* ---- begin and end ---- */

static int open_ready(struct hub *hub)
{
	char path[HUB_FILE_MAX];
	int ret = 0;
	for (unsigned program = 0; ret == 0 && program < HUB_PROGRAMS; program++) {
		hub_files_path(&hub->setup, program, HUB_FILE_NOTIFY, path);
		ret = hub_ready_open(path, &hub->setup.owner, &hub->ready_fds[program]);
	}
	if (ret == 0)
		return EX_OK;
	log_error(hub_context, "socket not opened, place=%s (%s)", path, strerror(-ret));
	return program_refused_status(ret);
}

/* Nothing runs yet: each program is one process, of which only the store's is due. */
static int open_crew(struct hub *hub)
{
	static const unsigned counts[HUB_PROGRAMS] = { 1, 1, 1 };
	sigset_t waited;
	child_block_signals(&waited, &hub->before);
	hub->signal_fd = signalfd(-1, &waited, SFD_CLOEXEC | SFD_NONBLOCK);
	int ret = hub->signal_fd < 0 ? -errno : crew_init(&hub->crew, counts, HUB_PROGRAMS, NULL);
	if (ret != 0) {
		log_error(hub_context, "programs not started (%s)", strerror(-ret));
		return EX_OSERR;
	}
	for (unsigned program = 0; program < HUB_PROGRAMS; program++) {
		hub->crew.slots[program].due_ms = program == HUB_STORE ? 0 : CREW_NEVER;
		hub->crew.is_told[program] = !is_wanted(hub, program);
	}
	return EX_OK;
}

static int open_all(struct hub *hub)
{
	int status = hub_places_are_apart(&hub->setup) ? hub_files_open(&hub->setup, &hub->lock_fd)
						       : EX_CONFIG;
	if (status == EX_OK)
		status = make_texts(&hub->setup, hub->texts) ? EX_OK : EX_OSERR;
	if (status == EX_OK)
		status = write_all(&hub->setup, hub->texts);
	if (status == EX_OK)
		status = open_ready(hub);
	return status == EX_OK ? open_crew(hub) : status;
}

static void close_all(struct hub *hub)
{
	char path[HUB_FILE_MAX];
	for (unsigned program = 0; program < HUB_PROGRAMS; program++) {
		if (hub->ready_fds[program] >= 0)
			unlink(hub_files_path(&hub->setup, program, HUB_FILE_NOTIFY, path));
		close_fd(hub->ready_fds[program]);
	}
	free_texts(hub->texts);
	crew_deinit(&hub->crew);
	close_fd(hub->signal_fd);
	close_fd(hub->lock_fd);
}

void hub_warn_of_root(const struct hub_setup *setup)
{
	if (geteuid() == 0 && setup->owner.user[0] == '\0')
		log_warning(hub_context, "no user is given, processes stay root");
}

int hub_run(const struct hub_setup *setup, const char *config_path)
{
	struct hub hub = { .setup = *setup,
			   .config_path = config_path,
			   .lock_fd = -1,
			   .signal_fd = -1,
			   .status = EX_OK };
	memset(hub.ready_fds, -1, sizeof(hub.ready_fds));
	log_set_level((enum log_level)setup->log_level);
	signal(SIGPIPE, SIG_IGN);
	hub_warn_of_root(setup);
	int status = open_all(&hub);
	if (status == EX_OK) {
		look_after(&hub);
		status = hub.status;
		if (status == EX_OK)
			log_info(hub_context, "stopped");
	}
	close_all(&hub);
	return status;
}
