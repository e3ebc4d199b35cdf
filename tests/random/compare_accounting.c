/* SPDX-License-Identifier: MIT */
/*
 * usage: compare-accounting SNAPSHOT ACCOUNTING
 *
 * Replays a recording of random-calls. At each checkpoint, compares the live blocks with those of
 * the simulated driver: each block's space, device, number and bytes, and the sums of all devices.
 * Prints the differences of the first checkpoint that differs, each with the block's last events.
 * Exit codes: 0 equal, 1 different, 2 nothing can be concluded, for example after dropped events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expected_blocks.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"

enum { SHOWN_DIFFERENCES = 8, SHOWN_EVENTS = 10 };

struct block_list {
	GMT_VEC(struct live_block) list;
};

struct comparison {
	const struct gmt_recording *recording;
	FILE *accounting;
	GMT_VEC(struct gmt_recording_mark) marks; /* of checkpoints */
	uint64_t compared_checkpoints, compared_blocks;
	size_t event_index; /* of the event that is replayed now */
	const struct gmt_recording_event *current_event;
	struct gmt_map handles; /* number of physical memory to its handle */
	struct gmt_map libraries; /* live handles of libraries, which are modules to the recorder */
	uint64_t unknown_frees, shown_frees;
	bool differs;
};

static void fail(const char *what)
{
	fprintf(stderr, "compare-accounting: %s\n", what);
	exit(2);
}

static void *check_allocated(void *slot)
{
	if (!slot)
		fail("out of memory");
	return slot;
}

static void add(struct block_list *blocks, const struct live_block *block)
{
	struct live_block *slot = check_allocated(gmt_vec_push(&blocks->list));

	*slot = *block;
}

/*
 * --- blocks of the replay
 * -------------------------------------------------------------------------
 */

static uint64_t handle_of(const struct comparison *comparison, uint64_t number)
{
	uint64_t handle;

	return gmt_map_find(&comparison->handles, number, &handle) ? handle : number;
}

static void list_accounting(const struct comparison *comparison,
	const struct gmt_accounting *accounting, struct block_list *blocks)
{
	struct gmt_addressed_block place;

	for (size_t cursor = 0;
		gmt_accounting_next_block(accounting, GMT_ACCOUNTING_ALL_OF_CUDA, &cursor, &place);) {
		const struct gmt_account_site *site = &accounting->sites.items[place.block.site];
		struct live_block block = {
			.address = place.address,
			.min_bytes = place.block.size_bytes,
			.space = (uint8_t)accounting->spaces.items[site->space].space,
			.device = accounting->accounts.items[site->account].device,
			.references = place.block.references,
		};
		uint64_t unused;

		if (gmt_space_realm(block.space) == GMT_REALM_HANDLE)
			block.address = handle_of(comparison, place.address);
		/* The driver counts these as part of a context, or once per context. */
		if (block.space == GMT_SPACE_LIMIT ||
			gmt_map_find(&comparison->libraries, block.address, &unused))
			continue;
		add(blocks, &block);
	}
}

/*
 * --- comparing
 * ------------------------------------------------------------------------------------
 */

static int by_space_and_address(const void *a, const void *b)
{
	const struct live_block *left = a, *right = b;

	if (left->space != right->space)
		return left->space < right->space ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

static bool is_about(const struct gmt_recording_event *event, const struct live_block *block)
{
	struct gmt_recording_event_details named = gmt_recording_event_details(event);

	return event->address == block->address || named.object == block->address;
}

static void print_events(const struct comparison *comparison, const struct live_block *block)
{
	size_t shown[SHOWN_EVENTS], count = 0;

	for (size_t i = comparison->event_index; i-- > 0 && count < SHOWN_EVENTS;) {
		struct gmt_recording_event event = gmt_recording_event(comparison->recording, i);

		if (is_about(&event, block))
			shown[count++] = i;
	}
	while (count-- > 0) {
		struct gmt_recording_event event = gmt_recording_event(comparison->recording, shown[count]);
		const struct gmt_api *api = gmt_recording_api(comparison->recording, event.api);
		struct gmt_recording_event_details named = gmt_recording_event_details(&event);

		printf("    event %zu thread %u %s %s %s address %#" PRIx64 " size %" PRIu64
			   " device %d object %#" PRIx64 " offset %#" PRIx64 " context %u result %u\n",
			shown[count], event.thread, gmt_event_kind_name(event.kind),
			gmt_space_name(event.space), api ? api->name.text : "?", event.address,
			event.size_bytes, event.device, named.object, named.offset, named.context,
			event.result);
	}
}

static void print_block(const char *who, const struct live_block *block)
{
	printf("  %s: %s %#" PRIx64 " on device %d, %" PRIu64 " bytes, %u references\n", who,
		gmt_space_name(block->space), block->address, block->device, block->min_bytes,
		block->references);
}

static bool are_equal(const struct live_block *driver, const struct live_block *replay)
{
	return replay->min_bytes >= driver->min_bytes && replay->min_bytes <= driver->max_bytes &&
		(driver->device == ANY_DEVICE || driver->device == replay->device) &&
		(!driver->references || driver->references == replay->references);
}

/* Reports a difference. One of the two blocks may be NULL. */
static void report_difference(struct comparison *comparison, const struct live_block *driver,
	const struct live_block *replay)
{
	comparison->differs = true;
	if (driver)
		print_block("the driver has", driver);
	if (replay)
		print_block("the replay has", replay);
	print_events(comparison, driver ? driver : replay);
}

static void compare_blocks(struct comparison *comparison, const struct block_list *driver,
	const struct block_list *replay)
{
	size_t d = 0, r = 0, shown = 0;

	while ((d < driver->list.count || r < replay->list.count) && shown < SHOWN_DIFFERENCES) {
		const struct live_block *left = d < driver->list.count ? &driver->list.items[d] : NULL;
		const struct live_block *right = r < replay->list.count ? &replay->list.items[r] : NULL;
		int order = !left ? 1 : !right ? -1 : by_space_and_address(left, right);

		d += order <= 0;
		r += order >= 0;
		if (order == 0 && are_equal(left, right))
			continue;
		report_difference(comparison, order <= 0 ? left : NULL, order >= 0 ? right : NULL);
		shown++;
	}
}

/* Compares the sums that reports show for the layer of CUDA. */
static void compare_sums(struct comparison *comparison, const struct block_list *driver,
	const struct gmt_accounting *accounting)
{
	for (int16_t device = GMT_DEVICE_HOST; device < 2; device++) {
		const struct gmt_account *account =
			gmt_accounting_find_account(accounting, GMT_LAYER_CUDA, device);
		uint64_t bytes = 0, replayed = account ? account->live_bytes : 0;

		for (size_t i = 0; i < driver->list.count; i++)
			if (driver->list.items[i].device == device &&
				gmt_space_layer(driver->list.items[i].space) == GMT_LAYER_CUDA)
				bytes += driver->list.items[i].min_bytes;
		if (bytes == replayed)
			continue;
		printf("  on device %d the driver has %" PRIu64 " bytes, the replay %" PRIu64 "\n", device,
			bytes, replayed);
		comparison->differs = true;
	}
}

static void read_items(struct comparison *comparison, struct checkpoint_items *ret_items)
{
	struct checkpoint checkpoint;

	if (fread(&checkpoint, sizeof(checkpoint), 1, comparison->accounting) != 1)
		fail("the accounting has fewer checkpoints than the recording");
	ret_items->count = checkpoint.count;
	ret_items->list = check_allocated(calloc(checkpoint.count + 1, sizeof(*ret_items->list)));
	if (fread(ret_items->list, sizeof(*ret_items->list), checkpoint.count,
			comparison->accounting) != checkpoint.count)
		fail("the accounting is cut");
}

static void compare(struct comparison *comparison, const struct gmt_accounting *accounting)
{
	const struct gmt_compacted_prefix *compacted = &comparison->recording->compacted;
	struct block_list driver = { 0 }, replay = { 0 };
	struct checkpoint_items items;
	struct live_block block;

	read_items(comparison, &items);
	comparison->compared_checkpoints++;
	/* The live blocks inside the compacted part are unknown. */
	if (comparison->differs ||
		(compacted->exists &&
			comparison->marks.items[comparison->compared_checkpoints - 1].stamp <
				compacted->cut_stamp)) {
		free(items.list);
		return;
	}
	for (uint64_t i = 0; i < items.count; i++)
		if (expected_block_of(&items, &items.list[i], &block))
			add(&driver, &block);
	list_accounting(comparison, accounting, &replay);
	comparison->compared_blocks += driver.list.count;
	qsort(driver.list.items, driver.list.count, sizeof(block), by_space_and_address);
	qsort(replay.list.items, replay.list.count, sizeof(block), by_space_and_address);
	compare_blocks(comparison, &driver, &replay);
	compare_sums(comparison, &driver, accounting);
	if (comparison->differs)
		printf("  at checkpoint %" PRIu64 ", before event %zu\n", comparison->compared_checkpoints,
			comparison->event_index);
	gmt_vec_fini(&driver.list);
	gmt_vec_fini(&replay.list);
	free(items.list);
}

/*
 * --- observing the replay
 * -------------------------------------------------------------------------
 */

static void note_library(struct comparison *comparison, const struct gmt_recording_event *event)
{
	const struct gmt_api *api = gmt_recording_api(comparison->recording, event->api);

	if (event->space != GMT_SPACE_MODULE || !api || api->name.length < 9 ||
		memcmp(api->name.text, "cuLibrary", 9))
		return;
	if (event->kind == GMT_KIND_ALLOC && !gmt_map_put(&comparison->libraries, event->address, 0))
		fail("out of memory");
	if (event->kind == GMT_KIND_FREE)
		gmt_map_remove(&comparison->libraries, event->address, NULL);
}

static bool before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct comparison *comparison = user;

	if (replay->accounting.anomalies.unknown_frees + replay->accounting.anomalies.missed_frees !=
			comparison->unknown_frees &&
		comparison->shown_frees++ < SHOWN_DIFFERENCES) {
		struct live_block of = { .address = comparison->current_event->address };

		printf("  event %zu frees an unknown block, or allocates a live one:\n",
			comparison->event_index);
		comparison->event_index++;
		print_events(comparison, &of);
	}
	comparison->unknown_frees =
		replay->accounting.anomalies.unknown_frees + replay->accounting.anomalies.missed_frees;
	comparison->event_index = index;
	while (comparison->compared_checkpoints < comparison->marks.count &&
		event->stamp > comparison->marks.items[comparison->compared_checkpoints].stamp)
		compare(comparison, &replay->accounting);
	comparison->current_event = event;
	note_library(comparison, event);
	return true;
}

static bool began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct comparison *comparison = user;

	(void)replay;
	(void)site;
	if (gmt_space_realm(event->space) == GMT_REALM_HANDLE &&
		comparison->current_event->kind == GMT_KIND_ALLOC &&
		!gmt_map_put(&comparison->handles, event->address, comparison->current_event->address))
		fail("out of memory");
	return true;
}

static bool finished(void *user, const struct gmt_replay *replay)
{
	struct comparison *comparison = user;

	comparison->event_index = replay->events;
	while (comparison->compared_checkpoints < comparison->marks.count)
		compare(comparison, &replay->accounting);
	return true;
}

static void find_checkpoints(struct comparison *comparison)
{
	const struct gmt_recording *recording = comparison->recording;
	struct gmt_recording_mark *slot;
	char name[32];

	for (size_t i = 0; i < recording->marks.count; i++) {
		snprintf(name, sizeof(name), "checkpoint %zu", comparison->marks.count + 1);
		if (strcmp(recording->marks.items[i].name, name))
			continue;
		slot = check_allocated(gmt_vec_push(&comparison->marks));
		*slot = recording->marks.items[i];
	}
}

/* Frees of unknown blocks are errors: the driver frees only its own blocks. */
static void check_anomalies(struct comparison *comparison,
	const struct gmt_accounting_anomalies *anomalies)
{
	if (!anomalies->unknown_frees && !anomalies->missed_frees && !anomalies->size_mismatches &&
		!anomalies->impossible_sizes)
		return;
	printf("  anomalies: %" PRIu64 " unknown frees, %" PRIu64 " missed frees, %" PRIu64
		   " other sizes, %" PRIu64 " impossible sizes\n",
		anomalies->unknown_frees, anomalies->missed_frees, anomalies->size_mismatches,
		anomalies->impossible_sizes);
	comparison->differs = true;
}

int main(int argc, char **argv)
{
	struct gmt_traces_options trace_options = { .native = GMT_TRACES_NONE };
	struct comparison comparison = { 0 };
	struct gmt_replay_observer observer = {
		.before = before,
		.began = began,
		.finished = finished,
		.user = &comparison,
	};
	struct gmt_replay_options options = {
		.until_ns = GMT_REPLAY_TO_END,
		.observers = &observer,
		.observer_count = 1,
	};
	struct gmt_traces traces = { 0 };
	struct gmt_replay replay = { 0 };
	struct gmt_recording *recording;
	struct gmt_error error;

	if (argc != 3) {
		fputs("usage: compare-accounting SNAPSHOT ACCOUNTING\n", stderr);
		return 2;
	}
	comparison.accounting = fopen(argv[2], "rbe");
	if (!comparison.accounting)
		fail("the accounting cannot be opened");
	if (gmt_recording_load(argv[1], NULL, &recording, &error))
		fail(error.text);
	if (!gmt_recording_complete(recording))
		fail("the recording is not complete: events are missing, so that nothing can be concluded");
	comparison.recording = recording;
	find_checkpoints(&comparison);
	if (gmt_traces_compute(&traces, recording, &trace_options, &error) ||
		gmt_replay_run(&replay, recording, &traces, &options, &error))
		fail(error.text);
	check_anomalies(&comparison, &replay.accounting.anomalies);
	if (fgetc(comparison.accounting) != EOF)
		fail("the recording has fewer checkpoints than the accounting");
	printf("%" PRIu64 " checkpoints, %" PRIu64 " events, %" PRIu64 " blocks compared: %s\n",
		comparison.compared_checkpoints, replay.events, comparison.compared_blocks,
		comparison.differs ? "different" : "equal");
	gmt_replay_fini(&replay);
	gmt_traces_fini(&traces);
	gmt_recording_free(recording);
	gmt_vec_fini(&comparison.marks);
	gmt_map_fini(&comparison.handles);
	gmt_map_fini(&comparison.libraries);
	fclose(comparison.accounting);
	return comparison.differs;
}
