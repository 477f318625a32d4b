/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/xdp-kernel/load.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/common/log.h"

static const char context[] = "xdp";

void load_close(struct load *load)
{
	struct tables_arrays *arrays = &load->arrays;
	if (arrays->config != NULL)
		munmap(arrays->config, sizeof(*arrays->config));
	if (arrays->zones != NULL)
		munmap(arrays->zones, XDP_ZONES_MAX * sizeof(*arrays->zones));
	if (arrays->lines != NULL)
		munmap(arrays->lines, (size_t)arrays->line_count * sizeof(*arrays->lines));
	if (arrays->counts != NULL)
		munmap(arrays->counts, (size_t)arrays->processor_count * (XDP_ZONES_MAX + 1) *
					       sizeof(*arrays->counts));
	*load = (struct load){ 0 };
}

#ifdef DNSBLV6_XDP

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "lib/process/capabilities.h"
#include "server/xdp-kernel/answer.skel.h"
#include "server/xdp-kernel/attach.h"
#include "server/xdp-kernel/links.h"

_Static_assert(SETTINGS_INTERFACES_MAX <= XDP_LINKS_MAX, "each interface has a link");

/* What the verifier says of a program of this size; memory that is not written to costs nothing. */
#define VERDICT_SIZE ((size_t)16 << 20)

struct loading {
	const struct settings *settings;
	struct bpf_object *object;
	struct attach_program program;
	char *verdict;	 /* of the verifier: many lines, or none */
	bool is_refused; /* it was to be loaded, and could not be */
};

/* ---- failures ---- */

/* The last line that is no statistics, "" for none. It is cut out of verdict. */
static const char *find_reason(char *verdict)
{
	const char *reason = "";
	char *rest = verdict;
	for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
		if (line[0] != '\0' && strncmp(line, "processed ", strlen("processed ")) != 0)
			reason = line;
	}
	return reason;
}

static const char *advise(const struct loading *loading, int error)
{
	switch (error) {
	case -ENODEV:
		return "ip link shows the interfaces that there are";
	case -EPROTONOSUPPORT:
		return "it is for interfaces of Ethernet";
	case -EPERM:
		return "CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN are needed: start the server as "
		       "root";
	case -ENOSYS:
		return "this kernel is without BPF";
	case -EOPNOTSUPP:
		return "its driver is without XDP: with mode generic it needs none";
	case -EBUSY:
	case -EEXIST:
		return "another XDP program is there, without libxdp's dispatcher or another "
		       "user's: detach it";
	case -ERANGE:
		return "its MTU is too large for XDP in the driver";
	case -E2BIG:
		return "libxdp's dispatcher has no room for another program";
	case -ENOMEM:
		if (loading->is_refused)
			return "there is no memory for it: less memory in the section xdp";
		break;
	default:
		break;
	}
	return "log-level debug says more";
}

/* One line, for a whole verdict or a single error. */
static void log_failure(const struct loading *loading, const char *interface, int error)
{
	char text[ATTACH_TEXT_SIZE];
	char quoted[LOG_QUOTE_MAX];
	struct utsname kernel;
	const char *step = loading->is_refused ? "load" : "attach";
	const char *reason = loading->verdict != NULL ? find_reason(loading->verdict) : "";
	if (reason[0] != '\0' && uname(&kernel) == 0)
		log_warning(context,
			    "not attached, sockets answer, interface=%s step=verify kernel=%s "
			    "verdict=%s "
			    "(it takes Linux 5.18 or later)",
			    interface, kernel.release, log_quote(reason, strlen(reason), quoted));
	else if (loading->is_refused && error == -EINVAL &&
		 libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_XDP, NULL) == 0)
		log_warning(context, "not attached, sockets answer, interface=%s step=load (%s)",
			    interface, "this kernel is without XDP");
	else
		log_warning(context, "not attached, sockets answer, interface=%s step=%s (%s; %s)",
			    interface, step, attach_strerror(error, text), advise(loading, error));
}

/* Without CAP_SYS_ADMIN it could be attached, but not found again. It has CAP_BPF in it, too. */
static int check_capabilities(void)
{
	const uint64_t needed = CAPABILITY(CAP_NET_ADMIN) | CAPABILITY(CAP_SYS_ADMIN);
	struct capabilities capabilities = { 0 };
	int ret = capabilities_get(&capabilities);
	if (ret != 0)
		return ret;
	return (capabilities.effective & needed) == needed ? 0 : -EPERM;
}

/* ---- the program and its maps ---- */

static int set_size(struct bpf_object *object, const char *name, uint32_t size)
{
	return bpf_map__set_max_entries(bpf_object__find_map_by_name(object, name), size);
}

static int set_sizes(struct bpf_object *object, const struct settings *settings)
{
	uint64_t lines = settings->xdp.memory_size / sizeof(struct xdp_line);
	uint32_t line_count = lines < UINT32_MAX ? (uint32_t)lines : UINT32_MAX;
	uint32_t networks = settings->rate_limit > 0 ? settings->rate_limit_networks : 0;
	int processors = libbpf_num_possible_cpus();
	if (processors < 0)
		return processors;
	int ret = set_size(object, "lines", line_count > 0 ? line_count : 1);
	if (ret == 0)
		ret = set_size(object, "counts", (uint32_t)processors * (XDP_ZONES_MAX + 1));
	if (ret == 0)
		ret = set_size(object, "buckets", networks > 0 ? networks : 1);
	return ret;
}

static void end_loading(struct loading *loading)
{
	attach_close(&loading->program);
	bpf_object__close(loading->object);
	free(loading->verdict);
}

/* Call end_loading() either way. */
static int begin_loading(struct loading *loading)
{
	struct bpf_object_open_opts options;
	size_t size = 0;
	const void *bytes = answer_bpf__elf_bytes(&size);
	loading->verdict = malloc(VERDICT_SIZE);
	if (loading->verdict == NULL)
		return -ENOMEM;
	loading->verdict[0] = '\0';
	memset(&options, 0, sizeof(options));
	options.sz = sizeof(options);
	options.object_name = "answer_bpf";
	options.kernel_log_buf = loading->verdict;
	options.kernel_log_size = VERDICT_SIZE;
	loading->object = bpf_object__open_mem(bytes, size, &options);
	if (loading->object == NULL)
		return -errno;
	int ret = set_sizes(loading->object, loading->settings);
	return ret == 0 ? attach_open(loading->object, &loading->program) : ret;
}

/* Returns how many values there are, or -errno. */
static long map_array(const struct bpf_object *object, const char *name, void **ret_array)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	uint32_t count = bpf_map__max_entries(map);
	size_t size = (size_t)bpf_map__value_size(map) * count;
	void *array = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (array == MAP_FAILED)
		return -errno;
	*ret_array = array;
	return (long)count;
}

static int map_arrays(const struct bpf_object *object, struct tables_arrays *arrays)
{
	long ret = map_array(object, "config", (void **)&arrays->config);
	if (ret > 0)
		ret = map_array(object, "zones", (void **)&arrays->zones);
	if (ret > 0)
		ret = map_array(object, "counts", (void **)&arrays->counts);
	if (ret > 0) {
		arrays->processor_count = (unsigned)ret / (XDP_ZONES_MAX + 1);
		ret = map_array(object, "lines", (void **)&arrays->lines);
	}
	if (ret > 0)
		arrays->line_count = (uint32_t)ret;
	return ret > 0 ? 0 : (int)ret;
}

/* ---- interfaces ---- */

/* In the mode of link. */
static int put_once(struct loading *loading, struct load_link *link)
{
	struct attach_found found;
	int ret = attach_look(link->link.index, &found);
	if (ret == 0)
		ret = attach_put(&loading->program, link->link.index, link->is_generic, &found,
				 &link->program_id);
	loading->is_refused =
		ret != 0 && ret != -EBUSY && ret != -E2BIG && !attach_is_loaded(&loading->program);
	link->is_dispatched = loading->program.way == ATTACH_DISPATCHED;
	return ret;
}

static int put(struct loading *loading, struct load_link *link)
{
	char text[ATTACH_TEXT_SIZE];
	enum settings_xdp_mode mode = loading->settings->xdp.mode;
	link->is_generic = mode == SETTINGS_XDP_GENERIC;
	int ret = put_once(loading, link);
	if (ret == 0 || ret == -EBUSY || ret == -EPERM || mode != SETTINGS_XDP_AUTO ||
	    loading->is_refused)
		return ret;
	link->is_generic = true;
	int driver_error = ret;
	ret = put_once(loading, link);
	if (ret == 0)
		log_warning(context, "generic mode, which is slower, interface=%s (%s; %s)",
			    link->name, attach_strerror(driver_error, text),
			    advise(loading, driver_error));
	return ret;
}

/* link has its name. */
static int attach_link(struct loading *loading, struct load_link *link)
{
	int ret = links_find(link->name, &link->link);
	if (ret == 0)
		ret = put(loading, link);
	if (ret != 0) {
		log_failure(loading, link->name, ret);
		return ret;
	}
	log_info(context, "attached, interface=%s mode=%s program=%u dispatcher=%s%s", link->name,
		 link->is_generic ? "generic" : "driver", link->program_id,
		 link->is_dispatched ? "yes" : "no",
		 link->is_dispatched ? ""
				     : " (no bpffs at /sys/fs/bpf, or no freplace in this kernel: "
				       "no other program can be beside it)");
	return 0;
}

/* 0 or the last error. */
static int attach_links(struct loading *loading, struct load *load)
{
	int ret = 0;
	const struct settings_interfaces *interfaces = &loading->settings->xdp.interfaces;
	for (size_t i = 0; i < interfaces->count && !loading->is_refused; i++) {
		struct load_link link = { 0 };
		snprintf(link.name, sizeof(link.name), "%s", interfaces->names[i]);
		int status = attach_link(loading, &link);
		if (status == 0)
			load->links[load->link_count++] = link;
		else
			ret = status;
	}
	return load->link_count > 0 ? 0 : ret;
}

int load_attach(const struct settings *settings, struct load *ret_load)
{
	struct load load = { 0 };
	struct loading loading = { .settings = settings };
	attach_init();
	int ret = check_capabilities();
	if (ret == 0)
		ret = begin_loading(&loading);
	if (ret != 0)
		log_failure(&loading, settings->xdp.interfaces.names[0], ret);
	else
		ret = attach_links(&loading, &load);
	if (ret == 0 && load.link_count > 0) {
		ret = map_arrays(loading.object, &load.arrays);
		if (ret != 0) {
			log_failure(&loading, load.links[0].name, ret);
			load_detach(&load);
		}
	}
	end_loading(&loading);
	if (ret != 0)
		load_close(&load);
	*ret_load = load;
	return ret;
}

void load_detach(const struct load *load)
{
	char text[ATTACH_TEXT_SIZE];
	attach_init();
	for (size_t i = 0; i < load->link_count; i++) {
		const struct load_link *link = &load->links[i];
		int ret = attach_take(link->link.index, link->program_id);
		if (ret == 0)
			log_info(context, "detached, interface=%s program=%u", link->name,
				 link->program_id);
		else if (ret == -ENOENT || ret == -ENODEV)
			log_info(context,
				 "another program is there, or none, interface=%s program=%u",
				 link->name, link->program_id);
		else
			log_error(context, "not detached, interface=%s program=%u (%s; %s)",
				  link->name, link->program_id, attach_strerror(ret, text),
				  "ip link set dev INTERFACE xdp off does it");
	}
}

#else

int load_attach(const struct settings *settings, struct load *ret_load)
{
	(void)settings;
	*ret_load = (struct load){ 0 };
	log_warning(context,
		    "not attached, sockets answer (this build is without libbpf and libxdp)");
	return -ENOSYS;
}

void load_detach(const struct load *load)
{
	(void)load;
}

#endif
