/* SPDX-License-Identifier: MIT */
#include "library/tables/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Returns a copy with U+FFFD for each byte that is not UTF-8, from malloc; NULL: out of memory. */
static char *with_replacement_characters(const char *text, size_t length)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *copy = malloc(3 * length + 1), *to = copy;

	for (size_t i = 0; copy && i < length;) {
		size_t valid = gmt_text_utf8_length((const unsigned char *)text + i, length - i);

		memcpy(to, valid ? text + i : replacement, valid ? valid : 3);
		to += valid ? valid : 3;
		i += valid ? valid : 1;
	}
	if (copy)
		*to = 0;
	return copy;
}

static bool is_utf8(const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		size_t valid = gmt_text_utf8_length((const unsigned char *)text + i, length - i);

		if (!valid)
			return false;
		i += valid;
	}
	return true;
}

int32_t gmt_cursor_intern_text(struct gmt_read_cursor *cursor, int column, const char *text)
{
	size_t length = strlen(text);
	char *copy = is_utf8(text, length) ? NULL : with_replacement_characters(text, length);
	bool done = copy || is_utf8(text, length);
	uint32_t id = 0;

	done = done && gmt_intern_text(&cursor->texts[column], copy ? copy : text, &id);
	free(copy);
	cursor->failed |= !done || id > INT32_MAX;
	return cursor->failed ? 0 : (int32_t)id;
}

void *gmt_cursor_add_row(struct gmt_read_cursor *cursor)
{
	size_t bytes = cursor->table->row_bytes;
	void *row;

	if (!gmt_vec_reserve(&cursor->rows, bytes)) {
		cursor->failed = true;
		return NULL;
	}
	row = cursor->rows.items + cursor->rows.count;
	cursor->rows.count += bytes;
	return row;
}

size_t gmt_cursor_read_rows(struct gmt_read_cursor *cursor, void *ret_rows, size_t max)
{
	size_t bytes = cursor->table->row_bytes, left = cursor->rows.count / bytes - cursor->next_row;
	size_t count = left < max ? left : max;

	if (count)
		memcpy(ret_rows, cursor->rows.items + cursor->next_row * bytes, count * bytes);
	cursor->next_row += count;
	return count;
}

void gmt_cursor_fini(struct gmt_read_cursor *cursor)
{
	for (size_t i = 0; i < GMT_READ_MAX_COLUMNS; i++)
		gmt_intern_fini(&cursor->texts[i]);
	gmt_vec_fini(&cursor->rows);
}
