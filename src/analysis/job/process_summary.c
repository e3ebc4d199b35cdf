/* SPDX-License-Identifier: MIT */
#include "analysis/job/process_summary.h"

#include <stdlib.h>
#include <string.h>

uint32_t gmt_job_intern_text(struct gmt_job_store *store, const char *text, size_t length)
{
	uint32_t id;

	/* A forged text may have a NUL in it, which would end it in some places only. */
	return gmt_intern(&store->texts, text, length ? strnlen(text, length) : 0, &id) ? id
																					: UINT32_MAX;
}

const char *gmt_job_text_of(const struct gmt_job_store *store, uint32_t text)
{
	return text < store->texts.entries.count ? gmt_intern_get(&store->texts, text)->bytes : "";
}

uint32_t gmt_job_intern_place(struct gmt_job_store *store, const char *file, size_t file_length,
	const char *function, size_t function_length, uint32_t line)
{
	const struct gmt_job_place place = {
		.file = gmt_job_intern_text(store, file, file_length),
		.function = gmt_job_intern_text(store, function, function_length),
		.line = line,
	};
	uint32_t id;

	return place.file != UINT32_MAX && place.function != UINT32_MAX &&
			gmt_intern(&store->places, &place, sizeof(place), &id)
		? id
		: UINT32_MAX;
}

const struct gmt_job_place *gmt_job_place_of(const struct gmt_job_store *store, uint32_t place)
{
	static const struct gmt_job_place unknown = { UINT32_MAX, UINT32_MAX, 0 };

	return place < store->places.entries.count ? gmt_intern_get(&store->places, place)->bytes
											   : &unknown;
}

static int compare_places(const void *a, const void *b)
{
	const struct gmt_summarized_place *left = a, *right = b;

	if (left->place != right->place)
		return left->place < right->place ? -1 : 1;
	if (left->layer != right->layer)
		return left->layer < right->layer ? -1 : 1;
	return (left->device > right->device) - (left->device < right->device);
}

void gmt_process_summary_sort(struct gmt_process_summary *summary)
{
	if (summary->place_count)
		qsort(summary->places, summary->place_count, sizeof(*summary->places), compare_places);
}

const char *gmt_process_variable(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary, const char *name)
{
	for (uint32_t i = 0; i < summary->variable_count; i++)
		if (strcmp(gmt_job_text_of(store, summary->variables[i].name), name) == 0)
			return gmt_job_text_of(store, summary->variables[i].value);
	return "";
}

void gmt_job_store_fini(struct gmt_job_store *store)
{
	gmt_intern_fini(&store->places);
	gmt_intern_fini(&store->texts);
	gmt_arena_fini(&store->arena);
}
