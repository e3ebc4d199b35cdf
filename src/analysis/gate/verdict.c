/* SPDX-License-Identifier: MIT */
#include "analysis/gate/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/tables/short_names.h"
#include "analysis/tables/stack_summary.h"
#include "base/budget.h"
#include "format/format.h"

static const struct gmt_rule_text rules[] = {
#define GMT_RULE(NAME, id, name, meaning, advice, ...) { id, name, meaning, advice },
#include "analysis/gate/rules.def"
#undef GMT_RULE
};

const struct gmt_rule_text *gmt_rule_text(enum gmt_rule rule)
{
	return &rules[rule];
}

const char *gmt_check_state_name(enum gmt_check_state state)
{
	static const char *const names[] = { "passed", "skipped", "warned", "failed" };

	return names[state];
}

const char *gmt_verdict_line(struct gmt_verdict *verdict, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);

	const char *line = gmt_arena_vprint(&verdict->arena, format, arguments);

	va_end(arguments);
	verdict->out_of_memory |= !line;
	return line ? line : "";
}

static const char *copy_text(struct gmt_verdict *verdict, const char *text)
{
	const char *copy = *text ? gmt_arena_copy(&verdict->arena, text, strlen(text)) : "";

	verdict->out_of_memory |= !copy;
	return copy ? copy : "";
}

struct gmt_verdict_check gmt_verdict_empty_check(enum gmt_rule rule, uint32_t subject)
{
	return (struct gmt_verdict_check){
		.rule = rule,
		.subject = subject,
		.device = GMT_DEVICE_UNKNOWN,
		.measured = -1,
		.limit = -1,
		.unit = "",
		.text = "",
	};
}

uint32_t gmt_verdict_add_check(struct gmt_verdict *verdict, struct gmt_verdict_check check)
{
	struct gmt_verdict_check *row = gmt_vec_push(&verdict->checks);

	verdict->out_of_memory |= !row;
	if (!row)
		return 0;
	*row = check;
	return (uint32_t)verdict->checks.count - 1;
}

struct gmt_finding *gmt_verdict_add_finding(struct gmt_verdict *verdict, uint32_t check)
{
	struct gmt_finding *finding = gmt_vec_push(&verdict->findings);

	verdict->out_of_memory |= !finding;
	if (finding)
		*finding = (struct gmt_finding){
			.check = check,
			.title = "",
			.key = "",
			.bytes_per_step = -1,
			.confidence = -1,
			.kind = "",
		};
	return finding;
}

void gmt_verdict_add_evidence(struct gmt_verdict *verdict, struct gmt_finding *finding,
	const char *line)
{
	const char **row = gmt_vec_push(&finding->evidence);

	verdict->out_of_memory |= !row;
	if (row)
		*row = line;
}

const char *gmt_verdict_frame_name(struct gmt_verdict *verdict,
	const struct gmt_recording *recording, const struct gmt_traces *traces, uint32_t place_id)
{
	const struct gmt_place *place = gmt_traces_place(traces, place_id);
	const char *function = gmt_traces_string(traces, place->function);
	const char *file = gmt_traces_string(traces, place->file);
	char name[200];

	if (place->kind == GMT_PLACE_PYTHON)
		return gmt_verdict_line(verdict, "%s:%u in %s",
			*file ? gmt_short_name_of_file(recording, file) : "?", place->line, function);
	gmt_short_name_of_function(function, name, sizeof(name));
	if (*file)
		return gmt_verdict_line(verdict, "%s (%s:%u)", name,
			gmt_short_name_of_file(recording, file), place->line);
	return *name ? copy_text(verdict, name) : "?";
}

static void copy_frame(struct gmt_verdict *verdict, struct gmt_verdict_frame *frame,
	const struct gmt_recording *recording, const struct gmt_traces *traces, uint32_t id)
{
	const struct gmt_place *place = gmt_traces_place(traces, id);
	const char *file = gmt_traces_string(traces, place->file);
	/* BYTES_PER_UNIT: bytes copied in the time of one budget unit, with the memory for them. */
	enum { SHORT_BYTES = 1024, BYTES_PER_UNIT = 32 };
	uint64_t bytes = (uint64_t)gmt_intern_get(&traces->strings, place->function)->length +
		gmt_intern_get(&traces->strings, place->file)->length +
		gmt_intern_get(&traces->strings, place->module)->length;

	/* A hostile file can repeat a long name in each frame of many stacks. */
	if (bytes > SHORT_BYTES && !gmt_budget_spend_work(bytes / BYTES_PER_UNIT, GMT_BUDGET_NAMES)) {
		*frame = (struct gmt_verdict_frame){
			.function = "?",
			.file = "",
			.module = "",
			.name = "?",
			.shown = "",
			.is_python = place->kind == GMT_PLACE_PYTHON,
		};
		return;
	}
	*frame = (struct gmt_verdict_frame){
		.function = copy_text(verdict, gmt_traces_string(traces, place->function)),
		.file = copy_text(verdict, file),
		.module = copy_text(verdict, gmt_traces_string(traces, place->module)),
		.name = gmt_verdict_frame_name(verdict, recording, traces, id),
		.line = place->line,
		.is_python = place->kind == GMT_PLACE_PYTHON,
	};
	frame->shown =
		*frame->file ? frame->file + (gmt_short_name_of_file(recording, file) - file) : "";
}

void gmt_verdict_set_stack(struct gmt_verdict *verdict, struct gmt_finding *finding,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_site_keys *keys, uint32_t stack, uint32_t own_line)
{
	struct gmt_stack_summary summary = { 0 };
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);
	const struct gmt_site_key *key = gmt_site_keys_stack(keys, stack);
	const struct gmt_verdict_check *check = &verdict->checks.items[finding->check];

	finding->key = copy_text(verdict, key->group);
	finding->key_hash = key->hash;
	finding->own_frame = own_line;
	finding->owner = copy_text(verdict,
		gmt_owners_name(&traces->owners,
			gmt_owners_find(&traces->owners, stack, check->layer, check->device)));
	for (uint32_t i = 0; i < count; i++) {
		struct gmt_verdict_frame *frame = gmt_vec_push(&finding->frames);

		verdict->out_of_memory |= !frame;
		if (!frame)
			break;
		copy_frame(verdict, frame, recording, traces, places[i]);
	}
	verdict->out_of_memory |= !gmt_stack_summary_make(&summary, traces, stack);
	for (size_t i = 0; i < summary.lines.count; i++) {
		uint32_t *row = gmt_vec_push(&finding->summary);

		verdict->out_of_memory |= !row;
		if (row)
			*row = summary.lines.items[i].frame;
	}
	gmt_stack_summary_fini(&summary);
}

struct gmt_verdict_memory_name gmt_verdict_memory_name(const struct gmt_verdict_check *check)
{
	struct gmt_verdict_memory_name memory_name = { "" };

	if (!check->layer)
		return memory_name;
	if (check->device == GMT_DEVICE_HOST)
		snprintf(memory_name.text, sizeof(memory_name.text), "host memory");
	else if (check->device < 0)
		snprintf(memory_name.text, sizeof(memory_name.text), "%s on an unknown GPU",
			gmt_layer_name(check->layer));
	else
		snprintf(memory_name.text, sizeof(memory_name.text), "%s on GPU %d",
			gmt_layer_name(check->layer), check->device);
	return memory_name;
}

struct gmt_verdict_file_name gmt_verdict_file_name(const struct gmt_verdict_subject *subject)
{
	struct gmt_verdict_file_name file_name;
	const char *slash = strrchr(subject->path, '/');

	if (subject->rank >= 0)
		snprintf(file_name.text, sizeof(file_name.text), "rank %d", subject->rank);
	else
		snprintf(file_name.text, sizeof(file_name.text), "%.150s",
			slash ? slash + 1 : subject->path);
	return file_name;
}

/* Returns whether another file with steps is of the process that started this file's process. */
static bool is_child_of_another(const struct gmt_verdict *verdict,
	const struct gmt_verdict_subject *child)
{
	for (size_t i = 0; i < verdict->subjects.count; i++) {
		const struct gmt_verdict_subject *parent = &verdict->subjects.items[i];

		if (parent != child && parent->has_steps && parent->pid == child->parent_pid &&
			strcmp(parent->host, child->host) == 0)
			return true;
	}
	return false;
}

void gmt_verdict_conclude(struct gmt_verdict *verdict)
{
	size_t kept = 0;

	for (size_t i = 0; i < verdict->checks.count; i++) {
		struct gmt_verdict_check *check = &verdict->checks.items[i];

		if (check->needs_steps &&
			is_child_of_another(verdict, &verdict->subjects.items[check->subject]))
			check->state = GMT_CHECK_SKIPPED;
		verdict->growth_not_judged +=
			check->rule == GMT_RULE_NOT_JUDGED && check->state == GMT_CHECK_WARNED;
		if (check->state == GMT_CHECK_FAILED) {
			verdict->failed = true;
			verdict->subjects.items[check->subject].failed = true;
		}
	}
	/* Removes the findings of skipped checks. */
	for (size_t i = 0; i < verdict->findings.count; i++) {
		struct gmt_finding *finding = &verdict->findings.items[i];

		if (verdict->checks.items[finding->check].state == GMT_CHECK_SKIPPED) {
			gmt_vec_fini(&finding->evidence);
			gmt_vec_fini(&finding->frames);
			gmt_vec_fini(&finding->summary);
		} else {
			verdict->findings.items[kept++] = *finding;
		}
	}
	verdict->findings.count = kept;
}

void gmt_verdict_fini(struct gmt_verdict *verdict)
{
	for (size_t i = 0; i < verdict->findings.count; i++) {
		struct gmt_finding *finding = &verdict->findings.items[i];

		gmt_vec_fini(&finding->evidence);
		gmt_vec_fini(&finding->frames);
		gmt_vec_fini(&finding->summary);
	}
	gmt_vec_fini(&verdict->findings);
	gmt_vec_fini(&verdict->checks);
	gmt_vec_fini(&verdict->subjects);
	gmt_vec_fini(&verdict->notes);
	gmt_arena_fini(&verdict->arena);
}
