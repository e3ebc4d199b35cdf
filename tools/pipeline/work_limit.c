/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/work_limit.h"

#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"

static bool was_reached;

bool gmt_work_limit_set(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	bool is_number = digits && digits < 7 && !text[digits] && strtoul(text, NULL, 10);

	if (!is_number && strcmp(text, "none") != 0)
		return false;
	gmt_budget_set_factor(is_number ? strtoul(text, NULL, 10) : 0);
	return true;
}

void gmt_work_limit_report(const char *path)
{
	for (int part = 0; part < GMT_BUDGET_PARTS; part++)
		if (gmt_budget.left_out >> part & 1)
			gmt_message_warning(
				"%s: %s is not included, because the analysis exceeded the work limit for a file "
				"of this size; `gpumemtrace --max-work=none VERB ...` removes the limit",
				path, gmt_budget_part_text((enum gmt_budget_part)part));
	was_reached |= gmt_budget.left_out;
	gmt_budget.left_out = 0;
}

bool gmt_work_limit_was_reached(void)
{
	return was_reached || gmt_budget.left_out;
}

int gmt_work_limit_exit_code(int code)
{
	return gmt_work_limit_was_reached() && code <= 1 ? GMT_EXIT_INCOMPLETE : code;
}
