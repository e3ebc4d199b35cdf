/* SPDX-License-Identifier: MIT */
#include "model/timeline.h"

#include <ctype.h>
#include <string.h>

#include "base/map.h"
#include "model/counters.h"
#include "model/forward.h"

const char *gmt_step_source_name(enum gmt_step_source source)
{
	static const char *const names[GMT_STEPS_SOURCES] = {
		[GMT_STEPS_PROGRAM] = "program",
		[GMT_STEPS_NVTX] = "nvtx",
		[GMT_STEPS_OPTIMIZER] = "optimizer",
		[GMT_STEPS_FORWARD] = "forward",
	};

	return source < GMT_STEPS_SOURCES ? names[source] : "?";
}

bool gmt_series_find(const struct gmt_step_series *series, uint64_t stamp, uint32_t *ret_step)
{
	size_t low = 0, high = series->steps.count;

	/* The first step that ends at or behind the stamp. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (series->steps.items[middle].end < stamp)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_step = (uint32_t)low;
	return low < series->steps.count && series->steps.items[low].begin < stamp;
}

static bool add_step(struct gmt_step_series *series, uint64_t begin, uint64_t end)
{
	struct gmt_step *step;

	if (end <= begin)
		return true;
	step = gmt_vec_push(&series->steps);
	if (step)
		*step = (struct gmt_step){ .begin = begin, .end = end };
	return step;
}

/* Steps that end at marks: those of `source`, of the counter that counts most often. */
static bool steps_to_marks(struct gmt_timeline *timeline, const struct gmt_snapshot *snapshot,
	enum gmt_mark_source mark_source, enum gmt_step_source source)
{
	struct gmt_step_series *series = &timeline->series[0];
	struct gmt_counters counters = { 0 };
	uint64_t begin = 0;
	bool done = true;

	for (size_t i = 0; done && i < snapshot->marks.count; i++) {
		const struct gmt_snapshot_mark *mark = &snapshot->marks.items[i];

		if (mark->kind == GMT_MARK_KIND_STEP && mark->source == mark_source)
			done = gmt_counters_add(&counters, mark_source == GMT_MARK_SOURCE_OPTIMIZER ?
				mark->object : mark->thread, mark->name, mark->stamp);
	}
	done = done && gmt_counters_chain(&counters);
	for (size_t i = 0; done && i < snapshot->marks.count; i++) {
		const struct gmt_snapshot_mark *mark = &snapshot->marks.items[i];

		if (mark->kind != GMT_MARK_KIND_STEP || mark->source != mark_source ||
			!gmt_counters_counts(&counters, mark_source == GMT_MARK_SOURCE_OPTIMIZER ?
				mark->object : mark->thread, mark->name))
			continue;
		done = add_step(series, begin, mark->stamp);
		begin = mark->stamp;
		series->name = mark->name;
		series->source = source;
	}
	gmt_counters_fini(&counters);
	return done;
}

/* "Training Step 12" is a step; a name is told from another by what stands in it beside numbers. */
static bool is_called_step(const char *name)
{
	static const char *const words[] = { "step", "iter", "batch" };
	char lower[64];
	size_t length = 0;

	for (; name[length] && length + 1 < sizeof(lower); length++)
		lower[length] = (char)tolower((unsigned char)name[length]);
	lower[length] = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(lower, words[i]))
			return true;
	return false;
}

/* A name without its numbers, so that "step 1" and "step 2" count together. */
static uint64_t hash_of_kind(const char *name)
{
	char text[256];
	size_t length = 0;

	for (; *name && length + 1 < sizeof(text); name++)
		if (!isdigit((unsigned char)*name))
			text[length++] = *name;
	return gmt_hash_bytes(text, length);
}

/* Steps that are NVTX ranges: from one's begin to the next one's; the last to its own end. */
static bool steps_of_ranges(struct gmt_timeline *timeline)
{
	struct gmt_step_series *series = &timeline->series[0];
	struct gmt_counters counters = { 0 };
	const struct gmt_phase *before = NULL;
	bool done = true;

	for (size_t i = 0; done && i < timeline->phases.count; i++) {
		const struct gmt_phase *phase = &timeline->phases.items[i];

		if (phase->source == GMT_MARK_SOURCE_NVTX && is_called_step(phase->name))
			done = gmt_counters_add(&counters, hash_of_kind(phase->name) ^ phase->thread, "",
				phase->begin);
	}
	done = done && gmt_counters_chain(&counters);
	for (size_t i = 0; done && i < timeline->phases.count; i++) {
		const struct gmt_phase *phase = &timeline->phases.items[i];

		if (phase->source != GMT_MARK_SOURCE_NVTX || !is_called_step(phase->name) ||
			!gmt_counters_counts(&counters, hash_of_kind(phase->name) ^ phase->thread, ""))
			continue;
		if (before)
			done = add_step(series, before->begin, phase->begin);
		before = phase;
	}
	if (done && before)
		done = add_step(series, before->begin, before->end);
	if (series->steps.count) {
		series->source = GMT_STEPS_NVTX;
		series->name = before->name;
	}
	gmt_counters_fini(&counters);
	/* One range is no sequence of steps. */
	if (series->steps.count < 2)
		series->steps.count = 0;
	return done;
}

/* A phase that is open while marks are read. */
struct open_phase {
	uint64_t key; /* thread and source, or the number of a range */
	uint32_t phase; /* index */
	bool numbered;
};

struct reader {
	struct gmt_timeline *timeline;
	GMT_VEC(struct open_phase) open;
};

static bool open_phase(struct reader *reader, const struct gmt_snapshot_mark *mark, uint64_t key, bool numbered)
{
	struct gmt_phase *phase = gmt_vec_push(&reader->timeline->phases);
	struct open_phase *open = phase ? gmt_vec_push(&reader->open) : NULL;
	uint32_t depth = 0;

	if (!open)
		return false;
	for (size_t i = 0; !numbered && i + 1 < reader->open.count; i++)
		depth += !reader->open.items[i].numbered && reader->open.items[i].key == key;
	*open = (struct open_phase){
		.key = key, .phase = (uint32_t)reader->timeline->phases.count - 1, .numbered = numbered,
	};
	*phase = (struct gmt_phase){
		.name = mark->name, .begin = mark->stamp, .thread = mark->thread, .depth = depth,
		.source = mark->source, .open = true,
	};
	return true;
}

static void close_phase(struct reader *reader, const struct gmt_snapshot_mark *mark, uint64_t key, bool numbered)
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

/* More open phases than any program nests: a hostile file must not make this quadratic. */
enum { MAX_OPEN = 4096 };

static bool read_phases(struct gmt_timeline *timeline, const struct gmt_snapshot *snapshot)
{
	struct reader reader = { .timeline = timeline };
	bool done = true;

	for (size_t i = 0; done && i < snapshot->marks.count; i++) {
		const struct gmt_snapshot_mark *mark = &snapshot->marks.items[i];
		uint64_t stack_key = (uint64_t)mark->thread << 8 | mark->source;
		bool has_room = reader.open.count < MAX_OPEN;

		if (mark->kind == GMT_MARK_KIND_PUSH && has_room)
			done = open_phase(&reader, mark, stack_key, false);
		else if (mark->kind == GMT_MARK_KIND_START && has_room)
			done = open_phase(&reader, mark, mark->object, true);
		else if (mark->kind == GMT_MARK_KIND_POP)
			close_phase(&reader, mark, stack_key, false);
		else if (mark->kind == GMT_MARK_KIND_STOP)
			close_phase(&reader, mark, mark->object, true);
		else if (mark->kind == GMT_MARK_KIND_TEARDOWN && timeline->work_end == UINT64_MAX)
			timeline->work_end = mark->stamp;
	}
	for (size_t i = 0; i < reader.open.count; i++)
		timeline->phases.items[reader.open.items[i].phase].end = snapshot->last_stamp;
	gmt_vec_fini(&reader.open);
	return done;
}

static bool has_torch(const struct gmt_snapshot *snapshot)
{
	return snapshot->totals.count;
}

static const char *option_of(const struct gmt_snapshot *snapshot, const char *key)
{
	for (size_t i = 0; i < snapshot->options.count; i++)
		if (strcmp(snapshot->options.items[i].key.text, key) == 0)
			return snapshot->options.items[i].value.text;
	return "";
}

static const char *why_none(const struct gmt_snapshot *snapshot)
{
	if (!has_torch(snapshot))
		return "the program sets no marks and no NVTX ranges that are called a step, and PyTorch's "
			"allocator was not used";
	if (strcmp(option_of(snapshot, "steps"), "off") == 0)
		return "automatic steps were switched off (steps=off), and the program sets no marks";
	if (strcmp(option_of(snapshot, "stacks"), "none") == 0 ||
		strcmp(option_of(snapshot, "stacks"), "native") == 0)
		return "no optimizer made a step, the program sets no marks, and without Python stacks calls "
			"of modules cannot be told";
	return "no optimizer made a step, no module was called, and the program sets no marks";
}

enum gmt_status gmt_timeline_init(struct gmt_timeline *ret_timeline, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, struct gmt_error *error)
{
	struct gmt_timeline *timeline = ret_timeline;
	struct gmt_step_series *first = &timeline->series[0];
	bool done;

	timeline->work_end = UINT64_MAX;
	first->name = "";
	done = read_phases(timeline, snapshot) &&
		steps_to_marks(timeline, snapshot, GMT_MARK_SOURCE_PROGRAM, GMT_STEPS_PROGRAM);
	if (done && !first->steps.count)
		done = steps_of_ranges(timeline);
	if (done && !first->steps.count)
		done = steps_to_marks(timeline, snapshot, GMT_MARK_SOURCE_OPTIMIZER, GMT_STEPS_OPTIMIZER);
	timeline->series_count = first->steps.count != 0;
	/* Marks that the program sets itself mean what it wants counted: nothing else is. */
	if (done && (!timeline->series_count || first->source == GMT_STEPS_OPTIMIZER)) {
		struct gmt_step_series *forward = &timeline->series[timeline->series_count];

		done = gmt_forward_steps(snapshot, traces, timeline->series_count ? first : NULL,
			timeline->work_end, forward);
		timeline->series_count += forward->steps.count != 0;
	}
	if (!timeline->series_count)
		timeline->why_none = why_none(snapshot);
	if (done)
		return GMT_OK;
	gmt_timeline_fini(timeline);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_timeline_fini(struct gmt_timeline *timeline)
{
	for (size_t i = 0; i < GMT_TIMELINE_SERIES; i++)
		gmt_vec_fini(&timeline->series[i].steps);
	gmt_vec_fini(&timeline->phases);
	gmt_arena_fini(&timeline->arena);
}
