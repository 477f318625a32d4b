/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A file that says that it is an mbox: each mail of it lies within, they come one behind the other,
 * and written again and read again they are the same.
 */

#include "integration/mail/mail-store/mbox.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where four digits of a year end: 9999-12-31. */
#define TIME_MAX_US (UINT64_C(253402300799) * 1000000)

struct text {
	uint8_t *bytes;
	size_t size;
};

static struct text unquote(const struct mbox_mail *mail)
{
	/* In memory of exactly that size, for the sanitizer. */
	struct text text = { malloc(mail->size > 0 ? mail->size : 1), 0 };
	require(text.bytes != NULL, "memory");
	text.size = mbox_unquote(mail, text.bytes);
	require(text.size <= mail->size, "no more than there was");
	return text;
}

/* One mail alone is one mail, and the same but for a line end that it lacked. */
static void write_again(const struct mbox_mail *mail, const struct text *text)
{
	char *bytes = NULL;
	size_t size = 0;
	size_t at = 0;
	struct mbox_mail again;
	FILE *out = open_memstream(&bytes, &size);
	require(out != NULL, "memory");
	require(mbox_write(out, mail->sender, mail->sender_size, mail->time_us, text->bytes,
			   text->size),
		"written");
	require(fclose(out) == 0, "memory");
	require(mbox_next((const uint8_t *)bytes, size, &at, &again) == 1 && at == size,
		"one mail");
	struct text second = unquote(&again);
	bool is_open = text->size > 0 && text->bytes[text->size - 1] != '\n';
	require(second.size == text->size + (is_open ? 1 : 0) &&
			memcmp(second.bytes, text->bytes, text->size) == 0,
		"the same text");
	require(again.sender_size == mail->sender_size, "the same sender");
	require(mail->time_us > TIME_MAX_US || again.time_us == mail->time_us, "the same time");
	free(second.bytes);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mbox_mail mail;
	size_t at = 0;
	size_t before = 0;
	while (mbox_next(data, size, &at, &mail) == 1) {
		require(at > before && at <= size, "it goes on");
		require(mail.text >= data + before && mail.text + mail.size <= data + at &&
				mail.sender >= data + before &&
				mail.sender + mail.sender_size <= data + at,
			"a mail within the file");
		struct text text = unquote(&mail);
		write_again(&mail, &text);
		free(text.bytes);
		before = at;
	}
	return 0;
}
