/* SPDX-License-Identifier: MIT */
#include "analysis/oom/oom_refusals.h"

#include "analysis/oom/ooms.h"

/* Returns the fields of an event that the outcomes depend on. */
static struct gmt_oom_outcomes_event outcome_event_of(const struct gmt_recording_event *event)
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
	struct gmt_oom_refusals *refusals = user;

	refusals->rows.items[refusal].outcome = (uint8_t)outcome;
	refusals->rows.items[refusal].parts = parts;
}

/* Adds a refusal. `index`: number of its event. Returns false if memory is exhausted. */
static bool add_refusal(struct gmt_oom_refusals *refusals, struct gmt_oom_outcomes *finder,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_oom_outcomes_event refused = outcome_event_of(event);
	size_t refusal = refusals->rows.count;
	struct gmt_oom_refusal *row = gmt_vec_push(&refusals->rows);

	if (!row)
		return false;
	*row = (struct gmt_oom_refusal){
		.event = index,
		.outcome = GMT_OOM_OUTCOME_FAILED,
		.parts = event->layer != GMT_LAYER_TORCH,
	};
	return gmt_oom_outcomes_refused(finder, &refused, refusal);
}

bool gmt_oom_refusals_find(struct gmt_oom_refusals *ret_refusals,
	const struct gmt_recording *recording, size_t count)
{
	struct gmt_oom_outcomes finder = { .on_outcome = on_outcome, .user = ret_refusals };
	struct gmt_events_reader reader;
	bool done = gmt_events_reader_init(&reader, &recording->events,
		GMT_EVENTS_STAMP | GMT_EVENTS_ADDRESS | GMT_EVENTS_SIZE);

	for (size_t i = 0; recording->has_refusals && i < count && done; i++) {
		const struct gmt_recording_event *event = gmt_events_at(&reader, i);
		struct gmt_oom_outcomes_event granted = outcome_event_of(event);

		/*
		 * In the compacted prefix, use only refusals that had no outcome at the cut. The prefix has
		 * only counts of the others, and not which sites held memory at that time.
		 */
		if (i < recording->compacted_events &&
			!gmt_compacted_prefix_is_open(&recording->compacted, event->thread, event->stamp))
			continue;
		if (gmt_oom_is_refusal(event))
			done = add_refusal(ret_refusals, &finder, event, i);
		else if (finder.open && event->kind == GMT_KIND_ALLOC)
			gmt_oom_outcomes_granted(&finder, &granted);
	}
	gmt_events_reader_fini(&reader);
	gmt_oom_outcomes_fini(&finder);
	return done;
}

void gmt_oom_refusals_fini(struct gmt_oom_refusals *refusals)
{
	gmt_vec_fini(&refusals->rows);
}

bool gmt_oom_is_refusal(const struct gmt_recording_event *event)
{
	return event->kind == GMT_KIND_ALLOC_FAILED &&
		gmt_oom_outcomes_is_out_of_memory(event->layer, event->result);
}
