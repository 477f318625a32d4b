/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodeadmit.h"

#include "lib/common/wholefile.h"

#include <errno.h>
#include <stdlib.h>

static int check_meta(const struct locate *locate, const uint8_t *bytes, size_t size)
{
	struct mailmeta meta;
	struct mailname name;
	int ret = mailmeta_decode(bytes, size, &meta);
	while (ret == 0 && mailmeta_next(&meta, &name))
		if (!locate_is_known(locate, name) ||
		    locate_find(locate, name) != locate->setup->self)
			ret = MAILSTORE_EAWAY;
	return ret;
}

int nodeadmit_check(const struct locate *locate, const struct storewire_request *request,
		    const struct nodewire_memory *memory)
{
	const size_t size = (size_t)request->number;
	const uint64_t there = memory->fd >= 0 ? memory->size : memory->bytes_size;
	if (request->number > there || request->number > MAILRECORD_META_MAX)
		return MAILSTORE_EUNSEALED;
	if (memory->fd < 0)
		return check_meta(locate, memory->bytes, size);
	uint8_t *bytes = malloc(size + 1);
	int ret = bytes == NULL ? -ENOMEM : wholefile_get(memory->fd, memory->at, bytes, size);
	if (ret == 0)
		ret = check_meta(locate, bytes, size);
	free(bytes);
	return ret;
}
