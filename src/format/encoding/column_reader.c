/* SPDX-License-Identifier: MIT */
#include "format/encoding/column_reader.h"

#include "format/encoding/decode_numbers.h"

bool gmt_column_reader_open(struct gmt_column_reader *ret_column, const struct gmt_block *block,
	const struct gmt_record_info *record, uint32_t field)
{
	struct gmt_cursor payload = { block->payload, block->payload + block->size_bytes }, column;
	char encoding = record->fields[field].encoding;

	if (encoding == GMT_ENCODING_STRING || encoding == GMT_ENCODING_LIST)
		return false;
	for (uint32_t f = 0; f <= field; f++)
		if (!gmt_column_cut(&payload, &column))
			return false;
	*ret_column =
		(struct gmt_column_reader){ .at = column.at, .end = column.end, .encoding = encoding };
	return true;
}
