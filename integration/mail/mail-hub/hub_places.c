/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-hub/hub_places.h"

#include "integration/mail/mail-hub/hub_files.h"
#include "integration/mail/mail-hub/hub_programs.h"
#include "lib/common/log.h"
#include "lib/common/values.h"
#include "lib/process/listening.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const struct place_list {
	const char *item;
	unsigned program; /* that listens there */
	size_t offset;	  /* of the list in struct hub_setup */
	uint16_t port;	  /* where none is given */
} place_lists[] = {
	{ "smtp", HUB_SMTP, offsetof(struct hub_setup, smtp), HUB_PORT_SMTP },
	{ "lmtp", HUB_STORE, offsetof(struct hub_setup, lmtp), HUB_PORT_LMTP },
	{ "pop3", HUB_POP, offsetof(struct hub_setup, pop3), HUB_PORT_POP3 },
	{ "pop3s", HUB_POP, offsetof(struct hub_setup, pop3s), HUB_PORT_POP3S },
};
#define PLACE_LISTS (sizeof(place_lists) / sizeof(place_lists[0]))

static const struct hub_list *list_of(const struct hub_setup *setup, const struct place_list *list)
{
	return (const struct hub_list *)(const void *)((const char *)setup + list->offset);
}

/* The i-th place of a list as an address; false: a path, or none. */
static bool find_address(const struct hub_setup *setup, const struct place_list *list, unsigned i,
			 struct sockaddr_storage *ret_address)
{
	return values_parse_address(list_of(setup, list)->texts[i], list->port, 1, ret_address);
}

static bool is_same(const struct sockaddr_storage *one, const struct sockaddr_storage *other)
{
	return memcmp(one, other, sizeof(*one)) == 0;
}

/* 0.0.0.0 or [::] with its port. */
static struct sockaddr_storage all_of(struct sockaddr_storage address)
{
	if (address.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&address)->sin6_addr = in6addr_any;
	else
		((struct sockaddr_in *)(void *)&address)->sin_addr.s_addr = INADDR_ANY;
	return address;
}

/* A socket at one of them keeps another from the other. */
static bool do_meet(const struct sockaddr_storage *one, const struct sockaddr_storage *other)
{
	const struct sockaddr_storage all = all_of(*one);
	const struct sockaddr_storage all_others = all_of(*other);
	return is_same(one, other) ||
	       (is_same(&all, &all_others) && (is_same(one, &all) || is_same(other, &all)));
}

/*
 * Is the program one that has the address? *ret_place is one that is there before it and would keep it from this
 * one, or NULL, and *ret_list the list of that.
 */
static bool has_address(const struct hub_setup *setup, unsigned program,
			const struct sockaddr_storage *wanted, const struct place_list **ret_list,
			const char **ret_place)
{
	struct sockaddr_storage address;
	*ret_place = NULL;
	for (size_t list = 0; list < PLACE_LISTS; list++) {
		const struct hub_list *places = list_of(setup, &place_lists[list]);
		for (unsigned i = 0; i < places->count; i++) {
			if (!find_address(setup, &place_lists[list], i, &address) ||
			    !do_meet(&address, wanted))
				continue;
			if (place_lists[list].program == program && is_same(&address, wanted))
				return true;
			*ret_list = &place_lists[list];
			*ret_place = places->texts[i];
		}
	}
	return false;
}

/* An address that the hub has no permission for counts as free: the program may have it, or says that it has not. */
static bool is_free(const char *text, const struct sockaddr_storage *address)
{
	int fd = -1;
	int ret = listening_bind_port((const struct sockaddr *)address,
				      values_address_size(address), LISTENING_IPV6_ONLY, &fd);
	if (fd >= 0)
		close(fd);
	if (ret == 0 || ret == -EACCES)
		return true;
	log_error(hub_context, "socket not opened, place=%s (%s)", text, strerror(-ret));
	return false;
}

static bool refuse_address(const char *why, const struct place_list *list, const char *text,
			   const struct place_list *other, const char *place)
{
	log_error(hub_context, "%s, item=%s place=%s (%s has %s)", why, list->item, text,
		  hub_programs[other->program].name, place);
	return false;
}

/* Of one address of a list; before is what runs. False: it is refused, with a line of the log. */
typedef bool (*look_fn)(const struct hub_setup *before, const struct hub_setup *setup,
			const struct place_list *list, const char *text,
			const struct sockaddr_storage *address);

static bool is_apart(const struct hub_setup *before, const struct hub_setup *setup,
		     const struct place_list *list, const char *text,
		     const struct sockaddr_storage *address)
{
	const struct place_list *other = NULL;
	const char *place = NULL;
	(void)before;
	(void)has_address(setup, list->program, address, &other, &place);
	return place == NULL || other->program == list->program ||
	       refuse_address("address given to two programs", list, text, other, place);
}

/*
 * A program opens new sockets before it closes old ones, and each by itself: what one of them has is free behind
 * the end of that one only.
 */
static bool may_have(const struct hub_setup *before, const struct hub_setup *setup,
		     const struct place_list *list, const char *text,
		     const struct sockaddr_storage *address)
{
	const struct place_list *other = NULL;
	const char *place = NULL;
	if (!is_apart(before, setup, list, text, address))
		return false;
	if (has_address(before, list->program, address, &other, &place))
		return true;
	return place == NULL ? is_free(text, address)
			     : refuse_address("address needs a restart", list, text, other, place);
}

static bool look_at_all(const struct hub_setup *before, const struct hub_setup *setup, look_fn look)
{
	struct sockaddr_storage address;
	for (size_t list = 0; list < PLACE_LISTS; list++) {
		const struct hub_list *places = list_of(setup, &place_lists[list]);
		for (unsigned i = 0; i < places->count; i++)
			if (find_address(setup, &place_lists[list], i, &address) &&
			    !look(before, setup, &place_lists[list], places->texts[i], &address))
				return false;
	}
	return true;
}

bool hub_places_are_apart(const struct hub_setup *setup)
{
	return look_at_all(NULL, setup, is_apart);
}

bool hub_places_may_change(const struct hub_setup *before, const struct hub_setup *setup)
{
	return look_at_all(before, setup, may_have);
}
