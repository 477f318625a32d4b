/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-hub/hub_programs.h"

#include <stdlib.h>
#include <string.h>

/* ---- items ---- */

static void put_text(FILE *out, const char *item, const char *value)
{
	fprintf(out, "    %s: \"%s\"\n", item, value);
}

static void put_given(FILE *out, const char *item, const char *value)
{
	if (value[0] != '\0')
		put_text(out, item, value);
}

static void put_path(FILE *out, const char *item, const char *directory, const char *name)
{
	fprintf(out, "    %s: \"%s/%s\"\n", item, directory, name);
}

static void put_list(FILE *out, const char *item, const struct hub_list *list)
{
	if (list->count == 0)
		return;
	fprintf(out, "    %s: [ ", item);
	for (unsigned i = 0; i < list->count; i++)
		fprintf(out, "%s\"%s\"", i > 0 ? ", " : "", list->texts[i]);
	fputs(" ]\n", out);
}

static void put_user(FILE *out, const struct hub_setup *setup)
{
	put_given(out, "user", setup->owner.user);
}

static void put_metrics(FILE *out, const struct hub_setup *setup, const char *name)
{
	bool is_given = setup->metrics[0] != '\0';
	fprintf(out, "    metrics: \"%s%s/%s.prom\"\n", is_given ? setup->metrics : setup->run,
		is_given ? "" : "/metrics", name);
}

static void put_certificate(FILE *out, const struct hub_setup *setup)
{
	if (setup->certificate[0] == '\0')
		return;
	fprintf(out, "tls:\n    certificates: [ \"%s%s%s\" ]\n", setup->certificate,
		setup->key[0] != '\0' ? ":" : "", setup->key);
}

/* ---- programs ---- */

/* The users of all nodes are in the cluster, and databases here are made of them. */
static void print_cluster(const struct hub_setup *setup, FILE *out)
{
	if (setup->pool[0] == '\0')
		return;
	fputs("cluster:\n", out);
	put_text(out, "pool", setup->pool);
	put_given(out, "node", setup->node);
	put_given(out, "ceph-conf", setup->ceph_conf);
	put_given(out, "ceph-user", setup->ceph_user);
	put_text(out, "users", "yes");
	put_path(out, "logins", setup->directory, "logins.mdb");
}

static bool is_pop_wanted(const struct hub_setup *setup)
{
	return setup->pop3.count > 0 || setup->pop3s.count > 0;
}

static void print_store(const struct hub_setup *setup, FILE *out)
{
	fputs("stored:\n", out);
	put_path(out, "directory", setup->directory, "store");
	if (setup->pool[0] != '\0')
		put_text(out, "layer", "rados");
	put_path(out, "socket", setup->run, "store");
	put_user(out, setup);
	put_path(out, "users", setup->directory, "users.mdb");
	/* Where users fetch mail, they have passwords; those of a cluster are in its section. */
	if (is_pop_wanted(setup) && setup->pool[0] == '\0')
		put_path(out, "logins", setup->directory, "logins.mdb");
	put_metrics(out, setup, "mail-stored");
	put_text(out, "log-level", conf_log_levels[setup->log_level]);
	fputs("lmtp:\n", out);
	put_text(out, "hostname", setup->hostname);
	put_list(out, "listen", &setup->lmtp);
	print_cluster(setup, out);
}

/* What both front servers have; workers of POP3 stay outside of the root, as the store's socket is. */
static void print_front(const struct hub_setup *setup, const char *program, FILE *out)
{
	put_user(out, setup);
	/* Only root can change it, and root without a user keeps what it has. */
	if (setup->owner.user[0] != '\0')
		put_path(out, "chroot", setup->run, "empty");
	put_metrics(out, setup, program);
	put_text(out, "log-level", conf_log_levels[setup->log_level]);
}

static void print_smtp(const struct hub_setup *setup, FILE *out)
{
	fputs("front:\n", out);
	put_text(out, "hostname", setup->hostname);
	put_list(out, "listen", &setup->smtp);
	print_front(setup, "smtp-front", out);
	fputs("trust:\n", out);
	put_path(out, "users", setup->directory, "users.mdb");
	put_certificate(out, setup);
	fputs("sink:\n    kind: store\n", out);
	put_path(out, "to", setup->run, "store");
	if (setup->zones.count > 0)
		fputs("library:\n", out);
	put_list(out, "zones", &setup->zones);
	if (setup->signatures[0] != '\0' || setup->clamd[0] != '\0')
		fputs("scan:\n", out);
	put_given(out, "signatures", setup->signatures);
	put_given(out, "clamd", setup->clamd);
}

static void print_pop(const struct hub_setup *setup, FILE *out)
{
	fputs("pop:\n", out);
	put_text(out, "hostname", setup->hostname);
	put_list(out, "listen", &setup->pop3);
	put_list(out, "listen-tls", &setup->pop3s);
	print_front(setup, "pop-front", out);
	fputs("store:\n", out);
	put_path(out, "socket", setup->run, "store");
	fputs("login:\n", out);
	put_path(out, "users", setup->directory, "logins.mdb");
	put_list(out, "mechanisms", &setup->mechanisms);
	put_text(out, "require-tls", conf_no_yes[!setup->has_plain_logins]);
	put_certificate(out, setup);
}

static bool is_always_wanted(const struct hub_setup *setup)
{
	(void)setup;
	return true;
}

const struct hub_program hub_programs[HUB_PROGRAMS] = {
	[HUB_STORE] = { "mail-stored", is_always_wanted, print_store, false },
	[HUB_SMTP] = { "smtp-front", is_always_wanted, print_smtp, true },
	[HUB_POP] = { "pop-front", is_pop_wanted, print_pop, true },
};

unsigned hub_programs_find(const char *name)
{
	unsigned program = 0;
	while (program < HUB_PROGRAMS && strcmp(hub_programs[program].name, name) != 0)
		program++;
	return program;
}

char *hub_programs_text(unsigned program, const struct hub_setup *setup)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out == NULL)
		return NULL;
	fprintf(out,
		"# Made of hub.conf by mail-hub, which writes its own copy anew when it begins, or "
		"reads that.\n");
	hub_programs[program].print(setup, out);
	bool has_failed = ferror(out) != 0;
	if (fclose(out) == 0 && !has_failed)
		return text;
	free(text);
	return NULL;
}
