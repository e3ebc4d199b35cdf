/* SPDX-License-Identifier: MIT */
/*
 * A file of events for TensorBoard: records with messages of Protocol Buffers. The scalars of each
 * step are the peak of each layer and device in the step, and the live memory at its end. Without
 * steps, the scalars are live memory by milliseconds.
 */
#include "analysis/history/history.h"
#include "base/budget.h"
#include "reader/load/clock.h"
#include "render/export/export_replay.h"
#include "render/export/protobuf.h"
#include "render/export/trace/trace.h"

/* Event, and the messages in it. Values are tensors of one double: exact up to 8 PiB. */
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
	TENSOR_DOUBLE = 6,
	TYPE_DOUBLE = 2,
};

struct writer {
	struct gmt_trace trace; /* the first member: the functions of its form cast it back */
	FILE *file;
	/* messages that are written again and again */
	struct gmt_protobuf event, summary, value, tensor, metadata;
	struct gmt_history history;
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
static void write_record(struct writer *writer)
{
	uint64_t length = writer->event.bytes.count;
	uint32_t crc = masked_crc(&length, sizeof(length));

	if (gmt_budget_write(length + 16)) {
		fwrite(&length, sizeof(length), 1, writer->file);
		fwrite(&crc, sizeof(crc), 1, writer->file);
		fwrite(writer->event.bytes.items, 1, length, writer->file);
		crc = masked_crc(writer->event.bytes.items, length);
		fwrite(&crc, sizeof(crc), 1, writer->file);
	}
	gmt_protobuf_clear(&writer->event);
}

static void begin_event(struct writer *writer, uint64_t time_ns)
{
	const struct gmt_process *process = &writer->trace.export->recording->process;

	gmt_protobuf_double(&writer->event, EVENT_WALL_TIME,
		(double)(process->start_time_ns / 1000 + time_ns / 1000) / 1e6);
}

/* Adds a scalar of an account to the summary. Its tag is "live memory/torch, GPU 0". */
static void add_scalar(struct writer *writer, const char *name, const struct gmt_account *account,
	uint64_t number)
{
	char tag[120];

	snprintf(tag, sizeof(tag), "%s/%s, %s", name, gmt_layer_name(account->layer),
		gmt_device_text(account->device).text);
	gmt_protobuf_clear(&writer->value);
	gmt_protobuf_clear(&writer->tensor);
	gmt_protobuf_text(&writer->value, VALUE_TAG, tag);
	gmt_protobuf_message(&writer->value, VALUE_METADATA, &writer->metadata);
	gmt_protobuf_number(&writer->tensor, TENSOR_TYPE, TYPE_DOUBLE);
	gmt_protobuf_text(&writer->tensor, TENSOR_SHAPE, "");
	gmt_protobuf_double(&writer->tensor, TENSOR_DOUBLE, (double)number);
	gmt_protobuf_message(&writer->value, VALUE_TENSOR, &writer->tensor);
	gmt_protobuf_message(&writer->summary, SUMMARY_VALUE, &writer->value);
}

/* Writes the summary as an event of a step. */
static void write_summary(struct writer *writer, uint64_t step, uint64_t time_ns)
{
	begin_event(writer, time_ns);
	gmt_protobuf_number(&writer->event, EVENT_STEP, step);
	gmt_protobuf_message(&writer->event, EVENT_SUMMARY, &writer->summary);
	gmt_protobuf_clear(&writer->summary);
	write_record(writer);
}

static void write_step(struct writer *writer, const struct gmt_accounting *accounting, size_t step,
	uint64_t time_ns)
{
	for (size_t i = 0; i < accounting->accounts.count && i < GMT_HISTORY_ACCOUNTS; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];
		struct gmt_history_step numbers = gmt_history_step_of(&writer->history.series[0], step, i);

		if (!account->peak_bytes ||
			!gmt_profile_includes(&writer->trace.export->choice, account->layer, account->device))
			continue;
		add_scalar(writer, "peak memory", account, numbers.peak_bytes);
		add_scalar(writer, "live memory", account, numbers.end_live_bytes);
	}
	write_summary(writer, step, time_ns);
}

static enum gmt_status write_steps(struct writer *writer, struct gmt_error *error)
{
	const struct gmt_export *export = writer->trace.export;
	const struct gmt_step_series *series = &export->timeline->series[0];
	const struct gmt_replay_options options = {
		.until_ns = export->until_ns, .observers = &writer->history.observer, .observer_count = 1
	};
	struct gmt_replay replay = { 0 };
	enum gmt_status status = gmt_history_init(&writer->history, export->recording, export->traces,
		export->timeline, export->until_ns, error);

	if (!status)
		status = gmt_replay_run(&replay, export->recording, export->traces, &options, error);
	for (size_t i = 0; !status && i < writer->history.series[0].step_count; i++)
		write_step(writer, &replay.accounting, i,
			gmt_clock_time_ns(export->recording, series->steps.items[i].end));
	gmt_replay_fini(&replay);
	gmt_history_fini(&writer->history);
	return status;
}

static void write_value(struct gmt_trace *trace, const struct gmt_account *account,
	uint64_t time_ns, uint64_t bytes)
{
	struct writer *writer = (struct writer *)trace;

	add_scalar(writer, "live memory", account, bytes);
	write_summary(writer, time_ns / 1000000, time_ns);
}

enum gmt_status gmt_export_tensorboard(struct gmt_export *export, FILE *file,
	struct gmt_error *error)
{
	static const struct gmt_trace_form form = { .value = write_value };
	struct writer writer = { .trace = gmt_trace_begin(export, &form), .file = file };
	struct gmt_protobuf plugin = { 0 };
	enum gmt_status status;

	gmt_protobuf_text(&plugin, PLUGIN_NAME, "scalars");
	gmt_protobuf_message(&writer.metadata, METADATA_PLUGIN, &plugin);
	gmt_protobuf_number(&writer.metadata, METADATA_CLASS, CLASS_SCALAR);
	begin_event(&writer, 0);
	gmt_protobuf_text(&writer.event, EVENT_FILE_VERSION, "brain.Event:2");
	write_record(&writer);
	if (export->timeline->series_count) {
		status = write_steps(&writer, error);
	} else {
		snprintf(export->left_out, sizeof(export->left_out),
			"the steps of the scalars are milliseconds, because no steps of training were found");
		status = gmt_trace_write(&writer.trace, error);
	}
	if (!status && (writer.event.failed || writer.summary.failed || writer.value.failed))
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_vec_fini(&writer.event.bytes);
	gmt_vec_fini(&writer.summary.bytes);
	gmt_vec_fini(&writer.value.bytes);
	gmt_vec_fini(&writer.tensor.bytes);
	gmt_vec_fini(&writer.metadata.bytes);
	gmt_vec_fini(&plugin.bytes);
	return status;
}
