/* SPDX-License-Identifier: MIT */
/* Plays what is folded, and keeps the events of what lives. */
#include <stddef.h>
#include <string.h>

#include "compaction/compact_parts.h"

bool gmt_fold_place(struct gmt_folder *folder, uint32_t stack, uint32_t frames, uint32_t caller, uint32_t *ret_place)
{
	struct gmt_map *ids = &folder->pair_ids;
	uint64_t id, key = (uint64_t)stack << 32 | frames;

	if (caller) {
		uint32_t pair;

		if (!gmt_fold_place(folder, stack, frames, 0, &pair))
			return false;
		ids = &folder->place_ids;
		key = (uint64_t)pair << 32 | caller;
	}
	if (!gmt_map_find(ids, key, &id)) {
		id = folder->places.count;
		if (!gmt_vec_reserve(&folder->places, 1) || !gmt_map_put(ids, key, id))
			return false;
		*gmt_vec_push(&folder->places) = (struct gmt_fold_place){ stack, frames, caller };
	}
	*ret_place = (uint32_t)id;
	return true;
}

uint32_t gmt_fold_survive(struct gmt_folder *folder, const struct gmt_event *event, uint32_t place)
{
	struct gmt_fold_survivor *survivor;
	uint32_t index = folder->free_survivor_plus_1;

	if (index) {
		survivor = &folder->survivors.items[index - 1];
		folder->free_survivor_plus_1 = survivor->next_plus_1;
	} else {
		survivor = gmt_vec_push(&folder->survivors);
		index = (uint32_t)folder->survivors.count;
	}
	if (!survivor)
		return 0;
	*survivor = (struct gmt_fold_survivor){
		.stamp = event->stamp, .address = event->address, .size_bytes = event->size_bytes,
		.object = event->object, .stream = event->stream,
		.allocated_bytes = event->allocated_bytes, .reserved_bytes = event->reserved_bytes,
		.place = place, .thread = event->thread, .api = event->api, .context = event->context,
		.device = event->device, .kind = event->kind, .layer = event->layer, .space = event->space,
	};
	return index;
}

void gmt_fold_forget(struct gmt_folder *folder, uint32_t survivor_plus_1)
{
	if (!survivor_plus_1)
		return;
	folder->survivors.items[survivor_plus_1 - 1].next_plus_1 = folder->free_survivor_plus_1;
	folder->free_survivor_plus_1 = survivor_plus_1;
}

struct gmt_fold_device *gmt_fold_find_device(const struct gmt_folder *folder, int16_t device)
{
	uint64_t index;

	return gmt_map_find(&folder->device_ids, (uint16_t)device, &index) ? &folder->devices.items[index] : NULL;
}

struct gmt_fold_device *gmt_fold_device(struct gmt_folder *folder, int16_t device)
{
	struct gmt_fold_device *row = gmt_fold_find_device(folder, device);

	if (row)
		return row;
	if (!gmt_vec_reserve(&folder->devices, 1) ||
		!gmt_map_put(&folder->device_ids, (uint16_t)device, folder->devices.count))
		return NULL;
	row = gmt_vec_push(&folder->devices);
	row->device = device; /* the rest is zero: none was taken out */
	return row;
}

/* --- what the player tells --------------------------------------------------------------------------- */

static bool made_site(void *user, const struct gmt_player_event *event, uint32_t site)
{
	struct gmt_folder *folder = user;
	struct gmt_fold_maker *maker = gmt_vec_push(&folder->makers);

	(void)site;
	if (maker)
		*maker = (struct gmt_fold_maker){ .place = event->place };
	return maker;
}

static uint64_t name_of(const struct gmt_folder *folder, uint32_t thread)
{
	uint64_t name;

	return gmt_map_find(&folder->thread_names, thread, &name) ? name : UINT64_MAX - thread;
}

static bool asked(void *user, const struct gmt_player_event *event, uint32_t site)
{
	struct gmt_folder *folder = user;
	struct gmt_fold_maker *maker = &folder->makers.items[site];

	if (!maker->thread)
		maker->thread = event->thread;
	else if (maker->thread != event->thread && !maker->several)
		maker->several = name_of(folder, maker->thread) != name_of(folder, event->thread);
	return true;
}

static const struct gmt_books_account *account_of(const struct gmt_folder *folder, uint32_t site, uint32_t *ret_space)
{
	const struct gmt_books_site *row = &folder->books.sites.items[site];

	*ret_space = folder->books.spaces.items[row->space].space;
	return &folder->books.accounts.items[row->account];
}

/* Whether the ledger counts a block: device memory that this process, or the driver for it, has. */
static bool counts(const struct gmt_books_account *account, uint32_t space)
{
	return account->device >= 0 && account->layer != GMT_LAYER_TORCH && account->layer != GMT_LAYER_VIEW &&
		gmt_layer_family(account->layer) == GMT_FAMILY_CUDA && space < GMT_SPACE_COUNT;
}

static void hold_peak(struct gmt_folder *folder, struct gmt_fold_device *device)
{
	const struct gmt_books_account *torch = gmt_books_find_account(&folder->books, GMT_LAYER_TORCH, device->device);

	device->peak_bytes = device->cuda_bytes;
	device->held_stamp = folder->current->stamp;
	memcpy(device->held, device->now, sizeof(device->held));
	device->held_allocated_bytes = torch && torch->has_totals ? torch->told_allocated_bytes : 0;
	device->held_reserved_bytes = torch && torch->has_totals ? torch->told_reserved_bytes : 0;
}

/* As analysis/ledger/ledger_watch.c has it: PyTorch gets a segment before it says what it is for. */
static bool hold(struct gmt_folder *folder, uint32_t site, uint64_t more_bytes, uint64_t less_bytes)
{
	uint32_t space;
	const struct gmt_books_account *account = account_of(folder, site, &space);
	struct gmt_fold_device *device;

	if (account->layer == GMT_LAYER_TORCH && account->has_totals && account->device >= 0 && more_bytes) {
		device = gmt_fold_device(folder, account->device);
		if (device && device->peak_bytes && device->cuda_bytes == device->peak_bytes &&
			account->told_allocated_bytes > device->held_allocated_bytes)
			hold_peak(folder, device);
		return device;
	}
	if (!counts(account, space))
		return true;
	device = gmt_fold_device(folder, account->device);
	if (!device)
		return false;
	device->now[space] += more_bytes - less_bytes;
	if (account->layer == GMT_LAYER_CUDA) {
		device->cuda_bytes = account->live_bytes;
		if (account->live_bytes > device->peak_bytes)
			hold_peak(folder, device);
	}
	return true;
}

static bool is_handle(uint8_t layer, uint8_t space)
{
	return gmt_layer_family(layer) == GMT_FAMILY_CUDA && gmt_space_realm(space) == GMT_REALM_HANDLE;
}

static bool began(void *user, const struct gmt_player_event *event, uint32_t site)
{
	struct gmt_folder *folder = user;
	const struct gmt_books_site *row = &folder->books.sites.items[site];
	struct gmt_fold_survivor *survivor;
	uint32_t index;

	if (!hold(folder, site, event->size_bytes, 0) || !gmt_fold_see_peak(folder, row->account) ||
		!gmt_fold_touch(folder, site, row->live_bytes - event->size_bytes, NULL))
		return false;
	/* Those of handles survive with all that keeps them. */
	if (is_handle(event->layer, event->space))
		return true;
	index = gmt_fold_survive(folder, folder->current, event->tag);
	if (!index)
		return false;
	survivor = &folder->survivors.items[index - 1];
	survivor->kind = event->kind == GMT_KIND_SET ? GMT_KIND_SET : GMT_KIND_ALLOC;
	survivor->layer = event->layer;
	survivor->space = event->space;
	survivor->device = event->device;
	if (folder->current->kind == GMT_KIND_LAUNCH) {
		survivor->address = event->address;
		survivor->object = survivor->stream = survivor->context = 0;
	}
	gmt_books_tag(&folder->books, event->layer, event->space, event->address, index);
	return true;
}

static bool ended(void *user, const struct gmt_player_event *event, const struct gmt_books_block *block)
{
	struct gmt_folder *folder = user;

	(void)event;
	gmt_fold_forget(folder, block->tag);
	if (!gmt_fold_touch(folder, block->site, folder->books.sites.items[block->site].live_bytes + block->size_bytes, block))
		return false;
	return hold(folder, block->site, 0, block->size_bytes);
}

static bool keep_refusal(struct gmt_folder *folder)
{
	struct gmt_event *slot;

	if (folder->refusals.count < GMT_FOLD_REFUSALS) {
		slot = gmt_vec_push(&folder->refusals);
		if (!slot)
			return false;
	} else {
		slot = &folder->refusals.items[folder->refused % GMT_FOLD_REFUSALS];
	}
	*slot = *folder->current;
	folder->refused++;
	return true;
}

static bool refused(void *user, const struct gmt_player_event *event, uint32_t site)
{
	(void)event;
	return keep_refusal(user) && gmt_fold_see_refused(user, site);
}

static bool refused_free(void *user, const struct gmt_player_event *event, bool is_live)
{
	(void)event;
	(void)is_live;
	return keep_refusal(user);
}

static const char *name_text(void *user, uint32_t name)
{
	struct gmt_folder *folder = user;
	uint64_t id;

	return gmt_map_find(&folder->name_texts, name, &id) ? gmt_intern_get(&folder->texts, (uint32_t)id)->bytes : "";
}

static bool name_heap(void *user, uint64_t number, const char **ret_name, uint8_t *ret_source)
{
	struct gmt_folder *folder = user;
	uint64_t index;

	if (gmt_map_find(&folder->heap_marks, number, &index)) {
		*ret_name = name_text(folder, folder->heap_names.items[index].name);
		*ret_source = folder->heap_names.items[index].source;
	}
	return true;
}

void gmt_fold_play_init(struct gmt_folder *folder)
{
	folder->player = (struct gmt_player){
		.books = &folder->books, .heaps = &folder->heaps, .forgets = true,
		.owner = {
			.made_site = made_site, .asked = asked, .began = began, .ended = ended,
			.refused = refused, .refused_free = refused_free, .name_heap = name_heap, .user = folder,
		},
	};
}

/* --- events ------------------------------------------------------------------------------------------- */

/* As reader/load/backward_stacks.h has it. */
static bool adopt(struct gmt_folder *folder, struct gmt_event *event)
{
	uint64_t found;

	if (event->caller == UINT32_MAX) {
		event->caller = 0;
		return true;
	}
	if ((!event->frames && !event->stack) || event->caller)
		return true;
	if (!gmt_adoption_has(&folder->adoption, event->thread))
		return !event->frames || gmt_adoption_note(&folder->adoption, event->thread, event->frames,
			gmt_map_find(&folder->call_stacks, event->frames, &found));
	event->caller = gmt_adoption_caller(&folder->adoption);
	return true;
}

/*
 * A free that was published late, of a block whose place has been taken since: the older one was closed when
 * that happened, as if its free had been missed.
 */
static bool is_too_late(struct gmt_folder *folder, const struct gmt_event *event)
{
	const struct gmt_books_block *block;

	if (event->kind != GMT_KIND_FREE || event->stamp >= folder->played_stamp ||
		gmt_layer_family(event->layer) == GMT_FAMILY_CUSTOM || is_handle(event->layer, event->space))
		return false;
	block = gmt_books_find(&folder->books, event->layer, event->space, event->address);
	if (!block || block->stamp <= event->stamp)
		return false;
	folder->books.anomalies.missed_frees -= folder->books.anomalies.missed_frees > 0;
	return true;
}

bool gmt_fold_takes_place(const struct gmt_folder *folder, const struct gmt_event *event)
{
	return event->kind == GMT_KIND_ALLOC && gmt_layer_family(event->layer) != GMT_FAMILY_CUSTOM &&
		!is_handle(event->layer, event->space) && gmt_space_life(event->space) != GMT_LIFE_COUNTED &&
		gmt_books_find(&folder->books, event->layer, event->space, event->address);
}

/* Sites beyond the limit have no stack. */
static bool place_of(struct gmt_folder *folder, const struct gmt_event *event, uint32_t *ret_place)
{
	uint32_t places = (uint32_t)folder->places.count;

	if (folder->options.max_sites && places >= folder->options.max_sites) {
		uint64_t id;
		bool known = !event->caller && gmt_map_find(&folder->pair_ids, (uint64_t)event->stack << 32 | event->frames, &id);

		if (!known) {
			folder->merged_sites++;
			return gmt_fold_place(folder, 0, 0, 0, ret_place);
		}
	}
	return gmt_fold_place(folder, event->stack, event->frames, event->caller, ret_place);
}

bool gmt_fold_play(struct gmt_folder *folder, struct gmt_event *event)
{
	struct gmt_player_event played = {
		.stamp = event->stamp, .address = event->address, .size_bytes = event->size_bytes,
		.thread = event->thread, .result = event->result, .api = event->api, .device = event->device,
		.kind = event->kind, .layer = event->layer, .space = event->space,
	};
	struct gmt_fold_before before;

	if (is_too_late(folder, event))
		return true;
	if (event->stamp > folder->played_stamp)
		folder->played_stamp = event->stamp;
	if (!gmt_fold_pass_moments(folder, event->stamp) || !adopt(folder, event) ||
		!place_of(folder, event, &played.place))
		return false;
	played.tag = played.place;
	if (event->layer == GMT_LAYER_TORCH) {
		played.has_totals = true;
		played.allocated_bytes = (uint64_t)event->allocated_bytes;
		played.reserved_bytes = (uint64_t)event->reserved_bytes;
	} else {
		played.object = event->object;
		played.offset = event->stream;
		played.context = event->context;
	}
	folder->current = event;
	gmt_fold_before(folder, event, played.place, &before);
	gmt_fold_see_given(folder, event);
	return gmt_player_play(&folder->player, &played) && gmt_fold_after(folder, event, &before);
}

/* --- a past that the input has ------------------------------------------------------------------------- */

static bool past_place(void *user, const struct gmt_past_site *row, uint32_t *ret_place)
{
	return gmt_fold_place(user, row->stack, row->frames, row->caller, ret_place);
}

static bool past_maker(void *user, const struct gmt_past_site *row, uint32_t site)
{
	struct gmt_folder *folder = user;

	folder->makers.items[site].thread = row->thread;
	folder->makers.items[site].several = row->several;
	folder->makers.items[site].ooms += row->oom_count;
	folder->past_sites.items[row - folder->past.sites.items] = site + 1;
	return true;
}

static bool restore_devices(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->past.accounts.count; i++) {
		const struct gmt_past_account *row = &folder->past.accounts.items[i];
		struct gmt_fold_device *device = row->device >= 0 ? gmt_fold_device(folder, row->device) : NULL;

		if (row->device >= 0 && !device)
			return false;
		if (device && row->layer == GMT_LAYER_CUDA) {
			device->peak_bytes = row->peak_bytes;
			device->held_stamp = row->held_stamp;
			memset(device->held, 0, sizeof(device->held));
		}
		if (device && row->layer == GMT_LAYER_TORCH) {
			device->held_allocated_bytes = row->held_allocated_bytes;
			device->held_reserved_bytes = row->held_reserved_bytes;
		}
	}
	for (size_t i = 0; i < folder->past.spaces.count; i++) {
		const struct gmt_past_space *row = &folder->past.spaces.items[i];
		struct gmt_fold_device *device = row->device >= 0 && row->space < GMT_SPACE_COUNT && row->held_bytes ?
			gmt_fold_device(folder, row->device) : NULL;

		if (device)
			device->held[row->space] = row->held_bytes;
	}
	return true;
}

bool gmt_fold_prepare(struct gmt_folder *folder)
{
	struct gmt_past_names names = { past_place, name_text, past_maker, folder };

	return gmt_past_prepare(&folder->past, &folder->player, &names);
}

bool gmt_fold_restore(struct gmt_folder *folder)
{
	struct gmt_past_names names = { past_place, name_text, past_maker, folder };
	uint64_t misfits;

	if (folder->past.fold.stamp > folder->options.cut_stamp)
		folder->options.cut_stamp = folder->past.fold.stamp;
	if (!gmt_fold_pass_moments(folder, folder->past.fold.stamp + 1))
		return false;
	for (size_t i = 0; i + 1 < folder->past.calls.count; i += 2)
		if (!gmt_adoption_note(&folder->adoption, (uint32_t)folder->past.calls.items[i],
			(uint32_t)folder->past.calls.items[i + 1], true))
			return false;
	/* Zeroed. */
	if (!gmt_vec_reserve(&folder->past_sites, folder->past.sites.count))
		return false;
	folder->past_sites.count = folder->past.sites.count;
	folder->merged_sites = (uint32_t)folder->past.fold.merged_sites;
	folder->oom_retries += folder->past.fold.oom_retries;
	return gmt_past_set_books(&folder->past, &folder->player, &names, &misfits) && restore_devices(folder) &&
		gmt_fold_take_past_moments(folder) && gmt_fold_take_past_curves(folder);
}
