/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept_check.h"
#include "model/replay.h"
#include "model/snapshot.h"

enum { HELD_MOST = 128 };

static struct gmt_snapshot *snapshot;
static uint64_t positions[KEPT_THREADS];

static int wrong(const char *what, uint64_t first, uint64_t second)
{
	printf("%s (%" PRIu64 ", %" PRIu64 ")\n", what, first, second);
	return 1;
}

static struct kept_thread *thread_of(struct kept_log *kept, uint32_t id, size_t *ret_index)
{
	const struct gmt_thread *thread = gmt_snapshot_thread(snapshot, id);

	for (*ret_index = 0; thread && *ret_index < KEPT_THREADS; ++*ret_index)
		if (kept->threads[*ret_index].tid == thread->tid)
			return &kept->threads[*ret_index];
	return NULL;
}

/* A thread's events come in its order. */
static int check_events(struct kept_log *kept, bool may_be_stopped)
{
	for (size_t i = 0; i < snapshot->events.count; i++) {
		struct gmt_snapshot_event event = gmt_snapshot_event(snapshot, i);
		size_t index;
		struct kept_thread *thread = event.layer == GMT_LAYER_CUDA && event.space == GMT_SPACE_DEVICE ?
			thread_of(kept, event.thread, &index) : NULL;

		if (event.layer != GMT_LAYER_CUDA)
			continue; /* what the driver takes for its context */
		if (!thread)
			return wrong("an event of nobody", i, event.thread);

		uint64_t position = positions[index]++;
		const struct kept_call *call = &thread->calls[position];
		if (position > thread->done)
			return wrong("an event that never was", index, position);
		/* The call that the kill was in has no note. */
		if (position == thread->done)
			continue;
		if (event.address != call->address || event.size_bytes != call->size_bytes ||
			event.kind != (call->size_bytes ? GMT_KIND_ALLOC : GMT_KIND_FREE))
			return wrong("another event than was", index, position);
	}
	for (size_t index = 0; index < KEPT_THREADS; index++)
		if (positions[index] < kept->threads[index].done && !may_be_stopped)
			return wrong("events are missing", positions[index], kept->threads[index].done);
	return 0;
}

struct held {
	size_t thread;
	uint64_t address;
	uint64_t stamp;
};

/* Whether another thread got that address later: then its holder had freed it, and was killed before it could say so. */
static bool was_given_on(struct kept_log *kept, const struct held *held)
{
	for (size_t i = 0; i < snapshot->events.count; i++) {
		struct gmt_snapshot_event event = gmt_snapshot_event(snapshot, i);
		size_t index;

		if (event.address == held->address && event.stamp > held->stamp && event.kind == GMT_KIND_ALLOC &&
			event.layer == GMT_LAYER_CUDA && thread_of(kept, event.thread, &index) && index != held->thread)
			return true;
	}
	return false;
}

/* Each thread frees only its own, so what it holds follows from its own events, which are checked. */
static size_t live_blocks(struct kept_log *kept)
{
	static struct held held[KEPT_THREADS * HELD_MOST];
	size_t count = 0, live = 0;

	for (size_t i = 0; i < snapshot->events.count; i++) {
		struct gmt_snapshot_event event = gmt_snapshot_event(snapshot, i);
		size_t index, at = 0;

		if (event.layer != GMT_LAYER_CUDA || !thread_of(kept, event.thread, &index))
			continue;
		while (at < count && (held[at].thread != index || held[at].address != event.address))
			at++;
		if (event.kind == GMT_KIND_ALLOC && count < sizeof(held) / sizeof(*held))
			held[count++] = (struct held){ index, event.address, event.stamp };
		else if (event.kind == GMT_KIND_FREE && at < count)
			held[at] = held[--count];
	}
	for (size_t i = 0; i < count; i++)
		live += !was_given_on(kept, &held[i]);
	return live;
}

static int check_live(struct kept_log *kept)
{
	struct gmt_replay replay = { 0 };
	struct gmt_replay_options options = { .until_ns = UINT64_MAX };
	struct gmt_traces traces = { 0 };
	struct gmt_error error;
	uint64_t live = 0, expected = live_blocks(kept);

	if (gmt_traces_init(&traces, snapshot, &(struct gmt_traces_options){ 0 }, &error) || gmt_replay_init(&replay, snapshot, &traces, &options, &error)) {
		puts(error.text);
		return 1;
	}
	for (size_t i = 0; i < replay.books.accounts.count; i++)
		if (replay.books.accounts.items[i].layer == GMT_LAYER_CUDA)
			live += replay.books.accounts.items[i].live_blocks;
	gmt_replay_fini(&replay);
	gmt_traces_fini(&traces);
	return live == expected ? 0 : wrong("another live set than was", live, expected);
}

int kept_check(struct gmt_snapshot *loaded, struct kept_log *kept, enum kept_how how)
{
	snapshot = loaded;
	memset(positions, 0, sizeof(positions));
	if (check_events(kept, how != KEPT_WHOLE))
		return 1;
	return how == KEPT_CUT ? 0 : check_live(kept);
}
