/* SPDX-License-Identifier: MIT */
/*
 * The mutator of the targets that take a recording's content. It changes a block, a row or a cell,
 * and keeps the rest well formed. LLVMFuzzerMutate changes plain bytes: libFuzzer's function with
 * its dictionary, or main.c's.
 */
#include <string.h>

#include "containers/map.h"
#include "content.h"
#include "rows.h"
#include "format/encoding/little_endian.h"
#include "format/encoding/varint.h"

enum { MAX_BLOCKS = 4096, BUFFER_BYTES = 1 << 16 };

struct piece {
	uint32_t kind, rows;
	const uint8_t *payload;
	size_t size;
};

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
	size_t other_size, uint8_t *ret_data, size_t max_size, unsigned seed);

static uint64_t state;
static struct piece pieces[MAX_BLOCKS];
static struct fuzz_table table;
static uint8_t buffer[BUFFER_BYTES]; /* bytes of new cells */
static uint8_t payload[FUZZ_BYTES], made[FUZZ_BYTES];

static uint32_t draw(uint64_t below)
{
	state = gmt_hash_u64(state + 1);
	return below ? (uint32_t)(state % below) : 0;
}

static size_t cut(const uint8_t *data, size_t size, struct piece *ret_pieces, size_t max_pieces)
{
	size_t at = GMT_FILE_HEADER_BYTES, count = 0;

	while (count < max_pieces && size >= at && size - at >= GMT_BLOCK_HEADER_BYTES) {
		size_t left = size - at - GMT_BLOCK_HEADER_BYTES, length = gmt_get_u32(data + at + 8);

		if (length > left)
			length = left;
		ret_pieces[count++] = (struct piece){
			gmt_get_u32(data + at),
			gmt_get_u32(data + at + 4),
			data + at + GMT_BLOCK_HEADER_BYTES,
			length,
		};
		at += GMT_BLOCK_HEADER_BYTES + length;
	}
	return count;
}

/* Writes as many whole blocks as fit. Returns their size. */
static size_t join(size_t count, uint8_t *ret_data, size_t max_size)
{
	size_t at = GMT_FILE_HEADER_BYTES;

	if (max_size < at)
		return 0;
	memset(ret_data, 0, at);
	for (size_t i = 0; i < count; i++) {
		const struct piece *piece = &pieces[i];

		if (max_size - at < GMT_BLOCK_HEADER_BYTES ||
			piece->size > max_size - at - GMT_BLOCK_HEADER_BYTES)
			break;
		gmt_put_u32(ret_data + at, piece->kind);
		gmt_put_u32(ret_data + at + 4, piece->rows);
		gmt_put_u32(ret_data + at + 8, (uint32_t)piece->size);
		gmt_put_u32(ret_data + at + 12, 0);
		memcpy(ret_data + at + GMT_BLOCK_HEADER_BYTES, piece->payload, piece->size);
		at += GMT_BLOCK_HEADER_BYTES + piece->size;
	}
	fuzz_repair(ret_data, at);
	return at;
}

/* Returns a number that often breaks assumptions: a type's limit, a power of two, a small one. */
static uint64_t odd_number(void)
{
	uint64_t power = (uint64_t)1 << draw(64);

	switch (draw(6)) {
	case 0:
		return draw(4);
	case 1:
		return draw(64);
	case 2:
		return power;
	case 3:
		return power - 1;
	case 4:
		return 0 - power;
	}
	return ~(uint64_t)draw(4);
}

static struct fuzz_cell number_cell(size_t *used, uint64_t value)
{
	uint8_t *at = buffer + *used;
	size_t length = (size_t)(gmt_varint_put(at, value) - at);

	*used += length;
	return (struct fuzz_cell){ at, length };
}

static void change_number(struct fuzz_cell *cell, size_t *used)
{
	const uint8_t *at = cell->at;
	uint64_t value = 0;

	if (BUFFER_BYTES - *used < GMT_VARINT_MAX_BYTES)
		return;
	gmt_varint_get(&at, at + cell->length, &value);
	switch (draw(4)) {
	case 0:
		value += draw(2) ? 2 : (uint64_t)-2;
		break;
	case 1:
		value ^= (uint64_t)1 << draw(64);
		break;
	default:
		value = odd_number();
	}
	*cell = number_cell(used, value);
}

static void change_bytes(struct fuzz_cell *cell, size_t *used)
{
	const uint8_t *at = cell->at;
	uint64_t length = 0;

	if (BUFFER_BYTES - *used < 2 * GMT_VARINT_MAX_BYTES + 512 ||
		!gmt_varint_get(&at, at + cell->length, &length) || length > 256)
		return;

	uint8_t *text = buffer + *used + GMT_VARINT_MAX_BYTES, *start;
	memcpy(text, at, length);
	length = LLVMFuzzerMutate(text, length, 512);
	start = buffer + *used;
	*used += GMT_VARINT_MAX_BYTES + length;
	at = gmt_varint_put(start, length);
	memmove(start + (at - start), text, length);
	*cell = (struct fuzz_cell){ start, (size_t)(at - start) + length };
}

/* Adds, removes or changes an item of the list. */
static void change_list(struct fuzz_cell *cell, size_t *used)
{
	const uint8_t *at = cell->at, *end = at + cell->length;
	uint64_t count = 0, item;

	if (BUFFER_BYTES - *used < cell->length + 64 || !gmt_varint_get(&at, end, &count))
		return;

	uint32_t chosen = draw(count + 1), how = draw(3);
	uint8_t *start = buffer + *used, *to = start;
	to = gmt_varint_put(to, count + (chosen == count || how == 0) - (chosen < count && how == 1));
	for (uint64_t i = 0; i <= count; i++) {
		bool is_there = i < count && gmt_varint_get(&at, end, &item);

		if (i == chosen && (how != 1 || !is_there))
			to = gmt_varint_put(to, odd_number());
		if (is_there && (i != chosen || how == 0))
			to = gmt_varint_put(to, item);
	}
	*cell = (struct fuzz_cell){ start, (size_t)(to - start) };
	*used += cell->length;
}

static void change_cell(size_t *used)
{
	uint32_t column = draw(table.columns), row = draw(table.rows);
	struct fuzz_cell *cell = &table.cells[row][column];
	char encoding = table.record->fields[column].encoding;

	if (draw(4) == 0)
		*cell = table.cells[draw(table.rows)][column];
	else if (encoding == GMT_ENCODING_STRING)
		change_bytes(cell, used);
	else if (encoding == GMT_ENCODING_LIST)
		change_list(cell, used);
	else
		change_number(cell, used);
}

static void change_table(size_t *used)
{
	uint32_t row = draw(table.rows), other = draw(table.rows);
	struct fuzz_cell kept[GMT_RECORD_MAX_FIELDS];

	switch (draw(8)) {
	case 0: /* repeats a row */
		if (table.rows == FUZZ_ROWS)
			break;
		memmove(table.cells[other + 1], table.cells[other], (table.rows - other) * sizeof(kept));
		memcpy(table.cells[other], table.cells[row + (row >= other)], sizeof(kept));
		table.rows++;
		break;
	case 1:
		if (table.rows == 1)
			break;
		memmove(table.cells[row], table.cells[row + 1], (table.rows - row - 1) * sizeof(kept));
		table.rows--;
		break;
	case 2:
		memcpy(kept, table.cells[row], sizeof(kept));
		memcpy(table.cells[row], table.cells[other], sizeof(kept));
		memcpy(table.cells[other], kept, sizeof(kept));
		break;
	case 3: /* removes a column, as in files of older recorders */
		if (table.columns > 1 && draw(8) == 0)
			table.columns--;
		break;
	default:
		change_cell(used);
	}
}

/* Changes rows of a block. Returns false if the block is no table. */
static bool change_rows(struct piece *piece)
{
	size_t used = 0, size;

	if (!fuzz_table_read(&table, piece->kind, piece->rows, piece->payload, piece->size))
		return false;
	for (uint32_t changes = 1 + draw(3); changes--;)
		change_table(&used);
	size = fuzz_table_write(&table, payload, sizeof(payload));
	if (!size)
		return false;
	piece->rows = table.rows;
	piece->payload = payload;
	piece->size = size;
	return true;
}

static void change_raw(struct piece *piece)
{
	if (piece->size > sizeof(payload) / 2)
		return;
	memcpy(payload, piece->payload, piece->size);
	piece->size = LLVMFuzzerMutate(payload, piece->size, piece->size + 64);
	piece->payload = payload;
	if (draw(8) == 0)
		piece->kind = draw(32);
	if (draw(8) == 0)
		piece->rows = draw(4) ? draw(64) : (uint32_t)odd_number();
}

static size_t change_blocks(size_t count)
{
	size_t one = draw(count), other = draw(count);
	struct piece kept = pieces[one];

	switch (draw(3)) {
	case 0:
		if (count == MAX_BLOCKS)
			break;
		memmove(&pieces[other + 1], &pieces[other], (count - other) * sizeof(*pieces));
		pieces[other] = kept;
		count++;
		break;
	case 1:
		memmove(&pieces[one], &pieces[one + 1], (count - one - 1) * sizeof(*pieces));
		count--;
		break;
	case 2:
		pieces[one] = pieces[other];
		pieces[other] = kept;
		break;
	}
	return count;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	size_t count;

	state = seed;
	count = cut(data, size, pieces, MAX_BLOCKS);
	if (!count || size > sizeof(made) || draw(64) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	if (draw(8) == 0) {
		count = change_blocks(count);
	} else {
		struct piece *piece = &pieces[draw(count)];

		if (draw(16) == 0 || !change_rows(piece))
			change_raw(piece);
	}
	size = join(count, made, max_size < sizeof(made) ? max_size : sizeof(made));
	memcpy(data, made, size);
	return size;
}

/* Writes `one` with some blocks of `other` among its own. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
	size_t other_size, uint8_t *ret_data, size_t max_size, unsigned seed)
{
	static struct piece others[MAX_BLOCKS];
	size_t count = cut(one, one_size, pieces, MAX_BLOCKS / 2);
	size_t there = cut(other, other_size, others, MAX_BLOCKS / 2);

	state = seed;
	for (uint32_t taken = there ? 1 + draw(4) : 0; taken--;) {
		size_t place = draw(count + 1);

		memmove(&pieces[place + 1], &pieces[place], (count - place) * sizeof(*pieces));
		pieces[place] = others[draw(there)];
		count++;
	}
	return join(count, ret_data, max_size);
}
