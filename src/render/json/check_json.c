/* SPDX-License-Identifier: MIT */
#include "render/check.h"

static void text_or_null(struct gmt_json *json, const char *key, const char *text)
{
	gmt_json_key(json, key);
	gmt_json_text(json, text && *text ? text : NULL);
}

static void write_files(const struct gmt_verdict *verdict, struct gmt_json *json)
{
	gmt_json_key(json, "files");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < verdict->subjects.count; i++) {
		const struct gmt_verdict_subject *subject = &verdict->subjects.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "path", subject->path);
		gmt_json_key_known(json, "rank", subject->rank >= 0, (uint32_t)subject->rank);
		gmt_json_key_u64(json, "pid", subject->pid);
		gmt_json_key_text(json, "host", subject->host);
		gmt_json_key_u64(json, "events", subject->events);
		gmt_json_key(json, "complete");
		gmt_json_bool(json, subject->complete);
		gmt_json_key(json, "failed");
		gmt_json_bool(json, subject->failed);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void write_location(const struct gmt_verdict_check *check, struct gmt_json *json)
{
	gmt_json_key_u64(json, "file", check->subject);
	text_or_null(json, "layer", check->layer ? gmt_layer_name(check->layer) : NULL);
	gmt_json_key(json, "device");
	if (!check->layer || check->device < 0)
		gmt_json_null(json);
	else
		gmt_json_i64(json, check->device);
}

static void write_checks(const struct gmt_verdict *verdict, struct gmt_json *json)
{
	gmt_json_key(json, "checks");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < verdict->checks.count; i++) {
		const struct gmt_verdict_check *check = &verdict->checks.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "rule", gmt_rule_text(check->rule)->id);
		gmt_json_key_text(json, "name", gmt_rule_text(check->rule)->name);
		gmt_json_key_text(json, "state", gmt_check_state_name(check->state));
		write_location(check, json);
		gmt_json_key_double(json, "measured", check->measured);
		gmt_json_key_double(json, "limit", check->limit);
		text_or_null(json, "unit", check->unit);
		gmt_json_key_text(json, "text", check->text);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void write_frame(const struct gmt_verdict_frame *frame, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "kind", frame->is_python ? "python" : "native");
	gmt_json_key_text(json, "function", frame->function);
	text_or_null(json, "file", frame->file);
	gmt_json_key_known(json, "line", frame->line, frame->line);
	text_or_null(json, "module", frame->module);
	gmt_json_end_object(json);
}

static void write_finding(const struct gmt_check_report *report, const struct gmt_finding *finding,
	struct gmt_json *json)
{
	const struct gmt_verdict_check *check = &report->verdict->checks.items[finding->check];

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "rule", gmt_rule_text(check->rule)->id);
	gmt_json_key_text(json, "state", gmt_check_state_name(check->state));
	gmt_json_key_u64(json, "check", finding->check);
	write_location(check, json);
	gmt_json_key_text(json, "title", finding->title);
	text_or_null(json, "definition", finding->definition);
	gmt_json_key_u64(json, "bytes", finding->bytes);
	gmt_json_key_u64(json, "blocks", finding->blocks);
	gmt_json_key_double(json, "bytes_per_step", finding->bytes_per_step);
	gmt_json_key_double(json, "confidence", finding->confidence);
	text_or_null(json, "key", finding->key);
	gmt_json_key_text(json, "hash", gmt_site_key_text(finding->key_hash).text);
	gmt_json_key_texts(json, "evidence", finding->evidence.items, finding->evidence.count);
	gmt_json_key_text(json, "owner", finding->owner);
	gmt_json_key_text(json, "advice", gmt_check_advice(report->verdict, finding));
	gmt_json_key_known(json, "own_frame", finding->frames.count, finding->own_frame);
	gmt_json_key(json, "stack");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < finding->frames.count; i++)
		write_frame(&finding->frames.items[i], json);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

static void write_suppressions(const struct gmt_suppressions *suppressions, struct gmt_json *json)
{
	gmt_json_key(json, "suppressions");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < suppressions->rows.count; i++) {
		const struct gmt_suppression *row = &suppressions->rows.items[i];

		/* Leave out unused built-in suppressions. */
		if (!row->path && !row->used)
			continue;
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "kind", gmt_suppression_kind_name(row->kind));
		gmt_json_key_text(json, "pattern", row->pattern);
		gmt_json_key_text(json, "file", row->path);
		gmt_json_key_known(json, "line", row->path, row->line);
		gmt_json_key_u64(json, "used", row->used);
		gmt_json_key_u64(json, "bytes", row->bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

void gmt_check_json(const struct gmt_check_report *report, struct gmt_json *json)
{
	const struct gmt_verdict *verdict = report->verdict;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.check/1");
	gmt_json_key_text(json, "verdict", verdict->failed ? "failed" : "passed");
	gmt_json_key_u64(json, "exit_code", (uint64_t)report->exit_code);
	gmt_json_key(json, "complete");
	gmt_json_bool(json, !verdict->incomplete);
	gmt_json_key_u64(json, "growth_not_judged", verdict->growth_not_judged);
	gmt_json_key_text(json, "baseline", report->baseline);
	write_files(verdict, json);
	write_checks(verdict, json);
	gmt_json_key(json, "findings");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < verdict->findings.count; i++)
		write_finding(report, &verdict->findings.items[i], json);
	gmt_json_end_array(json);
	write_suppressions(report->suppressions, json);
	gmt_json_key_texts(json, "notes", verdict->notes.items, verdict->notes.count);
	gmt_json_end_object(json);
	fputc('\n', json->file);
}
