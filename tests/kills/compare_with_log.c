/* SPDX-License-Identifier: MIT */
#include "compare_with_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "comparison.h"

int report_difference(const char *what, uint64_t first, uint64_t second)
{
	printf("%s (%" PRIu64 ", %" PRIu64 ")\n", what, first, second);
	return 1;
}

static struct recorded_part *part_of(struct comparison *comparison, uint32_t id, size_t *ret_index)
{
	const struct gmt_thread *thread = gmt_recording_thread(comparison->recording, id);

	for (*ret_index = 0; thread && *ret_index < LOGGED_THREADS; ++*ret_index)
		if (comparison->call_log->threads[*ret_index].tid == thread->tid)
			return &comparison->parts[*ret_index];
	return NULL;
}

/* Counts the events of each thread that the recording has in detail. */
static int count_events(struct comparison *comparison)
{
	const struct gmt_recording *recording = comparison->recording;

	for (size_t i = 0; i < recording->events.count; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);
		size_t index;
		struct recorded_part *part = part_of(comparison, event.thread, &index);
		bool is_call = event.layer == GMT_LAYER_CUDA;

		if (is_call && (!part || event.space != GMT_SPACE_DEVICE))
			return report_difference("an event has an unknown thread", i, event.thread);
		if (!is_call && part)
			part->other_events++; /* memory that the driver takes for its context */
		else if (is_call && i >= recording->compacted_events)
			part->in_detail++;
	}
	return 0;
}

/* Computes which calls of each thread the recording has. */
static int set_totals(struct comparison *comparison, enum log_coverage coverage,
	const uint64_t *published)
{
	bool exists = comparison->recording->compacted.exists;

	if (exists && (!published || coverage != HAS_ALL_CALLS))
		return report_difference("the recording is compacted",
			comparison->recording->compacted_events, 0);
	for (size_t i = 0; i < LOGGED_THREADS; i++) {
		struct recorded_part *part = &comparison->parts[i];
		uint64_t done = comparison->call_log->threads[i].done;

		part->total = published ? published[i] - part->other_events : part->in_detail;
		part->compacted = part->total - part->in_detail;
		if (part->total > done + 1)
			return report_difference("a thread has more events than calls", i, part->total);
		if (part->total < done && coverage == HAS_ALL_CALLS)
			return report_difference("a thread has fewer events than calls", part->total, done);
		if (part->in_detail > part->total || (part->compacted && !exists))
			return report_difference("events in detail do not match the published events",
				part->total, part->in_detail);
	}
	return 0;
}

/* Compares the events of each thread with its log, in the order of the log. */
static int check_events(struct comparison *comparison)
{
	const struct gmt_recording *recording = comparison->recording;
	uint64_t positions[LOGGED_THREADS];

	for (size_t i = 0; i < LOGGED_THREADS; i++)
		positions[i] = comparison->parts[i].compacted;
	for (size_t i = recording->compacted_events; i < recording->events.count; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);
		size_t index;
		struct recorded_part *part = part_of(comparison, event.thread, &index);

		if (event.layer != GMT_LAYER_CUDA)
			continue;

		const struct logged_thread *thread = &comparison->call_log->threads[index];
		uint64_t position = positions[index]++, address = thread->calls[position].address;
		bool is_alloc = thread->calls[position].size_bytes > 0;
		/* An allocation that the kill interrupted has no address in the log. */
		if (position == thread->done && is_alloc)
			address = part->pending_address = event.address;
		if (event.address != address || event.size_bytes != thread->calls[position].size_bytes ||
			event.kind != (is_alloc ? GMT_KIND_ALLOC : GMT_KIND_FREE))
			return report_difference("an event differs from the call in the log", index, position);
	}
	return 0;
}

uint64_t address_of_call(const struct comparison *comparison, size_t index, uint64_t call)
{
	const struct logged_thread *thread = &comparison->call_log->threads[index];

	return call == thread->done && thread->calls[call].size_bytes
		? comparison->parts[index].pending_address
		: thread->calls[call].address;
}

size_t live_blocks_after(const struct comparison *comparison, size_t index, uint64_t calls,
	struct live_block ret_blocks[MAX_LIVE_PER_THREAD], struct log_sums *sums)
{
	const struct logged_thread *thread = &comparison->call_log->threads[index];
	size_t count = 0, at;

	for (uint64_t i = 0; i < calls; i++) {
		const struct logged_call *call = &thread->calls[i];

		if (call->size_bytes) {
			if (count == MAX_LIVE_PER_THREAD)
				return count +
					(size_t)report_difference("a thread has too many live blocks", index, i);
			ret_blocks[count++] = (struct live_block){ address_of_call(comparison, index, i),
				call->size_bytes, i == thread->done ? UINT64_MAX : call->end_ns, index };
			sums->allocs++;
			sums->total_bytes += call->size_bytes;
			sums->live_bytes += call->size_bytes;
			continue;
		}
		for (at = 0; at < count && ret_blocks[at].address != call->address; at++)
			;
		sums->frees++;
		sums->live_bytes -= ret_blocks[at].size_bytes;
		ret_blocks[at] = ret_blocks[--count];
	}
	sums->live_blocks += count;
	return count;
}

int compare_with_log(const struct gmt_recording *recording, const struct call_log *call_log,
	enum log_coverage coverage, const uint64_t *published)
{
	static struct comparison comparison;

	comparison = (struct comparison){ .recording = recording, .call_log = call_log };
	if (count_events(&comparison) || set_totals(&comparison, coverage, published) ||
		check_events(&comparison) || compare_compacted(&comparison))
		return 1;
	return coverage == MAY_BE_CUT ? 0 : compare_accounts(&comparison);
}
