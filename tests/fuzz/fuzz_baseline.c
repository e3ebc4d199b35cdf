/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes baselines with any text. A baseline that was read, written and read again must be the
 * same, byte for byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gate/baseline.h"
#include "content.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the text of the baseline, from malloc. */
static char *written(const struct gmt_baseline *baseline)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		abort();
	gmt_baseline_write(baseline, file);
	if (fclose(file))
		abort();
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_baseline baseline = { 0 }, again = { 0 };
	struct gmt_error error = { 0 };
	char *text = (char *)fuzz_copy(data, size);
	enum gmt_status status = gmt_baseline_parse(&baseline, text, "file", &error);

	if (status && (status != GMT_USAGE || !*error.text))
		abort();
	if (!status) {
		char *first = written(&baseline), *second;

		for (size_t i = 0; i < baseline.rows.count; i++) {
			const struct gmt_baseline_row *row = &baseline.rows.items[i];

			if (gmt_baseline_find(&baseline, row->rank, row->layer, row->device, row->key) != row)
				abort();
		}
		if (gmt_baseline_parse(&again, first, "file", &error))
			abort();
		second = written(&again);
		if (strcmp(first, second) != 0)
			abort();
		free(first);
		free(second);
	}
	gmt_baseline_fini(&again);
	gmt_baseline_fini(&baseline);
	free(text);
	return 0;
}
