/* SPDX-License-Identifier: MIT */
#include "marks/phases.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "producer/clock.h"
#include "producer/mark.h"
#include "producer/push.h"
#include "producer/session_state.h"
#include "producer/thread.h"
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
	bool told;      /* the recording contains it */
	uint16_t below; /* index + 1 of this thread's next older phase; 0: no older phase */
	uint32_t depth; /* number of phases of its stack that are open below it */
	char name[GMT_MARK_NAME_BYTES];
};

enum start_state {
	FREE,
	HELD,    /* by one thread, which fills or records it */
	OPEN,
	STOPPED, /* another thread held it during its stop; that thread frees it */
};

struct start {
	_Atomic uint32_t state;
	struct phase phase;
};

/*
 * The open phases of a thread. Phases that found no room are only counted. The phases from before
 * the recording (untold) are below the phases from the recording (unkept).
 */
struct open {
	uint16_t newest; /* index + 1 */
	/* the thread is changing this struct; a signal handler that arrives then does nothing */
	bool busy;
	bool telling;
	bool has_key;
	uint32_t untold[SOURCES];
	uint32_t unkept[SOURCES];
};

static struct phase phases[OPEN_PHASES];
static _Atomic uint64_t taken[OPEN_PHASES / WORD_BITS];
static struct start starts[OPEN_STARTS];
static pthread_key_t key;
static bool key_is_made;

static __thread struct open open_here __attribute__((tls_model("initial-exec")));

static bool enter(struct open *open)
{
	if (open->busy || gmt_this_thread.is_ours)
		return false;
	open->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static void leave(struct open *open)
{
	atomic_signal_fence(memory_order_seq_cst);
	open->busy = false;
}

static struct phase *take_phase(void)
{
	for (uint32_t word = 0; word < OPEN_PHASES / WORD_BITS; word++) {
		uint64_t seen = atomic_load_explicit(&taken[word], memory_order_relaxed);

		while (~seen) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~seen);

			seen = atomic_fetch_or_explicit(&taken[word], 1ull << bit, memory_order_acquire);
			if (!(seen & 1ull << bit))
				return &phases[word * WORD_BITS + bit];
		}
	}
	return NULL;
}

static void free_phase(const struct phase *phase)
{
	size_t index = (size_t)(phase - phases);

	/* Pairs with the acquire in take_phase: the next owner writes only after our reads. */
	atomic_fetch_and_explicit(&taken[index / WORD_BITS], ~(1ull << index % WORD_BITS),
		memory_order_release);
}

/* Runs when a thread ends. */
static void free_phases_of_thread(void *unused)
{
	struct open *open = &open_here;

	(void)unused;
	for (uint16_t at = open->newest; at; at = phases[at - 1].below)
		free_phase(&phases[at - 1]);
	memset(open, 0, sizeof(*open));
}

/*
 * Finds the innermost stored phase of a stack, and the link that leads to it. Returns NULL if there
 * is none.
 */
static struct phase *find(struct open *open, enum gmt_mark_source source, uint64_t object,
	uint16_t **ret_link)
{
	for (uint16_t *link = &open->newest; *link; link = &phases[*link - 1].below) {
		struct phase *phase = &phases[*link - 1];

		if (phase->source != source || phase->object != object)
			continue;
		*ret_link = link;
		return phase;
	}
	return NULL;
}

static void fill(struct phase *phase, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object, bool told)
{
	/*
	 * The clock is not known before the constructor. Stamp 0 later becomes the start of the
	 * process.
	 */
	phase->stamp = gmt_clock_start.stamp ? gmt_clock_stamp() : 0;
	phase->object = object;
	phase->source = (uint8_t)source;
	phase->length = (uint8_t)gmt_mark_name_length(name, length);
	phase->told = told;
	if (phase->length)
		memcpy(phase->name, name, phase->length);
}

static void keep(struct open *open, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object, uint32_t depth, bool told)
{
	/*
	 * If one phase of this thread did not fit, the phases above it are not stored either. Otherwise
	 * pops would match the wrong phases.
	 */
	bool is_last_kept = !open->untold[source] && !open->unkept[source];
	struct phase *phase = is_last_kept ? take_phase() : NULL;

	if (!phase) {
		(told ? open->unkept : open->untold)[source]++;
		return;
	}
	fill(phase, source, name, length, object, told);
	phase->depth = depth;
	phase->below = open->newest;
	open->newest = (uint16_t)(phase - phases + 1);
	if (!open->has_key && key_is_made)
		open->has_key = pthread_setspecific(key, open) == 0;
}

int gmt_phase_push(enum gmt_mark_source source, const char *name, size_t length, uint64_t object)
{
	struct open *open = &open_here;
	uint16_t *link;

	if (!enter(open))
		return 0;

	struct phase *below = find(open, source, object, &link);
	uint32_t depth = (below ? below->depth + 1 : 0) + open->untold[source] + open->unkept[source];
	bool told = gmt_session_is_on();

	if (told)
		gmt_mark(GMT_MARK_KIND_PUSH, source, name, length, object);
	keep(open, source, name, length, object, depth, told);
	leave(open);
	return (int)depth;
}

/* Removes the innermost phase of a stack. Returns false if there is none. */
static bool take_innermost(struct open *open, enum gmt_mark_source source, uint64_t object,
	bool *ret_told, uint32_t *ret_depth)
{
	uint16_t *link;
	struct phase *phase = find(open, source, object, &link);
	uint32_t kept = phase ? phase->depth + 1 : 0;

	if (open->unkept[source] || open->untold[source]) {
		*ret_told = open->unkept[source] != 0;
		(*ret_told ? open->unkept : open->untold)[source]--;
		*ret_depth = kept + open->unkept[source] + open->untold[source];
		return true;
	}
	if (!phase)
		return false;
	*link = phase->below;
	*ret_told = phase->told;
	*ret_depth = phase->depth;
	free_phase(phase);
	return true;
}

static void tell_now(struct open *open);

int gmt_phase_pop(enum gmt_mark_source source, uint64_t object)
{
	struct open *open = &open_here;
	uint32_t depth = 0;
	bool told = false;

	if (!enter(open))
		return -1;
	/*
	 * Records a phase that began before the recording and ends in it, even if the thread has no
	 * other event.
	 */
	tell_now(open);

	bool found = take_innermost(open, source, object, &told, &depth);
	/* Without a recorded begin, a recorded end would close another phase. */
	if (told)
		gmt_mark(GMT_MARK_KIND_POP, source, NULL, 0, object);
	leave(open);
	return found ? (int)depth : -1;
}

/* Releases an entry that this thread held. */
static void let_go(struct start *start)
{
	uint32_t held = HELD;

	/* Pairs with the acquire in hold(). */
	if (!atomic_compare_exchange_strong_explicit(&start->state, &held, OPEN, memory_order_release,
			memory_order_relaxed))
		atomic_store_explicit(&start->state, FREE, memory_order_release);
}

static bool hold(struct start *start, enum start_state from)
{
	uint32_t state = from;

	return atomic_load_explicit(&start->state, memory_order_relaxed) == state &&
		atomic_compare_exchange_strong_explicit(&start->state, &state, HELD, memory_order_acquire,
			memory_order_relaxed);
}

void gmt_phase_start(enum gmt_mark_source source, const char *name, size_t length, uint64_t object)
{
	struct start *start = NULL;
	bool told = gmt_session_is_on();

	if (gmt_this_thread.is_ours)
		return;
	if (told)
		gmt_mark(GMT_MARK_KIND_START, source, name, length, object);
	for (int i = 0; i < OPEN_STARTS && !start; i++)
		start = hold(&starts[i], FREE) ? &starts[i] : NULL;
	if (!start)
		return;
	fill(&start->phase, source, name, length, object, told);
	/*
	 * The recording may have begun meanwhile, and its first thread may already have gone through
	 * `starts`.
	 */
	if (!told && gmt_session_is_on()) {
		gmt_mark(GMT_MARK_KIND_START, source, name, length, object);
		start->phase.told = true;
	}
	let_go(start);
}

void gmt_phase_stop(enum gmt_mark_source source, uint64_t object)
{
	if (gmt_this_thread.is_ours)
		return;
	for (int i = 0; i < OPEN_STARTS; i++) {
		struct start *start = &starts[i];
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

static void tell(enum gmt_mark_kind kind, struct phase *phase, bool in_recorder)
{
	/* A phase in the child of a fork begins when the child does. */
	uint64_t stamp = phase->stamp > gmt_clock_start.stamp ? phase->stamp : gmt_clock_start.stamp;

	phase->told = true;
	(in_recorder ? gmt_mark_in_recorder : gmt_mark_at)(kind, (enum gmt_mark_source)phase->source,
		phase->name, phase->length, phase->object, stamp);
}

/*
 * Returns the oldest phase that is not recorded yet: a phase of this thread, or a start. The thread
 * then holds that start.
 */
static struct phase *oldest_untold(const struct open *open, struct start **ret_start)
{
	struct phase *oldest = NULL;

	*ret_start = NULL;
	for (uint16_t at = open->newest; at; at = phases[at - 1].below)
		if (!phases[at - 1].told)
			oldest = &phases[at - 1];
	for (int i = 0; i < OPEN_STARTS; i++) {
		if (!hold(&starts[i], OPEN))
			continue;
		if (starts[i].phase.told || (oldest && oldest->stamp <= starts[i].phase.stamp)) {
			let_go(&starts[i]);
			continue;
		}
		if (*ret_start)
			let_go(*ret_start);
		*ret_start = &starts[i];
		oldest = &starts[i].phase;
	}
	return oldest;
}

/* Records in the order of stamps, because the stamps of a thread's events must not decrease. */
static void tell_untold(struct open *open, bool in_recorder)
{
	struct start *start;
	struct phase *phase;

	/* The first recorded phase is the thread's first event, which calls this function again. */
	if (open->telling)
		return;
	open->telling = true;
	while ((phase = oldest_untold(open, &start))) {
		tell(start ? GMT_MARK_KIND_START : GMT_MARK_KIND_PUSH, phase, in_recorder);
		if (start)
			let_go(start);
	}
	open->telling = false;
}

/* Runs in the recorder, before a thread's first event in a recording. */
static void tell_at_first(void)
{
	struct open *open = &open_here;
	bool was_busy = open->busy;

	open->busy = true;
	tell_untold(open, true);
	open->busy = was_busy;
}

/*
 * Records the thread's open phases that are not recorded yet. The thread may have had no event so
 * far.
 */
static void tell_now(struct open *open)
{
	bool is_any_untold = false;

	for (uint16_t at = open->newest; at && !is_any_untold; at = phases[at - 1].below)
		is_any_untold = !phases[at - 1].told;
	if (is_any_untold && gmt_session_is_on() && !gmt_this_thread.in_recorder)
		tell_untold(open, false);
}

void gmt_phase_end(void)
{
	if (enter(&open_here)) {
		tell_now(&open_here);
		leave(&open_here);
	}
}

/* Call in the child of a fork. */
static void after_fork(void)
{
	struct open *open = &open_here;

	for (uint32_t word = 0; word < OPEN_PHASES / WORD_BITS; word++)
		atomic_store(&taken[word], 0);
	for (uint16_t at = open->newest; at; at = phases[at - 1].below) {
		phases[at - 1].told = false;
		atomic_fetch_or(&taken[(at - 1) / WORD_BITS], 1ull << (at - 1) % WORD_BITS);
	}
	for (int source = 0; source < SOURCES; source++) {
		open->untold[source] += open->unkept[source];
		open->unkept[source] = 0;
	}
	for (int i = 0; i < OPEN_STARTS; i++) {
		starts[i].phase.told = false;
		/* The thread that held it does not exist in the child. */
		if (atomic_load(&starts[i].state) != OPEN)
			atomic_store(&starts[i].state, FREE);
	}
}

void gmt_phase_init(void)
{
	key_is_made = pthread_key_create(&key, free_phases_of_thread) == 0;
	gmt_push_call_at_first(tell_at_first);
}

GMT_AT_STAGE(after_fork, MARKS, after_fork);
