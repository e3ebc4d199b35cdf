/* SPDX-License-Identifier: MIT */
#include "analysis/profile/profile.h"

#include <stdlib.h>
#include <string.h>

const struct gmt_profile_value_info gmt_profile_values[GMT_PROFILE_VALUES] = {
#define GMT_PROFILE_VALUE(NAME, title, is_bytes, pprof_name) { title, is_bytes, pprof_name },
#include "analysis/profile/profile_values.def"
#undef GMT_PROFILE_VALUE
};

static void set_values(struct gmt_profile_row *row, const struct gmt_replay *replay)
{
	const struct gmt_account_site *site = &replay->accounting.sites.items[row->site];
	struct gmt_account_amount peak = gmt_account_site_peak(&replay->accounting, row->site);
	struct gmt_replay_live live = gmt_replay_end_site(replay, row->site);

	row->values[GMT_PROFILE_ALLOCATIONS] = site->alloc_count;
	row->values[GMT_PROFILE_ALLOCATED_BYTES] = site->total_bytes;
	row->values[GMT_PROFILE_LIVE_BLOCKS] = live.blocks;
	row->values[GMT_PROFILE_LIVE_BYTES] = live.bytes;
	row->values[GMT_PROFILE_PEAK_BLOCKS] = peak.blocks;
	row->values[GMT_PROFILE_PEAK_BYTES] = peak.bytes;
}

static void set_values_of_stretch(struct gmt_profile_row *row, const struct gmt_stretch *stretch)
{
	static const struct gmt_stretch_site nothing;
	const struct gmt_stretch_site *site =
		row->site < stretch->sites.count ? &stretch->sites.items[row->site] : &nothing;

	row->values[GMT_PROFILE_ALLOCATIONS] = site->allocs;
	row->values[GMT_PROFILE_ALLOCATED_BYTES] = site->alloc_bytes;
	row->values[GMT_PROFILE_LIVE_BLOCKS] = site->left_blocks;
	row->values[GMT_PROFILE_LIVE_BYTES] = site->left_bytes;
	row->values[GMT_PROFILE_PEAK_BLOCKS] = site->peak_blocks;
	row->values[GMT_PROFILE_PEAK_BYTES] = site->peak_bytes;
}

/* What collects the rows of a site. */
struct collector {
	struct gmt_profile *profile;
	struct gmt_profile_row row; /* of the site, without numbers */
};

static bool add_row(void *user, const struct gmt_profile_part *part)
{
	struct collector *collector = user;
	struct gmt_profile_row *slot = gmt_vec_push(&collector->profile->rows);

	if (!slot)
		return false;
	*slot = collector->row;
	slot->group = part->group;
	memcpy(slot->values, part->values, sizeof(slot->values));
	return true;
}

/* Adds the row of a site, or its rows in each of its groups. */
static bool add_rows(struct gmt_profile *profile, struct gmt_profile_groups *groups,
	const struct gmt_replay *replay, const struct gmt_profile_row *row)
{
	struct collector collector = { profile, *row };
	struct gmt_profile_part whole = { 0 };

	if (groups)
		return gmt_profile_groups_divide(groups, replay, row->site, row->values, add_row,
			&collector);
	memcpy(whole.values, row->values, sizeof(whole.values));
	return add_row(&collector, &whole);
}

static bool has_value(const struct gmt_profile_row *row)
{
	for (size_t i = 0; i < GMT_PROFILE_VALUES; i++)
		if (row->values[i])
			return true;
	return false;
}

static int compare(const void *left, const void *right)
{
	const struct gmt_profile_row *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

enum gmt_status gmt_profile_compute(struct gmt_profile *ret_profile,
	const struct gmt_profile_choice *choice, const struct gmt_replay *replay,
	const struct gmt_traces *traces, const struct gmt_stretch *stretch,
	struct gmt_profile_groups *groups, struct gmt_error *error)
{
	const struct gmt_accounting *accounting = &replay->accounting;

	ret_profile->choice = *choice;
	ret_profile->groups = groups;
	for (uint32_t id = 0; id < accounting->sites.count; id++) {
		const struct gmt_account_site *site = &accounting->sites.items[id];
		const struct gmt_account *account = &accounting->accounts.items[site->account];
		struct gmt_profile_row row = {
			.site = id,
			.space = accounting->spaces.items[site->space].space,
			.stack = replay->site_stacks.items[id],
			.device = account->device,
		};

		if (!gmt_profile_includes(choice, account->layer, account->device))
			continue;
		if (stretch)
			set_values_of_stretch(&row, stretch);
		else
			set_values(&row, replay);
		if (!has_value(&row))
			continue;
		row.owner = gmt_owners_find(&traces->owners, row.stack, account->layer, account->device);
		if (!add_rows(ret_profile, groups, replay, &row))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	if (ret_profile->rows.count)
		qsort(ret_profile->rows.items, ret_profile->rows.count, sizeof(*ret_profile->rows.items),
			compare);
	return GMT_OK;
}

void gmt_profile_fini(struct gmt_profile *profile)
{
	gmt_vec_fini(&profile->rows);
}
