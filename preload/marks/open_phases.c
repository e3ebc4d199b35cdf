/* SPDX-License-Identifier: MIT */
#include "marks/open_phases.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "producer/clock.h"
#include "producer/mark.h"
#include "producer/thread_ring.h"
#include "producer/session_state.h"
#include "producer/thread_state.h"
#include "runtime/stages.h"

enum {
	OPEN_PHASES = 256, /* for all threads together */
	OPEN_STARTS = 64,
	WORD_BITS = 64,
	SOURCES = GMT_MARK_SOURCE_NVTX + 1,
};

struct phase {
	uint64_t stamp;
	uint64_t object;
	uint8_t source;
	uint8_t length;
	bool is_recorded;      /* the recording contains its begin */
	uint16_t outer; /* index + 1 of this thread's previous phase; 0: no earlier phase */
	uint32_t depth; /* number of open outer phases of the same stack */
	char name[GMT_MARK_NAME_BYTES];
};

enum start_state {
	FREE,
	HELD,    /* one thread fills or records the entry */
	OPEN,
	STOPPED, /* the phase ended while a thread held the entry; that thread frees the entry */
};

struct start {
	_Atomic uint32_t state;
	struct phase phase;
};

/*
 * The open phases of a thread. If all entries are in use, further phases are only counted:
 * `unstored_unrecorded` began before the recording, `unstored_recorded` in the recording. The
 * former are outside of the latter.
 */
struct thread_phases {
	uint16_t newest; /* index + 1 */
	/* The thread is changing this struct. A signal handler that interrupts it does nothing. */
	bool is_changing;
	bool is_recording;
	bool has_key;
	uint32_t unstored_unrecorded[SOURCES];
	uint32_t unstored_recorded[SOURCES];
};

static struct {
	struct phase phases[OPEN_PHASES];
	_Atomic uint64_t used_phases[OPEN_PHASES / WORD_BITS];
	struct start starts[OPEN_STARTS];
	pthread_key_t key;
	bool is_key_created;
} open_phases;

static __thread struct thread_phases phases_of_this_thread
	__attribute__((tls_model("initial-exec")));

/* Returns false if a signal handler has interrupted a change, or in a thread of the recorder. */
static bool enter(struct thread_phases *thread_phases)
{
	if (thread_phases->is_changing || gmt_this_thread.is_recorder_thread)
		return false;
	thread_phases->is_changing = true;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static void leave(struct thread_phases *thread_phases)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread_phases->is_changing = false;
}

static struct phase *take_phase(void)
{
	for (uint32_t word = 0; word < OPEN_PHASES / WORD_BITS; word++) {
		uint64_t used_bits =
			atomic_load_explicit(&open_phases.used_phases[word], memory_order_relaxed);

		while (~used_bits) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~used_bits);

			used_bits = atomic_fetch_or_explicit(&open_phases.used_phases[word], 1ull << bit,
				memory_order_acquire);
			if (!(used_bits & 1ull << bit))
				return &open_phases.phases[word * WORD_BITS + bit];
		}
	}
	return NULL;
}

static void free_phase(const struct phase *phase)
{
	size_t index = (size_t)(phase - open_phases.phases);

	/* Pairs with the acquire in take_phase: the next owner writes only after our reads. */
	atomic_fetch_and_explicit(&open_phases.used_phases[index / WORD_BITS],
		~(1ull << index % WORD_BITS), memory_order_release);
}

/* Runs when a thread ends. */
static void free_phases_of_thread(void *unused)
{
	struct thread_phases *thread_phases = &phases_of_this_thread;

	(void)unused;
	for (uint16_t at = thread_phases->newest; at; at = open_phases.phases[at - 1].outer)
		free_phase(&open_phases.phases[at - 1]);
	memset(thread_phases, 0, sizeof(*thread_phases));
}

/*
 * Finds the innermost stored phase of a stack, and the link that leads to the phase. Returns NULL
 * if the stack has no stored phase.
 */
static struct phase *find(struct thread_phases *thread_phases, enum gmt_mark_source source,
	uint64_t object, uint16_t **ret_link)
{
	for (uint16_t *link = &thread_phases->newest; *link;
		link = &open_phases.phases[*link - 1].outer) {
		struct phase *phase = &open_phases.phases[*link - 1];

		if (phase->source != source || phase->object != object)
			continue;
		*ret_link = link;
		return phase;
	}
	return NULL;
}

static void fill(struct phase *phase, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object, bool is_recorded)
{
	/*
	 * The clock is not known before the constructor. Stamp 0 later becomes the start of the
	 * process.
	 */
	phase->stamp = gmt_clock_start.stamp ? gmt_clock_stamp() : 0;
	phase->object = object;
	phase->source = (uint8_t)source;
	phase->length = (uint8_t)gmt_mark_name_length(name, length);
	phase->is_recorded = is_recorded;
	if (phase->length)
		memcpy(phase->name, name, phase->length);
}

static void store(struct thread_phases *thread_phases, enum gmt_mark_source source,
	const char *name, size_t length, uint64_t object, uint32_t depth, bool is_recorded)
{
	/*
	 * If a phase of this thread did not fit, the phases inside it are not stored either. Otherwise
	 * pops would match the wrong phases.
	 */
	bool are_all_stored =
		!thread_phases->unstored_unrecorded[source] && !thread_phases->unstored_recorded[source];
	struct phase *phase = are_all_stored ? take_phase() : NULL;

	if (!phase) {
		(is_recorded ? thread_phases->unstored_recorded
					 : thread_phases->unstored_unrecorded)[source]++;
		return;
	}
	fill(phase, source, name, length, object, is_recorded);
	phase->depth = depth;
	phase->outer = thread_phases->newest;
	thread_phases->newest = (uint16_t)(phase - open_phases.phases + 1);
	if (!thread_phases->has_key && open_phases.is_key_created)
		thread_phases->has_key = pthread_setspecific(open_phases.key, thread_phases) == 0;
}

int gmt_phase_push(enum gmt_mark_source source, const char *name, size_t length, uint64_t object)
{
	struct thread_phases *thread_phases = &phases_of_this_thread;
	uint16_t *link;

	if (!enter(thread_phases))
		return 0;

	struct phase *outer = find(thread_phases, source, object, &link);
	uint32_t depth = (outer ? outer->depth + 1 : 0) + thread_phases->unstored_unrecorded[source] +
		thread_phases->unstored_recorded[source];
	bool is_recorded = gmt_session_is_on();

	if (is_recorded)
		gmt_mark(GMT_MARK_KIND_PUSH, source, name, length, object);
	store(thread_phases, source, name, length, object, depth, is_recorded);
	leave(thread_phases);
	return (int)depth;
}

/* Removes the innermost phase of a stack. Returns false if the stack is empty. */
static bool remove_innermost(struct thread_phases *thread_phases, enum gmt_mark_source source,
	uint64_t object, bool *ret_is_recorded, uint32_t *ret_depth)
{
	uint16_t *link;
	struct phase *phase = find(thread_phases, source, object, &link);
	uint32_t stored_depth = phase ? phase->depth + 1 : 0;

	if (thread_phases->unstored_recorded[source] || thread_phases->unstored_unrecorded[source]) {
		*ret_is_recorded = thread_phases->unstored_recorded[source] != 0;
		(*ret_is_recorded ? thread_phases->unstored_recorded
						  : thread_phases->unstored_unrecorded)[source]--;
		*ret_depth = stored_depth + thread_phases->unstored_recorded[source] +
			thread_phases->unstored_unrecorded[source];
		return true;
	}
	if (!phase)
		return false;
	*link = phase->outer;
	*ret_is_recorded = phase->is_recorded;
	*ret_depth = phase->depth;
	free_phase(phase);
	return true;
}

static void record_now(struct thread_phases *thread_phases);

int gmt_phase_pop(enum gmt_mark_source source, uint64_t object)
{
	struct thread_phases *thread_phases = &phases_of_this_thread;
	uint32_t depth = 0;
	bool is_recorded = false;

	if (!enter(thread_phases))
		return -1;
	/*
	 * Records a phase that began before the recording and ends in it, even if the thread has no
	 * other event.
	 */
	record_now(thread_phases);

	bool found = remove_innermost(thread_phases, source, object, &is_recorded, &depth);
	/* If the begin is not recorded, a recorded end would close another phase. */
	if (is_recorded)
		gmt_mark(GMT_MARK_KIND_POP, source, NULL, 0, object);
	leave(thread_phases);
	return found ? (int)depth : -1;
}

/* Releases an entry that this thread held. */
static void release_start(struct start *start)
{
	uint32_t held = HELD;

	/* Pairs with the acquire in hold_start. */
	if (!atomic_compare_exchange_strong_explicit(&start->state, &held, OPEN, memory_order_release,
			memory_order_relaxed))
		atomic_store_explicit(&start->state, FREE, memory_order_release);
}

/* Takes an entry whose state is `from` for this thread. Returns false if it has another state. */
static bool hold_start(struct start *start, enum start_state from)
{
	uint32_t state = from;

	return atomic_load_explicit(&start->state, memory_order_relaxed) == state &&
		atomic_compare_exchange_strong_explicit(&start->state, &state, HELD, memory_order_acquire,
			memory_order_relaxed);
}

void gmt_phase_start(enum gmt_mark_source source, const char *name, size_t length, uint64_t object)
{
	struct start *start = NULL;
	bool is_recorded = gmt_session_is_on();

	if (gmt_this_thread.is_recorder_thread)
		return;
	if (is_recorded)
		gmt_mark(GMT_MARK_KIND_START, source, name, length, object);
	for (int i = 0; i < OPEN_STARTS && !start; i++)
		start = hold_start(&open_phases.starts[i], FREE) ? &open_phases.starts[i] : NULL;
	if (!start)
		return;
	fill(&start->phase, source, name, length, object, is_recorded);
	/*
	 * The recording may have begun meanwhile, and its first thread may already have gone through
	 * `starts`.
	 */
	if (!is_recorded && gmt_session_is_on()) {
		gmt_mark(GMT_MARK_KIND_START, source, name, length, object);
		start->phase.is_recorded = true;
	}
	release_start(start);
}

void gmt_phase_stop(enum gmt_mark_source source, uint64_t object)
{
	if (gmt_this_thread.is_recorder_thread)
		return;
	for (int i = 0; i < OPEN_STARTS; i++) {
		struct start *start = &open_phases.starts[i];
		uint32_t state = atomic_load_explicit(&start->state, memory_order_acquire);

		if (state == FREE || start->phase.object != object || start->phase.source != source)
			continue;
		/* The thread that holds the entry now frees it. */
		while ((state == OPEN || state == HELD) &&
			!atomic_compare_exchange_weak(&start->state, &state, state == OPEN ? FREE : STOPPED))
			;
		break;
	}
	gmt_mark(GMT_MARK_KIND_STOP, source, NULL, 0, object);
}

static void record(enum gmt_mark_kind kind, struct phase *phase, bool in_recorder)
{
	/* A phase in the child of a fork begins when the child does. */
	uint64_t stamp = phase->stamp > gmt_clock_start.stamp ? phase->stamp : gmt_clock_start.stamp;

	phase->is_recorded = true;
	(in_recorder ? gmt_mark_in_recorder : gmt_mark_at)(kind, (enum gmt_mark_source)phase->source,
		phase->name, phase->length, phase->object, stamp);
}

/*
 * Returns the oldest phase that is not recorded yet: a phase of this thread, or a start. The thread
 * then holds that start.
 */
static struct phase *oldest_unrecorded(const struct thread_phases *thread_phases,
	struct start **ret_start)
{
	struct phase *oldest = NULL;

	*ret_start = NULL;
	for (uint16_t at = thread_phases->newest; at; at = open_phases.phases[at - 1].outer)
		if (!open_phases.phases[at - 1].is_recorded)
			oldest = &open_phases.phases[at - 1];
	for (int i = 0; i < OPEN_STARTS; i++) {
		if (!hold_start(&open_phases.starts[i], OPEN))
			continue;
		if (open_phases.starts[i].phase.is_recorded ||
			(oldest && oldest->stamp <= open_phases.starts[i].phase.stamp)) {
			release_start(&open_phases.starts[i]);
			continue;
		}
		if (*ret_start)
			release_start(*ret_start);
		*ret_start = &open_phases.starts[i];
		oldest = &open_phases.starts[i].phase;
	}
	return oldest;
}

/* Records the phases in the order of their stamps: a thread's stamps must not decrease. */
static void record_unrecorded(struct thread_phases *thread_phases, bool in_recorder)
{
	struct start *start;
	struct phase *phase;

	/* The mark of the first phase is the thread's first event, which calls this function again. */
	if (thread_phases->is_recording)
		return;
	thread_phases->is_recording = true;
	while ((phase = oldest_unrecorded(thread_phases, &start))) {
		record(start ? GMT_MARK_KIND_START : GMT_MARK_KIND_PUSH, phase, in_recorder);
		if (start)
			release_start(start);
	}
	thread_phases->is_recording = false;
}

/* Runs in the recorder, before a thread's first event in a recording. */
static void record_before_first_event(void)
{
	struct thread_phases *thread_phases = &phases_of_this_thread;
	bool was_changing = thread_phases->is_changing;

	thread_phases->is_changing = true;
	record_unrecorded(thread_phases, true);
	thread_phases->is_changing = was_changing;
}

/*
 * Records the thread's open phases that are not recorded yet. The thread may have had no event so
 * far.
 */
static void record_now(struct thread_phases *thread_phases)
{
	bool is_any_unrecorded = false;

	for (uint16_t at = thread_phases->newest; at && !is_any_unrecorded;
		at = open_phases.phases[at - 1].outer)
		is_any_unrecorded = !open_phases.phases[at - 1].is_recorded;
	if (is_any_unrecorded && gmt_session_is_on() && !gmt_this_thread.in_recorder)
		record_unrecorded(thread_phases, false);
}

void gmt_phase_end(void)
{
	if (enter(&phases_of_this_thread)) {
		record_now(&phases_of_this_thread);
		leave(&phases_of_this_thread);
	}
}

/* Call in the child of a fork. */
static void after_fork(void)
{
	struct thread_phases *thread_phases = &phases_of_this_thread;

	for (uint32_t word = 0; word < OPEN_PHASES / WORD_BITS; word++)
		atomic_store(&open_phases.used_phases[word], 0);
	for (uint16_t at = thread_phases->newest; at; at = open_phases.phases[at - 1].outer) {
		open_phases.phases[at - 1].is_recorded = false;
		atomic_fetch_or(&open_phases.used_phases[(at - 1) / WORD_BITS],
			1ull << (at - 1) % WORD_BITS);
	}
	for (int source = 0; source < SOURCES; source++) {
		thread_phases->unstored_unrecorded[source] += thread_phases->unstored_recorded[source];
		thread_phases->unstored_recorded[source] = 0;
	}
	for (int i = 0; i < OPEN_STARTS; i++) {
		open_phases.starts[i].phase.is_recorded = false;
		/* The thread that held it does not exist in the child. */
		if (atomic_load(&open_phases.starts[i].state) != OPEN)
			atomic_store(&open_phases.starts[i].state, FREE);
	}
}

void gmt_phase_init(void)
{
	open_phases.is_key_created = pthread_key_create(&open_phases.key, free_phases_of_thread) == 0;
	gmt_thread_ring_call_at_first_event(record_before_first_event);
}

GMT_AT_STAGE(after_fork, MARKS, after_fork);
