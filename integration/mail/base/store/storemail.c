/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/store/storemail.h"

#include "lib/common/wholefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int storemail_make_memory(void)
{
	int fd = memfd_create("mail", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

int storemail_seal_memory(int fd)
{
	return fcntl(fd, F_ADD_SEALS, SEALS) == 0 ? 0 : -errno;
}

int storemail_end_memory(int fd, int ret)
{
	if (ret == 0)
		ret = storemail_seal_memory(fd);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int storemail_seal(const void *bytes, size_t size)
{
	int fd = storemail_make_memory();
	return fd < 0 ? fd : storemail_end_memory(fd, wholefile_put(fd, bytes, size));
}

int storemail_init(struct storemail *ret_mail)
{
	*ret_mail = (struct storemail){ .fd = -1, .buffer = malloc(STOREWIRE_INLINE_MAX) };
	return ret_mail->buffer != NULL ? 0 : -ENOMEM;
}

void storemail_deinit(struct storemail *mail)
{
	if (mail->buffer == NULL)
		return;
	storemail_abort(mail);
	free(mail->buffer);
	mail->buffer = NULL;
}

void storemail_abort(struct storemail *mail)
{
	if (mail->fd >= 0)
		close(mail->fd);
	mail->fd = -1;
	mail->buffer_size = 0;
	mail->total_size = 0;
}

/* From here on it is in a memfd; the buffer gathers what is written together. */
static int spill(struct storemail *mail)
{
	if (mail->fd < 0)
		mail->fd = storemail_make_memory();
	if (mail->fd < 0)
		return mail->fd;
	int ret = wholefile_put(mail->fd, mail->buffer, mail->buffer_size);
	mail->buffer_size = 0;
	return mailstore_name_limit(ret);
}

int storemail_append(struct storemail *mail, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;
	mail->total_size += size;
	while (size > 0) {
		size_t room = STOREWIRE_INLINE_MAX - mail->buffer_size;
		size_t part = size < room ? size : room;
		if (room == 0) {
			int ret = spill(mail);
			if (ret != 0)
				return ret;
			continue;
		}
		memcpy(mail->buffer + mail->buffer_size, from, part);
		mail->buffer_size += part;
		from += part;
		size -= part;
	}
	return 0;
}

int storemail_begin(struct storemail *mail, struct mailname sender,
		    const struct mailname *recipients, size_t recipient_count)
{
	storemail_abort(mail);
	size_t size = mailmeta_size(sender, recipients, recipient_count, 0);
	uint8_t *meta = malloc(size);
	if (meta == NULL)
		return -ENOMEM;
	mailmeta_encode(sender, recipients, recipient_count, NULL, 0, meta);
	int ret = storemail_append(mail, meta, size);
	free(meta);
	mail->text_at = size;
	return ret;
}

int storemail_finish(struct storemail *mail, struct storewire_request *ret_request,
		     struct storelink_memory *ret_memory)
{
	int ret = mail->fd >= 0 ? spill(mail) : 0;
	if (ret == 0 && mail->fd >= 0)
		ret = storemail_seal_memory(mail->fd);
	if (ret != 0)
		return ret;
	mail->part = (struct iovec){ mail->buffer, mail->buffer_size };
	*ret_memory =
		(struct storelink_memory){ .fd = mail->fd, .parts = &mail->part, .part_count = 1 };
	*ret_request = (struct storewire_request){ .type = STOREWIRE_DELIVER,
						   .number = mail->text_at,
						   .size = mail->total_size - mail->text_at };
	return 0;
}

int storemail_read(const struct storemail *mail, uint64_t at, void *bytes, size_t size)
{
	if (mail->fd >= 0)
		return wholefile_get(mail->fd, at, bytes, size);
	memcpy(bytes, mail->buffer + at, size);
	return 0;
}
