/* SPDX-License-Identifier: MIT */
#include "analysis/oom/oom_results.h"

#include "analysis/oom/ooms.h"

static struct gmt_oom_outcomes_event of(const struct gmt_snapshot_event *event)
{
	return (struct gmt_oom_outcomes_event){
		.address = event->address,
		.size_bytes = event->size_bytes,
		.thread = event->thread,
		.device = event->device,
		.layer = event->layer,
		.space = event->space,
	};
}

static void on_outcome(void *user, uint64_t refusal, enum gmt_oom_outcome outcome, unsigned parts)
{
	struct gmt_oom_results *oom_outcomes = user;

	oom_outcomes->refusals.items[refusal].outcome = (uint8_t)outcome;
	oom_outcomes->refusals.items[refusal].parts = parts;
}

static bool refused(struct gmt_oom_results *oom_outcomes, struct gmt_oom_outcomes *finder,
	const struct gmt_snapshot_event *event, size_t index)
{
	struct gmt_oom_outcomes_event refused = of(event);
	size_t refusal = oom_outcomes->refusals.count;
	struct gmt_oom_refusal *row = gmt_vec_push(&oom_outcomes->refusals);

	if (!row)
		return false;
	*row = (struct gmt_oom_refusal){
		.event = index,
		.outcome = GMT_OOM_OUTCOME_FAILED,
		.parts = event->layer != GMT_LAYER_TORCH,
	};
	return gmt_oom_outcomes_refused(finder, &refused, refusal);
}

bool gmt_oom_results_find(struct gmt_oom_results *ret_results, const struct gmt_snapshot *snapshot,
	size_t count)
{
	struct gmt_oom_outcomes finder = { .on_outcome = on_outcome, .user = ret_results };
	struct gmt_events_reader reader;
	bool done = gmt_events_reader_init(&reader, &snapshot->events,
		GMT_EVENTS_STAMP | GMT_EVENTS_ADDRESS | GMT_EVENTS_SIZE);

	for (size_t i = 0; snapshot->has_refusals && i < count && done; i++) {
		const struct gmt_snapshot_event *event = gmt_events_at(&reader, i);
		struct gmt_oom_outcomes_event granted = of(event);

		/*
		 * In the compacted prefix, only refusals without an outcome at that time are used. The
		 * others are in the counts, and who held memory then is not kept.
		 */
		if (i < snapshot->compacted_events &&
			!gmt_compacted_is_open(&snapshot->compacted, event->thread, event->stamp))
			continue;
		if (gmt_oom_is_refusal(event))
			done = refused(ret_results, &finder, event, i);
		else if (finder.open && event->kind == GMT_KIND_ALLOC)
			gmt_oom_outcomes_granted(&finder, &granted);
	}
	gmt_events_reader_fini(&reader);
	gmt_oom_outcomes_fini(&finder);
	return done;
}

void gmt_oom_results_fini(struct gmt_oom_results *oom_outcomes)
{
	gmt_vec_fini(&oom_outcomes->refusals);
}

bool gmt_oom_is_refusal(const struct gmt_snapshot_event *event)
{
	return event->kind == GMT_KIND_ALLOC_FAILED &&
		gmt_oom_outcomes_is_out_of_memory(event->layer, event->result);
}
