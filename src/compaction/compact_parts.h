/* SPDX-License-Identifier: MIT */
#ifndef GMT_COMPACTION_COMPACT_PARTS_H
#define GMT_COMPACTION_COMPACT_PARTS_H

/*
 * What the files of the fold share; for compact*.c alone. compact.c is the flow; compact_interpret.c plays events
 * and keeps what survives, compact_memory.c that of handles and mappings, compact_graphs.c that of graphs and heaps;
 * compact_moments.c keeps marks, steps, samples and refusals, compact_curves.c what sites held at the ends of steps, compact_texts.c clocks and notes; compact_write.c writes it all.
 *
 * All functions answer false only for lack of memory, or because `write` did.
 */

#include "accounting/backward_attribution.h"
#include "accounting/oom_outcomes.h"
#include "compaction/compact.h"
#include "compaction/compacted_prefix.h"
#include "accounting/interpret.h"
#include "accounting/queue.h"

enum {
	GMT_COMPACT_REFUSALS = 1024,  /* kept with their answers; a ring */
	GMT_COMPACT_ANSWERS = 2048,   /* samples and what was held then */
	GMT_COMPACT_STEPS = 4096,     /* rows of one series */
	GMT_COMPACT_SERIES = 64,
	GMT_COMPACT_FOLLOWED = 16,    /* series whose curves go on at one time */
	GMT_COMPACT_STEP_ACCOUNTS = 128, /* accounts that have a row for each step: no reader looks at more */
	GMT_COMPACT_SPARED_DEVICES = 64, /* devices whose best answers are kept: so many leave room for others */
	GMT_COMPACT_MARKS = 16384,    /* marks of phases and points */
	GMT_COMPACT_ROLES = 4096,     /* marks of what tensors are for */
	GMT_COMPACT_CLOCKS = 1024,
	GMT_COMPACT_TEXTS = 1024,     /* notes, and drops by thread and reason */
	GMT_COMPACT_WRITE_ROWS = 256, /* in a block */
};

/* An event that survives, as far as the books do not know it. */
struct gmt_compact_survivor {
	uint64_t stamp; /* of structural ones; blocks have theirs in the books */
	uint64_t address, size_bytes;
	uint64_t object, stream;
	int64_t allocated_bytes, reserved_bytes;
	uint32_t place, thread;
	uint32_t next_plus_1; /* in a list, or of an unused entry */
	uint16_t api, context;
	int16_t device;
	uint8_t kind, layer, space;
};

/* Physical memory, by its index in player.physical.memory. */
struct gmt_compact_memory {
	uint32_t last_plus_1;    /* what gave and took references, the last one first */
	uint32_t learned_plus_1; /* the mapping that said how large it is */
	uint64_t first_use;      /* while the head is listed */
};

struct gmt_compact_graph {
	uint32_t created_plus_1;
	uint32_t first_node_plus_1, last_node_plus_1;
};

/* A pair of stacks, and for whom. */
struct gmt_compact_place {
	uint32_t stack, frames, caller;
};

/* Who asked for a site's blocks. */
struct gmt_compact_maker {
	uint32_t place;  /* the site's */
	uint32_t thread; /* the first; 0: none yet */
	bool several;    /* threads of other names did too */
	uint64_t ooms;   /* its refusals for lack of memory that reached the program, as far as is known */
};

/* A refusal whose fate may be open. */
struct gmt_compact_open {
	uint64_t stamp;
	uint32_t thread, site;
};

struct gmt_compact_device {
	uint64_t now[GMT_SPACE_COUNT], held[GMT_SPACE_COUNT]; /* by space: now, and at the peak of layer cuda */
	uint64_t cuda_bytes, peak_bytes;
	uint64_t held_allocated_bytes, held_reserved_bytes; /* as PyTorch told them at the peak */
	uint64_t held_stamp;
	int16_t device;
};

/* A site since the last sample of a curve. */
struct gmt_compact_curve_site {
	uint64_t live_bytes; /* at its last row */
	uint64_t low_bytes;  /* least at any mark since the last sample; UINT64_MAX: there was none */
	uint64_t ended_bytes; /* of blocks that ended since then, and were two steps old or older */
	bool has_row, is_touched;
};

/* What sites held at the ends of a counter's steps. */
struct gmt_compact_curve {
	bool is_known;    /* nothing is missing up to the last mark */
	bool is_followed; /* it goes on */
	bool has_end;     /* there was a mark since the last sample */
	uint64_t marks;   /* in all */
	uint64_t stride;  /* marks from sample to sample */
	uint64_t last_stamp, before_stamp; /* of the last two marks */
	GMT_VEC(struct gmt_compact_curve_site) sites; /* by site */
	GMT_VEC(uint32_t) touched; /* sites that changed since the last sample */
	GMT_VEC(struct gmt_past_curve) rows; /* sample by sample; `site` is a site's number, plus 1 */
};

/* Ends of steps that one thing marks. */
struct gmt_compact_series {
	uint64_t object;
	uint32_t thread, name;
	uint8_t source;
	uint64_t stride;  /* marks that a row stands for */
	uint64_t waiting; /* marks since the last row */
	uint64_t marks;   /* in all */
	uint64_t first_stamp, last_stamp; /* of its first and last mark */
	size_t groups;    /* of rows: one for each mark that has some */
	GMT_VEC(uint64_t) peaks;  /* by account, since the last row */
	GMT_VEC(struct gmt_past_step) rows; /* stamp by stamp: one for each account, then the next */
	struct gmt_compact_curve curve;
};

/* A sample that waits for what is held before or behind it. */
struct gmt_compact_answer {
	struct gmt_past_answer row;
	bool has_begun, has_ended; /* the moments of the question and of the answer are passed */
};

struct gmt_compact_text {
	char text[240];
	uint32_t length, thread;
	uint64_t count;
};

enum gmt_compact_state {
	GMT_COMPACT_READING,  /* in front of the cut */
	GMT_COMPACT_HEADING,  /* writes what survives */
	GMT_COMPACT_PASSING,  /* behind the cut */
	GMT_COMPACT_ENDED,
};

struct gmt_compactor {
	struct gmt_compact_options options;
	enum gmt_compact_state state;
	bool failed, finishing, has_spared, restores; /* restores: a `fold` row was read, and is to be set */
	uint64_t seen_events, folded_events, head_events;
	uint64_t played_stamp; /* of the last event that was played */
	uint64_t marked_stamp; /* of the last mark that was passed */
	struct gmt_end end;
	bool has_end;

	/* Rows that wait to be put in order. */
	struct gmt_queue queue;
	GMT_VEC(struct gmt_event) waiting;
	GMT_VEC(uint32_t) unused; /* entries of waiting */
	uint64_t arrivals;
	struct gmt_map thread_stamps; /* a thread's clock never goes back */

	/* The books. */
	struct gmt_accounting accounting;
	struct gmt_interpret_heaps heaps;
	struct gmt_event_interpreter interpreter;
	struct gmt_compacted compacted; /* of an input that is folded already */
	const struct gmt_event *current; /* that is played */
	uint32_t merged_sites;

	/* Stacks. */
	struct gmt_map pair_ids, place_ids; /* stack << 32 | frames; that << 32 | caller */
	GMT_VEC(struct gmt_compact_place) places;
	GMT_VEC(struct gmt_compact_maker) makers; /* by site */
	struct gmt_map call_codes, call_frames, call_stacks; /* ids that lie in a backward call */
	struct gmt_backward_attribution backward_attribution;
	struct gmt_map thread_names; /* id to hash of the name */

	/* What survives. */
	GMT_VEC(struct gmt_compact_survivor) survivors;
	uint32_t free_survivor_plus_1;
	GMT_VEC(struct gmt_compact_memory) memories;
	GMT_VEC(uint32_t) ties;   /* by mapping of player.physical: what mapped it, plus 1 */
	struct gmt_map graphs_ids;
	GMT_VEC(struct gmt_compact_graph) graphs;
	GMT_VEC(uint32_t) free_graphs;
	struct gmt_map loose_nodes; /* address to the event of a node without an executable graph */
	struct gmt_map things;      /* what was created: its event */
	struct gmt_map heap_events; /* number of a heap that lives to the event that made it */
	struct gmt_map heap_marks;  /* number of a heap to index in heap_names */
	GMT_VEC(struct gmt_mark) heap_names;
	struct gmt_map name_texts;  /* id to index of text, of names that heaps have */
	struct gmt_intern texts;
	GMT_VEC(struct gmt_event) refusals; /* a ring */
	uint64_t refused;

	/* What became of them. */
	struct gmt_oom_outcomes oom_outcomes;
	GMT_VEC(struct gmt_compact_open) open_refusals;
	GMT_VEC(uint64_t) open_list; /* as the fold row has it */
	uint64_t oom_retries;

	/* Moments. */
	GMT_VEC(struct gmt_compact_device) devices;
	struct gmt_map device_ids; /* ordinal to index in devices */
	GMT_VEC(struct gmt_mark) pending_marks; /* and unused entries */
	GMT_VEC(uint32_t) unused_marks;
	struct gmt_queue mark_queue; /* entries of pending_marks by stamp */
	GMT_VEC(struct gmt_mark) kept_marks;
	GMT_VEC(struct gmt_mark) kept_roles; /* of the last time that modules and optimizers were asked */
	GMT_VEC(struct gmt_compact_series) series;
	uint32_t followed[GMT_COMPACT_FOLLOWED], followed_count; /* indexes in series */
	GMT_VEC(uint32_t) past_sites; /* by row of past.sites: its site, plus 1 */
	GMT_VEC(struct gmt_compact_answer) pending_answers; /* and unused entries */
	GMT_VEC(uint32_t) unused_answers;
	struct gmt_queue begin_queue, end_queue; /* entries of pending_answers by the stamps of question and answer */
	struct gmt_queue kept_queue; /* those that ended, in the order of the file */
	uint64_t moment_arrivals;
	GMT_VEC(struct gmt_past_answer) answers;
	GMT_VEC(struct gmt_sample) late_samples; /* behind the cut */
	GMT_VEC(struct gmt_clock) clocks;
	uint64_t clock_stride, clocks_seen;
	struct gmt_clock last_clock;
	GMT_VEC(struct gmt_oom) ooms;
	GMT_VEC(struct gmt_compact_text) notes, drops;
	struct gmt_map calls; /* api to its last count */
	struct gmt_overhead overhead; /* the last row */
	bool has_overhead;
	GMT_VEC(struct gmt_pool) pools;

	/* Writing. */
	struct gmt_queue head;
	uint32_t head_part;  /* what of the head is next ... */
	uint32_t list_layer; /* ... and where in it */
	size_t list_cursor;
	GMT_VEC(struct gmt_event) out;
};

/* compact_interpret.c */
void gmt_compact_interpret_init(struct gmt_compactor *compactor);
bool gmt_compact_interpret(struct gmt_compactor *compactor, struct gmt_event *event);
bool gmt_compact_place(struct gmt_compactor *compactor, uint32_t stack, uint32_t frames, uint32_t caller, uint32_t *ret_place);
/* Makes the accounts and sites of the input's past, before anything is played; sets the books by it, behind the survivors. */
bool gmt_compact_prepare(struct gmt_compactor *compactor);
bool gmt_compact_restore(struct gmt_compactor *compactor);
/* An entry for an event that is played; its number, plus 1; 0: out of memory. */
uint32_t gmt_compact_survive(struct gmt_compactor *compactor, const struct gmt_event *event, uint32_t place);
void gmt_compact_forget(struct gmt_compactor *compactor, uint32_t survivor_plus_1);
/* What is known of a device; made where there is nothing. NULL: out of memory. */
struct gmt_compact_device *gmt_compact_device(struct gmt_compactor *compactor, int16_t device);
/* The same; NULL where there is nothing. */
struct gmt_compact_device *gmt_compact_find_device(const struct gmt_compactor *compactor, int16_t device);

/* compact_interpret.c: whether it is an allocation where a block lives that no other may share its place with. */
bool gmt_compact_takes_place(const struct gmt_compactor *compactor, const struct gmt_event *event);

/* compact_oom_outcomes.c: the current event was refused, and is booked; an allocation, before it is; at the cut. */
void gmt_compact_oom_outcomes_init(struct gmt_compactor *compactor);
bool gmt_compact_see_refused(struct gmt_compactor *compactor, uint32_t site);
void gmt_compact_see_given(struct gmt_compactor *compactor, const struct gmt_event *event);
bool gmt_compact_close_oom_outcomes(struct gmt_compactor *compactor);
void gmt_compact_oom_outcomes_fini(struct gmt_compactor *compactor);

/* compact_memory.c, compact_graphs.c: around the play of an event that changes more than a block. */
struct gmt_compact_before {
	uint32_t memory; /* that the event means; GMT_PHYSICAL_NONE: none */
	uint64_t size_bytes;
	uint32_t place;
};
void gmt_compact_before(struct gmt_compactor *compactor, const struct gmt_event *event, uint32_t place,
	struct gmt_compact_before *ret_before);
bool gmt_compact_after(struct gmt_compactor *compactor, const struct gmt_event *event, const struct gmt_compact_before *before);
bool gmt_compact_after_memory(struct gmt_compactor *compactor, const struct gmt_event *event,
	const struct gmt_compact_before *before);
void gmt_compact_forget_list(struct gmt_compactor *compactor, uint32_t first_plus_1);
/* Queues a survivor for the head; `rank`: what of equal stamps comes first. */
bool gmt_compact_list(struct gmt_compactor *compactor, uint32_t survivor_plus_1, uint64_t rank);
/* Queues all survivors of this sort. */
bool gmt_compact_list_memory(struct gmt_compactor *compactor);
bool gmt_compact_list_graphs(struct gmt_compactor *compactor);

/* A place in a list whose unused entries are known; UINT32_MAX: out of memory. */
#define GMT_COMPACT_TAKE_PLACE(list, unused) \
	((unused)->count ? (unused)->items[--(unused)->count] : \
		gmt_vec_reserve((unused), (list)->count + 1) && gmt_vec_push(list) ? (uint32_t)(list)->count - 1 : UINT32_MAX)

/* There is room: each entry of the list was counted when it was made. */
#define GMT_COMPACT_GIVE_PLACE(unused, place) ((unused)->items[(unused)->count++] = (place))

/* compact_moments.c, compact_samples.c, compact_texts.c */
bool gmt_compact_take_mark(struct gmt_compactor *compactor, const struct gmt_mark *row);
bool gmt_compact_take_sample(struct gmt_compactor *compactor, const struct gmt_sample *row);
bool gmt_compact_take_oom(struct gmt_compactor *compactor, const struct gmt_oom *row);
bool gmt_compact_take_clock(struct gmt_compactor *compactor, const struct gmt_clock *row);
bool gmt_compact_take_text(struct gmt_compactor *compactor, uint32_t kind, const void *row);
bool gmt_compact_take_compacted_moments(struct gmt_compactor *compactor);
/* The next mark that waits, where its stamp is at most `last_stamp`; takes it out. */
bool gmt_compact_next_mark(struct gmt_compactor *compactor, uint64_t last_stamp, struct gmt_mark *ret_mark);
/* What comes before an event of this stamp. */
bool gmt_compact_pass_moments(struct gmt_compactor *compactor, uint64_t stamp);
/* compact_samples.c: the part of that which is about samples. False: out of memory. */
bool gmt_compact_pass_answers(struct gmt_compactor *compactor, uint64_t stamp);
/* Keeps an answer that a fold of before has kept. False: out of memory. */
bool gmt_compact_keep_answer(struct gmt_compactor *compactor, const struct gmt_past_answer *row);
/* Whether two marks of steps are of one counter. */
bool gmt_compact_is_counter_of(const struct gmt_mark *a, const struct gmt_mark *b);
/* The last mark of a series, but for its kind. */
struct gmt_mark gmt_compact_mark_of(const struct gmt_compact_series *series);
/* At the cut: a row for the marks that none stands for yet. */
bool gmt_compact_end_steps(struct gmt_compactor *compactor);
/* An account of this number came to hold more. */
bool gmt_compact_see_peak(struct gmt_compactor *compactor, uint32_t account);
void gmt_compact_moments_fini(struct gmt_compactor *compactor);

/* compact_curves.c: a site came to hold something else than before; by the end of a block, or NULL. */
bool gmt_compact_touch(struct gmt_compactor *compactor, uint32_t site, uint64_t before_bytes, const struct gmt_account_block *ended);
/* A series begins. */
bool gmt_compact_follow(struct gmt_compactor *compactor, uint32_t series);
/* A step of it ends. */
bool gmt_compact_mark_curve(struct gmt_compactor *compactor, struct gmt_compact_series *series, uint64_t stamp);
/* Writes; curves one by one, from list_cursor on. */
bool gmt_compact_write_counters(struct gmt_compactor *compactor);
bool gmt_compact_write_curves(struct gmt_compactor *compactor, bool *ret_done);
/* Of a past that the input has, once its series are known. */
bool gmt_compact_take_compacted_curves(struct gmt_compactor *compactor);
void gmt_compact_curve_fini(struct gmt_compact_curve *curve);

/* compact_end.c: cuts earlier where the end is to stay (most_end_events), once. False: out of memory. */
bool gmt_compact_spare_end(struct gmt_compactor *compactor);

/* compact_write.c: a piece of the head; *ret_done when there is no more. */
bool gmt_compact_write_head(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done);
bool gmt_compact_begin_head(struct gmt_compactor *compactor);
/* Events as they are, with differences in place of totals; changes `rows`. */
bool gmt_compact_write_events(struct gmt_compactor *compactor, struct gmt_event *rows, uint32_t count);

#endif
