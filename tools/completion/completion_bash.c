/* SPDX-License-Identifier: MIT */
#include "tools/completion/completion.h"

/*
 * The part that does not depend on the tables. Readline splits words at '=', so the value of
 * --by=line is the third of three words.
 */
static const char body[] =
	"_gpumemtrace()\n"
	"{\n"
	"  local verb= at option= joint= kind operand word before=${COMP_WORDS[COMP_CWORD-1]}\n"
	"  local current=${COMP_WORDS[COMP_CWORD]}\n"
	"  COMPREPLY=()\n"
	"  for ((at = 1; at < COMP_CWORD; at++)); do\n"
	"    word=${COMP_WORDS[at]}\n"
	"    if [[ $word == --max-* ]]; then\n"
	"      [[ ${COMP_WORDS[at+1]} == = ]] && ((at += 2))\n"
	"    elif [[ $word != -* ]]; then\n"
	"      verb=$word\n"
	"      break\n"
	"    fi\n"
	"  done\n"
	"  if [[ -z $verb ]]; then\n"
	"    COMPREPLY=($(compgen -W \"$(_gpumemtrace_verbs) --help --version\" -- \"$current\"))\n"
	"    return\n"
	"  fi\n"
	"  operand=$(_gpumemtrace_operand \"$verb\")\n"
	"  if [[ $operand == command ]]; then\n"
	"    _gpumemtrace_command \"$verb\" \"$at\" && return\n"
	"  fi\n"
	"  if [[ $current == = ]]; then\n"
	"    option=$before joint== current=\n"
	"  elif [[ $before == = ]]; then\n"
	"    option=${COMP_WORDS[COMP_CWORD-2]} joint==\n"
	"  elif [[ $before == -* ]]; then\n"
	"    option=$before\n"
	"  fi\n"
	"  kind=$(_gpumemtrace_kind \"$verb ${option//_/-}\")\n"
	"  [[ -z $kind && $joint ]] && kind=$(_gpumemtrace_kind \"$verb ${option//_/-}=\")\n"
	"  if [[ -z $kind ]]; then\n"
	"    if [[ $current == -* ]]; then\n"
	"      COMPREPLY=($(compgen -W \"$(_gpumemtrace_options \"$verb\")\" -- \"$current\"))\n"
	"      [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
	"      return\n"
	"    fi\n"
	"    kind=$operand\n"
	"  fi\n"
	"  case $kind in\n"
	"  file) _gpumemtrace_names < <(compgen -f -- \"$current\") ;;\n"
	"  folder) _gpumemtrace_names < <("
	"compgen -d -- \"$current\") ;;\n"
	"  recording)\n"
	"    _gpumemtrace_names < <(compgen -f -X '!*.gz' -- \"$current\"; "
	"compgen -d -- \"$current\") ;;\n"
	"  process)\n"
	"    word=$(gpumemtrace ps 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')\n"
	"    COMPREPLY=($(compgen -W \"$word\" -- \"$current\")) ;;\n"
	"  verb) COMPREPLY=($(compgen -W \"$(_gpumemtrace_verbs)\" -- \"$current\")) ;;\n"
	"  words*)\n"
	"    word=\n"
	"    [[ $current == *,* ]] && word=${current%,*},\n"
	"    COMPREPLY=($(compgen -P \"$word\" -W \"${kind#* }\" -- \"${current##*,}\")) ;;\n"
	"  word*) COMPREPLY=($(compgen -W \"${kind#* }\" -- \"$current\")) ;;\n"
	"  esac\n"
	"}\n"
	"\n"
	"# Offers the names of stdin, one a line: they may have spaces.\n"
	"_gpumemtrace_names()\n"
	"{\n"
	"  compopt -o filenames 2>/dev/null\n"
	"  mapfile -t COMPREPLY\n"
	"}\n"
	"\n"
	"# Completes the program of the verb at word $2, or its command line. "
	"Returns 1 before the program.\n"
	"_gpumemtrace_command()\n"
	"{\n"
	"  local at=$(($2 + 1)) has_dashes= word\n"
	"  while ((at < COMP_CWORD)); do\n"
	"    word=${COMP_WORDS[at]}\n"
	"    case $word in\n"
	"    --) has_dashes=1; ((at++)); break ;;\n"
	"    -*)\n"
	"      if [[ ${COMP_WORDS[at+1]} == = ]]; then\n"
	"        ((at += 3))\n"
	"      elif [[ $(_gpumemtrace_kind \"$1 ${word//_/-}\") ]]; then\n"
	"        ((at += 2))\n"
	"      else\n"
	"        ((at++))\n"
	"      fi ;;\n"
	"    *) break ;;\n"
	"    esac\n"
	"  done\n"
	"  word=${COMP_WORDS[COMP_CWORD]}\n"
	"  if ((at < COMP_CWORD)); then\n"
	"    _gpumemtrace_program \"$at\"\n"
	"  elif ((at > COMP_CWORD)) || [[ $word == -* && -z $has_dashes ]]; then\n"
	"    return 1\n"
	"  else\n"
	"    _gpumemtrace_names < <(compgen -c -- \"$word\")\n"
	"  fi\n"
	"}\n"
	"\n"
	"# Completes the command line that begins at word $1, as the shell would complete it alone.\n"
	"_gpumemtrace_program()\n"
	"{\n"
	"  local function line=$COMP_LINE at\n"
	"  for function in _comp_command_offset _command_offset; do\n"
	"    if declare -F \"$function\" >/dev/null; then\n"
	"      \"$function\" \"$1\"\n"
	"      return 0\n"
	"    fi\n"
	"  done\n"
	"  if [[ $(complete -p -- \"${COMP_WORDS[$1]}\" 2>/dev/null) =~ ' -F '([^ ]+) ]]; then\n"
	"    function=${BASH_REMATCH[1]}\n"
	"    for ((at = 0; at < $1; at++)); do\n"
	"      line=${line#*\"${COMP_WORDS[at]}\"}\n"
	"    done\n"
	"    line=${line#\"${line%%[! ]*}\"}\n"
	"    COMP_POINT=$((COMP_POINT - ${#COMP_LINE} + ${#line})) COMP_LINE=$line\n"
	"    COMP_WORDS=(\"${COMP_WORDS[@]:$1}\") COMP_CWORD=$((COMP_CWORD - $1))\n"
	"    \"$function\" \"${COMP_WORDS[0]}\" \"${COMP_WORDS[COMP_CWORD]}\" "
	"\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
	"  else\n"
	"    _gpumemtrace_names < <(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
	"  fi\n"
	"  return 0\n"
	"}\n"
	"\n"
	"complete -F _gpumemtrace gpumemtrace\n";

static const char *const kind_names[] = {
	[GMT_COMPLETE_ANY] = "any",
	[GMT_COMPLETE_WORD] = "word",
	[GMT_COMPLETE_WORDS] = "words",
	[GMT_COMPLETE_FILE] = "file",
	[GMT_COMPLETE_FOLDER] = "folder",
	[GMT_COMPLETE_RECORDING] = "recording",
	[GMT_COMPLETE_COMMAND] = "command",
	[GMT_COMPLETE_PROCESS] = "process",
	[GMT_COMPLETE_VERB] = "verb",
};

/* Writes an option name in the form with hyphens, which the script compares. */
static void write_name(const char *name, FILE *file)
{
	for (; *name; name++)
		putc(*name == '_' ? '-' : *name, file);
}

/* Writes the kind and the words, as an argument of echo. */
static void write_kind(enum gmt_completion_kind kind, const char *values, FILE *file)
{
	struct gmt_completion_word word;

	fprintf(file, "echo '%s", kind_names[kind]);
	while ((kind == GMT_COMPLETE_WORD || kind == GMT_COMPLETE_WORDS) &&
		gmt_completion_next_word(&values, &word))
		fprintf(file, " %.*s", (int)word.length, word.text);
	fputs("' ;;\n", file);
}

static void write_option_kinds(const struct gmt_command *command, FILE *file)
{
	for (const struct gmt_option_row *row = command->options; row && row->name; row++) {
		enum gmt_completion_kind kind = gmt_completion_of_option(row);

		if (!*row->name || kind == GMT_COMPLETE_NOTHING)
			continue;
		fprintf(file, "  '%s --", command->name);
		write_name(row->name, file);
		if (row->kind == GMT_OPTION_OPTIONAL_TEXT)
			fputs("=", file);
		if (row->letter)
			fprintf(file, "' | '%s -%c", command->name, row->letter);
		fputs("') ", file);
		write_kind(kind, row->values, file);
	}
}

static void write_options(const struct gmt_command *command, FILE *file)
{
	fprintf(file, "  %s) echo '", command->name);
	for (const struct gmt_option_row *row = command->options; row && row->name; row++) {
		if (!*row->name)
			continue;
		fputs("--", file);
		write_name(row->name, file);
		fputs(row->kind == GMT_OPTION_FLAG || row->kind == GMT_OPTION_OPTIONAL_TEXT ? " " : "= ",
			file);
	}
	fputs("--help' ;;\n", file);
}

void gmt_completion_bash(FILE *file)
{
	fputs("# bash completion for gpumemtrace, made by `gpumemtrace completion bash`\n\n"
		  "_gpumemtrace_verbs()\n{\n  echo '",
		file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		fprintf(file, "%s%s", command == gmt_commands ? "" : " ", command->name);
	fputs("'\n}\n\n_gpumemtrace_options()\n{\n  case $1 in\n", file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		write_options(command, file);
	fputs("  esac\n}\n\n"
		  "# The kind of value of an option. With =: of a value that only follows an =.\n"
		  "_gpumemtrace_kind()\n{\n  case $1 in\n",
		file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		write_option_kinds(command, file);
	fputs("  esac\n}\n\n_gpumemtrace_operand()\n{\n  case $1 in\n", file);
	for (const struct gmt_command *command = gmt_commands; command->name; command++) {
		enum gmt_completion_kind kind = gmt_completion_of_operand(command);

		if (kind != GMT_COMPLETE_NOTHING) {
			fprintf(file, "  %s) ", command->name);
			write_kind(kind, command->operands, file);
		}
	}
	fputs("  esac\n}\n\n", file);
	fputs(body, file);
}
