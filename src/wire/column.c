/* SPDX-License-Identifier: MIT */
#include "wire/column.h"

bool gmt_column_open(struct gmt_column *ret_column, const struct gmt_block *block, const struct gmt_record_info *record,
	uint32_t field)
{
	const uint8_t *at = block->payload, *end = block->payload + block->size_bytes;
	char encoding = record->fields[field].encoding;
	uint64_t length;

	if (encoding == 'S' || encoding == 'L')
		return false;
	for (uint32_t f = 0;; f++) {
		if (!gmt_varint_get(&at, end, &length) || length > (uint64_t)(end - at))
			return false;
		if (f == field)
			break;
		at += length;
	}
	*ret_column = (struct gmt_column){ .at = at, .end = at + length, .encoding = encoding };
	return true;
}
