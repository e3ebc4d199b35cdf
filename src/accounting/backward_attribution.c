/* SPDX-License-Identifier: MIT */
#include "accounting/backward_attribution.h"

#include <string.h>

static bool begins_with(struct gmt_slice text, const char *start)
{
	size_t length = strlen(start);

	return text.length >= length && memcmp(text.text, start, length) == 0;
}

static bool ends_with(struct gmt_slice text, const char *end)
{
	size_t length = strlen(end);

	return text.length >= length && memcmp(text.text + text.length - length, end, length) == 0;
}

/* Returns whether `name` is the whole text, or the last part of a qualified name. */
static bool is_name(struct gmt_slice text, const char *name)
{
	size_t length = strlen(name);

	return ends_with(text, name) &&
		(text.length == length || text.text[text.length - length - 1] == '.');
}

bool gmt_backward_attribution_is_autograd(struct gmt_slice thread_name)
{
	return begins_with(thread_name, "pt_autograd");
}

bool gmt_backward_attribution_is_call(struct gmt_slice file, struct gmt_slice function)
{
	return ends_with(file, "/torch/autograd/__init__.py") &&
		(is_name(function, "backward") || is_name(function, "grad"));
}

static struct gmt_backward_attribution_thread *find(
	const struct gmt_backward_attribution *backward_attribution, uint32_t thread)
{
	uint64_t index;

	return gmt_map_find(&backward_attribution->thread_ids, thread, &index)
		? &backward_attribution->threads.items[index]
		: NULL;
}

bool gmt_backward_attribution_register_thread(struct gmt_backward_attribution *backward_attribution,
	uint32_t thread, bool is_autograd)
{
	struct gmt_backward_attribution_thread *row = find(backward_attribution, thread);

	if (row)
		return true;
	row = gmt_vec_push(&backward_attribution->threads);
	if (!row ||
		!gmt_map_put(&backward_attribution->thread_ids, thread,
			backward_attribution->threads.count - 1))
		return false;
	*row = (struct gmt_backward_attribution_thread){ .id = thread, .is_autograd = is_autograd };
	return true;
}

bool gmt_backward_attribution_set_stack(struct gmt_backward_attribution *backward_attribution,
	uint32_t thread, uint32_t frames, bool lies_in_call)
{
	struct gmt_backward_attribution_thread *row = find(backward_attribution, thread);
	bool was_in;

	if (!row) {
		if (!lies_in_call)
			return true;
		if (!gmt_backward_attribution_register_thread(backward_attribution, thread, false))
			return false;
		row = find(backward_attribution, thread);
	}
	was_in = row->call;
	row->call = lies_in_call ? frames : 0;
	if (was_in == lies_in_call)
		return true;
	backward_attribution->callers += lies_in_call ? 1 : -1;
	backward_attribution->caller_index_sum +=
		(uint64_t)(row - backward_attribution->threads.items) * (lies_in_call ? 1 : -1);
	return true;
}

bool gmt_backward_attribution_is_autograd_thread(
	const struct gmt_backward_attribution *backward_attribution, uint32_t thread)
{
	const struct gmt_backward_attribution_thread *row = find(backward_attribution, thread);

	return row && row->is_autograd;
}

uint32_t gmt_backward_attribution_caller(
	const struct gmt_backward_attribution *backward_attribution)
{
	return backward_attribution->callers == 1
		? backward_attribution->threads.items[backward_attribution->caller_index_sum].call
		: 0;
}

void gmt_backward_attribution_fini(struct gmt_backward_attribution *backward_attribution)
{
	gmt_map_fini(&backward_attribution->thread_ids);
	gmt_vec_fini(&backward_attribution->threads);
}
