/* SPDX-License-Identifier: MIT */
#include "analysis/categories.h"

#include "model/landmarks.h"

static bool is_kept(const struct gmt_history *history, uint32_t site)
{
	return !history || (site < history->sites.count && history->sites.items[site].kept_count);
}

enum gmt_category gmt_category_of(const struct gmt_replay *replay, const struct gmt_traces *traces,
	const struct gmt_history *history, uint32_t site)
{
	uint32_t landmarks = traces->stack_landmarks.items[replay->site_stacks.items[site]];
	uint32_t account = replay->books.sites.items[site].account;
	uint32_t space = replay->books.spaces.items[replay->books.sites.items[site].space].space;

#define HAS(NAME) (landmarks & GMT_LANDMARK_BIT(NAME))
	/* A segment of PyTorch's is for whatever lies in it; from a pool it takes blocks. */
	if (replay->books.accounts.items[account].layer == GMT_LAYER_CUDA && space != GMT_SPACE_POOL &&
		(HAS(CACHE) || HAS(HOST_CACHE)))
		return GMT_CATEGORY_OTHER;
	if (HAS(WORKSPACE) || HAS(LIBRARY))
		return GMT_CATEGORY_WORKSPACE;
	if (HAS(OPTIMIZER))
		return is_kept(history, site) ? GMT_CATEGORY_OPTIMIZER : GMT_CATEGORY_OTHER;
	if (HAS(BACKWARD) || HAS(BACKWARD_CALL))
		return GMT_CATEGORY_GRADIENTS;
	if (HAS(MODULE_BUILD))
		return GMT_CATEGORY_PARAMETERS;
	if (HAS(MODULE_CALL))
		return GMT_CATEGORY_ACTIVATIONS;
	if (HAS(FACTORY))
		return GMT_CATEGORY_INPUTS;
	return HAS(OPERATOR) ? GMT_CATEGORY_ACTIVATIONS : GMT_CATEGORY_OTHER;
#undef HAS
}

const char *gmt_category_name(enum gmt_category category)
{
	static const char *const names[] = {
#define GMT_CATEGORY(NAME, name, rule) name,
#include "analysis/categories.def"
#undef GMT_CATEGORY
	};

	return names[category];
}

const char *gmt_category_rule(enum gmt_category category)
{
	static const char *const rules[] = {
#define GMT_CATEGORY(NAME, name, rule) rule,
#include "analysis/categories.def"
#undef GMT_CATEGORY
	};

	return rules[category];
}
