/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "reader/stacks/traces.h"

/* How likely the user wrote a frame. The innermost frame of the highest class wins. */
enum ownership {
	OWN_NONE,
	OWN_LEAF,       /* any frame */
	/* an operator of PyTorch: in PyTorch's own threads, the most informative frame */
	OWN_OPERATOR,
	OWN_BACKWARD,   /* the step of a backward pass */
	OWN_NATIVE,     /* native, outside of the system and of frameworks */
	OWN_LINE,       /* the same, with a line */
	OWN_PYTHON,     /* any Python frame */
	OWN_THREAD, /* a thread that PyTorch starts for the program: its other frames add nothing */
	OWN_GENERATED, /* Python without a file: `python -c`, but also code that libraries generate */
	OWN_SCRIPT, /* Python outside of packages and the standard library */
};

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/*
 * Returns whether a file is a header by which a program marks its pools. Such code is compiled into
 * the program, but the user did not write it.
 */
static bool is_of_tools(const char *file)
{
	return ends_with(file, "/gpumemtrace.h") || strstr(file, "/nvtx3/");
}

/* Matches .../lib/python3.11/... */
static bool in_standard_library(const char *file)
{
	const char *at = strstr(file, "/lib/python3");

	return at && strchr(at + strlen("/lib/python3"), '/');
}

/*
 * Returns whether the code is a cell of a notebook. ipykernel calls it
 * TMPDIR/ipykernel_PID/HASH.py, IPython <ipython-input-N-HASH>, and the code below %%time
 * <timed exec>.
 */
static bool is_cell(const char *file)
{
	const char *at = strstr(file, "/ipykernel_");

	if (starts_with(file, "<ipython") || starts_with(file, "<timed "))
		return true;
	if (!at)
		return false;
	at += strlen("/ipykernel_");
	size_t digits = strspn(at, "0123456789");
	return digits && at[digits] == '/';
}

static enum ownership classify_python(const char *file)
{
	if (starts_with(file, "<stdin") || is_cell(file))
		return OWN_SCRIPT;
	if (starts_with(file, "<frozen"))
		return OWN_PYTHON;
	if (*file == '<')
		return OWN_GENERATED;
	if (!*file || strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") ||
		in_standard_library(file) || ends_with(file, "/gpumemtrace.py") ||
		ends_with(file, "/gpumemtrace/__init__.py") || strstr(file, "/gpumemtrace/python/"))
		return OWN_PYTHON;
	return OWN_SCRIPT;
}

bool gmt_traces_is_pin_thread(const struct gmt_traces *traces, const struct gmt_place *place)
{
	return place->kind == GMT_PLACE_PYTHON &&
		strcmp(gmt_traces_string(traces, place->function), "_pin_memory_loop") == 0 &&
		ends_with(gmt_traces_string(traces, place->file), "/torch/utils/data/_utils/pin_memory.py");
}

bool gmt_traces_is_own_file(const char *file)
{
	return classify_python(file) >= OWN_GENERATED;
}

/* Classifies a frame of a framework. */
static enum ownership classify_foreign(const char *function)
{
	if (starts_with(function, "torch::autograd::generated::") && strstr(function, "::apply"))
		return OWN_BACKWARD;
	return starts_with(function, "at::_ops::") ? OWN_OPERATOR : OWN_LEAF;
}

static enum ownership classify_native(const char *function, const char *file, const char *module)
{
	static const char *const foreign[] = {
		"/usr/lib",
		"/usr/lib64",
		"/lib/",
		"/lib64/",
		"/usr/local/cuda",
		"/opt/nvidia",
		"linux-vdso",
	};

	if (!*module || strstr(module, "/site-packages/") || strstr(module, "/dist-packages/"))
		return classify_foreign(function);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (starts_with(module, foreign[i]))
			return OWN_LEAF;
	if (is_of_tools(file))
		return OWN_LEAF;
	return *file && !starts_with(file, "/usr/include/") ? OWN_LINE : OWN_NATIVE;
}

bool gmt_traces_is_own_native(const struct gmt_traces *traces, const struct gmt_place *place)
{
	return classify_native(gmt_traces_string(traces, place->function),
			   gmt_traces_string(traces, place->file),
			   gmt_traces_string(traces, place->module)) >= OWN_NATIVE;
}

uint8_t gmt_traces_ownership(const struct gmt_traces *traces, const struct gmt_place *place)
{
	const char *file = gmt_traces_string(traces, place->file);

	if (gmt_traces_is_pin_thread(traces, place))
		return OWN_THREAD;
	return (uint8_t)(place->kind == GMT_PLACE_PYTHON
			? classify_python(file)
			: classify_native(gmt_traces_string(traces, place->function), file,
				  gmt_traces_string(traces, place->module)));
}

uint32_t gmt_traces_own_line(const struct gmt_traces *traces, uint32_t stack)
{
	uint32_t count, own = 0;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);
	uint8_t best = OWN_NONE;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t class = traces->place_ownership.items[places[i]];

		/* Operators call operators. The outermost is the operator that the program called. */
		if (class > best || (class == best && class == OWN_OPERATOR)) {
			best = class;
			own = i;
		}
	}
	return own;
}
