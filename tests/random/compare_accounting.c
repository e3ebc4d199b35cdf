/* SPDX-License-Identifier: MIT */
/*
 * usage: compare-accounting SNAPSHOT ACCOUNTING
 *
 * Replays a recording of random-calls. At each checkpoint compares it with the simulated driver's
 * live things: each block's space, device, number and bytes, and the sums of all devices. Prints
 * the differences of the first checkpoint that differs, each with the last events of the block.
 * Exit codes: 0 equal, 1 different, 2 nothing can be concluded, for example after dropped events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_facts.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"

enum { SHOWN_DIFFERENCES = 8, SHOWN_EVENTS = 10 };

struct facts {
	GMT_VEC(struct fact) list;
};

struct comparison {
	const struct gmt_recording *recording;
	FILE *accounting;
	GMT_VEC(struct gmt_recording_mark) marks; /* of checkpoints */
	uint64_t compared, blocks;
	size_t event; /* index of the event that is replayed now */
	const struct gmt_recording_event *playing;
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

static void *need(void *slot)
{
	if (!slot)
		fail("out of memory");
	return slot;
}

static void add(struct facts *facts, const struct fact *fact)
{
	struct fact *slot = need(gmt_vec_push(&facts->list));

	*slot = *fact;
}

/*
 * --- what the replay says
 * -------------------------------------------------------------------------
 */

static uint64_t handle_of(const struct comparison *comparison, uint64_t number)
{
	uint64_t handle;

	return gmt_map_find(&comparison->handles, number, &handle) ? handle : number;
}

static void list_accounting(const struct comparison *comparison,
	const struct gmt_accounting *accounting, struct facts *facts)
{
	struct gmt_addressed_block place;

	for (size_t cursor = 0;
		gmt_accounting_next_block(accounting, GMT_ACCOUNTING_ALL_OF_CUDA, &cursor, &place);) {
		const struct gmt_account_site *site = &accounting->sites.items[place.block.site];
		struct fact fact = {
			.address = place.address,
			.bytes = place.block.size_bytes,
			.space = (uint8_t)accounting->spaces.items[site->space].space,
			.device = accounting->accounts.items[site->account].device,
			.references = place.block.references,
		};
		uint64_t unused;

		if (gmt_space_realm(fact.space) == GMT_REALM_HANDLE)
			fact.address = handle_of(comparison, place.address);
		/* The driver counts these as part of a context, or once per context. */
		if (fact.space == GMT_SPACE_LIMIT ||
			gmt_map_find(&comparison->libraries, fact.address, &unused))
			continue;
		add(facts, &fact);
	}
}

/*
 * --- comparing
 * ------------------------------------------------------------------------------------
 */

static int by_space_and_address(const void *a, const void *b)
{
	const struct fact *left = a, *right = b;

	if (left->space != right->space)
		return left->space < right->space ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

static bool is_about(const struct gmt_recording_event *event, const struct fact *fact)
{
	struct gmt_recording_event_details named = gmt_recording_event_details(event);

	return event->address == fact->address || named.object == fact->address;
}

static void print_events(const struct comparison *comparison, const struct fact *fact)
{
	size_t shown[SHOWN_EVENTS], count = 0;

	for (size_t i = comparison->event; i-- > 0 && count < SHOWN_EVENTS;) {
		struct gmt_recording_event event = gmt_recording_event(comparison->recording, i);

		if (is_about(&event, fact))
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

static void print_fact(const char *who, const struct fact *fact)
{
	printf("  %s: %s %#" PRIx64 " on device %d, %" PRIu64 " bytes, %u references\n", who,
		gmt_space_name(fact->space), fact->address, fact->device, fact->bytes, fact->references);
}

static bool are_equal(const struct fact *driver, const struct fact *replay)
{
	return replay->bytes >= driver->bytes && replay->bytes <= driver->most_bytes &&
		(driver->device == ANY_DEVICE || driver->device == replay->device) &&
		(!driver->references || driver->references == replay->references);
}

/* Reports a difference. One of the two facts may be NULL. */
static void differ(struct comparison *comparison, const struct fact *driver,
	const struct fact *replay)
{
	comparison->differs = true;
	if (driver)
		print_fact("the driver has", driver);
	if (replay)
		print_fact("the replay has", replay);
	print_events(comparison, driver ? driver : replay);
}

static void compare_facts(struct comparison *comparison, const struct facts *driver,
	const struct facts *replay)
{
	size_t d = 0, r = 0, shown = 0;

	while ((d < driver->list.count || r < replay->list.count) && shown < SHOWN_DIFFERENCES) {
		const struct fact *left = d < driver->list.count ? &driver->list.items[d] : NULL;
		const struct fact *right = r < replay->list.count ? &replay->list.items[r] : NULL;
		int order = !left ? 1 : !right ? -1 : by_space_and_address(left, right);

		d += order <= 0;
		r += order >= 0;
		if (order == 0 && are_equal(left, right))
			continue;
		differ(comparison, order <= 0 ? left : NULL, order >= 0 ? right : NULL);
		shown++;
	}
}

/* Compares the sums that reports show for the layer of CUDA. */
static void compare_sums(struct comparison *comparison, const struct facts *driver,
	const struct gmt_accounting *accounting)
{
	for (int16_t device = GMT_DEVICE_HOST; device < 2; device++) {
		const struct gmt_account *account =
			gmt_accounting_find_account(accounting, GMT_LAYER_CUDA, device);
		uint64_t bytes = 0, replayed = account ? account->live_bytes : 0;

		for (size_t i = 0; i < driver->list.count; i++)
			if (driver->list.items[i].device == device &&
				gmt_space_layer(driver->list.items[i].space) == GMT_LAYER_CUDA)
				bytes += driver->list.items[i].bytes;
		if (bytes == replayed)
			continue;
		printf("  on device %d the driver has %" PRIu64 " bytes, the replay %" PRIu64 "\n", device,
			bytes, replayed);
		comparison->differs = true;
	}
}

static void read_items(struct comparison *comparison, struct items *ret_items)
{
	struct checkpoint checkpoint;

	if (fread(&checkpoint, sizeof(checkpoint), 1, comparison->accounting) != 1)
		fail("the accounting have fewer checkpoints than the recording");
	ret_items->count = checkpoint.count;
	ret_items->list = need(calloc(checkpoint.count + 1, sizeof(*ret_items->list)));
	if (fread(ret_items->list, sizeof(*ret_items->list), checkpoint.count,
			comparison->accounting) != checkpoint.count)
		fail("the accounting are cut");
}

static void compare(struct comparison *comparison, const struct gmt_accounting *accounting)
{
	const struct gmt_compacted_prefix *compacted = &comparison->recording->compacted;
	struct facts driver = { 0 }, replay = { 0 };
	struct items items;
	struct fact fact;

	read_items(comparison, &items);
	comparison->compared++;
	/* The live blocks of folded moments are unknown. */
	if (comparison->differs ||
		(compacted->exists &&
			comparison->marks.items[comparison->compared - 1].stamp < compacted->cut_stamp)) {
		free(items.list);
		return;
	}
	for (uint64_t i = 0; i < items.count; i++)
		if (fact_of(&items, &items.list[i], &fact))
			add(&driver, &fact);
	list_accounting(comparison, accounting, &replay);
	comparison->blocks += driver.list.count;
	qsort(driver.list.items, driver.list.count, sizeof(fact), by_space_and_address);
	qsort(replay.list.items, replay.list.count, sizeof(fact), by_space_and_address);
	compare_facts(comparison, &driver, &replay);
	compare_sums(comparison, &driver, accounting);
	if (comparison->differs)
		printf("  that is at checkpoint %" PRIu64 ", before event %zu\n", comparison->compared,
			comparison->event);
	gmt_vec_fini(&driver.list);
	gmt_vec_fini(&replay.list);
	free(items.list);
}

/*
 * --- the replay, looked on
 * ------------------------------------------------------------------------
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
		struct fact of = { .address = comparison->playing->address };

		printf("  event %zu frees what does not live, or gives what does:\n", comparison->event);
		comparison->event++;
		print_events(comparison, &of);
	}
	comparison->unknown_frees =
		replay->accounting.anomalies.unknown_frees + replay->accounting.anomalies.missed_frees;
	comparison->event = index;
	while (comparison->compared < comparison->marks.count &&
		event->stamp > comparison->marks.items[comparison->compared].stamp)
		compare(comparison, &replay->accounting);
	comparison->playing = event;
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
		comparison->playing->kind == GMT_KIND_ALLOC &&
		!gmt_map_put(&comparison->handles, event->address, comparison->playing->address))
		fail("out of memory");
	return true;
}

static bool finished(void *user, const struct gmt_replay *replay)
{
	struct comparison *comparison = user;

	comparison->event = replay->events;
	while (comparison->compared < comparison->marks.count)
		compare(comparison, &replay->accounting);
	return true;
}

static void find_marks(struct comparison *comparison)
{
	const struct gmt_recording *recording = comparison->recording;
	struct gmt_recording_mark *slot;
	char name[32];

	for (size_t i = 0; i < recording->marks.count; i++) {
		snprintf(name, sizeof(name), "checkpoint %zu", comparison->marks.count + 1);
		if (strcmp(recording->marks.items[i].name, name))
			continue;
		slot = need(gmt_vec_push(&comparison->marks));
		*slot = recording->marks.items[i];
	}
}

/* Frees of unknown blocks are errors: the driver frees only blocks that it has allocated. */
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
	find_marks(&comparison);
	if (gmt_traces_compute(&traces, recording, &trace_options, &error) ||
		gmt_replay_run(&replay, recording, &traces, &options, &error))
		fail(error.text);
	check_anomalies(&comparison, &replay.accounting.anomalies);
	if (fgetc(comparison.accounting) != EOF)
		fail("the recording has fewer checkpoints than the accounting");
	printf("%" PRIu64 " checkpoints, %" PRIu64 " events, %" PRIu64 " blocks compared: %s\n",
		comparison.compared, replay.events, comparison.blocks,
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
