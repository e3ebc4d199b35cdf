/* SPDX-License-Identifier: MIT */
#include "render/export/trace/tensorboard_events.h"

#include "base/budget.h"

/*
 * Event, and the messages in it. A value is a tensor of one float: TensorBoard's fast reader, which
 * is the default, leaves out doubles.
 */
enum {
	EVENT_WALL_TIME = 1,
	EVENT_STEP = 2,
	EVENT_FILE_VERSION = 3,
	EVENT_SUMMARY = 5,
	SUMMARY_VALUE = 1,
	VALUE_TAG = 1,
	VALUE_TENSOR = 8,
	VALUE_METADATA = 9,
	METADATA_PLUGIN = 1,
	METADATA_CLASS = 4,
	PLUGIN_NAME = 1,
	CLASS_SCALAR = 1,
	TENSOR_TYPE = 1,
	TENSOR_SHAPE = 2,
	TENSOR_FLOAT = 5,
	TYPE_FLOAT = 1,
};

/* Returns the CRC-32C of the bytes, in the changed form that these files have. */
static uint32_t masked_crc(const void *bytes, size_t length)
{
	static uint32_t table[256];
	const uint8_t *at = bytes;
	uint32_t crc = UINT32_MAX;

	for (uint32_t i = 0; !table[255] && i < 256; i++) {
		uint32_t row = i;

		for (int bit = 0; bit < 8; bit++)
			row = row >> 1 ^ (row & 1 ? UINT32_C(0x82f63b78) : 0);
		table[i] = row;
	}
	for (size_t i = 0; i < length; i++)
		crc = crc >> 8 ^ table[(crc ^ at[i]) & 255];
	crc = ~crc;
	return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* Writes the event as a record, and empties it. */
static void write_record(struct gmt_tensorboard_events *events)
{
	uint64_t length = events->event.bytes.count;
	uint32_t crc = masked_crc(&length, sizeof(length));

	if (gmt_budget_spend_output(length + 16)) {
		fwrite(&length, sizeof(length), 1, events->file);
		fwrite(&crc, sizeof(crc), 1, events->file);
		fwrite(events->event.bytes.items, 1, length, events->file);
		crc = masked_crc(events->event.bytes.items, length);
		fwrite(&crc, sizeof(crc), 1, events->file);
	}
	gmt_protobuf_clear(&events->event);
}

static void begin_event(struct gmt_tensorboard_events *events, uint64_t time_ns)
{
	gmt_protobuf_double(&events->event, EVENT_WALL_TIME, (double)(time_ns / 1000) / 1e6);
}

void gmt_tensorboard_events_begin(struct gmt_tensorboard_events *events, uint64_t time_ns)
{
	gmt_tensorboard_events_continue(events);
	begin_event(events, time_ns);
	gmt_protobuf_text(&events->event, EVENT_FILE_VERSION, "brain.Event:2");
	write_record(events);
}

void gmt_tensorboard_events_continue(struct gmt_tensorboard_events *events)
{
	struct gmt_protobuf plugin = { 0 };

	gmt_protobuf_text(&plugin, PLUGIN_NAME, "scalars");
	gmt_protobuf_message(&events->metadata, METADATA_PLUGIN, &plugin);
	gmt_protobuf_number(&events->metadata, METADATA_CLASS, CLASS_SCALAR);
	events->metadata.failed |= plugin.failed;
	gmt_vec_fini(&plugin.bytes);
}

void gmt_tensorboard_events_add(struct gmt_tensorboard_events *events, const char *tag,
	uint64_t number)
{
	gmt_protobuf_clear(&events->value);
	gmt_protobuf_clear(&events->tensor);
	gmt_protobuf_text(&events->value, VALUE_TAG, tag);
	gmt_protobuf_message(&events->value, VALUE_METADATA, &events->metadata);
	gmt_protobuf_number(&events->tensor, TENSOR_TYPE, TYPE_FLOAT);
	gmt_protobuf_text(&events->tensor, TENSOR_SHAPE, "");
	gmt_protobuf_float(&events->tensor, TENSOR_FLOAT, (float)number);
	gmt_protobuf_message(&events->value, VALUE_TENSOR, &events->tensor);
	gmt_protobuf_message(&events->summary, SUMMARY_VALUE, &events->value);
}

void gmt_tensorboard_events_write(struct gmt_tensorboard_events *events, uint64_t step,
	uint64_t time_ns)
{
	begin_event(events, time_ns);
	gmt_protobuf_number(&events->event, EVENT_STEP, step);
	gmt_protobuf_message(&events->event, EVENT_SUMMARY, &events->summary);
	gmt_protobuf_clear(&events->summary);
	write_record(events);
}

bool gmt_tensorboard_events_fini(struct gmt_tensorboard_events *events)
{
	bool done = !events->event.failed && !events->summary.failed && !events->value.failed &&
		!events->tensor.failed && !events->metadata.failed;

	gmt_vec_fini(&events->event.bytes);
	gmt_vec_fini(&events->summary.bytes);
	gmt_vec_fini(&events->value.bytes);
	gmt_vec_fini(&events->tensor.bytes);
	gmt_vec_fini(&events->metadata.bytes);
	return done;
}
