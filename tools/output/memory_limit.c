/* SPDX-License-Identifier: MIT */
#include "tools/output/memory_limit.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/text.h"
#include "options/option_value.h"

static uint64_t limit_bytes;

/*
 * Returns the container's memory limit; UINT64_MAX: no limit. Reads the limits of cgroups of
 * versions 1 and 2, at the paths that a container has.
 */
static uint64_t container_bytes(void)
{
	static const char *const files[] = {
		"/sys/fs/cgroup/memory.max",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes",
	};
	uint64_t least = UINT64_MAX, bytes;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		FILE *file = fopen(files[i], "re");

		if (file && fscanf(file, "%" SCNu64, &bytes) == 1 && bytes < least)
			least = bytes;
		if (file)
			fclose(file);
	}
	return least;
}

/* Returns half of the machine's or the container's memory, or UINT64_MAX if it is not known. */
static uint64_t default_limit(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t all =
		pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
	uint64_t container = container_bytes();

	if (container < all)
		all = container;
	return all == UINT64_MAX ? UINT64_MAX : all / 2;
}

bool gmt_memory_limit_set(const char *text)
{
	limit_bytes = default_limit();
	if (text && (!gmt_option_value_size(text, &limit_bytes) || !limit_bytes))
		return false;
	gmt_pages_set_limit(limit_bytes);
	return true;
}

void gmt_memory_limit_divide(unsigned processes)
{
	if (limit_bytes != UINT64_MAX)
		gmt_pages_set_limit(limit_bytes / processes);
}

const char *gmt_memory_limit_advice(void)
{
	static char advice[192];

	if (!gmt_pages_has_met_limit())
		return "";
	snprintf(advice, sizeof(advice),
		": this needs more than %s; `gpumemtrace --max-memory=SIZE VERB ...` allows more "
		"(the default is half of the memory that this process may use)",
		gmt_text_size(limit_bytes).text);
	return advice;
}
