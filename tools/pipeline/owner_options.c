/* SPDX-License-Identifier: MIT */
#include "tools/output/exit_codes.h"
#include "tools/pipeline/owner_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/recordings/load_input.h"
#include "tools/output/message.h"

int gmt_owner_options_load_rules(const struct gmt_option_texts *paths,
	struct gmt_owner_rules *ret_rules)
{
	struct gmt_error error = { 0 };

	for (size_t i = 0; i < paths->count; i++) {
		char *text = gmt_input_read_text(paths->items[i]);
		enum gmt_status status;

		if (!text) {
			gmt_message_error("%s: %s", paths->items[i], strerror(errno));
			gmt_message_hint("a file for --owners has lines such as `own name library libname*`");
			return GMT_EXIT_USAGE;
		}
		status = gmt_owner_rules_parse(ret_rules, text, paths->items[i], &error);
		free(text);
		if (status)
			return gmt_message_failure(&error);
	}
	return gmt_owner_rules_add_defaults(ret_rules, &error) ? gmt_message_failure(&error) : 0;
}
