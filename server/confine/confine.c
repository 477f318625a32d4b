/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/confine/confine.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/process/capabilities.h"
#include "lib/process/sanitized.h"
#include "lib/process/landlock.h"
#include "server/confine/syscalls.h"

#define CAPABILITY_CHROOT CAPABILITY(CAP_SYS_CHROOT)

/* ---- what there is, and what is wanted ---- */

struct confine_means confine_look(void)
{
	if (IS_SANITIZED)
		return (struct confine_means){ 0 };
	return (struct confine_means){ .landlock = landlock_find_version(),
				       .has_seccomp = callfilter_can_load() };
}

bool confine_is_enough(const struct settings *settings, const struct confine_means *means)
{
	return settings->confine != SETTINGS_CONFINE_ON ||
	       (means->landlock > 0 && means->has_seccomp);
}

static bool has_root(const struct settings *settings)
{
	return settings->chroot_path[0] != '\0';
}

static bool is_wanted(const struct settings *settings)
{
	return settings->confine != SETTINGS_CONFINE_OFF;
}

/* ---- capabilities ---- */

/* What workers need once, and the parent for them. */
static int keep_for_workers(void)
{
	struct capabilities capabilities = { 0 };
	int ret = capabilities_get(&capabilities);
	if (ret != 0)
		return ret;
	if ((capabilities.permitted & CAPABILITY_CHROOT) == 0)
		return -EPERM;
	capabilities = (struct capabilities){ .permitted = CAPABILITY_CHROOT };
	return capabilities_set(&capabilities);
}

/* ---- the parent ---- */

void confine_prepare(const struct settings *settings)
{
	if (has_root(settings))
		prctl(PR_SET_KEEPCAPS, 1ul, 0ul, 0ul, 0ul);
	if (is_wanted(settings) && settings->owner.text[0] != '\0')
		capabilities_empty_bounding_set();
}

/* A parent stays root by the operator's decision, and has files that only root can read. */
static int drop_of_parent(const struct settings *settings)
{
	if (geteuid() == 0)
		return 0;
	if (has_root(settings))
		return keep_for_workers();
	return is_wanted(settings) ? capabilities_keep(0) : 0;
}

static int look_at_root(const struct settings *settings)
{
	struct stat status;
	if (!has_root(settings))
		return 0;
	if (stat(settings->chroot_path, &status) != 0)
		return -errno;
	return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

static int set_no_new_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) == 0 ? 0 : -errno;
}

static int restrict_parent(void)
{
	struct callfilter filter = { 0 };
	int ret = syscalls_make(SYSCALLS_PARENT, &filter);
	if (ret == 0)
		ret = callfilter_load(&filter);
	callfilter_deinit(&filter);
	return ret;
}

int confine_parent(const struct settings *settings, const char **reterr_step)
{
	struct confine_means means = confine_look();
	*reterr_step = "chroot";
	int ret = look_at_root(settings);
	if (ret == 0)
		ret = drop_of_parent(settings);
	if (ret != 0 || !is_wanted(settings))
		return ret;
	*reterr_step = "no_new_privs";
	ret = set_no_new_privileges();
	*reterr_step = ret == 0 ? "seccomp" : *reterr_step;
	if (ret == 0 && means.has_seccomp)
		ret = restrict_parent();
	return ret;
}

int confine_make_filter(const struct settings *settings, struct callfilter *ret_filter)
{
	if (!is_wanted(settings) || !confine_look().has_seccomp)
		return 0;
	return syscalls_make(SYSCALLS_WORKER, ret_filter);
}

/* ---- a worker ---- */

static int change_root(const struct settings *settings)
{
	struct capabilities capabilities = { 0 };
	if (!has_root(settings))
		return 0;
	int ret = capabilities_get(&capabilities);
	capabilities.effective |= capabilities.permitted & CAPABILITY_CHROOT;
	if (ret == 0)
		ret = capabilities_set(&capabilities);
	if (ret == 0 && (chroot(settings->chroot_path) != 0 || chdir("/") != 0))
		ret = -errno;
	return ret;
}

static char *copy_directory(const char *path)
{
	char copy[PATH_MAX];
	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return NULL;
	return strdup(dirname(copy));
}

/* Of the path as it is written and, when that is a link, of where it leads now. */
static size_t add_directories(const char *path, char **directories)
{
	size_t count = 0;
	char *resolved = realpath(path, NULL);
	directories[count] = copy_directory(path);
	count += directories[count] != NULL;
	if (resolved != NULL) {
		directories[count] = copy_directory(resolved);
		count += directories[count] != NULL;
	}
	free(resolved);
	return count;
}

static int restrict_files(const struct settings *settings)
{
	size_t count = 0;
	char **directories = calloc(2 * settings->zone_count + 1, sizeof(*directories));
	if (directories == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < settings->zone_count; i++)
		count += add_directories(settings_store_path(settings, i), &directories[count]);
	int ret = landlock_restrict((const char *const *)directories, count);
	for (size_t i = 0; i < count; i++)
		free(directories[i]);
	free(directories);
	return ret;
}

int confine_querylog(const struct settings *settings, const char **reterr_step)
{
	struct confine_means means = confine_look();
	char *directory = copy_directory(settings->dnstap.path);
	/* A socket is no file to Landlock. */
	size_t count = settings->dnstap.is_socket ? 0 : 1;
	int ret = directory != NULL ? 0 : -ENOMEM;
	*reterr_step = "landlock";
	if (ret == 0 && is_wanted(settings) && means.landlock > 0)
		ret = landlock_restrict((const char *const *)&directory, count);
	free(directory);
	if (ret == 0 && is_wanted(settings)) {
		*reterr_step = "capabilities";
		capabilities_empty_bounding_set();
		ret = capabilities_keep(0);
	}
	return ret;
}

int confine_worker(const struct settings *settings, const struct callfilter *filter,
		   const char **reterr_step)
{
	struct confine_means means = confine_look();
	bool is_dropping = is_wanted(settings) || has_root(settings);
	*reterr_step = "chroot";
	int ret = change_root(settings);
	if (ret == 0 && is_wanted(settings)) {
		*reterr_step = "no_new_privs";
		ret = set_no_new_privileges();
	}
	if (ret == 0 && is_wanted(settings) && means.landlock > 0) {
		*reterr_step = "landlock";
		ret = restrict_files(settings);
	}
	if (ret == 0 && is_dropping) {
		*reterr_step = "capabilities";
		capabilities_empty_bounding_set();
		ret = capabilities_keep(0);
	}
	if (ret == 0 && is_wanted(settings) && means.has_seccomp) {
		*reterr_step = "seccomp";
		ret = callfilter_load(filter);
	}
	return ret;
}
