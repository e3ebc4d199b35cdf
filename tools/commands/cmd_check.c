/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/check.h"
#include "tools/options/command.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/newer_recordings.h"
#include "tools/recordings/newest_recording.h"
#include "tools/output/output.h"
#include "tools/pipeline/owner_options.h"
#include "tools/output/message.h"
#include "tools/pipeline/symbol_options.h"

#define AT(field) offsetof(struct gmt_check_options, field)
const struct gmt_option_row gmt_table_check[] = {
#define GMT_LIMIT(NAME, key, value, meaning, ...) \
	{ key, 0, GMT_OPTION_TEXTS, value, AT(limits[GMT_LIMIT_##NAME]), meaning },
#include "analysis/gate/limits.def"
#undef GMT_LIMIT
	{ "limits", 0, GMT_OPTION_TEXT, "FILE", AT(limits_file),
		"read the options above from FILE, with lines such as `max-peak = 18GiB`; "
		"the command line has priority" },
	{ "baseline", 0, GMT_OPTION_TEXT, "FILE", AT(baseline),
		"fail if more memory is held than in the baseline FILE" },
	{ "update-baseline", 0, GMT_OPTION_FLAG, NULL, AT(update_baseline),
		"write FILE of --baseline from these recordings, and do not judge" },
	{ "suppressions", 0, GMT_OPTION_TEXTS, "FILE", AT(suppressions),
		"ignore the findings that FILE lists, with lines such as `leak:function`; may be "
		"repeated" },
	{ "no-default-suppressions", 0, GMT_OPTION_FLAG, NULL, AT(no_default_suppressions),
		"do not use the built-in suppressions for known libraries" },
	{ "gen-suppressions", 0, GMT_OPTION_FLAG, NULL, AT(gen_suppressions),
		"print suppressions for the findings instead of the verdict" },
	{ "strict", 0, GMT_OPTION_FLAG, NULL, AT(strict),
		"exit with 4 if a recording is incomplete, or its growth could not be judged" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, AT(json), "JSON instead of text" },
	{ "junit", 0, GMT_OPTION_TEXT, "FILE", AT(junit), "also write JUnit XML to FILE" },
	{ "sarif", 0, GMT_OPTION_TEXT, "FILE", AT(sarif), "also write SARIF 2.1.0 to FILE" },
	{ "source-root", 0, GMT_OPTION_TEXT, "DIR", AT(source_root),
		"the folder to which paths in SARIF and annotations are relative (default: "
		"the git repository in which the program ran)" },
	GMT_SYMBOLS_OPTIONS(AT(symbol_paths), AT(no_symbol_cache)),
	GMT_OWNERS_OPTION(AT(owners)),
	{ "frames", 0, GMT_OPTION_NUMBER, "N", AT(frames),
		"lines of stack for each finding (default: 8)" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", AT(color),
		"colours (default: on a terminal)" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", AT(output), "write the verdict to FILE" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, AT(force),
		"allow outputs to replace a recording or an input file" },
	{ 0 },
};
#undef AT

int gmt_cmd_check(const struct gmt_command *command, int argc, char **argv)
{
	struct gmt_check_options options = gmt_check_defaults;
	struct gmt_check_plan plan = { 0 };
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_newest_recording_instead("check", &argc, argv))
		return GMT_EXIT_USAGE;
	code = gmt_check_plan_load(&plan, &options);
	if (!code) {
		const struct gmt_output_rules rules = gmt_check_output_rules(&plan, argv, (size_t)argc);
		struct gmt_output *output = gmt_check_may_write(&plan, argv, (size_t)argc)
			? gmt_output_open(options.output, &rules)
			: NULL;

		if (output)
			gmt_newer_recordings_report(argv, (size_t)argc);
		code = output ? gmt_check_files(&plan, argv, (size_t)argc, gmt_output_file(output))
					  : GMT_EXIT_UNREADABLE;
		code = gmt_output_close(output, code);
	}
	gmt_check_plan_fini(&plan);
	return code;
}
