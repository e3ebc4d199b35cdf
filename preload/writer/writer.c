/* SPDX-License-Identifier: MIT */
#include "writer/writer.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/config.h"
#include "runtime/descriptor.h"
#include "runtime/stderr_messages.h"
#include "runtime/bounded_wait.h"
#include "runtime/fork_detection.h"
#include "process_exit/host_threads.h"
#include "producer/clock.h"
#include "producer/session_state.h"
#include "writer/control.h"
#include "writer/drain.h"
#include "runtime/log.h"
#include "writer/file_compaction.h"
#include "writer/snapshots.h"
#include "process_exit/exit_thread.h"
#include "writer/stream.h"
#include "runtime/recorder_stack.h"
#include "producer/thread_state.h"

enum {
	SLEEP_MS = 250,
	THREAD_CHECK_EVERY_NS = 200000000,
	SYNC_CHECK_NS = 50000000, /* how often a waiting thread checks that the session continues */
	NEXT_TRY_NS = 1000000000,
	DESCRIPTORS = 8,       /* more than the end of a recording opens at one time */
	LAST_WAIT_NS = 1000000000, /* maximum wait for the recorder's other threads to end */
	COMPACTION_WAIT_MS = 6000, /* maximum wait for the last compactions: well below STOP_WAIT_NS */
};

#define STOP_WAIT_NS UINT64_C(10000000000)

enum stage { NOT_DELAYED, DELAYED, STARTED };

static struct writer {
	struct gmt_recording_state *recording;
	struct gmt_writer_listener listener;
	_Atomic uint32_t stage; /* enum stage */
	_Atomic uint64_t next_try_ns; /* when to try a failed delayed start again; 0: no failure */
	_Atomic uint32_t wanted; /* futex: counts requests to wake up */
	_Atomic uint32_t syncs_requested;
	_Atomic uint32_t syncs_done; /* futex: all requests up to this number are done */
	_Atomic bool stopping;
	_Atomic bool removes_names;
	uint64_t thread_check_ns; /* time of the last check whether the host has threads */
	bool ends_process; /* the host has no threads left */
	_Atomic bool is_whole; /* the file is complete and properly ended */
	_Atomic uint32_t is_over; /* futex: the thread does nothing more */
	struct gmt_stream stream;
	struct gmt_file_compaction compaction;
	struct gmt_drain drain;
} writer;

/* Ends the file. If something could not be written, the recorder's memory is still needed. */
static void finish(void)
{
	uint64_t deadline_ns = gmt_clock_monotonic_ns() + (uint64_t)COMPACTION_WAIT_MS * 1000000;

	gmt_snapshots_work(true);
	do
		gmt_drain_rings(&writer.drain, writer.recording, &writer.stream, true);
	while (gmt_file_compaction_settle(&writer.compaction, deadline_ns));
	if (gmt_snapshots_is_due()) {
		gmt_stream_sync(&writer.stream);
		gmt_snapshots_begin(&writer.stream);
		gmt_snapshots_work(true);
	}
	gmt_control_close();
	gmt_file_compaction_finish(&writer.compaction, deadline_ns);
	if (gmt_stream_close(&writer.stream))
		atomic_store_explicit(&writer.is_whole, true, memory_order_release);
}

static void sleep_until_wanted(uint32_t seen)
{
	struct timespec limit = { .tv_nsec = SLEEP_MS * 1000000 };

	syscall(SYS_futex, &writer.wanted, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
}

static void publish_synced(uint32_t requested)
{
	if (atomic_exchange_explicit(&writer.syncs_done, requested, memory_order_release) != requested)
		syscall(SYS_futex, &writer.syncs_done, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static unsigned count_own_threads(void)
{
	return 1 + gmt_exit_thread_exists() + (writer.listener.threads ? writer.listener.threads() : 0);
}

/* Returns whether only the recorder's threads are left. They must not keep the process alive. */
static bool is_alone(void)
{
	unsigned own = count_own_threads();
	enum gmt_host_threads_end answer = gmt_host_threads_have_ended(own);

	/* Without /proc, uses libc's count, which misses threads that end by the bare system call. */
	if (answer == GMT_HOST_THREADS_UNKNOWN)
		return writer.listener.is_last && writer.listener.is_last(own);
	return answer == GMT_HOST_THREADS_ENDED;
}

/*
 * Called when the disk accepts no data. Meanwhile the rings keep what they can hold; further events
 * are dropped and counted. So the file stays valid, and continues when there is room again. At the
 * end of the process the writer does not wait.
 */
static bool wait_for_room(void *unused, int error_number)
{
	_Atomic bool *is_stalled = &gmt_session.is_stalled;
	uint32_t seen = atomic_load_explicit(&writer.wanted, memory_order_acquire);

	(void)unused;
	if (!error_number) {
		atomic_store(is_stalled, false);
		return true;
	}
	/* A cancelled compaction can be done again later. */
	if (gmt_file_compaction_make_room(&writer.compaction))
		return true;
	if (!atomic_exchange(is_stalled, true))
		gmt_log_fault(writer.recording->path,
			"%s; the program continues, but events that do not fit into memory "
			"are dropped until the file is writable again",
			strerror(error_number));
	if (atomic_load_explicit(&writer.stopping, memory_order_acquire) || is_alone())
		return false;
	sleep_until_wanted(seen);
	return true;
}

/* Removes the recording memory if the file is complete. Only this thread has its descriptor. */
static void remove_memory(void)
{
	if (atomic_load(&writer.is_whole))
		gmt_recording_memory_unlink(writer.recording->memory);
}

/*
 * Ends a process whose host has no threads left. If the host's last thread would have called
 * exit(), the exit thread calls it and ends the recording in the usual way. Otherwise the process
 * ends with the recorder's threads, with the exit code of the host.
 */
static void end_process(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(LAST_WAIT_NS);
	/* Read before the recorder's threads end: the kernel reports the code of the last thread. */
	int code = gmt_host_threads_exit_code();

	if (writer.ends_process)
		return;
	writer.ends_process = true;
	if (writer.listener.is_last && writer.listener.is_last(count_own_threads()) &&
		gmt_exit_thread_call_exit())
		return;
	finish();
	remove_memory();
	gmt_exit_thread_cancel();
	if (writer.listener.stop_threads)
		writer.listener.stop_threads();
	/* The last thread sets the exit code of the process. */
	while (gmt_host_threads_have_ended(1) == GMT_HOST_THREADS_RUN && gmt_bounded_wait_rest(&wait))
		;
	for (;;)
		syscall(SYS_exit, code);
}

static void remove_names(void)
{
	bool had_name = gmt_recording_memory_remove_name(writer.recording->memory);

	gmt_control_close();
	if (had_name)
		gmt_log_note_recording(
			"the process changed from root to another user: "
			"from then on, events that are not yet written are lost if it is killed");
}

static bool open_stream(void)
{
	if (!writer.listener.open() ||
		!gmt_stream_open(&writer.stream, writer.recording, gmt_config.max_size_bytes,
			writer.listener.failed))
		return false;
	gmt_file_compaction_init(&writer.compaction, writer.recording, &writer.stream);
	return true;
}

static void write_recording(void)
{
	gmt_this_thread.is_recorder_thread = true;
	gmt_recorder_stack_not_needed();
	gmt_this_thread.in_recorder = GMT_IN_RECORDER_RECORDING;
	prctl(PR_SET_NAME, "gpumemtrace", 0, 0, 0);
	/* When this thread wakes up, it must not take the processor from a thread of the host. */
	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });

	if (!open_stream())
		return;
	gmt_control_open(writer.recording);
	while (!atomic_load_explicit(&writer.stopping, memory_order_acquire)) {
		uint32_t seen = atomic_load_explicit(&writer.wanted, memory_order_acquire);
		/*
		 * Read before the rings are emptied: the rings then contain all events that the requesting
		 * thread has pushed. Pairs with gmt_writer_sync.
		 */
		uint32_t requested = atomic_load_explicit(&writer.syncs_requested, memory_order_acquire);

		gmt_drain_rings(&writer.drain, writer.recording, &writer.stream, false);
		gmt_process_metadata_samples(&writer.stream.metadata);
		if (writer.listener.each_round)
			writer.listener.each_round();
		gmt_control_round(&writer.stream, writer.compaction.mode);
		if (gmt_snapshots_is_due() ||
			requested != atomic_load_explicit(&writer.syncs_done, memory_order_relaxed) ||
			gmt_stream_is_sync_due(&writer.stream) ||
			gmt_file_compaction_wants_sync(&writer.compaction)) {
			uint64_t stamp = gmt_clock_stamp();

			if (writer.listener.before_sync)
				writer.listener.before_sync();
			if (atomic_load(&writer.removes_names))
				remove_names();
			/* A sync point promises everything up to now, including the events of slow threads. */
			gmt_drain_rings(&writer.drain, writer.recording, &writer.stream, true);
			gmt_recording_memory_leave_dead_rings(writer.recording->memory);
			gmt_stream_sync(&writer.stream);
			publish_synced(requested);
			gmt_snapshots_begin(&writer.stream);
			gmt_file_compaction_synced(&writer.compaction, stamp);
			gmt_stream_end_large_member(&writer.stream);
		}
		if (gmt_kernel_now_ns() - writer.thread_check_ns >= THREAD_CHECK_EVERY_NS) {
			writer.thread_check_ns = gmt_kernel_now_ns();
			if (is_alone())
				end_process();
		}
		if (!gmt_snapshots_work(false) && !gmt_file_compaction_work(&writer.compaction) &&
			!atomic_load_explicit(&writer.stopping, memory_order_acquire))
			sleep_until_wanted(seen);
	}
	finish();
}

static void *run(void *unused)
{
	gmt_descriptor_take_own_table();
	gmt_host_threads_init();
	write_recording();
	remove_memory();
	/* Pairs with the acquire in gmt_writer_stop: the file is done. */
	atomic_store_explicit(&writer.is_over, 1, memory_order_release);
	syscall(SYS_futex, &writer.is_over, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	return unused;
}

void gmt_writer_init(struct gmt_recording_state *recording, struct gmt_writer_listener listener)
{
	memset(&writer, 0, sizeof(writer));
	writer.recording = recording;
	writer.listener = listener;
	recording->wait_for_room = wait_for_room;
}

bool gmt_writer_start(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	/* The thread inherits this mask, so it never receives a signal of the host. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* Default stack size: it also contains the host's thread-local data, which may be large. */
	int failure = pthread_attr_init(&attributes);
	if (!failure) {
		/* Detached: gmt_writer_stop waits for the file, not for the thread. */
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		failure = pthread_create(&thread, &attributes, run, NULL);
		pthread_attr_destroy(&attributes);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failure;
}

void gmt_writer_delay(void)
{
	atomic_store(&writer.stage, DELAYED);
}

bool gmt_writer_is_delayed(void)
{
	return atomic_load_explicit(&writer.stage, memory_order_relaxed) == DELAYED;
}

/* Runs on a recorder stack, because it makes a thread. */
static void start_late(void *unused)
{
	uint32_t delayed = DELAYED;

	(void)unused;
	/*
	 * The child of a handler's fork gets no writer. Nor does a guest (fork_detection.h), because
	 * the thread would end with the guest.
	 */
	if (gmt_this_thread.in_recorder & GMT_IN_RECORDER_FORKED || gmt_fork_detection_is_child() ||
		!atomic_compare_exchange_strong(&writer.stage, &delayed, STARTED))
		return;
	if (!gmt_writer_start()) {
		atomic_store(&writer.next_try_ns, gmt_kernel_now_ns() + NEXT_TRY_NS);
		atomic_store(&writer.stage, DELAYED);
		gmt_log_fault(NULL,
			"the recorder's thread could not start: "
			"the program continues, but events that do not fit into memory are dropped");
	} else if (writer.listener.started_late) {
		writer.listener.started_late();
	}
}

void gmt_writer_start_if_delayed(void)
{
	if (!gmt_writer_is_delayed())
		return;

	uint64_t next_try_ns = atomic_load(&writer.next_try_ns);

	if (!next_try_ns || gmt_kernel_now_ns() >= next_try_ns)
		gmt_recorder_stack_run(start_late, NULL);
}

void gmt_writer_wake(void)
{
	gmt_writer_start_if_delayed();
	atomic_fetch_add_explicit(&writer.wanted, 1, memory_order_release);
	syscall(SYS_futex, &writer.wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Returns the time left. The kernel requires that tv_nsec is less than a billion. */
static struct timespec left_until(uint64_t deadline_ns, uint64_t now_ns)
{
	return (struct timespec){
		.tv_sec = (time_t)((deadline_ns - now_ns) / 1000000000),
		.tv_nsec = (long)((deadline_ns - now_ns) % 1000000000),
	};
}

void gmt_writer_remove_names(void)
{
	atomic_store(&writer.removes_names, true);
}

void gmt_writer_sync(uint32_t wait_ms)
{
	uint32_t recording = atomic_load_explicit(&gmt_session_number, memory_order_relaxed);
	uint32_t mine = atomic_fetch_add_explicit(&writer.syncs_requested, 1, memory_order_release) + 1;
	uint64_t deadline_ns = gmt_kernel_now_ns() + (uint64_t)wait_ms * 1000000, now_ns;
	uint32_t done;

	if (!wait_ms || atomic_load_explicit(&gmt_session.is_stalled, memory_order_relaxed))
		return;
	gmt_writer_wake();
	/* The numbers may wrap around. */
	while ((int32_t)((done = atomic_load_explicit(&writer.syncs_done, memory_order_acquire)) -
			   mine) < 0 &&
		(now_ns = gmt_kernel_now_ns()) < deadline_ns) {
		uint64_t check_ns = now_ns + SYNC_CHECK_NS;
		struct timespec limit = left_until(check_ns < deadline_ns ? check_ns : deadline_ns, now_ns);

		/* In the child of a signal handler that forks, no writer answers the parent's request. */
		if (!gmt_session_is_on() ||
			atomic_load_explicit(&gmt_session_number, memory_order_relaxed) != recording)
			return;
		syscall(SYS_futex, &writer.syncs_done, FUTEX_WAIT_PRIVATE, done, &limit, NULL, 0);
	}
}

/* Writes the whole file on a recorder stack, in the thread that ends the process. */
static void write_all(void *unused)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	uint8_t before = thread->in_recorder;

	(void)unused;
	thread->is_recorder_thread = true;
	thread->in_recorder = GMT_IN_RECORDER_RECORDING;
	if (open_stream())
		finish();
	thread->in_recorder = before;
	thread->is_recorder_thread = false;
	atomic_store_explicit(&writer.is_over, 1, memory_order_release);
}

/*
 * Ends a delayed recording without a new thread. A signal handler that interrupted malloc may end
 * the process, and libc calls malloc for each new thread. But if the host leaves no room for
 * descriptors, a thread with its own table is needed.
 */
static void end_without_thread(void)
{
	uint32_t delayed = DELAYED;

	if (gmt_descriptor_may_share_table() && gmt_descriptor_has_room(DESCRIPTORS) &&
		atomic_compare_exchange_strong(&writer.stage, &delayed, STARTED) &&
		!gmt_recorder_stack_run(write_all, NULL))
		atomic_store(&writer.stage, DELAYED);
}

void gmt_writer_stop(void)
{
	uint64_t deadline_ns = gmt_kernel_now_ns() + STOP_WAIT_NS, now_ns;

	atomic_store_explicit(&writer.stopping, true, memory_order_release);
	end_without_thread();
	atomic_store(&writer.next_try_ns, 0);
	gmt_writer_wake();
	if (gmt_writer_is_delayed()) {
		gmt_stderr_warn("the recorder has no thread and no descriptors; nothing is recorded");
		return;
	}
	/* Not pthread_timedjoin_np, whose clock may be set meanwhile. */
	while (!atomic_load_explicit(&writer.is_over, memory_order_acquire) &&
		(now_ns = gmt_kernel_now_ns()) < deadline_ns) {
		struct timespec limit = left_until(deadline_ns, now_ns);

		syscall(SYS_futex, &writer.is_over, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
	}
	if (atomic_load_explicit(&writer.is_over, memory_order_acquire))
		return;
	gmt_stderr_warn(
		"%s: the disk did not accept the rest within %d s; the end of the file is missing",
		writer.recording->path, (int)(STOP_WAIT_NS / 1000000000));
}

void gmt_writer_forget(void)
{
	gmt_host_threads_forget();
	gmt_exit_thread_forget();
	gmt_file_compaction_forget(&writer.compaction);
	atomic_store(&writer.stage, NOT_DELAYED);
}
