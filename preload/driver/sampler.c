/* SPDX-License-Identifier: MIT */
#include "driver/sampler.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hooks/call_counts.h"
#include "runtime/config.h"
#include "hooks/hooks.h"
#include "driver/nvml.h"
#include "driver/known_pools.h"
#include "runtime/bounded_wait.h"
#include "runtime/recorder_stack.h"
#include "producer/clock.h"
#include "driver/sample_queue.h"
#include "producer/session_state.h"
#include "driver/contexts.h"
#include "driver/driver_queries.h"
#include "producer/thread_state.h"
#include "runtime/stages.h"

enum {
	DEVICES = 64,
	/* Shortest time between rounds; with the writer's rounds this gives at most four a second */
	EVERY_NS = 200000000,
	TORCH_EVERY_NS = 2000000000, /* the same, while only PyTorch's allocator makes calls */
	COST_FACTOR = 50, /* the pause after a round is at least so many times the round's duration */
	STOP_WAIT_NS = 250000000,
	LAST_ROUND_WAIT_NS = 100000000,
	SAMPLE_WAIT_NS = 200000000,
	SLEEP_S = 60, /* longest sleep without a wake-up */
};

/* Longest time between rounds, even without calls, because other processes come and go */
static const uint64_t IDLE_EVERY_NS = 10000000000;

enum state { NOT_STARTED, RUNNING, STOPPED };

static struct {
	_Atomic int state;
	_Atomic bool has_thread; /* set after the thread was created */
	_Atomic pid_t owner;            /* the process that the thread is in */
	_Atomic uint32_t wanted;        /* futex: counts requests */
	_Atomic uint32_t answered;      /* futex: counts finished devices and rounds */
	_Atomic uint32_t rounds_done;
	_Atomic bool round_wanted;
	_Atomic bool is_querying; /* the thread asks the driver or NVML */
	_Atomic bool is_late; /* a sample was not ready in time: later callers do not wait */
	_Atomic uint64_t round_ns, round_took_ns; /* start and duration of the last round */
	/* Numbers of calls at the last requested round. Only the writer's thread uses them. */
	uint64_t driver_calls, torch_calls;
} sampler;

/*
 * Per device: `asked` counts requests, and `done` is the last request that was answered. The other
 * members are the last answer. One answer serves all requests made before it.
 */
static struct slot {
	_Atomic uint32_t asked, done;
	_Atomic uint32_t known;
	_Atomic uint64_t free_bytes, nvml_used_bytes, process_bytes, others_bytes;
} slots[DEVICES];

static void wake(_Atomic uint32_t *futex, int count)
{
	atomic_fetch_add(futex, 1);
	syscall(SYS_futex, futex, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/*
 * Pairs with the check of `is_querying` in gmt_sampler_stop: at least one of the two sees the
 * other.
 */
static bool begin_query(void)
{
	atomic_store(&sampler.is_querying, true);
	if (atomic_load(&sampler.state) == RUNNING)
		return true;
	atomic_store(&sampler.is_querying, false);
	return false;
}

static void end_query(void)
{
	atomic_store(&sampler.is_querying, false);
}

/* Returns a live context of the device, or 0. The caller holds all contexts. */
static uint64_t live_context(int device)
{
	uint64_t primary = gmt_contexts_primary(device);

	return primary && gmt_driver_primary_is_active(device) ? primary
														   : gmt_contexts_of_device(device);
}

/*
 * Adds the driver's answers to the sample. Returns false if there is no context for the queries.
 */
static bool ask_driver(int device, struct gmt_sample *sample)
{
	uint64_t context;

	if (!gmt_contexts_hold_all())
		return false;
	context = live_context(device);
	if (context && gmt_driver_memory_of_context(context, &sample->free_bytes, &sample->total_bytes))
		sample->known |= GMT_SAMPLE_DRIVER;
	if (context &&
		gmt_driver_graph_memory(device, &sample->graph_reserved_bytes, &sample->graph_used_bytes))
		sample->known |= GMT_SAMPLE_GRAPHS;
	gmt_contexts_release_all();
	return context != 0;
}

/* Records the state of a pool if it changed. */
static void push_pool(unsigned index, const struct gmt_pool_info *info,
	const struct gmt_driver_pool_attributes *now)
{
	static struct {
		uint64_t handle;
		struct gmt_driver_pool_attributes recorded;
	} before[GMT_POOLS_MAX];
	struct gmt_pool row = {
		.stamp = gmt_clock_stamp(),
		.device = info->device,
		.handle = info->handle,
		.origin = info->origin,
		.reserved_bytes = now->reserved_bytes,
		.used_bytes = now->used_bytes,
		.reserved_high_bytes = now->reserved_high_bytes,
		.used_high_bytes = now->used_high_bytes,
		.threshold_bytes = now->threshold_bytes,
	};

	if (before[index].handle == info->handle &&
		memcmp(&before[index].recorded, now, sizeof(*now)) == 0)
		return;
	/* An unused default pool is not recorded. */
	if (before[index].handle != info->handle && info->origin == GMT_POOL_DEFAULT &&
		!now->reserved_high_bytes)
		return;
	if (gmt_sample_queue_push_pool(&row)) {
		before[index].handle = info->handle;
		before[index].recorded = *now;
	}
}

/*
 * Adds the pools of a device to the sample. The memory of an imported pool belongs to the process
 * that made the pool. The memory of a managed pool belongs to no fixed device.
 */
static void ask_pools(int device, struct gmt_sample *sample)
{
	bool all_answered = true;

	gmt_known_pools_add_default(device);
	for (unsigned i = 0; i < GMT_POOLS_MAX; i++) {
		struct gmt_pool_info info;
		struct gmt_driver_pool_attributes now = { 0 };

		if (!gmt_known_pools_hold(i, &info))
			continue;
		if (info.device == device && !info.is_managed) {
			bool answers = gmt_driver_pool_attributes(info.handle, &now);

			all_answered &= answers;
			if (answers)
				push_pool(i, &info, &now);
			if (answers && info.origin != GMT_POOL_IMPORTED) {
				sample->pool_reserved_bytes += now.reserved_bytes;
				sample->pool_used_bytes += now.used_bytes;
			}
		}
		gmt_known_pools_release(i);
	}
	if (all_answered)
		sample->known |= GMT_SAMPLE_POOLS;
}

static void at_exit(void)
{
	gmt_sampler_stop(true);
}

/*
 * Registers at_exit. Exit handlers run in reverse order. The driver and its runtimes have
 * registered their handlers by the time a context exists, so they still work when at_exit runs.
 */
static void register_at_exit(void)
{
	static bool is_done;

	if (!is_done)
		atexit(at_exit);
	is_done = true;
}

static void take_sample(int device)
{
	struct gmt_sample sample = { .begin_stamp = gmt_clock_stamp(), .device = (uint16_t)device };
	struct gmt_nvml_answer nvml = { 0 };
	struct slot *slot = &slots[device];
	uint32_t asked = atomic_load(&slot->asked);
	bool may_be_listed = gmt_contexts_seen_any();

	if (ask_driver(device, &sample))
		ask_pools(device, &sample);
	if (gmt_config.nvml && gmt_nvml_open())
		gmt_nvml_ask((unsigned)device, may_be_listed, &nvml);
	sample.known |= nvml.known;
	sample.nvml_used_bytes = nvml.used_bytes;
	sample.process_bytes = nvml.process_bytes;
	sample.others_bytes = nvml.others_bytes;
	sample.stamp = gmt_clock_stamp();
	if (sample.known)
		gmt_sample_queue_push(&sample);
	if (sample.known & GMT_SAMPLE_DRIVER)
		register_at_exit();

	atomic_store_explicit(&slot->known, sample.known, memory_order_relaxed);
	atomic_store_explicit(&slot->free_bytes, sample.free_bytes, memory_order_relaxed);
	atomic_store_explicit(&slot->nvml_used_bytes, sample.nvml_used_bytes, memory_order_relaxed);
	atomic_store_explicit(&slot->process_bytes, sample.process_bytes, memory_order_relaxed);
	atomic_store_explicit(&slot->others_bytes, sample.others_bytes, memory_order_relaxed);
	/* Pairs with the acquire in wait_for. */
	atomic_store_explicit(&slot->done, asked, memory_order_release);
	atomic_store(&sampler.is_late, false);
	wake(&sampler.answered, INT32_MAX);
}

static bool has_context(int device)
{
	return gmt_contexts_primary(device) || gmt_contexts_of_device(device);
}

/* Takes the requested samples; in a round, of each device with a context. */
static void take_samples(bool is_round)
{
	uint64_t begin_ns = gmt_clock_monotonic_ns();

	for (int device = 0; device < DEVICES; device++) {
		struct slot *slot = &slots[device];
		bool is_asked = atomic_load(&slot->asked) != atomic_load(&slot->done);

		if (!is_asked && !(is_round && has_context(device)))
			continue;
		if (!begin_query())
			return;
		take_sample(device);
		end_query();
	}
	if (is_round) {
		atomic_store(&sampler.round_took_ns, gmt_clock_monotonic_ns() - begin_ns);
		atomic_fetch_add(&sampler.rounds_done, 1);
		wake(&sampler.answered, INT32_MAX);
	}
}

/* The sampler's thread. */
static void *run(void *unused)
{
	(void)unused;
	gmt_this_thread.is_recorder_thread = true;
	gmt_recorder_stack_not_needed();
	gmt_this_thread.in_recorder = GMT_IN_RECORDER_RECORDING;
	prctl(PR_SET_NAME, "gmt-sampler", 0, 0, 0);
	if (!gmt_driver_relax_capture_mode()) {
		atomic_store(&sampler.state, STOPPED);
		wake(&sampler.answered, INT32_MAX);
		return NULL;
	}
	/* Opens NVML first, so that this time does not count as the duration of a round. */
	if (gmt_config.nvml && begin_query()) {
		gmt_nvml_open();
		end_query();
	}
	while (atomic_load(&sampler.state) == RUNNING) {
		const struct timespec longest = { .tv_sec = SLEEP_S };
		uint32_t seen = atomic_load(&sampler.wanted);

		take_samples(atomic_exchange(&sampler.round_wanted, false));
		syscall(SYS_futex, &sampler.wanted, FUTEX_WAIT_PRIVATE, seen, &longest, NULL, 0);
	}
	return NULL;
}

bool gmt_sampler_start(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int not_started = NOT_STARTED;

	if (atomic_load(&sampler.state) != NOT_STARTED)
		return atomic_load(&sampler.state) == RUNNING;
	/* Before cuInit the driver answers no query, and the sampler would stop for good. */
	if (!gmt_config.samples || !gmt_session_may_make_threads() || !gmt_driver_device_count() ||
		!atomic_compare_exchange_strong(&sampler.state, &not_started, RUNNING))
		return atomic_load(&sampler.state) == RUNNING;
	atomic_store(&sampler.owner, getpid());

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* The thread inherits the mask, so it never receives a signal of the host. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &attributes, run, NULL))
		atomic_store(&sampler.state, STOPPED);
	else
		atomic_store(&sampler.has_thread, true);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return atomic_load(&sampler.state) == RUNNING;
}

/* Counts the hooked calls of the driver, and of PyTorch's allocator. */
static void count_calls(uint64_t *ret_driver, uint64_t *ret_torch)
{
	*ret_driver = *ret_torch = 0;
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		uint64_t count = gmt_call_counts_total(hook);

		if (gmt_hooks[hook].library == GMT_LIBRARY_CUDA)
			*ret_driver += count;
		else if (gmt_hooks[hook].library == GMT_LIBRARY_C10)
			*ret_torch += count;
	}
}

void gmt_sampler_tick(void)
{
	uint64_t now_ns = gmt_clock_monotonic_ns(), since_ns = now_ns - atomic_load(&sampler.round_ns);
	uint64_t pause_ns = atomic_load(&sampler.round_took_ns) * COST_FACTOR;
	uint64_t driver, torch;

	if (atomic_load(&sampler.state) != RUNNING || since_ns < EVERY_NS || since_ns < pause_ns)
		return;
	count_calls(&driver, &torch);
	if (driver == sampler.driver_calls && since_ns < IDLE_EVERY_NS &&
		(torch == sampler.torch_calls || since_ns < TORCH_EVERY_NS))
		return;
	sampler.driver_calls = driver;
	sampler.torch_calls = torch;
	atomic_store(&sampler.round_ns, now_ns);
	atomic_store(&sampler.round_wanted, true);
	wake(&sampler.wanted, 1);
}

/* Waits until `count` has reached `mine`. Returns false if the sampler stops or time runs out. */
static bool wait_for(const _Atomic uint32_t *count, uint32_t mine, uint64_t wait_ns)
{
	uint64_t deadline_ns = gmt_kernel_now_ns() + wait_ns, now_ns;

	for (;;) {
		uint32_t seen = atomic_load(&sampler.answered);
		struct timespec limit;

		/* The counters may wrap around. */
		if ((int32_t)(atomic_load_explicit(count, memory_order_acquire) - mine) >= 0)
			return true;
		now_ns = gmt_kernel_now_ns();
		if (atomic_load(&sampler.state) != RUNNING || now_ns >= deadline_ns)
			return false;
		limit = (struct timespec){
			.tv_sec = (time_t)((deadline_ns - now_ns) / 1000000000),
			.tv_nsec = (long)((deadline_ns - now_ns) % 1000000000),
		};
		syscall(SYS_futex, &sampler.answered, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
	}
}

bool gmt_sampler_sample_now(int device, struct gmt_sample *ret_sample)
{
	int kept_errno = errno;
	bool has_answer = false;

	if (device >= 0 && device < DEVICES && gmt_session_may_begin() && gmt_sampler_start()) {
		struct slot *slot = &slots[device];
		uint32_t mine = atomic_fetch_add(&slot->asked, 1) + 1;

		wake(&sampler.wanted, 1);
		has_answer = !atomic_load(&sampler.is_late) &&
			wait_for(&slot->done, mine, gmt_config_wait_ns(SAMPLE_WAIT_NS));
		if (!has_answer)
			atomic_store(&sampler.is_late, true);
		*ret_sample = (struct gmt_sample){
			.device = (uint16_t)device,
			.known = (uint16_t)atomic_load_explicit(&slot->known, memory_order_relaxed),
			.free_bytes = atomic_load_explicit(&slot->free_bytes, memory_order_relaxed),
			.nvml_used_bytes = atomic_load_explicit(&slot->nvml_used_bytes, memory_order_relaxed),
			.process_bytes = atomic_load_explicit(&slot->process_bytes, memory_order_relaxed),
			.others_bytes = atomic_load_explicit(&slot->others_bytes, memory_order_relaxed),
		};
	}
	errno = kept_errno;
	return has_answer;
}

bool gmt_sampler_is_running(void)
{
	return atomic_load(&sampler.state) == RUNNING && atomic_load(&sampler.has_thread) &&
		atomic_load(&sampler.owner) == getpid();
}

void gmt_sampler_stop(bool once_more)
{
	struct gmt_bounded_wait wait;
	bool answers = !atomic_load(&sampler.is_late);
	int not_started = NOT_STARTED;

	/* If the sampler has not started, it never starts. */
	if (atomic_compare_exchange_strong(&sampler.state, &not_started, STOPPED) ||
		!gmt_sampler_is_running())
		return;
	if (once_more && gmt_session_is_on() && answers) {
		uint32_t mine = atomic_load(&sampler.rounds_done) + 1;

		atomic_store(&sampler.round_wanted, true);
		wake(&sampler.wanted, 1);
		answers = wait_for(&sampler.rounds_done, mine, gmt_config_wait_ns(LAST_ROUND_WAIT_NS));
	}
	atomic_store(&sampler.state, STOPPED);
	wake(&sampler.wanted, 1);
	/*
	 * The wait is bounded, because the sampler may wait for this thread: for example for the
	 * loader's lock, when a library's constructor calls exit.
	 */
	wait = gmt_bounded_wait_begin(answers ? gmt_config_wait_ns(STOP_WAIT_NS) : STOP_WAIT_NS);
	while (atomic_load(&sampler.is_querying) && gmt_bounded_wait_rest(&wait))
		;
}

/* Stops a started sampler in the child of a fork, because its thread does not exist there. */
static void after_fork(void)
{
	if (atomic_load(&sampler.state) != NOT_STARTED)
		atomic_store(&sampler.state, STOPPED);
	atomic_store(&sampler.is_querying, false);
}

GMT_AT_STAGE(after_fork, DRIVER, after_fork);
