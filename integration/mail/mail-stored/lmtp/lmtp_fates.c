/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/lmtp/lmtp_fates.h"

#include "lib/format/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int lmtp_fates_make(const struct lmtp_boxes *boxes, const uint8_t *rows, uint32_t count,
		    uint8_t **ret_fates, size_t *ret_recipients)
{
	struct mailname *names = NULL;
	struct mailname name;
	size_t name_count = 0;
	size_t at = 0;
	size_t recipients = 0;
	bool is_first = false;
	uint8_t *fates = calloc(boxes->count + 1, 1);
	int ret = fates == NULL ? -ENOMEM : lmtp_boxes_list(boxes, &names, &name_count);
	if (ret == 0 && name_count != count)
		ret = -EPROTO;
	while (ret == 0 && lmtp_boxes_next(boxes, &at, &name, &is_first)) {
		recipients += is_first || recipients == 0;
		const struct mailname *own =
			bsearch(&name, names, name_count, sizeof(*names), mailname_compare);
		if (own != NULL &&
		    bytes_get(rows + (size_t)(own - names) * LMTP_FATES_ROW, LMTP_FATES_ROW) != 0)
			fates[recipients - 1] = 1;
	}
	free(names);
	if (ret != 0) {
		free(fates);
		return ret;
	}
	*ret_fates = fates;
	*ret_recipients = recipients;
	return 0;
}
