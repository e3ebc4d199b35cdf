/* SPDX-License-Identifier: MIT */
#include "tools/completion/completion.h"

/* Writes an option name in the form with hyphens. */
static void write_name(const char *name, FILE *file)
{
	for (; *name; name++)
		putc(*name == '_' ? '-' : *name, file);
}

static void write_quoted(const char *text, size_t length, FILE *file)
{
	putc('\'', file);
	for (size_t i = 0; i < length && text[i]; i++)
		fprintf(file, "%s%c", text[i] == '\'' || text[i] == '\\' ? "\\" : "", text[i]);
	putc('\'', file);
}

/* Writes the words as the value of -a. */
static void write_words(const char *values, FILE *file)
{
	struct gmt_completion_word word;
	bool is_first = true;

	fputs(" -a '", file);
	for (; gmt_completion_next_word(&values, &word); is_first = false)
		fprintf(file, "%s%.*s", is_first ? "" : " ", (int)word.length, word.text);
	putc('\'', file);
}

static void write_condition(const struct gmt_command *command, FILE *file)
{
	fprintf(file, "complete -c gpumemtrace -n '__gpumemtrace_verb_is %s'", command->name);
}

/* Same as write_condition, for options: options after the program's name belong to the program. */
static void write_option_condition(const struct gmt_command *command, FILE *file)
{
	bool has_program = gmt_completion_of_operand(command) == GMT_COMPLETE_COMMAND;

	fprintf(file, "complete -c gpumemtrace -n '__gpumemtrace_verb_is %s%s'", command->name,
		has_program ? "; and not __gpumemtrace_program >/dev/null" : "");
}

/* Writes the options whose value may be the next word, in the form with hyphens. */
static void write_valued_options(const struct gmt_command *command, FILE *file)
{
	for (const struct gmt_option_row *row = command->options; row && row->name; row++) {
		if (!*row->name || row->kind == GMT_OPTION_FLAG || row->kind == GMT_OPTION_OPTIONAL_TEXT)
			continue;
		fputs(" --", file);
		write_name(row->name, file);
		if (row->letter)
			fprintf(file, " -%c", row->letter);
	}
}

static void write_option(const struct gmt_command *command, const struct gmt_option_row *row,
	FILE *file)
{
	enum gmt_completion_kind kind = gmt_completion_of_option(row);

	write_option_condition(command, file);
	fputs(" -l ", file);
	write_name(row->name, file);
	if (row->letter)
		fprintf(file, " -s %c", row->letter);
	switch (kind) {
	case GMT_COMPLETE_NOTHING:
		break;
	case GMT_COMPLETE_FILE:
		fputs(row->kind == GMT_OPTION_OPTIONAL_TEXT ? " -F" : " -r -F", file);
		break;
	case GMT_COMPLETE_FOLDER:
		fputs(" -x -a '(__fish_complete_directories)'", file);
		break;
	case GMT_COMPLETE_WORD:
	case GMT_COMPLETE_WORDS:
		fputs(" -x", file);
		if (kind == GMT_COMPLETE_WORD) {
			write_words(row->values, file);
		} else {
			struct gmt_completion_word word;
			const char *values = row->values;

			fputs(" -a '(__fish_append ,", file);
			while (gmt_completion_next_word(&values, &word))
				fprintf(file, " %.*s", (int)word.length, word.text);
			fputs(")'", file);
		}
		break;
	default:
		fputs(" -x", file);
		break;
	}
	fputs(" -d ", file);
	write_quoted(row->meaning, (size_t)-1, file);
	putc('\n', file);
}

static void write_operand(const struct gmt_command *command, FILE *file)
{
	enum gmt_completion_kind kind = gmt_completion_of_operand(command);

	write_condition(command, file);
	switch (kind) {
	case GMT_COMPLETE_COMMAND:
		fputs(" -f -a '(__gpumemtrace_command)'", file);
		break;
	case GMT_COMPLETE_FILE:
		fputs(" -F", file);
		break;
	case GMT_COMPLETE_RECORDING:
		fputs(" -k -f -a '(__fish_complete_suffix .gz)'", file);
		break;
	case GMT_COMPLETE_PROCESS:
		fputs(" -f -a '(__gpumemtrace_processes)'", file);
		break;
	case GMT_COMPLETE_VERB:
		fputs(" -f -a '(__gpumemtrace_verbs)'", file);
		break;
	case GMT_COMPLETE_WORD:
		fputs(" -f", file);
		write_words(command->operands, file);
		break;
	default:
		fputs(" -f", file);
		break;
	}
	putc('\n', file);
}

static const char verb_functions[] =
	"end\n"
	"\n"
	"# The verb is the first word after the name that is no option. Prints its number.\n"
	"function __gpumemtrace_verb\n"
	"    set -l words (commandline -opc)\n"
	"    set -l at 2\n"
	"    while test $at -le (count $words); and string match -q -- '-*' $words[$at]\n"
	"        set at (math $at + 1)\n"
	"    end\n"
	"    echo $at\n"
	"    test $at -le (count $words)\n"
	"end\n"
	"\n"
	"function __gpumemtrace_verb_is\n"
	"    set -l words (commandline -opc)\n"
	"    set -l at (__gpumemtrace_verb); and test $words[$at] = $argv[1]\n"
	"end\n"
	"\n"
	"# Options of the verb whose value may be the next word. "
	"Returns 1 if the verb starts no program.\n"
	"function __gpumemtrace_valued_options\n"
	"    switch $argv[1]\n";

static const char program_functions[] =
	"    case '*'\n"
	"        return 1\n"
	"    end\n"
	"end\n"
	"\n"
	"# Prints the number of the word that names the program to record. "
	"Returns 1 if there is none yet.\n"
	"function __gpumemtrace_program\n"
	"    set -l words (commandline -opc)\n"
	"    set -l at (__gpumemtrace_verb); or return\n"
	"    set -l valued (__gpumemtrace_valued_options $words[$at]); or return\n"
	"    set at (math $at + 1)\n"
	"    while test $at -le (count $words); and string match -q -- '-*' $words[$at]\n"
	"        if test $words[$at] = --\n"
	"            set at (math $at + 1)\n"
	"            break\n"
	"        end\n"
	"        contains -- (string replace -a _ - -- $words[$at]) $valued; "
	"and set at (math $at + 1)\n"
	"        set at (math $at + 1)\n"
	"    end\n"
	"    echo $at\n"
	"    test $at -le (count $words)\n"
	"end\n"
	"\n"
	"# Completes the program to record, or its command line.\n"
	"function __gpumemtrace_command\n"
	"    set -l words (commandline -opc)\n"
	"    set -l line (string escape -- $words[(__gpumemtrace_program)..-1])\n"
	"    complete --do-complete=(string join -- ' ' $line (commandline -ct))\n"
	"end\n"
	"\n"
	"function __gpumemtrace_processes\n"
	"    gpumemtrace ps 2>/dev/null | string match -r '^ *[0-9]+' | string trim\n"
	"end\n"
	"\n"
	"complete -c gpumemtrace -n 'not __gpumemtrace_verb >/dev/null' -f -a '(__gpumemtrace_verbs)'\n"
	"complete -c gpumemtrace -n 'not __gpumemtrace_verb >/dev/null' -l version "
	"-d 'print the version'\n"
	"complete -c gpumemtrace -n 'not __gpumemtrace_program >/dev/null' -l help "
	"-d 'explain the verb'\n";

void gmt_completion_fish(FILE *file)
{
	fputs("# fish completion for gpumemtrace, made by `gpumemtrace completion fish`\n\n"
		  "function __gpumemtrace_verbs\n",
		file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++) {
		fprintf(file, "    printf '%%s\\t%%s\\n' %s ", command->name);
		write_quoted(command->meaning, (size_t)-1, file);
		putc('\n', file);
	}
	fputs(verb_functions, file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++) {
		if (gmt_completion_of_operand(command) != GMT_COMPLETE_COMMAND)
			continue;
		fprintf(file, "    case %s\n        string split ' ' --", command->name);
		fputs(" '", file);
		write_valued_options(command, file);
		fputs("'\n", file);
	}
	fputs(program_functions, file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++) {
		write_operand(command, file);
		for (const struct gmt_option_row *row = command->options; row && row->name; row++)
			if (*row->name)
				write_option(command, row, file);
	}
}
