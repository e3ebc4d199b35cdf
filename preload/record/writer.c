/* SPDX-License-Identifier: MIT */
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "diag.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/facts.h"
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
	struct gmt_recording *recording;
	struct gmt_writer_listener listener;
	pthread_t thread;
	_Atomic uint32_t wanted; /* futex: counts wishes to be woken */
	_Atomic uint32_t syncs_asked;
	_Atomic uint32_t syncs_done; /* futex: of those asked for, all up to this one */
	_Atomic bool stopping;
	bool write_failed;
	struct gmt_sink *sink;
	struct gmt_encoder encoder;
	struct gmt_definitions definitions;
	struct gmt_facts facts;
	uint64_t events;         /* in the file */
	uint64_t synced_bytes;   /* sink's count at the last sync point */
	uint64_t synced_ns;
	struct {
		uint32_t thread;     /* the ring's owner when it was last emptied */
		bool is_written;     /* the thread has its record */
		uint64_t dropped;    /* as last written */
	} slots[GMT_AREA_RINGS];
	struct gmt_ring_event batch[BATCH_EVENTS];
	struct gmt_event rows[BATCH_EVENTS];
	struct gmt_mark marks[BATCH_EVENTS];
	struct gmt_oom ooms[BATCH_EVENTS];
	struct gmt_sample samples[BATCH_EVENTS];
} writer;

/* A failed write is told once; what follows is swallowed by the sink. */
static void check(enum gmt_status status, const struct gmt_error *error)
{
	if (!status || writer.write_failed)
		return;
	writer.write_failed = true;
	gmt_diag_warn("%s: %s; recording has stopped, the program goes on", writer.recording->path, error->text);
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
		.object = is_torch ? 0 : event->object,
		.context = event->context,
	};
}

static void convert_mark(const struct gmt_ring_event *event, uint32_t thread, struct gmt_mark *row)
{
	*row = (struct gmt_mark){
		.stamp = event->stamp,
		.thread = thread,
		.kind = event->layer,
		.source = event->space,
		.name = gmt_definitions_name(&writer.definitions, event->stack),
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

/* Writes the first `count` of the batch, each kind as a block of its own. */
static void write_batch(uint32_t count, uint32_t thread)
{
	uint32_t events = 0, marks = 0, ooms = 0, samples = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct gmt_ring_event *event = &writer.batch[i];

		if (event->kind == GMT_RING_MARK) {
			convert_mark(event, thread, &writer.marks[marks++]);
		} else if (event->kind == GMT_RING_OOM) {
			convert_oom(event, thread, &writer.ooms[ooms++]);
		} else if (event->kind == GMT_RING_SAMPLE) {
			convert_sample(event, &writer.samples[samples++]);
		} else {
			convert(event, thread, &writer.rows[events++]);
			gmt_facts_api(&writer.facts, event->api);
		}
	}
	gmt_definitions_flush(&writer.definitions, write_rows, NULL);
	gmt_event_totals_to_differences(writer.rows, events);
	if (events)
		write_rows(NULL, GMT_RECORD_EVENT, writer.rows, events);
	if (marks)
		write_rows(NULL, GMT_RECORD_MARK, writer.marks, marks);
	if (ooms)
		write_rows(NULL, GMT_RECORD_OOM, writer.ooms, ooms);
	if (samples)
		write_rows(NULL, GMT_RECORD_SAMPLE, writer.samples, samples);
	writer.events += events;
}

/* Empties one ring; without `all` only in whole blocks. */
static void drain_slot(uint32_t index, bool all)
{
	struct gmt_area *area = writer.recording->area;
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
			gmt_facts_thread(&writer.facts, ring);
		}
		write_batch(count, ring->thread);
		if (ready <= BATCH_EVENTS)
			break; /* what came meanwhile waits for its own block */
	}

	uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
	if (dropped != writer.slots[index].dropped) {
		writer.slots[index].dropped = dropped;
		gmt_facts_drop(&writer.facts, ring->thread, "the thread's ring was full", dropped);
	}
	if (state == GMT_SLOT_LEFT && !gmt_ring_ready(ring)) {
		gmt_ring_fini(ring);
		/* Pairs with the acquire in gmt_area_claim_ring. */
		atomic_store_explicit(&area->header->slot_states[index], GMT_SLOT_FREE, memory_order_release);
	}
}

static void drain(bool all)
{
	uint32_t used = atomic_load_explicit(&writer.recording->area->header->slots_used, memory_order_acquire);

	for (uint32_t index = 0; index < used; index++)
		drain_slot(index, all);
	/* Room for twice what a burst of new stacks may bring until the next look. */
	if (gmt_area_grow_depot(writer.recording->area, gmt_depot_used_bytes(writer.recording->depot) + (2 << 20)))
		gmt_depot_set_ready(writer.recording->depot,
			atomic_load_explicit(&writer.recording->area->depot_ready_bytes, memory_order_relaxed));
}

static void sync_point(void)
{
	struct gmt_error error;

	gmt_facts_update(&writer.facts);

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
	enum gmt_status status = gmt_sink_open(writer.recording->fd, GZIP_LEVEL, &writer.sink, &error);

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
	gmt_facts_end(&writer.facts);
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

static void tell_synced(uint32_t asked)
{
	if (atomic_exchange_explicit(&writer.syncs_done, asked, memory_order_release) != asked)
		syscall(SYS_futex, &writer.syncs_done, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
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
	if (stat("/proc/self/task", &tasks) ||
		tasks.st_nlink > 4 + (writer.listener.threads ? writer.listener.threads() : 0))
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
	gmt_area_unlink(writer.recording->area);
	exit(0);
}

static void *run(void *unused)
{
	(void)unused;
	gmt_this_thread.is_ours = true;
	prctl(PR_SET_NAME, "gpumemtrace", 0, 0, 0);
	/* Waking up, it takes the processor from no thread of the host's. */
	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });

	if (!open_sink())
		return NULL;
	gmt_facts_begin(&writer.facts);
	sync_point();
	while (!atomic_load_explicit(&writer.stopping, memory_order_acquire)) {
		uint32_t seen = atomic_load_explicit(&writer.wanted, memory_order_acquire);
		/* Before the rings are emptied: what the asking thread pushed is in them. Pairs with gmt_writer_sync. */
		uint32_t asked = atomic_load_explicit(&writer.syncs_asked, memory_order_acquire);

		drain(false);
		gmt_facts_samples(&writer.facts);
		if (writer.listener.each_round)
			writer.listener.each_round();
		if (asked != atomic_load_explicit(&writer.syncs_done, memory_order_relaxed) || is_sync_due()) {
			if (writer.listener.before_sync)
				writer.listener.before_sync();
			/* What a sync point promises is all up to now, of slow threads too. */
			drain(true);
			sync_point();
			tell_synced(asked);
			if (is_alone())
				end_process();
		}
		if (!atomic_load_explicit(&writer.stopping, memory_order_acquire))
			sleep_until_wanted(seen);
	}
	finish();
	return NULL;
}

bool gmt_writer_start(struct gmt_recording *recording, struct gmt_writer_listener listener)
{
	sigset_t all, before;

	memset(&writer, 0, sizeof(writer));
	writer.recording = recording;
	writer.listener = listener;
	writer.definitions.depot = recording->depot;
	writer.facts.recording = recording;
	writer.facts.write = write_rows;

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

void gmt_writer_sync(uint32_t wait_ms)
{
	uint32_t mine = atomic_fetch_add_explicit(&writer.syncs_asked, 1, memory_order_release) + 1;
	uint64_t deadline_ns = gmt_clock_monotonic_ns() + (uint64_t)wait_ms * 1000000, now_ns;
	uint32_t done;

	if (!wait_ms)
		return;
	gmt_writer_wake();
	/* Numbers may pass zero. */
	while ((int32_t)((done = atomic_load_explicit(&writer.syncs_done, memory_order_acquire)) - mine) < 0 &&
		(now_ns = gmt_clock_monotonic_ns()) < deadline_ns) {
		struct timespec limit = { .tv_nsec = (long)(deadline_ns - now_ns) };

		syscall(SYS_futex, &writer.syncs_done, FUTEX_WAIT_PRIVATE, done, &limit, NULL, 0);
	}
}

void gmt_writer_stop(void)
{
	struct timespec limit;

	atomic_store_explicit(&writer.stopping, true, memory_order_release);
	gmt_writer_wake();
	/* The kernel's own: a host under libfaketime is told another time, by which the wait would be over. */
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &limit);
	limit.tv_sec += STOP_WAIT_S;
	if (pthread_timedjoin_np(writer.thread, NULL, &limit) == ETIMEDOUT)
		gmt_diag_warn("%s: the disk did not take the rest within %d s; the file lacks its end",
			writer.recording->path, STOP_WAIT_S);
}
