/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tools/completion/completion.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"

const struct gmt_option_row gmt_option_rows_completion[] = { { 0 } };

static const struct {
	const char *name;
	void (*write)(FILE *file);
} shells[] = {
	{ "bash", gmt_completion_bash },
	{ "zsh", gmt_completion_zsh },
	{ "fish", gmt_completion_fish },
};

int gmt_cmd_completion(const struct gmt_command *command, int argc, char **argv)
{
	int code = gmt_options_parse(command, NULL, false, &argc, argv);

	if (code >= 0)
		return code;
	for (size_t i = 0; argc == 1 && i < sizeof(shells) / sizeof(*shells); i++)
		if (strcmp(argv[0], shells[i].name) == 0) {
			shells[i].write(stdout);
			return 0;
		}
	if (argc == 1)
		gmt_message_error(
			"completion: there is no completion for `%s`, only for bash, zsh and fish", argv[0]);
	else
		gmt_message_error("completion: needs the name of a shell: bash, zsh or fish");
	return GMT_EXIT_USAGE;
}
