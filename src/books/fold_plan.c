/* SPDX-License-Identifier: MIT */
#include "books/fold.h"

#include "base/pages.h"

enum { MOST_STEPS = 65536 };

void gmt_fold_plan_init(struct gmt_fold_plan *ret_plan, const struct gmt_fold_keep *keep)
{
	*ret_plan = (struct gmt_fold_plan){ .keep = *keep };
	if (ret_plan->keep.steps > MOST_STEPS)
		ret_plan->keep.steps = MOST_STEPS;
	if (ret_plan->keep.steps) {
		ret_plan->steps = gmt_pages_grow(NULL, 0, (ret_plan->keep.steps + 1) * sizeof(*ret_plan->steps));
		ret_plan->failed = !ret_plan->steps;
	}
}

static void add(struct gmt_fold_moment *ring, uint32_t *count, const struct gmt_fold_moment *moment)
{
	ring[(*count)++ % GMT_FOLD_PLAN_MOMENTS] = *moment;
}

/* The last moment that was put in; NULL: none yet. */
static const struct gmt_fold_moment *newest(const struct gmt_fold_moment *ring, uint32_t count)
{
	return count ? &ring[(count - 1) % GMT_FOLD_PLAN_MOMENTS] : NULL;
}

/* Ticks of so many nanoseconds, as the clocks have gone so far; a tick is one when they do not say. */
static uint64_t ticks_of(const struct gmt_fold_plan *plan, uint64_t time_ns)
{
	uint64_t ticks = plan->last_clock_stamp - plan->first_clock_stamp, ns = plan->last_clock_ns - plan->first_clock_ns;

	return ns && ticks ? (uint64_t)((unsigned __int128)time_ns * ticks / ns) : time_ns;
}

static void see_event(struct gmt_fold_plan *plan, uint64_t stamp)
{
	const struct gmt_fold_moment *last;
	struct gmt_fold_moment now;

	plan->events++;
	if (stamp > plan->last_stamp)
		plan->last_stamp = stamp;
	now = (struct gmt_fold_moment){ plan->last_stamp, plan->events };
	last = newest(plan->by_event, plan->event_moments);
	/* Half of the ring spans what is to be kept. */
	if (plan->keep.events && (!last || now.events - last->events > plan->keep.events / (GMT_FOLD_PLAN_MOMENTS / 2)))
		add(plan->by_event, &plan->event_moments, &now);
	last = newest(plan->by_time, plan->time_moments);
	if (plan->keep.time_ns && (!last ||
		now.stamp - last->stamp > ticks_of(plan, plan->keep.time_ns) / (GMT_FOLD_PLAN_MOMENTS / 2)))
		add(plan->by_time, &plan->time_moments, &now);
}

static void see_clock(struct gmt_fold_plan *plan, const struct gmt_clock *clock)
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

/* The program's own marks count, where it sets any; else those of the optimizer that stepped first. */
static void see_mark(struct gmt_fold_plan *plan, const struct gmt_mark *mark)
{
	bool is_own = mark->source == GMT_MARK_SOURCE_PROGRAM;

	if (!plan->steps || mark->kind != GMT_MARK_KIND_STEP)
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

void gmt_fold_plan_rows(struct gmt_fold_plan *plan, uint32_t kind, const void *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (kind == GMT_RECORD_EVENT)
			see_event(plan, ((const struct gmt_event *)rows)[i].stamp);
		else if (kind == GMT_RECORD_CLOCK)
			see_clock(plan, (const struct gmt_clock *)rows + i);
		else if (kind == GMT_RECORD_MARK)
			see_mark(plan, (const struct gmt_mark *)rows + i);
	}
}

/* The latest moment that leaves `events` behind it; 0: there is none. */
static uint64_t cut_by_events(const struct gmt_fold_plan *plan)
{
	uint64_t cut = 0;

	for (uint32_t i = 0; i < plan->event_moments && i < GMT_FOLD_PLAN_MOMENTS; i++) {
		const struct gmt_fold_moment *moment = &plan->by_event[i];

		if (plan->events - moment->events >= plan->keep.events && moment->stamp > cut)
			cut = moment->stamp;
	}
	return cut;
}

static uint64_t cut_by_time(const struct gmt_fold_plan *plan)
{
	uint64_t ticks = ticks_of(plan, plan->keep.time_ns), cut = 0;

	for (uint32_t i = 0; i < plan->time_moments && i < GMT_FOLD_PLAN_MOMENTS; i++) {
		const struct gmt_fold_moment *moment = &plan->by_time[i];

		if (plan->last_stamp - moment->stamp >= ticks && moment->stamp > cut)
			cut = moment->stamp;
	}
	return cut;
}

static uint64_t cut_by_steps(const struct gmt_fold_plan *plan)
{
	return plan->step_count > plan->keep.steps ? plan->steps[plan->step_count % (plan->keep.steps + 1)] : 0;
}

uint64_t gmt_fold_plan_cut(const struct gmt_fold_plan *plan)
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

void gmt_fold_plan_fini(struct gmt_fold_plan *plan)
{
	gmt_pages_free(plan->steps, (plan->keep.steps + 1) * sizeof(*plan->steps));
	plan->steps = NULL;
}
