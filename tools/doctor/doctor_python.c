/* SPDX-License-Identifier: MIT */
/*
 * The Python that a command runs, and its PyTorch. Asks the interpreter; does not import PyTorch.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/doctor/doctor.h"

enum { TIMEOUT_MS = 20000 };

/* Same versions as preload/python/python_layout.def; a test compares them. */
enum { OLDEST_MINOR = 9, NEWEST_MINOR = 15 };

/*
 * Runs in every Python version, also old ones. The current folder is removed from sys.path, so that
 * it cannot replace the standard library.
 */
static const char script[] =
	"import sys\n"
	"if sys.path and sys.path[0] == '': del sys.path[0]\n"
	"def tell(key, value): sys.stdout.write('gmt:%s=%s\\n' % (key, value))\n"
	"tell('version', sys.version.split()[0])\n"
	"tell('implementation', getattr(getattr(sys, 'implementation', None), 'name', 'cpython'))\n"
	"tell('trace_refs', int(hasattr(sys, 'getobjects')))\n"
	"import sysconfig\n"
	"tell('free_threaded', int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))\n"
	"import importlib.metadata, importlib.util, os, re\n"
	"tell('torch', importlib.metadata.version('torch'))\n"
	"place = importlib.util.find_spec('torch').submodule_search_locations[0]\n"
	"with open(os.path.join(place, 'version.py')) as file: text = file.read()\n"
	"for key in 'cuda', 'hip':\n"
	"    found = re.search(r'(?m)^%s\\b[^=\\n]*= *[\\'\"]([^\\'\"]+)' % key, text)\n"
	"    tell('torch_' + key, found.group(1) if found else '')\n";

/* Variables that would change how the interpreter runs the script. */
static const char *const unset[] = { "LD_PRELOAD", "PYTHONSTARTUP", "PYTHONINSPECT", NULL };

static bool is_one(const struct gmt_doctor_subprocess *process, const char *key)
{
	char value[8];

	return gmt_doctor_probe_value(process, key, value, sizeof(value)) && strcmp(value, "1") == 0;
}

/*
 * If the command's Python is a script such as pyenv's, runs it to find out which interpreter it
 * starts. That interpreter becomes the program.
 */
void gmt_doctor_resolve_python(struct gmt_doctor *doctor)
{
	static struct gmt_doctor_subprocess process;
	static const char question[] =
		"import sys; sys.stdout.write('gmt:executable=%s\\n' % sys.executable)";
	const char *argv[] = { doctor->program.python, "-c", question, NULL };
	char path[PATH_MAX];

	if (!doctor->program.python[0] || gmt_doctor_program_is_python(doctor->program.path))
		return;
	gmt_doctor_subprocess_run(doctor->program.python, argv, unset, TIMEOUT_MS, &process);
	if (!gmt_doctor_probe_value(&process, "executable", path, sizeof(path)) || path[0] != '/')
		return;
	memcpy(doctor->program.path, path, sizeof(path));
	gmt_doctor_program_add_step(&doctor->program, path);
}

void gmt_doctor_gather_python(struct gmt_doctor *doctor)
{
	static struct gmt_doctor_subprocess process;
	struct gmt_doctor_python *python = &doctor->python;
	const char *argv[] = { doctor->program.path, "-c", script, NULL };

	if (!doctor->command || doctor->program.state != GMT_PROGRAM_FOUND ||
		!gmt_doctor_program_is_python(doctor->program.path))
		return;
	python->is_python = true;
	if (!doctor->is_loadable)
		return;
	gmt_doctor_subprocess_run(doctor->program.path, argv, unset, TIMEOUT_MS, &process);
	python->has_answered =
		gmt_doctor_probe_value(&process, "version", python->version, sizeof(python->version));
	gmt_doctor_probe_value(&process, "implementation", python->implementation,
		sizeof(python->implementation));
	python->is_free_threaded = is_one(&process, "free_threaded");
	python->has_trace_refs = is_one(&process, "trace_refs");
	gmt_doctor_probe_value(&process, "torch", python->torch, sizeof(python->torch));
	gmt_doctor_probe_value(&process, "torch_cuda", python->torch_cuda, sizeof(python->torch_cuda));
	gmt_doctor_probe_value(&process, "torch_hip", python->torch_hip, sizeof(python->torch_hip));
}

void gmt_doctor_python_version(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_python *python = &doctor->python;
	long major = 0, minor = 0;

	if (!python->is_python || !doctor->is_loadable)
		return;
	if (!python->has_answered) {
		gmt_doctor_finding_set(finding, GMT_FINDING_UNKNOWN, "%.900s -c did not answer",
			doctor->program.path);
		return;
	}
	sscanf(python->version, "%ld.%ld", &major, &minor);
	if (strcmp(python->implementation, "cpython") != 0)
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"%s: the recorder cannot read its frames", python->implementation);
	else if (major != 3 || minor < OLDEST_MINOR || minor > NEWEST_MINOR)
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"Python %s: the recorder cannot read its frames", python->version);
	else if (python->is_free_threaded)
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"Python %s without a GIL: the recorder cannot read its frames", python->version);
	else if (python->has_trace_refs)
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"Python %s that traces references: the recorder cannot read its frames",
			python->version);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "Python %s", python->version);
}

void gmt_doctor_pytorch(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_python *python = &doctor->python;

	if (!python->has_answered)
		return;
	if (!python->torch[0])
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"none in this Python; the recorder records calls of the driver");
	else if (python->torch_cuda[0])
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%s, for CUDA %s", python->torch,
			python->torch_cuda);
	else if (python->torch_hip[0])
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"%s is for ROCm %s: it does not call CUDA", python->torch, python->torch_hip);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING, "%s is built without CUDA",
			python->torch);
}

/* Returns whether the comma-separated `text` (may be NULL) has `key:value`. Spaces are allowed. */
static bool has_setting(const char *text, const char *key, const char *value)
{
	for (const char *at = text; at && *at;) {
		size_t length = strcspn(at, ",");
		size_t start = strspn(at, " \t"), word = strlen(key);

		if (length > start + word && strncmp(at + start, key, word) == 0) {
			const char *colon = at + start + word + strspn(at + start + word, " \t");

			if (*colon == ':') {
				colon += 1 + strspn(colon + 1, " \t");
				if (strncasecmp(colon, value, strlen(value)) == 0)
					return true;
			}
		}
		at += length + (at[length] != 0);
	}
	return false;
}

void gmt_doctor_pytorch_allocator(const struct gmt_doctor *doctor,
	struct gmt_doctor_finding *finding)
{
	const char *name = "PYTORCH_ALLOC_CONF", *settings = getenv(name);
	const char *uncached = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");

	if (!settings) {
		name = "PYTORCH_CUDA_ALLOC_CONF";
		settings = getenv(name);
	}
	if (uncached) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"PYTORCH_NO_CUDA_MEMORY_CACHING is set: "
			"each tensor is a cudaMalloc, so the layer `torch` stays empty");
		gmt_doctor_finding_advise(finding, "unset it to see PyTorch's own blocks");
	} else if (has_setting(settings, "backend", "cudaMallocAsync")) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"%s=%.300s: tensors are blocks of the driver's pool, so the layer `torch` stays empty",
			name, settings);
		gmt_doctor_finding_advise(finding,
			"remove backend:cudaMallocAsync to see PyTorch's own blocks");
	} else if (has_setting(settings, "expandable_segments", "true")) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"%s=%.300s: PyTorch maps segments page by page", name, settings);
	} else if (settings) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%s=%.300s", name, settings);
	} else if (doctor->python.torch[0]) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"its own caching allocator, with default settings");
	}
}
