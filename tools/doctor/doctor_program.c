/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "tools/doctor/doctor_program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* the kernel's limits: length of the first line, and 5 scripts */
enum { LINE_BYTES = 256, STEPS = 6, WORDS = 32 };

/*
 * Accepts "python", "python3", "python3.11", "python3.13t", and PyPy, which later reports its
 * implementation.
 */
bool gmt_doctor_program_is_python(const char *path)
{
	const char *name = gmt_text_base_name(path);

	if (strncmp(name, "pypy", 4) == 0)
		return true;
	if (strncmp(name, "python", 6) != 0)
		return false;
	name += 6;
	while (isdigit((unsigned char)*name) || *name == '.')
		name++;
	return !*name || strcmp(name, "t") == 0 || strcmp(name, "d") == 0 || strcmp(name, "-dbg") == 0;
}

static enum gmt_doctor_program_state judge(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return errno == EACCES ? GMT_PROGRAM_NOT_EXECUTABLE : GMT_PROGRAM_NOT_FOUND;
	if (S_ISDIR(status.st_mode))
		return GMT_PROGRAM_IS_FOLDER;
	/* root may access every file, but can execute only a file with an execute bit. */
	return access(path, X_OK) || !(status.st_mode & 0111) ? GMT_PROGRAM_NOT_EXECUTABLE
														  : GMT_PROGRAM_FOUND;
}

/*
 * Searches PATH as execvp does: finds the first executable file, else reports the problem of the
 * first existing file.
 */
static enum gmt_doctor_program_state search(const char *word, char ret_path[PATH_MAX])
{
	const char *folders = getenv("PATH");
	enum gmt_doctor_program_state found = GMT_PROGRAM_NOT_FOUND;
	char candidate[PATH_MAX];

	snprintf(ret_path, PATH_MAX, "%s", word);
	if (strchr(word, '/'))
		return judge(word);
	for (const char *at = folders ? folders : "/bin:/usr/bin"; *word && at;) {
		size_t length = strcspn(at, ":");

		int written = length ? snprintf(candidate, PATH_MAX, "%.*s/%s", (int)length, at, word)
							 : snprintf(candidate, PATH_MAX, "./%s", word);
		/* In a folder that may not be entered, it is not known whether the program exists. */
		enum gmt_doctor_program_state state = written < PATH_MAX && !access(candidate, F_OK)
			? judge(candidate)
			: GMT_PROGRAM_NOT_FOUND;
		if (state == GMT_PROGRAM_FOUND || (state == GMT_PROGRAM_NOT_EXECUTABLE && found != state)) {
			snprintf(ret_path, PATH_MAX, "%s", candidate);
			found = state;
		}
		if (state == GMT_PROGRAM_FOUND)
			return state;
		at = at[length] ? at + length + 1 : NULL;
	}
	return found;
}

/* Reads the first line of a script, without "#!". Returns false if the file is not a script. */
static bool read_script(const char *path, char ret_line[LINE_BYTES], bool *ret_readable)
{
	char head[LINE_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);

	if (fd >= 0)
		close(fd);
	*ret_readable = length >= 0;
	if (length <= 0)
		return false;
	head[length] = 0;
	if (strncmp(head, "#!", 2) == 0) {
		snprintf(ret_line, LINE_BYTES, "%.*s", (int)strcspn(head + 2, "\n"), head + 2);
		return true;
	}
	/* A text file without such a line is started with a shell. */
	snprintf(ret_line, LINE_BYTES, "/bin/sh");
	return !memchr(head, 0, (size_t)length) && strncmp(head, "\177ELF", 4) != 0;
}

static size_t split(char *line, char *ret_words[WORDS])
{
	size_t count = 0;

	for (char *word = strtok(line, " \t"); word && count < WORDS - 1; word = strtok(NULL, " \t"))
		ret_words[count++] = word;
	ret_words[count] = NULL;
	return count;
}

/*
 * Returns the program that env(1) starts with these arguments. NULL: no program, or it is not
 * known.
 */
static const char *program_of_env(char *const *arguments, bool *ret_loses)
{
	for (; *arguments; arguments++) {
		const char *word = *arguments;

		if (strcmp(word, "-i") == 0 || strcmp(word, "-") == 0 ||
			strcmp(word, "--ignore-environment") == 0) {
			*ret_loses = true;
		} else if ((strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0) && arguments[1]) {
			*ret_loses |= strcmp(arguments[1], "LD_PRELOAD") == 0;
			arguments++;
		} else if (strcmp(word, "--unset=LD_PRELOAD") == 0 || strcmp(word, "-uLD_PRELOAD") == 0 ||
			strncmp(word, "LD_PRELOAD=", 11) == 0) {
			*ret_loses = true;
		} else if (word[0] != '-' && !strchr(word, '=')) {
			return word;
		}
	}
	return NULL;
}

void gmt_doctor_program_add_step(struct gmt_doctor_program *program, const char *step)
{
	size_t length = strlen(program->chain);

	snprintf(program->chain + length, sizeof(program->chain) - length, "%s%s", length ? ", " : "",
		step);
}

void gmt_doctor_program_find(char *const *command, struct gmt_doctor_program *ret_program)
{
	struct gmt_doctor_program *program = ret_program;
	char line[LINE_BYTES], copy[LINE_BYTES], *words[WORDS];
	char *const *env_arguments = command + 1; /* arguments of env, if the current step is env */

	memset(program, 0, sizeof(*program));
	snprintf(program->name, sizeof(program->name), "%s", command[0]);
	for (int step = 0; step < STEPS; step++) {
		const char *next = NULL;

		program->state = search(program->name, program->path);
		gmt_doctor_program_add_step(program, program->path);
		if (program->state != GMT_PROGRAM_FOUND)
			return;
		if (read_script(program->path, line, &program->is_readable)) {
			memcpy(copy, line, sizeof(copy));
			if (split(copy, words))
				next = words[0];
			if (!program->python[0] && gmt_doctor_program_is_python(program->path))
				memcpy(program->python, program->path, sizeof(program->python));
			env_arguments = words + 1;
		} else if (strcmp(gmt_text_base_name(program->path), "env") == 0) {
			next = program_of_env(env_arguments, &program->loses_environment);
		}
		if (!next) {
			if (!step)
				program->chain[0] = 0;
			return;
		}
		/* `next` may point into `copy`, which is valid until the next script is read. */
		snprintf(program->name, sizeof(program->name), "%s", next);
	}
	program->state = GMT_PROGRAM_SCRIPT_LOOP;
}
