/* SPDX-License-Identifier: MIT */
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/native.h"
#include "config.h"
#include "diag.h"
#include "hooks.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/modules.h"
#include "thread.h"
#include "wire/encode.h"
#include "wire/event_totals.h"
#include "wire/sink.h"

enum {
	BATCH_EVENTS = 4096, /* a block: long enough to compress, short enough to stay in the cache */
	SLEEP_MS = 250,
	SYNC_MS = 700,       /* and at most SLEEP_MS later: a sync point every second */
	SYNC_BYTES = 1 << 20,
	STOP_WAIT_S = 10,
	GZIP_LEVEL = 1,
};

static struct writer {
	struct gmt_writer_input *input;
	struct gmt_writer_listener listener;
	pthread_t thread;
	_Atomic uint32_t wanted; /* futex: counts wishes to be woken */
	_Atomic bool stopping;
	bool write_failed;
	struct gmt_sink *sink;
	struct gmt_encoder encoder;
	struct gmt_definitions definitions;
	uint64_t events;         /* in the file */
	uint64_t synced_bytes;   /* sink's count at the last sync point */
	uint64_t synced_ns;
	uint32_t modules_written;
	uint32_t notes_written;
	uint64_t losses_written[GMT_LOSS_COUNT];
	bool api_written[GMT_HOOK_COUNT];
	struct {
		uint32_t thread;     /* the ring's owner when it was last emptied */
		bool is_written;     /* the thread has its record */
		uint64_t dropped;    /* as last written */
	} slots[GMT_AREA_RINGS];
	struct gmt_ring_event batch[BATCH_EVENTS];
	struct gmt_event rows[BATCH_EVENTS];
} writer;

/* A failed write is told once; what follows is swallowed by the sink. */
static void check(enum gmt_status status, const struct gmt_error *error)
{
	if (!status || writer.write_failed)
		return;
	writer.write_failed = true;
	gmt_diag_warn("%s: %s; recording has stopped, the program goes on", writer.input->path, error->text);
	writer.listener.failed();
}

static void write_rows(void *context, uint32_t kind, const void *rows, uint32_t count)
{
	struct gmt_error error;
	enum gmt_status status = gmt_encode_rows(&writer.encoder, kind, rows, count, &error);

	(void)context;
	if (!status)
		status = gmt_sink_push(writer.sink, writer.encoder.block.items, writer.encoder.block.count, &error);
	check(status, &error);
}

static struct gmt_slice slice(const char *text)
{
	return (struct gmt_slice){ text, (uint32_t)strlen(text) };
}

/* The arguments as the kernel keeps them, each ended by a NUL. */
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

	write_rows(context, GMT_RECORD_OPTION, &row, 1);
}

static void write_process(void)
{
	static char command[64 << 10], executable[4096], directory[4096];
	const struct gmt_writer_input *input = writer.input;
	ssize_t length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	struct utsname machine;

	executable[length > 0 ? length : 0] = 0;
	if (!getcwd(directory, sizeof(directory)))
		directory[0] = 0;
	if (uname(&machine))
		machine.machine[0] = 0;

	struct gmt_process row = {
		.pid = (uint32_t)getpid(),
		.parent_pid = (uint32_t)getppid(),
		.rank = input->identity.rank,
		.local_rank = input->identity.local_rank,
		.start_time_ns = gmt_clock_start.realtime_ns,
		.start_stamp = gmt_clock_start.stamp,
		.host = slice(input->identity.host),
		.executable = slice(executable),
		.command = read_command(command, sizeof(command)),
		.directory = slice(directory),
		.shim_version = slice(GMT_PROGRAM_VERSION),
		.machine = slice(machine.machine),
	};
	write_rows(NULL, GMT_RECORD_PROCESS, &row, 1);
}

static void write_devices(void)
{
	for (uint32_t i = 0; i < writer.input->device_count; i++) {
		const struct gmt_driver_device_info *info = &writer.input->devices[i];
		struct gmt_device row = {
			.ordinal = i,
			.name = slice(info->name),
			.uuid = slice(info->uuid),
			.total_bytes = info->total_bytes,
		};

		write_rows(NULL, GMT_RECORD_DEVICE, &row, 1);
	}
}

static void write_modules(void)
{
	static struct gmt_module_info info;

	gmt_modules_scan();
	while (gmt_modules_get(writer.modules_written, &info)) {
		struct gmt_module row = {
			.id = ++writer.modules_written,
			.generation = info.generation,
			.start = info.start,
			.end = info.end,
			.bias = info.bias,
			.path = slice(info.path),
			.build_id = slice(info.build_id),
		};

		write_rows(NULL, GMT_RECORD_MODULE, &row, 1);
	}
}

static void write_notes(void)
{
	/* Pairs with the release in gmt_session_note. */
	uint32_t count = atomic_load_explicit(&writer.input->note_count, memory_order_acquire);

	for (; writer.notes_written < count; writer.notes_written++) {
		struct gmt_note row = { slice(writer.input->notes[writer.notes_written]) };

		write_rows(NULL, GMT_RECORD_NOTE, &row, 1);
	}
}

static void write_clock(void)
{
	struct gmt_clock_moment now = gmt_clock_now();
	struct gmt_clock row = { now.stamp, now.monotonic_ns, now.realtime_ns };

	write_rows(NULL, GMT_RECORD_CLOCK, &row, 1);
}

static void write_drop(uint32_t thread, const char *reason, uint64_t count)
{
	struct gmt_drop row = { .thread = thread, .reason = slice(reason), .count = count };

	write_rows(NULL, GMT_RECORD_DROP, &row, 1);
}

static void write_losses(void)
{
	static const char *const reasons[] = {
		[GMT_LOSS_NO_RING] = "no ring for the thread",
		[GMT_LOSS_REENTERED] = "made in a signal handler while the recorder ran",
	};
	char text[GMT_WRITER_NOTE_BYTES];

	for (int loss = 0; loss < GMT_LOSS_COUNT; loss++) {
		uint64_t count = atomic_load_explicit(&writer.input->losses[loss], memory_order_relaxed);

		if (count == writer.losses_written[loss])
			continue;
		writer.losses_written[loss] = count;
		if (loss != GMT_LOSS_STACK) {
			write_drop(0, reasons[loss], count);
			continue;
		}
		snprintf(text, sizeof(text), "%llu stacks did not fit into the recorder's memory; "
			"their events are there without a stack", (unsigned long long)count);
		struct gmt_note row = { slice(text) };
		write_rows(NULL, GMT_RECORD_NOTE, &row, 1);
	}
}

static void write_api(uint16_t hook)
{
	struct gmt_api row = {
		.id = hook,
		.name = slice(gmt_hooks[hook].library == GMT_LIBRARY_C10 ? gmt_hooks[hook].base : gmt_hooks[hook].symbol),
		.library = slice(gmt_library_name(gmt_hooks[hook].library)),
	};

	writer.api_written[hook] = true;
	write_rows(NULL, GMT_RECORD_API, &row, 1);
}

static void write_thread(const struct gmt_ring *ring)
{
	struct gmt_thread row = {
		.id = ring->thread,
		.tid = ring->tid,
		.name = { ring->thread_name, (uint32_t)strnlen(ring->thread_name, sizeof(ring->thread_name)) },
	};

	write_rows(NULL, GMT_RECORD_THREAD, &row, 1);
}

static void convert(const struct gmt_ring_event *event, uint32_t thread, struct gmt_event *row)
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
		.stack = gmt_definitions_stack(&writer.definitions, event->stack),
		.frames = gmt_definitions_frames(&writer.definitions, event->frames),
		.result = event->result,
		.stream = is_torch ? 0 : event->stream,
		.allocated_bytes = is_torch ? (int64_t)event->allocated_bytes : 0,
		.reserved_bytes = is_torch ? (int64_t)event->reserved_bytes : 0,
	};
}

static void write_events(uint32_t count, uint32_t thread)
{
	for (uint32_t i = 0; i < count; i++) {
		convert(&writer.batch[i], thread, &writer.rows[i]);
		if (!writer.api_written[writer.batch[i].api])
			write_api(writer.batch[i].api);
	}
	gmt_definitions_flush(&writer.definitions, write_rows, NULL);
	gmt_event_totals_to_differences(writer.rows, count);
	write_rows(NULL, GMT_RECORD_EVENT, writer.rows, count);
	writer.events += count;
}

/* Empties one ring; without `all` only in whole blocks. */
static void drain_slot(uint32_t index, bool all)
{
	struct gmt_area *area = writer.input->area;
	/* Pairs with the release in gmt_area_leave_ring: whatever the thread pushed is counted below. */
	uint32_t state = atomic_load_explicit(&area->header->slot_states[index], memory_order_acquire);
	struct gmt_ring *ring = gmt_area_ring(area, index);

	if (state == GMT_SLOT_FREE || !gmt_area_has_ring(area, index) || !gmt_ring_is_made(ring))
		return;
	if (writer.slots[index].thread != ring->thread) {
		writer.slots[index].thread = ring->thread;
		writer.slots[index].is_written = false;
		writer.slots[index].dropped = 0;
	}
	for (uint64_t ready; (ready = gmt_ring_ready(ring)) >= (all || state == GMT_SLOT_LEFT ? 1 : BATCH_EVENTS);) {
		uint32_t count = gmt_ring_pop(ring, writer.batch, BATCH_EVENTS);

		if (!writer.slots[index].is_written) {
			writer.slots[index].is_written = true;
			write_thread(ring);
		}
		write_events(count, ring->thread);
		if (ready <= BATCH_EVENTS)
			break; /* what came meanwhile waits for its own block */
	}

	uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
	if (dropped != writer.slots[index].dropped) {
		writer.slots[index].dropped = dropped;
		write_drop(ring->thread, "the thread's ring was full", dropped);
	}
	if (state == GMT_SLOT_LEFT && !gmt_ring_ready(ring)) {
		gmt_ring_fini(ring);
		/* Pairs with the acquire in gmt_area_claim_ring. */
		atomic_store_explicit(&area->header->slot_states[index], GMT_SLOT_FREE, memory_order_release);
	}
}

static void drain(bool all)
{
	uint32_t used = atomic_load_explicit(&writer.input->area->header->slots_used, memory_order_acquire);

	for (uint32_t index = 0; index < used; index++)
		drain_slot(index, all);
	/* Room for twice what a burst of new stacks may bring until the next look. */
	if (gmt_area_grow_depot(writer.input->area, gmt_depot_used_bytes(writer.input->depot) + (2 << 20)))
		gmt_depot_set_ready(writer.input->depot,
			atomic_load_explicit(&writer.input->area->depot_ready_bytes, memory_order_relaxed));
}

static void sync_point(void)
{
	struct gmt_error error;

	write_modules();
	write_notes();
	write_losses();
	write_clock();

	struct gmt_sync row = { .stamp = gmt_clock_stamp(), .events = writer.events };
	write_rows(NULL, GMT_RECORD_SYNC, &row, 1);
	check(gmt_sink_sync(writer.sink, &error), &error);
	writer.synced_bytes = gmt_sink_pushed_bytes(writer.sink);
	writer.synced_ns = gmt_clock_monotonic_ns();
}

static bool open_sink(void)
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	struct gmt_error error;
	enum gmt_status status = gmt_sink_open(writer.input->fd, GZIP_LEVEL, &writer.sink, &error);

	if (!status) {
		gmt_encode_file_header(header);
		status = gmt_sink_push(writer.sink, header, sizeof(header), &error);
	}
	check(status, &error);
	return writer.sink != NULL;
}

static void finish(void)
{
	struct gmt_error error;

	drain(true);
	sync_point();

	struct gmt_end row = { .stamp = gmt_clock_stamp(), .events = writer.events };
	write_rows(NULL, GMT_RECORD_END, &row, 1);
	check(gmt_sink_close(writer.sink, &error), &error);
	writer.sink = NULL;
	gmt_encoder_fini(&writer.encoder);
	gmt_definitions_fini(&writer.definitions);
}

static void sleep_until_wanted(uint32_t seen)
{
	struct timespec limit = { .tv_nsec = SLEEP_MS * 1000000 };

	syscall(SYS_futex, &writer.wanted, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
}

static bool is_sync_due(void)
{
	return gmt_clock_monotonic_ns() - writer.synced_ns >= (uint64_t)SYNC_MS * 1000000 ||
		gmt_sink_pushed_bytes(writer.sink) - writer.synced_bytes >= SYNC_BYTES;
}

/*
 * A process lives until its last thread ends, and that must not be this one. The main thread may have
 * ended before the others (pthread_exit); the kernel then keeps it as a zombie.
 */
static bool is_alone(void)
{
	char path[64], text[512];
	struct stat tasks;

	/* Two links, and one for each thread. */
	if (stat("/proc/self/task", &tasks) || tasks.st_nlink > 4)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = 0;

	const char *state = strrchr(text, ')'); /* behind the name */
	return state && strncmp(state, ") Z", 3) == 0;
}

/* As the last thread of the host would have done. */
static void end_process(void)
{
	finish();
	gmt_area_unlink(writer.input->area);
	exit(0);
}

static void *run(void *unused)
{
	(void)unused;
	gmt_this_thread.is_ours = true;
	prctl(PR_SET_NAME, "gpumemtrace", 0, 0, 0);

	if (!open_sink())
		return NULL;
	write_process();
	gmt_config_list(write_option, NULL);
	write_devices();

	struct gmt_clock start = { gmt_clock_start.stamp, gmt_clock_start.monotonic_ns, gmt_clock_start.realtime_ns };
	write_rows(NULL, GMT_RECORD_CLOCK, &start, 1);
	sync_point();
	while (!atomic_load_explicit(&writer.stopping, memory_order_acquire)) {
		uint32_t seen = atomic_load_explicit(&writer.wanted, memory_order_acquire);

		drain(false);
		if (is_sync_due()) {
			if (writer.listener.before_sync)
				writer.listener.before_sync();
			/* What a sync point promises is all up to now, of slow threads too. */
			drain(true);
			sync_point();
			if (is_alone())
				end_process();
		}
		if (!atomic_load_explicit(&writer.stopping, memory_order_acquire))
			sleep_until_wanted(seen);
	}
	finish();
	return NULL;
}

bool gmt_writer_start(struct gmt_writer_input *input, struct gmt_writer_listener listener)
{
	sigset_t all, before;

	memset(&writer, 0, sizeof(writer));
	writer.input = input;
	writer.listener = listener;
	writer.definitions.depot = input->depot;

	/* The thread inherits the mask: no signal of the host's is ever delivered to it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* The default size: the host's thread-local data lies on the stack too, and may be large. */
	int failure = pthread_create(&writer.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failure;
}

void gmt_writer_wake(void)
{
	atomic_fetch_add_explicit(&writer.wanted, 1, memory_order_release);
	syscall(SYS_futex, &writer.wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void gmt_writer_stop(void)
{
	struct timespec limit;

	atomic_store_explicit(&writer.stopping, true, memory_order_release);
	gmt_writer_wake();
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += STOP_WAIT_S;
	if (pthread_timedjoin_np(writer.thread, NULL, &limit) == ETIMEDOUT)
		gmt_diag_warn("%s: the disk did not take the rest within %d s; the file lacks its end",
			writer.input->path, STOP_WAIT_S);
}
