/* SPDX-License-Identifier: MIT */
#include "compaction/compact.h"

#include "base/pages.h"

enum { MAX_STEPS = 65536, MAX_EVENTS = 1 << 22 };

void gmt_compact_plan_init(struct gmt_compact_plan *ret_plan, const struct gmt_compact_keep *keep)
{
	*ret_plan = (struct gmt_compact_plan){ .keep = *keep };
	if (ret_plan->keep.events > MAX_EVENTS)
		ret_plan->keep.events = MAX_EVENTS;
	if (ret_plan->keep.steps > MAX_STEPS)
		ret_plan->keep.steps = MAX_STEPS;
	if (ret_plan->keep.steps) {
		ret_plan->steps =
			gmt_pages_grow(NULL, 0, (ret_plan->keep.steps + 1) * sizeof(*ret_plan->steps));
		ret_plan->failed = !ret_plan->steps;
	}
}

/*
 * Converts nanoseconds to ticks at the rate of the clock rows. Without clock rows, a tick counts as
 * a nanosecond.
 */
static uint64_t ticks_of(const struct gmt_compact_plan *plan, uint64_t time_ns)
{
	uint64_t ticks = plan->last_clock_stamp - plan->first_clock_stamp,
			 ns = plan->last_clock_ns - plan->first_clock_ns;
	unsigned __int128 product = (unsigned __int128)time_ns * ticks;

	if (!ns || !ticks)
		return time_ns;
	return product / ns > UINT64_MAX ? UINT64_MAX : (uint64_t)(product / ns);
}

static void note_event(struct gmt_compact_plan *plan, uint64_t stamp)
{
	struct gmt_priority_queue_entry oldest;

	if (stamp > plan->last_stamp)
		plan->last_stamp = stamp;
	if (!plan->keep.events ||
		(plan->newest.entries.count > plan->keep.events &&
			stamp <= plan->newest.entries.items[0].stamp))
		return;
	plan->failed |= !gmt_priority_queue_push(&plan->newest,
		(struct gmt_priority_queue_entry){ .stamp = stamp });
	if (plan->newest.entries.count > plan->keep.events + 1)
		gmt_priority_queue_pop(&plan->newest, &oldest);
}

static void note_clock(struct gmt_compact_plan *plan, const struct gmt_clock *clock)
{
	if (!plan->first_clock_stamp) {
		plan->first_clock_stamp = clock->stamp;
		plan->first_clock_ns = clock->monotonic_ns;
	}
	if (clock->stamp >= plan->first_clock_stamp && clock->monotonic_ns >= plan->first_clock_ns) {
		plan->last_clock_stamp = clock->stamp;
		plan->last_clock_ns = clock->monotonic_ns;
	}
}

/*
 * Uses the program's own marks if there are any, else the marks of the optimizer that stepped
 * first.
 */
static void note_mark(struct gmt_compact_plan *plan, const struct gmt_mark *mark)
{
	bool is_own = mark->source == GMT_MARK_SOURCE_PROGRAM;

	if (!plan->steps || mark->kind != GMT_MARK_KIND_STEP || mark->source == GMT_MARK_SOURCE_READER)
		return;
	if (is_own && !plan->program_steps) {
		plan->program_steps = true;
		plan->step_count = 0;
	}
	if (is_own != plan->program_steps)
		return;
	if (!is_own && !plan->step_count)
		plan->step_object = mark->object;
	if (!is_own && mark->object != plan->step_object)
		return;
	plan->steps[plan->step_count++ % (plan->keep.steps + 1)] = mark->stamp;
}

void gmt_compact_plan_rows(struct gmt_compact_plan *plan, uint32_t kind, const void *rows,
	uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (kind == GMT_RECORD_EVENT)
			note_event(plan, ((const struct gmt_event *)rows)[i].stamp);
		else if (kind == GMT_RECORD_CLOCK)
			note_clock(plan, (const struct gmt_clock *)rows + i);
		else if (kind == GMT_RECORD_MARK)
			note_mark(plan, (const struct gmt_mark *)rows + i);
	}
}

/* Returns the stamp of the event before the kept ones; 0: there is no such event. */
static uint64_t cut_by_events(const struct gmt_compact_plan *plan)
{
	return plan->newest.entries.count > plan->keep.events ? plan->newest.entries.items[0].stamp : 0;
}

static uint64_t cut_by_time(const struct gmt_compact_plan *plan)
{
	uint64_t ticks = ticks_of(plan, plan->keep.time_ns);

	return plan->last_stamp > ticks ? plan->last_stamp - ticks : 0;
}

static uint64_t cut_by_steps(const struct gmt_compact_plan *plan)
{
	return plan->step_count > plan->keep.steps
		? plan->steps[plan->step_count % (plan->keep.steps + 1)]
		: 0;
}

uint64_t gmt_compact_plan_cut(const struct gmt_compact_plan *plan)
{
	uint64_t cut = UINT64_MAX, other;

	if (plan->failed)
		return 0;
	if (plan->keep.events && (other = cut_by_events(plan)) < cut)
		cut = other;
	if (plan->keep.time_ns && (other = cut_by_time(plan)) < cut)
		cut = other;
	if (plan->keep.steps && (other = cut_by_steps(plan)) < cut)
		cut = other;
	return cut;
}

void gmt_compact_plan_fini(struct gmt_compact_plan *plan)
{
	gmt_priority_queue_fini(&plan->newest);
	gmt_pages_free(plan->steps, (plan->keep.steps + 1) * sizeof(*plan->steps));
	plan->steps = NULL;
}
