/* SPDX-License-Identifier: MIT */
/*
 * A whole recording under ThreadSanitizer: the real session, area, rings, depot, journal, writer,
 * control and snapshots. Fakes replace driver queries, unwinding and function names. Threads come,
 * push and go, also while the recording ends. Others pause, resume, and ask for sync points and
 * snapshots. No access may race. The file must hold or count as dropped each event exactly once.
 */
#include <ftw.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../helpers/demand.h"
#include "unwind/native_capture.h"
#include "python/python_capture.h"
#include "runtime/config.h"
#include "hooks/hooks.h"
#include "runtime/fork_detection.h"
#include "producer/clock.h"
#include "producer/thread_ring.h"
#include "producer/event.h"
#include "producer/session_state.h"
#include "runtime/log.h"
#include "writer/session.h"
#include "writer/snapshots.h"
#include "writer/writer.h"
#include "runtime/recorder_stack.h"
#include "driver/driver_queries.h"
#include "interpose/unhooked.h"
#include "format/encoding/decode_rows.h"
#include "source/source.h"

enum {
	SLOTS = 4, /* threads that push at one time */
	GENERATIONS = 6, /* threads in each slot, one after the other */
	EVENTS = 3000, /* events of each thread */
	ALL = SLOTS * GENERATIONS * EVENTS,
	ASKERS = 2,
	ASKED = 4, /* requests of each asker, at least */
	SYNC_MS = 60000,
	LATE = 2, /* threads that push until the recording ends */
	STACKS = 300,
	PATH_BYTES = 4096,
};

static char folder[] = "/tmp/gmt-test-XXXXXX";
static unsigned char seen[ALL];
static _Atomic unsigned running;
static _Atomic bool is_over;
static _Atomic unsigned first_calls, rounds, rare;

/* Fakes: the parts of the recorder that a recording without CUDA needs. */

const struct gmt_hook_info gmt_hooks[GMT_HOOK_COUNT] = {
	[0] = { .symbol = "", .base = "" },
	[1 ... GMT_HOOK_COUNT - 1] = { .symbol = "cuMemAlloc_v2", .base = "cuMemAlloc" },
};

const char *gmt_library_name(enum gmt_library library)
{
	(void)library;
	return "cuda";
}

unsigned gmt_driver_device_count(void)
{
	return 1;
}

bool gmt_driver_device_info(unsigned ordinal, struct gmt_driver_device_info *ret_info)
{
	*ret_info = (struct gmt_driver_device_info){ .name = "none", .total_bytes = 1 << 30 };
	return ordinal == 0;
}

bool gmt_driver_memory_of_device(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	*ret_free_bytes = *ret_total_bytes = 1 << 30;
	return device == 0;
}

const char *gmt_unhooked_get(unsigned index, enum gmt_lookup_route *ret_route)
{
	(void)index;
	(void)ret_route;
	return NULL;
}

void gmt_recorder_stack_not_needed(void)
{
}

enum gmt_native_recorder gmt_native_outer_recorder(const void *caller)
{
	(void)caller;
	return GMT_NATIVE_RECORDER_IS_UNKNOWN;
}

static __thread uint64_t number_of_stack;

uint32_t gmt_native_capture(struct gmt_depot *depot, uint32_t depth, uint32_t generation,
	struct gmt_walk *walk, const struct gmt_native_start *start, bool *ret_lost)
{
	(void)walk;
	(void)start;
	struct {
		struct gmt_depot_stack head;
		uint64_t addresses[4];
	} stack = { .head.generation = generation,
		.addresses = { number_of_stack++ % STACKS + 1, depth, 3, 4 } };
	uint32_t id = gmt_depot_intern(depot, GMT_DEPOT_STACK, &stack, sizeof(stack));

	*ret_lost |= !id;
	return id;
}

uint32_t gmt_python_capture(struct gmt_depot *depot, uint32_t depth, struct gmt_python_trace *trace,
	bool *ret_lost)
{
	(void)trace;
	struct {
		struct gmt_depot_code head;
		char text[8];
	} code = {
		.head = { .first_line = 1, .function_length = 4, .file_length = 4 },
		.text = { 'f', 'n', 'c', 't', 'f', 'i', 'l', 'e' },
	};
	struct gmt_depot_frame frame = { .line = (uint32_t)(number_of_stack % STACKS) };
	struct {
		struct gmt_depot_frames head;
		uint32_t items[1];
	} stack = { .head.truncated = depth == 0 };

	frame.code =
		gmt_depot_intern(depot, GMT_DEPOT_CODE, &code, sizeof(code.head) + sizeof(code.text));
	stack.items[0] =
		frame.code ? gmt_depot_intern(depot, GMT_DEPOT_FRAME, &frame, sizeof(frame)) << 1 : 0;

	uint32_t id =
		stack.items[0] ? gmt_depot_intern(depot, GMT_DEPOT_FRAMES, &stack, sizeof(stack)) : 0;
	*ret_lost |= !id;
	return id;
}

static void push(uint64_t address)
{
	struct gmt_ring_event event = {
		.stamp = gmt_clock_stamp(),
		.address = address,
		.size_bytes = 1,
		.kind = GMT_KIND_ALLOC,
		.api = 1,
	};

	demand(gmt_event_begin(), "an event may not be recorded");
	gmt_event_end(&event, 1);
}

static void *produce(void *first_of)
{
	for (uint64_t i = 0; i < EVENTS; i++)
		push((uint64_t)(uintptr_t)first_of + i);
	return NULL;
}

static void *come_and_go(void *slot_of)
{
	size_t slot = (size_t)slot_of;

	for (size_t generation = 0; generation < GENERATIONS; generation++) {
		pthread_t thread;
		size_t first = (slot * GENERATIONS + generation) * EVENTS + 1; /* 0 is a refused request */

		demand(!pthread_create(&thread, NULL, produce, (void *)first), "no thread");
		pthread_join(thread, NULL);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void *ask(void *number_of)
{
	size_t number = (size_t)number_of;
	char text[64];

	while (!gmt_session_is_on() && atomic_load(&running))
		usleep(1000);
	/* The pushing threads may end before this thread starts. */
	for (unsigned i = 0; atomic_load(&running) || i < ASKED; i++) {
		gmt_event_pause_stacks(i % 2);
		gmt_writer_sync(number ? SYNC_MS : 0);
		gmt_snapshots_request(GMT_SNAPSHOT_SIGNAL);
		snprintf(text, sizeof(text), "asked %zu %u", number, i);
		gmt_snapshots_request_named(text);
		if (i < ASKED)
			gmt_log_note(text);
		gmt_count_loss(GMT_LOSS_PYTHON);
		usleep(5000);
	}
	return NULL;
}

static void *push_late(void *unused)
{
	while (!atomic_load(&is_over))
		push(ALL + 1);
	return unused;
}

static void count_first(void)
{
	atomic_fetch_add(&first_calls, 1);
}

static void count_round(void)
{
	atomic_fetch_add(&rounds, 1);
}

static void count_rare(void)
{
	atomic_fetch_add(&rare, 1);
}

/* The file. */

struct found {
	uint64_t events, dropped, threads, notes;
	bool is_ended;
};

static void count_rows(const struct gmt_block *block, const void *rows, struct found *found)
{
	const struct gmt_event *events = rows;
	const struct gmt_drop *drops = rows;

	for (uint32_t i = 0; i < block->rows; i++)
		switch (block->kind) {
		case GMT_RECORD_EVENT:
			if (events[i].address > ALL)
				break;
			demand(events[i].address && !seen[events[i].address - 1],
				"an event is torn, or there twice");
			seen[events[i].address - 1] = 1;
			found->events++;
			break;
		case GMT_RECORD_DROP:
			found->dropped += drops[i].count;
			break;
		case GMT_RECORD_THREAD:
			found->threads++;
			break;
		case GMT_RECORD_NOTE:
			found->notes++;
			break;
		case GMT_RECORD_END:
			found->is_ended = true;
			break;
		}
}

static struct found read_file(const char *path)
{
	struct found found = { 0 };
	struct gmt_source *source;
	struct gmt_decoder decoder = { 0 };
	struct gmt_block block;
	struct gmt_error error = { 0 };
	enum gmt_status status;
	const void *rows;

	demand(!gmt_source_open(path, &source, &error), error.text);
	while (!(status = gmt_source_next(source, &block, &error))) {
		demand(!gmt_decode_rows(&decoder, &block, &rows, &error), error.text);
		count_rows(&block, rows, &found);
	}
	demand(status == GMT_END, error.text);
	gmt_decoder_fini(&decoder);
	gmt_source_close(source);
	return found;
}

static int take_away(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static void configure(void)
{
	demand(mkdtemp(folder), "no folder");
	gmt_config_init("");
	snprintf(gmt_config.output, sizeof(gmt_config.output), "%s/recording.gmt.gz", folder);
	snprintf(gmt_config.runtime_folder, sizeof(gmt_config.runtime_folder), "%s", folder);
	gmt_config.native_stacks = gmt_config.python_stacks = true;
	gmt_config.overflow = GMT_OVERFLOW_WAIT;
	gmt_config.depth = 16;
	gmt_config.snapshot_peak_bytes = 1;
	gmt_clock_init();
	gmt_fork_detection_init();
	gmt_session_init(true);
	gmt_thread_ring_call_at_first_event(count_first);
	gmt_session_call_each_round(count_round, NULL);
	gmt_session_call_each_second(count_rare);
}

int main(void)
{
	pthread_t pushing[SLOTS], asking[ASKERS], late[LATE];
	char path[PATH_BYTES];

	configure();
	atomic_store(&running, SLOTS);
	for (size_t i = 0; i < SLOTS; i++)
		demand(!pthread_create(&pushing[i], NULL, come_and_go, (void *)i), "no thread");
	for (size_t i = 0; i < ASKERS; i++)
		demand(!pthread_create(&asking[i], NULL, ask, (void *)i), "no thread");
	for (size_t i = 0; i < SLOTS; i++)
		pthread_join(pushing[i], NULL);
	for (size_t i = 0; i < ASKERS; i++)
		pthread_join(asking[i], NULL);
	for (size_t i = 0; i < LATE; i++)
		demand(!pthread_create(&late[i], NULL, push_late, NULL), "no thread");
	gmt_session_end();
	demand(!gmt_session_is_on() && !gmt_session_ensure_depot(), "the recording goes on");
	atomic_store(&is_over, true);
	for (size_t i = 0; i < LATE; i++)
		pthread_join(late[i], NULL);

	snprintf(path, sizeof(path), "%s/recording.gmt.gz", folder);
	struct found found = read_file(path);
	printf("%u of %u events, %u dropped, %u snapshots\n", (unsigned)found.events, (unsigned)ALL,
		(unsigned)found.dropped, (unsigned)gmt_snapshots_count());
	demand(found.is_ended, "the file lacks its end");
	demand(found.events + found.dropped >= ALL, "events are neither in the file nor counted");
	demand(found.threads >= SLOTS * GENERATIONS, "threads are missing");
	demand(found.notes >= ASKED, "notes are missing");
	demand(gmt_snapshots_count() >= 1, "no snapshot was taken");
	demand(atomic_load(&first_calls) >= SLOTS * GENERATIONS && atomic_load(&rounds) &&
			atomic_load(&rare),
		"the writer or a thread did not call back");
	nftw(folder, take_away, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}
