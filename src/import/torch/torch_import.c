/* SPDX-License-Identifier: MIT */
#include "import/torch/torch_import.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "import/torch/torch_write_device.h"

enum { MAX_DEVICES = 1024, WORK_FOR_EACH_BYTE = 16, LEAST_WORK = 1 << 20 };

struct import {
	const struct gmt_unpickled *value;
	struct gmt_import_writer writer;
	struct gmt_torch_import_stacks stacks;
	GMT_VEC(struct gmt_torch_import_device) devices;
	/* Each item of the file's lists needs a byte of the file, unless lists are listed twice. */
	uint64_t items_left;
	uint64_t work;
	uint64_t events, start_us;
	bool has_traces, has_times, lacks_times;
	struct gmt_error *error;
};

/* Where a value of the snapshot is, for errors. */
struct what {
	char text[96];
};

static struct what what_of(const char *kind, uint32_t index, const char *list, uint32_t number)
{
	struct what what;

	snprintf(what.text, sizeof(what.text), "%s %" PRIu32 " of %s[%" PRIu32 "]", kind, index, list,
		number);
	return what;
}

static enum gmt_status no_memory(const struct import *import)
{
	return gmt_error_set(import->error, GMT_NO_MEMORY, "out of memory");
}

static enum gmt_status count_item(struct import *import)
{
	if (!import->items_left)
		return gmt_error_set(import->error, GMT_FORMAT,
			"it lists the same events or blocks more often than a snapshot does");
	import->items_left--;
	return GMT_OK;
}

static enum gmt_status get_device(struct import *import, uint64_t ordinal,
	struct gmt_torch_import_device **ret_device)
{
	if (ordinal >= MAX_DEVICES)
		return gmt_error_set(import->error, GMT_FORMAT, "it has a device with number %" PRIu64,
			ordinal);
	while (import->devices.count <= ordinal) {
		struct gmt_torch_import_device *device = gmt_vec_push(&import->devices);

		if (!device)
			return no_memory(import);
		*device = (struct gmt_torch_import_device){
			.ordinal = (uint32_t)import->devices.count - 1,
		};
	}
	*ret_device = &import->devices.items[ordinal];
	return GMT_OK;
}

/* --- segments --------------------------------------------------------------------------------- */

static enum gmt_status read_blocks(struct import *import, struct gmt_torch_import_device *device,
	const struct gmt_torch_import_segment *segment, uint32_t number)
{
	const struct gmt_unpickled_items *items = gmt_torch_import_items(segment->blocks);
	uint64_t at = segment->address;

	for (uint32_t i = 0; i < items->count; i++) {
		struct gmt_torch_import_block row;
		struct gmt_torch_import_memory_block block;
		enum gmt_status status = count_item(import);

		if (!status)
			status = gmt_torch_import_read_block(&items->values[i],
				what_of("block", i, "segments", number).text, &row, import->error);
		if (status)
			return status;
		block = (struct gmt_torch_import_memory_block){
			/* PyTorch 2.0 lists only sizes: the blocks fill the segment. */
			.address = row.has_address ? row.address : at,
			.size_bytes = row.has_requested ? row.requested_bytes : row.size_bytes,
			.stream = segment->stream,
			.frames = row.frames,
		};
		at += row.size_bytes;
		if (!row.state || !gmt_unpickled_is(row.state, "active_allocated"))
			continue;
		device->end_blocks++;
		device->end_bytes += block.size_bytes;
		if (!gmt_torch_import_add_block(&device->blocks, &block))
			return no_memory(import);
	}
	return GMT_OK;
}

static bool is_private(const struct gmt_torch_import_segment *segment)
{
	const struct gmt_unpickled_items *pool = gmt_torch_import_items(segment->pool);

	return pool->count == 2 && (pool->values[0].number || pool->values[1].number);
}

static enum gmt_status read_segment(struct import *import, const struct gmt_unpickled *value,
	uint32_t number)
{
	char what[48];
	struct gmt_torch_import_segment segment;
	struct gmt_torch_import_device *device;
	struct gmt_torch_import_memory_block block, *slot;
	enum gmt_status status = count_item(import);

	snprintf(what, sizeof(what), "segments[%" PRIu32 "]", number);
	if (!status)
		status = gmt_torch_import_read_segment(value, what, &segment, import->error);
	if (!status)
		status = get_device(import, segment.device, &device);
	if (status)
		return status;
	block = (struct gmt_torch_import_memory_block){
		.address = segment.address,
		.size_bytes = segment.size_bytes,
		.frames = segment.frames,
	};
	device->has_segments = true;
	if (is_private(&segment)) {
		device->private_segments++;
		device->private_bytes += segment.size_bytes;
	}
	if (segment.expandable && segment.expandable->kind == GMT_UNPICKLED_BOOL &&
		segment.expandable->number) {
		slot = segment.size_bytes ? gmt_vec_push(&device->expandable) : NULL;
		if (slot)
			*slot = block;
		else if (segment.size_bytes)
			return no_memory(import);
	} else if (!gmt_torch_import_add_block(&device->segments, &block)) {
		return no_memory(import);
	}
	return read_blocks(import, device, &segment, number);
}

static enum gmt_status read_segments(struct import *import, const struct gmt_unpickled *segments)
{
	const struct gmt_unpickled_items *items = gmt_torch_import_items(segments);
	enum gmt_status status = GMT_OK;

	for (uint32_t i = 0; !status && i < items->count; i++)
		status = read_segment(import, &items->values[i], i);
	return status;
}

/* --- traces ----------------------------------------------------------------------------------- */

static enum gmt_status read_trace(struct import *import, const struct gmt_unpickled *trace,
	uint32_t number)
{
	const struct gmt_unpickled_items *items = gmt_torch_import_items(trace);
	struct gmt_torch_import_device *device;
	enum gmt_status status = GMT_OK;

	/* PyTorch lists a trace for each GPU of the machine, used or not. */
	if (items->count)
		status = get_device(import, number, &device);
	for (uint32_t i = 0; !status && i < items->count; i++) {
		struct gmt_torch_import_event *event = gmt_vec_push(&device->events);

		if (!event)
			return no_memory(import);
		status = count_item(import);
		if (!status)
			status = gmt_torch_import_read_event(&items->values[i],
				what_of("event", i, "device_traces", number).text, event, import->error);
		if (status)
			break;
		if (!event->has_time) {
			import->lacks_times = true;
		} else if (!import->has_times || event->time_us < import->start_us) {
			import->has_times = true;
			import->start_us = event->time_us;
		}
		import->events++;
	}
	return status;
}

static enum gmt_status read_traces(struct import *import, const struct gmt_unpickled *traces)
{
	const struct gmt_unpickled_items *items = gmt_torch_import_items(traces);
	enum gmt_status status = GMT_OK;

	for (uint32_t i = 0; !status && i < items->count; i++)
		status = read_trace(import, &items->values[i], i);
	import->has_traces = import->events;
	return status;
}

/* Gives the events of a snapshot without times the times of their numbers. */
static void number_events(struct import *import)
{
	import->start_us = 0;
	for (size_t d = 0; d < import->devices.count; d++)
		for (size_t i = 0; i < import->devices.items[d].events.count; i++)
			import->devices.items[d].events.items[i].time_us = i;
}

/* Finds out of which traces PyTorch kept only the newest events. */
static void find_cut_traces(struct import *import)
{
	const struct gmt_unpickled *settings = gmt_unpickled_find(import->value, "allocator_settings");
	const struct gmt_unpickled *overflowed =
		settings ? gmt_unpickled_find(settings, "trace_alloc_overflowed") : NULL;
	const struct gmt_unpickled *most =
		settings ? gmt_unpickled_find(settings, "trace_alloc_max_entries") : NULL;
	bool has_most = most && most->kind == GMT_UNPICKLED_NUMBER && most->number > 0;
	bool is_found = false;

	for (size_t d = 0; has_most && d < import->devices.count; d++) {
		struct gmt_torch_import_device *device = &import->devices.items[d];

		device->is_cut = device->events.count >= (uint64_t)most->number;
		is_found |= device->is_cut;
	}
	if (!is_found && overflowed && overflowed->kind == GMT_UNPICKLED_BOOL && overflowed->number)
		for (size_t d = 0; d < import->devices.count; d++)
			import->devices.items[d].is_cut = import->devices.items[d].events.count;
}

/* --- notes ------------------------------------------------------------------------------------ */

static void note_device(struct import *import, const struct gmt_torch_import_device *device,
	const struct gmt_torch_import_output *output)
{
	struct gmt_import_writer *writer = &import->writer;

	if (device->is_cut)
		gmt_import_note(writer,
			"GPU %" PRIu32 ": PyTorch kept only the newest %s events: earlier events, and peaks "
			"and totals of that time, are missing (max_entries of _record_memory_history)",
			device->ordinal, gmt_text_count(device->events.count).text);
	if (device->private_segments)
		gmt_import_note(writer,
			"GPU %" PRIu32 ": segments of private pools hold %s at the end; the recording does not "
			"distinguish them from other segments",
			device->ordinal, gmt_text_size(device->private_bytes).text);
	if (device->has_segments && device->events.count &&
		(output->end_bytes != device->end_bytes || output->end_blocks != device->end_blocks))
		gmt_import_note(writer,
			"GPU %" PRIu32 ": the events leave %s in %s block%s, but the segments of the snapshot "
			"list %s in %s: events are missing",
			device->ordinal, gmt_text_size(output->end_bytes).text,
			gmt_text_count(output->end_blocks).text, output->end_blocks == 1 ? "" : "s",
			gmt_text_size(device->end_bytes).text, gmt_text_count(device->end_blocks).text);
}

/* Returns whether a key of the snapshot has a list with items, or with lists that have items. */
static bool has_items(const struct gmt_unpickled *value, const char *key)
{
	const struct gmt_unpickled_items *items =
		gmt_torch_import_items(gmt_unpickled_find(value, key));

	for (uint32_t i = 0; i < items->count; i++)
		if (items->values[i].kind != GMT_UNPICKLED_LIST || items->values[i].items->count)
			return true;
	return false;
}

static void note_all(struct import *import, const struct gmt_torch_import_output *output)
{
	struct gmt_import_writer *writer = &import->writer;

	gmt_import_note(writer,
		"imported from a memory snapshot: it covers memory of PyTorch's CUDA allocator only, until "
		"the snapshot was taken; sizes of blocks are what the program requested, before PyTorch "
		"rounds them");
	if (!import->has_traces)
		gmt_import_note(writer,
			"the snapshot has no events, only the memory that was live at its end: "
			"torch.cuda.memory._record_memory_history was not called");
	else if (import->lacks_times)
		gmt_import_note(writer,
			"the events of the snapshot have no times: one microsecond stands for each event");
	if (output->early_blocks)
		gmt_import_note(writer,
			"%s in %s block%s were allocated before the first event: they count as allocated at "
			"the start; %s of these blocks have no stack",
			gmt_text_size(output->early_bytes).text, gmt_text_count(output->early_blocks).text,
			output->early_blocks == 1 ? "" : "s", gmt_text_count(output->early_without_stack).text);
	if (has_items(import->value, "host_segments") || has_items(import->value, "host_traces"))
		gmt_import_note(writer,
			"the snapshot also has pinned host memory of PyTorch, which is not imported");
	if (output->unknown_actions)
		gmt_import_note(writer, "%s events of the snapshot have actions that are not known",
			gmt_text_count(output->unknown_actions).text);
}

/* --- all -------------------------------------------------------------------------------------- */

static bool is_list_of_segments(const struct gmt_unpickled *value)
{
	return value->kind == GMT_UNPICKLED_LIST && value->items->count &&
		gmt_unpickled_find(&value->items->values[0], "total_size");
}

bool gmt_torch_import_is_snapshot(const struct gmt_unpickled *value)
{
	return is_list_of_segments(value) || gmt_unpickled_find(value, "segments") ||
		gmt_unpickled_find(value, "device_traces");
}

static enum gmt_status read_snapshot(struct import *import)
{
	const struct gmt_unpickled *value = import->value;
	enum gmt_status status;

	/* torch.cuda.memory_snapshot() returns only the list of segments. */
	status = read_segments(import,
		is_list_of_segments(value) ? value : gmt_unpickled_find(value, "segments"));
	if (!status)
		status = read_traces(import, gmt_unpickled_find(value, "device_traces"));
	if (import->lacks_times)
		number_events(import);
	find_cut_traces(import);
	for (size_t i = 0; !status && i < import->devices.count; i++)
		status = gmt_torch_import_rewind(&import->devices.items[i], &import->work, import->error);
	return status;
}

static enum gmt_status write_snapshot(struct import *import)
{
	struct gmt_torch_import_output output = {
		.stacks = &import->stacks,
		.start_us = import->start_us,
		.last_stamp = GMT_IMPORT_START_STAMP,
		.work = &import->work,
	};
	enum gmt_status status = GMT_OK;

	import->stacks.writer = &import->writer;
	for (size_t i = 0; !status && i < import->devices.count; i++) {
		struct gmt_torch_import_device *device = &import->devices.items[i];

		if (!device->events.count && !device->has_segments)
			continue;
		status = gmt_torch_import_write_device(&output, device, import->error);
		if (!status)
			note_device(import, device, &output);
	}
	if (!status) {
		note_all(import, &output);
		gmt_import_end(&import->writer, output.last_stamp);
		if (import->writer.failed)
			status = no_memory(import);
	}
	return status;
}

enum gmt_status gmt_torch_import(const struct gmt_unpickled *value, uint64_t file_bytes,
	const struct gmt_import_options *options, struct gmt_error *error)
{
	struct import import = {
		.value = value,
		.items_left = file_bytes,
		.work = LEAST_WORK + file_bytes * WORK_FOR_EACH_BYTE,
		.error = error,
	};
	struct gmt_import_options own = *options;
	enum gmt_status status;

	if (!gmt_torch_import_is_snapshot(value))
		return gmt_error_set(error, GMT_FORMAT,
			"is a pickle, but not a memory snapshot of PyTorch: it has neither `segments` nor "
			"`device_traces`");
	status = read_snapshot(&import);
	if (!status) {
		own.tool = "PyTorch memory snapshot";
		own.start_time_ns = import.start_us < UINT64_MAX / 1000 ? import.start_us * 1000 : 0;
		if (!gmt_import_begin(&import.writer, &own))
			status = no_memory(&import);
	}
	if (!status)
		status = write_snapshot(&import);
	gmt_torch_import_stacks_fini(&import.stacks);
	gmt_import_fini(&import.writer);
	for (size_t i = 0; i < import.devices.count; i++)
		gmt_torch_import_device_fini(&import.devices.items[i]);
	gmt_vec_fini(&import.devices);
	return status;
}
