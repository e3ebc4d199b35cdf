/* SPDX-License-Identifier: MIT */
#include "analysis/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history/categories.h"
#include "analysis/tables/stack_names.h"
#include "analysis/tables/table_instances.h"
#include "base/text.h"

enum { NAME_BYTES = 240 };

struct builder {
	struct gmt_table *table;
	const struct gmt_table_input *input;
	struct gmt_map row_ids; /* account and number to index */
	GMT_VEC(uint32_t) numbers; /* by stack: the number of its row, + 1; 0: not determined yet */
	struct gmt_instance_shares instance_shares; /* for modules: what the rows of instances hold */
	struct gmt_intern functions; /* pairs of function and file */
};

static struct gmt_table_row *get_row(struct builder *builder, uint32_t account_id, uint32_t number)
{
	const struct gmt_account *account =
		&builder->input->replay->accounting.accounts.items[account_id];
	uint64_t key = (uint64_t)account_id << 32 | number, index;

	if (!gmt_map_find(&builder->row_ids, key, &index)) {
		struct gmt_table_row *row = gmt_vec_push(&builder->table->rows);

		index = builder->table->rows.count - 1;
		if (!row || !gmt_map_put(&builder->row_ids, key, index))
			return NULL;
		*row = (struct gmt_table_row){
			.layer = account->layer,
			.device = account->device,
			.number = number,
		};
	}
	return &builder->table->rows.items[index];
}

/* Returns the frame of the user's own line. NULL: there is no stack. */
static const uint32_t *own_frame(const struct builder *builder, const struct gmt_site *site)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(builder->input->traces, site->stack, &count);

	return count ? &places[site->own_line] : NULL;
}

/*
 * The functions `number` of table_keys.def. Each sets *ret_number to the number of a site's row. 0:
 * the site has no key.
 */

/* A line has the number of its place. */
static bool number_of_line(struct builder *builder, const struct gmt_site *site,
	uint32_t *ret_number)
{
	const uint32_t *frame = own_frame(builder, site);

	*ret_number = frame ? *frame + 1 : 0;
	return true;
}

/* Equal functions have the same name and file. Their lines may differ. */
static bool number_of_function(struct builder *builder, const struct gmt_site *site,
	uint32_t *ret_number)
{
	const uint32_t *frame = own_frame(builder, site);
	uint32_t id;

	*ret_number = 0;
	if (!frame)
		return true;

	const struct gmt_place *place = gmt_traces_place(builder->input->traces, *frame);
	const uint32_t pair[] = { place->function, place->file };
	if (!gmt_intern(&builder->functions, pair, sizeof(pair), &id))
		return false;
	*ret_number = id + 1;
	return true;
}

/* Depends on the site, because the owner depends on the layer. */
static bool number_of_owner(struct builder *builder, const struct gmt_site *site,
	uint32_t *ret_number)
{
	(void)builder;
	*ret_number = 1 + site->owner;
	return true;
}

/* Depends on the site, because the category depends on how long the blocks lived. */
static bool number_of_category(struct builder *builder, const struct gmt_site *site,
	uint32_t *ret_number)
{
	*ret_number = 1 +
		gmt_category_of(builder->input->replay, builder->input->traces, builder->input->history,
			site->id);
	return true;
}

static bool number_of_part(struct builder *builder, const struct gmt_site *site,
	uint32_t *ret_number)
{
	*ret_number = 1 + gmt_part_of(builder->input->traces->stack_frame_kinds.items[site->stack]);
	return true;
}

/*
 * The functions `group` of table_keys.def. Each writes the name of the site's row, cut to `size`
 * bytes; "" if the site has no key.
 */

static uint32_t stack_of(const struct gmt_table_input *input, uint32_t site)
{
	return input->replay->site_stacks.items[site];
}

/* Writes "step (train.py:31)", or "step (train.py)" for a function. */
static void group_of_place(const struct gmt_table_input *input, uint32_t site, bool has_line,
	char *ret_name, size_t size)
{
	const struct gmt_traces *traces = input->traces;
	uint32_t stack = stack_of(input, site), count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	*ret_name = '\0';
	if (!count)
		return;

	const struct gmt_place *place =
		gmt_traces_place(traces, places[gmt_traces_own_line(traces, stack)]);
	const char *function = gmt_traces_string(traces, place->function);
	const char *file = gmt_traces_string(traces, place->file);
	char where[96] = "", line[16] = "";

	if (has_line && place->line)
		snprintf(line, sizeof(line), ":%" PRIu32, place->line);
	if (*file)
		snprintf(where, sizeof(where), " (%.*s%s)", (int)(sizeof(where) - sizeof(line) - 4),
			gmt_text_base_name(file), line);
	snprintf(ret_name, size, "%.*s%s",
		(int)gmt_text_cut_length(function, strlen(function), size - strlen(where) - 1), function,
		where);
}

#define GROUP(key) \
	static void group_of_##key(const struct gmt_table_input *input, uint32_t site, char *ret_name, \
		size_t size)

GROUP(line)
{
	group_of_place(input, site, true, ret_name, size);
}

GROUP(function)
{
	group_of_place(input, site, false, ret_name, size);
}

GROUP(operator)
{
	gmt_stack_operator(input->traces, stack_of(input, site), ret_name, size);
}

GROUP(module)
{
	gmt_stack_module(input->traces, stack_of(input, site), ret_name, size);
}

GROUP(library)
{
	gmt_stack_library(input->traces, stack_of(input, site), ret_name, size);
}

GROUP(owner)
{
	const struct gmt_accounting *accounting = &input->replay->accounting;
	const struct gmt_account *account =
		&accounting->accounts.items[accounting->sites.items[site].account];

	gmt_text_copy(ret_name, size,
		gmt_owners_name(&input->traces->owners,
			gmt_owners_find(&input->traces->owners, stack_of(input, site), account->layer,
				account->device)));
}

GROUP(category)
{
	gmt_text_copy(ret_name, size,
		gmt_category_name(gmt_category_of(input->replay, input->traces, input->history, site)));
}

GROUP(part)
{
	gmt_text_copy(ret_name, size,
		gmt_part_name(gmt_part_of(input->traces->stack_frame_kinds.items[stack_of(input, site)])));
}
#undef GROUP

/*
 * The functions `show` of table_keys.def. Each sets the fields that a row shows. `site` is the
 * first site of the row.
 */

static void show_place(struct builder *builder, struct gmt_table_row *row,
	const struct gmt_site *site)
{
	const uint32_t *frame = own_frame(builder, site);

	row->place_plus_1 = frame ? *frame + 1 : 0;
}

static void show_name(struct builder *builder, struct gmt_table_row *row,
	const struct gmt_site *site)
{
	(void)site;
	row->name = row->number ? gmt_intern_get(&builder->table->names, row->number - 1)->bytes : NULL;
}

static void show_owner(struct builder *builder, struct gmt_table_row *row,
	const struct gmt_site *site)
{
	row->name = gmt_owners_name(&builder->input->traces->owners, site->owner);
	row->max_live_bytes = gmt_owner_peaks_find(&builder->input->allocator_state->owner_peaks,
		builder->input->replay->accounting.sites.items[site->id].account, site->owner);
}

static void show_category(struct builder *builder, struct gmt_table_row *row,
	const struct gmt_site *site)
{
	(void)builder;
	(void)site;
	row->name = gmt_category_name((enum gmt_category)(row->number - 1));
}

static void show_part(struct builder *builder, struct gmt_table_row *row,
	const struct gmt_site *site)
{
	(void)builder;
	(void)site;
	row->name = gmt_part_name((enum gmt_part)(row->number - 1));
}

enum depends_on { STACK, SITE, ATTRIBUTION };

static const struct {
	const char *name, *title, *none;
	enum depends_on depends_on;
	bool (*number)(struct builder *builder, const struct gmt_site *site, uint32_t *ret_number);
	void (*group)(const struct gmt_table_input *input, uint32_t site, char *ret_name, size_t size);
	void (*show)(struct builder *builder, struct gmt_table_row *row, const struct gmt_site *site);
} keys[] = {
#define GMT_TABLE_KEY(NAME, name, title, none, depends_on, number, group, show) \
	{ name, title, none, depends_on, number, group, show },
#include "analysis/tables/table_keys.def"
#undef GMT_TABLE_KEY
};

/* Returns the number of the site's name, for keys that number the names. 0: no name. */
static bool number_of_group(struct builder *builder, const struct gmt_site *site,
	uint32_t *ret_number)
{
	char name[NAME_BYTES];
	uint32_t id;

	*ret_number = 0;
	keys[builder->table->key].group(builder->input, site->id, name, sizeof(name));
	if (!*name)
		return true;
	if (!gmt_intern_text(&builder->table->names, name, &id))
		return false;
	*ret_number = id + 1;
	return true;
}

void gmt_table_group(enum gmt_table_grouping key, const struct gmt_table_input *input,
	uint32_t site, char *ret_name, size_t size)
{
	keys[key].group(input, site, ret_name, size);
	if (!*ret_name)
		snprintf(ret_name, size, "(%s)", keys[key].none);
}

void gmt_table_step_name(const struct gmt_timeline *timeline, uint32_t series, uint32_t step,
	char *ret_name, size_t size)
{
	if (series >= GMT_TIMELINE_SERIES)
		snprintf(ret_name, size, "(%s)", keys[GMT_TABLE_STEP].none);
	else
		snprintf(ret_name, size, "step %" PRIu32 "%s", step,
			timeline->series[series].source == GMT_STEPS_MODULE_CALLS ? " (a forward call)" : "");
}

/* Caches the number by stack, because many sites share a stack. */
static bool cached_number_of(struct builder *builder, const struct gmt_site *site,
	uint32_t *ret_number)
{
	uint32_t *known = &builder->numbers.items[site->stack];
	enum gmt_table_grouping key = builder->table->key;

	if (keys[key].depends_on == SITE)
		return keys[key].number(builder, site, ret_number);
	if (!*known) {
		if (!(keys[key].number ? keys[key].number : number_of_group)(builder, site, ret_number))
			return false;
		*known = *ret_number + 1;
	}
	*ret_number = *known - 1;
	return true;
}

static bool add_site(struct builder *builder, const struct gmt_site *site)
{
	uint32_t account = builder->input->replay->accounting.sites.items[site->id].account, number;
	struct gmt_table_row *row;

	if (!cached_number_of(builder, site, &number) || !(row = get_row(builder, account, number)))
		return false;
	if (!row->sites)
		keys[builder->table->key].show(builder, row, site);
	row->sites++;
	row->peak_bytes += site->peak_bytes;
	row->peak_blocks += site->peak_blocks;
	row->live_bytes += site->live_at_end_bytes;
	row->live_blocks += site->live_at_end_blocks;
	row->total_bytes = gmt_saturating_add_i64(row->total_bytes, site->total_bytes);
	row->allocs += site->alloc_count;
	if (site->id < builder->input->allocator_state->largest_bytes.count &&
		builder->input->allocator_state->largest_bytes.items[site->id] > row->largest_bytes)
		row->largest_bytes = builder->input->allocator_state->largest_bytes.items[site->id];
	/* The largest block may be in a row of an instance. */
	if (builder->instance_shares.count && row->largest_bytes > row->total_bytes)
		row->largest_bytes = row->total_bytes;
	return true;
}

static bool add_sites(struct builder *builder, const struct gmt_sites *sites)
{
	/* The reserved memory is zeroed. It is indexed by stack. */
	if (!gmt_vec_reserve(&builder->numbers, builder->input->traces->stacks.entries.count + 1))
		return false;
	if (builder->table->key == GMT_TABLE_MODULE &&
		!gmt_table_add_instances(builder->table, builder->input->replay,
			&builder->input->allocator_state->module_tensors, &builder->instance_shares))
		return false;
	for (size_t i = 0; i < sites->rows.count; i++) {
		struct gmt_site site = sites->rows.items[i];

		if (gmt_table_subtract_instances(&builder->instance_shares, &site) &&
			!add_site(builder, &site))
			return false;
	}
	return true;
}

static bool add_attribution(struct builder *builder, const struct gmt_attribution_rows *attribution)
{
	bool is_step = builder->table->key == GMT_TABLE_STEP;

	for (size_t i = 0; i < attribution->items.count; i++) {
		const struct gmt_attribution_row *attribution_row = &attribution->items.items[i];
		const struct gmt_account *account =
			&builder->input->replay->accounting.accounts.items[attribution_row->account];
		struct gmt_table_row *row = gmt_vec_push(&builder->table->rows);

		if (!row)
			return false;
		*row = (struct gmt_table_row){
			.layer = account->layer,
			.device = account->device,
			.number = attribution_row->number,
			.series = attribution_row->series,
			.step = is_step ? attribution_row->number : 0,
			.name = is_step || !attribution_row->number
				? NULL
				: gmt_intern_get(&builder->input->allocator_state->attribution.origin.phase_names,
					  attribution_row->number - 1)
					  ->bytes,
			.peak_bytes = attribution_row->peak_bytes,
			.peak_blocks = attribution_row->peak_blocks,
			.live_bytes = attribution_row->live_bytes,
			.live_blocks = attribution_row->live_blocks,
			.total_bytes = attribution_row->total_bytes,
			.allocs = attribution_row->allocs,
			.largest_bytes = attribution_row->largest_bytes,
		};
	}
	return true;
}

static int compare(const struct gmt_table_row *a, const struct gmt_table_row *b,
	enum gmt_sites_order first)
{
	const uint64_t left[] = { a->peak_bytes, a->live_bytes, a->total_bytes };
	const uint64_t right[] = { b->peak_bytes, b->live_bytes, b->total_bytes };
	const size_t order[] = {
		first == GMT_SITES_BY_PEAK       ? 0
			: first == GMT_SITES_BY_LIVE ? 1
										 : 2,
		0,
		1,
		2,
	};

	if (a->layer != b->layer)
		return a->layer > b->layer ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (left[order[i]] != right[order[i]])
			return left[order[i]] > right[order[i]] ? -1 : 1;
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

#define COMPARE(name, key) \
	static int name(const void *left, const void *right) \
	{ \
		return compare(left, right, key); \
	}
COMPARE(by_peak, GMT_SITES_BY_PEAK)
COMPARE(by_live, GMT_SITES_BY_LIVE)
COMPARE(by_total, GMT_SITES_BY_TOTAL)
#undef COMPARE

enum gmt_status gmt_table_compute(struct gmt_table *ret_table, enum gmt_table_grouping key,
	const struct gmt_table_input *input, enum gmt_sites_order sort, struct gmt_error *error)
{
	struct builder builder = {
		.table = ret_table,
		.input = input,
	};
	bool done;

	ret_table->key = key;
	done = key == GMT_TABLE_STEP
		? add_attribution(&builder, &input->allocator_state->attribution.steps)
		: key == GMT_TABLE_PHASE
		? add_attribution(&builder, &input->allocator_state->attribution.phases)
		: add_sites(&builder, input->sites);
	gmt_map_fini(&builder.row_ids);
	gmt_vec_fini(&builder.numbers);
	gmt_vec_fini(&builder.instance_shares);
	gmt_intern_fini(&builder.functions);
	if (!done) {
		gmt_table_fini(ret_table);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	if (ret_table->rows.count)
		qsort(ret_table->rows.items, ret_table->rows.count, sizeof(*ret_table->rows.items),
			sort == GMT_SITES_BY_LIVE        ? by_live
				: sort == GMT_SITES_BY_TOTAL ? by_total
											 : by_peak);
	return GMT_OK;
}

const struct gmt_table_row *gmt_table_rows_of(const struct gmt_table *table, uint32_t layer,
	int32_t device, size_t *ret_count)
{
	const struct gmt_table_row *row = table->rows.items,
							   *end = gmt_vec_at(&table->rows, table->rows.count), *first;

	while (row < end && (row->layer != layer || row->device != device))
		row++;
	for (first = row; row < end && row->layer == layer && row->device == device;)
		row++;
	*ret_count = (size_t)(row - first);
	return first;
}

void gmt_table_fini(struct gmt_table *table)
{
	gmt_intern_fini(&table->names);
	gmt_vec_fini(&table->instances);
	gmt_vec_fini(&table->rows);
}

const char *gmt_table_key_name(enum gmt_table_grouping key)
{
	return keys[key].name;
}

const char *gmt_table_key_title(enum gmt_table_grouping key)
{
	return keys[key].title;
}

const char *gmt_table_key_none(enum gmt_table_grouping key)
{
	return keys[key].none;
}
