/* SPDX-License-Identifier: MIT */
#include "analysis/gate/baseline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/site_key.h"
#include "base/text.h"
#include "format/format.h"

static const char magic[] = "gpumemtrace-baseline ";

bool gmt_baseline_add(struct gmt_baseline *baseline, const struct gmt_baseline_row *row)
{
	const char *key = gmt_arena_copy(&baseline->arena, row->key, strlen(row->key));
	struct gmt_baseline_row *copy = key ? gmt_vec_push(&baseline->rows) : NULL;

	if (!copy)
		return false;
	*copy = *row;
	copy->key = key;
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct gmt_baseline_row *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->layer != b->layer)
		return a->layer < b->layer ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return strcmp(a->key, b->key);
}

static uint64_t joined(uint64_t a, uint64_t b, enum gmt_baseline_join join)
{
	return join == GMT_BASELINE_SUM ? a + b : a > b ? a : b;
}

void gmt_baseline_sort(struct gmt_baseline *baseline, enum gmt_baseline_join join)
{
	size_t kept = 0;

	if (baseline->rows.count)
		qsort(baseline->rows.items, baseline->rows.count, sizeof(*baseline->rows.items), compare);
	for (size_t i = 0; i < baseline->rows.count; i++) {
		struct gmt_baseline_row *row = &baseline->rows.items[i];
		struct gmt_baseline_row *last = kept ? &baseline->rows.items[kept - 1] : NULL;

		if (last && compare(last, row) == 0) {
			last->peak_bytes = joined(last->peak_bytes, row->peak_bytes, join);
			last->retained_bytes = joined(last->retained_bytes, row->retained_bytes, join);
			last->growth_bytes = joined(last->growth_bytes, row->growth_bytes, join);
		} else {
			baseline->rows.items[kept++] = *row;
		}
	}
	baseline->rows.count = kept;
}

const struct gmt_baseline_row *gmt_baseline_find(const struct gmt_baseline *baseline, int32_t rank,
	uint32_t layer, int32_t device, const char *key)
{
	struct gmt_baseline_row row = { .rank = rank, .layer = layer, .device = device, .key = key };

	if (!baseline->rows.count)
		return NULL;
	return bsearch(&row, baseline->rows.items, baseline->rows.count, sizeof(row), compare);
}

/* Returns the position after `text`, or NULL if `at` does not begin with it. */
static const char *take(const char *at, const char *text)
{
	size_t length = strlen(text);

	return at && strncmp(at, text, length) == 0 ? at + length : NULL;
}

static const char *take_number(const char *at, const char *name, uint64_t *ret_number)
{
	char digits[24] = "";
	size_t length;

	at = take(at, name);
	if (!at)
		return NULL;
	length = strspn(at, "0123456789");
	if (!length || length >= sizeof(digits))
		return NULL;
	memcpy(digits, at, length);
	return gmt_text_parse_u64(digits, ret_number) ? at + length : NULL;
}

/* Parses a number after `name`, or the word `none`, which gives -1: "rank=0", "rank=-". */
static const char *take_number_or(const char *at, const char *name, const char *none,
	int32_t *ret_number)
{
	const char *after = take(take(at, name), none);
	uint64_t number = 0;

	if (after) {
		*ret_number = -1;
		return after;
	}
	after = take_number(at, name, &number);
	*ret_number = (int32_t)number;
	return after && number <= INT32_MAX ? after : NULL;
}

static const char *take_layer(const char *at, uint32_t *ret_layer)
{
	const char *after;

#define GMT_LAYER(number, NAME, name, ...) \
	if ((after = take(at, " layer=" name " "))) { \
		*ret_layer = number; \
		return after - 1; \
	}
#include "format/layers.def"
#undef GMT_LAYER
	return NULL;
}

static bool parse_row(const char *line, struct gmt_baseline_row *ret_row)
{
	const char *site = take(line, "site "), *at = site ? site : take(line, "layer ");

	at = take_number_or(at, "rank=", "-", &ret_row->rank);
	at = take_layer(at, &ret_row->layer);
	at = take_number_or(at, " gpu=", "host", &ret_row->device);
	at = take_number(at, " peak=", &ret_row->peak_bytes);
	at = take_number(at, " retained=", &ret_row->retained_bytes);
	at = take_number(at, " growth=", &ret_row->growth_bytes);
	ret_row->key = "";
	if (!site || !at)
		return at && !*at;
	at = take(at, " ");
	ret_row->key = at;
	return at && *at;
}

static enum gmt_status parse_first_line(const char *line, const char *path, struct gmt_error *error)
{
	uint64_t version, names;
	const char *at = take_number(line, magic, &version);

	if (!at)
		return gmt_error_set(error, GMT_USAGE,
			"%s: is not a baseline, because its first line is not `%s%d ...`; "
			"write one with --update-baseline",
			path, magic, GMT_BASELINE_VERSION);
	at = take_number(at, " names ", &names);
	if (version > GMT_BASELINE_VERSION || (at && names > GMT_SITE_KEY_VERSION))
		return gmt_error_set(error, GMT_USAGE,
			"%s: is from a newer version of gpumemtrace; "
			"use that version, or rewrite it with --update-baseline",
			path);
	if (!at || *at || names < GMT_SITE_KEY_VERSION)
		return gmt_error_set(error, GMT_USAGE,
			"%s: names sites in another way than this version; rewrite it with --update-baseline",
			path);
	return GMT_OK;
}

enum gmt_status gmt_baseline_parse(struct gmt_baseline *ret_baseline, const char *text,
	const char *path, struct gmt_error *error)
{
	enum gmt_status status = GMT_OK;
	unsigned number = 1;

	for (const char *at = text; !status && (*at || number == 1); number++) {
		size_t length = strcspn(at, "\n");
		struct gmt_baseline_row row = { 0 };
		char *line = gmt_arena_copy(&ret_baseline->arena, at, length);

		at += length + (at[length] == '\n');
		/*
		 * Removes all trailing `\r`: a remaining one would become a part of the key when the line
		 * is written again.
		 */
		while (line && length && line[length - 1] == '\r')
			line[--length] = 0;
		if (!line)
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		else if (number == 1)
			status = parse_first_line(line, path, error);
		else if (!*line || *line == '#')
			continue;
		else if (!parse_row(line, &row))
			status = gmt_error_set(error, GMT_USAGE,
				"%s:%u: `%.80s` is not a line of a baseline; rewrite the file with "
				"--update-baseline",
				path, number, line);
		else if (!gmt_baseline_add(ret_baseline, &row))
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	gmt_baseline_sort(ret_baseline, GMT_BASELINE_LARGEST);
	return status;
}

static void write_row(const struct gmt_baseline_row *row, FILE *file)
{
	fputs(*row->key ? "site rank=" : "layer rank=", file);
	if (row->rank < 0)
		fputc('-', file);
	else
		fprintf(file, "%d", row->rank);
	fprintf(file, " layer=%s gpu=", gmt_layer_name(row->layer));
	if (row->device < 0)
		fputs("host", file);
	else
		fprintf(file, "%d", row->device);
	fprintf(file, " peak=%" PRIu64 " retained=%" PRIu64 " growth=%" PRIu64 "%s%s\n",
		row->peak_bytes, row->retained_bytes, row->growth_bytes, *row->key ? " " : "", row->key);
}

void gmt_baseline_write(const struct gmt_baseline *baseline, FILE *file)
{
	fprintf(file, "%s%d names %d\n", magic, GMT_BASELINE_VERSION, GMT_SITE_KEY_VERSION);
	fputs("# Accepted memory in bytes (growth: bytes per step).\n"
		  "# Written by `gpumemtrace check --update-baseline`.\n",
		file);
	for (size_t i = 0; i < baseline->rows.count; i++)
		write_row(&baseline->rows.items[i], file);
}

void gmt_baseline_fini(struct gmt_baseline *baseline)
{
	gmt_vec_fini(&baseline->rows);
	gmt_arena_fini(&baseline->arena);
}
