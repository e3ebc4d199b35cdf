/* SPDX-License-Identifier: MIT */
/*
 * Checks whether a script uses a framework whose blocks the recorder does not see. Only reads the
 * text of the script.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/allocator/arenas.h"
#include "tools/doctor/doctor.h"

enum { MAX_SCRIPT_BYTES = 1 << 20 };

static const struct framework {
	const char *module, *owner, *visible_if;
} frameworks[] = {
#define GMT_FRAMEWORK(module, owner, visible_if) { module, owner, visible_if },
#include "tools/doctor/doctor_frameworks.def"
#undef GMT_FRAMEWORK
};

enum { FRAMEWORKS = sizeof(frameworks) / sizeof(*frameworks) };

/*
 * Returns the first argument that is a Python file, which is the script for all common ways to
 * start Python.
 */
static const char *script_of(const struct gmt_doctor *doctor)
{
	for (char **argument = doctor->command; argument && *argument; argument++) {
		size_t length = strlen(*argument);

		if (length > 3 && strcmp(*argument + length - 3, ".py") == 0)
			return *argument;
	}
	return NULL;
}

/*
 * Returns the beginning of a file, terminated by a NUL, or NULL if it cannot be read. The caller
 * frees it.
 */
static char *read_beginning(const char *path)
{
	char *text = malloc(MAX_SCRIPT_BYTES + 1);
	FILE *file = text ? fopen(path, "re") : NULL;

	if (file) {
		text[fread(text, 1, MAX_SCRIPT_BYTES, file)] = '\0';
		fclose(file);
		return text;
	}
	free(text);
	return NULL;
}

/* Returns whether a line begins with `import MODULE` or `from MODULE`. */
static bool imports(const char *text, const char *module)
{
	static const char *const words[] = { "import", "from" };
	size_t module_length = strlen(module);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = line + strspn(line, " \t");

		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
			size_t length = strlen(words[i]), blanks;

			if (strncmp(at, words[i], length) != 0 || !(blanks = strspn(at + length, " \t")))
				continue;
			length += blanks;
			if (strncmp(at + length, module, module_length) == 0 &&
				strchr(" \t.,;\r\n", at[length + module_length]))
				return true;
		}
	}
	return false;
}

/* Returns whether the script or the environment has the setting of `visible_if`. */
static bool has_visible_blocks(const struct framework *framework, const char *text)
{
	const char *equals = strchr(framework->visible_if, '='), *value;
	char name[64];

	if (strstr(text, equals ? equals + 1 : framework->visible_if) &&
		(!equals || strstr(text, "environ")))
		return true;
	if (!equals)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(equals - framework->visible_if),
		framework->visible_if);
	value = getenv(name);
	return value && strcmp(value, equals + 1) == 0;
}

void gmt_doctor_arenas(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const char *script = script_of(doctor);
	char *text = script ? read_beginning(script) : NULL;
	const struct framework *used = NULL, *hidden = NULL;

	for (size_t i = 0; text && i < FRAMEWORKS && !hidden; i++) {
		bool is_visible = false;
		size_t last = i;

		if (!imports(text, frameworks[i].module))
			continue;
		used = &frameworks[i];
		for (; last < FRAMEWORKS && strcmp(frameworks[last].module, used->module) == 0; last++)
			is_visible |= has_visible_blocks(&frameworks[last], text);
		if (!is_visible)
			hidden = used;
		i = last - 1;
	}
	free(text);
	if (hidden) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"the script imports %s: the recorder does not see blocks inside %s's arena, "
			"so it finds no leaks there",
			hidden->module, hidden->owner);
		gmt_doctor_finding_advise(finding, "%s", gmt_arenas_setting(hidden->owner));
	} else if (used) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"the script imports %s; the recorder sees its blocks", used->module);
	}
}
