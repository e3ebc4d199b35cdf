/* SPDX-License-Identifier: MIT */
#include "library/stream_options.h"

#include <stdio.h>
#include <string.h>

/* Writes the names of all tables, or of a table's columns, with ", " between them. */
static void list_tables(char *ret_text, size_t size)
{
	const struct gmt_read_table *table;
	size_t length = 0;

	*ret_text = 0;
	for (size_t i = 0; (table = gmt_read_table_at(i)) && length < size; i++)
		length +=
			(size_t)snprintf(ret_text + length, size - length, "%s%s", i ? ", " : "", table->name);
}

static void list_columns(const struct gmt_read_table *table, char *ret_text, size_t size)
{
	size_t length = 0;

	*ret_text = 0;
	for (size_t i = 0; i < table->column_count && length < size; i++)
		length += (size_t)snprintf(ret_text + length, size - length, "%s%s", i ? ", " : "",
			table->columns[i].name);
}

static enum gmt_status read_columns(struct gmt_stream_options *checked,
	const struct gpumemtrace_read_options *options, struct gmt_error *error)
{
	const struct gmt_read_table *table = checked->table;
	char names[768];

	checked->column_count = options->columns ? options->column_count : table->column_count;
	if (!checked->column_count)
		return gmt_error_set(error, GMT_USAGE, "table %s: no column is wanted", table->name);
	if (checked->column_count > table->column_count)
		return gmt_error_set(error, GMT_USAGE, "table %s: %zu columns are wanted, but it has %zu",
			table->name, checked->column_count, table->column_count);
	for (size_t i = 0; i < checked->column_count; i++) {
		const char *name = options->columns ? options->columns[i] : table->columns[i].name;
		int number = gmt_read_column_find(table, name);

		for (size_t j = 0; j < i; j++)
			if (checked->columns[j] == number && number != GMT_READ_NO_COLUMN)
				return gmt_error_set(error, GMT_USAGE, "table %s: column %s is wanted twice",
					table->name, name);
		if (number == GMT_READ_NO_COLUMN) {
			list_columns(table, names, sizeof(names));
			return gmt_error_set(error, GMT_USAGE, "table %s has no column \"%.64s\"; it has %s",
				table->name, name, names);
		}
		checked->columns[i] = number;
	}
	return GMT_OK;
}

static enum gmt_status read_layer(struct gmt_stream_options *checked, const char *layer,
	struct gmt_error *error)
{
	for (uint32_t i = 0; i < GMT_ACCOUNTING_LAYERS; i++) {
		const char *name = gmt_layer_name(i);

		if (name && !strcmp(name, layer)) {
			checked->filter.layer = i;
			return GMT_OK;
		}
	}
	return gmt_error_set(error, GMT_USAGE,
		"there is no layer \"%.64s\"; the layers are cuda, torch, driver, imported, view, custom",
		layer);
}

/* Returns whether the table has the filters that are wanted. */
static enum gmt_status check_filters(const struct gmt_stream_options *checked,
	struct gmt_error *error)
{
	static const struct {
		unsigned bit;
		const char *name;
	} filters[] = {
		{ GMT_FILTER_TIME, "time" },
		{ GMT_FILTER_STEP, "step" },
		{ GMT_FILTER_DEVICE, "device" },
		{ GMT_FILTER_LAYER, "layer" },
	};

	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		if (checked->filter.wanted & filters[i].bit & ~checked->table->filters)
			return gmt_error_set(error, GMT_USAGE, "table %s cannot be filtered by %s",
				checked->table->name, filters[i].name);
	return GMT_OK;
}

static enum gmt_status read_filter(struct gmt_stream_options *checked,
	const struct gpumemtrace_read_options *options, struct gmt_error *error)
{
	struct gmt_read_filter *filter = &checked->filter;
	enum gmt_status status;

	*filter = (struct gmt_read_filter){
		.begin_time_ns = options->begin_time_ns,
		.end_time_ns =
			options->end_time_ns == GPUMEMTRACE_READ_ANY ? INT64_MAX : options->end_time_ns,
		.begin_step = options->begin_step,
		.end_step = options->end_step == GPUMEMTRACE_READ_ANY ? INT64_MAX : options->end_step,
		.device = options->device,
	};
	if (options->begin_time_ns != GPUMEMTRACE_READ_ANY ||
		options->end_time_ns != GPUMEMTRACE_READ_ANY)
		filter->wanted |= GMT_FILTER_TIME;
	if (options->begin_step != GPUMEMTRACE_READ_ANY || options->end_step != GPUMEMTRACE_READ_ANY)
		filter->wanted |= GMT_FILTER_STEP;
	if (options->device != GPUMEMTRACE_READ_ANY_DEVICE)
		filter->wanted |= GMT_FILTER_DEVICE;
	if (options->layer) {
		filter->wanted |= GMT_FILTER_LAYER;
		if ((status = read_layer(checked, options->layer, error)))
			return status;
	}
	return check_filters(checked, error);
}

enum gmt_status gmt_stream_options_read(struct gmt_stream_options *ret_checked, const char *table,
	const struct gpumemtrace_read_options *options, struct gmt_error *error)
{
	static const struct gpumemtrace_read_options everything = GPUMEMTRACE_READ_EVERYTHING;
	enum { MAX_BATCH_ROWS = 1 << 24 };
	enum gmt_status status;
	char names[256];

	*ret_checked = (struct gmt_stream_options){ .table = gmt_read_table_find(table) };
	options = options ? options : &everything;
	if (options->struct_bytes < sizeof(everything))
		return gmt_error_set(error, GMT_USAGE, "struct_bytes of the options is %zu, not %zu",
			options->struct_bytes, sizeof(everything));
	if (!ret_checked->table) {
		list_tables(names, sizeof(names));
		return gmt_error_set(error, GMT_USAGE, "there is no table \"%.64s\"; the tables are %s",
			table, names);
	}
	ret_checked->batch_rows =
		options->batch_rows < MAX_BATCH_ROWS ? options->batch_rows : MAX_BATCH_ROWS;
	status = read_columns(ret_checked, options, error);
	return status ? status : read_filter(ret_checked, options, error);
}
