/* SPDX-License-Identifier: MIT */
#include "writer/process_metadata.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "format/recorder_version.h"
#include "hooks/call_counts.h"
#include "runtime/config.h"
#include "producer/clock.h"
#include "unwind/object_map.h"
#include "producer/overhead.h"
#include "driver/sample_queue.h"
#include "writer/snapshots.h"
#include "interpose/unhooked.h"

/* `gpumemtrace` finds the version in the library's file by the text before it. */
static const char marked_version[] = GMT_RECORDER_VERSION_MARK GMT_PROGRAM_VERSION;

static struct gmt_slice slice(const char *text)
{
	return (struct gmt_slice){ text, (uint32_t)strlen(text) };
}

/* Returns the arguments as the kernel stores them, each ended by a NUL. */
static struct gmt_slice read_command(char *to, size_t bytes)
{
	size_t length = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	for (ssize_t got = 1; fd >= 0 && got > 0 && length < bytes;) {
		got = read(fd, to + length, bytes - length);
		length += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	return (struct gmt_slice){ to, (uint32_t)length };
}

static void write_option(void *context, const char *key, const char *value)
{
	struct gmt_option row = { slice(key), slice(value) };

	const struct gmt_process_metadata *metadata = context;

	metadata->write(metadata->context, GMT_RECORD_OPTION, &row, 1);
}

static void write_process(const struct gmt_process_metadata *metadata)
{
	static char command[64 << 10], executable[4096], directory[4096];
	const struct gmt_recording_state *recording = metadata->recording;
	ssize_t length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	struct utsname machine;

	executable[length > 0 ? length : 0] = 0;
	snprintf(directory, sizeof(directory), "%s", recording->identity.folder);
	if (!gmt_config.command || (!directory[0] && !getcwd(directory, sizeof(directory))))
		directory[0] = 0;
	if (uname(&machine))
		machine.machine[0] = 0;

	struct gmt_process row = {
		.pid = (uint32_t)getpid(),
		.parent_pid = (uint32_t)getppid(),
		.rank = recording->identity.rank,
		.local_rank = recording->identity.local_rank,
		.start_time_ns = gmt_clock_start.realtime_ns,
		.start_stamp = gmt_clock_start.stamp,
		.host = slice(recording->identity.host),
		.executable = slice(executable),
		.command = gmt_config.command ? read_command(command, sizeof(command))
									  : (struct gmt_slice){ command, 0 },
		.directory = slice(directory),
		.recorder_version = slice(marked_version + sizeof(GMT_RECORDER_VERSION_MARK) - 1),
		.machine = slice(machine.machine),
		.recording = slice(recording->name),
		.run = slice(gmt_config.run),
	};
	metadata->write(metadata->context, GMT_RECORD_PROCESS, &row, 1);
}

static void write_environment(const struct gmt_process_metadata *metadata)
{
	for (unsigned i = 0; i < GMT_LAUNCHER_VARIABLES; i++) {
		const char *name,
			*value = gmt_output_identity_variable(&metadata->recording->identity, i, &name);

		if (value)
			metadata->write(metadata->context, GMT_RECORD_ENVIRONMENT,
				&(struct gmt_environment){ slice(name), slice(value) }, 1);
	}
}

static void write_devices(const struct gmt_process_metadata *metadata)
{
	for (uint32_t i = 0; i < metadata->recording->device_count; i++) {
		const struct gmt_driver_device_info *info = &metadata->recording->devices[i];
		struct gmt_device row = {
			.ordinal = i,
			.name = slice(info->name),
			.uuid = slice(info->uuid),
			.total_bytes = info->total_bytes,
		};

		metadata->write(metadata->context, GMT_RECORD_DEVICE, &row, 1);
	}
}

static void write_modules(struct gmt_process_metadata *metadata)
{
	static struct gmt_object_map_row info;

	gmt_object_map_scan();
	while (gmt_object_map_get(metadata->modules_written, &info)) {
		struct gmt_module row = {
			.id = ++metadata->modules_written,
			.generation = info.generation,
			.start = info.start,
			.end = info.end,
			.bias = info.bias,
			.path = slice(info.path),
			.build_id = slice(info.build_id),
		};

		metadata->write(metadata->context, GMT_RECORD_MODULE, &row, 1);
	}
}

/* Writes each note that is complete and not yet written. */
static void write_notes(struct gmt_process_metadata *metadata)
{
	for (int kind = 0; kind < GMT_LOG_KINDS; kind++)
		for (unsigned i = 0; i < GMT_LOG_NOTES; i++) {
			bool *is_written = &metadata->note_written[kind][i];
			const char *text = *is_written ? NULL : gmt_log_get((enum gmt_log_kind)kind, i);

			if (!text)
				continue;
			*is_written = true;
			metadata->write(metadata->context, GMT_RECORD_NOTE, &(struct gmt_note){ slice(text) },
				1);
		}
}

static void write_clock(const struct gmt_process_metadata *metadata)
{
	struct gmt_clock_moment now = gmt_clock_now();
	struct gmt_clock row = { now.stamp, now.monotonic_ns, now.realtime_ns };

	metadata->write(metadata->context, GMT_RECORD_CLOCK, &row, 1);
}

void gmt_process_metadata_write_drops(const struct gmt_process_metadata *metadata, uint32_t thread,
	const char *reason, uint64_t count)
{
	struct gmt_drop row = { .thread = thread, .reason = slice(reason), .count = count };

	metadata->write(metadata->context, GMT_RECORD_DROP, &row, 1);
}

static void write_losses(struct gmt_process_metadata *metadata, bool all)
{
	static const char *const reasons[] = {
#define GMT_LOSS(name, reason) reason,
#include "format/losses.def"
#undef GMT_LOSS
	};
	static const char *const notes[GMT_LOSS_COUNT] = {
		[GMT_LOSS_STACK] =
			"stacks did not fit into the recorder's memory; their events have no stack",
		[GMT_LOSS_PYTHON] = "stacks have no Python frames: another interpreter may have run on the "
							"thread, which is not visible before Python 3.12",
	};
	char text[GMT_LOG_NOTE_BYTES];

	for (int loss = 0; loss < GMT_LOSS_COUNT; loss++) {
		uint64_t count = gmt_losses_of((enum gmt_loss)loss);

		/*
		 * Each note adds a line to the file, and stacks may be lost for weeks. So a note is written
		 * only when the count has doubled, and at the end.
		 */
		if (count == metadata->losses_written[loss] ||
			(loss >= GMT_LOSS_STACK && !all && count < 2 * metadata->losses_written[loss]))
			continue;
		metadata->losses_written[loss] = count;
		if (reasons[loss]) {
			gmt_process_metadata_write_drops(metadata, 0, reasons[loss], count);
			continue;
		}
		snprintf(text, sizeof(text), "%llu %s", (unsigned long long)count, notes[loss]);
		struct gmt_note row = { slice(text) };
		metadata->write(metadata->context, GMT_RECORD_NOTE, &row, 1);
	}
}

static struct gmt_api api_of(uint16_t hook)
{
	return (struct gmt_api){
		.id = hook,
		.name = slice(gmt_hooks[hook].library == GMT_LIBRARY_C10 ? gmt_hooks[hook].base
																 : gmt_hooks[hook].symbol),
		.library = slice(gmt_library_name(gmt_hooks[hook].library)),
	};
}

void gmt_process_metadata_api(struct gmt_process_metadata *metadata, uint16_t hook)
{
	/* Events from the program's own calls do not come from a hook. */
	if (hook == GMT_HOOK_NONE || metadata->api_written[hook])
		return;

	struct gmt_api row = api_of(hook);

	metadata->api_written[hook] = true;
	metadata->write(metadata->context, GMT_RECORD_API, &row, 1);
}

void gmt_process_metadata_all_apis(const struct gmt_process_metadata *metadata)
{
	static struct gmt_api rows[GMT_HOOK_COUNT];
	uint32_t count = 0;

	for (uint16_t hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++)
		rows[count++] = api_of(hook);
	metadata->write(metadata->context, GMT_RECORD_API, rows, count);
}

/*
 * Writes the call counts that have changed. With `all`, also writes the functions that were never
 * called.
 */
static void write_calls(struct gmt_process_metadata *metadata, bool all)
{
	static struct gmt_api apis[GMT_HOOK_COUNT];
	static struct gmt_calls calls[GMT_HOOK_COUNT];
	uint32_t api_count = 0, call_count = 0;

	for (uint16_t hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		uint64_t count = gmt_call_counts_total(hook);

		if (count == metadata->calls_written[hook] && !(all && !count))
			continue;
		if (!metadata->api_written[hook])
			apis[api_count++] = api_of(hook);
		metadata->api_written[hook] = true;
		metadata->calls_written[hook] = count;
		calls[call_count++] = (struct gmt_calls){ hook, count };
	}
	if (api_count)
		metadata->write(metadata->context, GMT_RECORD_API, apis, api_count);
	if (call_count)
		metadata->write(metadata->context, GMT_RECORD_CALLS, calls, call_count);
}

static void write_overhead(const struct gmt_process_metadata *metadata)
{
	struct gmt_overhead row = gmt_overhead_now();

	metadata->write(metadata->context, GMT_RECORD_OVERHEAD, &row, 1);
}

static void write_unhooked(struct gmt_process_metadata *metadata)
{
	static const char *const route_names[] = {
		[GMT_LOOKUP_ROUTE_DLSYM] = "dlsym",
		[GMT_LOOKUP_ROUTE_PROC_ADDRESS] = "cuGetProcAddress",
	};
	enum gmt_lookup_route route;
	const char *name;

	for (; (name = gmt_unhooked_get(metadata->unhooked_written, &route)) != NULL;
		metadata->unhooked_written++) {
		struct gmt_unhooked row = { slice(name), slice(route_names[route]) };

		metadata->write(metadata->context, GMT_RECORD_UNHOOKED, &row, 1);
	}
}

static void note_device_usage(const struct gmt_sample *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (rows[i].known & GMT_SAMPLE_DRIVER)
			gmt_snapshots_note_usage((int16_t)rows[i].device,
				rows[i].total_bytes - rows[i].free_bytes);
}

void gmt_process_metadata_samples(const struct gmt_process_metadata *metadata)
{
	static struct gmt_sample samples[16];
	static struct gmt_pool pools[64];
	uint32_t count;

	while ((count = gmt_sample_queue_pop_pools(pools, sizeof(pools) / sizeof(*pools))) != 0)
		metadata->write(metadata->context, GMT_RECORD_POOL, pools, count);
	while ((count = gmt_sample_queue_pop(samples, sizeof(samples) / sizeof(*samples))) != 0) {
		note_device_usage(samples, count);
		metadata->write(metadata->context, GMT_RECORD_SAMPLE, samples, count);
	}
}

void gmt_process_metadata_thread(const struct gmt_process_metadata *metadata,
	const struct gmt_ring *ring)
{
	struct gmt_thread row = {
		.id = ring->thread,
		.tid = ring->tid,
		.name = { ring->thread_name,
			(uint32_t)strnlen(ring->thread_name, sizeof(ring->thread_name)) },
	};

	metadata->write(metadata->context, GMT_RECORD_THREAD, &row, 1);
}

void gmt_process_metadata_begin(struct gmt_process_metadata *metadata)
{
	struct gmt_clock start = { gmt_clock_start.stamp, gmt_clock_start.monotonic_ns,
		gmt_clock_start.realtime_ns };

	write_process(metadata);
	gmt_config_list(write_option, metadata);
	write_environment(metadata);
	write_devices(metadata);
	metadata->write(metadata->context, GMT_RECORD_CLOCK, &start, 1);
}

void gmt_process_metadata_update(struct gmt_process_metadata *metadata)
{
	write_modules(metadata);
	write_notes(metadata);
	write_losses(metadata, false);
	gmt_process_metadata_samples(metadata);
	write_calls(metadata, false);
	write_unhooked(metadata);
	write_overhead(metadata);
	write_clock(metadata);
}

void gmt_process_metadata_end(struct gmt_process_metadata *metadata)
{
	write_losses(metadata, true);
	write_calls(metadata, true);
}
