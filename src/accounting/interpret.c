/* SPDX-License-Identifier: MIT */
#include "accounting/interpret.h"

/* Calls a function of the owner, where it has it. */
#define TELL(player, function, ...) \
	(!(player)->owner.function || (player)->owner.function((player)->owner.user, __VA_ARGS__))

/* What ended may be something else than the event names: memory whose last mapping has gone, say. */
static bool tell_ended(const struct gmt_player *player, const struct gmt_player_event *event, uint64_t address)
{
	const struct gmt_books *books = player->books;
	const struct gmt_books_site *site;
	struct gmt_player_event of_block;
	uint8_t layer, space;

	if (!books->has_ended)
		return true;
	site = &books->sites.items[books->ended.site];
	layer = books->accounts.items[site->account].layer;
	space = (uint8_t)books->spaces.items[site->space].space;
	if (layer == event->layer && space == event->space && address == event->address)
		return TELL(player, ended, event, &books->ended);
	of_block = *event;
	of_block.layer = layer;
	of_block.space = space;
	of_block.address = address;
	return TELL(player, ended, &of_block, &books->ended);
}

bool gmt_player_get_site(struct gmt_player *player, const struct gmt_player_event *event, uint32_t row_plus_1,
	uint32_t *ret_site)
{
	int16_t device = gmt_space_side(event->space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : event->device;
	/* A heap is in one layer, space and device. */
	uint64_t key = (uint64_t)event->place << 32 | (row_plus_1 ? row_plus_1 : (uint64_t)event->layer << 24 |
		(uint64_t)event->space << 16 | (uint16_t)device);
	struct gmt_map *ids = row_plus_1 ? &player->pool_site_ids : &player->site_ids;
	uint64_t site;

	if (gmt_map_find(ids, key, &site)) {
		*ret_site = (uint32_t)site;
		return true;
	}
	if (!gmt_books_add_site(player->books, event->layer, device, event->space, ret_site))
		return false;
	if (row_plus_1)
		gmt_books_put_in_heap(player->books, *ret_site, row_plus_1 - 1);
	return TELL(player, made_site, event, *ret_site) && gmt_map_put(ids, key, *ret_site);
}

static bool play_totals(struct gmt_player *player, const struct gmt_player_event *event, int16_t device)
{
	if (!event->has_totals || device < 0)
		return true;
	return gmt_books_totals(player->books, event->layer, device, event->allocated_bytes, event->reserved_bytes);
}

/* Memory that another process opened to this one does; what comes from its pool does not. */
static bool ends_with_context(const struct gmt_player_event *event)
{
	enum gmt_life life = gmt_space_life(event->space);

	return life == GMT_LIFE_CONTEXT || (life == GMT_LIFE_COUNTED && !event->object);
}

static bool book_alloc(struct gmt_player *player, const struct gmt_player_event *event, uint32_t row_plus_1)
{
	struct gmt_books *books = player->books;
	uint32_t site;

	if (!gmt_player_get_site(player, event, row_plus_1, &site) || !TELL(player, asked, event, site))
		return false;
	if (!gmt_books_alloc(books, site, event->address, event->size_bytes, event->stamp) ||
		!tell_ended(player, event, event->address) || !play_totals(player, event, event->device))
		return false;
	if (!books->made_plus_1)
		return true;
	if (event->context && ends_with_context(event))
		gmt_books_bind(books, event->context);
	return TELL(player, began, event, site);
}

bool gmt_player_alloc(struct gmt_player *player, const struct gmt_player_event *event)
{
	return book_alloc(player, event, 0);
}

bool gmt_player_alloc_in_heap(struct gmt_player *player, const struct gmt_player_event *event, uint32_t row)
{
	return book_alloc(player, event, row + 1);
}

bool gmt_player_free(struct gmt_player *player, const struct gmt_player_event *event, uint8_t layer,
	uint8_t space, uint64_t address, uint64_t size_bytes, uint32_t *ret_site)
{
	*ret_site = gmt_books_free(player->books, layer, space, address, size_bytes);
	return tell_ended(player, event, address);
}

static bool play_alloc(struct gmt_player *player, const struct gmt_player_event *event)
{
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUDA && gmt_space_realm(event->space) == GMT_REALM_HANDLE)
		return gmt_player_create_memory(player, event);
	return gmt_player_alloc(player, event);
}

static bool play_free(struct gmt_player *player, const struct gmt_player_event *event)
{
	const struct gmt_books *books = player->books;
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

static bool play_refusal(struct gmt_player *player, const struct gmt_player_event *event)
{
	uint32_t site;

	if (!gmt_player_get_site(player, event, 0, &site))
		return false;
	gmt_books_refuse(player->books, site);
	return TELL(player, refused, event, site) && play_totals(player, event, event->device);
}

static bool play_refused_free(struct gmt_player *player, const struct gmt_player_event *event)
{
	bool is_handle = gmt_layer_family(event->layer) == GMT_FAMILY_CUDA &&
		gmt_space_realm(event->space) == GMT_REALM_HANDLE;

	player->books->anomalies.refused_frees++;
	return TELL(player, refused_free, event, is_handle ?
		gmt_physical_find(&player->physical, event->address) != GMT_PHYSICAL_NONE :
		gmt_books_find(player->books, event->layer, event->space, event->address) != NULL);
}

bool gmt_player_play(struct gmt_player *player, const struct gmt_player_event *event)
{
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUSTOM)
		return gmt_player_play_heap(player, event);
	switch ((enum gmt_kind)event->kind) {
	case GMT_KIND_ALLOC:
		return play_alloc(player, event);
	case GMT_KIND_FREE:
		return play_free(player, event);
	case GMT_KIND_ALLOC_FAILED:
		return play_refusal(player, event);
	case GMT_KIND_FREE_FAILED:
		return play_refused_free(player, event);
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
		if (player->forgets && event->space == GMT_SPACE_GRAPH)
			gmt_player_forget_graph(player, event);
		return true;
	case GMT_KIND_EXPORT:
	case GMT_KIND_TRIM:
	case GMT_KIND_RESET:
	case GMT_KIND_RESIZE:
		return true;
	}
	return true;
}

void gmt_player_finish(struct gmt_player *player)
{
	player->books->anomalies.unknown_frees += player->physical.unknown_handles;
}

void gmt_player_fini(struct gmt_player *player)
{
	gmt_map_fini(&player->site_ids);
	gmt_physical_fini(&player->physical);
	gmt_player_forget_graphs(player);
	gmt_player_forget_heaps(player);
}
