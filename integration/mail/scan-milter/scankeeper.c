/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/scan-milter/scankeeper.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/base/scan/template.h"
#include "lib/common/log.h"
#include "lib/process/capabilities.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"

struct keeper {
	const struct scan_settings *settings;
	const char *context;
	int own_fd; /* the template's end */
	struct crew_slot slot;
	sigset_t waited;
	sigset_t before;
};

/* What a template begins with is no longer of use to it when it has its signatures. */
static int give_up_rights(void *context)
{
	(void)context;
	const bool is_done =
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && capabilities_keep(0) == 0;
	return is_done ? EX_OK : EX_OSERR;
}

static void begin_template(struct keeper *keeper)
{
	const pid_t pid = child_fork(&keeper->slot);
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &keeper->before, NULL);
		_exit(scanner_run_template(keeper->settings, keeper->context, keeper->own_fd,
					   give_up_rights, NULL));
	}
	if (pid < 0)
		log_error(keeper->context, "template of decoders not started (%s)", strerror(-pid));
}

/* false: it has ended because nothing is left that could ask it. */
static bool reap(struct keeper *keeper)
{
	char end[CHILD_END_TEXT_SIZE];
	int status = 0;
	const pid_t pid = waitpid(-1, &status, WNOHANG);
	if (pid <= 0)
		return true;
	crew_ended(&keeper->slot, false, clock_now_ms());
	if (WIFEXITED(status) && WEXITSTATUS(status) == EX_OK)
		return false;
	log_error(keeper->context, "template of decoders died, %s", child_format_end(status, end));
	return true;
}

static int keep(struct keeper *keeper)
{
	int number = SIGCHLD;
	prctl(PR_SET_NAME, "scan-keeper");
	child_block_signals(&keeper->waited, &keeper->before);
	while (number != SIGTERM && reap(keeper)) {
		const struct crew_slot *slot = &keeper->slot;
		if (crew_slot_is_due(slot, clock_now_ms()))
			begin_template(keeper);
		number = child_wait_signal(&keeper->waited,
					   slot->pid != 0 ? CREW_NEVER : slot->due_ms);
	}
	return EX_OK;
}

/* The kernel forgets about a parent's death when a process becomes another user. */
static int become_keeper(struct keeper *keeper, const struct owner *owner, pid_t parent)
{
	const int status = owner_drop_bare(owner, keeper->context);
	if (status != EX_OK)
		return status;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return getppid() == parent ? keep(keeper) : EX_OK;
}

int scankeeper_begin(const struct scan_settings *settings, const struct owner *owner,
		     const char *context, int *ret_ask_fd)
{
	struct keeper keeper = { .settings = settings, .context = context };
	struct crew_slot slot = { .role = 0 };
	int ends[TEMPLATE_ENDS];
	const pid_t parent = getpid();
	const int ret = template_pair(ends);
	const pid_t pid = ret == 0 ? child_fork(&slot) : ret;
	if (pid == 0) {
		keeper.own_fd = ends[TEMPLATE_OWN];
		close(ends[TEMPLATE_ASK]);
		_exit(become_keeper(&keeper, owner, parent));
	}
	if (pid < 0) {
		log_error(context, "keeper of decoders not started (%s)", strerror(-pid));
		return EX_OSERR;
	}
	close(ends[TEMPLATE_OWN]);
	*ret_ask_fd = ends[TEMPLATE_ASK];
	return EX_OK;
}
