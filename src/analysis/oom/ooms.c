/* SPDX-License-Identifier: MIT */
#include "analysis/oom/ooms.h"

#include "containers/bisect.h"
#include "analysis/oom/oom_refusals.h"
#include "analysis/oom/oom_moment.h"
#include "reader/load/clock.h"

uint64_t gmt_oom_usable_bytes(const struct gmt_oom_row *row)
{
	return row->knows_usable ? row->usable_bytes : row->cached_bytes;
}

bool gmt_oom_would_fit(const struct gmt_oom_row *row)
{
	if (!row->has_driver)
		return false;
	return row->requested_bytes <= row->free_bytes ||
		row->requested_bytes - row->free_bytes <= gmt_oom_usable_bytes(row);
}

static bool add_row(struct gmt_ooms *ooms, const struct gmt_oom_refusal *refusal)
{
	struct gmt_recording_event event = gmt_recording_event(ooms->recording, refusal->event);
	struct gmt_oom_row *row = gmt_vec_push(&ooms->rows);

	if (!row)
		return false;
	*row = (struct gmt_oom_row){
		.event = refusal->event,
		.stamp = event.stamp,
		.time_ns = gmt_clock_time_ns(ooms->recording, event.stamp),
		.layer = event.layer,
		.device = gmt_space_side(event.space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : event.device,
		.requested_bytes = event.size_bytes,
		.recovered = refusal->outcome == GMT_OOM_OUTCOME_RETRY,
		.driver_refusals = refusal->parts,
	};
	return true;
}

/* Finds rows by their stamp. Two threads may have the same stamp. */
static void note_driver(struct gmt_ooms *ooms, const struct gmt_oom *oom)
{
	size_t low = GMT_BISECT(at, ooms->rows.count, ooms->rows.items[at].stamp < oom->stamp);

	for (; low < ooms->rows.count && ooms->rows.items[low].stamp == oom->stamp; low++) {
		struct gmt_oom_row *row = &ooms->rows.items[low];

		if (gmt_recording_event(ooms->recording, row->event).thread != oom->thread ||
			row->device != oom->device ||
			(!oom->total_bytes && !gmt_recording_is_imported(ooms->recording)))
			continue;
		/* Without a total, the driver did not answer. Only an import may lack just the total. */
		row->has_driver = oom->total_bytes;
		row->has_free = true;
		row->free_bytes = oom->free_bytes;
		row->total_bytes = oom->total_bytes;
	}
}

/*
 * Adds rows for the last refusals of each outcome and for the first failure, because later failures
 * may be its consequence.
 */
static bool add_rows(struct gmt_ooms *ooms, const struct gmt_oom_refusals *refusals)
{
	uint64_t counts[2] = { 0 }, seen[2] = { 0 };

	for (size_t i = 0; i < refusals->rows.count; i++)
		if (refusals->rows.items[i].outcome != GMT_OOM_OUTCOME_PART)
			counts[refusals->rows.items[i].outcome]++;
	for (size_t i = 0; i < refusals->rows.count; i++) {
		const struct gmt_oom_refusal *refusal = &refusals->rows.items[i];

		if (refusal->outcome == GMT_OOM_OUTCOME_PART)
			continue;

		uint64_t number = seen[refusal->outcome]++;
		if ((refusal->outcome == GMT_OOM_OUTCOME_FAILED && number == 0) ||
			counts[refusal->outcome] - number <= GMT_OOMS_KEPT) {
			if (!add_row(ooms, refusal))
				return false;
		} else {
			ooms->left_out++;
		}
	}
	ooms->failures = counts[GMT_OOM_OUTCOME_FAILED];
	ooms->retries = counts[GMT_OOM_OUTCOME_RETRY];
	return true;
}

/* Adds the counts of the compacted prefix, by site. */
static void add_compacted(struct gmt_ooms *ooms, uint64_t until_ns)
{
	const struct gmt_compacted_prefix *compacted = &ooms->recording->compacted;

	if (!compacted->exists || gmt_clock_time_ns(ooms->recording, compacted->cut_stamp) > until_ns)
		return;
	for (size_t i = 0; i < compacted->sites.count; i++)
		ooms->compacted_failures =
			gmt_saturating_add_u64(ooms->compacted_failures, compacted->sites.items[i].oom_count);
	ooms->compacted_retries = compacted->oom_retries;
	ooms->failures = gmt_saturating_add_u64(ooms->failures, ooms->compacted_failures);
	ooms->retries = gmt_saturating_add_u64(ooms->retries, ooms->compacted_retries);
	ooms->left_out = gmt_saturating_add_u64(ooms->left_out,
		gmt_saturating_add_u64(ooms->compacted_failures, ooms->compacted_retries));
}

enum gmt_status gmt_ooms_init(struct gmt_ooms *ret_ooms, const struct gmt_recording *recording,
	uint64_t until_ns, struct gmt_error *error)
{
	struct gmt_oom_refusals refusals = { 0 };

	ret_ooms->recording = recording;

	bool done =
		gmt_oom_refusals_find(&refusals, recording, gmt_replay_count(recording, until_ns)) &&
		add_rows(ret_ooms, &refusals) &&
		gmt_mark_spans_read(&ret_ooms->captures, recording, GMT_MARK_KIND_CAPTURE,
			GMT_MARK_KIND_CAPTURED);
	gmt_oom_refusals_fini(&refusals);
	if (!done) {
		gmt_ooms_fini(ret_ooms);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	add_compacted(ret_ooms, until_ns);
	for (size_t i = 0; i < recording->ooms.count; i++)
		note_driver(ret_ooms, &recording->ooms.items[i]);
	return GMT_OK;
}

/* Follows the driver memory until the last row. */
static bool before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_ooms *ooms = user;
	uint64_t size_bytes = event->size_bytes;
	struct gmt_allocator_segment *mapped;

	if (ooms->next == ooms->rows.count)
		return true;
	while (event->kind == GMT_KIND_UNMAP &&
		(mapped = gmt_allocator_memory_mapped_in(&ooms->memory, event->address, size_bytes))) {
		size_bytes = mapped->address - event->address;
		gmt_allocator_memory_remove(&ooms->memory, mapped);
	}
	if (!gmt_allocator_memory_observe(&ooms->memory, event))
		return false;
	return ooms->rows.items[ooms->next].event != index ||
		gmt_oom_moment_fill(&ooms->rows.items[ooms->next++], ooms, &replay->accounting, event);
}

static bool began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	struct gmt_ooms *ooms = user;

	return ooms->next == ooms->rows.count || !gmt_allocator_memory_has_address(event) ||
		gmt_allocator_memory_add(&ooms->memory, event,
			accounting->accounts.items[accounting->sites.items[site].account].device, site);
}

static bool ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_ooms *ooms = user;
	struct gmt_allocator_segment *segment;

	(void)replay;
	(void)block;
	if (ooms->next == ooms->rows.count || !gmt_allocator_memory_has_address(event))
		return true;
	segment = gmt_allocator_memory_at(&ooms->memory, event->address);
	if (segment && !segment->memory)
		gmt_allocator_memory_remove(&ooms->memory, segment);
	return true;
}

static bool mapped(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint64_t number)
{
	struct gmt_ooms *ooms = user;

	(void)replay;
	return ooms->next == ooms->rows.count || !gmt_allocator_memory_is_mappable(event) ||
		gmt_allocator_memory_map(&ooms->memory, event, number);
}

/* The sites of refusals are known only after the replay has accounted for them. */
static bool finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_ooms *ooms = user;
	size_t refusal = 0;

	for (size_t i = 0; i < ooms->rows.count; i++) {
		struct gmt_oom_row *row = &ooms->rows.items[i];

		while (refusal < replay->refusals.count &&
			replay->refusals.items[refusal].event < row->event)
			refusal++;
		if (refusal == replay->refusals.count)
			break;
		row->site = replay->refusals.items[refusal].site;
		row->stack = replay->site_stacks.items[row->site];
	}
	return true;
}

struct gmt_replay_observer gmt_ooms_observer(struct gmt_ooms *ooms)
{
	/* Without refusals, nothing needs to be observed. */
	if (!ooms->rows.count)
		return (struct gmt_replay_observer){ 0 };
	return (struct gmt_replay_observer){
		.before = before,
		.next_needed_stamp = &gmt_replay_quiet,
		.before_kinds = GMT_REPLAY_KIND(ALLOC_FAILED) | GMT_REPLAY_KIND(UNMAP) |
			GMT_REPLAY_KIND(CREATE) | GMT_REPLAY_KIND(DESTROY),
		.began = began,
		.ended = ended,
		.mapped = mapped,
		.finished = finished,
		.user = ooms,
	};
}

void gmt_ooms_fini(struct gmt_ooms *ooms)
{
	gmt_vec_fini(&ooms->rows);
	gmt_allocator_memory_fini(&ooms->memory);
	gmt_mark_spans_fini(&ooms->captures);
}
