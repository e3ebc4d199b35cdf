/* SPDX-License-Identifier: MIT */
#include "import/import_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "base/text.h"
#include "format/encoding/torch_totals.h"
#include "import/import_flush.h"

enum { WAITING_ROWS = 65536, NAME_BYTES = 255 };

static struct gmt_slice slice(const char *text)
{
	return (struct gmt_slice){ text, (uint32_t)strlen(text) };
}

static bool write(struct gmt_import_writer *writer, uint32_t kind, const void *rows, size_t count)
{
	if (!writer->failed && count &&
		!writer->options.write(writer->options.user, kind, rows, (uint32_t)count))
		writer->failed = true;
	return !writer->failed;
}

bool gmt_import_flush(struct gmt_import_writer *writer)
{
	/* Definitions come before the rows that refer to them. */
	write(writer, GMT_RECORD_NAME, writer->name_rows.items, writer->name_rows.count);
	write(writer, GMT_RECORD_CODE, writer->code_rows.items, writer->code_rows.count);
	write(writer, GMT_RECORD_FRAME, writer->frame_rows.items, writer->frame_rows.count);
	write(writer, GMT_RECORD_FRAMES, writer->stack_rows.items, writer->stack_rows.count);
	if (writer->event_rows.count)
		gmt_torch_totals_to_differences(writer->event_rows.items,
			(uint32_t)writer->event_rows.count);
	write(writer, GMT_RECORD_EVENT, writer->event_rows.items, writer->event_rows.count);
	write(writer, GMT_RECORD_MARK, writer->mark_rows.items, writer->mark_rows.count);
	writer->name_rows.count = writer->code_rows.count = writer->frame_rows.count =
		writer->stack_rows.count = writer->event_rows.count = writer->mark_rows.count = 0;
	writer->waiting_items = 0;
	return !writer->failed;
}

bool gmt_import_make_room(struct gmt_import_writer *writer, size_t waiting)
{
	return waiting < WAITING_ROWS ? !writer->failed : gmt_import_flush(writer);
}

bool gmt_import_begin(struct gmt_import_writer *ret_writer,
	const struct gmt_import_options *options)
{
	char recording[GMT_UUID_BYTES];
	struct gmt_process row = {
		.pid = options->pid,
		.rank = -1,
		.local_rank = -1,
		.start_time_ns = options->start_time_ns,
		.start_stamp = GMT_IMPORT_START_STAMP,
		.recorder_version = slice(options->version),
		.imported_from = slice(options->tool),
		.host = slice(""),
		.executable = slice(""),
		.command = slice(""),
		.directory = slice(""),
		.machine = slice(""),
		.run = slice(""),
	};
	uint32_t empty;

	ret_writer->options = *options;
	gmt_uuid_make(recording);
	row.recording = slice(recording);
	/* Id 0 stands for a missing name, function, frame or stack. */
	if (!gmt_intern(&ret_writer->names, "", 0, &empty) ||
		!gmt_intern(&ret_writer->apis, "", 0, &empty) ||
		!gmt_intern(&ret_writer->codes, "", 0, &empty) ||
		!gmt_intern(&ret_writer->frames, "", 0, &empty) ||
		!gmt_intern(&ret_writer->stacks, "", 0, &empty))
		ret_writer->failed = true;
	return write(ret_writer, GMT_RECORD_PROCESS, &row, 1);
}

bool gmt_import_device(struct gmt_import_writer *writer, const struct gmt_device *device)
{
	return write(writer, GMT_RECORD_DEVICE, device, 1);
}

bool gmt_import_thread(struct gmt_import_writer *writer, uint32_t id, uint32_t tid,
	const char *name, size_t length)
{
	struct gmt_thread row = { .id = id, .tid = tid };

	row.name = (struct gmt_slice){ name, (uint32_t)gmt_text_cut_length(name, length, NAME_BYTES) };
	return write(writer, GMT_RECORD_THREAD, &row, 1);
}

bool gmt_import_api(struct gmt_import_writer *writer, const char *name, const char *library,
	uint16_t *ret_id)
{
	uint32_t id;
	size_t known = writer->apis.entries.count;
	struct gmt_api row = { .name = slice(name), .library = slice(library) };

	*ret_id = 0;
	if (!gmt_intern_text(&writer->apis, name, &id))
		return !(writer->failed = true);
	*ret_id = (uint16_t)id;
	row.id = id;
	return id < known ? !writer->failed : write(writer, GMT_RECORD_API, &row, 1);
}

bool gmt_import_name(struct gmt_import_writer *writer, const char *text, size_t length,
	uint32_t *ret_id)
{
	size_t known = writer->names.entries.count;
	struct gmt_name *row;

	length = gmt_text_cut_length(text, length, NAME_BYTES);
	if (!gmt_intern(&writer->names, text, length, ret_id))
		return !(writer->failed = true);
	if (*ret_id < known)
		return !writer->failed;
	if (!gmt_import_make_room(writer, writer->name_rows.count) ||
		!(row = gmt_vec_push(&writer->name_rows)))
		return !(writer->failed = true);
	row->id = *ret_id;
	row->text =
		(struct gmt_slice){ gmt_intern_get(&writer->names, *ret_id)->bytes, (uint32_t)length };
	return true;
}

bool gmt_import_event(struct gmt_import_writer *writer, const struct gmt_event *event)
{
	struct gmt_event *row;

	if (!gmt_import_make_room(writer, writer->event_rows.count) ||
		!(row = gmt_vec_push(&writer->event_rows)))
		return !(writer->failed = true);
	*row = *event;
	writer->events++;
	return true;
}

bool gmt_import_mark(struct gmt_import_writer *writer, const struct gmt_mark *mark)
{
	struct gmt_mark *row;

	if (!gmt_import_make_room(writer, writer->mark_rows.count) ||
		!(row = gmt_vec_push(&writer->mark_rows)))
		return !(writer->failed = true);
	*row = *mark;
	return true;
}

bool gmt_import_oom(struct gmt_import_writer *writer, const struct gmt_oom *oom)
{
	return write(writer, GMT_RECORD_OOM, oom, 1);
}

bool gmt_import_note(struct gmt_import_writer *writer, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	struct gmt_note row;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	row.text = slice(text);
	return write(writer, GMT_RECORD_NOTE, &row, 1);
}

bool gmt_import_end(struct gmt_import_writer *writer, uint64_t last_stamp)
{
	uint64_t start_ns = writer->options.start_time_ns;
	struct gmt_clock clocks[] = {
		{ GMT_IMPORT_START_STAMP, GMT_IMPORT_START_STAMP, start_ns },
		{ last_stamp, last_stamp, start_ns + (last_stamp - GMT_IMPORT_START_STAMP) },
	};
	struct gmt_end end = { .stamp = last_stamp, .events = writer->events };

	gmt_import_flush(writer);
	write(writer, GMT_RECORD_CLOCK, clocks, last_stamp > GMT_IMPORT_START_STAMP ? 2 : 1);
	return write(writer, GMT_RECORD_END, &end, 1);
}

void gmt_import_fini(struct gmt_import_writer *writer)
{
	gmt_intern_fini(&writer->texts);
	gmt_intern_fini(&writer->codes);
	gmt_intern_fini(&writer->frames);
	gmt_intern_fini(&writer->stacks);
	gmt_intern_fini(&writer->names);
	gmt_intern_fini(&writer->apis);
	gmt_vec_fini(&writer->items);
	gmt_vec_fini(&writer->code_rows);
	gmt_vec_fini(&writer->frame_rows);
	gmt_vec_fini(&writer->stack_rows);
	gmt_vec_fini(&writer->name_rows);
	gmt_vec_fini(&writer->event_rows);
	gmt_vec_fini(&writer->mark_rows);
}
