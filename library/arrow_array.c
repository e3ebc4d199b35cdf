/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "library/arrow.h"

enum { ALIGNMENT = 64 }; /* of buffers, as the interface recommends */

/* The private data of an exported array: the memory that it owns. */
struct column_private {
	void *values, *validity;
	const void *buffers[2];
};

struct batch_private {
	const void *buffers[1];
	struct ArrowArray *children[];
};

static void *aligned(size_t bytes)
{
	return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
}

struct gmt_dictionary *gmt_dictionary_new(const struct gmt_intern *texts)
{
	struct gmt_dictionary *dictionary = calloc(1, sizeof(*dictionary));
	size_t count = texts->entries.count, bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += texts->entries.items[i].length;
	if (!dictionary || bytes > INT32_MAX) {
		free(dictionary);
		return NULL;
	}
	atomic_init(&dictionary->users, 1);
	dictionary->count = count;
	dictionary->offsets = aligned((count + 1) * sizeof(*dictionary->offsets));
	dictionary->bytes = aligned(bytes);
	if (!dictionary->offsets || !dictionary->bytes) {
		gmt_dictionary_unref(dictionary);
		return NULL;
	}
	dictionary->offsets[0] = 0;
	for (size_t i = 0; i < count; i++) {
		const struct gmt_interned *text = &texts->entries.items[i];

		memcpy(dictionary->bytes + dictionary->offsets[i], text->bytes, text->length);
		dictionary->offsets[i + 1] = dictionary->offsets[i] + (int32_t)text->length;
	}
	dictionary->buffers[1] = dictionary->offsets;
	dictionary->buffers[2] = dictionary->bytes;
	return dictionary;
}

void gmt_dictionary_unref(struct gmt_dictionary *dictionary)
{
	if (!dictionary || atomic_fetch_sub_explicit(&dictionary->users, 1, memory_order_acq_rel) != 1)
		return;
	free(dictionary->offsets);
	free(dictionary->bytes);
	free(dictionary);
}

static void release_dictionary(struct ArrowArray *array)
{
	gmt_dictionary_unref(array->private_data);
	array->release = NULL;
}

/* Releases an array inside of another one, unless the consumer moved it out, and frees it. */
static void free_inner(struct ArrowArray *array)
{
	if (array && array->release)
		array->release(array);
	free(array);
}

static void release_column(struct ArrowArray *array)
{
	struct column_private *own = array->private_data;

	free_inner(array->dictionary);
	free(own->values);
	free(own->validity);
	free(own);
	array->release = NULL;
}

static void release_batch(struct ArrowArray *array)
{
	for (int64_t i = 0; i < array->n_children; i++)
		free_inner(array->children[i]);
	free(array->private_data);
	array->release = NULL;
}

static size_t bytes_of(enum gmt_read_type type, size_t rows)
{
	switch (type) {
	case GMT_TYPE_BOOL:
		return (rows + 7) / 8;
	case GMT_TYPE_I32:
	case GMT_TYPE_U32:
	case GMT_TYPE_TEXT:
		return rows * 4;
	default:
		return rows * 8;
	}
}

bool gmt_column_init(struct gmt_column_data *ret_column, const struct gmt_stream_column *column,
	size_t max_rows)
{
	size_t bytes = bytes_of(column->description->type, max_rows);

	*ret_column = (struct gmt_column_data){ .values = aligned(bytes), .max_rows = max_rows };
	/* Bits are set by OR, so they must be 0 at first. */
	if (ret_column->values && column->description->type == GMT_TYPE_BOOL)
		memset(ret_column->values, 0, bytes);
	if (column->description->has_nulls) {
		ret_column->validity = aligned((max_rows + 7) / 8);
		if (ret_column->validity)
			memset(ret_column->validity, 0, (max_rows + 7) / 8);
	}
	if (ret_column->values && (ret_column->validity || !column->description->has_nulls))
		return true;
	gmt_column_fini(ret_column);
	return false;
}

void gmt_column_fini(struct gmt_column_data *column)
{
	free(column->values);
	free(column->validity);
	*column = (struct gmt_column_data){ 0 };
}

/* Copies one member of each row. The size is a constant, so that a copy is one load. */
#define COPY(type_) \
	do { \
		type_ *to = (type_ *)column->values + done; \
		for (size_t i = 0; i < count; i++, at += row_bytes) \
			memcpy(&to[i], at, sizeof(type_)); \
	} while (0)

static void add_bits(uint8_t *bits, const uint8_t *at, size_t row_bytes, size_t done, size_t count)
{
	for (size_t i = done; i < done + count; i++, at += row_bytes)
		bits[i / 8] |= (uint8_t)(*(const bool *)at << i % 8);
}

static size_t add_validity(uint8_t *bits, const uint8_t *row, size_t row_bytes, int number,
	size_t done, size_t count)
{
	size_t nulls = 0;

	for (size_t i = done; i < done + count; i++, row += row_bytes) {
		uint64_t is_null;

		memcpy(&is_null, row, sizeof(is_null));
		is_null = is_null >> number & 1;
		nulls += is_null;
		bits[i / 8] |= (uint8_t)(!is_null << i % 8);
	}
	return nulls;
}

void gmt_column_add(struct gmt_column_data *column, const struct gmt_stream_column *stream_column,
	const void *rows, size_t row_bytes, size_t done, size_t count)
{
	const uint8_t *at = (const uint8_t *)rows + stream_column->description->offset;

	switch (stream_column->description->type) {
	case GMT_TYPE_BOOL:
		add_bits(column->values, at, row_bytes, done, count);
		break;
	case GMT_TYPE_I32:
	case GMT_TYPE_U32:
	case GMT_TYPE_TEXT:
		COPY(uint32_t);
		break;
	default:
		COPY(uint64_t);
		break;
	}
	/* `nulls` is the first member of each row. */
	if (column->validity)
		column->null_count +=
			add_validity(column->validity, rows, row_bytes, stream_column->number, done, count);
}

/* Shrinks the memory of a column if a large part of it is not used. */
static void shrink(struct gmt_column_data *column, enum gmt_read_type type, size_t rows)
{
	size_t bytes = bytes_of(type, rows);
	void *less = rows < column->max_rows / 2 ? aligned(bytes) : NULL;

	if (!less)
		return;
	memcpy(less, column->values, bytes);
	free(column->values);
	column->values = less;
}

static struct ArrowArray *export_dictionary(struct gmt_dictionary *dictionary)
{
	struct ArrowArray *array = malloc(sizeof(*array));

	if (!array)
		return NULL;
	atomic_fetch_add_explicit(&dictionary->users, 1, memory_order_relaxed);
	*array = (struct ArrowArray){
		.length = (int64_t)dictionary->count,
		.n_buffers = 3,
		.buffers = dictionary->buffers,
		.release = release_dictionary,
		.private_data = dictionary,
	};
	return array;
}

/* On failure, the column still owns its memory. */
static bool export_column(struct gmt_column_data *column,
	const struct gmt_stream_column *stream_column, size_t rows, struct ArrowArray *ret_array)
{
	struct column_private *own = malloc(sizeof(*own));
	struct ArrowArray *dictionary =
		own && stream_column->dictionary ? export_dictionary(stream_column->dictionary) : NULL;

	if (!own || (stream_column->dictionary && !dictionary)) {
		free(own);
		return false;
	}
	*own = (struct column_private){
		.values = column->values,
		.validity = column->validity,
		.buffers = { column->null_count ? column->validity : NULL, column->values },
	};
	*ret_array = (struct ArrowArray){
		.length = (int64_t)rows,
		.null_count = (int64_t)column->null_count,
		.n_buffers = 2,
		.buffers = own->buffers,
		.dictionary = dictionary,
		.release = release_column,
		.private_data = own,
	};
	*column = (struct gmt_column_data){ 0 };
	return true;
}

bool gmt_array_export(struct gmt_column_data *columns,
	const struct gmt_stream_column *stream_column, size_t column_count, size_t rows,
	struct ArrowArray *ret_array)
{
	struct batch_private *own = calloc(1, sizeof(*own) + column_count * sizeof(*own->children));
	bool done = own;

	for (size_t i = 0; done && i < column_count; i++)
		done = (own->children[i] = calloc(1, sizeof(struct ArrowArray)));
	for (size_t i = 0; done && i < column_count; i++) {
		shrink(&columns[i], stream_column[i].description->type, rows);
		done = export_column(&columns[i], &stream_column[i], rows, own->children[i]);
	}
	if (!done) {
		for (size_t i = 0; own && i < column_count; i++)
			free_inner(own->children[i]);
		free(own);
		return false;
	}
	*ret_array = (struct ArrowArray){
		.length = (int64_t)rows,
		.n_buffers = 1,
		.n_children = (int64_t)column_count,
		.buffers = own->buffers,
		.children = own->children,
		.release = release_batch,
		.private_data = own,
	};
	return true;
}
