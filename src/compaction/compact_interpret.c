/* SPDX-License-Identifier: MIT */
/* Interprets the events that are compacted, and keeps the events of what is live. */
#include <stddef.h>
#include <string.h>

#include "compaction/compact_internal.h"

/* --- callbacks of the event interpreter ------------------------------------------------------ */

static bool made_site(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	struct gmt_compactor *compactor = user;
	struct gmt_compact_requester *requester = gmt_vec_push(&compactor->requesters);

	(void)site;
	if (requester)
		*requester = (struct gmt_compact_requester){ .trace = event->stack };
	return requester;
}

static uint64_t name_of(const struct gmt_compactor *compactor, uint32_t thread)
{
	uint64_t name;

	return gmt_map_find(&compactor->thread_names, thread, &name) ? name : UINT64_MAX - thread;
}

static bool requested(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	struct gmt_compactor *compactor = user;
	struct gmt_compact_requester *requester = &compactor->requesters.items[site];

	if (!requester->thread)
		requester->thread = event->thread;
	else if (requester->thread != event->thread && !requester->several)
		requester->several =
			name_of(compactor, requester->thread) != name_of(compactor, event->thread);
	return true;
}

static const struct gmt_account *account_of(const struct gmt_compactor *compactor, uint32_t site,
	uint32_t *ret_space)
{
	const struct gmt_account_site *row = &compactor->accounting.sites.items[site];

	*ret_space = compactor->accounting.spaces.items[row->space].space;
	return &compactor->accounting.accounts.items[row->account];
}

/*
 * Returns whether the ledger counts a block: device memory of this process, or of the driver for
 * this process.
 */
static bool counts(const struct gmt_account *account, uint32_t space)
{
	return account->device >= 0 && account->layer != GMT_LAYER_TORCH &&
		account->layer != GMT_LAYER_VIEW && gmt_layer_family(account->layer) == GMT_FAMILY_CUDA &&
		space < GMT_SPACE_COUNT;
}

static void save_peak(struct gmt_compactor *compactor, struct gmt_compact_device *device)
{
	const struct gmt_account *torch =
		gmt_accounting_find_account(&compactor->accounting, GMT_LAYER_TORCH, device->device);

	device->peak_bytes = device->cuda_bytes;
	device->peak_stamp = compactor->current->stamp;
	memcpy(device->peak_space_bytes, device->space_bytes, sizeof(device->peak_space_bytes));
	device->peak_allocated_bytes = torch && torch->has_totals ? torch->reported_allocated_bytes : 0;
	device->peak_reserved_bytes = torch && torch->has_totals ? torch->reported_reserved_bytes : 0;
}

/*
 * Updates the bytes of a device and its peak, as analysis/ledger/ledger_watch.c does. PyTorch gets
 * a segment before it reports the allocation in it, so its totals at the peak may be updated later.
 */
static bool update_device(struct gmt_compactor *compactor, uint32_t site, uint64_t more_bytes,
	uint64_t less_bytes)
{
	uint32_t space;
	const struct gmt_account *account = account_of(compactor, site, &space);
	struct gmt_compact_device *device;

	if (account->layer == GMT_LAYER_TORCH && account->has_totals && account->device >= 0 &&
		more_bytes) {
		device = gmt_compact_intern_device(compactor, account->device);
		if (device && device->peak_bytes && device->cuda_bytes == device->peak_bytes &&
			account->reported_allocated_bytes > device->peak_allocated_bytes)
			save_peak(compactor, device);
		return device;
	}
	if (!counts(account, space))
		return true;
	device = gmt_compact_intern_device(compactor, account->device);
	if (!device)
		return false;
	device->space_bytes[space] += more_bytes - less_bytes;
	if (account->layer == GMT_LAYER_CUDA) {
		device->cuda_bytes = account->live_bytes;
		if (account->live_bytes > device->peak_bytes)
			save_peak(compactor, device);
	}
	return true;
}

static bool began(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	struct gmt_compactor *compactor = user;
	const struct gmt_account_site *row = &compactor->accounting.sites.items[site];
	struct gmt_compact_survivor *survivor;
	uint32_t index;

	if (!update_device(compactor, site, event->size_bytes, 0) ||
		!gmt_compact_note_peak(compactor, row->account) ||
		!gmt_compact_note_site_change(compactor, site, row->live_bytes - event->size_bytes, NULL))
		return false;
	/* Blocks of handles survive together with all events that keep them alive. */
	if (gmt_has_handles(event->layer, event->space))
		return true;
	index = gmt_compact_add_survivor(compactor, compactor->current, event->tag);
	if (!index)
		return false;
	survivor = &compactor->survivors.items[index - 1];
	survivor->kind = event->kind == GMT_KIND_SET ? GMT_KIND_SET : GMT_KIND_ALLOC;
	survivor->layer = event->layer;
	survivor->space = event->space;
	survivor->device = event->device;
	if (compactor->current->kind == GMT_KIND_LAUNCH) {
		survivor->address = event->address;
		survivor->object = survivor->stream = survivor->context = 0;
	}
	gmt_accounting_set_tag(&compactor->accounting, event->layer, event->space, event->address,
		index);
	return true;
}

static bool ended(void *user, const struct gmt_interpret_event *event,
	const struct gmt_account_block *block)
{
	struct gmt_compactor *compactor = user;

	(void)event;
	gmt_compact_drop_survivor(compactor, block->tag);
	if (!gmt_compact_note_site_change(compactor, block->site,
			compactor->accounting.sites.items[block->site].live_bytes + block->size_bytes, block))
		return false;
	return update_device(compactor, block->site, 0, block->size_bytes);
}

static bool keep_refusal(struct gmt_compactor *compactor)
{
	struct gmt_event *slot;

	if (compactor->refusals.count < GMT_COMPACT_MAX_REFUSALS) {
		slot = gmt_vec_push(&compactor->refusals);
		if (!slot)
			return false;
	} else {
		slot = &compactor->refusals.items[compactor->refused % GMT_COMPACT_MAX_REFUSALS];
	}
	*slot = *compactor->current;
	compactor->refused++;
	return true;
}

static bool refused(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	(void)event;
	return keep_refusal(user) && gmt_compact_note_refused(user, site);
}

static bool refused_free(void *user, const struct gmt_interpret_event *event, bool is_live)
{
	(void)event;
	(void)is_live;
	return keep_refusal(user);
}

static const char *name_text(void *user, uint32_t name)
{
	struct gmt_compactor *compactor = user;
	uint64_t id;

	return gmt_map_find(&compactor->name_texts, name, &id)
		? gmt_intern_get(&compactor->texts, (uint32_t)id)->bytes
		: "";
}

static bool name_heap(void *user, uint64_t number, const char **ret_name, uint8_t *ret_source)
{
	struct gmt_compactor *compactor = user;
	uint64_t index;

	if (gmt_map_find(&compactor->heap_marks, number, &index)) {
		*ret_name = name_text(compactor, compactor->heap_names.items[index].name);
		*ret_source = compactor->heap_names.items[index].source;
	}
	return true;
}

void gmt_compact_interpret_init(struct gmt_compactor *compactor)
{
	compactor->interpreter = (struct gmt_event_interpreter){
		.accounting = &compactor->accounting, .heap_groups = &compactor->heaps, .forgets_ended = true,
		.observer = {
			.made_site = made_site, .requested = requested, .began = began, .ended = ended,
			.refused = refused, .refused_free = refused_free, .name_heap = name_heap, .user = compactor,
		},
	};
}

/* --- events ---------------------------------------------------------------------------------- */

/* Attributes an event to a backward call, as reader/load/backward_stacks.h does. */
static bool attribute_to_backward(struct gmt_compactor *compactor, struct gmt_event *event)
{
	uint64_t found;

	if (event->caller == UINT32_MAX) {
		event->caller = 0;
		return true;
	}
	if ((!event->frames && !event->stack) || event->caller)
		return true;
	if (!gmt_backward_attribution_is_autograd_thread(&compactor->backward_attribution,
			event->thread))
		return !event->frames ||
			gmt_backward_attribution_set_stack(&compactor->backward_attribution, event->thread,
				event->frames, gmt_map_find(&compactor->backward_stacks, event->frames, &found));
	event->caller = gmt_backward_attribution_caller(&compactor->backward_attribution);
	return true;
}

/*
 * Returns whether the event is a late free: the thread published it after another block took the
 * address. The older block was ended at that moment, as if its free had been missed.
 */
static bool is_too_late(struct gmt_compactor *compactor, const struct gmt_event *event)
{
	const struct gmt_account_block *block;

	if (event->kind != GMT_KIND_FREE || event->stamp >= compactor->last_interpreted_stamp ||
		gmt_layer_family(event->layer) == GMT_FAMILY_CUSTOM ||
		gmt_has_handles(event->layer, event->space))
		return false;
	block = gmt_accounting_find(&compactor->accounting, event->layer, event->space, event->address);
	if (!block || block->stamp <= event->stamp)
		return false;
	compactor->accounting.anomalies.missed_frees -=
		compactor->accounting.anomalies.missed_frees > 0;
	return true;
}

bool gmt_compact_takes_live_address(const struct gmt_compactor *compactor,
	const struct gmt_event *event)
{
	return event->kind == GMT_KIND_ALLOC && gmt_layer_family(event->layer) != GMT_FAMILY_CUSTOM &&
		!gmt_has_handles(event->layer, event->space) &&
		gmt_space_life(event->space) != GMT_LIFE_COUNTED &&
		gmt_accounting_find(&compactor->accounting, event->layer, event->space, event->address);
}

/* Returns the trace of an event. Sites beyond the limit have no stack. */
static bool trace_of(struct gmt_compactor *compactor, const struct gmt_event *event,
	uint32_t *ret_trace)
{
	uint32_t traces = (uint32_t)compactor->traces.count;

	if (compactor->options.max_sites && traces >= compactor->options.max_sites) {
		uint64_t id;
		bool known = !event->caller &&
			gmt_map_find(&compactor->trace_ids, (uint64_t)event->stack << 32 | event->frames, &id);

		if (!known) {
			compactor->merged_sites++;
			return gmt_compact_intern_trace(compactor, 0, 0, 0, ret_trace);
		}
	}
	return gmt_compact_intern_trace(compactor, event->stack, event->frames, event->caller,
		ret_trace);
}

bool gmt_compact_interpret(struct gmt_compactor *compactor, struct gmt_event *event)
{
	struct gmt_interpret_event interpreted = {
		.stamp = event->stamp,
		.address = event->address,
		.size_bytes = event->size_bytes,
		.thread = event->thread,
		.result = event->result,
		.api = event->api,
		.device = event->device,
		.kind = event->kind,
		.layer = event->layer,
		.space = event->space,
	};
	struct gmt_compact_before before;

	if (is_too_late(compactor, event))
		return true;
	if (event->stamp > compactor->last_interpreted_stamp)
		compactor->last_interpreted_stamp = event->stamp;
	if (!gmt_compact_process_marks_before(compactor, event->stamp) ||
		!attribute_to_backward(compactor, event) || !trace_of(compactor, event, &interpreted.stack))
		return false;
	interpreted.tag = interpreted.stack;
	if (event->layer == GMT_LAYER_TORCH) {
		interpreted.has_totals = true;
		interpreted.allocated_bytes = (uint64_t)event->allocated_bytes;
		interpreted.reserved_bytes = (uint64_t)event->reserved_bytes;
	} else {
		interpreted.object = event->object;
		interpreted.offset = event->stream;
		interpreted.context = event->context;
	}
	compactor->current = event;
	gmt_compact_before_event(compactor, event, interpreted.stack, &before);
	gmt_compact_note_granted(compactor, event);
	return gmt_interpret(&compactor->interpreter, &interpreted) &&
		gmt_compact_after_event(compactor, event, &before);
}

/* --- the prefix of a compacted input --------------------------------------------------------- */

static bool restore_trace(void *user, const struct gmt_past_site *row, uint32_t *ret_trace)
{
	return gmt_compact_intern_trace(user, row->stack, row->frames, row->caller, ret_trace);
}

static bool restore_requester(void *user, const struct gmt_past_site *row, uint32_t site)
{
	struct gmt_compactor *compactor = user;

	compactor->requesters.items[site].thread = row->thread;
	compactor->requesters.items[site].several = row->several;
	compactor->requesters.items[site].oom_count += row->oom_count;
	compactor->prefix_sites.items[row - compactor->prefix.sites.items] = site + 1;
	return true;
}

static bool restore_devices(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->prefix.accounts.count; i++) {
		const struct gmt_past_account *row = &compactor->prefix.accounts.items[i];
		struct gmt_compact_device *device =
			row->device >= 0 ? gmt_compact_intern_device(compactor, row->device) : NULL;

		if (row->device >= 0 && !device)
			return false;
		if (device && row->layer == GMT_LAYER_CUDA) {
			device->peak_bytes = row->peak_bytes;
			device->peak_stamp = row->held_stamp;
			memset(device->peak_space_bytes, 0, sizeof(device->peak_space_bytes));
		}
		if (device && row->layer == GMT_LAYER_TORCH) {
			device->peak_allocated_bytes = row->held_allocated_bytes;
			device->peak_reserved_bytes = row->held_reserved_bytes;
		}
	}
	for (size_t i = 0; i < compactor->prefix.spaces.count; i++) {
		const struct gmt_past_space *row = &compactor->prefix.spaces.items[i];
		struct gmt_compact_device *device =
			row->device >= 0 && row->space < GMT_SPACE_COUNT && row->held_bytes
			? gmt_compact_intern_device(compactor, row->device)
			: NULL;

		if (device)
			device->peak_space_bytes[row->space] = row->held_bytes;
	}
	return true;
}

bool gmt_compact_prepare_prefix(struct gmt_compactor *compactor)
{
	struct gmt_compacted_prefix_names names = { restore_trace, name_text, restore_requester,
		compactor };

	return gmt_compacted_prefix_prepare(&compactor->prefix, &compactor->interpreter, &names);
}

bool gmt_compact_restore_prefix(struct gmt_compactor *compactor)
{
	struct gmt_compacted_prefix_names names = { restore_trace, name_text, restore_requester,
		compactor };
	uint64_t mismatches;

	if (compactor->prefix.cut_stamp > compactor->options.cut_stamp)
		compactor->options.cut_stamp = compactor->prefix.cut_stamp;
	if (!gmt_compact_process_marks_before(compactor, compactor->prefix.cut_stamp + 1))
		return false;
	for (size_t i = 0; i + 1 < compactor->prefix.calls.count; i += 2)
		if (!gmt_backward_attribution_set_stack(&compactor->backward_attribution,
				(uint32_t)compactor->prefix.calls.items[i],
				(uint32_t)compactor->prefix.calls.items[i + 1], true))
			return false;
	/* The reserved entries are zero. */
	if (!gmt_vec_reserve(&compactor->prefix_sites, compactor->prefix.sites.count))
		return false;
	compactor->prefix_sites.count = compactor->prefix.sites.count;
	compactor->merged_sites = (uint32_t)compactor->prefix.merged_sites;
	compactor->oom_retries += compactor->prefix.oom_retries;
	return gmt_compacted_prefix_set_accounting(&compactor->prefix, &compactor->interpreter, &names,
			   &mismatches) &&
		restore_devices(compactor) && gmt_compact_restore_marks(compactor) &&
		gmt_compact_restore_curves(compactor);
}
