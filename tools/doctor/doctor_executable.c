/* SPDX-License-Identifier: MIT */
/*
 * The program's file: whether a dynamic linker will load the recorder into it, and which libraries
 * it is linked to.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"

static bool is_for_this_machine(const struct gmt_doctor_elf *elf)
{
	return elf->kind == GMT_ELF_NATIVE && elf->machine == gmt_doctor_elf_own_machine();
}

static bool is_musl(const struct gmt_doctor_elf *elf)
{
	return strstr(elf->interpreter, "ld-musl");
}

bool gmt_doctor_accepts_recorder(const struct gmt_doctor_elf *elf)
{
	return is_for_this_machine(elf) && elf->interpreter[0] && !is_musl(elf) &&
		!access(elf->interpreter, X_OK);
}

void gmt_doctor_command_format(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_elf *elf = &doctor->elf;
	char buffer[32], own[32];

	if (!gmt_doctor_has_program(doctor))
		return;
	switch (elf->kind) {
	case GMT_ELF_UNREADABLE:
		gmt_doctor_finding_set(finding, GMT_FINDING_UNKNOWN, "%.900s may be executed but not read",
			doctor->program.path);
		gmt_doctor_finding_advise(finding, "run doctor as a user who may read the program");
		return;
	case GMT_ELF_NONE:
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.900s is not an ELF program",
			doctor->program.path);
		return;
	case GMT_ELF_DAMAGED:
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.900s is incomplete or damaged",
			doctor->program.path);
		return;
	case GMT_ELF_FOREIGN:
	case GMT_ELF_NATIVE:
		break;
	}
	gmt_doctor_elf_machine_name(elf->machine, buffer);
	if (is_for_this_machine(elf))
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%u bits, %s", (unsigned)elf->bits,
			gmt_doctor_elf_machine_name(elf->machine, buffer));
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"%u bits, %s; the recorder and this machine are %s", (unsigned)elf->bits,
			gmt_doctor_elf_machine_name(elf->machine, buffer),
			gmt_doctor_elf_machine_name(gmt_doctor_elf_own_machine(), own));
}

void gmt_doctor_command_linker(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_elf *elf = &doctor->elf;

	if (!gmt_doctor_has_program(doctor) || !is_for_this_machine(elf))
		return;
	if (!elf->interpreter[0]) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"the program is linked statically: LD_PRELOAD has no effect on it");
	} else if (is_musl(elf)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"%s: the program is linked to musl, the recorder to glibc", elf->interpreter);
	} else if (access(elf->interpreter, X_OK)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"%s does not exist: the program does not start", elf->interpreter);
		gmt_doctor_finding_advise(finding, "install the C library that the program is linked with");
	} else {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%s", elf->interpreter);
	}
}

/*
 * Copies the line of the listing that contains `word`, without the surrounding white space. Returns
 * false if there is no such line.
 */
static bool find_line(const char *text, const char *word, char *ret_line, size_t line_bytes)
{
	const char *place = strstr(text, word);

	if (!place)
		return false;
	while (place > text && place[-1] != '\n')
		place--;
	place += strspn(place, " \t");
	snprintf(ret_line, line_bytes, "%.*s", (int)strcspn(place, "\n"), place);
	return true;
}

void gmt_doctor_command_loads(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_subprocess *listing = &doctor->listing;
	char line[512];

	if (!gmt_doctor_has_program(doctor) || !doctor->is_loadable || !doctor->recorder.is_found)
		return;
	if (!listing->is_started || listing->has_timed_out) {
		gmt_doctor_finding_set(finding, GMT_FINDING_UNKNOWN, "%s --list did not answer",
			doctor->elf.interpreter);
		gmt_doctor_finding_advise(finding, "see the output of ldd");
	} else if (find_line(listing->out, "=> not found", line, sizeof(line)) ||
		find_line(listing->err, "error while loading shared libraries", line, sizeof(line))) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"a library is missing, so the program will not start: %s", line);
	} else if (!strstr(listing->out, doctor->recorder.path)) {
		gmt_doctor_subprocess_error_line(listing, "libgpumemtrace.so", line, sizeof(line));
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"the program's dynamic linker does not load the recorder%s%s", *line ? ": " : "", line);
		gmt_doctor_finding_advise(finding,
			"use a build of gpumemtrace for the C library of the program");
	} else if (find_line(listing->out, "not found (required by", line, sizeof(line)) ||
		find_line(listing->err, "not found (required by", line, sizeof(line))) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%s", line);
		gmt_doctor_finding_advise(finding,
			"use a build of gpumemtrace or of the program for this C library");
	} else {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "it finds the recorder and all libraries");
	}
}

void gmt_doctor_command_sanitizer(const struct gmt_doctor *doctor,
	struct gmt_doctor_finding *finding)
{
	const char *name = gmt_doctor_elf_needs(&doctor->elf, "libasan.so"),
			   *options = getenv("ASAN_OPTIONS");

	if (!name)
		name = gmt_doctor_elf_needs(&doctor->elf, "libclang_rt.asan");
	if (!gmt_doctor_has_program(doctor) || !name)
		return;
	if (options && strstr(options, "verify_asan_link_order=0"))
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"%s; ASAN_OPTIONS permits the recorder before it", name);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"%s must be the first library; `run` puts the recorder first, so it would end the "
			"program",
			name);
}

void gmt_doctor_command_cuda(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_elf *elf = &doctor->elf;
	char line[512];

	if (!gmt_doctor_has_program(doctor) || elf->kind != GMT_ELF_NATIVE || !elf->interpreter[0])
		return;

	const char *runtime = gmt_doctor_elf_needs(elf, "libcudart.so"),
			   *driver = gmt_doctor_elf_needs(elf, "libcuda.so");
	if (runtime && driver)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "linked to %s and %s", runtime, driver);
	else if (runtime || driver)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "linked to %s", runtime ? runtime : driver);
	else if (elf->opens_driver)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"with a static CUDA runtime, which opens the driver itself");
	else if (find_line(doctor->listing.out, "libcudart.so", line, sizeof(line)) ||
		find_line(doctor->listing.out, "libcuda.so", line, sizeof(line)))
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "through one of its libraries: %s", line);
	else if (doctor->python.is_python)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"through Python extension modules, which are opened later");
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"not directly; libraries that it opens later and programs that it starts are recorded "
			"too");
}
