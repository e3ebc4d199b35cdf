/* SPDX-License-Identifier: MIT */
#include "analysis/leaks/leak_groups.h"

#include <stdlib.h>
#include <string.h>

#include "reader/stacks/frame_kinds.h"

/*
 * Values of group_key.line for stacks without an own line: a backward pass with an unknown caller,
 * and no stack at all.
 */
enum { LINE_AUTOGRAD = UINT32_MAX, LINE_NONE = UINT32_MAX - 1 };

/* Identifies a group. It has no padding, because it is hashed as bytes. */
struct group_key {
	uint32_t line; /* a place, or one of the values above */
	uint32_t layer;
	int32_t device;
	uint32_t space;
};

static uint32_t line_of(const struct gmt_traces *traces, uint32_t stack)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	if (!count)
		return LINE_NONE;
	if (traces->stack_frame_kinds.items[stack] & GMT_FRAME_KIND_BIT(BACKWARD) &&
		!gmt_traces_has_python(traces, stack))
		return LINE_AUTOGRAD;
	return places[gmt_traces_own_line(traces, stack)];
}

/*
 * Returns whether a block is probably a segment of PyTorch. Without native stacks, the caller of
 * the driver is unknown. If the program used PyTorch, a size that is a multiple of 2 MiB identifies
 * its segments.
 */
static bool looks_like_segment(const struct gmt_leak_builder *builder, uint32_t site)
{
	const struct gmt_account_site *row = &builder->replay->accounting.sites.items[site];
	const char *stacks = gmt_recording_option(builder->recording, "stacks");

	return (strcmp(stacks, "none") == 0 || strcmp(stacks, "python") == 0) &&
		builder->recording->has_torch && row->alloc_count &&
		row->total_bytes / row->alloc_count % (2 << 20) == 0;
}

/* Returns whether an array framework allocated this for an array. */
static bool is_of_framework(const struct gmt_leak_builder *builder, uint32_t site)
{
	const struct gmt_accounting *accounting = &builder->replay->accounting;
	const struct gmt_account_site *row = &accounting->sites.items[site];
	const struct gmt_account *account = &accounting->accounts.items[row->account];
	const struct gmt_owners *owners = &builder->traces->owners;

	if (account->layer == GMT_LAYER_CUSTOM)
		return row->heap_plus_1 &&
			gmt_arenas_is_framework(builder->replay->heaps.items[row->heap_plus_1 - 1].name);
	return account->layer == GMT_LAYER_CUDA &&
		gmt_arenas_is_framework(gmt_owners_name(owners,
			gmt_owners_find(owners, builder->replay->site_stacks.items[site], account->layer,
				account->device)));
}

static bool group_sites(struct gmt_leak_builder *builder)
{
	const struct gmt_accounting *accounting = &builder->replay->accounting;
	struct gmt_intern keys = { 0 };
	bool done = gmt_vec_reserve(&builder->group_plus_1_of, accounting->sites.count + 1);

	for (uint32_t site = 0; done && site < accounting->sites.count; site++) {
		const struct gmt_account *account =
			&accounting->accounts.items[accounting->sites.items[site].account];
		uint32_t stack = builder->replay->site_stacks.items[site], id;
		uint32_t frame_kinds = builder->traces->stack_frame_kinds.items[stack];
		struct group_key key = {
			.line = line_of(builder->traces, stack),
			.layer = account->layer,
			.device = account->device,
			.space = accounting->spaces.items[accounting->sites.items[site].space].space,
		};
		bool is_device = key.device != GMT_DEVICE_HOST;

		if (!accounting->sites.items[site].alloc_count)
			continue;
		/* One line may make a segment and other memory: these are two groups. */
		bool is_cache = builder->leaks->arenas.row_of.items[site] ||
			(key.layer == GMT_LAYER_CUDA && is_device && key.space != GMT_SPACE_POOL &&
				(frame_kinds & GMT_FRAME_KIND_BIT(CACHE) || looks_like_segment(builder, site)));
		bool is_torch = key.layer == GMT_LAYER_TORCH ||
			(key.space == GMT_SPACE_POOL && frame_kinds & GMT_FRAME_KIND_BIT(CACHE));
		bool is_array = is_device && is_of_framework(builder, site);
		key.layer |= (uint32_t)is_cache << 16 | (uint32_t)is_torch << 17 | (uint32_t)is_array << 18;
		done = gmt_intern(&keys, &key, sizeof(key), &id);
		if (done && id == builder->groups.count) {
			struct gmt_leak_group *group = gmt_vec_push(&builder->groups);

			done = group && gmt_vec_reserve(&builder->is_reported, builder->groups.count);
			if (done)
				*group = (struct gmt_leak_group){
					.layer = account->layer,
					.device = key.device,
					.space = key.space,
					.is_cache = is_cache,
					.is_torch = is_torch,
					.is_array = is_array,
				};
		}
		if (!done)
			break;
		builder->groups.items[id].frame_kinds |= frame_kinds;
		builder->group_plus_1_of.items[site] = id + 1;
	}
	gmt_intern_fini(&keys);
	return done;
}

bool gmt_leak_is_judged(const struct gmt_leak_builder *builder, uint32_t group,
	enum gmt_leak_definition definition)
{
	const struct gmt_leak_group *row = &builder->groups.items[group];
	uint32_t wanted = builder->options->definitions;

	if (row->is_cache)
		return false;
	/* Memory that a library keeps for reuse is not a leak only because the program ends. */
	if (definition == GMT_LEAK_EXIT && !builder->options->with_libraries &&
		row->layer == GMT_LAYER_CUDA &&
		row->frame_kinds & (GMT_FRAME_KIND_BIT(HOST_CACHE) | GMT_FRAME_KIND_BIT(LIBRARY)))
		return false;
	/* Unexplained growth can be computed only after all lines were judged by growth. */
	if (definition == GMT_LEAK_GROWTH && wanted & GMT_LEAK_BY_STEPS)
		return true;
	if (wanted)
		return wanted >> definition & 1;
	return definition == GMT_LEAK_GROWTH || definition == GMT_LEAK_PHASE ||
		(definition == GMT_LEAK_EXIT && !row->is_torch && !row->is_array);
}

/* What each site of a group holds in a finding. */
struct tally {
	struct gmt_map index;                   /* site to index in rows */
	/* Here .stack holds the site, until list_stacks replaces it. */
	GMT_VEC(struct gmt_leak_stack) rows;
};

static bool add_block(struct tally *tally, const struct gmt_history_block *block)
{
	struct gmt_leak_stack *row;
	uint64_t index;

	if (!gmt_map_find(&tally->index, block->site, &index)) {
		index = tally->rows.count;
		row = gmt_vec_push(&tally->rows);
		if (!row || !gmt_map_put(&tally->index, block->site, index))
			return false;
		row->stack = block->site;
	}
	row = &tally->rows.items[index];
	row->bytes += block->size_bytes;
	row->blocks++;
	return true;
}

static int most_bytes_first(const void *left, const void *right)
{
	const struct gmt_leak_stack *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Copies the first rows into the finding, with stacks in place of sites. */
static bool list_stacks(const struct gmt_leak_builder *builder, const struct tally *tally,
	struct gmt_leak *leak)
{
	size_t count = tally->rows.count < GMT_LEAK_LINES ? tally->rows.count : GMT_LEAK_LINES;

	if (!gmt_vec_reserve(&leak->stacks, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct gmt_leak_stack *row = &leak->stacks.items[i];

		*row = tally->rows.items[i];
		row->stack = builder->replay->site_stacks.items[row->stack];
		row->own_line = gmt_traces_own_line(builder->traces, row->stack);
	}
	leak->stacks.count = count;
	return true;
}

/* Fills the finding from its site with most bytes. */
static void describe(const struct gmt_leak_builder *builder, uint32_t site_id,
	struct gmt_leak *leak)
{
	const struct gmt_history_site *site = &builder->history->sites.items[site_id];
	uint32_t heap_plus_1 = builder->replay->accounting.sites.items[site_id].heap_plus_1;

	leak->stack = builder->replay->site_stacks.items[site_id];
	leak->own_line = gmt_traces_own_line(builder->traces, leak->stack);
	leak->category = gmt_category_of(builder->replay, builder->traces, builder->history, site_id);
	if (heap_plus_1)
		leak->heap = builder->replay->heaps.items[heap_plus_1 - 1].name;
	if (site->freed_trace_plus_1)
		leak->freed_stack_plus_1 =
			builder->traces->stack_of_trace[site->freed_trace_plus_1 - 1] + 1;
}

bool gmt_leak_add(struct gmt_leak_builder *builder, uint32_t group,
	enum gmt_leak_definition definition, const struct gmt_history_block *blocks, size_t count,
	gmt_leak_filter *fits, const void *context, struct gmt_leak **ret_leak)
{
	const struct gmt_leak_group *row = &builder->groups.items[group];
	struct tally tally = { 0 };
	struct gmt_leak leak = {
		.definition = definition,
		.group = group,
		.layer = row->layer,
		.device = row->device,
		.space = row->space,
		.frame_kinds = row->frame_kinds,
		.bytes_per_step = -1,
		.confidence = -1,
		.steps_to_oom = UINT64_MAX,
	};
	bool done = true;

	*ret_leak = NULL;
	for (size_t i = 0; done && i < count; i++) {
		if (fits && !fits(context, &blocks[i]))
			continue;
		leak.bytes += blocks[i].size_bytes;
		leak.blocks++;
		done = add_block(&tally, &blocks[i]);
	}
	leak.sites = (uint32_t)tally.rows.count;
	if (done && leak.blocks) {
		qsort(tally.rows.items, tally.rows.count, sizeof(*tally.rows.items), most_bytes_first);
		describe(builder, tally.rows.items[0].stack, &leak);
		*ret_leak =
			list_stacks(builder, &tally, &leak) ? gmt_vec_push(&builder->leaks->rows) : NULL;
		done = *ret_leak != NULL;
	}
	gmt_map_fini(&tally.index);
	gmt_vec_fini(&tally.rows);
	if (!*ret_leak) {
		gmt_vec_fini(&leak.stacks);
		return done;
	}
	**ret_leak = leak;
	builder->is_reported.items[group] = true;
	return true;
}

const struct gmt_history_block *gmt_leak_blocks(const struct gmt_leak_builder *builder,
	enum gmt_history_moment moment, uint32_t group, size_t *ret_count)
{
	const struct gmt_leak_sorted_blocks *sorted = &builder->sorted[moment];

	*ret_count =
		sorted->first.count ? sorted->first.items[group + 1] - sorted->first.items[group] : 0;
	return sorted->first.count ? sorted->blocks.items + sorted->first.items[group] : NULL;
}

static int by_age(const void *left, const void *right)
{
	const struct gmt_history_block *a = left, *b = right;

	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* Sorts by group (counting sort), then each group by age. */
static bool sort_capture(struct gmt_leak_builder *builder, enum gmt_history_moment moment)
{
	const struct gmt_history_capture *capture = &builder->history->captures[moment];
	struct gmt_leak_sorted_blocks *sorted = &builder->sorted[moment];
	size_t groups = builder->groups.count;
	size_t *first;

	if (!capture->taken || !capture->blocks.count)
		return true;
	/* The reserved memory is zeroed. */
	if (!gmt_vec_reserve(&sorted->first, groups + 2) ||
		!gmt_vec_reserve(&sorted->blocks, capture->blocks.count))
		return false;
	sorted->first.count = groups + 1;
	sorted->blocks.count = capture->blocks.count;
	/*
	 * At first, first[g + 2] counts the blocks of group g. Then first[g + 1] is the index for its
	 * next block.
	 */
	first = sorted->first.items;
	for (size_t i = 0; i < capture->blocks.count; i++)
		first[builder->group_plus_1_of.items[capture->blocks.items[i].site] + 1]++;
	for (size_t g = 1; g < groups + 2; g++)
		first[g] += first[g - 1];
	for (size_t i = 0; i < capture->blocks.count; i++)
		sorted->blocks
			.items[first[builder->group_plus_1_of.items[capture->blocks.items[i].site]]++] =
			capture->blocks.items[i];
	for (size_t g = 0; g < groups; g++)
		if (first[g + 1] > first[g])
			qsort(sorted->blocks.items + first[g], first[g + 1] - first[g],
				sizeof(*sorted->blocks.items), by_age);
	return true;
}

bool gmt_leak_groups_make(struct gmt_leak_builder *builder)
{
	bool done = group_sites(builder);

	for (int moment = 0; done && moment < GMT_HISTORY_MOMENTS; moment++)
		done = sort_capture(builder, (enum gmt_history_moment)moment);
	return done;
}

static int most_first(const void *left, const void *right)
{
	const struct gmt_leak_line *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

size_t gmt_leak_sort_lines(struct gmt_leak_line *lines, size_t count)
{
	if (count)
		qsort(lines, count, sizeof(*lines), most_first);
	if (count > GMT_LEAK_LINES)
		count = GMT_LEAK_LINES;
	while (count && !lines[count - 1].bytes)
		count--;
	return count;
}

void gmt_leak_groups_fini(struct gmt_leak_builder *builder)
{
	gmt_vec_fini(&builder->groups);
	gmt_vec_fini(&builder->group_plus_1_of);
	gmt_vec_fini(&builder->is_reported);
	for (int moment = 0; moment < GMT_HISTORY_MOMENTS; moment++) {
		gmt_vec_fini(&builder->sorted[moment].blocks);
		gmt_vec_fini(&builder->sorted[moment].first);
	}
}
