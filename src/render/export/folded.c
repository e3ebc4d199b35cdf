/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, one on each line: "GPU 0;main (train.py:9);step (train.py:31) 1048576". The
 * outermost frame is first. The number is in bytes or blocks.
 */
#include <inttypes.h>

#include "base/budget.h"
#include "render/export/export.h"
#include "render/export/frames.h"

/* flamegraph.pl takes everything up to the last space as the stack. */
static const char separators[] = ";";

static void write_stack(const struct gmt_export *export, uint32_t stack, FILE *file)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(export->traces, stack, &count);

	if (!count)
		fputs(";" GMT_EXPORT_NO_STACK, file);
	for (uint32_t i = count; i-- > 0;) {
		fputc(';', file);
		gmt_export_frame(file, export->traces, places[i], separators);
	}
}

enum gmt_status gmt_export_folded(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	const struct gmt_profile *profile = export->profile;

	(void)error;
	for (size_t i = 0; i < profile->rows.count;) {
		const struct gmt_profile_row *row = &profile->rows.items[i];
		struct gmt_device_text device = gmt_device_text(row->device);
		uint64_t sum = 0;

		for (; i < profile->rows.count && gmt_profile_is_same_stack(&profile->rows.items[i], row);
			i++)
			sum = gmt_saturating_add_u64(sum, profile->rows.items[i].values[export->value]);
		if (!sum)
			continue;
		if (gmt_budget_has_cut_output())
			break;
		fputs(device.text, file);
		if (profile->groups) {
			fputc(';', file);
			gmt_export_line(file, gmt_profile_groups_name(profile->groups, row->group), separators);
		}
		write_stack(export, row->stack, file);
		fprintf(file, " %" PRIu64 "\n", sum);
	}
	return GMT_OK;
}
