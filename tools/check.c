/* SPDX-License-Identifier: MIT */
#include "tools/check.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/gate.h"
#include "model/symbols_cache.h"
#include "model/symbols_pool.h"
#include "render/check.h"
#include "tools/input.h"
#include "tools/output.h"
#include "tools/parts.h"
#include "tools/say.h"
#include "tools/work.h"

enum { EXIT_FAILED = 1, EXIT_UNREADABLE = 3 };

/* Returns the exit code of a file that cannot be judged. */
static int judge_file(const char *path, const struct gmt_check_plan *plan, const struct gmt_gate *gate,
	struct gmt_symbols_pool *pool, struct gmt_symbols_cache *cache, struct gmt_verdict *verdict)
{
	struct gmt_parts_options options = {
		.traces = {
			.symbol_directories = plan->options.symbol_paths.items,
			.symbol_directory_count = plan->options.symbol_paths.count,
			.symbols_pool = pool,
			.symbols_cache = cache,
			.owner_rules = &plan->owner_rules,
		},
		.until = UINT64_MAX,
		.leaks = {
			.definitions = plan->limits.definitions, .warmup_steps = plan->limits.warmup_steps,
			.age_steps = plan->limits.age_steps, .age_ns = plan->limits.age_ns,
			.with_libraries = true, /* default_suppressions.def lets them off, and says so */
		},
	};
	struct gmt_parts parts = { 0 };
	struct gmt_site_keys keys = { 0 };
	struct gmt_error error = { 0 };
	int code = gmt_parts_load(path, &options, &parts);
	struct gmt_gate_input input = {
		.snapshot = parts.snapshot, .traces = &parts.traces, .replay = &parts.replay,
		.timeline = &parts.timeline, .history = &parts.history, .leaks = &parts.leaks, .ooms = &parts.ooms,
		.caveats = &parts.caveats, .keys = &keys, .sites = &parts.sites,
	};

	if (!code && (gmt_site_keys_init(&keys, parts.snapshot, &parts.traces, &error) ||
			gmt_gate_judge(verdict, gate, &input, &error)))
		code = gmt_say_failure(&error);
	gmt_site_keys_fini(&keys);
	gmt_parts_fini(&parts);
	gmt_work_say(path);
	return code;
}

/* The folder that holds `.git`, from `folder` upwards; `folder` itself where there is none. From malloc. */
static char *find_root(const char *folder)
{
	char *root = strdup(folder);
	char path[PATH_MAX];
	struct stat info;

	for (size_t length = root ? strlen(root) : 0; length;) {
		snprintf(path, sizeof(path), "%s/.git", root);
		if (stat(path, &info) == 0)
			return root;
		while (length && root[length] != '/')
			length--;
		root[length] = 0;
	}
	free(root);
	return strdup(folder);
}

/* By subject; a list and its items from malloc. NULL: out of memory. */
static char **find_roots(const struct gmt_check_options *options, const struct gmt_verdict *verdict)
{
	char **roots = calloc(verdict->subjects.count + 1, sizeof(*roots));
	char given[PATH_MAX];

	for (size_t i = 0; roots && i < verdict->subjects.count; i++) {
		const char *directory = verdict->subjects.items[i].directory;

		if (!options->source_root)
			roots[i] = find_root(directory);
		else
			roots[i] = strdup(realpath(options->source_root, given) ? given : options->source_root);
	}
	return roots;
}

/* Writes a result to a file of its own; `write` is one of the renderers. */
static int write_file(const char *path, void (*write)(const struct gmt_check_report *, FILE *),
	const struct gmt_check_report *report)
{
	FILE *file = path ? gmt_output_open(path) : NULL;

	if (!path)
		return 0;
	if (!file)
		return EXIT_UNREADABLE;
	write(report, file);
	return gmt_output_close(file, path, 0);
}

static void write_sarif(const struct gmt_check_report *report, FILE *file)
{
	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = 12 };

	gmt_check_sarif(report, &json);
}

/* What GitHub's runner offers, when this runs in one. */
static int write_github(const struct gmt_check_report *report)
{
	const char *actions = getenv("GITHUB_ACTIONS"), *path = getenv("GITHUB_STEP_SUMMARY");
	FILE *file;

	if (!actions || strcmp(actions, "true") != 0)
		return 0;
	gmt_check_annotations(report, stderr);
	if (!path || !*path)
		return 0;
	file = fopen(path, "ae");
	if (!file) {
		gmt_say_warning("%s: %s", path, strerror(errno));
		return 0;
	}
	gmt_check_summary(report, file);
	return gmt_output_close(file, path, 0);
}

/* In one piece or not at all: a half baseline would let anything pass. */
static int write_baseline(struct gmt_baseline *baseline, const char *path)
{
	char real[PATH_MAX], temporary[PATH_MAX + 32];
	const char *target = realpath(path, real) ? real : path;
	FILE *file;
	bool done;

	snprintf(temporary, sizeof(temporary), "%s.%ld.new", target, (long)getpid());
	file = fopen(temporary, "wxe");
	if (!file) {
		gmt_say_error("%s: %s", temporary, strerror(errno));
		return EXIT_UNREADABLE;
	}
	gmt_baseline_sort(baseline, GMT_BASELINE_LARGEST);
	gmt_baseline_write(baseline, file);
	done = !ferror(file) && !fflush(file) && !fsync(fileno(file));
	done &= !fclose(file);
	if (done && !rename(temporary, target))
		return 0;
	gmt_say_error("%s: %s", path, strerror(errno));
	unlink(temporary);
	return EXIT_UNREADABLE;
}

static void write_verdict(const struct gmt_check_report *report, const struct gmt_check_options *options,
	FILE *file)
{
	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = 3 };

	if (options->gen_suppressions)
		gmt_check_suppressions(report, file);
	else if (options->json)
		gmt_check_json(report, &json);
	else
		gmt_check_text(report, file);
}

static int write_all(const struct gmt_check_plan *plan, const struct gmt_verdict *verdict, int code, FILE *file)
{
	const struct gmt_check_options *options = &plan->options;
	char **roots = find_roots(options, verdict);
	struct gmt_check_report report = {
		.verdict = verdict, .suppressions = &plan->suppressions, .baseline = options->baseline,
		.roots = (const char *const *)roots, .exit_code = code,
		.color = gmt_output_color(file, (enum gmt_color)options->color), .frames = options->frames,
	};
	int worst = 0, codes[3];

	write_verdict(&report, options, file);
	codes[0] = write_file(options->junit, gmt_check_junit, &report);
	codes[1] = write_file(options->sarif, write_sarif, &report);
	codes[2] = write_github(&report);
	for (unsigned i = 0; i < 3; i++)
		worst = codes[i] ? codes[i] : worst;
	for (size_t i = 0; roots && i < verdict->subjects.count; i++)
		free(roots[i]);
	free(roots);
	return worst ? worst : code;
}

static void note_unreadable(struct gmt_verdict *verdict, const char *path)
{
	const char **note = gmt_vec_push(&verdict->notes);

	if (note)
		*note = gmt_verdict_line(verdict, "%s could not be read, and is not judged", path);
}

static int accept_baseline(const struct gmt_check_plan *plan, struct gmt_verdict *verdict,
	struct gmt_baseline *found)
{
	for (size_t i = 0; i < verdict->subjects.count; i++)
		if (!verdict->subjects.items[i].complete) {
			gmt_say_error("%s: is incomplete; %s was not written", verdict->subjects.items[i].path,
				plan->options.baseline);
			return GMT_EXIT_INCOMPLETE;
		}
	return write_baseline(found, plan->options.baseline);
}

int gmt_check_files(struct gmt_check_plan *plan, char **paths, size_t count, FILE *file)
{
	bool updates = plan->options.update_baseline, compares = plan->options.baseline && !updates;
	struct gmt_verdict verdict = { 0 };
	struct gmt_baseline found = { 0 };
	struct gmt_gate gate = {
		.limits = &plan->limits, .suppressions = &plan->suppressions,
		.baseline = compares ? &plan->baseline : NULL, .new_baseline = updates ? &found : NULL,
	};
	struct gmt_symbols_pool *pool = gmt_symbols_pool_open();
	struct gmt_symbols_cache *cache = plan->options.no_symbol_cache ? NULL : gmt_symbols_cache_open();
	int unreadable = 0, code;

	for (size_t i = 0; i < count; i++) {
		int answer = judge_file(paths[i], plan, &gate, pool, cache, &verdict);

		if (answer)
			note_unreadable(&verdict, paths[i]);
		unreadable = answer ? answer : unreadable;
	}
	gmt_symbols_cache_close(cache);
	gmt_symbols_pool_close(pool);
	if (compares)
		gmt_gate_note_missing(&verdict, &plan->baseline);
	gmt_verdict_conclude(&verdict);
	code = unreadable ? unreadable : verdict.failed ? EXIT_FAILED :
		verdict.incomplete && plan->options.strict ? GMT_EXIT_INCOMPLETE : 0;
	code = gmt_work_exit_code(code);
	if (verdict.subjects.count)
		code = write_all(plan, &verdict, code, file);
	if (updates && !unreadable) {
		int answer = accept_baseline(plan, &verdict, &found);
		code = answer ? answer : code;
	}
	gmt_baseline_fini(&found);
	gmt_verdict_fini(&verdict);
	gmt_work_say("check");
	return code;
}
