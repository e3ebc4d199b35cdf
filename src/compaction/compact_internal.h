/* SPDX-License-Identifier: MIT */
#ifndef GMT_COMPACTION_COMPACT_INTERNAL_H
#define GMT_COMPACTION_COMPACT_INTERNAL_H

/*
 * Declarations that the files compact*.c share. Internal to them. Every function returns false only
 * when out of memory, or when `write` returned false.
 *
 * Words:
 *
 * - head: the part of the output from the survivors to the `fold` row.
 * - answer: a sample of the driver's numbers, with what the accounting held at that moment. The
 *   reader's ledger explains peaks by answers.
 * - series: the ends of steps that one counter (an optimizer, or a name in a thread) marked.
 * - curve: what each site held at the ends of the steps of a series.
 *
 * Files:
 *
 * - compact.c: the control flow.
 * - compact_plan.c: chooses the cut that keeps a number of events, seconds or steps (compact.h).
 * - compact_tail.c: chooses the cut that keeps the events after the last step.
 * - compact_interpret.c: interprets events and keeps the survivors; restores the input's prefix.
 * - compact_survivors.c: stores and drops survivors.
 * - compact_traces.c: numbers the traces.
 * - compact_devices.c: the data of each device.
 * - compact_physical_memory.c: survivors of handles and mappings.
 * - compact_graphs.c: survivors of graphs, custom heaps, and objects without memory.
 * - compact_marks.c: marks, and the series of steps.
 * - compact_curves.c: the curves.
 * - compact_samples.c: samples and rows `oom`, which become answers.
 * - compact_oom_outcomes.c: whether a refused request failed or was repeated.
 * - compact_notes.c: notes, lost events, clocks, pools, call counts.
 * - compact_write_head.c: writes the head.
 * - compact_write_prefix.c: writes the past_* rows of the head.
 */

#include "accounting/backward_attribution.h"
#include "accounting/oom_outcomes.h"
#include "compaction/compact.h"
#include "compaction/compacted_prefix.h"
#include "accounting/interpret.h"
#include "containers/priority_queue.h"

enum {
	GMT_COMPACT_MAX_REFUSALS = 1024,  /* ring: refusals that are kept, with their answers */
	GMT_COMPACT_MAX_ANSWERS = 2048,   /* samples, each with what was held then */
	GMT_COMPACT_MAX_STEP_GROUPS = 4096, /* row groups of one series */
	GMT_COMPACT_MAX_SERIES = 64,
	GMT_COMPACT_MAX_FOLLOWED = 16,    /* series whose curves are continued at the same time */
	/* accounts that have a row for each step: no reader examines more */
	GMT_COMPACT_MAX_STEP_ACCOUNTS = 128,
	/* devices whose best answers are kept: with this many, there is room for other answers */
	GMT_COMPACT_MAX_BEST_ANSWER_DEVICES = 64,
	GMT_COMPACT_MAX_MARKS = 16384,    /* marks of phases and points */
	GMT_COMPACT_MAX_ROLES = 4096,     /* marks of tensor roles */
	GMT_COMPACT_MAX_CLOCKS = 1024,
	GMT_COMPACT_MAX_NOTES = 1024, /* of notes, of drops by thread and reason, and of pools */
	GMT_COMPACT_ROWS_PER_BLOCK = 256, /* of the output */
};

/* The fields of a surviving event that the accounting does not hold. */
struct gmt_compact_survivor {
	uint64_t stamp; /* only for structural events; the accounting holds the stamps of blocks */
	uint64_t address, size_bytes;
	uint64_t object, stream;
	int64_t allocated_bytes, reserved_bytes;
	uint32_t trace, thread;
	uint32_t next_plus_1; /* next entry in a list, or next unused entry, plus 1 */
	uint16_t api, context;
	int16_t device;
	uint8_t kind, layer, space;
};

/* Physical memory, by its index in interpreter.physical.memory. */
struct gmt_compact_memory {
	uint32_t last_plus_1;    /* list of events that added or removed references, newest first */
	uint32_t sizing_mapping_plus_1; /* the mapping that stated the size */
	uint64_t first_use_stamp; /* used only while the head is being listed */
};

struct gmt_compact_graph {
	uint32_t created_plus_1;
	uint32_t first_node_plus_1, last_node_plus_1;
};

/* A native stack, a Python stack, and the backward call that they worked for. */
struct gmt_compact_trace {
	uint32_t stack, frames, caller;
};

/* Who requested a site's blocks. */
struct gmt_compact_requester {
	uint32_t trace;  /* trace of the site */
	uint32_t thread; /* first requesting thread; 0: no thread yet */
	bool several;    /* threads with other names requested blocks too */
	uint64_t oom_count; /* out-of-memory refusals that reached the program, as far as known */
};

/* A refusal whose outcome may be open. */
struct gmt_compact_open_refusal {
	uint64_t stamp;
	uint32_t thread, site;
};

struct gmt_compact_device {
	/* by space: bytes now, and bytes at the peak of layer cuda */
	uint64_t space_bytes[GMT_SPACE_COUNT], peak_space_bytes[GMT_SPACE_COUNT];
	uint64_t cuda_bytes, peak_bytes;
	uint64_t peak_allocated_bytes, peak_reserved_bytes; /* PyTorch's totals at the peak */
	uint64_t peak_stamp;
	int16_t device;
};

/* What a curve knows of a site since the curve's last sample. */
struct gmt_compact_curve_site {
	uint64_t live_bytes; /* at its last row */
	/* minimum over all marks since the last sample; UINT64_MAX: there was no mark */
	uint64_t low_bytes;
	/* bytes of blocks that ended since then and were at least two steps old */
	uint64_t ended_bytes;
	bool has_row, is_touched;
};

/* What the sites held at the ends of one counter's steps. */
struct gmt_compact_curve {
	bool is_known;    /* the curve is complete up to the last mark */
	bool is_followed; /* the curve is continued */
	bool has_end;     /* there was a mark since the last sample */
	uint64_t marks;   /* number of marks so far */
	uint64_t stride;  /* number of marks from one sample to the next */
	uint64_t last_stamp, before_stamp; /* stamps of the last two marks */
	GMT_VEC(struct gmt_compact_curve_site) sites; /* indexed by site */
	GMT_VEC(uint32_t) touched; /* sites that changed since the last sample */
	GMT_VEC(struct gmt_past_curve) rows; /* sample by sample; `site` is a site's number plus 1 */
};

/* Ends of steps that belong to one counter. */
struct gmt_compact_series {
	uint64_t object;
	uint32_t thread, name;
	uint8_t source;
	uint64_t stride;  /* marks that one row group represents */
	uint64_t waiting; /* marks since the last row group */
	uint64_t marks;   /* number of marks so far */
	uint64_t first_stamp, last_stamp; /* stamps of the first and the last mark */
	size_t groups;    /* number of row groups: the rows of one mark, one row per account */
	GMT_VEC(uint64_t) peaks;  /* by account: peak since the last row group */
	GMT_VEC(struct gmt_past_step) rows; /* ordered by stamp; one row per account for each stamp */
	struct gmt_compact_curve curve;
};

/* A sample that waits for the amounts that were held before and after it. */
struct gmt_compact_answer {
	struct gmt_past_answer row;
	bool has_begun, has_ended; /* the moment of the question, or of the answer, has passed */
};

struct gmt_compact_note {
	char text[240];
	uint32_t length, thread;
	uint64_t count;
};

enum gmt_compact_state {
	GMT_COMPACT_READING,  /* reads what is before the cut */
	GMT_COMPACT_WRITING_HEAD,  /* writes the survivors and the summary */
	GMT_COMPACT_COPYING,  /* passes what is after the cut */
	GMT_COMPACT_ENDED,
};

struct gmt_compactor {
	struct gmt_compact_options options;
	enum gmt_compact_state state;
	bool failed, finishing;
	bool must_restore; /* the input's prefix was read, and its totals are not yet restored */
	bool has_chosen_cut; /* gmt_compact_keep_tail was called */
	uint64_t seen_events, compacted_events, head_events;
	uint64_t last_interpreted_stamp; /* stamp of the last event that was interpreted */
	uint64_t last_mark_stamp; /* stamp of the last mark that was processed */
	struct gmt_end end;
	bool has_end;

	/* Events that wait to be sorted. */
	struct gmt_priority_queue queue;
	GMT_VEC(struct gmt_event) waiting;
	GMT_VEC(uint32_t) unused; /* unused entries of waiting */
	uint64_t arrivals;
	struct gmt_map thread_stamps; /* last stamp of each thread: a thread's clock never goes back */

	/* The accounting. */
	struct gmt_accounting accounting;
	struct gmt_interpret_heap_groups heaps;
	struct gmt_event_interpreter interpreter;
	struct gmt_compacted_prefix prefix; /* prefix of an input that is already compacted */
	const struct gmt_event *current; /* the event that is being interpreted */
	uint32_t merged_sites;

	/* Stacks. */
	/* maps stack << 32 | frames to the trace without a caller */
	struct gmt_map trace_ids;
	/* maps (trace without its caller) << 32 | caller to the trace */
	struct gmt_map caller_trace_ids;
	GMT_VEC(struct gmt_compact_trace) traces;
	GMT_VEC(struct gmt_compact_requester) requesters; /* indexed by site */
	/* ids of codes, frames and stacks that lie in a backward call */
	struct gmt_map backward_codes, backward_frames, backward_stacks;
	struct gmt_backward_attribution backward_attribution;
	struct gmt_map thread_names; /* maps a thread id to the hash of the thread's name */

	/* Survivors. */
	GMT_VEC(struct gmt_compact_survivor) survivors;
	uint32_t unused_survivor_plus_1;
	GMT_VEC(struct gmt_compact_memory) memories;
	/* indexed by mapping of interpreter.physical: survivor of the event that mapped it, plus 1 */
	GMT_VEC(uint32_t) mapping_survivors;
	struct gmt_map graph_ids;
	GMT_VEC(struct gmt_compact_graph) graphs;
	GMT_VEC(uint32_t) free_graphs;
	/* maps an address to the event of a node without an executable graph */
	struct gmt_map unlaunched_nodes;
	struct gmt_map objects_by_key; /* maps a created object to the event that created it */
	struct gmt_map heap_events; /* maps the number of a live heap to the event that made the heap */
	struct gmt_map heap_marks; /* maps the number of a heap to an index in heap_names */
	GMT_VEC(struct gmt_mark) heap_names;
	struct gmt_map name_texts; /* maps the id of a heap's name to an index in texts */
	struct gmt_intern texts;
	GMT_VEC(struct gmt_event) refusals; /* a ring */
	uint64_t refused;

	/* Outcomes of the refusals. */
	struct gmt_oom_outcomes oom_outcomes;
	GMT_VEC(struct gmt_compact_open_refusal) open_refusals;
	GMT_VEC(uint64_t) open_ooms; /* in the form of the `fold` row */
	uint64_t oom_retries;

	/* Devices, marks, samples. */
	GMT_VEC(struct gmt_compact_device) devices;
	struct gmt_map device_ids; /* maps an ordinal to an index in devices */
	GMT_VEC(struct gmt_mark) pending_marks; /* including unused entries */
	GMT_VEC(uint32_t) unused_marks;
	struct gmt_priority_queue mark_queue; /* entries of pending_marks, ordered by stamp */
	GMT_VEC(struct gmt_mark) kept_marks;
	/* marks of the last time that modules and optimizers were examined */
	GMT_VEC(struct gmt_mark) kept_roles;
	GMT_VEC(struct gmt_compact_series) series;
	uint32_t followed[GMT_COMPACT_MAX_FOLLOWED], followed_count; /* indices in series */
	GMT_VEC(uint32_t) prefix_sites; /* indexed by row of prefix.sites: the site, plus 1 */
	GMT_VEC(struct gmt_compact_answer) pending_answers; /* including unused entries */
	GMT_VEC(uint32_t) unused_answers;
	/* entries of pending_answers, ordered by the stamp of the question and of the answer */
	struct gmt_priority_queue begin_queue, end_queue;
	struct gmt_priority_queue kept_queue; /* answers that are complete, in the order of the file */
	uint64_t mark_arrivals;
	GMT_VEC(struct gmt_past_answer) answers;
	GMT_VEC(struct gmt_sample) samples_after_cut; /* samples after the cut */
	GMT_VEC(struct gmt_clock) clocks;
	uint64_t clock_stride, clocks_seen;
	struct gmt_clock last_clock;
	GMT_VEC(struct gmt_oom) ooms;
	GMT_VEC(struct gmt_compact_note) notes, drops;
	struct gmt_map calls; /* maps an api to its last count */
	struct gmt_overhead overhead; /* the last row */
	bool has_overhead;
	GMT_VEC(struct gmt_pool) pools;

	/* Writing. */
	struct gmt_priority_queue head;
	uint32_t head_part; /* next part of the head */
	/* position in that part */
	uint32_t head_layer;
	size_t head_cursor;
	GMT_VEC(struct gmt_event) out;
};

/* compact_interpret.c */
void gmt_compact_interpret_init(struct gmt_compactor *compactor);
bool gmt_compact_interpret(struct gmt_compactor *compactor, struct gmt_event *event);
/*
 * Create the accounts and sites of the input's prefix before any event is interpreted, and restore
 * the accounting after the survivors.
 */
bool gmt_compact_prepare_prefix(struct gmt_compactor *compactor);
bool gmt_compact_restore_prefix(struct gmt_compactor *compactor);
/*
 * compact_traces.c: returns the number of a trace, and adds the trace if it is new. Returns false
 * when out of memory.
 */
bool gmt_compact_intern_trace(struct gmt_compactor *compactor, uint32_t stack, uint32_t frames,
	uint32_t caller, uint32_t *ret_trace);
/*
 * compact_survivors.c: stores an event as a survivor. Returns its number plus 1; 0 when out
 * of memory.
 */
uint32_t gmt_compact_add_survivor(struct gmt_compactor *compactor, const struct gmt_event *event,
	uint32_t trace);
/* Drops a survivor. `survivor_plus_1` may be 0: there is no survivor. */
void gmt_compact_drop_survivor(struct gmt_compactor *compactor, uint32_t survivor_plus_1);
/*
 * compact_devices.c: returns the data of a device, and creates it if necessary. Returns NULL when
 * out of memory.
 */
struct gmt_compact_device *gmt_compact_intern_device(struct gmt_compactor *compactor,
	int16_t device);
/* Returns the data of a device, or NULL if there is no data. */
struct gmt_compact_device *gmt_compact_find_device(const struct gmt_compactor *compactor,
	int16_t device);

/*
 * compact_interpret.c: returns whether the event is an allocation at the address of a live block in
 * a space that does not count references.
 */
bool gmt_compact_takes_live_address(const struct gmt_compactor *compactor,
	const struct gmt_event *event);

/*
 * compact_oom_outcomes.c. gmt_compact_note_refused: call it when the current event was refused and
 * the accounting has counted it. gmt_compact_note_granted: call it for each event, before the event
 * is interpreted; it processes allocations. gmt_compact_close_oom_outcomes: call it at the cut.
 */
void gmt_compact_oom_outcomes_init(struct gmt_compactor *compactor);
bool gmt_compact_note_refused(struct gmt_compactor *compactor, uint32_t site);
void gmt_compact_note_granted(struct gmt_compactor *compactor, const struct gmt_event *event);
bool gmt_compact_close_oom_outcomes(struct gmt_compactor *compactor);
void gmt_compact_oom_outcomes_fini(struct gmt_compactor *compactor);

/*
 * compact_physical_memory.c, compact_graphs.c: called before and after the interpretation of an
 * event that changes more than one block.
 */
struct gmt_compact_before {
	uint32_t memory; /* memory that the event refers to; GMT_PHYSICAL_NONE: no memory */
	uint64_t size_bytes;
	uint32_t trace;
};
void gmt_compact_before_event(struct gmt_compactor *compactor, const struct gmt_event *event,
	uint32_t trace, struct gmt_compact_before *ret_before);
bool gmt_compact_after_event(struct gmt_compactor *compactor, const struct gmt_event *event,
	const struct gmt_compact_before *before);
bool gmt_compact_after_memory_event(struct gmt_compactor *compactor, const struct gmt_event *event,
	const struct gmt_compact_before *before);
void gmt_compact_forget_list(struct gmt_compactor *compactor, uint32_t first_plus_1);
/*
 * The order of events with equal stamps in the head: an object comes before the events that need
 * it. In the queue of the head, a rank is the upper half of `order`.
 */
enum gmt_compact_rank {
	GMT_COMPACT_RANK_OBJECT, /* creates a graph, a heap or another object */
	GMT_COMPACT_RANK_NODE, /* adds a node to a graph */
	GMT_COMPACT_RANK_REFERENCE, /* adds a reference to physical memory */
	GMT_COMPACT_RANK_BLOCK,
	GMT_COMPACT_RANK_MAPPING,
	GMT_COMPACT_RANK_REMOVAL, /* removes a mapping or a reference */
	GMT_COMPACT_RANK_REFUSAL,
};

/* Queues a survivor for the head. `rank` orders survivors with equal stamps. */
bool gmt_compact_queue_survivor(struct gmt_compactor *compactor, uint32_t survivor_plus_1,
	enum gmt_compact_rank rank);
/* Queue all survivors of handles and mappings, or of graphs, heaps and other objects. */
bool gmt_compact_queue_memory(struct gmt_compactor *compactor);
bool gmt_compact_queue_graphs(struct gmt_compactor *compactor);

/*
 * Takes an unused entry of a list, or adds one. Returns its index, or UINT32_MAX when out of
 * memory.
 */
#define GMT_COMPACT_TAKE_SLOT(list, unused) \
	((unused)->count ? (unused)->items[--(unused)->count] \
			: gmt_vec_reserve((unused), (list)->count + 1) && gmt_vec_push(list) \
			? (uint32_t)(list)->count - 1 \
			: UINT32_MAX)

/*
 * Marks the entry `index` as unused. `unused` has room for it: the macro above reserved that room
 * for each entry of the list.
 */
#define GMT_COMPACT_FREE_SLOT(unused, index) ((unused)->items[(unused)->count++] = (index))

/* compact_marks.c, compact_samples.c, compact_notes.c */
bool gmt_compact_take_mark(struct gmt_compactor *compactor, const struct gmt_mark *row);
bool gmt_compact_take_sample(struct gmt_compactor *compactor, const struct gmt_sample *row);
bool gmt_compact_take_oom(struct gmt_compactor *compactor, const struct gmt_oom *row);
bool gmt_compact_take_clock(struct gmt_compactor *compactor, const struct gmt_clock *row);
bool gmt_compact_take_note(struct gmt_compactor *compactor, uint32_t kind, const void *row);
bool gmt_compact_restore_marks(struct gmt_compactor *compactor);
/*
 * Removes the first waiting mark if its stamp is at most `last_stamp`. Returns false if there is
 * no such mark.
 */
bool gmt_compact_pop_mark(struct gmt_compactor *compactor, uint64_t last_stamp,
	struct gmt_mark *ret_mark);
/* Processes all waiting marks and answers whose stamp is below `stamp`. */
bool gmt_compact_process_marks_before(struct gmt_compactor *compactor, uint64_t stamp);
/*
 * compact_samples.c: the part of gmt_compact_process_marks_before for answers. Returns false when
 * out of memory.
 */
bool gmt_compact_process_answers_before(struct gmt_compactor *compactor, uint64_t stamp);
/* Keeps an answer that an earlier compaction kept. Returns false when out of memory. */
bool gmt_compact_keep_answer(struct gmt_compactor *compactor, const struct gmt_past_answer *row);
/* Returns whether two step marks belong to the same counter, and so to one series. */
bool gmt_compact_have_same_counter(const struct gmt_mark *a, const struct gmt_mark *b);
/* Returns the last mark of a series, without its kind. */
struct gmt_mark gmt_compact_mark_of(const struct gmt_compact_series *series);
/* Adds, at the cut, a row for the marks that no row represents yet. */
bool gmt_compact_close_steps(struct gmt_compactor *compactor);
/* Notes that the memory of this account has grown. */
bool gmt_compact_note_peak(struct gmt_compactor *compactor, uint32_t account);
void gmt_compact_marks_fini(struct gmt_compactor *compactor);

/*
 * compact_curves.c: notes that a site's bytes changed. `ended` is the block whose end changed them,
 * or NULL.
 */
bool gmt_compact_note_site_change(struct gmt_compactor *compactor, uint32_t site,
	uint64_t before_bytes, const struct gmt_account_block *ended);
/* Starts the curve of a new series. */
bool gmt_compact_start_curve(struct gmt_compactor *compactor, uint32_t series);
/* Processes the end of a step of the series. */
bool gmt_compact_mark_curve(struct gmt_compactor *compactor, struct gmt_compact_series *series,
	uint64_t stamp);
/*
 * Write the counters and the curves. A call of write_curves writes one curve, starting at
 * head_cursor.
 */
bool gmt_compact_write_counters(struct gmt_compactor *compactor);
bool gmt_compact_write_curves(struct gmt_compactor *compactor, bool *ret_done);
/* Restores the curves of the input's prefix. gmt_compact_restore_marks must have run before. */
bool gmt_compact_restore_curves(struct gmt_compactor *compactor);
void gmt_compact_curve_fini(struct gmt_compact_curve *curve);

/*
 * compact_tail.c: moves the cut to an earlier moment if the end must be kept (max_tail_events).
 * Called once. Returns false when out of memory.
 */
bool gmt_compact_keep_tail(struct gmt_compactor *compactor);

/* compact_write_head.c: writes a part of the head. *ret_done is true when the head is complete. */
bool gmt_compact_write_head(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done);
bool gmt_compact_begin_head(struct gmt_compactor *compactor);
/* Writes many rows of one kind, in blocks. */
bool gmt_compact_write_rows(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	size_t count);
/* Writes the rows of accounts, spaces and heaps. */
bool gmt_compact_write_accounts(struct gmt_compactor *compactor);
bool gmt_compact_write_sites(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done);
bool gmt_compact_write_steps(struct gmt_compactor *compactor);
/* Writes events with differences in place of totals. Changes `rows`. */
bool gmt_compact_write_events(struct gmt_compactor *compactor, struct gmt_event *rows,
	uint32_t count);

#endif
