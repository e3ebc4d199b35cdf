/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_REPLAY_REPLAY_H
#define GMT_READER_REPLAY_REPLAY_H

/*
 * Plays the events of a snapshot into books. In the flow: snapshot + traces -> replay -> analysis.
 * A site is one merged stack in one layer, device and space.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "accounting/accounting.h"
#include "accounting/interpret.h"
#include "reader/load/snapshot.h"
#include "reader/stacks/traces.h"

#define GMT_REPLAY_TO_END UINT64_MAX

enum { GMT_REPLAY_OBSERVERS = 16 }; /* at most */

/* For an observer whom only some kinds of events matter before they are booked. */
extern const uint64_t gmt_replay_quiet; /* until the end */
#define GMT_REPLAY_KIND(NAME) (UINT32_C(1) << GMT_KIND_##NAME)

/* A request that was refused. */
struct gmt_replay_refusal {
	size_t event; /* in order of time */
	uint32_t site;
};

/* A free that was refused. */
struct gmt_replay_refused_free {
	size_t event; /* in order of time */
	bool is_live; /* something lives there: it was refused for another reason than its address */
};

/* Who made a site's blocks. */
struct gmt_replay_maker {
	uint32_t thread; /* id of the first that did; 0: none yet */
	bool several;    /* others of other names did too */
};

/* What something held. */
struct gmt_replay_live {
	uint64_t bytes, blocks;
};

/*
 * What lived at the end of the program's work: before the interpreter takes the program apart, where a mark says when that
 * is, else behind the last event that was replayed. This is what *live* means in all reports. What the books hold in the end
 * is *left*. By index in the books; what came later has no row, and held nothing then.
 */
struct gmt_replay_end {
	uint64_t stamp; /* UINT64_MAX: behind the last event */
	bool is_taken;
	GMT_VEC(struct gmt_account) accounts;
	GMT_VEC(struct gmt_replay_live) spaces, sites, heaps;
};

struct gmt_replay {
	struct gmt_accounting accounting;
	struct gmt_replay_end end;
	GMT_VEC(uint32_t) site_stacks; /* by site: id in traces->stacks */
	GMT_VEC(struct gmt_replay_maker) site_makers; /* by site */
	GMT_VEC(uint32_t) past_sites; /* of a folded recording, by row of past.sites: its site, plus 1; 0: it is left out */
	GMT_VEC(struct gmt_replay_refusal) refusals;
	GMT_VEC(struct gmt_replay_refused_free) refused_frees;
	struct gmt_interpret_heaps heaps; /* by the books' number */
	uint64_t events;     /* replayed */
	uint64_t past_misfits; /* what of the fold does not sum up: a damaged file */
	uint64_t end_time_ns; /* of the last moment that the books speak of */
};

struct gmt_replay;

/*
 * Looks on while events are played; any function may be NULL. Each answers false when it is out of
 * memory, which ends the replay.
 */
struct gmt_replay_observer {
	/*
	 * Before the event number `index` is booked: the books speak of the moment before it. Where `quiet_until` is set,
	 * only of events that are later, and of kinds whose bit is set in `before_kinds`: most are nothing to most observers.
	 */
	bool (*before)(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
		size_t index);
	const uint64_t *quiet_until; /* a stamp that `before` and `folded` may set anew */
	uint32_t before_kinds;
	/*
	 * The event ended this block (also one whose free was missed); it is out of the books. The event's layer,
	 * space and address are here those of the block, whatever the call named.
	 */
	bool (*ended)(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
		const struct gmt_account_block *block);
	/* The event made a block of this site; it is in the books. Its number is the event's address here. */
	bool (*began)(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
		uint32_t site);
	/*
	 * The memory with this number in the books is mapped at the event's address, too. The event's layer, space
	 * and device are here those of the memory.
	 */
	bool (*mapped)(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
		uint64_t number);
	/* What was folded is in the books now; events of it were only those of what survived. */
	bool (*folded)(void *user, const struct gmt_replay *replay);
	/* Behind the last event. */
	bool (*finished)(void *user, const struct gmt_replay *replay);
	void *user;
};

struct gmt_replay_options {
	uint64_t until_ns; /* from the start of the recording; events up to and including it */
	const struct gmt_replay_observer *observers;
	size_t observer_count;
};

/*
 * Replays all events that `options` name. Fails only for lack of memory. `ret_replay` (zeroed) is the caller's; end it with
 * gmt_replay_fini.
 */
enum gmt_status gmt_replay_init(struct gmt_replay *ret_replay, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_replay_options *options, struct gmt_error *error);

/* What lived at the end of the program's work, by index in the books. An account as it was then; all zero: there was none. */
struct gmt_account gmt_replay_end_account(const struct gmt_replay *replay, size_t account);
struct gmt_replay_live gmt_replay_end_space(const struct gmt_replay *replay, size_t space);
struct gmt_replay_live gmt_replay_end_site(const struct gmt_replay *replay, size_t site);
struct gmt_replay_live gmt_replay_end_heap(const struct gmt_replay *replay, size_t heap);

/* How many events lie at or before `until_ns`: those that a replay until then plays. */
size_t gmt_replay_count(const struct gmt_snapshot *snapshot, uint64_t until_ns);

void gmt_replay_fini(struct gmt_replay *replay);

#endif
