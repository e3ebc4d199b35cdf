/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/dump_choice.h"

#include <sys/stat.h>

#include "reader/load/clock.h"
#include "tools/pipeline/dump_members.h"
#include "tools/recordings/input.h"
#include "tools/output/message.h"

int gmt_dump_choice_init(struct gmt_dump_choice *choice, const char *path)
{
	int code = 0;
	struct stat about;

	if (gmt_dump_choice_has_times(choice) && !stat(path, &about) && !S_ISREG(about.st_mode) &&
		!S_ISDIR(about.st_mode)) {
		gmt_message_error("dump: %s must be a file, because --from and --until read it twice",
			path);
		return GMT_EXIT_USAGE;
	}
	if (!choice->needs_all && !gmt_dump_members_find(path, &choice->members))
		return gmt_status_exit_code(GMT_NO_MEMORY);
	if (gmt_dump_choice_has_times(choice)) {
		code = gmt_dump_members_read_clocks(choice, path);
		choice->from = gmt_clock_time_of_option_ns(&choice->clocks, choice->from);
		choice->until = gmt_clock_time_of_option_ns(&choice->clocks, choice->until);
	}
	gmt_dump_members_leave_out(choice);
	return code;
}

void gmt_dump_choice_fini(struct gmt_dump_choice *choice)
{
	gmt_vec_fini(&choice->clocks.clocks);
	gmt_members_fini(&choice->members);
}
