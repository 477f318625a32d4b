/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-hub/hub_files.h"

#include "lib/common/log.h"
#include "lib/common/wholefile.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

const char hub_context[] = "mail-hub";

/* A program looks at its files, and asks nothing of a network but names of users. */
#define CHECK_PATIENCE_MS 60000
#define CHECK_LOOK_MS	  10 /* between looks at whether it has ended, or the hub is to */

const char *hub_files_path(const struct hub_setup *setup, unsigned program, enum hub_file file,
			   char *ret_path)
{
	static const char *const ends[] = { ".conf", ".conf.new", ".notify" };
	snprintf(ret_path, HUB_FILE_MAX, "%s/%s%s", setup->run, hub_programs[program].name,
		 ends[file]);
	return ret_path;
}

/* ---- directories ---- */

static int refuse(const char *what, const char *path, int error)
{
	log_error(hub_context, "%s, path=%s (%s)", what, path, strerror(error));
	return error == ENOENT || error == ENOTDIR ? EX_NOINPUT
	       : error == EACCES || error == EPERM ? EX_NOPERM
						   : EX_OSERR;
}

/* Root's, but its group may write to one that is shared, also where it is from a time without a user. */
static int make_directory(const struct hub_setup *setup, const char *path, bool is_shared)
{
	bool is_given = is_shared && geteuid() == 0 && setup->owner.user[0] != '\0';
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		return refuse("directory not made", path, errno);
	if (is_given && (chown(path, (uid_t)-1, setup->owner.gid) != 0 || chmod(path, 0775) != 0))
		return refuse("directory not made", path, errno);
	return EX_OK;
}

static const char *store_path(const struct hub_setup *setup, char *ret_path)
{
	snprintf(ret_path, HUB_FILE_MAX, "%s/store", setup->directory);
	return ret_path;
}

/* mail-stored makes none, and here the directory of the hub is known to be there. */
static int make_directories(const struct hub_setup *setup)
{
	char path[HUB_FILE_MAX];
	int status =
		owner_make_directory(&setup->owner, store_path(setup, path), 0700, hub_context);
	if (status == EX_OK)
		status = make_directory(setup, setup->run, false);
	if (status == EX_OK) {
		snprintf(path, sizeof(path), "%s/metrics", setup->run);
		status = make_directory(setup, path, true);
	}
	if (status == EX_OK) {
		snprintf(path, sizeof(path), "%s/empty", setup->run);
		status = make_directory(setup, path, false);
	}
	return status;
}

/* It is not made here: a disk that is not mounted would get a store of its own. */
static int look_at_store(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return refuse("directory not opened", path, errno);
	return S_ISDIR(st.st_mode) ? EX_OK : refuse("directory not opened", path, ENOTDIR);
}

int hub_files_open(const struct hub_setup *setup, int *ret_lock_fd)
{
	*ret_lock_fd = -1;
	int status = look_at_store(setup->directory);
	if (status == EX_OK)
		status = make_directories(setup);
	if (status != EX_OK)
		return status;
	int fd = open(setup->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return refuse("directory not opened", setup->run, errno);
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		log_error(hub_context, "another mail-hub has the directory, path=%s (%s)",
			  setup->run, strerror(errno));
		close(fd);
		return EX_TEMPFAIL;
	}
	*ret_lock_fd = fd;
	return EX_OK;
}

/* ---- files ---- */

int hub_files_write(const struct hub_setup *setup, unsigned program, enum hub_file file,
		    const char *text)
{
	char path[HUB_FILE_MAX];
	int ret = wholefile_write(AT_FDCWD, hub_files_path(setup, program, file, path), text,
				  strlen(text), 0666, 0);
	return ret == 0 ? EX_OK : refuse("file not written", path, -ret);
}

bool hub_files_end_trial(const struct hub_setup *setup, unsigned program, bool is_good)
{
	char path[HUB_FILE_MAX];
	char tried[HUB_FILE_MAX];
	hub_files_path(setup, program, HUB_FILE_CONF, path);
	hub_files_path(setup, program, HUB_FILE_NEW, tried);
	if (is_good && rename(tried, path) == 0)
		return true;
	if (is_good)
		refuse("file not written", path, errno);
	unlink(tried);
	return false;
}

/* ---- programs ---- */

/* The directory of this program, without a "/" at its end; "" when it is not known. */
static void find_own_directory(char ret_path[PATH_MAX])
{
	ssize_t size = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);
	ret_path[size > 0 ? size : 0] = '\0';
	char *slash = strrchr(ret_path, '/');
	if (slash != NULL)
		*slash = '\0';
}

void hub_files_run(const struct hub_setup *setup, unsigned program, enum hub_file file,
		   bool is_check)
{
	char directory[PATH_MAX];
	char path[PATH_MAX + HUB_FILE_MAX];
	char config[HUB_FILE_MAX];
	const char *name = hub_programs[program].name;
	if (setup->programs[0] != '\0')
		snprintf(directory, sizeof(directory), "%s", setup->programs);
	else
		find_own_directory(directory);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	hub_files_path(setup, program, file, config);
	execl(path, name, "--config", config, is_check ? "--check" : (char *)NULL, (char *)NULL);
	log_error(hub_context, "program not started, path=%s (%s)", path, strerror(errno));
	_exit(EX_UNAVAILABLE);
}

/* That all is well is said once, for all of them. */
static void run_check(const struct hub_setup *setup, unsigned program, enum hub_file file)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		dup2(fd, STDOUT_FILENO);
	/* The hub has blocked what it waits for, and with it the signal of child_fork() that its end brings. */
	child_unblock_signals();
	unsetenv("NOTIFY_SOCKET");
	hub_files_run(setup, program, file, true);
}

/* Is the hub to end? It takes its signals behind the reload that it is in; without a hub none waits to be taken. */
static bool is_told_to_end(void)
{
	sigset_t pending;
	sigpending(&pending);
	return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

static bool has_ended(pid_t pid)
{
	siginfo_t ended = { .si_pid = 0 };
	return waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       ended.si_pid != 0;
}

/* It is killed when its time is over, or the hub is to end. Returns what waitpid() says of it. */
static int wait_for_check(pid_t pid)
{
	static const struct timespec moment = { .tv_nsec = CHECK_LOOK_MS * 1000000L };
	const uint64_t until_ms = clock_now_ms() + CHECK_PATIENCE_MS;
	while (!has_ended(pid) && !is_told_to_end() && clock_now_ms() < until_ms)
		nanosleep(&moment, NULL);
	return child_wait(pid, 0);
}

int hub_files_check(const struct hub_setup *setup, unsigned program, enum hub_file file)
{
	struct crew_slot slot = { .pid = 0 };
	char end[CHILD_END_TEXT_SIZE];
	const char *name = hub_programs[program].name;
	pid_t pid = child_fork(&slot);
	if (pid == 0)
		run_check(setup, program, file);
	if (pid < 0) {
		log_error(hub_context, "program not started, program=%s (%s)", name,
			  strerror(-pid));
		return EX_OSERR;
	}
	int status = wait_for_check(pid);
	if (is_told_to_end())
		return EX_TEMPFAIL;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EX_OK)
		return EX_OK;
	/* The file of the program's own line is gone, or is going to be. */
	log_error(hub_context,
		  "configuration refused, program=%s %s (made of hub.conf, mail-hub --show %s "
		  "prints it)",
		  name, child_format_end(status, end), name);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
}

/* ---- without a hub that runs ---- */

static int try_program(const struct hub_setup *setup, unsigned program)
{
	char path[HUB_FILE_MAX];
	char *text = hub_programs_text(program, setup);
	if (text == NULL)
		return refuse("file not written", setup->run, ENOMEM);
	int status = hub_files_write(setup, program, HUB_FILE_CONF, text);
	free(text);
	if (status == EX_OK)
		status = hub_files_check(setup, program, HUB_FILE_CONF);
	unlink(hub_files_path(setup, program, HUB_FILE_CONF, path));
	return status;
}

static void remove_directories(const char *run)
{
	static const char *const names[] = { "/metrics", "/empty", "" };
	char path[HUB_FILE_MAX];
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", run, names[i]);
		rmdir(path);
	}
}

/* A machine that is new in a cluster has no users before its store has fetched them. */
static bool lacks_users(const struct hub_setup *setup)
{
	char path[HUB_FILE_MAX];
	struct stat st;
	snprintf(path, sizeof(path), "%s/logins.mdb", setup->directory);
	return setup->pool[0] != '\0' && stat(path, &st) != 0 && errno == ENOENT;
}

static bool is_tried(const struct hub_setup *setup, unsigned program, bool is_without_users)
{
	if (!hub_programs[program].is_wanted(setup))
		return false;
	if (program == HUB_STORE || !is_without_users)
		return true;
	log_info(hub_context, "not checked before there are users, program=%s",
		 hub_programs[program].name);
	return false;
}

int hub_files_try(const struct hub_setup *setup)
{
	const bool is_without_users = lacks_users(setup);
	struct hub_setup tried = *setup;
	char store[HUB_FILE_MAX];
	struct stat st;
	snprintf(tried.run, sizeof(tried.run), "/tmp/mail-hub-XXXXXX");
	int status = look_at_store(setup->directory);
	if (status != EX_OK)
		return status;
	/* Programs look, as their users, whether these may use what is there. */
	if (mkdtemp(tried.run) == NULL || chmod(tried.run, 0711) != 0)
		return refuse("directory not made", tried.run, errno);
	/* For the time of the check, what a start makes: a program warns of what it does not find. */
	const bool is_run_new = mkdir(setup->run, 0755) == 0;
	const bool lacks_store = stat(store_path(setup, store), &st) != 0;
	status = make_directories(&tried);
	for (unsigned program = 0; status == EX_OK && program < HUB_PROGRAMS; program++)
		if (is_tried(&tried, program, is_without_users))
			status = try_program(&tried, program);
	remove_directories(tried.run);
	if (lacks_store)
		rmdir(store);
	if (is_run_new)
		rmdir(setup->run);
	return status;
}
