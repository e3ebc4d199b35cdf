/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/check.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/gate/gate.h"
#include "reader/symbols/symbols_cache.h"
#include "render/check.h"
#include "tools/output/exit_codes.h"
#include "tools/output/output.h"
#include "tools/pipeline/pipeline.h"
#include "tools/pipeline/summarize.h"
#include "tools/output/message.h"
#include "tools/pipeline/work_limit.h"

enum { EXIT_FAILED = 1 };

/* The processes of the judged files, for the rules about a whole job. */
struct job_processes {
	struct gmt_job_store own_store, *store;
	GMT_VEC(struct gmt_process_summary) summaries;
	GMT_VEC(uint32_t) subjects; /* index in the verdict's subjects, for each summary */
};

/* The state while all files are judged. */
struct judging {
	const struct gmt_check_plan *plan;
	const struct gmt_gate *gate;
	struct gmt_symbols_cache *cache;
	struct job_processes job;
};

/* Keeps the summary of a recording for the rules about the job. */
static enum gmt_status keep_process(struct job_processes *job, const struct gmt_pipeline *pipeline,
	const char *path, const struct gmt_verdict *verdict, struct gmt_error *error)
{
	struct gmt_process_summary *summary = gmt_vec_push(&job->summaries);
	uint32_t *subject = summary ? gmt_vec_push(&job->subjects) : NULL;
	enum gmt_status status;

	if (!subject)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	*summary = (struct gmt_process_summary){ 0 };
	*subject = (uint32_t)verdict->subjects.count - 1;
	status = gmt_summarize_pipeline(pipeline, job->store, summary, error);
	summary->path = path;
	return status;
}

/* Judges a recording. Returns the exit code if it cannot be judged, else 0. */
static int judge_file(const char *path, struct judging *judging, struct gmt_verdict *verdict)
{
	const struct gmt_check_plan *plan = judging->plan;
	struct gmt_pipeline_options options = {
		.traces = {
			.symbol_directories = plan->options.symbol_paths.items,
			.symbol_directory_count = plan->options.symbol_paths.count,
			.symbols_cache = judging->cache,
			.owner_rules = &plan->owner_rules,
		},
		.leaks = {
			.definitions = plan->limits.definitions, .warmup_steps = plan->limits.warmup_steps,
			.age_steps = plan->limits.age.steps, .age_ns = plan->limits.age.ns,
			/* default_suppressions.def suppresses known library caches; the verdict names them */
			.with_libraries = true,
		},
		.wants_time_curves = gmt_gate_judges_jobs(&plan->limits),
	};
	struct gmt_pipeline pipeline = { 0 };
	struct gmt_site_keys keys = { 0 };
	struct gmt_error error = { 0 };
	int code = gmt_pipeline_load(path, &options, &pipeline);
	struct gmt_gate_input input = {
		.recording = pipeline.recording,
		.traces = &pipeline.traces,
		.replay = &pipeline.replay,
		.timeline = &pipeline.timeline,
		.history = &pipeline.history,
		.leaks = &pipeline.leaks,
		.ooms = &pipeline.ooms,
		.warnings = &pipeline.warnings,
		.keys = &keys,
		.sites = &pipeline.sites,
	};

	if (!code &&
		(gmt_site_keys_compute(&keys, pipeline.recording, &pipeline.traces, &error) ||
			gmt_gate_judge(verdict, judging->gate, &input, &error) ||
			(options.wants_time_curves &&
				keep_process(&judging->job, &pipeline, path, verdict, &error))))
		code = gmt_message_failure(&error);
	gmt_site_keys_fini(&keys);
	gmt_pipeline_fini(&pipeline);
	gmt_work_limit_report(path);
	return code;
}

/* Judges a summary. Returns an exit code if memory is exhausted, else 0. */
static int judge_summary(const struct gmt_process_summary *summary, struct judging *judging,
	struct gmt_verdict *verdict)
{
	struct job_processes *job = &judging->job;
	struct gmt_error error = { 0 };
	struct gmt_process_summary *kept;
	uint32_t *subject;

	if (gmt_gate_judge_summary(verdict, judging->gate, job->store, summary, &error))
		return gmt_message_failure(&error);
	if (!gmt_gate_judges_jobs(&judging->plan->limits))
		return 0;
	kept = gmt_vec_push(&job->summaries);
	subject = kept ? gmt_vec_push(&job->subjects) : NULL;
	if (!subject) {
		gmt_message_error("out of memory");
		return GMT_EXIT_UNREADABLE;
	}
	*kept = *summary;
	*subject = (uint32_t)verdict->subjects.count - 1;
	return 0;
}

/*
 * Returns the root of the git repository that contains `folder`, or `folder` itself if it is not in
 * a repository. The result comes from malloc.
 */
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

/*
 * Returns the source root of each subject. The list and its items come from malloc. NULL: out of
 * memory.
 */
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

struct gmt_output_rules gmt_check_output_rules(const struct gmt_check_plan *plan, char **paths,
	size_t count)
{
	const struct gmt_check_options *options = &plan->options;

	return (struct gmt_output_rules){
		.inputs = {
			{ (const char *const *)paths, count },
			{ &options->limits_file, 1 },
			/* A baseline that is updated is written, not read. */
			{ &options->baseline, options->update_baseline ? 0 : 1 },
			{ options->suppressions.items, options->suppressions.count },
			{ options->owners.items, options->owners.count },
		},
		.force = options->force,
	};
}

bool gmt_check_may_write(const struct gmt_check_plan *plan, char **paths, size_t count)
{
	const struct gmt_check_options *options = &plan->options;
	const struct gmt_output_rules rules = gmt_check_output_rules(plan, paths, count);
	const char *outputs[] = {
		options->output,
		options->junit,
		options->sarif,
		options->update_baseline ? options->baseline : NULL,
	};
	enum { OUTPUTS = sizeof(outputs) / sizeof(*outputs) };

	for (size_t i = 0; i < OUTPUTS; i++)
		if (outputs[i] && !gmt_output_may_write(outputs[i], &rules))
			return false;
	return gmt_output_paths_differ("check", outputs, OUTPUTS);
}

/* Writes a result to its own file. `write` is one of the renderers. */
static int write_file(const char *path, void (*write)(const struct gmt_check_report *, FILE *),
	const struct gmt_check_report *report, const struct gmt_output_rules *rules)
{
	struct gmt_output *output = path ? gmt_output_open(path, rules) : NULL;

	if (!path)
		return 0;
	if (!output)
		return GMT_EXIT_UNREADABLE;
	write(report, gmt_output_file(output));
	return gmt_output_close(output, 0);
}

static void write_sarif(const struct gmt_check_report *report, FILE *file)
{
	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = 12 };

	gmt_check_sarif(report, &json);
}

/* Writes annotations and the step summary if this process runs in a GitHub runner. */
static int write_github(const struct gmt_check_report *report, const struct gmt_output_rules *rules)
{
	const char *actions = getenv("GITHUB_ACTIONS"), *path = getenv("GITHUB_STEP_SUMMARY");
	char *text = NULL;
	size_t length;
	bool done;
	FILE *file;

	if (!actions || strcmp(actions, "true") != 0)
		return 0;
	gmt_check_annotations(report, stderr);
	if (!path || !*path)
		return 0;
	file = open_memstream(&text, &length);
	if (file)
		gmt_check_summary(report, file);
	done = file && !fclose(file) && gmt_output_append(path, rules, text, length);
	if (!file)
		gmt_message_error("out of memory");
	free(text);
	return done ? 0 : GMT_EXIT_UNREADABLE;
}

static int write_baseline(struct gmt_baseline *baseline, const char *path,
	const struct gmt_output_rules *rules)
{
	struct gmt_output *output = gmt_output_open(path, rules);

	if (!output)
		return GMT_EXIT_UNREADABLE;
	gmt_baseline_sort(baseline, GMT_BASELINE_LARGEST);
	gmt_baseline_write(baseline, gmt_output_file(output));
	return gmt_output_close(output, 0);
}

static void write_verdict(const struct gmt_check_report *report,
	const struct gmt_check_options *options, FILE *file)
{
	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = 3 };

	if (options->gen_suppressions)
		gmt_check_suppressions(report, file);
	else if (options->json)
		gmt_check_json(report, &json);
	else
		gmt_check_text(report, file);
}

static int write_all(const struct gmt_check_plan *plan, const struct gmt_verdict *verdict, int code,
	const struct gmt_output_rules *rules, FILE *file)
{
	const struct gmt_check_options *options = &plan->options;
	char **roots = find_roots(options, verdict);
	struct gmt_check_report report = {
		.verdict = verdict,
		.suppressions = &plan->suppressions,
		.baseline = options->baseline,
		.roots = (const char *const *)roots,
		.exit_code = code,
		.color = gmt_output_enable_color(file, (enum gmt_color)options->color),
		.frames = options->frames,
	};
	int worst = 0, codes[3];

	write_verdict(&report, options, file);
	codes[0] = write_file(options->junit, gmt_check_junit, &report, rules);
	codes[1] = write_file(options->sarif, write_sarif, &report, rules);
	codes[2] = write_github(&report, rules);
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
		*note = gmt_verdict_line(verdict, "%s could not be read and was not judged", path);
}

/* Judges the whole job. Returns 0 or an exit code. */
static int judge_job(struct judging *judging, struct gmt_verdict *verdict)
{
	struct job_processes *job = &judging->job;
	const struct gmt_gate_job input = {
		.store = job->store,
		.summaries = job->summaries.items,
		.subjects = job->subjects.items,
		.count = job->summaries.count,
	};
	struct gmt_error error = { 0 };
	int code = 0;

	if (input.count && gmt_gate_judge_job(verdict, &judging->plan->limits, &input, &error))
		code = gmt_message_failure(&error);
	gmt_vec_fini(&job->summaries);
	gmt_vec_fini(&job->subjects);
	gmt_job_store_fini(&job->own_store);
	return code;
}

static int accept_baseline(const struct gmt_check_plan *plan, struct gmt_verdict *verdict,
	struct gmt_baseline *found, const struct gmt_output_rules *rules)
{
	for (size_t i = 0; i < verdict->subjects.count; i++)
		if (!verdict->subjects.items[i].complete) {
			gmt_message_error("%s: the recording is incomplete; %s was not written",
				verdict->subjects.items[i].path, plan->options.baseline);
			return GMT_EXIT_INCOMPLETE;
		}
	return write_baseline(found, plan->options.baseline, rules);
}

int gmt_check_files(struct gmt_check_plan *plan, const struct gmt_check_input *input, FILE *file)
{
	bool updates = plan->options.update_baseline, compares = plan->options.baseline && !updates;
	const struct gmt_output_rules rules =
		gmt_check_output_rules(plan, input->paths, input->count + input->summary_count);
	struct gmt_verdict verdict = { 0 };
	struct gmt_baseline found = { 0 };
	struct gmt_gate gate = {
		.limits = &plan->limits,
		.suppressions = &plan->suppressions,
		.baseline = compares ? &plan->baseline : NULL,
		.new_baseline = updates ? &found : NULL,
	};
	struct judging judging = {
		.plan = plan,
		.gate = &gate,
		.cache = plan->options.no_symbol_cache ? NULL : gmt_symbols_cache_open(),
	};
	int unreadable = input->unreadable, code;

	judging.job.store = input->store ? input->store : &judging.job.own_store;
	for (size_t i = 0; i < input->count; i++) {
		int answer = judge_file(input->paths[i], &judging, &verdict);

		if (answer)
			note_unreadable(&verdict, input->paths[i]);
		unreadable = answer ? answer : unreadable;
	}
	for (size_t i = 0; i < input->note_count; i++) {
		const char **note = gmt_vec_push(&verdict.notes);

		if (note)
			*note = input->notes[i];
	}
	for (size_t i = 0; i < input->summary_count; i++) {
		code = judge_summary(&input->summaries[i], &judging, &verdict);
		unreadable = code ? code : unreadable;
	}
	gmt_symbols_cache_close(judging.cache);
	code = judge_job(&judging, &verdict);
	unreadable = code ? code : unreadable;
	if (compares)
		gmt_gate_note_missing_layers(&verdict, &plan->baseline);
	gmt_verdict_conclude(&verdict);
	code = unreadable    ? unreadable
		: verdict.failed ? EXIT_FAILED
		: (verdict.incomplete || verdict.growth_not_judged || verdict.not_in_summaries) &&
			plan->options.strict
		? GMT_EXIT_INCOMPLETE
		: 0;
	code = gmt_work_limit_exit_code(code);
	if (verdict.subjects.count)
		code = write_all(plan, &verdict, code, &rules, file);
	if (updates && !unreadable) {
		int answer = accept_baseline(plan, &verdict, &found, &rules);
		code = answer ? answer : code;
	}
	gmt_baseline_fini(&found);
	gmt_verdict_fini(&verdict);
	gmt_work_limit_report("check");
	return code;
}
