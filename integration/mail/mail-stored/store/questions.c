/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/questions.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/format/array.h"

static int make_room(struct questions_rows *rows, size_t size)
{
	if (size > STOREWIRE_TEXT_MAX)
		return -E2BIG;
	return array_reserve(rows->bytes, size, &rows->room) ? 0 : -ENOMEM;
}

static void hide_controls(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] < ' ' || bytes[i] == 0x7f)
			bytes[i] = '?';
}

/* The NUL behind it is overwritten by the line feed. */
void questions_add(struct questions_rows *rows, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const int size = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (rows->status == 0)
		rows->status = size < 0 ? -EINVAL : make_room(rows, rows->size + (size_t)size + 1);
	if (rows->status != 0)
		return;
	va_start(arguments, format);
	vsnprintf((char *)rows->bytes + rows->size, (size_t)size + 1, format, arguments);
	va_end(arguments);
	hide_controls(rows->bytes + rows->size, (size_t)size);
	rows->size += (size_t)size;
	rows->bytes[rows->size++] = '\n';
	rows->count++;
}

void questions_free_rows(struct questions_rows *rows)
{
	free(rows->bytes);
	*rows = (struct questions_rows){ 0 };
}
