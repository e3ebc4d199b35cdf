/* SPDX-License-Identifier: MIT */
#include "reader/steps/phases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A phase that is open while marks are read. */
struct open_phase {
	uint64_t key; /* hash of thread, source and domain; or the number of a range */
	uint32_t phase; /* index */
	bool numbered;
};

struct reader {
	struct gmt_timeline *timeline;
	GMT_VEC(struct open_phase) open;
};

static bool open_phase(struct reader *reader, const struct gmt_recording_mark *mark, uint64_t key,
	bool numbered)
{
	struct gmt_phase *phase = gmt_vec_push(&reader->timeline->phases);
	struct open_phase *open = phase ? gmt_vec_push(&reader->open) : NULL;
	uint32_t depth = 0;

	if (!open)
		return false;
	for (size_t i = 0; !numbered && i + 1 < reader->open.count; i++)
		depth += !reader->open.items[i].numbered && reader->open.items[i].key == key;
	*open = (struct open_phase){
		.key = key,
		.phase = (uint32_t)reader->timeline->phases.count - 1,
		.numbered = numbered,
	};
	*phase = (struct gmt_phase){
		.name = mark->name,
		.begin = mark->stamp,
		.thread = mark->thread,
		.depth = depth,
		.source = mark->source,
		.open = true,
	};
	return true;
}

static void close_phase(struct reader *reader, const struct gmt_recording_mark *mark, uint64_t key,
	bool numbered)
{
	for (size_t i = reader->open.count; i-- > 0;) {
		struct open_phase *open = &reader->open.items[i];

		if (open->key != key || open->numbered != numbered)
			continue;
		reader->timeline->phases.items[open->phase].end = mark->stamp;
		reader->timeline->phases.items[open->phase].open = false;
		memmove(open, open + 1, (reader->open.count - i - 1) * sizeof(*open));
		reader->open.count--;
		return;
	}
}

/*
 * Maximum number of open phases; no program nests more. Otherwise, a hostile file or ranges that
 * never end could make this slow.
 */
enum { MAX_OPEN = 1024 };

/* Treats the oldest open phase as never closed. */
static void give_up_oldest(struct reader *reader)
{
	reader->open.count--;
	memmove(reader->open.items, reader->open.items + 1,
		reader->open.count * sizeof(*reader->open.items));
}

static void end_open_phases(struct gmt_timeline *timeline, uint64_t last_stamp)
{
	for (size_t i = 0; i < timeline->phases.count; i++) {
		struct gmt_phase *phase = &timeline->phases.items[i];

		if (phase->open)
			phase->end = phase->begin > last_stamp ? phase->begin : last_stamp;
	}
}

uint64_t gmt_phases_work_end(const struct gmt_recording *recording)
{
	for (size_t i = 0; i < recording->marks.count; i++)
		if (recording->marks.items[i].kind == GMT_MARK_KIND_TEARDOWN)
			return recording->marks.items[i].stamp;
	return UINT64_MAX;
}

static bool read_marks(struct gmt_timeline *timeline, const struct gmt_recording *recording)
{
	struct reader reader = { .timeline = timeline };
	bool done = true;

	for (size_t i = 0; done && i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];
		/* `object` identifies the NVTX domain: each domain nests separately on a thread. */
		uint64_t stack_key =
			gmt_hash_u64((uint64_t)mark->thread << 8 | mark->source) ^ mark->object;

		if (reader.open.count == MAX_OPEN)
			give_up_oldest(&reader);
		if (mark->kind == GMT_MARK_KIND_PUSH)
			done = open_phase(&reader, mark, stack_key, false);
		else if (mark->kind == GMT_MARK_KIND_START)
			done = open_phase(&reader, mark, mark->object, true);
		else if (mark->kind == GMT_MARK_KIND_POP)
			close_phase(&reader, mark, stack_key, false);
		else if (mark->kind == GMT_MARK_KIND_STOP)
			close_phase(&reader, mark, mark->object, true);
	}
	timeline->work_end = gmt_phases_work_end(recording);
	end_open_phases(timeline, recording->last_stamp);
	gmt_vec_fini(&reader.open);
	return done;
}

/* The begin or end of a phase. */
struct edge {
	uint64_t stamp;
	uint32_t phase;
	bool is_end;
};

static int by_stamp(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	if (a->is_end != b->is_end)
		return a->is_end ? -1 : 1;
	return (a->phase > b->phase) - (a->phase < b->phase);
}

/* The neighbors of a phase among the phases that are open at a moment: indexes plus 1. */
struct active {
	uint32_t outer_plus_1, inner_plus_1;
};

/* Cuts nested phases into stretches with one innermost phase each. */
struct cutter {
	const struct gmt_timeline *timeline;
	GMT_VEC(struct edge) edges;
	GMT_VEC(struct active) active; /* for each phase */
	uint32_t innermost_plus_1;
};

/*
 * Returns whether the phase is a cell of a notebook (python/gpumemtrace/notebook.py). What a cell
 * leaves is for the next cells.
 */
static bool is_cell(const struct gmt_phase *phase)
{
	int length = 0;

	return sscanf(phase->name, "In [%*[0-9]]%n", &length) == 0 && length && !phase->name[length];
}

static bool list_edges(struct cutter *cutter, bool own)
{
	cutter->edges.count = 0;
	cutter->innermost_plus_1 = 0;
	for (size_t i = 0; i < cutter->timeline->phases.count; i++) {
		const struct gmt_phase *phase = &cutter->timeline->phases.items[i];

		/*
		 * A phase that ends at the stamp of its begin contains nothing, and its end would sort
		 * before its begin.
		 */
		if (phase->end <= phase->begin ||
			(own && (phase->source != GMT_MARK_SOURCE_PROGRAM || phase->open || is_cell(phase))))
			continue;
		if (!gmt_vec_reserve(&cutter->edges, 2))
			return false;
		cutter->edges.items[cutter->edges.count++] =
			(struct edge){ phase->begin, (uint32_t)i, false };
		cutter->edges.items[cutter->edges.count++] = (struct edge){ phase->end, (uint32_t)i, true };
	}
	if (cutter->edges.count)
		qsort(cutter->edges.items, cutter->edges.count, sizeof(*cutter->edges.items), by_stamp);
	return true;
}

/*
 * A phase that begins becomes the innermost. A phase that ends may be anywhere among the open
 * phases.
 */
static void apply_edge(struct cutter *cutter, const struct edge *edge)
{
	struct active *phases = cutter->active.items, *at = &phases[edge->phase];

	if (!edge->is_end) {
		*at = (struct active){ .outer_plus_1 = cutter->innermost_plus_1 };
		if (cutter->innermost_plus_1)
			phases[cutter->innermost_plus_1 - 1].inner_plus_1 = edge->phase + 1;
		cutter->innermost_plus_1 = edge->phase + 1;
		return;
	}
	if (at->outer_plus_1)
		phases[at->outer_plus_1 - 1].inner_plus_1 = at->inner_plus_1;
	if (at->inner_plus_1)
		phases[at->inner_plus_1 - 1].outer_plus_1 = at->outer_plus_1;
	else
		cutter->innermost_plus_1 = at->outer_plus_1;
}

#define CUT(cutter, own, segments) \
	do { \
		if (!list_edges((cutter), (own))) \
			return false; \
		for (size_t i = 0; i < (cutter)->edges.count; i++) { \
			struct gmt_phase_segment *segment = gmt_vec_push(segments); \
			if (!segment) \
				return false; \
			apply_edge((cutter), &(cutter)->edges.items[i]); \
			*segment = (struct gmt_phase_segment){ \
				.begin = (cutter)->edges.items[i].stamp, \
				.phase_plus_1 = (cutter)->innermost_plus_1, \
			}; \
		} \
	} while (0)

static bool cut(struct cutter *cutter, struct gmt_timeline *timeline)
{
	/* Indexed by phase. Nothing is pushed to it. */
	if (!gmt_vec_reserve(&cutter->active, timeline->phases.count))
		return false;
	CUT(cutter, false, &timeline->segments);
	CUT(cutter, true, &timeline->own_segments);
	return true;
}

bool gmt_phases_read(struct gmt_timeline *timeline, const struct gmt_recording *recording)
{
	struct cutter cutter = { .timeline = timeline };
	bool done = read_marks(timeline, recording) && cut(&cutter, timeline);

	gmt_vec_fini(&cutter.edges);
	gmt_vec_fini(&cutter.active);
	return done;
}
