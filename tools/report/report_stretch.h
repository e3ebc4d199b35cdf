/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_REPORT_STRETCH_H
#define GMT_TOOLS_REPORT_REPORT_STRETCH_H

/*
 * `report --json --from` and `--phase`: reports the numbers of one stretch of a recording, without
 * the other analyses.
 */

#include "tools/pipeline/resolve_stretch.h"
#include "tools/report/report_each.h"

struct gmt_report_stretch {
	struct gmt_stretch_option stretch;
	struct gmt_moment until;
	uint64_t limit; /* maximum number of sites; UINT64_MAX: all */
	const struct gmt_traces_options *traces;
};

/* Returns whether the options can be combined. If not, prints an error. */
bool gmt_report_stretch_check(const struct gmt_stretch_option *stretch,
	const struct gmt_moment *until, bool json);

/* Writes one line of JSON. Returns 0, or an exit code after an error message. */
int gmt_report_stretch(const struct gmt_report_stretch *wanted, const char *path,
	struct gmt_report_each_output *output);

#endif
