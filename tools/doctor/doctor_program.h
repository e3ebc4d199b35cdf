/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DOCTOR_DOCTOR_PROGRAM_H
#define GMT_TOOLS_DOCTOR_DOCTOR_PROGRAM_H

/* Which program a command starts in the end: through PATH, the first lines of scripts, and env(1). */

#include <limits.h>
#include <stdbool.h>

enum gmt_program_state {
	GMT_PROGRAM_FOUND,
	GMT_PROGRAM_NOT_FOUND,
	GMT_PROGRAM_NOT_EXECUTABLE,
	GMT_PROGRAM_FOLDER,
	GMT_PROGRAM_ENDLESS, /* scripts that name each other */
};

struct gmt_program {
	enum gmt_program_state state;
	bool is_readable;
	bool loses_environment; /* env -i, or env -u LD_PRELOAD */
	char word[PATH_MAX]; /* as it was named last: what is wrong, when something is */
	char path[PATH_MAX]; /* the program; a link is not followed, because Python's environments depend on that */
	char python[PATH_MAX]; /* a script in front of it that bears Python's name, as pyenv's do; "": none */
	char chain[2048]; /* "train.py, /usr/bin/env, /usr/bin/python3": the steps before it, and it; "": one step */
};

/* `command` is ended by NULL and not empty. */
void gmt_program_find(char *const *command, struct gmt_program *ret_program);

/* Adds to the chain. */
void gmt_program_add_step(struct gmt_program *program, const char *step);

/* Whether a path's last part is one that interpreters of Python have. */
bool gmt_program_is_python(const char *path);

/* The last part of a path. */
const char *gmt_program_name(const char *path);

#endif
