/* SPDX-License-Identifier: MIT */
/* The tables `devices` and `process`. */
#include <string.h>

#include "analysis/job/launcher.h"
#include "analysis/job/process_summary_make.h"
#include "library/tables/table_texts.h"
#include "reader/steps/phases.h"

GMT_TABLE_FUNCTIONS(devices)
GMT_TABLE_FUNCTIONS(process)

bool gmt_open_devices(struct gmt_read_cursor *cursor)
{
	const struct gmt_recording *loaded = cursor->recording->pipeline.recording;

	for (size_t i = 0; i < loaded->devices.count; i++) {
		const struct gmt_device *device = &loaded->devices.items[i];
		struct gmt_row_devices *row;
		int32_t text;

		if (!gmt_filter_device(cursor, (int32_t)device->ordinal))
			continue;
		row = gmt_cursor_add_row(cursor);
		if (!row)
			return false;
		row->device = (int32_t)device->ordinal;
		text = gmt_table_text_intern(cursor, GMT_COLUMN_devices_name, device->name.text);
		GMT_SET_KNOWN(row, devices, name, text >= 0, text);
		text = gmt_table_text_intern(cursor, GMT_COLUMN_devices_uuid, device->uuid.text);
		GMT_SET_KNOWN(row, devices, uuid, text >= 0, text);
		row->total_bytes = device->total_bytes;
	}
	return !cursor->failed;
}

GMT_ROWS_ARE_MADE_AT_OPEN(devices)

/* Interns the arguments, with blanks between them. */
static int32_t intern_command(struct gmt_read_cursor *cursor, const struct gmt_recording *loaded)
{
	GMT_VEC(char) text = { 0 };
	int32_t id = -1;

	for (size_t i = 0; i < loaded->command.count; i++) {
		const char *word = loaded->command.items[i];
		size_t length = strlen(word);

		if (!gmt_vec_reserve(&text, length + 2)) {
			cursor->failed = true;
			break;
		}
		if (i)
			text.items[text.count++] = ' ';
		memcpy(text.items + text.count, word, length);
		text.count += length;
		text.items[text.count] = 0;
	}
	if (text.count)
		id = gmt_cursor_intern_text(cursor, GMT_COLUMN_process_command, text.items);
	gmt_vec_fini(&text);
	return id;
}

/* Sets a TEXT cell; null where the text is empty. */
#define SET_TEXT(cursor, row, column, text) \
	do { \
		int32_t id_ = gmt_table_text_intern(cursor, GMT_COLUMN_process_##column, text); \
		GMT_SET_KNOWN(row, process, column, id_ >= 0, id_); \
	} while (0)

/* Sets the columns about the place in a job, from the summary that `ranks` makes. */
static void set_job(struct gmt_read_cursor *cursor, const struct gmt_recording *loaded,
	struct gmt_row_process *row)
{
	struct gmt_job_store store = { 0 };
	struct gmt_process_summary summary = { 0 };
	struct gmt_launch launch;
	struct gmt_error error = { 0 };

	if (gmt_process_summary_make_head(&store, loaded, &summary, &error) ||
		!gmt_launch_init(&store, &summary, &launch)) {
		cursor->failed = true;
	} else {
		row->job = gmt_cursor_intern_text(cursor, GMT_COLUMN_process_job,
			gmt_job_text_of(&store, launch.key));
		row->attempt = launch.attempt;
		GMT_SET_KNOWN(row, process, world_size, launch.world_size >= 0, (int32_t)launch.world_size);
		SET_TEXT(cursor, row, program, gmt_job_text_of(&store, summary.program));
		SET_TEXT(cursor, row, recording_id, gmt_job_text_of(&store, summary.recording));
	}
	gmt_job_store_fini(&store);
}

bool gmt_open_process(struct gmt_read_cursor *cursor)
{
	const struct gmt_recording *loaded = cursor->recording->pipeline.recording;
	const struct gmt_process *process = &loaded->process;
	struct gmt_row_process *row = gmt_cursor_add_row(cursor);
	int32_t command = intern_command(cursor, loaded);
	uint64_t work_end = gmt_phases_work_end(loaded);

	if (!row)
		return false;
	row->pid = process->pid;
	row->parent_pid = process->parent_pid;
	GMT_SET_KNOWN(row, process, rank, process->rank >= 0, process->rank);
	GMT_SET_KNOWN(row, process, local_rank, process->local_rank >= 0, process->local_rank);
	SET_TEXT(cursor, row, host, loaded->host);
	SET_TEXT(cursor, row, machine, loaded->machine);
	SET_TEXT(cursor, row, executable, loaded->executable);
	GMT_SET_KNOWN(row, process, command, command >= 0, command);
	SET_TEXT(cursor, row, directory, loaded->directory);
	row->start_epoch_ns = process->start_time_ns;
	row->duration_ns = gmt_read_recording_time_ns(cursor->recording, loaded->last_stamp);
	SET_TEXT(cursor, row, recorder_version, loaded->recorder_version);
	row->path = gmt_cursor_intern_text(cursor, GMT_COLUMN_process_path, loaded->path);
	row->file_bytes = loaded->file_bytes;
	row->events = loaded->events.count;
	row->folded_events = gmt_recording_compacted_events(loaded);
	row->dropped_events = gmt_recording_dropped(loaded);
	row->is_complete = gmt_read_recording_is_complete(cursor->recording);
	row->is_damaged = loaded->damaged;
	SET_TEXT(cursor, row, damage, loaded->damage);
	GMT_SET_KNOWN(row, process, work_end_time_ns, work_end != UINT64_MAX,
		gmt_read_recording_time_ns(cursor->recording, work_end));
	set_job(cursor, loaded, row);
	SET_TEXT(cursor, row, imported_from, loaded->imported_from);
	return !cursor->failed;
}

GMT_ROWS_ARE_MADE_AT_OPEN(process)
