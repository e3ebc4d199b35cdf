/* SPDX-License-Identifier: MIT */
#include "tools/completion/completion.h"

static const char *const actions[] = {
	[GMT_COMPLETE_ANY] = " ",
	[GMT_COMPLETE_FILE] = "_files",
	[GMT_COMPLETE_FOLDER] = "_files -/",
	[GMT_COMPLETE_RECORDING] = "_files -g \"*.gz(-.)\"",
	[GMT_COMPLETE_PROCESS] = "_gpumemtrace_processes",
	[GMT_COMPLETE_VERB] = "_gpumemtrace_verbs",
};

/* Writes text for a place inside '[...]', with escapes for the characters that would end it. */
static void write_meaning(const char *text, FILE *file)
{
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", file);
		else if (*text == '[' || *text == ']' || *text == '\\' || *text == ':')
			fprintf(file, "\\%c", *text);
		else
			putc(*text, file);
}

static void write_action(enum gmt_completion_kind kind, const char *values, FILE *file)
{
	struct gmt_completion_word word;

	if (kind != GMT_COMPLETE_WORD && kind != GMT_COMPLETE_WORDS) {
		fputs(actions[kind], file);
		return;
	}
	fputs(kind == GMT_COMPLETE_WORDS ? "_values -s , word" : "(", file);
	for (bool is_first = true; gmt_completion_next_word(&values, &word); is_first = false)
		fprintf(file, "%s%.*s", is_first && kind == GMT_COMPLETE_WORD ? "" : " ", (int)word.length,
			word.text);
	fputs(kind == GMT_COMPLETE_WORDS ? "" : ")", file);
}

static void write_option(const struct gmt_option_row *row, const char *dashes, const char *name,
	const char *joint, FILE *file)
{
	enum gmt_completion_kind kind = gmt_completion_of_option(row);
	bool is_repeated = row->kind == GMT_OPTION_TEXTS || row->kind == GMT_OPTION_WORDS;

	fprintf(file, "      '%s%s", is_repeated ? "*" : "", dashes);
	for (; *name; name++)
		putc(*name == '_' ? '-' : *name, file);
	fprintf(file, "%s[", joint);
	write_meaning(row->meaning, file);
	putc(']', file);
	if (kind != GMT_COMPLETE_NOTHING) {
		fputs(row->kind == GMT_OPTION_OPTIONAL_TEXT ? "::value:" : ":value:", file);
		write_action(kind, row->values, file);
	}
	fputs("' \\\n", file);
}

static void write_verb(const struct gmt_command *command, FILE *file)
{
	enum gmt_completion_kind operand = gmt_completion_of_operand(command);

	fprintf(file, "  %s)\n    _arguments -s \\\n      '--help[explain the verb]' \\\n",
		command->name);
	for (const struct gmt_option_row *row = command->options; row && row->name; row++) {
		char letter[2] = { row->letter };

		if (!*row->name)
			continue;
		write_option(row, "--", row->name,
			row->kind == GMT_OPTION_FLAG                ? ""
				: row->kind == GMT_OPTION_OPTIONAL_TEXT ? "=-"
														: "=",
			file);
		if (row->letter)
			write_option(row, "-", letter, row->kind == GMT_OPTION_FLAG ? "" : "+", file);
	}
	if (operand == GMT_COMPLETE_COMMAND) {
		fputs("      '(-)1:command:_command_names -e' \\\n      '*::arguments:_normal'\n", file);
	} else if (operand == GMT_COMPLETE_NOTHING) {
		fputs("      ':'\n", file);
	} else {
		fputs("      '*:operand:", file);
		write_action(operand, command->operands, file);
		fputs("'\n", file);
	}
	fputs("    ;;\n", file);
}

void gmt_completion_zsh(FILE *file)
{
	fputs("#compdef gpumemtrace\n"
		  "# zsh completion for gpumemtrace, made by `gpumemtrace completion zsh`\n\n"
		  "_gpumemtrace_processes()\n{\n  local -a processes\n"
		  "  processes=(${(f)\"$(gpumemtrace ps 2>/dev/null | "
		  "awk '$1 ~ /^[0-9]+$/ { print $1 }')\"})\n"
		  "  compadd -a processes\n}\n\n"
		  "_gpumemtrace_verbs()\n{\n  local -a verbs\n  verbs=(\n",
		file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++) {
		fprintf(file, "    '%s:", command->name);
		write_meaning(command->meaning, file);
		fputs("'\n", file);
	}
	fputs("  )\n  _describe verb verbs\n}\n\n"
		  "_gpumemtrace_verb()\n{\n  case $1 in\n",
		file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		write_verb(command, file);
	fputs("  esac\n}\n\n"
		  "_gpumemtrace()\n{\n  local state line\n  typeset -A opt_args\n"
		  "  _arguments -C '--help[list the verbs]' '--version[print the version]' \\\n"
		  "    '--max-memory=-[memory of gpumemtrace]:size: ' "
		  "'--max-work=-[work of gpumemtrace]:number: ' \\\n"
		  "    '1:verb:_gpumemtrace_verbs' '*::arguments:->rest'\n"
		  "  [[ $state == rest ]] && _gpumemtrace_verb $words[1]\n}\n\n"
		  "if [[ $funcstack[1] == _gpumemtrace ]]; then\n  _gpumemtrace \"$@\"\n"
		  "else\n  compdef _gpumemtrace gpumemtrace\nfi\n",
		file);
}
