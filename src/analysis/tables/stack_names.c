/* SPDX-License-Identifier: MIT */
#include "analysis/tables/stack_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MAX_MODULES = 24 };

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

void gmt_stack_operator(const struct gmt_traces *traces, uint32_t stack, char *ret_name,
	size_t size)
{
	static const char start[] = "at::_ops::", prefix[] = "aten::";
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	*ret_name = '\0';
	/* Outermost first, because operators call operators. */
	for (uint32_t i = count; i-- > 0;) {
		const struct gmt_place *place = gmt_traces_place(traces, places[i]);
		const char *function = gmt_traces_string(traces, place->function);

		if (place->kind != GMT_PLACE_NATIVE || !starts_with(function, start))
			continue;
		function += strlen(start);
		snprintf(ret_name, size, "%s%.*s", prefix,
			(int)gmt_text_cut_length(function, strcspn(function, ":("), size - sizeof(prefix)),
			function);
		return;
	}
}

/*
 * Finds the class of a module's method: "Layer" of "Layer.forward". *ret_length is 0 if the
 * function does not belong to a module.
 */
static const char *module_class(const char *function, size_t *ret_length)
{
	static const char end[] = ".forward";
	size_t length = strlen(function);

	*ret_length = 0;
	if (strcmp(function, "forward") == 0) /* Before Python 3.11, names are not qualified. */
		*ret_length = length;
	else if (length > strlen(end) && strcmp(function + length - strlen(end), end) == 0)
		*ret_length = length - strlen(end);
	return function;
}

/* Writes the innermost `count` modules, outermost first. False: they do not fit. */
static bool join_modules(const struct gmt_traces *traces, const uint32_t *found, uint32_t count,
	char *ret_name, size_t size)
{
	size_t at = 0, length;

	while (count-- > 0) {
		const char *class = module_class(gmt_traces_string(traces,
											 gmt_traces_place(traces, found[count])->function),
			&length);
		/* One long name is cut; several that are too long lose the outer ones. */
		length = gmt_text_cut_length(class, length, size - 1);
		int written =
			snprintf(ret_name + at, size - at, "%s%.*s", at ? " > " : "", (int)length, class);

		if (written < 0 || (size_t)written >= size - at)
			return false;
		at += (size_t)written;
	}
	return true;
}

void gmt_stack_module(const struct gmt_traces *traces, uint32_t stack, char *ret_name, size_t size)
{
	uint32_t count, found[MAX_MODULES], modules = 0;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);
	size_t length;

	*ret_name = '\0';
	for (uint32_t i = 0; i + 1 < count && modules < MAX_MODULES; i++) {
		const struct gmt_place *place = gmt_traces_place(traces, places[i]);

		if (place->kind != GMT_PLACE_PYTHON ||
			!(traces->place_frame_kinds.items[places[i + 1]] & GMT_FRAME_KIND_BIT(MODULE_CALL)))
			continue;
		module_class(gmt_traces_string(traces, place->function), &length);
		if (length)
			found[modules++] = places[i];
	}
	while (modules > 1 && !join_modules(traces, found, modules, ret_name, size))
		modules--;
	if (modules == 1)
		join_modules(traces, found, 1, ret_name, size);
}

/*
 * Returns how well a library fits as the answer. The innermost library of the best class is taken.
 */
static int class_of_library(const char *path, const char *name)
{
	static const char *const below[] = { "libc10", "libcudart", "libcuda.so", "linux-vdso" };
	static const char *const core[] = { "libtorch_cpu", "libtorch_python", "libtorch.so" };

	for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++)
		if (starts_with(name, below[i]))
			return 1;
	if (starts_with(name, "libc.so") || starts_with(name, "libstdc++") ||
		starts_with(name, "libpthread") || starts_with(name, "ld-linux") ||
		strstr(path, "/bin/python"))
		return 2;
	for (size_t i = 0; i < sizeof(core) / sizeof(*core); i++)
		if (starts_with(name, core[i]))
			return 3;
	return 4;
}

void gmt_stack_library(const struct gmt_traces *traces, uint32_t stack, char *ret_name, size_t size)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);
	int best = 0;

	*ret_name = '\0';
	for (uint32_t i = 0; i < count; i++) {
		const struct gmt_place *place = gmt_traces_place(traces, places[i]);
		const char *path = gmt_traces_string(traces, place->module), *slash = strrchr(path, '/');
		const char *name = slash ? slash + 1 : path;
		int class;

		if (place->kind == GMT_PLACE_PYTHON && best)
			break;
		if (place->kind == GMT_PLACE_PYTHON || !*name)
			continue;
		class = class_of_library(path, name);
		if (class > best) {
			best = class;
			gmt_text_copy(ret_name, size, name);
		}
	}
}
