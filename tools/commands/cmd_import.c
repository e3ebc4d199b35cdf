/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "tools/import/import_file.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/recordings/standard_input.h"

#define OFFSET_OF(field) offsetof(struct gmt_import_file_options, field)
const struct gmt_option_row gmt_option_rows_import[] = {
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", OFFSET_OF(output),
		"write the recording here (default: the name of the file, with the ending .gmt.gz)" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(force),
		"allow the output to replace a recording or an input file" },
	{ "pid", 0, GMT_OPTION_NUMBER, "PID", OFFSET_OF(pid),
		"take this process of a report of Nsight Systems that has several" },
	{ 0 },
};
#undef OFFSET_OF

int gmt_cmd_import(const struct gmt_command *command, int argc, char **argv)
{
	struct gmt_import_file_options choice = { 0 };
	int code = gmt_options_parse(command, &choice, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!argc || (argc > 1 && choice.output)) {
		gmt_message_error(argc
				? "import: -o names the recording of one file: import each file by itself"
				: "import: no file is given");
		return GMT_EXIT_USAGE;
	}
	for (int i = 0; i < argc; i++)
		if (!choice.output && gmt_standard_input_is(argv[i])) {
			gmt_message_error("import: `-`: it has no name: -o FILE names the recording");
			return GMT_EXIT_USAGE;
		}
	code = 0;
	for (int i = 0; i < argc; i++) {
		int next = gmt_import_file(argv[i], &choice);

		code = code ? code : next;
	}
	return code;
}
