/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DOCTOR_DOCTOR_PROGRAM_H
#define GMT_TOOLS_DOCTOR_DOCTOR_PROGRAM_H

/*
 * Finds the program that a command finally starts: through PATH, the first lines of scripts, and
 * env(1).
 */

#include <limits.h>
#include <stdbool.h>

enum gmt_doctor_program_state {
	GMT_PROGRAM_FOUND,
	GMT_PROGRAM_NOT_FOUND,
	GMT_PROGRAM_NOT_EXECUTABLE,
	GMT_PROGRAM_IS_FOLDER,
	GMT_PROGRAM_SCRIPT_LOOP, /* scripts that name each other */
};

struct gmt_doctor_program {
	enum gmt_doctor_program_state state;
	bool is_readable;
	bool loses_environment; /* env -i, or env -u LD_PRELOAD */
	char name[PATH_MAX]; /* the last looked-up name; for a problem, the name that caused it */
	/* the program; links are not resolved, because Python's environments depend on them */
	char path[PATH_MAX];
	/* a script named like Python that starts it, such as pyenv's; "": no script */
	char python[PATH_MAX];
	/* "train.py, /usr/bin/env, /usr/bin/python3": all steps including the program; "": one step */
	char chain[2048];
};

/* Finds the program. `command` is ended by NULL and not empty. */
void gmt_doctor_program_find(char *const *command, struct gmt_doctor_program *ret_program);

void gmt_doctor_program_add_step(struct gmt_doctor_program *program, const char *step);

/* Returns whether the last part of a path is a name of Python interpreters. */
bool gmt_doctor_program_is_python(const char *path);

#endif
