/* SPDX-License-Identifier: MIT */
#include "analysis/history/categories.h"

#include "reader/stacks/frame_kinds.h"

static bool is_kept(const struct gmt_history *history, uint32_t site)
{
	return !history || (site < history->sites.count && history->sites.items[site].kept_count);
}

enum gmt_category gmt_category_of_role(uint8_t role)
{
	static const enum gmt_category categories[GMT_ROLES] = {
		[GMT_ROLE_NONE] = GMT_CATEGORY_OTHER,
		[GMT_ROLE_PARAMETER] = GMT_CATEGORY_PARAMETERS,
		[GMT_ROLE_GRADIENT] = GMT_CATEGORY_GRADIENTS,
		[GMT_ROLE_OPTIMIZER_STATE] = GMT_CATEGORY_OPTIMIZER,
		[GMT_ROLE_BUFFER] = GMT_CATEGORY_BUFFERS,
	};

	return categories[role];
}

/*
 * Returns the category of a block that a backward pass made. If the modules named their gradients,
 * any other block is not a gradient.
 */
static enum gmt_category category_in_backward(const struct gmt_history *history, uint32_t site)
{
	if (!history || !(history->roles >> GMT_ROLE_GRADIENT & 1))
		return GMT_CATEGORY_GRADIENTS;
	return site < history->sites.count &&
			history->sites.items[site].kept_count > history->sites.items[site].brief_count
		? GMT_CATEGORY_BACKWARD_RESULTS
		: GMT_CATEGORY_TEMPORARIES;
}

static bool is_made_before_modules(const struct gmt_history *history, uint32_t site)
{
	return history && site < history->sites.count &&
		history->sites.items[site].before_modules_count >
		history->sites.items[site].other_outside_count;
}

enum gmt_category gmt_category_of(const struct gmt_replay *replay, const struct gmt_traces *traces,
	const struct gmt_history *history, uint32_t site)
{
	uint32_t frame_kinds = traces->stack_frame_kinds.items[replay->site_stacks.items[site]];
	uint32_t account = replay->accounting.sites.items[site].account;
	uint32_t space =
		replay->accounting.spaces.items[replay->accounting.sites.items[site].space].space;
	uint8_t role =
		history && site < history->sites.count ? history->sites.items[site].role : GMT_ROLE_NONE;

#define HAS(NAME) (frame_kinds & GMT_FRAME_KIND_BIT(NAME))
	/*
	 * A segment of PyTorch holds blocks of any purpose. In a pool, PyTorch allocates single blocks.
	 */
	if (replay->accounting.accounts.items[account].layer == GMT_LAYER_CUDA &&
		space != GMT_SPACE_POOL && (HAS(CACHE) || HAS(HOST_CACHE)))
		return GMT_CATEGORY_OTHER;
	if (HAS(WORKSPACE) || HAS(LIBRARY))
		return GMT_CATEGORY_WORKSPACE;
	if (role != GMT_ROLE_NONE)
		return gmt_category_of_role(role);
	if (HAS(CHECKPOINT) && HAS(MODULE_CALL))
		return GMT_CATEGORY_ACTIVATIONS;
	if (HAS(OPTIMIZER))
		return is_kept(history, site) ? GMT_CATEGORY_OPTIMIZER : GMT_CATEGORY_OTHER;
	if (HAS(BACKWARD) || HAS(BACKWARD_CALL))
		return category_in_backward(history, site);
	if (HAS(MODULE_BUILD))
		return GMT_CATEGORY_PARAMETERS;
	if (HAS(MODULE_CALL))
		return GMT_CATEGORY_ACTIVATIONS;
	if (HAS(FACTORY))
		return GMT_CATEGORY_INPUTS;
	if (HAS(OPERATOR))
		return is_made_before_modules(history, site) ? GMT_CATEGORY_INPUTS
													 : GMT_CATEGORY_ACTIVATIONS;
	return GMT_CATEGORY_OTHER;
#undef HAS
}

const char *gmt_category_name(enum gmt_category category)
{
	static const char *const names[] = {
#define GMT_CATEGORY(NAME, name, rule) name,
#include "analysis/history/categories.def"
#undef GMT_CATEGORY
	};

	return names[category];
}
