/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DOCTOR_DOCTOR_H
#define GMT_TOOLS_DOCTOR_DOCTOR_H

/*
 * Whether this machine and a command can be recorded. First the facts are gathered, each kind by one function;
 * then each row of doctor_checks.def makes one finding of them. One thread; nothing here changes the system, and
 * the command runs only where the user asked for that.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/doctor/doctor_elf.h"
#include "tools/doctor/doctor_subprocess.h"
#include "tools/doctor/doctor_program.h"
#include "tools/recordings/recorder.h"

enum gmt_verdict {
	GMT_VERDICT_NONE,    /* the question does not arise; not shown */
	GMT_VERDICT_OK,
	GMT_VERDICT_WARNING, /* it can be recorded, with less in it than there could be */
	GMT_VERDICT_PROBLEM, /* nothing will be recorded, or the program will not start */
	GMT_VERDICT_UNKNOWN, /* could not be found out */
	GMT_VERDICTS
};

struct gmt_finding {
	enum gmt_verdict verdict;
	char text[1024];
	char remedy[1024]; /* "": the row's */
};

/* How many devices are asked about. */
enum { GMT_DOCTOR_DEVICES = 64 };

struct gmt_doctor_driver {
	bool is_found, is_late, has_crashed, is_initialized;
	bool is_simulated; /* by the name of its first device */
	char path[PATH_MAX], why[512]; /* why it was not found */
	int result; /* of cuInit */
	uint32_t version; /* 12040 is 12.4; 0 unknown */
	char release[64]; /* "550.54.15", from NVML; "" unknown */
	uint32_t device_count; /* as the driver says; of at most GMT_DOCTOR_DEVICES more is known */
	struct gmt_doctor_device {
		char name[128];
		uint64_t total_bytes;
	} devices[GMT_DOCTOR_DEVICES];
	char nvml[PATH_MAX], nvml_why[512];
};

struct gmt_doctor_recorder {
	bool is_found;
	char path[PATH_MAX], why[GMT_RECORDER_WHY_BYTES], remedy[GMT_RECORDER_WHY_BYTES];
	struct gmt_elf elf;
	bool is_loaded; /* into a process of this program's */
	char complaint[512]; /* of the dynamic linker, when it is not */
	char unwinder[PATH_MAX]; /* "": none */
	char by_name[PATH_MAX], by_driver[PATH_MAX]; /* who answers dlsym and cuGetProcAddress; "": not known */
};

struct gmt_doctor_python {
	bool is_python; /* the command runs one */
	bool is_asked;  /* and that one has answered */
	char version[64], implementation[32];
	bool is_free_threaded, has_trace_refs;
	char torch[64]; /* version; "": not installed */
	char torch_cuda[32], torch_hip[32]; /* "": built without */
};

struct gmt_doctor {
	char **command; /* ended by NULL; NULL: none was given */
	bool run;
	struct gmt_doctor_recorder recorder;
	struct gmt_program program;
	struct gmt_elf elf; /* of the program */
	bool is_elsewhere; /* the command only has another process start the program */
	bool is_loadable; /* as far as its format and its linker tell */
	struct gmt_subprocess listing; /* what its dynamic linker says that it would load */
	struct gmt_doctor_python python;
	struct gmt_doctor_driver driver;
};

/* In this order: later ones build on earlier ones. */
void gmt_doctor_gather_recorder(struct gmt_doctor *doctor);
void gmt_doctor_gather_command(struct gmt_doctor *doctor);
void gmt_doctor_gather_python(struct gmt_doctor *doctor);
void gmt_doctor_gather_driver(struct gmt_doctor *doctor);

/* Where Python's name is a script's: its interpreter becomes doctor->program.path. */
void gmt_doctor_follow_python(struct gmt_doctor *doctor);

/* Whether its machine's own dynamic linker starts it, and that one is glibc's. */
bool gmt_doctor_takes_recorder(const struct gmt_elf *elf);

/* Whether there is a program that starts here, of which the questions about its file make sense. */
bool gmt_doctor_has_program(const struct gmt_doctor *doctor);

#define GMT_CHECK(section, id, question, remedy) \
	void gmt_doctor_##id(const struct gmt_doctor *doctor, struct gmt_finding *finding);
#include "tools/doctor/doctor_checks.def"
#undef GMT_CHECK

/* Sets verdict and text. */
void gmt_find(struct gmt_finding *finding, enum gmt_verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A remedy that fits better than the row's. */
void gmt_advise(struct gmt_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The probes: this program starts itself again with this variable, so that no library of the driver's comes
 * into the process that has to answer. Lines "gmt:key=value" on stdout; returns the exit code.
 */
#define GMT_DOCTOR_PROBE "GPUMEMTRACE_DOCTOR_PROBE"
int gmt_doctor_probe(const char *what);

/* The value of `key` in what a probe wrote; false when it is not there. */
bool gmt_doctor_answer(const struct gmt_subprocess *process, const char *key, char *ret_value, size_t value_bytes);

/* All findings, one for each row of doctor_checks.def, as a person or a program reads them. */
struct gmt_doctor_result {
	const struct gmt_doctor *doctor;
	const struct gmt_finding *findings;
	size_t counts[GMT_VERDICTS];
	bool can_be_recorded;
};

void gmt_doctor_text(const struct gmt_doctor_result *result, FILE *file, bool color);
void gmt_doctor_json(const struct gmt_doctor_result *result, FILE *file);

#endif
