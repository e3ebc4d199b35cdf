/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_REPLAY_REPLAY_H
#define GMT_READER_REPLAY_REPLAY_H

/*
 * Replays the events of a recording into the accounting. In the flow: recording + traces -> replay
 * -> analysis. A site is one merged stack in one layer, device and space.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "accounting/accounting.h"
#include "accounting/interpret.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"

#define GMT_REPLAY_TO_END UINT64_MAX

enum { GMT_REPLAY_OBSERVERS = 16 }; /* maximum number of observers */

/* For an observer that needs `before` only for some kinds of events. */
extern const uint64_t gmt_replay_quiet; /* a `next_needed_stamp` that covers the whole recording */
#define GMT_REPLAY_KIND(NAME) (UINT32_C(1) << GMT_KIND_##NAME)

/* A request that was refused. */
struct gmt_replay_refusal {
	size_t event; /* number of the event in order of time */
	uint32_t site;
};

/* A free that was refused. */
struct gmt_replay_refused_free {
	size_t event; /* number of the event in order of time */
	/* a block is live at the address, so the refusal has another reason; also true if unknown */
	bool is_live;
};

/* The threads that allocated a site's blocks. */
struct gmt_replay_allocating_thread {
	uint32_t thread; /* id of the first such thread; 0: no thread yet */
	bool has_several; /* threads with other names allocated too */
};

/* Live bytes and blocks of an account, space, site or heap. */
struct gmt_replay_live {
	uint64_t bytes, blocks;
};

/*
 * The live memory at the end of the program's work. That is the moment before the Python
 * interpreter shuts down, if a mark records it. Otherwise it is after the last replayed event. All
 * reports call this memory *live*. Memory that the accounting still holds at the very end is
 * *left*.
 *
 * The rows have the same indexes as the rows of the accounting. Rows that the accounting added
 * later are missing here; they held nothing at that moment.
 */
struct gmt_replay_end {
	uint64_t stamp; /* UINT64_MAX: after the last event */
	bool is_saved;
	GMT_VEC(struct gmt_account) accounts;
	GMT_VEC(struct gmt_replay_live) spaces, sites, heaps;
};

struct gmt_replay {
	struct gmt_accounting accounting;
	struct gmt_replay_end end;
	GMT_VEC(uint32_t) site_stacks; /* for each site: id in traces->stacks */
	GMT_VEC(struct gmt_replay_allocating_thread) site_threads; /* for each site */
	/* for each row of compacted.sites: its site plus 1; 0: the site was left out */
	GMT_VEC(uint32_t) prefix_sites;
	GMT_VEC(struct gmt_replay_refusal) refusals;
	GMT_VEC(struct gmt_replay_refused_free) refused_frees;
	struct gmt_interpret_heap_groups heaps; /* by the accounting's heap number */
	uint64_t events; /* number of replayed events */
	/* numbers in the compacted prefix that do not add up; above 0: damaged file */
	uint64_t compacted_mismatches;
	uint64_t end_time_ns; /* time of the last moment that the accounting covers */
};

struct gmt_replay;

/*
 * Receives calls while events are replayed. Any function may be NULL. A function returns false when
 * out of memory, which ends the replay.
 */
struct gmt_replay_observer {
	/*
	 * Called before event number `index` enters the accounting. The accounting still describes the
	 * moment before it. If `next_needed_stamp` is set, only events after that stamp are reported,
	 * and events whose kind has a bit in `before_kinds`. Most observers need only few events.
	 */
	bool (*before)(void *user, const struct gmt_replay *replay,
		const struct gmt_recording_event *event, size_t index);
	const uint64_t *next_needed_stamp; /* a stamp that `before` and `compacted` may change */
	uint32_t before_kinds;
	/*
	 * The event ended this block, which is no longer in the accounting. This includes blocks whose
	 * free the recorder missed. Here the event's layer, space and address are the block's, not the
	 * call's.
	 */
	bool (*ended)(void *user, const struct gmt_replay *replay,
		const struct gmt_recording_event *event, const struct gmt_account_block *block);
	/*
	 * The event began a block of this site, which is now in the accounting. Here the event's
	 * address is the block's number.
	 */
	bool (*began)(void *user, const struct gmt_replay *replay,
		const struct gmt_recording_event *event, uint32_t site);
	/*
	 * The event also mapped the memory with this accounting number at the event's address. Here the
	 * event's layer, space and device are the memory's.
	 */
	bool (*mapped)(void *user, const struct gmt_replay *replay,
		const struct gmt_recording_event *event, uint64_t number);
	/*
	 * The accounting now includes the compacted prefix. Until now, the observer received only the
	 * events of its survivors.
	 */
	bool (*compacted)(void *user, const struct gmt_replay *replay);
	/* Called after the last event. */
	bool (*finished)(void *user, const struct gmt_replay *replay);
	void *user;
};

struct gmt_replay_options {
	/* from the start of the recording; replays events up to and including this time */
	uint64_t until_ns;
	const struct gmt_replay_observer *observers;
	size_t observer_count;
};

/*
 * Replays all events that `options` select. Fails when out of memory, or if the temporary file with
 * the events cannot be read back. The caller owns `ret_replay` (zeroed) and frees it with
 * gmt_replay_fini.
 */
enum gmt_status gmt_replay_run(struct gmt_replay *ret_replay, const struct gmt_recording *recording,
	const struct gmt_traces *traces, const struct gmt_replay_options *options,
	struct gmt_error *error);

/*
 * Return the live memory at the end of the program's work, by index in the accounting. The account
 * is as it was at that moment. All zeros if it did not exist then.
 */
struct gmt_account gmt_replay_end_account(const struct gmt_replay *replay, size_t account);
struct gmt_replay_live gmt_replay_end_space(const struct gmt_replay *replay, size_t space);
struct gmt_replay_live gmt_replay_end_site(const struct gmt_replay *replay, size_t site);
struct gmt_replay_live gmt_replay_end_heap(const struct gmt_replay *replay, size_t heap);

/* Returns how many events lie at or before `until_ns`. A replay until then replays these events. */
size_t gmt_replay_count(const struct gmt_recording *recording, uint64_t until_ns);

void gmt_replay_fini(struct gmt_replay *replay);

#endif
