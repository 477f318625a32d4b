/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * attach.h - programs on a network interface, by libxdp and, where its dispatcher cannot be, without.
 *
 * Flow: load.c has the program -> attach_look(), attach_put(), attach_take(); load_detach() too.
 *
 * A program is "ours" by its name, ATTACH_NAME, whichever server it is of; this server's by its id.
 * Nothing is logged here but what the libraries say, at level debug. Errors are -errno.
 */

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct xdp_program;

#define ATTACH_NAME  "dnsblv6_answer"
#define ATTACH_COUNT 10 /* programs that a dispatcher has at most */

/* What an interface has now. */
struct attach_found {
	bool is_there;	    /* at least one program */
	bool is_dispatched; /* by libxdp's dispatcher; or else there is one program and no more */
	bool is_generic;
	uint32_t ours[ATTACH_COUNT]; /* ids */
	unsigned ours_count;
};

/* How a program is to be attached, and then all others of the same load. */
enum attach_way {
	ATTACH_UNDECIDED, /* not loaded; libxdp says what can be when it attaches it */
	ATTACH_DISPATCHED,
	ATTACH_ALONE,
};

/* A program that has been opened, or loaded. */
struct attach_program {
	struct bpf_object *object;   /* borrowed */
	struct xdp_program *program; /* libxdp's */
	enum attach_way way;
};

/* From here on libbpf and libxdp log, and do not write to standard error. */
void attach_init(void);

/* object is open, not loaded. ret_program ends with attach_close(), before object does. */
int attach_open(struct bpf_object *object, struct attach_program *ret_program);
void attach_close(struct attach_program *program);
bool attach_is_loaded(const struct attach_program *program);

int attach_look(unsigned interface, struct attach_found *ret_found);

/*
 * Loads it if that has not happened yet, and attaches it. found is what attach_look() has found; what
 * is ours there is replaced: without a gap, unless it is there in another mode or way. -EBUSY: there
 * is another program, that ours cannot be beside. ret_id is of the program as it is attached.
 */
int attach_put(struct attach_program *program, unsigned interface, bool is_generic,
	       const struct attach_found *found, uint32_t *ret_id);

/* Takes the program of that id away. -ENOENT: it is not there. */
int attach_take(unsigned interface, uint32_t id);

/* Of an error of this file: the system's text, or the libraries'. ret_text is returned. */
#define ATTACH_TEXT_SIZE 128
const char *attach_strerror(int error, char *ret_text);
