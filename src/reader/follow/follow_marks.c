/* SPDX-License-Identifier: MIT */
#include "reader/follow/follow_marks.h"

#include <string.h>

#include "containers/map.h"
#include "reader/steps/step_names.h"

/* A program has few of these at one time. A hostile file must not make each mark a long search. */
enum { MAX_COUNTERS = 256, MAX_PHASES = 256 };

static struct gmt_follow_counter *get_counter(struct gmt_follow_marks *marks, uint8_t source,
	uint64_t object, const char *name)
{
	struct gmt_name_without_digits without = gmt_name_without_digits(name);
	uint64_t name_hash = gmt_hash_bytes(without.text, strlen(without.text));

	for (size_t i = marks->counters.count; i-- > 0;) {
		struct gmt_follow_counter *counter = &marks->counters.items[i];

		if (counter->source == source && counter->object == object &&
			counter->name_hash == name_hash)
			return counter;
	}
	if (marks->counters.count == MAX_COUNTERS) {
		marks->left_out++;
		return &marks->counters.items[MAX_COUNTERS - 1];
	}

	struct gmt_follow_counter *counter = gmt_vec_push(&marks->counters);

	if (counter)
		*counter = (struct gmt_follow_counter){
			.name = name, .name_hash = name_hash, .object = object, .source = source
		};
	return counter;
}

/* Counts a step. `object` distinguishes counters of the same name. */
static bool count_step(struct gmt_follow_marks *marks, const struct gmt_recording_mark *mark,
	uint64_t object)
{
	struct gmt_follow_counter *counter = get_counter(marks, mark->source, object, mark->name);

	if (!counter)
		return false;
	counter->steps++;
	counter->previous_stamp = counter->last_stamp;
	counter->last_stamp = mark->stamp;
	return true;
}

static bool begin_phase(struct gmt_follow_marks *marks, const struct gmt_recording_mark *mark)
{
	struct gmt_follow_phase *phase;

	/* A range of NVTX that is named like a step begins a step. */
	if (mark->source == GMT_MARK_SOURCE_NVTX && gmt_is_step_name(mark->name) &&
		!count_step(marks, mark, mark->thread))
		return false;
	if (marks->phases.count == MAX_PHASES) {
		marks->left_out++;
		return true;
	}
	phase = gmt_vec_push(&marks->phases);
	if (phase)
		*phase = (struct gmt_follow_phase){ .name = mark->name,
			.object = mark->object,
			.thread = mark->thread,
			.source = mark->source,
			.is_by_number = mark->kind == GMT_MARK_KIND_START };
	return phase;
}

static void end_phase(struct gmt_follow_marks *marks, const struct gmt_recording_mark *mark)
{
	bool is_by_number = mark->kind == GMT_MARK_KIND_STOP;

	for (size_t i = marks->phases.count; i-- > 0;) {
		struct gmt_follow_phase *phase = &marks->phases.items[i];

		if (phase->source != mark->source || phase->is_by_number != is_by_number ||
			phase->object != mark->object || (!is_by_number && phase->thread != mark->thread))
			continue;
		memmove(phase, phase + 1, (marks->phases.count - i - 1) * sizeof(*phase));
		marks->phases.count--;
		return;
	}
}

bool gmt_follow_marks_add(struct gmt_follow_marks *marks, const struct gmt_recording_mark *mark)
{
	switch (mark->kind) {
	case GMT_MARK_KIND_STEP:
		return count_step(marks, mark, mark->object);
	case GMT_MARK_KIND_PUSH:
	case GMT_MARK_KIND_START:
		return begin_phase(marks, mark);
	case GMT_MARK_KIND_POP:
	case GMT_MARK_KIND_STOP:
		end_phase(marks, mark);
		return true;
	case GMT_MARK_KIND_PAUSE:
	case GMT_MARK_KIND_RESUME:
		marks->is_paused = mark->kind == GMT_MARK_KIND_PAUSE;
		return true;
	case GMT_MARK_KIND_TEARDOWN:
		if (!marks->work_end)
			marks->work_end = mark->stamp;
		return true;
	}
	return true;
}

bool gmt_follow_marks_add_compacted(struct gmt_follow_marks *marks,
	const struct gmt_recording *recording)
{
	for (size_t i = 0; i < recording->compacted.counters.count; i++) {
		const struct gmt_past_counter *row = &recording->compacted.counters.items[i];
		struct gmt_follow_counter *counter;

		counter =
			get_counter(marks, row->source, row->object, gmt_recording_name(recording, row->name));
		if (!counter)
			return false;
		counter->steps += row->marks;
		counter->last_stamp = row->last_stamp;
		counter->previous_stamp = row->before_stamp;
	}
	return true;
}

/* Sources in this order are what timeline.h takes first. */
static int precedence(uint8_t source)
{
	return source == GMT_MARK_SOURCE_PROGRAM ? 2 : source == GMT_MARK_SOURCE_NVTX;
}

const struct gmt_follow_counter *gmt_follow_marks_steps(const struct gmt_follow_marks *marks)
{
	const struct gmt_follow_counter *best = NULL;

	for (size_t i = 0; i < marks->counters.count; i++) {
		const struct gmt_follow_counter *counter = &marks->counters.items[i];
		int difference = best ? precedence(counter->source) - precedence(best->source) : 1;

		if (difference > 0 || (!difference && counter->steps > best->steps))
			best = counter;
	}
	return best;
}

const char *gmt_follow_marks_phase(const struct gmt_follow_marks *marks)
{
	return marks->phases.count ? marks->phases.items[marks->phases.count - 1].name : NULL;
}

void gmt_follow_marks_fini(struct gmt_follow_marks *marks)
{
	gmt_vec_fini(&marks->counters);
	gmt_vec_fini(&marks->phases);
}
