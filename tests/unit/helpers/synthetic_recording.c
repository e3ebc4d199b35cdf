/* SPDX-License-Identifier: MIT */
#include "synthetic_recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "recording: %s failed\n", what);
	exit(1);
}

#define CHECK(expression) check((expression), #expression)

static uint64_t now(struct recording *recording)
{
	return recording->stamp += 10;
}

void recording_begin(struct recording *recording, const char *path)
{
	static const char *const threads[] = { "python", "pt_autograd_0", "worker" };

	*recording = (struct recording){ .path = path, .stamp = 1000, .next_address = 0x7f0000000000 };
	recording_file_open(&recording->file, path, 1);
	RECORDING_PUT(&recording->file, PROCESS, gmt_process, .pid = 1, .start_time_ns = 1,
		.start_stamp = 1000);
	RECORDING_PUT(&recording->file, CLOCK, gmt_clock, .stamp = 1000, .monotonic_ns = 5000,
		.realtime_ns = 5000);
	RECORDING_PUT(&recording->file, CLOCK, gmt_clock, .stamp = 2000, .monotonic_ns = 6000,
		.realtime_ns = 6000);
	for (uint32_t i = 0; i < 3; i++)
		RECORDING_PUT(&recording->file, THREAD, gmt_thread, .id = i + 1, .tid = i + 1,
			.name = slice(threads[i]));
	for (uint32_t i = 0; i < 2; i++)
		RECORDING_PUT(&recording->file, DEVICE, gmt_device, .ordinal = i, .name = slice("GPU"),
			.uuid = slice(i ? "b" : "a"), .total_bytes = UINT64_C(1) << 30);
}

/* Adds a frame from "file:line function". */
static uint32_t put_frame(struct recording *recording, const char *text, size_t length)
{
	const char *blank = memchr(text, ' ', length), *colon = memchr(text, ':', length);
	uint32_t id = ++recording->codes;

	CHECK(blank && colon && colon < blank);
	RECORDING_PUT(&recording->file, CODE, gmt_code, .id = id, .first_line = 1,
		.file = { text, (uint32_t)(colon - text) },
		.function = { blank + 1, (uint32_t)(text + length - blank - 1) });
	RECORDING_PUT(&recording->file, FRAME, gmt_frame, .id = id, .code = id,
		.line = (uint32_t)strtoul(colon + 1, NULL, 10));
	return id;
}

uint32_t recording_stack(struct recording *recording, const char *frames)
{
	uint64_t items[64];
	uint32_t count = 0;

	while (*frames) {
		size_t length = strcspn(frames, "\n");

		CHECK(count < 64);
		items[count++] = (uint64_t)put_frame(recording, frames, length) * 2;
		frames += length + (frames[length] != 0);
	}
	if (count)
		items[count - 1] |= 1; /* the interpreter's run ends here */
	RECORDING_PUT(&recording->file, FRAMES, gmt_frames, .id = ++recording->stacks,
		.items = { items, count });
	return recording->stacks;
}

uint32_t recording_native(struct recording *recording, const char *module)
{
	uint32_t id = ++recording->stacks;
	uint64_t start = 0x100000000 + (uint64_t)id * 0x100000, address = start + 0x100;

	RECORDING_PUT(&recording->file, MODULE, gmt_module, .id = id, .start = start,
		.end = start + 0x10000, .bias = start, .path = slice(module));
	RECORDING_PUT(&recording->file, STACK, gmt_stack, .id = id, .items = { &address, 1 });
	return id;
}

uint64_t recording_alloc(struct recording *recording, struct block block)
{
	uint8_t layer = block.layer ? block.layer : GMT_LAYER_TORCH;
	uint64_t address = block.address ? block.address : (recording->next_address += 0x10000000);
	uint64_t *allocated = &recording->allocated_bytes[block.device & 3];

	if (layer == GMT_LAYER_TORCH)
		*allocated += block.size_bytes;
	RECORDING_PUT(&recording->file, EVENT, gmt_event, .stamp = now(recording),
		.thread = block.thread ? block.thread : MAIN_THREAD, .kind = GMT_KIND_ALLOC, .layer = layer,
		.space = block.space ? block.space : GMT_SPACE_DEVICE, .device = block.device,
		.address = address, .size_bytes = block.size_bytes, .frames = block.stack,
		.stack = block.native,
		.allocated_bytes = layer == GMT_LAYER_TORCH ? (int64_t)*allocated : 0,
		.reserved_bytes = layer == GMT_LAYER_TORCH ? (int64_t)*allocated + 4096 : 0);
	recording->events++;
	return address;
}

void recording_free(struct recording *recording, uint8_t layer, uint64_t address,
	uint64_t size_bytes)
{
	bool is_torch = layer == GMT_LAYER_TORCH;

	recording->allocated_bytes[0] -= is_torch ? size_bytes : 0;
	RECORDING_PUT(&recording->file, EVENT, gmt_event, .stamp = now(recording),
		.thread = MAIN_THREAD, .kind = GMT_KIND_FREE, .layer = layer, .space = GMT_SPACE_DEVICE,
		.address = address, .size_bytes = size_bytes,
		.allocated_bytes = is_torch ? (int64_t)recording->allocated_bytes[0] : 0,
		.reserved_bytes = is_torch ? (int64_t)recording->allocated_bytes[0] + 4096 : 0);
	recording->events++;
}

static uint32_t name_id(struct recording *recording, const char *name)
{
	uint64_t id, key = name ? gmt_hash_bytes(name, strlen(name)) : 0;

	if (!name)
		return 0;
	if (!gmt_map_find(&recording->name_ids, key, &id)) {
		id = ++recording->names;
		CHECK(gmt_map_put(&recording->name_ids, key, id));
		RECORDING_PUT(&recording->file, NAME, gmt_name, .id = (uint32_t)id, .text = slice(name));
	}
	return (uint32_t)id;
}

void recording_mark(struct recording *recording, struct mark mark)
{
	uint32_t name = name_id(recording, mark.name);

	RECORDING_PUT(&recording->file, MARK, gmt_mark, .stamp = now(recording),
		.thread = mark.thread ? mark.thread : MAIN_THREAD, .kind = (uint8_t)mark.kind,
		.source = (uint8_t)mark.source, .name = name, .object = mark.object);
}

void recording_option(struct recording *recording, const char *key, const char *value)
{
	RECORDING_PUT(&recording->file, OPTION, gmt_option, .key = slice(key), .value = slice(value));
}

void recording_read(struct recording *recording)
{
	struct gmt_traces_options options = { 0 };

	RECORDING_PUT(&recording->file, END, gmt_end, .stamp = now(recording),
		.events = recording->events);
	recording_file_close(&recording->file);
	CHECK(!gmt_recording_load(recording->path, NULL, &recording->loaded, NULL));
	CHECK(!gmt_traces_compute(&recording->traces, recording->loaded, &options, NULL));
	CHECK(!gmt_timeline_compute(&recording->timeline, recording->loaded, &recording->traces, NULL));
}

void recording_judge(struct recording *recording, uint64_t until_ns,
	const struct gmt_leaks_options *options)
{
	struct gmt_leaks_options usual = {
		.warmup_steps = UINT32_MAX,
		.age_steps = UINT32_MAX,
		.age_ns = UINT64_MAX,
	};

	recording_read(recording);
	CHECK(!gmt_history_init(&recording->history, recording->loaded, &recording->traces,
		&recording->timeline, until_ns, NULL));

	struct gmt_replay_options replay = {
		.until_ns = until_ns,
		.observers = &recording->history.observer,
		.observer_count = 1,
	};
	CHECK(!gmt_replay_run(&recording->replay, recording->loaded, &recording->traces, &replay,
		NULL));
	CHECK(!gmt_leaks_compute(&recording->leaks, recording->loaded, &recording->traces,
		&recording->timeline, &recording->replay, &recording->history, options ? options : &usual,
		NULL));
}

void recording_end(struct recording *recording)
{
	gmt_leaks_fini(&recording->leaks);
	gmt_replay_fini(&recording->replay);
	gmt_history_fini(&recording->history);
	gmt_timeline_fini(&recording->timeline);
	gmt_traces_fini(&recording->traces);
	gmt_recording_free(recording->loaded);
	gmt_map_fini(&recording->name_ids);
}
