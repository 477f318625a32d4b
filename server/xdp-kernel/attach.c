/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/xdp-kernel/attach.h"

#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "lib/common/log.h"

static const char context[] = "xdp";

/* ---- what the libraries say ---- */

/* One line of it is one line of the log. Their own level of detail is for those that mend them. */
static int log_text(bool is_detail, const char *format, va_list arguments)
{
	char text[LOG_LINE_MAX];
	char quoted[LOG_QUOTE_MAX];
	if (is_detail || vsnprintf(text, sizeof(text), format, arguments) < 0)
		return 0;
	log_debug(context, "library, text=%s", log_quote(text, strcspn(text, "\n"), quoted));
	return 0;
}

static int log_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return log_text(level == LIBBPF_DEBUG, format, arguments);
}

static int log_libxdp(enum libxdp_print_level level, const char *format, va_list arguments)
{
	return log_text(level == LIBXDP_DEBUG, format, arguments);
}

void attach_init(void)
{
	libbpf_set_print(log_libbpf);
	libxdp_set_print(log_libxdp);
}

const char *attach_strerror(int error, char *ret_text)
{
	libxdp_strerror(error, ret_text, ATTACH_TEXT_SIZE);
	return ret_text;
}

/* ---- the program ---- */

int attach_open(struct bpf_object *object, struct attach_program *ret_program)
{
	struct xdp_program_opts options;
	memset(&options, 0, sizeof(options));
	options.sz = sizeof(options);
	options.obj = object;
	options.prog_name = ATTACH_NAME;
	struct xdp_program *program = xdp_program__create(&options);
	long error = libxdp_get_error(program);
	if (error != 0)
		return (int)error;
	*ret_program = (struct attach_program){ .object = object, .program = program };
	return 0;
}

void attach_close(struct attach_program *program)
{
	xdp_program__close(program->program);
	*program = (struct attach_program){ 0 };
}

static int find_fd(const struct attach_program *program)
{
	return bpf_program__fd(bpf_object__find_program_by_name(program->object, ATTACH_NAME));
}

bool attach_is_loaded(const struct attach_program *program)
{
	return find_fd(program) >= 0;
}

static int find_id(const struct attach_program *program, uint32_t *ret_id)
{
	struct bpf_prog_info info;
	uint32_t size = sizeof(info);
	memset(&info, 0, sizeof(info));
	if (bpf_obj_get_info_by_fd(find_fd(program), &info, &size) != 0)
		return -errno;
	*ret_id = info.id;
	return 0;
}

/* ---- what an interface has ---- */

static void add_program(const struct xdp_program *program, struct attach_found *found)
{
	if (strcmp(xdp_program__name(program), ATTACH_NAME) == 0 &&
	    found->ours_count < ATTACH_COUNT)
		found->ours[found->ours_count++] = xdp_program__id(program);
}

int attach_look(unsigned interface, struct attach_found *ret_found)
{
	struct attach_found found = { .is_there = true };
	struct xdp_multiprog *all = xdp_multiprog__get_from_ifindex((int)interface);
	long error = libxdp_get_error(all);
	if (error != 0 && error != -ENOENT)
		return (int)error;
	if (error == -ENOENT || all == NULL) {
		*ret_found = (struct attach_found){ 0 };
		return 0;
	}
	found.is_dispatched = !xdp_multiprog__is_legacy(all);
	found.is_generic = xdp_multiprog__attach_mode(all) == XDP_MODE_SKB;
	struct xdp_program *program = xdp_multiprog__main_prog(all);
	if (!found.is_dispatched && program != NULL)
		add_program(program, &found);
	program = NULL;
	while (found.is_dispatched && (program = xdp_multiprog__next_prog(program, all)) != NULL)
		add_program(program, &found);
	xdp_multiprog__close(all);
	*ret_found = found;
	return 0;
}

/* ---- attach ---- */

static bool is_alone(const struct attach_found *found)
{
	return found->is_there && !found->is_dispatched;
}

static int put_by_libxdp(struct attach_program *program, unsigned interface, bool is_generic)
{
	struct attach_found now;
	enum xdp_attach_mode mode = is_generic ? XDP_MODE_SKB : XDP_MODE_NATIVE;
	int ret = xdp_program__attach(program->program, (int)interface, mode, 0);
	if (ret == 0)
		ret = attach_look(interface, &now);
	if (ret == 0)
		program->way = now.is_dispatched ? ATTACH_DISPATCHED : ATTACH_ALONE;
	return ret;
}

/* In the place of old_id, if that is there still; 0: of nothing. */
static int put_alone(struct attach_program *program, unsigned interface, bool is_generic,
		     uint32_t old_id)
{
	struct bpf_xdp_attach_opts options;
	memset(&options, 0, sizeof(options));
	options.sz = sizeof(options);
	uint32_t flags = is_generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	int ret = attach_is_loaded(program) ? 0 : bpf_object__load(program->object);
	if (ret != 0)
		return ret;
	program->way = ATTACH_ALONE;
	options.old_prog_fd = old_id == 0 ? 0 : bpf_prog_get_fd_by_id(old_id);
	if (options.old_prog_fd < 0)
		return -errno;
	flags |= old_id == 0 ? XDP_FLAGS_UPDATE_IF_NOEXIST : XDP_FLAGS_REPLACE;
	ret = bpf_xdp_attach((int)interface, find_fd(program), flags, &options);
	if (options.old_prog_fd > 0)
		close(options.old_prog_fd);
	return ret;
}

/* What is ours in another mode or way cannot be there at the same time. */
static int clear(unsigned interface, struct attach_found *found)
{
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < found->ours_count; i++)
		ret = attach_take(interface, found->ours[i]);
	return ret == 0 || ret == -ENOENT ? attach_look(interface, found) : ret;
}

int attach_put(struct attach_program *program, unsigned interface, bool is_generic,
	       const struct attach_found *found, uint32_t *ret_id)
{
	struct attach_found now = *found;
	if (is_alone(&now) && now.ours_count == 0)
		return -EBUSY;
	/* It was so before, and most likely for a reason that still is one. */
	if (program->way == ATTACH_UNDECIDED && is_alone(&now))
		program->way = ATTACH_ALONE;
	bool is_other = now.is_generic != is_generic ||
			(is_alone(&now) && program->way == ATTACH_DISPATCHED) ||
			(now.is_dispatched && program->way == ATTACH_ALONE);
	int ret = now.is_there && is_other ? clear(interface, &now) : 0;
	if (ret != 0)
		return ret;
	if (now.is_there && program->way == ATTACH_ALONE && !is_alone(&now))
		return -EBUSY;
	if (program->way == ATTACH_ALONE)
		ret = put_alone(program, interface, is_generic, is_alone(&now) ? now.ours[0] : 0);
	else
		ret = put_by_libxdp(program, interface, is_generic);
	for (unsigned i = 0; ret == 0 && now.is_dispatched && i < now.ours_count; i++)
		attach_take(interface, now.ours[i]);
	return ret == 0 ? find_id(program, ret_id) : ret;
}

/* ---- detach ---- */

int attach_take(unsigned interface, uint32_t id)
{
	struct attach_found found;
	struct xdp_program *program = xdp_program__from_id(id);
	long error = libxdp_get_error(program);
	if (error != 0)
		return (int)error;
	int ret = attach_look(interface, &found);
	if (ret == 0)
		ret = xdp_program__detach(program, (int)interface,
					  found.is_generic ? XDP_MODE_SKB : XDP_MODE_NATIVE, 0);
	xdp_program__close(program);
	return ret;
}
