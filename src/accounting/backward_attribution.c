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

/* The whole name, or the last part of a qualified one. */
static bool is_name(struct gmt_slice text, const char *name)
{
	size_t length = strlen(name);

	return ends_with(text, name) && (text.length == length || text.text[text.length - length - 1] == '.');
}

bool gmt_adoption_is_autograd(struct gmt_slice thread_name)
{
	return begins_with(thread_name, "pt_autograd");
}

bool gmt_adoption_is_call(struct gmt_slice file, struct gmt_slice function)
{
	return ends_with(file, "/torch/autograd/__init__.py") &&
		(is_name(function, "backward") || is_name(function, "grad"));
}

static struct gmt_adoption_thread *find(const struct gmt_adoption *adoption, uint32_t thread)
{
	uint64_t index;

	return gmt_map_find(&adoption->thread_ids, thread, &index) ? &adoption->threads.items[index] : NULL;
}

bool gmt_adoption_know(struct gmt_adoption *adoption, uint32_t thread, bool is_autograd)
{
	struct gmt_adoption_thread *row = find(adoption, thread);

	if (row)
		return true;
	row = gmt_vec_push(&adoption->threads);
	if (!row || !gmt_map_put(&adoption->thread_ids, thread, adoption->threads.count - 1))
		return false;
	*row = (struct gmt_adoption_thread){ .id = thread, .is_autograd = is_autograd };
	return true;
}

bool gmt_adoption_note(struct gmt_adoption *adoption, uint32_t thread, uint32_t frames, bool lies_in_call)
{
	struct gmt_adoption_thread *row = find(adoption, thread);
	bool was_in;

	if (!row) {
		if (!lies_in_call)
			return true;
		if (!gmt_adoption_know(adoption, thread, false))
			return false;
		row = find(adoption, thread);
	}
	was_in = row->call;
	row->call = lies_in_call ? frames : 0;
	if (was_in == lies_in_call)
		return true;
	adoption->callers += lies_in_call ? 1 : -1;
	adoption->caller_sum += (uint64_t)(row - adoption->threads.items) * (lies_in_call ? 1 : -1);
	return true;
}

bool gmt_adoption_has(const struct gmt_adoption *adoption, uint32_t thread)
{
	const struct gmt_adoption_thread *row = find(adoption, thread);

	return row && row->is_autograd;
}

uint32_t gmt_adoption_caller(const struct gmt_adoption *adoption)
{
	return adoption->callers == 1 ? adoption->threads.items[adoption->caller_sum].call : 0;
}

void gmt_adoption_fini(struct gmt_adoption *adoption)
{
	gmt_map_fini(&adoption->thread_ids);
	gmt_vec_fini(&adoption->threads);
}
