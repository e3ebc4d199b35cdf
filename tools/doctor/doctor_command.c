/* SPDX-License-Identifier: MIT */
/* The command: which program it starts, and with which rights. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/doctor/doctor.h"

enum { TIMEOUT_MS = 20000 };

static const struct launcher {
	const char *name;
	enum gmt_doctor_finding_state state;
	const char *finding, *remedy;
} launchers[] = {
#define GMT_LAUNCHER(name, state, finding, remedy) { #name, GMT_FINDING_##state, finding, remedy },
#include "tools/doctor/doctor_launchers.def"
#undef GMT_LAUNCHER
};

static const struct launcher *launcher_of(const struct gmt_doctor *doctor)
{
	const char *name = gmt_text_base_name(doctor->command[0]);

	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++)
		if (strcmp(name, launchers[i].name) == 0)
			return &launchers[i];
	return NULL;
}

/*
 * Asks the program's dynamic linker to list the libraries that it would load, as ldd does. This
 * starts no program. The list also shows whether the linker loads the recorder from LD_PRELOAD, and
 * whether its C library is new enough.
 */
static void list_libraries(struct gmt_doctor *doctor)
{
	const char *argv[] = { doctor->elf.interpreter, "--list", doctor->program.path, NULL };
	char value[2 * PATH_MAX];
	const char *const changes[] = { value, NULL };
	char *preload = gmt_recorder_put_first("LD_PRELOAD", doctor->recorder.path);

	if (preload && (size_t)snprintf(value, sizeof(value), "LD_PRELOAD=%s", preload) < sizeof(value))
		gmt_doctor_subprocess_run(doctor->elf.interpreter, argv, changes, TIMEOUT_MS,
			&doctor->listing);
	free(preload);
}

void gmt_doctor_gather_command(struct gmt_doctor *doctor)
{
	const struct gmt_doctor_elf *elf = &doctor->elf;

	if (!doctor->command)
		return;
	gmt_doctor_program_find(doctor->command, &doctor->program);
	if (doctor->program.state != GMT_PROGRAM_FOUND)
		return;

	const struct launcher *launcher = launcher_of(doctor);
	doctor->starts_elsewhere = launcher && launcher->state == GMT_FINDING_PROBLEM;
	if (doctor->starts_elsewhere)
		return;
	gmt_doctor_resolve_python(doctor);
	gmt_doctor_elf_read(doctor->program.path, &doctor->elf);
	doctor->is_loadable = gmt_doctor_accepts_recorder(elf);
	if (doctor->is_loadable && doctor->recorder.is_found)
		list_libraries(doctor);
}

void gmt_doctor_command_found(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_program *program = &doctor->program;

	if (!doctor->command)
		return;
	switch (program->state) {
	case GMT_PROGRAM_FOUND:
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%.900s", program->path);
		return;
	case GMT_PROGRAM_NOT_FOUND:
		if (program->chain[0] && strcmp(program->chain, program->path) != 0) {
			gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.400s does not exist: %.500s",
				program->name, program->chain);
			gmt_doctor_finding_advise(finding,
				"correct the program in the first line of the script");
		} else {
			gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.800s: %s", program->name,
				strchr(program->name, '/') ? "no such file" : "not found in PATH");
		}
		return;
	case GMT_PROGRAM_NOT_EXECUTABLE:
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.900s may not be executed",
			program->path);
		gmt_doctor_finding_advise(finding, "start it with its interpreter, or run chmod +x");
		return;
	case GMT_PROGRAM_IS_FOLDER:
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.900s is a folder", program->path);
		return;
	case GMT_PROGRAM_SCRIPT_LOOP:
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"these scripts name only each other as interpreters, never a program: %.900s",
			program->chain);
		return;
	}
}

void gmt_doctor_command_starts(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_program *program = &doctor->program;

	if (!doctor->command || program->state != GMT_PROGRAM_FOUND)
		return;

	const struct launcher *launcher = launcher_of(doctor);
	if (launcher) {
		gmt_doctor_finding_set(finding, launcher->state, "%s %s", launcher->name,
			launcher->finding);
		gmt_doctor_finding_advise(finding, "%s", launcher->remedy);
	} else if (program->loses_environment) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"env removes LD_PRELOAD from the environment: %.800s", program->chain);
		gmt_doctor_finding_advise(finding,
			"put gpumemtrace run after env, directly before the program");
	} else if (program->chain[0]) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "each starts the next: %.900s",
			program->chain);
	}
}

/*
 * Additional rights apply only if the kernel grants them. Then AT_SECURE is 1 and the dynamic
 * linker ignores LD_PRELOAD.
 */
void gmt_doctor_command_rights(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	struct statvfs system;
	struct stat status;

	if (!gmt_doctor_has_program(doctor) || stat(doctor->program.path, &status))
		return;

	bool sets_user = (status.st_mode & S_ISUID) && status.st_uid != getuid();
	bool sets_group =
		(status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getgid();
	bool has_capabilities =
		getuid() && getxattr(doctor->program.path, "security.capability", NULL, 0) > 0;
	bool are_granted = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
		(statvfs(doctor->program.path, &system) || !(system.f_flag & ST_NOSUID));
	const char *what = sets_user ? "set-uid"
		: sets_group             ? "set-gid"
		: has_capabilities       ? "file capabilities"
								 : NULL;

	if (!what)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"the program has no more rights than its caller");
	else if (!are_granted)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"%s has no effect here (nosuid or no_new_privs)", what);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"%s: the dynamic linker ignores LD_PRELOAD", what);
}
