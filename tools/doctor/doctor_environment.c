/* SPDX-License-Identifier: MIT */
/* The environment variables that concern the dynamic linker, CUDA and the recorder. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/doctor/doctor.h"
#include "options/rank_list.h"
#include "options/recorder_options.h"
#include "system/launcher_rank.h"

enum { LIST_BYTES = 800 };

static const struct preload {
	const char *part;
	enum gmt_doctor_finding_state state;
	const char *meaning, *remedy;
} preloads[] = {
#define GMT_PRELOAD(part, state, meaning, remedy) { part, GMT_FINDING_##state, meaning, remedy },
#include "tools/doctor/doctor_preloads.def"
#undef GMT_PRELOAD
};

/* All complaints about the options, in one line. */
struct complaints {
	char text[LIST_BYTES];
	size_t length;
};

static void add_complaint(void *context, const struct gmt_option_complaint *complaint)
{
	struct complaints *all = context;

	if (all->length < sizeof(all->text))
		all->length += (size_t)snprintf(all->text + all->length, sizeof(all->text) - all->length,
			"%s%s%s%s", all->length ? "; also: " : "", complaint->line,
			*complaint->consequence ? "; " : "", complaint->consequence);
}

void gmt_doctor_options(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const char *options = getenv("GPUMEMTRACE_OPTIONS");
	struct gmt_recorder_settings settings;
	struct complaints complaints = { 0 };

	(void)doctor;
	if (!options || !*options) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"GPUMEMTRACE_OPTIONS is not set; the defaults apply");
		return;
	}
	gmt_recorder_options_read(options, &settings, add_complaint, &complaints);
	if (complaints.length)
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING, "%s", complaints.text);
	else if (!gmt_rank_list_has(gmt_recorder_setting(&settings, GMT_RECORDER_OPTION_ranks),
				 gmt_launcher_rank()))
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"%.900s; rank %" PRId32 " of this process is not in it, so nothing is recorded here",
			options, gmt_launcher_rank());
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%.900s", options);
}

static const struct preload missing = {
	"",
	GMT_FINDING_WARNING,
	"does not exist",
	"remove the missing libraries from it",
};
static const struct preload other_copy = {
	"",
	GMT_FINDING_WARNING,
	"another copy of the recorder",
	"remove the other copy from it",
};

/* Returns what is known about a preloaded file; NULL: nothing relevant. */
static const struct preload *preload_of(const char *path)
{
	const char *name = gmt_text_base_name(path), *asan = getenv("ASAN_OPTIONS");

	if (strcmp(name, "libgpumemtrace.so") == 0)
		return &other_copy;
	if (strchr(path, '/') && access(path, R_OK))
		return &missing;
	for (size_t i = 0; i < sizeof(preloads) / sizeof(*preloads); i++)
		if (strstr(name, preloads[i].part)) {
			bool is_allowed = preloads[i].state == GMT_FINDING_PROBLEM && asan &&
				strstr(asan, "verify_asan_link_order=0");

			return is_allowed ? NULL : &preloads[i];
		}
	return NULL;
}

/* Copies LD_PRELOAD and the content of /etc/ld.so.preload. */
static void read_preloads(char *ret_list, size_t list_bytes)
{
	const char *variable = getenv("LD_PRELOAD");
	size_t length = (size_t)snprintf(ret_list, list_bytes / 2, "%s\n", variable ? variable : "");
	FILE *file = fopen("/etc/ld.so.preload", "re");

	if (length >= list_bytes / 2)
		length = list_bytes / 2 - 1;
	if (file) {
		length += fread(ret_list + length, 1, list_bytes - 1 - length, file);
		fclose(file);
	}
	ret_list[length] = 0;
}

/* Judges all files that are preloaded. The worst file determines the verdict. */
void gmt_doctor_preloads(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	char list[4 * PATH_MAX];
	enum gmt_doctor_finding_state worst = GMT_FINDING_OK;
	char names[LIST_BYTES] = "", path[PATH_MAX];
	const char *remedy = "";
	size_t length = 0;

	read_preloads(list, sizeof(list));
	for (const char *at = list; *at;) {
		size_t word = strcspn(at, ": \t\n");

		snprintf(path, sizeof(path), "%.*s", (int)word, at);
		at += word + (at[word] != 0);
		if (!word || strcmp(path, doctor->recorder.path) == 0)
			continue;

		const struct preload *known = preload_of(path);

		if (length < sizeof(names))
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%.200s%s%s%s",
				length ? "; " : "", path, known ? " (" : "", known ? known->meaning : "",
				known ? ")" : "");
		if (known && known->state > worst) {
			worst = known->state;
			remedy = known->remedy;
		}
	}
	if (!*names) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "only the recorder");
		return;
	}
	gmt_doctor_finding_set(finding, worst, "%s", names);
	if (worst != GMT_FINDING_OK)
		gmt_doctor_finding_advise(finding, "%s", remedy);
}

void gmt_doctor_linker_switches(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const char *audit = getenv("LD_AUDIT");

	(void)doctor;
	if (getauxval(AT_SECURE)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"gpumemtrace itself has more rights than its caller");
		gmt_doctor_finding_advise(finding,
			"remove set-uid, set-gid and capabilities from the file of gpumemtrace");
	} else if (audit && *audit && !strstr(audit, "gpumemtrace")) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"LD_AUDIT=%.500s may redirect calls before the recorder sees them", audit);
		gmt_doctor_finding_advise(finding, "unset LD_AUDIT while recording");
	} else if (audit && *audit) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "LD_AUDIT=%.500s", audit);
	}
}

void gmt_doctor_injections(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const char *cuda = getenv("CUDA_INJECTION64_PATH"), *nvtx = getenv("NVTX_INJECTION64_PATH");

	(void)doctor;
	if (nvtx && strstr(nvtx, "libgpumemtrace.so"))
		nvtx = NULL;
	if (cuda && *cuda)
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"CUDA_INJECTION64_PATH=%.500s: the driver loads a tool that may intercept calls", cuda);
	else if (nvtx && *nvtx)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"NVTX_INJECTION64_PATH=%.500s: the recorder passes NVTX calls on to this library",
			nvtx);
}
