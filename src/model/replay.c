/* SPDX-License-Identifier: MIT */
#include "model/replay.h"

#include <string.h>

#include "model/clock.h"
#include "model/replay_player.h"

/* Calls a function of every observer that has it. */
#define TELL(player, function, ...) \
	do { \
		for (size_t o = 0; o < (player)->options->observer_count; o++) { \
			const struct gmt_replay_observer *observer = &(player)->options->observers[o]; \
			if (observer->function && \
				!observer->function(observer->user, (player)->replay, ##__VA_ARGS__)) \
				return false; \
		} \
	} while (0)

/* What ended may be something else than the event names: memory whose last mapping has gone, say. */
static bool tell_ended(const struct gmt_player *player, const struct gmt_snapshot_event *event, uint64_t address)
{
	const struct gmt_books *books = &player->replay->books;
	const struct gmt_books_site *site;
	struct gmt_snapshot_event of_block = *event;

	if (!books->has_ended)
		return true;
	site = &books->sites.items[books->ended.site];
	of_block.layer = books->accounts.items[site->account].layer;
	of_block.space = (uint8_t)books->spaces.items[site->space].space;
	of_block.address = address;
	TELL(player, ended, &of_block, &books->ended);
	return true;
}

bool gmt_player_tell_mapped(struct gmt_player *player, const struct gmt_snapshot_event *event, uint64_t number)
{
	TELL(player, mapped, event, number);
	return true;
}

static bool tell_finished(const struct gmt_player *player)
{
	TELL(player, finished);
	return true;
}

/* `row_plus_1`: of the heap that the site's blocks are in; 0: none. */
static bool site_of(struct gmt_player *player, const struct gmt_snapshot_event *event, uint32_t row_plus_1,
	uint32_t *ret_site)
{
	struct gmt_replay *replay = player->replay;
	uint32_t stack = player->traces->stack_of_trace[event->trace];
	int16_t device = gmt_space_side(event->space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : event->device;
	/* A heap is in one layer, space and device. */
	uint64_t key = (uint64_t)stack << 32 | (row_plus_1 ? row_plus_1 : (uint64_t)event->layer << 24 |
		(uint64_t)event->space << 16 | (uint16_t)device);
	struct gmt_map *ids = row_plus_1 ? &player->pool_site_ids : &player->site_ids;
	uint64_t site;

	if (gmt_map_find(ids, key, &site)) {
		*ret_site = (uint32_t)site;
		return true;
	}

	uint32_t *slot = gmt_vec_push(&replay->site_stacks);
	if (!slot || !gmt_vec_reserve(&replay->site_makers, 1) ||
		!gmt_books_add_site(&replay->books, event->layer, device, event->space, ret_site))
		return false;
	*slot = stack;
	replay->site_makers.count++; /* zeroed */
	if (row_plus_1)
		gmt_books_put_in_heap(&replay->books, *ret_site, row_plus_1 - 1);
	return gmt_map_put(ids, key, *ret_site);
}

static bool have_one_name(const struct gmt_snapshot *snapshot, uint32_t a, uint32_t b)
{
	const struct gmt_thread *left = gmt_snapshot_thread(snapshot, a),
		*right = gmt_snapshot_thread(snapshot, b);

	return left && right && left->name.length == right->name.length &&
		memcmp(left->name.text, right->name.text, left->name.length) == 0;
}

static void note_maker(struct gmt_player *player, uint32_t site, uint32_t thread)
{
	struct gmt_replay_maker *maker = &player->replay->site_makers.items[site];

	if (!maker->thread)
		maker->thread = thread;
	else if (maker->thread != thread && !maker->several)
		maker->several = !have_one_name(player->snapshot, maker->thread, thread);
}

static bool play_totals(struct gmt_player *player, const struct gmt_snapshot_event *event, int16_t device)
{
	const struct gmt_snapshot_totals *totals = gmt_snapshot_totals(player->snapshot, event);

	if (!totals || device < 0)
		return true;
	return gmt_books_totals(&player->replay->books, event->layer, device, totals->allocated_bytes,
		totals->reserved_bytes);
}

/* Memory that another process opened to this one does; what comes from its pool does not. */
static bool ends_with_context(const struct gmt_snapshot_event *event, const struct gmt_snapshot_object *about)
{
	enum gmt_life life = gmt_space_life(event->space);

	return life == GMT_LIFE_CONTEXT || (life == GMT_LIFE_COUNTED && !about->object);
}

static bool book_alloc(struct gmt_player *player, const struct gmt_snapshot_event *event, uint32_t row_plus_1)
{
	struct gmt_books *books = &player->replay->books;
	struct gmt_snapshot_object about = gmt_snapshot_object(player->snapshot, event);
	uint64_t before;
	uint32_t site;

	if (!site_of(player, event, row_plus_1, &site))
		return false;
	note_maker(player, site, event->thread);
	before = books->sites.items[site].alloc_count;
	if (!gmt_books_alloc(books, site, event->address, event->size_bytes, event->stamp) ||
		!tell_ended(player, event, event->address) || !play_totals(player, event, event->device))
		return false;
	if (books->sites.items[site].alloc_count == before)
		return true;
	if (about.context && ends_with_context(event, &about))
		gmt_books_bind(books, event->layer, event->space, event->address, about.context);
	TELL(player, began, event, site);
	return true;
}

bool gmt_player_alloc(struct gmt_player *player, const struct gmt_snapshot_event *event)
{
	return book_alloc(player, event, 0);
}

bool gmt_player_alloc_in_heap(struct gmt_player *player, const struct gmt_snapshot_event *event, uint32_t row)
{
	return book_alloc(player, event, row + 1);
}

bool gmt_player_free(struct gmt_player *player, const struct gmt_snapshot_event *event, uint8_t layer,
	uint8_t space, uint64_t address, uint64_t size_bytes, uint32_t *ret_site)
{
	*ret_site = gmt_books_free(&player->replay->books, layer, space, address, size_bytes);
	return tell_ended(player, event, address);
}

static bool play_alloc(struct gmt_player *player, const struct gmt_snapshot_event *event)
{
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUDA && gmt_space_realm(event->space) == GMT_REALM_HANDLE)
		return gmt_player_create_memory(player, event);
	return gmt_player_alloc(player, event);
}

static bool play_free(struct gmt_player *player, const struct gmt_snapshot_event *event)
{
	const struct gmt_books *books = &player->replay->books;
	bool is_cuda = gmt_layer_family(event->layer) == GMT_FAMILY_CUDA;
	uint32_t site;

	if (is_cuda && gmt_space_realm(event->space) == GMT_REALM_HANDLE)
		return gmt_player_release_memory(player, event);
	/* A library outlives contexts, and the memory that it took in one of them does not. */
	if (is_cuda && event->space == GMT_SPACE_MODULE &&
		!gmt_books_find(books, event->layer, event->space, event->address))
		return true;
	if (!gmt_player_free(player, event, event->layer, event->space, event->address, event->size_bytes, &site))
		return false;
	if (is_cuda && event->space == GMT_SPACE_CONTEXT)
		return gmt_player_end_context(player, event);
	/* A free need not say of which device: the block knows. */
	return play_totals(player, event, site == UINT32_MAX ? event->device :
		books->accounts.items[books->sites.items[site].account].device);
}

static bool play_refusal(struct gmt_player *player, const struct gmt_snapshot_event *event, size_t index)
{
	struct gmt_replay_refusal *refusal = gmt_vec_push(&player->replay->refusals);
	uint32_t site;

	if (!refusal || !site_of(player, event, 0, &site))
		return false;
	*refusal = (struct gmt_replay_refusal){ .event = index, .site = site };
	gmt_books_refuse(&player->replay->books, site);
	return play_totals(player, event, event->device);
}

static bool play_refused_free(struct gmt_player *player, const struct gmt_snapshot_event *event, size_t index)
{
	struct gmt_books *books = &player->replay->books;
	struct gmt_replay_refused_free *row = gmt_vec_push(&player->replay->refused_frees);
	bool is_handle = gmt_layer_family(event->layer) == GMT_FAMILY_CUDA &&
		gmt_space_realm(event->space) == GMT_REALM_HANDLE;

	if (!row)
		return false;
	books->anomalies.refused_frees++;
	row->event = index;
	row->is_live = is_handle ? gmt_physical_find(&player->physical, event->address) != GMT_PHYSICAL_NONE :
		gmt_books_find(books, event->layer, event->space, event->address) != NULL;
	return true;
}

static bool play(struct gmt_player *player, size_t index)
{
	const struct gmt_snapshot_event *event = gmt_snapshot_event(player->snapshot, index);

	TELL(player, before, event, index);
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUSTOM)
		return gmt_player_play_heap(player, event);
	switch ((enum gmt_kind)event->kind) {
	case GMT_KIND_ALLOC:
		return play_alloc(player, event);
	case GMT_KIND_FREE:
		return play_free(player, event);
	case GMT_KIND_ALLOC_FAILED:
		return play_refusal(player, event, index);
	case GMT_KIND_FREE_FAILED:
		return play_refused_free(player, event, index);
	case GMT_KIND_CREATE:
		return event->space != GMT_SPACE_GRAPH || gmt_player_instantiate(player, event);
	case GMT_KIND_RETAIN:
		return gmt_player_retain(player, event);
	case GMT_KIND_MAP:
		return gmt_player_map(player, event);
	case GMT_KIND_UNMAP:
		return gmt_player_unmap(player, event);
	case GMT_KIND_BIND:
	case GMT_KIND_BIND_ADDRESS:
		return gmt_player_bind(player, event);
	case GMT_KIND_UNBIND:
		return gmt_player_unbind(player, event);
	case GMT_KIND_NODE_ALLOC:
	case GMT_KIND_NODE_FREE:
		return gmt_player_add_node(player, event);
	case GMT_KIND_LAUNCH:
		return gmt_player_launch(player, event);
	case GMT_KIND_SET:
		return event->space != GMT_SPACE_LIMIT || gmt_player_set_limit(player, event);
	case GMT_KIND_DESTROY:
	case GMT_KIND_EXPORT:
	case GMT_KIND_TRIM:
	case GMT_KIND_RESET:
	case GMT_KIND_RESIZE:
		return true;
	}
	return true;
}

size_t gmt_replay_count(const struct gmt_snapshot *snapshot, uint64_t until_ns)
{
	size_t low = 0, high = snapshot->events.count;

	if (until_ns == GMT_REPLAY_TO_END)
		return high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (gmt_clock_time_ns(snapshot, gmt_snapshot_event(snapshot, middle)->stamp) <= until_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum gmt_status gmt_replay_init(struct gmt_replay *ret_replay, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_replay_options *options, struct gmt_error *error)
{
	struct gmt_player player = {
		.replay = ret_replay, .snapshot = snapshot, .traces = traces, .options = options,
	};
	size_t count = gmt_replay_count(snapshot, options->until_ns);
	bool done = true;

	for (size_t i = 0; i < count && done; i++)
		done = play(&player, i);
	ret_replay->events = count;
	ret_replay->end_time_ns = options->until_ns != GMT_REPLAY_TO_END ? options->until_ns :
		gmt_snapshot_duration_ns(snapshot);
	done = done && tell_finished(&player);
	ret_replay->books.anomalies.unknown_frees += player.physical.unknown_handles;
	gmt_map_fini(&player.site_ids);
	gmt_physical_fini(&player.physical);
	gmt_player_forget_graphs(&player);
	gmt_player_forget_heaps(&player);
	if (!done) {
		gmt_replay_fini(ret_replay);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	return GMT_OK;
}

void gmt_replay_fini(struct gmt_replay *replay)
{
	gmt_books_fini(&replay->books);
	gmt_vec_fini(&replay->site_stacks);
	gmt_vec_fini(&replay->site_makers);
	gmt_vec_fini(&replay->refusals);
	gmt_vec_fini(&replay->refused_frees);
	gmt_vec_fini(&replay->heaps);
}
