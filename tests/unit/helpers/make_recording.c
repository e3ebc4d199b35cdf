/* SPDX-License-Identifier: MIT */
/*
 * Writes a synthetic recording, as a recorder would: blocks of events of several threads, Python
 * and native stacks, PyTorch's totals, clock records, sync points. With `steps`, the recording is
 * that of a training: an optimizer's marks, phases, a block that each step leaves, refused
 * requests, stacks with PyTorch's files, a thread of autograd.
 *
 *   make_recording FILE [key=value...]     (keys: struct settings)
 *
 * The same settings give the same file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "recording_file.h"

struct settings {
	uint64_t events, threads, sites, devices, depth, live, seed, end, drop, rank, torch, level,
		steps;
};

enum { TICKS_PER_NS = 3, START_NS = 1000000000, BLOCK_ROWS = 4096 };

static const uint64_t epoch_ns = 1700000000000000000;

struct block_state {
	uint64_t address, size_bytes;
	uint32_t device;
	uint32_t site; /* 0: any */
	uint8_t layer, space;
};

struct thread_state {
	GMT_VEC(struct gmt_event) rows;
	uint64_t stamp;
};

struct maker {
	struct settings settings;
	struct recording_file file;
	uint64_t random, written, stamp;
	GMT_VEC(struct block_state) blocks;
	struct thread_state *threads;
	uint64_t allocated[64], reserved[64];
	uint64_t steps; /* steps with marks */
};

enum { NAME_STEP = 1, NAME_EPOCH, NAME_RANGE, OPTIMIZER = 0x5500 };

static uint64_t draw(struct maker *maker, uint64_t below)
{
	maker->random = gmt_hash_u64(maker->random + 1);
	return maker->random % below;
}

static uint64_t ticks(uint64_t time_ns)
{
	return (START_NS + time_ns) * TICKS_PER_NS;
}

static void put_clock(struct maker *maker, uint64_t stamp)
{
	uint64_t monotonic_ns = stamp / TICKS_PER_NS;
	struct gmt_clock row = { stamp, monotonic_ns, epoch_ns + monotonic_ns - START_NS };

	recording_file_put(&maker->file, GMT_RECORD_CLOCK, &row, 1);
}

static void put_process(struct maker *maker)
{
	static const char command[] = "python\0train.py\0--epochs=3";
	struct gmt_process row = {
		.pid = 4242,
		.parent_pid = 4241,
		.local_rank = -1,
		.rank = maker->settings.rank == UINT64_MAX ? -1 : (int32_t)maker->settings.rank,
		.start_time_ns = epoch_ns,
		.start_stamp = ticks(0),
		.host = slice("node7"),
		.executable = slice("/usr/bin/python3.11"),
		.command = { command, sizeof(command) },
		.directory = slice("/home/user/project"),
		.recorder_version = slice("0.1.0"),
		.machine = slice("x86_64"),
	};
	struct gmt_option option = { slice("stacks"), slice("all") };

	recording_file_put(&maker->file, GMT_RECORD_PROCESS, &row, 1);
	recording_file_put(&maker->file, GMT_RECORD_OPTION, &option, 1);
}

static void put_names(struct maker *maker)
{
	struct gmt_api apis[] = {
		{ 1, slice("cuMemAlloc_v2"), slice("cuda") },
		{ 2, slice("cuMemFree_v2"), slice("cuda") },
		{ 3, slice("reportMemoryUsageToProfiler"), slice("c10") },
		{ 4, slice("cuMemHostAlloc"), slice("cuda") },
		{ 5, slice("cuMemFreeHost"), slice("cuda") },
	};
	struct gmt_module modules[] = {
		{ .id = 1,
			.start = 0x7f0000000000,
			.end = 0x7f0000100000,
			.bias = 0x7f0000000000,
			.path = slice("/opt/app/libmodel.so"),
			.build_id = slice("aa55") },
		{ .id = 2,
			.start = 0x7f0000200000,
			.end = 0x7f0000300000,
			.bias = 0x7f0000200000,
			.path = slice("/opt/app/libtorch.so"),
			.build_id = slice("") },
	};

	recording_file_put(&maker->file, GMT_RECORD_API, apis, sizeof(apis) / sizeof(*apis));
	recording_file_put(&maker->file, GMT_RECORD_MODULE, modules, 2);
	for (uint32_t i = 0; i < maker->settings.devices; i++) {
		char uuid[64];
		struct gmt_device device = {
			.ordinal = i, .name = slice("NVIDIA H100 80GB HBM3"), .total_bytes = (uint64_t)80 << 30
		};

		snprintf(uuid, sizeof(uuid), "GPU-00000000-0000-0000-0000-%012u", i);
		device.uuid = slice(uuid);
		recording_file_put(&maker->file, GMT_RECORD_DEVICE, &device, 1);
	}
	for (uint32_t i = 1; i <= maker->settings.threads; i++) {
		char name[32];
		struct gmt_thread thread = { .id = i, .tid = 4241 + i };

		snprintf(name, sizeof(name),
			i == 1                      ? "python"
				: maker->settings.steps ? "pt_autograd_%u"
										: "autograd-%u",
			i);
		thread.name = slice(name);
		recording_file_put(&maker->file, GMT_RECORD_THREAD, &thread, 1);
	}
}

/* Turns some functions into PyTorch's functions of frame_kinds.def. */
static void make_torch_code(struct gmt_code *code)
{
	if (code->id % 7 == 1) {
		code->file = slice("/opt/site-packages/torch/nn/modules/module.py");
		code->function = slice("Module._call_impl");
	} else if (code->id % 40 == 2) {
		code->file = slice("/opt/site-packages/torch/optim/adamw.py");
		code->function = slice("AdamW.step");
	} else if (code->id % 40 == 9) {
		code->file = slice("/opt/site-packages/torch/autograd/__init__.py");
		code->function = slice("backward");
	}
}

/*
 * Adds site s: a Python stack of `depth` frames, whose leaf is in a package. Every second site also
 * has a native stack.
 */
static void put_site(struct maker *maker, uint32_t site)
{
	uint32_t depth = (uint32_t)maker->settings.depth;
	uint64_t items[512], addresses[512];
	struct gmt_code code = {
		.id = site, .first_line = 10, .file = slice("/home/user/project/train.py")
	};
	struct gmt_frame frame = { .id = site, .code = site, .line = site % 500 + 11 };
	char name[64];

	snprintf(name, sizeof(name), "Block%u.forward", site);
	code.function = slice(name);
	if (maker->settings.steps)
		make_torch_code(&code);
	else if (site % 3 == 0)
		code.file = slice("/usr/lib/python3/dist-packages/torch/nn/modules/linear.py");
	recording_file_put(&maker->file, GMT_RECORD_CODE, &code, 1);
	recording_file_put(&maker->file, GMT_RECORD_FRAME, &frame, 1);
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t of = i < site ? site - i : 1;

		items[i] = (uint64_t)of * 2 + (i + 1 == depth);
		addresses[i] = 0x7f0000000000 + (i % 2) * 0x200000 + (site * 64 + i) % 0x100000;
	}
	RECORDING_PUT(&maker->file, FRAMES, gmt_frames, .id = site, .items = { items, depth });
	RECORDING_PUT(&maker->file, STACK, gmt_stack, .id = site, .items = { addresses, depth });
}

static void put_events(struct maker *maker, struct thread_state *thread)
{
	if (!thread->rows.count)
		return;
	maker->written += thread->rows.count;
	recording_file_put(&maker->file, GMT_RECORD_EVENT, thread->rows.items,
		(uint32_t)thread->rows.count);
	thread->rows.count = 0;
}

static void put_all_events(struct maker *maker)
{
	for (uint64_t i = 0; i < maker->settings.threads; i++)
		put_events(maker, &maker->threads[i]);
	RECORDING_PUT(&maker->file, SYNC, gmt_sync, .stamp = maker->stamp, .events = maker->written);
	put_clock(maker, maker->stamp);
	recording_file_sync(&maker->file);
}

static struct block_state make_block(struct maker *maker)
{
	struct block_state block = {
		.address = 0x700000000000 + draw(maker, 1u << 30) * 512,
		.size_bytes = (draw(maker, 4096) + 1) * 512,
		.device = (uint32_t)draw(maker, maker->settings.devices),
		.layer = GMT_LAYER_CUDA,
		.space = GMT_SPACE_DEVICE,
	};
	uint64_t dice = draw(maker, 20);

	if (dice < 15 && maker->settings.torch)
		block.layer = GMT_LAYER_TORCH;
	else if (dice == 18)
		block.space = GMT_SPACE_PINNED;
	else if (dice == 19)
		block.space = GMT_SPACE_MANAGED;
	return block;
}

static void add_event(struct maker *maker, const struct block_state *block, bool is_free)
{
	struct thread_state *thread = &maker->threads[draw(maker, maker->settings.threads)];
	bool is_torch = block->layer == GMT_LAYER_TORCH, is_host = block->space == GMT_SPACE_PINNED;
	uint32_t site = block->site ? block->site : (uint32_t)draw(maker, maker->settings.sites) + 1;
	struct gmt_event *row = gmt_vec_push(&thread->rows);

	if (!row)
		abort();
	maker->stamp += 1 + draw(maker, 3000);
	if (is_torch)
		maker->allocated[block->device] += is_free ? -block->size_bytes : block->size_bytes;
	*row = (struct gmt_event){
		.stamp = maker->stamp,
		.thread = (uint32_t)(thread - maker->threads) + 1,
		.kind = is_free ? GMT_KIND_FREE : GMT_KIND_ALLOC,
		.layer = block->layer,
		.space = block->space,
		.device = is_host          ? GMT_DEVICE_HOST
			: is_free && !is_torch ? GMT_DEVICE_UNKNOWN
								   : (int16_t)block->device,
		.api = is_torch ? 3
			: is_host   ? 4 + is_free
						: 1 + is_free,
		.address = block->address,
		.size_bytes = is_free && !is_torch ? 0 : block->size_bytes,
		.stack = is_free || site % 2 ? 0 : site,
		.frames = is_free ? 0 : site,
		.allocated_bytes = is_torch ? (int64_t)maker->allocated[block->device] : 0,
		.reserved_bytes = is_torch ? (int64_t)(maker->allocated[block->device] | 0x1fffff) + 1 : 0,
	};
	if (thread->rows.count == BLOCK_ROWS)
		put_events(maker, thread);
}

static void put_mark(struct maker *maker, enum gmt_mark_kind kind, enum gmt_mark_source source,
	uint32_t name, uint64_t object)
{
	RECORDING_PUT(&maker->file, MARK, gmt_mark, .stamp = ++maker->stamp, .thread = 1,
		.kind = (uint8_t)kind, .source = (uint8_t)source, .name = name, .object = object);
}

/* Adds a request for more memory than exists, and the driver's free memory. */
static void put_oom(struct maker *maker)
{
	struct gmt_event *row = gmt_vec_push(&maker->threads[0].rows);

	if (!row)
		abort();
	maker->stamp += 10;
	*row = (struct gmt_event){
		.stamp = maker->stamp,
		.thread = 1,
		.kind = GMT_KIND_ALLOC_FAILED,
		.layer = GMT_LAYER_CUDA,
		.space = GMT_SPACE_DEVICE,
		.api = 1,
		.size_bytes = (uint64_t)1 << 40,
		.frames = 1,
		.result = 2,
	};
	RECORDING_PUT(&maker->file, OOM, gmt_oom, .stamp = maker->stamp, .thread = 1,
		.free_bytes = 1 << 20, .total_bytes = (uint64_t)80 << 30);
}

/* Ends a step, which leaves a block. Every tenth step ends an epoch. */
static void end_step(struct maker *maker)
{
	struct block_state left = {
		.address = 0x100000000 + maker->steps * 4096,
		.size_bytes = 2048,
		.site = 1,
		.layer = maker->settings.torch ? GMT_LAYER_TORCH : GMT_LAYER_CUDA,
		.space = GMT_SPACE_DEVICE,
	};

	add_event(maker, &left, false);
	put_mark(maker, GMT_MARK_KIND_STEP, GMT_MARK_SOURCE_OPTIMIZER, NAME_STEP, OPTIMIZER);
	if (maker->steps++ % 10)
		return;
	if (maker->steps > 1) {
		put_mark(maker, GMT_MARK_KIND_POP, GMT_MARK_SOURCE_PROGRAM, 0, 0);
		put_mark(maker, GMT_MARK_KIND_STOP, GMT_MARK_SOURCE_NVTX, 0, maker->steps - 10);
		if (maker->steps < 300)
			put_oom(maker);
	}
	put_mark(maker, GMT_MARK_KIND_PUSH, GMT_MARK_SOURCE_PROGRAM, NAME_EPOCH, 0);
	put_mark(maker, GMT_MARK_KIND_START, GMT_MARK_SOURCE_NVTX, NAME_RANGE, maker->steps);
}

static void put_mark_names(struct maker *maker)
{
	struct gmt_name names[] = {
		{ NAME_STEP, slice("AdamW") },
		{ NAME_EPOCH, slice("epoch") },
		{ NAME_RANGE, slice("range") },
	};

	recording_file_put(&maker->file, GMT_RECORD_NAME, names, sizeof(names) / sizeof(*names));
}

static void make_events(struct maker *maker)
{
	uint64_t steps = maker->settings.steps;

	for (uint64_t i = 0; i < maker->settings.events; i++) {
		uint64_t count = maker->blocks.count;

		if (count && (count >= maker->settings.live || draw(maker, 2))) {
			uint64_t at = draw(maker, count);
			struct block_state block = maker->blocks.items[at];

			maker->blocks.items[at] = maker->blocks.items[count - 1];
			maker->blocks.count--;
			add_event(maker, &block, true);
		} else {
			struct block_state block = make_block(maker);

			*gmt_vec_push(&maker->blocks) = block;
			add_event(maker, &block, false);
		}
		if (steps && (i + 1) * steps / maker->settings.events != i * steps / maker->settings.events)
			end_step(maker);
		if (i % 100000 == 99999)
			put_all_events(maker);
	}
	if (steps)
		put_mark(maker, GMT_MARK_KIND_TEARDOWN, GMT_MARK_SOURCE_INTERPRETER, 0, 0);
	put_all_events(maker);
}

static void parse(struct settings *settings, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		bool known = false;
		const char *value = strchr(argv[i], '=');

#define KEY(name) \
	if (value && strncmp(argv[i], #name "=", sizeof(#name)) == 0) { \
		settings->name = strtoull(value + 1, NULL, 10); \
		known = true; \
	}
		KEY(events)
		KEY(threads)
		KEY(sites)
		KEY(devices)
		KEY(depth)
		KEY(live)
		KEY(seed)
		KEY(end)
		KEY(drop)
		KEY(rank)
		KEY(torch)
		KEY(level)
		KEY(steps)
#undef KEY
		if (!known) {
			fprintf(stderr, "make_recording: unknown setting `%s`\n", argv[i]);
			exit(2);
		}
	}
}

static void make(struct maker *maker)
{
	put_process(maker);
	put_clock(maker, maker->stamp);
	put_names(maker);
	if (maker->settings.steps)
		put_mark_names(maker);
	for (uint32_t site = 1; site <= maker->settings.sites; site++)
		put_site(maker, site);
	make_events(maker);
	if (maker->settings.drop)
		recording_file_put(&maker->file, GMT_RECORD_DROP,
			&(struct gmt_drop){ 1, slice("the ring was full"), maker->settings.drop }, 1);
	if (maker->settings.end)
		RECORDING_PUT(&maker->file, END, gmt_end, .stamp = maker->stamp, .events = maker->written);
}

int main(int argc, char **argv)
{
	struct maker maker = { .settings = {
							   .events = 1000,
							   .threads = 3,
							   .sites = 20,
							   .devices = 2,
							   .depth = 8,
							   .live = 1000,
							   .seed = 1,
							   .end = 1,
							   .rank = UINT64_MAX,
							   .torch = 1,
							   .level = 6,
						   } };

	if (argc < 2) {
		fputs("usage: make_recording FILE [key=value...]\n", stderr);
		return 2;
	}
	parse(&maker.settings, argc - 2, argv + 2);
	maker.random = maker.settings.seed;
	maker.stamp = ticks(0);
	maker.threads = calloc(maker.settings.threads, sizeof(*maker.threads));

	if (!maker.threads)
		abort();
	recording_file_open(&maker.file, argv[1], (int)maker.settings.level);
	make(&maker);
	recording_file_close(&maker.file);
	gmt_vec_fini(&maker.blocks);
	for (uint64_t i = 0; i < maker.settings.threads; i++)
		gmt_vec_fini(&maker.threads[i].rows);
	free(maker.threads);
	return 0;
}
