/* SPDX-License-Identifier: MIT */
/* Streams: gpumemtrace_read_stream and the functions of struct ArrowArrayStream. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/arrow.h"
#include "library/stream_options.h"

enum {
	BATCH_ROWS = 64 << 10,
	ROWS_AT_ONCE = 512, /* rows that are made, and then split into columns: they fit in a cache */
};

struct stream {
	struct gmt_read_cursor cursor;
	struct gmt_stream_column columns[GMT_READ_MAX_COLUMNS];
	size_t column_count;
	size_t batch_rows;
	void *rows; /* room for ROWS_AT_ONCE rows */
	bool is_opened; /* table->close must be called */
	char error[PATH_MAX + 256]; /* text of the last failure */
};

/* Returns `code` after it wrote the text of the failure. */
static int fail(struct stream *stream, int code, const char *text)
{
	snprintf(stream->error, sizeof(stream->error), "%s: %s",
		stream->cursor.recording->pipeline.recording->path, text);
	return code;
}

static int fail_reading(struct stream *stream)
{
	const struct gpumemtrace_recording *recording = stream->cursor.recording;

	if (gmt_events_failed(&recording->pipeline.recording->events) ||
		gmt_events_failed(&recording->blocks.blocks) ||
		gmt_events_failed(&recording->blocks.changes))
		return fail(stream, EIO, "a temporary file could not be read back");
	return fail(stream, ENOMEM, "out of memory");
}

static int get_schema(struct ArrowArrayStream *arrow, struct ArrowSchema *ret_schema)
{
	struct stream *stream = arrow->private_data;
	struct gpumemtrace_recording *recording = stream->cursor.recording;
	const struct gmt_recording *loaded = recording->pipeline.recording;
	char version[16];
	const char *metadata[] = {
		"gpumemtrace.table",
		stream->cursor.table->name,
		"gpumemtrace.table_version",
		version,
		"gpumemtrace.complete",
		NULL,
		"gpumemtrace.damaged",
		loaded->damaged ? "true" : "false",
		"gpumemtrace.damage",
		NULL, /* what is wrong; "" if it is not damaged */
		NULL,
	};
	bool done;

	snprintf(version, sizeof(version), "%d", GMT_READ_TABLES_VERSION);
	pthread_mutex_lock(&recording->lock);
	metadata[5] = gmt_read_recording_is_complete(recording) ? "true" : "false";
	pthread_mutex_unlock(&recording->lock);
	metadata[9] = loaded->damage ? loaded->damage : "";
	done = gmt_schema_export(stream->columns, stream->column_count, metadata, ret_schema);
	return done ? 0 : fail(stream, ENOMEM, "out of memory");
}

/* Fills the columns. Returns the number of rows. */
static size_t fill(struct stream *stream, struct gmt_column_data *columns)
{
	struct gmt_read_cursor *cursor = &stream->cursor;
	size_t row_bytes = cursor->table->row_bytes, done = 0;

	while (done < stream->batch_rows) {
		size_t left = stream->batch_rows - done;
		size_t count =
			cursor->table->read(cursor, stream->rows, left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE);

		if (!count || cursor->failed)
			break;
		for (size_t i = 0; i < stream->column_count; i++)
			gmt_column_add(&columns[i], &stream->columns[i], stream->rows, row_bytes, done, count);
		done += count;
	}
	return done;
}

static int next_batch(struct stream *stream, struct ArrowArray *ret_array)
{
	struct gmt_column_data columns[GMT_READ_MAX_COLUMNS] = { 0 };
	bool done = true;
	size_t rows;

	for (size_t i = 0; done && i < stream->column_count; i++)
		done = gmt_column_init(&columns[i], &stream->columns[i], stream->batch_rows);
	rows = done ? fill(stream, columns) : 0;
	done = done && !stream->cursor.failed &&
		(!rows ||
			gmt_array_export(columns, stream->columns, stream->column_count, rows, ret_array));
	for (size_t i = 0; i < stream->column_count; i++)
		gmt_column_fini(&columns[i]);
	return done ? 0 : fail_reading(stream);
}

static int get_next(struct ArrowArrayStream *arrow, struct ArrowArray *ret_array)
{
	struct stream *stream = arrow->private_data;
	int code;

	/* The end of the stream: an array that is released. */
	*ret_array = (struct ArrowArray){ 0 };
	pthread_mutex_lock(&stream->cursor.recording->lock);
	code = next_batch(stream, ret_array);
	pthread_mutex_unlock(&stream->cursor.recording->lock);
	return code;
}

static const char *get_last_error(struct ArrowArrayStream *arrow)
{
	const struct stream *stream = arrow->private_data;

	return *stream->error ? stream->error : NULL;
}

static void free_stream(struct stream *stream)
{
	struct gpumemtrace_recording *recording = stream->cursor.recording;

	pthread_mutex_lock(&recording->lock);
	if (stream->is_opened)
		stream->cursor.table->close(&stream->cursor);
	gmt_cursor_fini(&stream->cursor);
	pthread_mutex_unlock(&recording->lock);
	for (size_t i = 0; i < stream->column_count; i++)
		gmt_dictionary_unref(stream->columns[i].dictionary);
	free(stream->rows);
	free(stream);
	gmt_read_recording_unref(recording);
}

static void release(struct ArrowArrayStream *arrow)
{
	free_stream(arrow->private_data);
	arrow->release = NULL;
}

/* Does the work that the stream needs, and prepares its rows. The recording is locked. */
static enum gmt_status open_table(struct stream *stream, struct gmt_error *error)
{
	struct gmt_read_cursor *cursor = &stream->cursor;
	enum gmt_read_work work = cursor->table->work;
	enum gmt_status status;

	for (size_t i = 0; i < stream->column_count; i++)
		if (stream->columns[i].description->work > work)
			work = stream->columns[i].description->work;
	if (work == GMT_WORK_FILE && cursor->filter.wanted & GMT_FILTER_STEP)
		work = GMT_WORK_NAMES;
	if ((status = gmt_read_recording_prepare(cursor->recording, work, error)))
		return status;
	stream->is_opened = true;
	stream->rows = calloc(ROWS_AT_ONCE, cursor->table->row_bytes);
	if (!stream->rows || !cursor->table->open(cursor))
		return gmt_error_set(error, GMT_NO_MEMORY, "%s: out of memory",
			cursor->recording->pipeline.recording->path);
	for (size_t i = 0; i < stream->column_count; i++) {
		struct gmt_stream_column *column = &stream->columns[i];

		if (column->description->type == GMT_TYPE_TEXT &&
			!(column->dictionary = gmt_dictionary_new(&cursor->texts[column->number])))
			return gmt_error_set(error, GMT_NO_MEMORY, "%s: out of memory",
				cursor->recording->pipeline.recording->path);
	}
	return GMT_OK;
}

static enum gmt_status new_stream(gpumemtrace_recording *recording, const char *table,
	const struct gpumemtrace_read_options *options, struct ArrowArrayStream *ret_stream,
	struct gmt_error *error)
{
	struct gmt_stream_options checked;
	enum gmt_status status = gmt_stream_options_read(&checked, table, options, error);
	struct stream *stream = status ? NULL : calloc(1, sizeof(*stream));

	if (status)
		return status;
	if (!stream)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_read_recording_ref(recording);
	stream->cursor.recording = recording;
	stream->cursor.table = checked.table;
	stream->cursor.filter = checked.filter;
	stream->batch_rows = checked.batch_rows ? checked.batch_rows : BATCH_ROWS;
	stream->column_count = checked.column_count;
	for (size_t i = 0; i < checked.column_count; i++) {
		stream->columns[i].number = checked.columns[i];
		stream->columns[i].description = &checked.table->columns[checked.columns[i]];
		stream->cursor.columns |= UINT64_C(1) << checked.columns[i];
	}
	pthread_mutex_lock(&recording->lock);
	status = open_table(stream, error);
	pthread_mutex_unlock(&recording->lock);
	if (status) {
		free_stream(stream);
		return status;
	}
	*ret_stream = (struct ArrowArrayStream){
		.get_schema = get_schema,
		.get_next = get_next,
		.get_last_error = get_last_error,
		.release = release,
		.private_data = stream,
	};
	return GMT_OK;
}

int gpumemtrace_read_stream(gpumemtrace_recording *recording, const char *table,
	const struct gpumemtrace_read_options *options, struct ArrowArrayStream *ret_stream,
	char *error, size_t error_bytes)
{
	struct gmt_error failure = { 0 };
	enum gmt_status status;

	*ret_stream = (struct ArrowArrayStream){ 0 };
	status = new_stream(recording, table, options, ret_stream, &failure);
	if (status && error && error_bytes)
		snprintf(error, error_bytes, "%s", failure.text);
	return gmt_read_recording_status(status);
}

int gpumemtrace_read_schema(const char *table, const struct gpumemtrace_read_options *options,
	struct ArrowSchema *ret_schema, char *error, size_t error_bytes)
{
	struct gmt_stream_column columns[GMT_READ_MAX_COLUMNS] = { 0 };
	char version[16];
	const char *metadata[] = { "gpumemtrace.table", table, "gpumemtrace.table_version", version,
		NULL };
	struct gmt_error failure = { 0 };
	struct gmt_stream_options checked;
	enum gmt_status status = gmt_stream_options_read(&checked, table, options, &failure);

	*ret_schema = (struct ArrowSchema){ 0 };
	snprintf(version, sizeof(version), "%d", GMT_READ_TABLES_VERSION);
	for (size_t i = 0; !status && i < checked.column_count; i++)
		columns[i].description = &checked.table->columns[checked.columns[i]];
	if (!status && !gmt_schema_export(columns, checked.column_count, metadata, ret_schema))
		status = gmt_error_set(&failure, GMT_NO_MEMORY, "out of memory");
	if (status && error && error_bytes)
		snprintf(error, error_bytes, "%s", failure.text);
	return gmt_read_recording_status(status);
}

int gpumemtrace_read_check(const char *table, const struct gpumemtrace_read_options *options,
	char *error, size_t error_bytes)
{
	struct gmt_error failure = { 0 };
	struct gmt_stream_options checked;
	enum gmt_status status = gmt_stream_options_read(&checked, table, options, &failure);

	if (status && error && error_bytes)
		snprintf(error, error_bytes, "%s", failure.text);
	return gmt_read_recording_status(status);
}
