/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/requests.h"

#include "integration/mail/base/store/storemail.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "lib/format/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define SEALS	  (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define BOXES_MAX 4096	      /* in one reply */
#define TRACE_MAX (64U << 10) /* what a sink adds to a mail of the largest size */

/* ---- foreign memory ---- */

struct memory {
	const uint8_t *bytes;
	size_t size;
	void *map; /* NULL: in the packet */
};

/* What is mapped can neither be changed nor cut while it is read. */
static int map_memory(int fd, uint64_t size_max, struct memory *ret_memory)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 || st.st_size <= 0)
		return MAILSTORE_EUNSEALED;
	if ((uint64_t)st.st_size > size_max)
		return -EFBIG;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret_memory = (struct memory){ .bytes = map, .size = (size_t)st.st_size, .map = map };
	return 0;
}

/* end_memory() in any case. */
static int take_memory(const struct storewire_request *request, int fd, uint64_t size_max,
		       struct memory *ret_memory)
{
	*ret_memory = (struct memory){ 0 };
	if (fd >= 0)
		return map_memory(fd, size_max, ret_memory);
	if (!request->has_memory)
		return MAILSTORE_EUNSEALED;
	ret_memory->bytes = request->memory;
	ret_memory->size = request->memory_size;
	return 0;
}

static void end_memory(struct memory *memory)
{
	if (memory->map != NULL)
		munmap(memory->map, memory->size);
}

/* ---- writing ---- */

static int find_names(const struct mailmeta *meta, struct mailname **ret_names)
{
	struct mailmeta walk = *meta;
	size_t count = 0;
	struct mailname *names = calloc(meta->recipient_count + 1U, sizeof(*names));
	if (names == NULL)
		return -ENOMEM;
	while (mailmeta_next(&walk, &names[count]))
		count++;
	*ret_names = names;
	return 0;
}

/* What is not known is tried; a file system without a size says zero blocks. */
static bool has_space(const struct requests *requests, uint64_t size)
{
	struct statvfs facts;
	if (requests->reserve == 0 || statvfs(requests->directory, &facts) != 0 ||
	    facts.f_blocks == 0)
		return true;
	uint64_t free_size = (uint64_t)facts.f_bavail * facts.f_frsize;
	return free_size >= requests->reserve && free_size - requests->reserve >= size;
}

static int deliver(struct requests *requests, const struct storewire_request *request,
		   const struct memory *memory, uint64_t time_us, struct mailid *ret_id)
{
	struct mailmeta meta;
	struct mailname *names;
	if (request->number > memory->size || request->size != memory->size - request->number)
		return MAILSTORE_EUNSEALED;
	if (request->size > requests->size_max + TRACE_MAX)
		return -EFBIG;
	if (request->is_moved && !requests->is_own)
		return MAILSTORE_EFOREIGN;
	if (!has_space(requests, memory->size))
		return -ENOSPC;
	int ret = mailmeta_decode(memory->bytes, (size_t)request->number, &meta);
	if (ret == 0 && meta.exceptions.size > 0)
		ret = MAILSTORE_EDAMAGED;
	if (ret == 0)
		ret = find_names(&meta, &names);
	if (ret != 0)
		return ret;
	const struct mailstore_mail mail = {
		.sender = meta.sender,
		.recipients = names,
		.recipient_count = meta.recipient_count,
		.text = memory->bytes + request->number,
		.size = (size_t)request->size,
		.time_us = request->time_us != 0 ? request->time_us : time_us,
		.id = request->has_id ? &request->id : NULL,
		.is_moved = request->is_moved,
	};
	ret = maillayer_deliver(requests->layer, &mail, ret_id);
	free(names);
	if (ret != 0)
		return ret;
	requests->counters[STORED_MAILS]++;
	requests->counters[STORED_ENTRIES] += meta.recipient_count;
	requests->counters[STORED_BYTES_IN] += request->size;
	return 0;
}

static int take_delivery(struct requests *requests, const struct storewire_request *request, int fd,
			 uint64_t time_us, struct requests_answer *answer)
{
	struct memory memory;
	int ret = take_memory(request, fd, requests->size_max + TRACE_MAX + MAILRECORD_META_MAX,
			      &memory);
	if (ret == 0)
		ret = deliver(requests, request, &memory, time_us, &answer->reply.id);
	end_memory(&memory);
	answer->waits = ret == 0;
	requests->counters[STORED_MAILS_FAILED] += ret != 0;
	requests->counters[STORED_IDS_REFUSED] += ret == MAILSTORE_EID || ret == MAILSTORE_EFOREIGN;
	return ret;
}

static int erase(struct requests *requests, const struct memory *memory, uint64_t time_us)
{
	struct maildeletion deletion;
	int ret = maildeletion_decode(memory->bytes, memory->size, &deletion);
	uint64_t *mails = ret == 0 ? calloc(deletion.count + 1U, sizeof(*mails)) : NULL;
	if (ret != 0 || mails == NULL)
		return ret != 0 ? ret : -ENOMEM;
	for (size_t i = 0; i < deletion.count; i++)
		mails[i] = maildeletion_mail(&deletion, i);
	ret = maillayer_erase(requests->layer, deletion.mailbox, mails, deletion.count, time_us);
	free(mails);
	requests->counters[STORED_DELETIONS] += ret == 0;
	return ret;
}

static int take_erasure(struct requests *requests, const struct storewire_request *request, int fd,
			uint64_t time_us, struct requests_answer *answer)
{
	struct memory memory;
	int ret = take_memory(request, fd, MAILRECORD_META_MAX, &memory);
	if (ret == 0)
		ret = erase(requests, &memory, time_us);
	end_memory(&memory);
	answer->waits = ret == 0;
	return ret;
}

/* ---- asking ---- */

static int make_room(struct requests *requests, size_t size)
{
	return array_reserve(requests->rows, size, &requests->rows_room) ? 0 : -ENOMEM;
}

/* Rows that are too many for a packet go as memory. */
static int give_rows(struct requests *requests, uint32_t count, struct requests_answer *answer)
{
	answer->reply.count = count;
	answer->reply.rows = requests->rows;
	answer->reply.rows_size = requests->rows_size;
	if (requests->rows_size <= STOREWIRE_ROWS_MAX)
		return 0;
	int fd = storemail_seal(requests->rows, requests->rows_size);
	answer->reply.rows_size = 0;
	answer->fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static int list(struct requests *requests, const struct storewire_request *request,
		struct requests_answer *answer)
{
	const size_t most =
		requests->is_brief ? STOREWIRE_ROWS_MAX / STOREWIRE_ENTRY_SIZE : STOREWIRE_LIST_MAX;
	const size_t room = request->size < most ? (size_t)request->size : most;
	size_t count = 0;
	struct mailentry *entries = malloc((room + 1) * sizeof(*entries));
	if (entries == NULL)
		return -ENOMEM;
	int ret = maillayer_list(requests->layer, request->mailbox, request->number, room, entries,
				 &count);
	if (ret == 0)
		ret = make_room(requests, count * STOREWIRE_ENTRY_SIZE);
	for (size_t i = 0; ret == 0 && i < count; i++)
		storewire_encode_entry(&entries[i], requests->rows + i * STOREWIRE_ENTRY_SIZE);
	free(entries);
	requests->rows_size = count * STOREWIRE_ENTRY_SIZE;
	return ret == 0 ? give_rows(requests, (uint32_t)count, answer) : ret;
}

static int list_boxes(struct requests *requests, const struct storewire_request *request,
		      struct requests_answer *answer)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	struct mailname name = { bytes, request->mailbox.size };
	struct mailcounts counts;
	uint32_t count = 0;
	const uint32_t most =
		requests->is_brief ? STOREWIRE_ROWS_MAX / STOREWIRE_BOX_MAX : BOXES_MAX;
	int ret = make_room(requests, (size_t)BOXES_MAX * STOREWIRE_BOX_MAX);
	if (ret != 0)
		return ret;
	memcpy(bytes, request->mailbox.bytes, request->mailbox.size);
	requests->rows_size = 0;
	while (ret == 0 && count < most) {
		ret = maillayer_next_box(requests->layer, name, bytes, &name.size, &counts);
		if (ret != 0)
			break;
		requests->rows_size +=
			storewire_encode_box(name, &counts, requests->rows + requests->rows_size);
		count++;
	}
	return ret == 0 || ret == DNSBLV6_ENOTFOUND ? give_rows(requests, count, answer) : ret;
}

/* A mail that no mailbox has any more waits for collection: it is gone. */
static int find_live(struct requests *requests, uint64_t mail, struct mailrow *ret_row)
{
	int ret = maillayer_find_row(requests->layer, mail, ret_row);
	return ret == DNSBLV6_ENOTFOUND || (ret == 0 && ret_row->live == 0) ? MAILSTORE_EMAIL : ret;
}

static int find_id(struct requests *requests, const struct storewire_request *request,
		   struct requests_answer *answer)
{
	struct mailrow row;
	int ret = maillayer_find_id(requests->layer, request->mailbox, &request->id,
				    &answer->reply.number);
	if (ret == DNSBLV6_ENOTFOUND)
		return MAILSTORE_EMAIL;
	return ret == 0 ? find_live(requests, answer->reply.number, &row) : ret;
}

static int find_row(struct requests *requests, const struct storewire_request *request,
		    struct requests_answer *answer)
{
	struct mailrow row;
	int ret = find_live(requests, request->number, &row);
	if (ret == 0)
		ret = make_room(requests, MAILROW_SIZE);
	if (ret != 0)
		return ret;
	mailrow_encode(&row, requests->rows);
	requests->rows_size = MAILROW_SIZE;
	return give_rows(requests, 1, answer);
}

static int describe(struct requests *requests, struct requests_answer *answer)
{
	struct mailstore_info info;
	int ret = maillayer_describe(requests->layer, &info);
	if (ret == 0)
		ret = make_room(requests, STOREWIRE_STAT_SIZE);
	if (ret != 0)
		return ret;
	storewire_encode_stat(&info, requests->rows);
	requests->rows_size = STOREWIRE_STAT_SIZE;
	return give_rows(requests, 1, answer);
}

static int check(struct requests *requests, const struct storewire_request *request)
{
	/*
	 * Before there is a mail: with mailboxes on several nodes the others would have it, and get it again
	 * each time that its client tries.
	 */
	if (!has_space(requests, request->size))
		return -ENOSPC;
	int ret = quota_check(requests->quota, requests->layer, request->mailbox, request->size);
	requests->counters[STORED_QUOTA_REFUSALS] += ret == MAILSTORE_EQUOTA;
	return ret;
}

/* ---- the cluster and its users ---- */

/* Those that replace the passwords of all, or read all mails, are not for a server that was taken over. */
static bool is_for_all(uint64_t question)
{
	return question == STOREWIRE_NODES || question == STOREWIRE_HEALTH ||
	       question == STOREWIRE_USERS_STATE;
}

static int ask_cluster(const struct requests *requests, const struct storewire_request *request,
		       int fd, struct questions_rows *rows)
{
	struct questions *questions = requests->questions;
	struct memory memory = { 0 };
	if (questions->cluster == NULL)
		return -EOPNOTSUPP;
	if (request->number >= STOREWIRE_QUESTIONS)
		return -EINVAL;
	if (!requests->is_own && !is_for_all(request->number))
		return -EPERM;
	int ret = request->number == STOREWIRE_USERS_PUT
			  ? take_memory(request, fd, STOREWIRE_USERS_MAX, &memory)
			  : 0;
	if (ret == 0)
		ret = questions->cluster(questions, (enum storewire_question)request->number,
					 memory.bytes, memory.size, rows);
	end_memory(&memory);
	return ret;
}

static int locate(struct questions *questions, const struct storewire_request *request,
		  uint64_t *ret_node, struct questions_rows *rows)
{
	if (questions->locate == NULL)
		return -EOPNOTSUPP;
	if (!mailname_is_valid(request->mailbox))
		return MAILSTORE_EBOX;
	return questions->locate(questions, request->mailbox, ret_node, rows);
}

static int ask(struct requests *requests, const struct storewire_request *request, int fd,
	       struct requests_answer *answer)
{
	struct questions *questions = requests->questions;
	struct questions_rows rows = { 0 };
	int ret = -EOPNOTSUPP;
	if (questions != NULL && request->type == STOREWIRE_CLUSTER)
		ret = ask_cluster(requests, request, fd, &rows);
	else if (questions != NULL)
		ret = locate(questions, request, &answer->reply.number, &rows);
	if (ret == 0)
		ret = rows.status;
	if (ret == 0)
		ret = make_room(requests, rows.size);
	if (ret == 0 && rows.size > 0)
		memcpy(requests->rows, rows.bytes, rows.size);
	requests->rows_size = rows.size;
	if (ret == 0)
		ret = give_rows(requests, rows.count, answer);
	questions_free_rows(&rows);
	return ret;
}

static int take(struct requests *requests, const struct storewire_request *request, int fd,
		uint64_t time_us, struct requests_answer *answer)
{
	switch ((enum storewire_type)request->type) {
	case STOREWIRE_CHECK:
		return check(requests, request);
	case STOREWIRE_DELIVER:
		return take_delivery(requests, request, fd, time_us, answer);
	case STOREWIRE_ERASE:
		return take_erasure(requests, request, fd, time_us, answer);
	case STOREWIRE_MAKE_ID:
		return maillayer_make_id(requests->layer, &answer->reply.id);
	case STOREWIRE_LIST:
		return list(requests, request, answer);
	case STOREWIRE_BOXES:
		return list_boxes(requests, request, answer);
	case STOREWIRE_FIND_ID:
		return find_id(requests, request, answer);
	case STOREWIRE_ROW:
		return find_row(requests, request, answer);
	case STOREWIRE_SEGMENT:
		return request->number == MAILIDENTITY_OBJECT /* it has the key */
			       ? -EACCES
			       : maillayer_open(requests->layer, request->number, &answer->fd);
	case STOREWIRE_STAT:
		return describe(requests, answer);
	case STOREWIRE_COLLECT:
		return request->number > 100
			       ? -EINVAL
			       : maillayer_collect(requests->layer, (unsigned)request->number,
						   &answer->reply.number);
	case STOREWIRE_CLUSTER:
	case STOREWIRE_LOCATE:
		return ask(requests, request, fd, answer);
	case STOREWIRE_HELLO:
	case STOREWIRE_LOCK: /* of a connection, as the next two: not here */
	case STOREWIRE_UNLOCK:
	case STOREWIRE_LOGIN:
	case STOREWIRE_TYPES:
		break;
	}
	return -EPROTO;
}

void requests_take(struct requests *requests, const struct storewire_request *request, int fd,
		   uint64_t time_us, struct requests_answer *ret_answer)
{
	*ret_answer = (struct requests_answer){
		.fd = -1, .reply = { .type = request->type, .serial = request->serial }
	};
	requests->rows_size = 0;
	requests->counters[STORED_REQUESTS]++;
	ret_answer->reply.status = take(requests, request, fd, time_us, ret_answer);
}

/* ---- begin and end ---- */

int requests_init(struct requests *ret_requests, struct maillayer *layer, const struct quota *quota,
		  const struct stored_setup *setup, uint64_t *counters)
{
	*ret_requests = (struct requests){
		.layer = layer,
		.quota = quota,
		.size_max = setup->size_max,
		.directory = setup->directory,
		.reserve = setup->reserve,
		.counters = counters,
	};
	return make_room(ret_requests, STOREWIRE_ROWS_MAX);
}

void requests_copy(const struct requests *requests, uint64_t *counters,
		   struct requests *ret_requests)
{
	*ret_requests = *requests;
	ret_requests->counters = counters;
	ret_requests->rows = NULL;
	ret_requests->rows_room = 0;
}

void requests_deinit(struct requests *requests)
{
	free(requests->rows);
}
