/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_sites.h"

#include "analysis/history/categories.h"
#include "analysis/page/page_sites_choice.h"
#include "analysis/tables/stack_names.h"

enum { NAME_BYTES = 240 };

/*
 * Finds or adds a place. Sets *ret_index_plus_1 to its index in `places`, plus 1. False: out of
 * memory.
 */
static bool get_place(struct gmt_page_sites *sites, uint32_t place, uint32_t *ret_index_plus_1)
{
	uint64_t index;

	if (!gmt_map_find(&sites->place_ids, place, &index)) {
		uint32_t *slot = gmt_vec_push(&sites->places);

		index = sites->places.count - 1;
		if (!slot || !gmt_map_put(&sites->place_ids, place, index))
			return false;
		*slot = place;
	}
	*ret_index_plus_1 = (uint32_t)index + 1;
	return true;
}

static bool get_node(struct gmt_page_sites *sites, uint32_t parent, uint32_t place,
	uint32_t *ret_node)
{
	uint64_t key = (uint64_t)parent << 32 | place, index;

	if (!gmt_map_find(&sites->node_ids, key, &index)) {
		struct gmt_page_node *node = gmt_vec_push(&sites->nodes);

		index = sites->nodes.count - 1;
		if (!node || !gmt_map_put(&sites->node_ids, key, index))
			return false;
		node->parent = parent;
		if (!get_place(sites, place, &node->place_plus_1))
			return false;
	}
	*ret_node = (uint32_t)index;
	return true;
}

/* Adds the stack of a row to the tree. */
static bool add_stack(struct gmt_page_sites *sites, const struct gmt_traces *traces,
	struct gmt_page_site *row)
{
	uint32_t count, node = 0;
	const uint32_t *places = gmt_traces_stack(traces, row->site.stack, &count);

	for (uint32_t i = count; i-- > 0;) {
		if (!get_node(sites, node, places[i], &node))
			return false;
		if (i == row->site.own_line)
			row->own_node = node;
	}
	row->node = node;
	return true;
}

static bool add_names(struct gmt_page_sites *sites, const struct gmt_page_sites_input *input,
	struct gmt_page_site *row)
{
	char name[NAME_BYTES];
	uint32_t stack = row->site.stack;

	gmt_stack_operator(input->traces, stack, name, sizeof(name));
	if (!gmt_intern_text(&sites->operators, name, &row->operator))
		return false;
	gmt_stack_module(input->traces, stack, name, sizeof(name));
	if (!gmt_intern_text(&sites->modules, name, &row->module))
		return false;
	row->category = gmt_category_of(input->replay, input->traces, input->history, row->site.id);
	row->part = gmt_part_of(input->traces->stack_frame_kinds.items[stack]);
	return gmt_intern_text(&sites->owners, gmt_owners_name(&input->traces->owners, row->site.owner),
		&row->owner);
}

/* Adds a site to the sums of site 0. */
static void add_to_others(struct gmt_site *others, const struct gmt_site *site)
{
	others->live_at_end_bytes += site->live_at_end_bytes;
	others->live_at_end_blocks += site->live_at_end_blocks;
	others->live_at_exit_bytes += site->live_at_exit_bytes;
	others->live_at_exit_blocks += site->live_at_exit_blocks;
	others->peak_bytes += site->peak_bytes;
	others->peak_blocks += site->peak_blocks;
	others->total_bytes = gmt_saturating_add_i64(others->total_bytes, site->total_bytes);
	others->alloc_count += site->alloc_count;
	others->free_count += site->free_count;
}

/* Makes the row of a site that had only refused requests. */
static struct gmt_site refused_site(const struct gmt_page_sites_input *input, uint32_t id)
{
	const struct gmt_accounting *accounting = &input->replay->accounting;
	const struct gmt_account_site *site = &accounting->sites.items[id];
	const struct gmt_account *account = &accounting->accounts.items[site->account];
	uint32_t stack = input->replay->site_stacks.items[id];

	return (struct gmt_site){
		.id = id,
		.layer = account->layer,
		.device = account->device,
		.space = accounting->spaces.items[site->space].space,
		.stack = stack,
		.owner = gmt_owners_find(&input->traces->owners, stack, account->layer, account->device),
		.own_line = gmt_traces_own_line(input->traces, stack),
	};
}

static bool add_site(struct gmt_page_sites *sites, const struct gmt_page_sites_input *input,
	const struct gmt_site *site)
{
	struct gmt_page_site *row = gmt_vec_push(&sites->rows);

	if (!row)
		return false;
	row->site = *site;
	sites->numbers.items[site->id] = (uint32_t)(sites->rows.count - 1);
	return add_stack(sites, input->traces, row) && add_names(sites, input, row);
}

/* Adds all sites in the order of the accounting. */
static bool add_sites(struct gmt_page_sites *sites, const struct gmt_page_sites_input *input,
	const struct gmt_page_flags *chosen)
{
	size_t count = input->replay->accounting.sites.count;
	/* By site of the accounting: index of its row in input->sites, plus 1. */
	GMT_VEC(uint32_t) rows = { 0 };
	bool done = gmt_vec_reserve(&rows, count + 1);

	for (size_t i = 0; done && i < input->sites->rows.count; i++)
		rows.items[input->sites->rows.items[i].id] = (uint32_t)i + 1;
	for (uint32_t id = 0; done && id < count; id++) {
		uint32_t row = rows.items[id];
		struct gmt_site site =
			row ? input->sites->rows.items[row - 1] : (struct gmt_site){ .id = id };

		if (!chosen->items[id]) {
			add_to_others(&sites->rows.items[0].site, &site);
			continue;
		}
		if (!row)
			site = refused_site(input, id);
		done = add_site(sites, input, &site);
	}
	gmt_vec_fini(&rows);
	return done;
}

bool gmt_page_sites_compute(struct gmt_page_sites *ret_sites,
	const struct gmt_page_sites_input *input)
{
	struct gmt_page_flags chosen = { 0 };
	struct gmt_page_site *others = gmt_vec_push(&ret_sites->rows);
	struct gmt_page_node *root = gmt_vec_push(&ret_sites->nodes);
	uint32_t empty;
	bool done;

	/* The reserved memory is zeroed: site 0, node 0, number 0 of each site. */
	if (!others || !root ||
		!gmt_vec_reserve(&ret_sites->numbers, input->replay->accounting.sites.count + 1) ||
		!gmt_intern_text(&ret_sites->owners, "", &empty) ||
		!gmt_intern_text(&ret_sites->modules, "", &empty) ||
		!gmt_intern_text(&ret_sites->operators, "", &empty))
		return false;
	ret_sites->numbers.count = input->replay->accounting.sites.count;
	others->site.device = GMT_DEVICE_UNKNOWN;
	others->category = GMT_CATEGORY_OTHER;
	others->part = GMT_PART_OTHER;
	done = gmt_page_choose_sites(input->replay, input->sites, GMT_PAGE_SITES - 1, &chosen) &&
		add_sites(ret_sites, input, &chosen);
	gmt_vec_fini(&chosen);
	gmt_map_fini(&ret_sites->node_ids);
	gmt_map_fini(&ret_sites->place_ids);
	return done;
}

void gmt_page_sites_fini(struct gmt_page_sites *sites)
{
	gmt_vec_fini(&sites->rows);
	gmt_vec_fini(&sites->numbers);
	gmt_vec_fini(&sites->nodes);
	gmt_vec_fini(&sites->places);
	gmt_intern_fini(&sites->owners);
	gmt_intern_fini(&sites->modules);
	gmt_intern_fini(&sites->operators);
	gmt_map_fini(&sites->node_ids);
	gmt_map_fini(&sites->place_ids);
}
