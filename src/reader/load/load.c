/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/budget.h"
#include "reader/load/clock.h"
#include "reader/load/load_rows.h"
#include "reader/load/event_sorter.h"
#include "reader/load/recording.h"
#include "source/read_ahead.h"
#include "source/source.h"

/* State that only loading needs. */
struct loader {
	struct gmt_load_rows rows;
	const char *name; /* of the file or stream, for messages */
};

static enum gmt_status load_block(struct loader *loader, const struct gmt_read_ahead_block *block,
	struct gmt_error *error)
{
	if (!block->record) {
		loader->rows.recording->unknown_blocks++;
		return GMT_OK;
	}
	if (block->record->number == GMT_RECORD_EVENT)
		return gmt_load_event_columns(&loader->rows.events, block->columns)
			? GMT_OK
			: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	for (uint32_t i = 0; i < block->count; i++)
		if (!gmt_load_row(&loader->rows, block->record,
				(const char *)block->rows + (size_t)i * block->record->row_bytes))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

static enum gmt_status load_blocks(struct loader *loader, struct gmt_source *source,
	const struct gmt_recording_load_options *options, struct gmt_error *error)
{
	struct gmt_read_ahead *read_ahead = gmt_read_ahead_open(source);
	struct gmt_read_ahead_block block;
	enum gmt_status status =
		read_ahead ? GMT_OK : gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	while (!status) {
		status = gmt_read_ahead_next(read_ahead, &block, error);
		if (!status)
			gmt_budget_add(block.payload_bytes);
		if (!status)
			status = load_block(loader, &block, error);
		if (!status && options && options->progress)
			options->progress(options->user, block.progress.read_bytes, block.progress.file_bytes);
	}
	gmt_read_ahead_close(read_ahead);
	loader->rows.recording->file_bytes = gmt_source_progress(source).file_bytes;
	if (!loader->rows.recording->file_bytes)
		loader->rows.recording->file_bytes = gmt_source_progress(source).read_bytes;
	loader->rows.recording->recovered = gmt_source_recovered(source);
	return status;
}

/*
 * Decides the result of the load from how the input ended: success, a partial recording, or an
 * error.
 */
static enum gmt_status finish(struct loader *loader, enum gmt_status status, bool is_cut,
	struct gmt_error *error)
{
	struct gmt_recording *recording = loader->rows.recording;

	if (status != GMT_END && status != GMT_DAMAGED && status != GMT_NO_FILE)
		return status;
	/* A failed read of a stream is not the end of the recording. */
	if (!recording->has_process || status == GMT_NO_FILE) {
		struct gmt_error why = { .text = "it holds no recording" };

		if (status != GMT_END && error)
			why = *error;
		return gmt_error_set(error, status == GMT_NO_FILE ? status : GMT_FORMAT,
			"%s: cannot be read: %.512s", loader->name, why.text);
	}
	recording->damage = "";
	if (recording->has_end)
		recording->recording_pid = 0;
	/* In a recording that continues, the last block may be incomplete. That is not damage. */
	if (status == GMT_DAMAGED && !(recording->recording_pid && is_cut)) {
		recording->damaged = true;
		recording->is_cut = is_cut;
		recording->damage =
			error ? gmt_arena_copy(&recording->arena, error->text, strlen(error->text)) : "?";
	}
	/* The file has events after the last count, although it has its end record. */
	if (recording->has_end && recording->seen_events != recording->promised_events)
		recording->counts_differ = true;
	gmt_clock_prepare(recording);
	gmt_sort_marks(recording);
	if (!recording->damage || !gmt_load_finish_events(&loader->rows.events))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

enum gmt_status gmt_recording_load(const char *path,
	const struct gmt_recording_load_options *options, struct gmt_recording **ret_recording,
	struct gmt_error *error)
{
	struct loader loader = { 0 };
	struct gmt_source *source;
	enum gmt_status status = options && options->stream
		? gmt_source_open_stream(options->stream, &source, error)
		: gmt_source_open_with(path, options ? options->shared_recording : NULL, &source, error);

	gmt_budget_begin();
	if (status)
		return status;
	loader.name = options && options->stream ? options->stream->name : path;
	if (!gmt_load_rows_init(&loader.rows, path)) {
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	} else {
		status = load_blocks(&loader, source, options, error);
		loader.rows.recording->recording_pid = options ? options->recording_pid : 0;
		status = finish(&loader, status, gmt_source_is_cut(source), error);
	}
	gmt_load_rows_fini(&loader.rows);
	gmt_source_close(source);
	if (status)
		gmt_recording_free(loader.rows.recording);
	else
		*ret_recording = loader.rows.recording;
	return status;
}
