/* SPDX-License-Identifier: MIT */
#include "shared_memory/ring_rows.h"

#include "format/encoding/torch_totals.h"

static void convert(struct gmt_definitions *definitions, const struct gmt_ring_event *event,
	uint32_t thread, struct gmt_event *row)
{
	bool is_torch = event->layer == GMT_LAYER_TORCH;

	*row = (struct gmt_event){
		.stamp = event->stamp,
		.thread = thread,
		.kind = event->kind,
		.layer = event->layer,
		.space = event->space,
		.device = event->device,
		.api = event->api,
		.address = event->address,
		.size_bytes = event->size_bytes,
		.stack = gmt_definitions_stack_id(definitions, event->stack),
		.frames = gmt_definitions_frames_id(definitions, event->frames),
		.result = event->result,
		.stream = is_torch ? 0 : event->stream,
		.allocated_bytes = is_torch ? (int64_t)event->allocated_bytes : 0,
		.reserved_bytes = is_torch ? (int64_t)event->reserved_bytes : 0,
		.object = is_torch ? 0 : event->object,
		.context = event->context,
	};
}

static void convert_mark(struct gmt_definitions *definitions, const struct gmt_ring_event *event,
	uint32_t thread, struct gmt_mark *row)
{
	*row = (struct gmt_mark){
		.stamp = event->stamp,
		.thread = thread,
		.kind = event->layer,
		.source = event->space,
		.name = gmt_definitions_name_id(definitions, event->stack),
		.object = event->address,
	};
}

static void convert_oom(const struct gmt_ring_event *event, uint32_t thread, struct gmt_oom *row)
{
	*row = (struct gmt_oom){
		.stamp = event->stamp,
		.thread = thread,
		.device = event->device,
		.free_bytes = event->address,
		.total_bytes = event->size_bytes,
	};
}

static void convert_sample(const struct gmt_ring_event *event, struct gmt_sample *row)
{
	*row = (struct gmt_sample){
		.stamp = event->stamp,
		.begin_stamp = event->object,
		.device = (uint16_t)event->device,
		.known = (uint16_t)event->result,
		.free_bytes = event->address,
		.total_bytes = event->size_bytes,
	};
}

void gmt_ring_rows_fill(struct gmt_ring_rows *ret_rows, struct gmt_definitions *definitions,
	const struct gmt_ring_event *events, uint32_t count, uint32_t thread)
{
	uint32_t made = 0, marks = 0, ooms = 0, samples = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct gmt_ring_event *event = &events[i];

		if (event->kind == GMT_RING_MARK)
			convert_mark(definitions, event, thread, &ret_rows->marks[marks++]);
		else if (event->kind == GMT_RING_OOM)
			convert_oom(event, thread, &ret_rows->ooms[ooms++]);
		else if (event->kind == GMT_RING_SAMPLE)
			convert_sample(event, &ret_rows->samples[samples++]);
		else
			convert(definitions, event, thread, &ret_rows->events[made++]);
	}
	gmt_torch_totals_to_differences(ret_rows->events, made);
	ret_rows->event_count = made;
	ret_rows->mark_count = marks;
	ret_rows->oom_count = ooms;
	ret_rows->sample_count = samples;
}

void gmt_ring_rows_write(const struct gmt_ring_rows *rows,
	void (*write)(void *context, uint32_t kind, const void *rows, uint32_t count), void *context)
{
	if (rows->event_count)
		write(context, GMT_RECORD_EVENT, rows->events, rows->event_count);
	if (rows->mark_count)
		write(context, GMT_RECORD_MARK, rows->marks, rows->mark_count);
	if (rows->oom_count)
		write(context, GMT_RECORD_OOM, rows->ooms, rows->oom_count);
	if (rows->sample_count)
		write(context, GMT_RECORD_SAMPLE, rows->samples, rows->sample_count);
}
