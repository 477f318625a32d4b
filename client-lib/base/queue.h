/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * queue.h - the lists of <sys/queue.h>, also where libc has none: musl.
 *
 * Flow: what has lists: stub.c, remote.c, the engine, client_parts.h.
 *
 * glibc and the BSDs have that header, and others' headers include it, so that ours has to be the
 * same one there. What stands below is that part of it which is used here; queue(3) tells what
 * each macro does.
 */

#include <stddef.h>

#if defined(__has_include)
#if __has_include(<sys/queue.h>)
#define QUEUE_IS_OF_LIBC 1
#include <sys/queue.h>
#endif
#endif

#ifndef QUEUE_IS_OF_LIBC

/* ---- LIST: each element knows the pointer that points to it ---- */

#define LIST_HEAD(name, type)                                                                      \
	struct name {                                                                              \
		struct type *lh_first;                                                             \
	}
#define LIST_ENTRY(type)                                                                           \
	struct {                                                                                   \
		struct type *le_next;                                                              \
		struct type **le_prev;                                                             \
	}
#define LIST_INIT(head)	       ((head)->lh_first = NULL)
#define LIST_FIRST(head)       ((head)->lh_first)
#define LIST_EMPTY(head)       ((head)->lh_first == NULL)
#define LIST_NEXT(item, field) ((item)->field.le_next)
#define LIST_FOREACH(item, head, field)                                                            \
	for ((item) = LIST_FIRST(head); (item) != NULL; (item) = LIST_NEXT(item, field))
#define LIST_INSERT_HEAD(head, item, field)                                                        \
	do {                                                                                       \
		(item)->field.le_next = (head)->lh_first;                                          \
		if ((item)->field.le_next != NULL)                                                 \
			(item)->field.le_next->field.le_prev = &(item)->field.le_next;             \
		(head)->lh_first = (item);                                                         \
		(item)->field.le_prev = &(head)->lh_first;                                         \
	} while (0)
#define LIST_REMOVE(item, field)                                                                   \
	do {                                                                                       \
		if ((item)->field.le_next != NULL)                                                 \
			(item)->field.le_next->field.le_prev = (item)->field.le_prev;              \
		*(item)->field.le_prev = (item)->field.le_next;                                    \
	} while (0)

/*
 * ---- TAILQ: as LIST, and a tail ----
 *
 * The pointer to an element before the tail is found by the layout: a head begins as an entry does.
 */

#define TAILQ_HEAD(name, type)                                                                     \
	struct name {                                                                              \
		struct type *tqh_first;                                                            \
		struct type **tqh_last;                                                            \
	}
#define TAILQ_HEAD_INITIALIZER(head)                                                               \
	{                                                                                          \
		NULL, &(head).tqh_first                                                            \
	}
#define TAILQ_ENTRY(type)                                                                          \
	struct {                                                                                   \
		struct type *tqe_next;                                                             \
		struct type **tqe_prev;                                                            \
	}
#define TAILQ_INIT(head)                                                                           \
	do {                                                                                       \
		(head)->tqh_first = NULL;                                                          \
		(head)->tqh_last = &(head)->tqh_first;                                             \
	} while (0)
#define TAILQ_FIRST(head)	      ((head)->tqh_first)
#define TAILQ_EMPTY(head)	      ((head)->tqh_first == NULL)
#define TAILQ_NEXT(item, field)	      ((item)->field.tqe_next)
#define TAILQ_LAST(head, name)	      (*((struct name *)((head)->tqh_last))->tqh_last)
#define TAILQ_PREV(item, name, field) (*((struct name *)((item)->field.tqe_prev))->tqh_last)
#define TAILQ_FOREACH(item, head, field)                                                           \
	for ((item) = TAILQ_FIRST(head); (item) != NULL; (item) = TAILQ_NEXT(item, field))
#define TAILQ_INSERT_HEAD(head, item, field)                                                       \
	do {                                                                                       \
		(item)->field.tqe_next = (head)->tqh_first;                                        \
		if ((item)->field.tqe_next != NULL)                                                \
			(item)->field.tqe_next->field.tqe_prev = &(item)->field.tqe_next;          \
		else                                                                               \
			(head)->tqh_last = &(item)->field.tqe_next;                                \
		(head)->tqh_first = (item);                                                        \
		(item)->field.tqe_prev = &(head)->tqh_first;                                       \
	} while (0)
#define TAILQ_INSERT_TAIL(head, item, field)                                                       \
	do {                                                                                       \
		(item)->field.tqe_next = NULL;                                                     \
		(item)->field.tqe_prev = (head)->tqh_last;                                         \
		*(head)->tqh_last = (item);                                                        \
		(head)->tqh_last = &(item)->field.tqe_next;                                        \
	} while (0)
#define TAILQ_INSERT_AFTER(head, before, item, field)                                              \
	do {                                                                                       \
		(item)->field.tqe_next = (before)->field.tqe_next;                                 \
		if ((item)->field.tqe_next != NULL)                                                \
			(item)->field.tqe_next->field.tqe_prev = &(item)->field.tqe_next;          \
		else                                                                               \
			(head)->tqh_last = &(item)->field.tqe_next;                                \
		(before)->field.tqe_next = (item);                                                 \
		(item)->field.tqe_prev = &(before)->field.tqe_next;                                \
	} while (0)
#define TAILQ_REMOVE(head, item, field)                                                            \
	do {                                                                                       \
		if ((item)->field.tqe_next != NULL)                                                \
			(item)->field.tqe_next->field.tqe_prev = (item)->field.tqe_prev;           \
		else                                                                               \
			(head)->tqh_last = (item)->field.tqe_prev;                                 \
		*(item)->field.tqe_prev = (item)->field.tqe_next;                                  \
	} while (0)
#define TAILQ_CONCAT(head, other, field)                                                           \
	do {                                                                                       \
		if (!TAILQ_EMPTY(other)) {                                                         \
			*(head)->tqh_last = (other)->tqh_first;                                    \
			(other)->tqh_first->field.tqe_prev = (head)->tqh_last;                     \
			(head)->tqh_last = (other)->tqh_last;                                      \
			TAILQ_INIT(other);                                                         \
		}                                                                                  \
	} while (0)

#endif
