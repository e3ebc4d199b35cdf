/* SPDX-License-Identifier: MIT */
#include "analysis/gate/suppressions.h"

#include <ctype.h>
#include <string.h>

#include "base/budget.h"

static const char *const names[] = {
#define GMT_SUPPRESSION(NAME, name, meaning) name,
#include "analysis/gate/suppression_kinds.def"
#undef GMT_SUPPRESSION
};

const char *gmt_suppression_kind_name(enum gmt_suppression_kind kind)
{
	return names[kind];
}

/* Returns where `piece` begins in `text`. NULL: it does not occur. */
static const char *find_piece(const char *text, const char *piece, size_t length)
{
	size_t rest = strlen(text);

	for (; rest >= length; text++, rest--)
		if (memcmp(text, piece, length) == 0)
			return text;
	return NULL;
}

/*
 * Matches the pieces between asterisks in order, each at its earliest position. If this fails, no
 * other choice can match. If the pattern ends with `$`, the last piece must be at the end of the
 * text.
 */
bool gmt_suppression_matches(const char *pattern, const char *text)
{
	bool from_start = *pattern == '^', to_end = false;
	size_t length;

	if (!*text)
		return false;
	pattern += from_start;
	length = strlen(pattern);
	if (length && pattern[length - 1] == '$') {
		to_end = true;
		length--;
	}
	for (const char *end = pattern + length;;) {
		const char *star = memchr(pattern, '*', (size_t)(end - pattern));
		size_t piece = star ? (size_t)(star - pattern) : (size_t)(end - pattern);

		if (!star && to_end) {
			size_t rest = strlen(text);
			return rest >= piece && memcmp(text + rest - piece, pattern, piece) == 0 &&
				(!from_start || rest == piece);
		}
		const char *at = find_piece(text, pattern, piece);
		if (!at || (from_start && at != text))
			return false;
		if (!star)
			return true;
		from_start = false;
		text = at + piece;
		pattern = star + 1;
	}
}

static enum gmt_status add_line(struct gmt_suppressions *suppressions, const char *line,
	size_t length, const char *path, unsigned number, struct gmt_error *error)
{
	const char *colon = memchr(line, ':', length);
	size_t name = colon ? (size_t)(colon - line) : 0, kind = 0;

	while (kind < GMT_SUPPRESSION_KINDS &&
		(strlen(names[kind]) != name || memcmp(names[kind], line, name) != 0))
		kind++;
	if (!colon || kind == GMT_SUPPRESSION_KINDS || name + 1 == length)
		return gmt_error_set(error, GMT_USAGE,
			"%s:%u: `%.*s` is not a suppression: write leak:PATTERN, growth:PATTERN, peak:PATTERN "
			"...",
			path, number, (int)(length < 200 ? length : 200), line);

	char *pattern = gmt_arena_copy(&suppressions->arena, colon + 1, length - name - 1);
	char *copy = path ? gmt_arena_copy(&suppressions->arena, path, strlen(path)) : NULL;
	struct gmt_suppression *row =
		pattern && (copy || !path) ? gmt_vec_push(&suppressions->rows) : NULL;
	if (!row)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	*row = (struct gmt_suppression){
		.kind = (enum gmt_suppression_kind)kind,
		.pattern = pattern,
		.path = copy,
		.line = number,
	};
	return GMT_OK;
}

enum gmt_status gmt_suppressions_add_defaults(struct gmt_suppressions *suppressions,
	struct gmt_error *error)
{
	static const char *const lines[] = {
#define GMT_DEFAULT_SUPPRESSION(line, why) line,
#include "analysis/gate/default_suppressions.def"
#undef GMT_DEFAULT_SUPPRESSION
	};
	enum gmt_status status = GMT_OK;

	for (size_t i = 0; !status && i < sizeof(lines) / sizeof(*lines); i++)
		status = add_line(suppressions, lines[i], strlen(lines[i]), NULL, 0, error);
	return status;
}

enum gmt_status gmt_suppressions_parse(struct gmt_suppressions *suppressions, const char *text,
	const char *path, struct gmt_error *error)
{
	unsigned number = 1;

	for (const char *at = text; *at; number++) {
		size_t length = strcspn(at, "\n");
		const char *line = at, *end = at + length;

		at = end + (*end == '\n');
		while (line < end && isspace((unsigned char)*line))
			line++;
		while (end > line && isspace((unsigned char)end[-1]))
			end--;
		if (line < end && *line != '#') {
			enum gmt_status status =
				add_line(suppressions, line, (size_t)(end - line), path, number, error);
			if (status)
				return status;
		}
	}
	return GMT_OK;
}

bool gmt_suppressions_have(const struct gmt_suppressions *suppressions, unsigned kinds)
{
	for (size_t i = 0; i < suppressions->rows.count; i++)
		if (kinds & 1u << suppressions->rows.items[i].kind)
			return true;
	return false;
}

static bool matches_place(const char *pattern, const struct gmt_traces *traces,
	const struct gmt_place *place)
{
	/* BYTES_PER_UNIT: bytes compared in the time of one budget unit. */
	enum { SHORT_BYTES = 1024, BYTES_PER_UNIT = 32 };
	uint64_t bytes = (uint64_t)gmt_intern_get(&traces->strings, place->function)->length +
		gmt_intern_get(&traces->strings, place->file)->length +
		gmt_intern_get(&traces->strings, place->module)->length;

	/* A hostile file can repeat a long name in each frame of many stacks. */
	if (bytes > SHORT_BYTES &&
		!gmt_budget_spend_work(bytes / BYTES_PER_UNIT, GMT_BUDGET_COMPARISONS))
		return false;
	return gmt_suppression_matches(pattern, gmt_traces_string(traces, place->function)) ||
		gmt_suppression_matches(pattern, gmt_traces_string(traces, place->file)) ||
		gmt_suppression_matches(pattern, gmt_traces_string(traces, place->module));
}

struct gmt_suppression *gmt_suppressions_find(const struct gmt_suppressions *suppressions,
	unsigned kinds, const struct gmt_traces *traces, uint32_t stack)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	for (size_t i = 0; i < suppressions->rows.count; i++) {
		struct gmt_suppression *row = &suppressions->rows.items[i];

		for (uint32_t j = 0; (kinds & 1u << row->kind) && j < count; j++)
			if (matches_place(row->pattern, traces, gmt_traces_place(traces, places[j])))
				return row;
	}
	return NULL;
}

struct gmt_suppression *gmt_suppressions_find_line(const struct gmt_suppressions *suppressions,
	unsigned kinds, const char *function, const char *file)
{
	for (size_t i = 0; i < suppressions->rows.count; i++) {
		struct gmt_suppression *row = &suppressions->rows.items[i];

		if ((kinds & 1u << row->kind) &&
			(gmt_suppression_matches(row->pattern, function) ||
				gmt_suppression_matches(row->pattern, file)))
			return row;
	}
	return NULL;
}

void gmt_suppressions_fini(struct gmt_suppressions *suppressions)
{
	gmt_vec_fini(&suppressions->rows);
	gmt_arena_fini(&suppressions->arena);
}
