/* SPDX-License-Identifier: MIT */
#include "kept_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kept_parts.h"

int kept_wrong(const char *what, uint64_t first, uint64_t second)
{
	printf("%s (%" PRIu64 ", %" PRIu64 ")\n", what, first, second);
	return 1;
}

static struct kept_part *part_of(struct kept_case *kept_case, uint32_t id, size_t *ret_index)
{
	const struct gmt_thread *thread = gmt_recording_thread(kept_case->recording, id);

	for (*ret_index = 0; thread && *ret_index < KEPT_THREADS; ++*ret_index)
		if (kept_case->kept->threads[*ret_index].tid == thread->tid)
			return &kept_case->parts[*ret_index];
	return NULL;
}

/* Counts the events that each thread has in detail. */
static int count_events(struct kept_case *kept_case)
{
	const struct gmt_recording *recording = kept_case->recording;

	for (size_t i = 0; i < recording->events.count; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);
		size_t index;
		struct kept_part *part = part_of(kept_case, event.thread, &index);
		bool is_call = event.layer == GMT_LAYER_CUDA;

		if (is_call && (!part || event.space != GMT_SPACE_DEVICE))
			return kept_wrong("an event of an unknown thread", i, event.thread);
		if (!is_call && part)
			part->others++; /* memory that the driver takes for its context */
		else if (is_call && i >= recording->compacted_events)
			part->kept++;
	}
	return 0;
}

/* Computes which calls of each thread the recording has. */
static int set_totals(struct kept_case *kept_case, enum kept_how how, const uint64_t *published)
{
	bool has_compacted_prefix = kept_case->recording->compacted.has_compacted_prefix;

	if (has_compacted_prefix && (!published || how != KEPT_WHOLE))
		return kept_wrong("folded", kept_case->recording->compacted_events, 0);
	for (size_t i = 0; i < KEPT_THREADS; i++) {
		struct kept_part *part = &kept_case->parts[i];
		uint64_t done = kept_case->kept->threads[i].done;

		part->total = published ? published[i] - part->others : part->kept;
		part->folded = part->total - part->kept;
		if (part->total > done + 1)
			return kept_wrong("an event that never was", i, part->total);
		if (part->total < done && how == KEPT_WHOLE)
			return kept_wrong("events are missing", part->total, done);
		if (part->kept > part->total || (part->folded && !has_compacted_prefix))
			return kept_wrong("other events than were published", part->total, part->kept);
	}
	return 0;
}

/* Compares the events of each thread with its log, in the order of the log. */
static int check_events(struct kept_case *kept_case)
{
	const struct gmt_recording *recording = kept_case->recording;
	uint64_t positions[KEPT_THREADS];

	for (size_t i = 0; i < KEPT_THREADS; i++)
		positions[i] = kept_case->parts[i].folded;
	for (size_t i = recording->compacted_events; i < recording->events.count; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);
		size_t index;
		struct kept_part *part = part_of(kept_case, event.thread, &index);

		if (event.layer != GMT_LAYER_CUDA)
			continue;

		const struct kept_thread *thread = &kept_case->kept->threads[index];
		uint64_t position = positions[index]++, address = thread->calls[position].address;
		bool is_alloc = thread->calls[position].size_bytes > 0;
		/* An allocation that the kill interrupted has no address in the log. */
		if (position == thread->done && is_alloc)
			address = part->pending_address = event.address;
		if (event.address != address || event.size_bytes != thread->calls[position].size_bytes ||
			event.kind != (is_alloc ? GMT_KIND_ALLOC : GMT_KIND_FREE))
			return kept_wrong("another event than was", index, position);
	}
	return 0;
}

uint64_t kept_address(const struct kept_case *kept_case, size_t index, uint64_t call)
{
	const struct kept_thread *thread = &kept_case->kept->threads[index];

	return call == thread->done && thread->calls[call].size_bytes
		? kept_case->parts[index].pending_address
		: thread->calls[call].address;
}

size_t kept_hold(const struct kept_case *kept_case, size_t index, uint64_t calls,
	struct kept_held ret_held[KEPT_HELD], struct kept_sums *sums)
{
	const struct kept_thread *thread = &kept_case->kept->threads[index];
	size_t count = 0, at;

	for (uint64_t i = 0; i < calls; i++) {
		const struct kept_call *call = &thread->calls[i];

		if (call->size_bytes) {
			if (count == KEPT_HELD)
				return count + (size_t)kept_wrong("the program holds more than it may", index, i);
			ret_held[count++] = (struct kept_held){ kept_address(kept_case, index, i),
				call->size_bytes, i == thread->done ? UINT64_MAX : call->end_ns, index };
			sums->allocs++;
			sums->total_bytes += call->size_bytes;
			sums->live_bytes += call->size_bytes;
			continue;
		}
		for (at = 0; at < count && ret_held[at].address != call->address; at++)
			;
		sums->frees++;
		sums->live_bytes -= ret_held[at].size_bytes;
		ret_held[at] = ret_held[--count];
	}
	sums->live_blocks += count;
	return count;
}

int kept_check(const struct gmt_recording *recording, const struct kept_log *kept,
	enum kept_how how, const uint64_t *published)
{
	static struct kept_case kept_case;

	kept_case = (struct kept_case){ .recording = recording, .kept = kept };
	if (count_events(&kept_case) || set_totals(&kept_case, how, published) ||
		check_events(&kept_case) || kept_check_compacted(&kept_case))
		return 1;
	return how == KEPT_CUT ? 0 : kept_check_accounting(&kept_case);
}
