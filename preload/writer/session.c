/* SPDX-License-Identifier: MIT */
#include "writer/session.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/config.h"
#include "runtime/descriptor.h"
#include "runtime/stderr_messages.h"
#include "producer/outer_call.h"
#include "runtime/bounded_wait.h"
#include "runtime/fork_detection.h"
#include "runtime/recorder_stack.h"
#include "process_exit/host_threads.h"
#include "producer/recording_memory.h"
#include "producer/event.h"
#include "producer/event_fast_path.h"
#include "producer/losses.h"
#include "producer/session_state.h"
#include "runtime/log.h"
#include "runtime/stages.h"
#include "writer/control.h"
#include "writer/create_recording.h"
#include "producer/thread_ring.h"
#include "writer/snapshots.h"
#include "process_exit/exit_thread.h"
#include "writer/writer.h"
#include "driver/driver_queries.h"
#include "producer/thread_state.h"
#include "system/launcher_rank.h"

/* The first event's maximum wait until the writer has opened the files; a slow disk delays it. */
#define FIRST_WAIT_NS UINT64_C(10000000000)

enum {
	START_WAIT_NS = 1000000000, /* maximum wait of another thread's first event */
	END_WAIT_NS = 2000000000, /* maximum wait of a second thread that ends the process */
	/* Writable before the writer starts; uses memory only when written. */
	LATE_DEPOT_BYTES = 16 << 20,
	LATE_PARTS = 8,             /* the writer starts when the first of these parts is full */
	EXEC_WAIT_MS = 2000,        /* maximum wait before an exec or a change of the user */
};

static_assert((int)GMT_LOSS_COUNT <= (int)GMT_SHARED_RECORDING_LOSSES,
	"each loss has its count in the shared memory too");

static struct gmt_recording_memory memory = { .fd = -1, .folder = -1 };
static char failure[1024]; /* why; only the writer uses it until the session is on or over */
static struct gmt_recording_state recording = { .fd = -1 };
static struct gmt_writer_listener listener;

static void read_devices(void)
{
	uint32_t count = gmt_driver_device_count();

	recording.device_count = count < GMT_RECORDING_DEVICES ? count : GMT_RECORDING_DEVICES;
	for (uint32_t i = 0; i < recording.device_count; i++)
		gmt_driver_device_info(i, &recording.devices[i]);
}

static void writer_failed(void)
{
	atomic_store(&gmt_session_state, GMT_SESSION_OVER);
}

/*
 * Resources of the parent that the child still needs. If a signal handler forks, the interrupted
 * code continues in the child. It still uses the parent's depot table and the addresses of the
 * parent's recording memory, where private memory is mapped. Freed when the child begins a
 * recording.
 */
static struct {
	void *memory;
	uint64_t memory_bytes;
	struct gmt_depot *depot;
} inherited;

static void free_inherited(void)
{
	if (inherited.memory)
		munmap(inherited.memory, inherited.memory_bytes);
	if (inherited.depot)
		gmt_depot_close(inherited.depot);
	memset(&inherited, 0, sizeof(inherited));
}

static void keep_inherited(void)
{
	free_inherited();
	inherited.memory = memory.header;
	inherited.memory_bytes = memory.size_bytes;
	inherited.depot = recording.depot;
}

/* Changes the state after the attempt to open the recording memory. */
static void set_state_after_open(bool is_open)
{
	uint32_t starting = GMT_SESSION_STARTING;

	gmt_session.depot = recording.depot;

	if (is_open)
		gmt_losses_share(memory.header->losses);
	/* If the process has ended meanwhile, the state is OVER: the writer ends the file at once. */
	atomic_compare_exchange_strong(&gmt_session_state, &starting,
		is_open ? GMT_SESSION_ON : GMT_SESSION_OVER);
}

/* Opens the files, as the writer's first work. Opens no descriptor in the host's table. */
static bool open_in_writer(void)
{
	bool is_open = gmt_create_recording(&recording, &memory, failure, sizeof(failure));

	set_state_after_open(is_open);
	return is_open;
}

static void report_beginning(void)
{
	if (recording.fd >= 0)
		gmt_stderr_report("recording to %s", recording.path);
	else
		gmt_stderr_warn("%s; nothing is recorded, the program continues", failure);
}

/* With writer=lazy, opens the files late, by the writer or at process end. Events are in memory. */
static bool open_late(void)
{
	bool is_open = gmt_create_recording(&recording, &memory, failure, sizeof(failure));

	if (!is_open)
		atomic_store(&gmt_session_state, GMT_SESSION_OVER);
	report_beginning();
	return is_open;
}

/* Begins without a thread: all events stay in memory until there is a thread. */
static bool begin_in_memory(void)
{
	/* Relative names refer to the current folder, and the program may change its folder. */
	if (!getcwd(recording.identity.folder, sizeof(recording.identity.folder)))
		recording.identity.folder[0] = 0;
	if (!gmt_create_recording_memory(&recording, &memory, failure, sizeof(failure)))
		return false;
	gmt_log_note_recording("writer=lazy: the recorder's memory is not in a file; "
						   "events that are not yet written are lost if the process is killed");
	/* A burst of new stacks uses this space until the writer runs and gives the depot more. */
	gmt_recording_memory_grow_depot(&memory, LATE_DEPOT_BYTES);
	gmt_depot_set_ready(recording.depot, atomic_load(&memory.depot_ready_bytes));
	gmt_depot_set_high_water_callback(recording.depot, LATE_DEPOT_BYTES / LATE_PARTS,
		gmt_event_wake);
	gmt_writer_delay();
	set_state_after_open(true);
	return true;
}

enum beginning {
	BEGINNING_ELSEWHERE, /* another thread begins it, or the event belongs to another process */
	BEGINNING_DONE,
	BEGINNING_FAILED,
};

/*
 * Runs on a recorder stack, because it calls the driver. Signals are blocked, so no handler can
 * fork or jump away meanwhile. From the start of the writer on, the beginning no longer needs this
 * thread.
 */
static void begin_work(void *ret_beginning)
{
	enum beginning *beginning = ret_beginning;
	uint32_t none = GMT_SESSION_NONE;
	bool is_late;

	/* The program may have set its rank after the recorder was loaded. */
	if (!gmt_config_has_rank(gmt_launcher_rank())) {
		gmt_session_never_begin();
		return;
	}
	/* A recording begins only with an event of its own process. */
	if (gmt_this_thread.in_recorder & GMT_IN_RECORDER_FORKED ||
		!atomic_compare_exchange_strong(&gmt_session_state, &none, GMT_SESSION_STARTING))
		return;
	atomic_store(&gmt_session.has_begun, true);
	gmt_fork_detection_begin();
	free_inherited();
	recording.pid = getpid();
	gmt_output_identity_init(&recording.identity);
	read_devices();
	gmt_snapshots_reset();
	gmt_event_pause_stacks(gmt_config.paused);
	is_late = gmt_config.is_writer_lazy && gmt_host_threads_is_single();
	listener.open = is_late ? open_late : open_in_writer;
	listener.failed = writer_failed;
	gmt_writer_init(&recording, listener);
	snprintf(failure, sizeof(failure), "there is no memory or no thread for the recorder");
	recording.has_writer = is_late ? begin_in_memory() : gmt_writer_start();
	*beginning = recording.has_writer ? BEGINNING_DONE : BEGINNING_FAILED;
	if (!recording.has_writer)
		atomic_store(&gmt_session_state, GMT_SESSION_OVER);
}

static enum beginning begin(void)
{
	enum beginning beginning = BEGINNING_ELSEWHERE;
	uint32_t none = GMT_SESSION_NONE;

	recording.has_writer = false;
	/* Without a recorder stack no message can be formatted. */
	if (!gmt_recorder_stack_run(begin_work, &beginning) &&
		atomic_compare_exchange_strong(&gmt_session_state, &none, GMT_SESSION_OVER) &&
		gmt_config.verbosity >= 1)
		gmt_stderr_print("gpumemtrace: no memory for the recorder's own stack; "
						 "nothing is recorded, the program continues\n");
	return beginning;
}

static void wait_while_starting(uint64_t wait_ns)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(gmt_config_wait_ns(wait_ns));

	while (atomic_load_explicit(&gmt_session_state, memory_order_acquire) == GMT_SESSION_STARTING &&
		gmt_bounded_wait_rest(&wait))
		;
}

static void finish_beginning(void)
{
	uint32_t now = atomic_load_explicit(&gmt_session_state, memory_order_acquire);

	if (gmt_session_state_is_on(now))
		gmt_snapshots_handle_signal();
	if ((gmt_session_state_is_on(now) || (now == GMT_SESSION_OVER && recording.fd < 0)) &&
		!gmt_writer_is_delayed())
		report_beginning();
}

/* Starts the delayed writer, as a signal handler has requested. */
static void start_writer(void)
{
	uint32_t called = GMT_SESSION_WRITER_DUE;

	if (!gmt_fork_detection_is_child() &&
		atomic_compare_exchange_strong(&gmt_session_state, &called, GMT_SESSION_ON))
		gmt_writer_wake();
}

/*
 * Returns true if the recording runs. The first caller begins it; others wait for a bounded time.
 */
__attribute__((noinline)) static bool begin_once(void)
{
	uint32_t now = atomic_load_explicit(&gmt_session_state, memory_order_acquire);

	if (now == GMT_SESSION_WRITER_DUE)
		start_writer();
	if (gmt_session_state_is_on(now))
		return true;
	/* A guest's writer would end with the guest, and the memory's owner would have no writer. */
	if (now == GMT_SESSION_NONE && gmt_fork_detection_is_child())
		return false;
	if (now == GMT_SESSION_NONE && begin() != BEGINNING_ELSEWHERE) {
		wait_while_starting(FIRST_WAIT_NS);
		finish_beginning();
	} else {
		wait_while_starting(START_WAIT_NS);
	}
	now = atomic_load_explicit(&gmt_session_state, memory_order_acquire);
	if (now == GMT_SESSION_STARTING)
		gmt_count_loss(GMT_LOSS_STARTING);
	/* After a fork by a handler, this child has no recording, and the event is the parent's. */
	return gmt_session_state_is_on(now);
}

void gmt_session_main_thread_ends(void)
{
	int kept_errno = errno;

	/* Only if the writer has its own descriptor table, and so keeps no file of the host open. */
	if (gmt_session_is_on() && gmt_descriptor_is_elsewhere() && syscall(SYS_gettid) == getpid() &&
		!gmt_fork_detection_is_child())
		gmt_exit_thread_start();
	errno = kept_errno;
}

static void request_oom_snapshot(void)
{
	gmt_snapshots_request(GMT_SNAPSHOT_OOM);
}

void gmt_session_init(bool may_begin)
{
	gmt_session.memory = &memory;
	gmt_writer_calls = (struct gmt_writer_calls){
		.begin = begin_once,
		.wake = gmt_writer_wake,
		.start_if_delayed = gmt_writer_start_if_delayed,
		.is_delayed = gmt_writer_is_delayed,
		.sync = gmt_writer_sync,
		.snapshot_oom = request_oom_snapshot,
	};
	gmt_thread_ring_init();
	if (!may_begin)
		atomic_store(&gmt_session_state, GMT_SESSION_OVER);
}

void gmt_session_call_at_claim(void (*work)(void))
{
	listener.started_late = work;
	gmt_thread_ring_call_at_claim(work);
}

void gmt_session_call_each_second(void (*work)(void))
{
	listener.before_sync = work;
}

void gmt_session_call_each_round(void (*work)(void), unsigned (*threads)(void))
{
	listener.each_round = work;
	listener.threads = threads;
}

void gmt_session_call_when_alone(bool (*is_last)(unsigned recorder_threads),
	void (*stop_threads)(void))
{
	listener.is_last = is_last;
	listener.stop_threads = stop_threads;
}

void gmt_session_before_exec(void)
{
	static atomic_flag was_noted = ATOMIC_FLAG_INIT;

	if (!gmt_session_state_is_on(atomic_load(&gmt_session_state)) ||
		gmt_fork_detection_is_child() || gmt_this_thread.is_recorder_thread)
		return;
	if (!atomic_flag_test_and_set(&was_noted))
		gmt_log_note("the process called exec to run another program; if the call succeeded, "
					 "the recording ends here");
	gmt_writer_sync(gmt_config_wait_ms(EXEC_WAIT_MS));
	gmt_stderr_print_kept();
}

void gmt_session_before_user_change(void)
{
	int kept_errno = errno;

	if (gmt_session_state_is_on(atomic_load(&gmt_session_state)) && !geteuid() &&
		!gmt_fork_detection_is_child() && !gmt_this_thread.is_recorder_thread) {
		gmt_writer_remove_names();
		gmt_writer_sync(gmt_config_wait_ms(EXEC_WAIT_MS));
	}
	errno = kept_errno;
}

/* Returns true for the thread that ends the recording. Other threads wait until it has ended. */
static bool is_first_to_end(void)
{
	uint32_t not_yet = 0;
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(END_WAIT_NS);

	if (atomic_compare_exchange_strong(&gmt_session.ending, &not_yet, 1))
		return true;
	while (atomic_load(&gmt_session.ending) == 1 && gmt_bounded_wait_rest(&wait))
		;
	return false;
}

void gmt_session_end(void)
{
	if (gmt_fork_detection_is_child() || gmt_this_thread.is_recorder_thread)
		return;
	gmt_session_never_begin();
	if (!atomic_load(&gmt_session.has_begun) || !is_first_to_end())
		return;
	gmt_outer_call_end_process();
	/* A recording that is just beginning is also ended, once its files exist. */
	wait_while_starting(START_WAIT_NS);
	atomic_store(&gmt_session_state, GMT_SESSION_OVER);
	if (recording.has_writer) {
		/* Even if writing failed, the writer must still be stopped. */
		gmt_writer_stop();
		if (recording.fd >= 0)
			gmt_stderr_report("recorded to %s", recording.path);
	}
	gmt_stderr_print_kept();
	gmt_stderr_end();
	atomic_store(&gmt_session.ending, 2);
}

/* Releases the parent's recording, so that the child does not touch it. */
static void after_fork(void)
{
	uint32_t was = atomic_load(&gmt_session_state);
	bool is_interrupted = gmt_thread_is_interrupted(&gmt_this_thread);

	/* The child must not keep the parent's rings alive. */
	if (was != GMT_SESSION_NONE) {
		if (is_interrupted)
			keep_inherited();
		else if (recording.depot)
			gmt_depot_close(recording.depot);
		gmt_recording_memory_abandon(&memory, is_interrupted);
		gmt_writer_forget();
		gmt_descriptor_close(&recording.fd, &recording.file);
	}
	recording.depot = gmt_session.depot = NULL;
	recording.memory = NULL;
	recording.has_writer = false;
	recording.fd = -1;
	atomic_store(&gmt_session.is_stalled, false);
	atomic_store(&gmt_session.ending, 0);
	atomic_store(&gmt_session.has_begun, false);
	atomic_fetch_add(&gmt_session_number, 1);
	atomic_store(&gmt_session_state, GMT_SESSION_NONE);
}

GMT_AT_STAGE(after_fork, WRITER, after_fork);
GMT_AT_STAGE(thread_end, WRITER, gmt_session_main_thread_ends);
