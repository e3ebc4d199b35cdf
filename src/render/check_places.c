/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "render/check.h"

/* Names and source locations of checks and findings, shared by the renderers of a verdict. */

struct gmt_check_name gmt_check_name(const struct gmt_verdict *verdict,
	const struct gmt_verdict_check *check)
{
	const struct gmt_rule_text *rule = gmt_rule_text(check->rule);
	struct gmt_verdict_memory_name memory_name = gmt_verdict_memory_name(check);
	struct gmt_check_name name;

	snprintf(name.text, sizeof(name.text), "%s %s: %s%s%s", rule->id, rule->name, memory_name.text,
		*memory_name.text ? ", " : "",
		gmt_verdict_file_name(&verdict->subjects.items[check->subject]).text);
	return name;
}

const char *gmt_check_advice(const struct gmt_verdict *verdict, const struct gmt_finding *finding)
{
	return finding->hint ? finding->hint
						 : gmt_rule_text(verdict->checks.items[finding->check].rule)->advice;
}

/* Returns the part of `path` below `root`, or NULL if it does not lie below `root`. */
static const char *below(const char *path, const char *root)
{
	size_t length = strlen(root);

	while (length > 1 && root[length - 1] == '/')
		length--;
	if (!length || strncmp(path, root, length) != 0)
		return NULL;
	if (root[length - 1] == '/')
		return path + length;
	return path[length] == '/' ? path + length + 1 : NULL;
}

bool gmt_check_path(const struct gmt_check_report *report, uint32_t subject,
	const struct gmt_verdict_frame *frame, char *ret_path, size_t size)
{
	const char *root = report->roots ? report->roots[subject] : NULL;
	const char *directory = report->verdict->subjects.items[subject].directory;
	char whole[2048];

	if (!root || !*frame->file || *frame->file == '<' || !frame->line)
		return false;
	if (*frame->file == '/')
		snprintf(whole, sizeof(whole), "%s", frame->file);
	else
		snprintf(whole, sizeof(whole), "%s/%s", directory, frame->file);

	const char *path = below(whole, root);
	/*
	 * A virtual environment may lie there too. Its packages are not part of the reviewed sources.
	 */
	if (!path || !*path || strstr(whole, "/site-packages/") || strstr(whole, "/dist-packages/"))
		return false;
	snprintf(ret_path, size, "%s", path);
	return true;
}

struct gmt_check_place gmt_check_place(const struct gmt_check_report *report,
	const struct gmt_finding *finding)
{
	struct gmt_check_place place = { 0 };
	uint32_t subject = report->verdict->checks.items[finding->check].subject;

	if (finding->own_frame < finding->frames.count &&
		gmt_check_path(report, subject, &finding->frames.items[finding->own_frame], place.path,
			sizeof(place.path))) {
		place.frame = &finding->frames.items[finding->own_frame];
		return place;
	}
	for (size_t i = 0; !place.frame && i < finding->frames.count; i++)
		if (gmt_check_path(report, subject, &finding->frames.items[i], place.path,
				sizeof(place.path)))
			place.frame = &finding->frames.items[i];
	return place;
}
