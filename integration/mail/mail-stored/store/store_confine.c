/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/store_confine.h"

#include "integration/mail/base/nanny/confine.h"
#include "lib/common/log.h"
#include "lib/process/landlock.h"
#include "lib/process/sanitized.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>

static const char context[] = "mail-stored";

/* Directories of files that may be none, with their memory. */
struct directories {
	char texts[4][STORED_PATH_MAX + 1];
	const char *paths[6];
	size_t count;
	size_t text_count;
};

static void add(struct directories *directories, const char *path)
{
	directories->paths[directories->count++] = path;
}

static void add_of_file(struct directories *directories, const char *path)
{
	char *text = directories->texts[directories->text_count];
	if (path[0] == '\0')
		return;
	snprintf(text, STORED_PATH_MAX + 1, "%s", path);
	directories->text_count++;
	add(directories, dirname(text));
}

static int restrict_by(int (*restrict_them)(const char *const *directories, size_t count),
		       const struct directories *directories)
{
	if (IS_SANITIZED || landlock_find_version() == 0)
		return 0;
	int ret = prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 ? 0 : -errno;
	return ret == 0 ? restrict_them(directories->paths, directories->count) : ret;
}

static int end_confine(const char *role, const char *step, int ret)
{
	if (ret == 0)
		return EX_OK;
	log_error(context, "process not confined, role=%s step=%s (%s)", role, step,
		  strerror(-ret));
	return EX_OSERR;
}

static int confine(const struct confine_rights *rights, const char *role, int ret)
{
	const char *step = "landlock";
	if (ret == 0)
		ret = confine_process(rights, &step);
	return end_confine(role, step, ret);
}

int store_confine_parent(void)
{
	const char *step = "";
	const int ret = confine_calls(&step);
	return end_confine("parent", step, ret);
}

int store_confine(const struct stored_setup *setup)
{
	const struct confine_rights rights = { .owner = &setup->owner,
					       .root = "",
					       .has_loop = true,
					       .has_files = true,
					       .has_memory = true };
	struct directories directories = { .count = 0 };
	add(&directories, setup->directory);
	add_of_file(&directories, setup->users);
	add_of_file(&directories, setup->metrics);
	return confine(&rights, "store", restrict_by(landlock_restrict_trees, &directories));
}

/* Keyrings are where Ceph looks for them, or beside its configuration. */
int store_confine_cluster(const struct stored_setup *setup)
{
	const struct confine_rights rights = { .owner = &setup->owner,
					       .root = "",
					       .has_network = true,
					       .has_files = true,
					       .has_memory = true,
					       .has_threads = true };
	struct directories directories = { .count = 0 };
	add(&directories, "/etc/ceph");
	add_of_file(&directories, setup->cluster.ceph_conf);
	add_of_file(&directories, setup->users);
	add_of_file(&directories, setup->metrics);
	return confine(&rights, "store", restrict_by(landlock_restrict_files, &directories));
}

int store_confine_lister(const struct stored_setup *setup)
{
	const struct confine_rights rights = {
		.owner = &setup->owner, .root = "", .has_loop = true, .has_files = true
	};
	struct directories directories = { .count = 0 };
	add_of_file(&directories, setup->users);
	add_of_file(&directories, setup->cluster.logins);
	return confine(&rights, "lister", restrict_by(landlock_restrict_trees, &directories));
}

int store_confine_login(const struct stored_setup *setup)
{
	const struct confine_rights rights = { .owner = &setup->owner, .root = "" };
	const struct directories none = { .count = 0 };
	return confine(&rights, "login", restrict_by(landlock_restrict_trees, &none));
}

int store_confine_lmtp(const struct stored_setup *setup)
{
	const struct confine_rights rights = {
		.owner = &setup->owner, .root = "", .has_loop = true, .has_memory = true
	};
	const struct directories none = { .count = 0 };
	return confine(&rights, "lmtp", restrict_by(landlock_restrict_trees, &none));
}

/* ---- nodes: the key of the node has been read before ---- */

int store_confine_module(const struct stored_setup *setup)
{
	const struct confine_rights rights = { .owner = &setup->owner,
					       .root = "",
					       .has_network = true,
					       .has_files = setup->metrics[0] != '\0',
					       .has_memory = true };
	struct directories directories = { .count = 0 };
	add_of_file(&directories, setup->users);
	add_of_file(&directories, setup->metrics);
	return confine(&rights, "module", restrict_by(landlock_restrict_files, &directories));
}

int store_confine_node(const struct stored_setup *setup)
{
	const struct confine_rights rights = {
		.owner = &setup->owner, .root = "", .has_loop = true, .has_memory = true
	};
	const struct directories none = { .count = 0 };
	return confine(&rights, "node", restrict_by(landlock_restrict_trees, &none));
}

int store_confine_linked_lmtp(const struct stored_setup *setup)
{
	const struct confine_rights rights = {
		.owner = &setup->owner, .root = "", .has_network = true, .has_memory = true
	};
	const struct directories none = { .count = 0 };
	return confine(&rights, "lmtp", restrict_by(landlock_restrict_files, &none));
}
