/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "render/check.h"

/*
 * SARIF 2.1.0, as GitHub's code scanning reads it. GitHub's limits: 25,000 results in a run, 5,000
 * shown; 10,000 places in a thread flow, 1,000 shown. A finding of several ranks is written once
 * for each rank.
 */
enum { MAX_RESULTS = 1000, MAX_FRAMES = 512 };

static const char schema[] = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
							 "sarif-schema-2.1.0.json";

/* Writes a path as a relative URI. */
static void write_uri(const char *path, struct gmt_json *json)
{
	char uri[3 * 1024 + 1];
	size_t length = 0;

	for (; *path && length + 4 < sizeof(uri); path++) {
		unsigned char byte = (unsigned char)*path;

		if (isalnum(byte) || strchr("-._~/!$&'()*+,;=@", byte))
			uri[length++] = *path;
		else
			length += (size_t)snprintf(uri + length, 4, "%%%02X", byte);
	}
	uri[length] = 0;
	gmt_json_key_text(json, "uri", uri);
}

static void write_message(const char *text, struct gmt_json *json)
{
	gmt_json_key(json, "message");
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "text", text);
	gmt_json_end_object(json);
}

static void write_physical(const char *path, uint32_t line, struct gmt_json *json)
{
	gmt_json_key(json, "physicalLocation");
	gmt_json_begin_object(json);
	gmt_json_key(json, "artifactLocation");
	gmt_json_begin_object(json);
	write_uri(path, json);
	gmt_json_key_text(json, "uriBaseId", "SRCROOT");
	gmt_json_end_object(json);
	if (line) {
		gmt_json_key(json, "region");
		gmt_json_begin_object(json);
		gmt_json_key_u64(json, "startLine", line);
		gmt_json_end_object(json);
	}
	gmt_json_end_object(json);
}

static void write_location(const struct gmt_check_report *report, uint32_t subject,
	const struct gmt_verdict_frame *frame, struct gmt_json *json)
{
	char path[1024];

	gmt_json_key(json, "location");
	gmt_json_begin_object(json);
	if (gmt_check_path(report, subject, frame, path, sizeof(path)))
		write_physical(path, frame->line, json);
	gmt_json_key(json, "logicalLocations");
	gmt_json_begin_array(json);
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "fullyQualifiedName", *frame->function ? frame->function : frame->name);
	gmt_json_key_text(json, "kind", "function");
	gmt_json_end_object(json);
	gmt_json_end_array(json);
	write_message(frame->name, json);
	gmt_json_end_object(json);
}

/* Writes `stacks` leaf first, and the thread flow in the order of the calls. */
static void write_stacks(const struct gmt_check_report *report, const struct gmt_finding *finding,
	uint32_t subject, struct gmt_json *json)
{
	size_t count = finding->frames.count < MAX_FRAMES ? finding->frames.count : MAX_FRAMES;

	gmt_json_key(json, "stacks");
	gmt_json_begin_array(json);
	gmt_json_begin_object(json);
	write_message("allocated by", json);
	gmt_json_key(json, "frames");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < count; i++) {
		const struct gmt_verdict_frame *frame = &finding->frames.items[i];
		const char *slash = strrchr(frame->module, '/');

		gmt_json_begin_object(json);
		write_location(report, subject, frame, json);
		if (*frame->module)
			gmt_json_key_text(json, "module", slash ? slash + 1 : frame->module);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
	gmt_json_end_array(json);
	gmt_json_key(json, "codeFlows");
	gmt_json_begin_array(json);
	gmt_json_begin_object(json);
	gmt_json_key(json, "threadFlows");
	gmt_json_begin_array(json);
	gmt_json_begin_object(json);
	gmt_json_key(json, "locations");
	gmt_json_begin_array(json);
	for (size_t i = count; i-- > 0;) {
		gmt_json_begin_object(json);
		write_location(report, subject, &finding->frames.items[i], json);
		gmt_json_end_object(json);
	}
	for (unsigned i = 0; i < 2; i++) {
		gmt_json_end_array(json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

/*
 * Writes a fingerprint without lines and addresses, so that an alert keeps its identity if the code
 * around it moves.
 */
static void write_fingerprint(const struct gmt_verdict_check *check,
	const struct gmt_finding *finding, struct gmt_json *json)
{
	char text[1200];

	snprintf(text, sizeof(text), "%s %s %.1000s", gmt_rule_text(check->rule)->id,
		gmt_verdict_memory_name(check).text, finding->key);
	gmt_json_key(json, "partialFingerprints");
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "gpumemtraceSite/v1", text);
	/* GitHub's own key. Without it, GitHub hashes the text around the line. */
	gmt_json_key_text(json, "primaryLocationLineHash",
		gmt_site_key_text(gmt_hash_bytes(text, strlen(text))).text);
	gmt_json_end_object(json);
}

static void write_result(const struct gmt_check_report *report, const struct gmt_finding *finding,
	struct gmt_json *json)
{
	const struct gmt_verdict *verdict = report->verdict;
	const struct gmt_verdict_check *check = &verdict->checks.items[finding->check];
	struct gmt_check_place place = gmt_check_place(report, finding);
	char message[2600];

	snprintf(message, sizeof(message), "%.250s: %.1000s. %.1000s",
		gmt_check_name(verdict, check).text, finding->title, gmt_check_advice(verdict, finding));
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "ruleId", gmt_rule_text(check->rule)->id);
	gmt_json_key_u64(json, "ruleIndex", check->rule);
	gmt_json_key_text(json, "level", check->state == GMT_CHECK_FAILED ? "error" : "warning");
	write_message(message, json);
	gmt_json_key(json, "locations");
	gmt_json_begin_array(json);
	if (place.frame) {
		gmt_json_begin_object(json);
		write_physical(place.path, place.frame->line, json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	if (finding->frames.count)
		write_stacks(report, finding, check->subject, json);
	write_fingerprint(check, finding, json);
	gmt_json_end_object(json);
}

static void write_driver(struct gmt_json *json)
{
	gmt_json_key(json, "tool");
	gmt_json_begin_object(json);
	gmt_json_key(json, "driver");
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "name", "gpumemtrace");
	gmt_json_key_text(json, "version", GMT_PROGRAM_VERSION);
	gmt_json_key(json, "rules");
	gmt_json_begin_array(json);
	for (unsigned i = 0; i < GMT_RULES; i++) {
		const struct gmt_rule_text *rule = gmt_rule_text((enum gmt_rule)i);

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "id", rule->id);
		gmt_json_key_text(json, "name", rule->name);
		gmt_json_key(json, "shortDescription");
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "text", rule->meaning);
		gmt_json_end_object(json);
		gmt_json_key(json, "help");
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "text", rule->advice);
		gmt_json_end_object(json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
	gmt_json_end_object(json);
}

void gmt_check_sarif(const struct gmt_check_report *report, struct gmt_json *json)
{
	const struct gmt_verdict *verdict = report->verdict;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "$schema", schema);
	gmt_json_key_text(json, "version", "2.1.0");
	gmt_json_key(json, "runs");
	gmt_json_begin_array(json);
	gmt_json_begin_object(json);
	write_driver(json);
	gmt_json_key_text(json, "columnKind", "unicodeCodePoints");
	gmt_json_key(json, "results");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < verdict->findings.count && i < MAX_RESULTS; i++)
		write_result(report, &verdict->findings.items[i], json);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
	fputc('\n', json->file);
}
