/* SPDX-License-Identifier: MIT */
#include "analysis/recording/function_coverage.h"

#include <stdlib.h>
#include <string.h>

#include "containers/map.h"

static int most_called_first(const void *left, const void *right)
{
	const struct gmt_function_coverage_api *a = left, *b = right;

	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return (a->api->id > b->api->id) - (a->api->id < b->api->id);
}

static int by_name(const void *left, const void *right)
{
	const struct gmt_function_coverage_api *a = left, *b = right;
	int order = strcmp(a->api->library.text, b->api->library.text);

	return order ? order : strcmp(a->api->name.text, b->api->name.text);
}

static int by_name_and_route(const void *left, const void *right)
{
	const struct gmt_unhooked *const *a = left, *const *b = right;
	int order = strcmp((*a)->name.text, (*b)->name.text);

	return order ? order : strcmp((*a)->route.text, (*b)->route.text);
}

/* Takes the last count of each function. Leaves out functions that the file does not name. */
static bool collect_calls(struct gmt_function_coverage *coverage,
	const struct gmt_recording *recording)
{
	struct gmt_map seen = { 0 };
	bool done = true;

	for (size_t i = recording->calls.count; i-- && done;) {
		const struct gmt_calls *row = &recording->calls.items[i];
		const struct gmt_api *api = gmt_recording_api(recording, row->api);
		uint64_t unused;

		if (!api || gmt_map_find(&seen, row->api, &unused))
			continue;
		struct gmt_function_coverage_api counted = { api, row->count }, *to = NULL;

		if (gmt_map_put(&seen, row->api, 1))
			to = row->count ? gmt_vec_push(&coverage->called)
							: gmt_vec_push(&coverage->never_called);
		done = to != NULL;
		if (done)
			*to = counted;
	}
	gmt_map_fini(&seen);
	coverage->has_counts = recording->calls.count != 0;
	coverage->is_whole = coverage->never_called.count != 0;
	return done;
}

/*
 * Removes repeated names. Two exports may have the same readable name, such as two manglings of a
 * function. The function counts as called if either was called.
 */
static void drop_repeated(struct gmt_function_coverage *coverage)
{
	size_t count = 0;

	for (size_t i = 0; i < coverage->never_called.count; i++) {
		const struct gmt_function_coverage_api *row = &coverage->never_called.items[i];
		bool is_repeated = count && by_name(&coverage->never_called.items[count - 1], row) == 0;

		for (size_t j = 0; j < coverage->called.count && !is_repeated; j++)
			is_repeated = by_name(&coverage->called.items[j], row) == 0;
		if (!is_repeated)
			coverage->never_called.items[count++] = *row;
	}
	coverage->never_called.count = count;
}

static const char *role_of(const char *path)
{
	static const struct {
		const char *begins, *role;
	} roles[] = {
		{ "libcuda.so", "driver" },
		{ "libcudart", "runtime" },
		{ "libc10_cuda.so", "allocator" },
		{ "libnvidia-ml.so", "management" },
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (strncmp(name, roles[i].begins, strlen(roles[i].begins)) == 0)
			return roles[i].role;
	return NULL;
}

static bool collect_libraries(struct gmt_function_coverage *coverage,
	const struct gmt_recording *recording)
{
	for (size_t i = 0; i < recording->modules.count; i++) {
		const char *path = recording->modules.items[i].path.text, *role = role_of(path);
		bool is_known = !role;

		/* A library that is loaded again is a new module. */
		for (size_t j = 0; j < coverage->libraries.count && !is_known; j++)
			is_known = strcmp(coverage->libraries.items[j].path, path) == 0;
		if (is_known)
			continue;
		struct gmt_function_coverage_library *library = gmt_vec_push(&coverage->libraries);

		if (!library)
			return false;
		*library = (struct gmt_function_coverage_library){ role, path };
	}
	return true;
}

/* Two threads that look up a name at the same moment may both have recorded it. */
static bool collect_unhooked(struct gmt_function_coverage *coverage,
	const struct gmt_recording *recording)
{
	size_t count = 0;

	for (size_t i = 0; i < recording->unhooked.count; i++) {
		const struct gmt_unhooked **to = gmt_vec_push(&coverage->unhooked);

		if (!to)
			return false;
		*to = &recording->unhooked.items[i];
	}
	if (coverage->unhooked.count)
		qsort(coverage->unhooked.items, coverage->unhooked.count, sizeof(*coverage->unhooked.items),
			by_name_and_route);
	for (size_t i = 0; i < coverage->unhooked.count; i++)
		if (!count ||
			by_name_and_route(&coverage->unhooked.items[count - 1], &coverage->unhooked.items[i]))
			coverage->unhooked.items[count++] = coverage->unhooked.items[i];
	coverage->unhooked.count = count;
	return true;
}

enum gmt_status gmt_function_coverage_compute(struct gmt_function_coverage *ret_coverage,
	const struct gmt_recording *recording, struct gmt_error *error)
{
	if (!collect_calls(ret_coverage, recording) || !collect_libraries(ret_coverage, recording) ||
		!collect_unhooked(ret_coverage, recording)) {
		gmt_function_coverage_fini(ret_coverage);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	if (ret_coverage->called.count)
		qsort(ret_coverage->called.items, ret_coverage->called.count,
			sizeof(*ret_coverage->called.items), most_called_first);
	if (ret_coverage->never_called.count)
		qsort(ret_coverage->never_called.items, ret_coverage->never_called.count,
			sizeof(*ret_coverage->never_called.items), by_name);
	drop_repeated(ret_coverage);
	return GMT_OK;
}

void gmt_function_coverage_fini(struct gmt_function_coverage *coverage)
{
	gmt_vec_fini(&coverage->called);
	gmt_vec_fini(&coverage->never_called);
	gmt_vec_fini(&coverage->libraries);
	gmt_vec_fini(&coverage->unhooked);
}
