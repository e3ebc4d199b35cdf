/* SPDX-License-Identifier: MIT */
/* Fuzzes limits files with any text. */
#include <stdlib.h>

#include "analysis/gate/limits.h"
#include "content.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_limits limits = gmt_limits_default();
	struct gmt_error error = { 0 };
	char *text = (char *)fuzz_copy(data, size);
	enum gmt_status status = gmt_limits_parse(&limits, text, "file", &error);

	if (status && (status != GMT_USAGE || !*error.text))
		abort();
	/* A share, a percentage and a growth must be numbers within their ranges. */
	if (!(limits.tolerance >= 0) || !(limits.max_growth_bytes >= 0) ||
		limits.max_fragmentation != limits.max_fragmentation)
		abort();
	gmt_limits_fini(&limits);
	free(text);
	return 0;
}
