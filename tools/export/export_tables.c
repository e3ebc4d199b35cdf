/* SPDX-License-Identifier: MIT */
#include "tools/export/export_tables.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "containers/vec.h"
#include "render/export/export.h"
#include "tools/output/message.h"
#include "tools/output/exit_codes.h"

/* Arguments of the Python. The texts are borrowed, or live until the process is replaced. */
struct words {
	GMT_VEC(const char *) items;
	char parallel[32];
	bool is_out_of_memory;
};

static void add(struct words *words, const char *word)
{
	const char **item = gmt_vec_push(&words->items);

	if (item)
		*item = word;
	else
		words->is_out_of_memory = true;
}

/* Adds an option with its value, unless the value is NULL. */
static void add_option(struct words *words, const char *option, const char *value)
{
	if (!value)
		return;
	add(words, option);
	add(words, value);
}

/* Where the Python package is. */
struct package {
	char folder[PATH_MAX]; /* that contains the package */
	char program[PATH_MAX]; /* the folder of this program */
	bool is_wheel; /* the folder also has the other packages of one Python */
};

/* Relative to the program: in a wheel, installed, and in a build folder inside the source tree. */
static const char *const places[] = { "../..", "../share/gpumemtrace/python", "../../python" };

static bool find_package(struct package *ret_package)
{
	ssize_t length =
		readlink("/proc/self/exe", ret_package->program, sizeof(ret_package->program) - 1);
	char *slash;

	ret_package->program[length > 0 ? length : 0] = 0;
	slash = strrchr(ret_package->program, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char folder[PATH_MAX], module[PATH_MAX];

		ret_package->is_wheel = i == 0;
		if ((size_t)snprintf(folder, sizeof(folder), "%s/%s", ret_package->program, places[i]) <
				sizeof(folder) &&
			(size_t)snprintf(module, sizeof(module), "%s/gpumemtrace/__main__.py", folder) <
				sizeof(module) &&
			!access(module, R_OK) && realpath(folder, ret_package->folder))
			return true;
	}
	return false;
}

/*
 * Finds the Python that a wheel was installed for: PREFIX/bin/python3.11 of
 * PREFIX/lib/python3.11/site-packages, or python3.11 of PATH, because packages of one user have
 * another prefix. Writes its path or name.
 */
static void find_python(const struct package *package, char ret_python[PATH_MAX])
{
	char prefix[PATH_MAX];
	char *version, *lib;

	snprintf(ret_python, PATH_MAX, "python3");
	snprintf(prefix, sizeof(prefix), "%s", package->folder);
	if (!package->is_wheel || !strrchr(prefix, '/'))
		return;
	*strrchr(prefix, '/') = 0;
	version = strrchr(prefix, '/');
	if (!version || strncmp(version + 1, "python3", 7) != 0)
		return;
	*version++ = 0;
	lib = strrchr(prefix, '/');
	if (!lib)
		return;
	*lib = 0;
	if ((size_t)snprintf(ret_python, PATH_MAX, "%s/bin/%s", prefix, version) >= PATH_MAX ||
		access(ret_python, X_OK))
		snprintf(ret_python, PATH_MAX, "%s", version);
}

/* Starts the package with the words. Returns an exit code if that fails. */
static int start(const char *python, const struct package *package, const struct words *words)
{
	/* The package finds the program of a build folder by PATH. */
	const char *before = getenv("PATH");
	char *path = NULL;

	if (words->is_out_of_memory ||
		asprintf(&path, "%s%s%s", package->program, before ? ":" : "", before ? before : "") < 0) {
		gmt_message_error("out of memory");
		return GMT_EXIT_UNREADABLE;
	}
	if (!package->is_wheel)
		setenv("PATH", path, 1);
	free(path);
	execvp(python, (char *const *)(uintptr_t)words->items.items);
	gmt_message_error("export: %s: %s: it needs a Python 3.9 or later with pyarrow; --python "
					  "chooses one",
		python, strerror(errno));
	return GMT_EXIT_UNREADABLE;
}

/*
 * What the Python runs. The current folder, which is first in Python's path, may have files with
 * names of modules. The folder of a wheel is in the path of its Python, and last in that of others.
 */
static const char code_of_wheel[] =
	"import sys; del sys.path[:1]; sys.path.append(sys.argv.pop(1)); "
	"from gpumemtrace.__main__ import main; main()";
static const char code[] = "import sys; sys.path[:1] = [sys.argv.pop(1)]; "
						   "from gpumemtrace.__main__ import main; main()";

static void add_partition(struct words *words, uint64_t partition)
{
	static const char *const names[] = { "job", "host", "rank" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (partition >> i & 1)
			add_option(words, "--partition", names[i]);
}

static void add_arguments(struct words *words, const struct gmt_export_options *options, int count,
	char **paths)
{
	add(words, "export");
	add_option(words, "--output", options->output);
	add_option(words, "--format", gmt_export_formats[options->format].name);
	for (size_t i = 0; i < options->tables.count; i++)
		add_option(words, "--table", options->tables.items[i]);
	add_partition(words, options->partition);
	snprintf(words->parallel, sizeof(words->parallel), "%llu",
		(unsigned long long)options->parallel);
	add_option(words, "--parallel", options->parallel ? words->parallel : NULL);
	if (options->strict)
		add(words, "--strict");
	if (options->force)
		add(words, "--force");
	add(words, "--");
	for (int i = 0; i < count; i++)
		add(words, paths[i]);
	add(words, NULL);
}

int gmt_export_tables(const struct gmt_export_options *options, int count, char **paths)
{
	struct package package;
	struct words words = { 0 };
	char found[PATH_MAX];
	const char *python = options->python ? options->python : found;
	int result;

	if (!find_package(&package)) {
		gmt_message_error(
			"export: the Python package of gpumemtrace was not found near %s: install "
			"the wheel, or type `python -m gpumemtrace export`",
			package.program);
		return GMT_EXIT_UNREADABLE;
	}
	find_python(&package, found);
	add(&words, python);
	add(&words, "-c");
	add(&words, package.is_wheel ? code_of_wheel : code);
	add(&words, package.folder);
	add_arguments(&words, options, count, paths);
	result = start(python, &package, &words);
	gmt_vec_fini(&words.items);
	return result;
}
