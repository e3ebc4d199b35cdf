/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DOCTOR_DOCTOR_H
#define GMT_TOOLS_DOCTOR_DOCTOR_H

/*
 * Checks whether this machine and a command can be recorded. First the gmt_doctor_gather functions
 * collect the facts. Then each row of doctor_checks.def derives a finding. Single-threaded. Nothing
 * here changes the system. The command runs only if the user asks for it (--run).
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/doctor/doctor_elf.h"
#include "tools/doctor/doctor_subprocess.h"
#include "tools/doctor/doctor_program.h"
#include "tools/recordings/recorder_setup.h"

enum gmt_doctor_finding_state {
	GMT_FINDING_NONE,    /* the question does not apply; not shown */
	GMT_FINDING_OK,
	GMT_FINDING_WARNING, /* recording works, but the recording will be less complete */
	GMT_FINDING_PROBLEM, /* nothing will be recorded, or the program will not start */
	GMT_FINDING_UNKNOWN, /* could not be determined */
	GMT_FINDING_STATES
};

struct gmt_doctor_finding {
	enum gmt_doctor_finding_state state;
	char text[1024];
	char remedy[1024]; /* "": the remedy of the row applies */
};

/* Maximum number of devices that are queried. */
enum { GMT_DOCTOR_DEVICES = 64 };

struct gmt_doctor_driver {
	bool is_found, has_timed_out, has_crashed, is_initialized;
	bool is_simulated; /* recognized by the name of its first device */
	char path[PATH_MAX], open_error[512]; /* why the library was not found */
	int result; /* result of cuInit */
	uint32_t version; /* 12040 is 12.4; 0: unknown */
	char release[64]; /* "550.54.15", from NVML; "": unknown */
	/* as the driver reports it; details are known for at most GMT_DOCTOR_DEVICES */
	uint32_t device_count;
	struct gmt_doctor_device {
		char name[128];
		uint64_t total_bytes;
	} devices[GMT_DOCTOR_DEVICES];
	char nvml[PATH_MAX], nvml_error[512];
};

struct gmt_doctor_recorder {
	bool is_found;
	char path[PATH_MAX], why[GMT_RECORDER_WHY_BYTES], remedy[GMT_RECORDER_WHY_BYTES];
	bool is_loaded; /* the dynamic linker loaded it into a process of this program */
	char linker_error[512]; /* message of the dynamic linker if it was not loaded */
	char unwinder[PATH_MAX]; /* "": no unwinder */
	/* files whose functions dlsym and cuGetProcAddress return; "": unknown */
	char dlsym_file[PATH_MAX], get_proc_address_file[PATH_MAX];
};

struct gmt_doctor_python {
	bool is_python; /* the command runs Python */
	bool has_answered; /* this Python ran and printed its version */
	char version[64], implementation[32];
	bool is_free_threaded, has_trace_refs;
	char torch[64]; /* version; "": not installed */
	char torch_cuda[32], torch_hip[32]; /* "": built without it */
};

struct gmt_doctor {
	char **command; /* ended by NULL; NULL: no command was given */
	bool run;
	struct gmt_doctor_recorder recorder;
	struct gmt_doctor_program program;
	struct gmt_doctor_elf elf; /* of the program */
	bool starts_elsewhere; /* the command asks another process to start the program */
	bool is_loadable; /* its format and its dynamic linker allow preloading */
	struct gmt_doctor_subprocess listing; /* list of libraries that its dynamic linker would load */
	struct gmt_doctor_python python;
	struct gmt_doctor_driver driver;
};

/*
 * Collect the facts. Call them in this order, because later functions use the results of earlier
 * ones.
 */
void gmt_doctor_gather_recorder(struct gmt_doctor *doctor);
void gmt_doctor_gather_command(struct gmt_doctor *doctor);
void gmt_doctor_gather_python(struct gmt_doctor *doctor);
void gmt_doctor_gather_driver(struct gmt_doctor *doctor);

/*
 * If the command's Python is a script, sets doctor->program.path to the interpreter that the script
 * starts.
 */
void gmt_doctor_resolve_python(struct gmt_doctor *doctor);

/* Returns whether this machine's dynamic linker starts the program and is glibc's. */
bool gmt_doctor_accepts_recorder(const struct gmt_doctor_elf *elf);

/* Returns whether the command starts a program here, so that questions about its file apply. */
bool gmt_doctor_has_program(const struct gmt_doctor *doctor);

#define GMT_DOCTOR_CHECK(section, id, question, remedy) \
	void gmt_doctor_##id(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding);
#include "tools/doctor/doctor_checks.def"
#undef GMT_DOCTOR_CHECK

void gmt_doctor_finding_set(struct gmt_doctor_finding *finding, enum gmt_doctor_finding_state state,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Sets a remedy that fits better than the remedy of the row. */
void gmt_doctor_finding_advise(struct gmt_doctor_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Runs the probe `what` and ends the process. `doctor` starts this program again with the variable
 * GMT_DOCTOR_PROBE, so that the driver's libraries are not loaded into the process that prints the
 * findings. The probe writes lines "gmt:key=value" to stdout.
 */
#define GMT_DOCTOR_PROBE "GPUMEMTRACE_DOCTOR_PROBE"
int gmt_doctor_probe(const char *what);

/* Copies the value of `key` from the output of a probe. Returns false if the key is missing. */
bool gmt_doctor_probe_value(const struct gmt_doctor_subprocess *process, const char *key,
	char *ret_value, size_t value_bytes);

/* All findings, one for each row of doctor_checks.def, for the text and JSON output. */
struct gmt_doctor_result {
	const struct gmt_doctor *doctor;
	const struct gmt_doctor_finding *findings;
	size_t counts[GMT_FINDING_STATES];
	bool can_be_recorded;
};

void gmt_doctor_text(const struct gmt_doctor_result *result, FILE *file, bool color);
void gmt_doctor_json(const struct gmt_doctor_result *result, FILE *file);

#endif
