/* SPDX-License-Identifier: MIT */
#include "import/csv/csv_rows.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_FIELDS = 256 };

void gmt_csv_begin(struct gmt_csv *ret_csv, const void *bytes, size_t length)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */

	ret_csv->at = bytes;
	ret_csv->end = ret_csv->at + length;
	ret_csv->next_line = 1;
	if (length >= strlen(mark) && memcmp(bytes, mark, strlen(mark)) == 0)
		ret_csv->at += strlen(mark);
}

static bool is_blank(char character)
{
	return character == ' ' || character == '\t';
}

static void skip_blanks(struct gmt_csv *csv)
{
	while (csv->at < csv->end && is_blank(*csv->at))
		csv->at++;
}

static bool is_line_end(const struct gmt_csv *csv)
{
	return csv->at == csv->end || *csv->at == '\n' || *csv->at == '\r';
}

static void skip_line_end(struct gmt_csv *csv)
{
	if (csv->at < csv->end && *csv->at == '\r')
		csv->at++;
	if (csv->at < csv->end && *csv->at == '\n')
		csv->at++;
	csv->next_line++;
}

/* Skips lines without a row. */
static void skip_lines(struct gmt_csv *csv)
{
	while (csv->at < csv->end) {
		skip_blanks(csv);
		if (csv->at < csv->end && *csv->at == '#')
			while (!is_line_end(csv))
				csv->at++;
		if (!is_line_end(csv) || csv->at == csv->end)
			return;
		skip_line_end(csv);
	}
}

/* Copies the text between quotes, with single quotes in place of doubled ones. */
static void unquote(struct gmt_csv *csv, const char *first, const char *last,
	struct gmt_csv_field *ret_field)
{
	/* The fields before it may borrow from `unquoted`: it must not move (reserve_unquoted). */
	char *to = csv->unquoted.items + csv->unquoted.count;

	ret_field->text = to;
	for (const char *at = first; at < last; at++) {
		*to++ = *at;
		at += *at == '"';
	}
	ret_field->length = (uint32_t)(to - ret_field->text);
	csv->unquoted.count += ret_field->length;
}

static enum gmt_status read_quoted(struct gmt_csv *csv, struct gmt_csv_field *ret_field,
	struct gmt_error *error)
{
	const char *first = ++csv->at;
	bool has_quotes = false;

	for (;; csv->at++) {
		if (csv->at == csv->end)
			return gmt_error_set(error, GMT_FORMAT, "line %" PRIu64 ": the quotes do not close",
				csv->line);
		csv->next_line += *csv->at == '\n';
		if (*csv->at != '"')
			continue;
		if (csv->end - csv->at < 2 || csv->at[1] != '"')
			break;
		has_quotes = true;
		csv->at++;
	}
	*ret_field = (struct gmt_csv_field){ first, (uint32_t)(csv->at - first) };
	if (has_quotes)
		unquote(csv, first, csv->at, ret_field);
	csv->at++;
	skip_blanks(csv);
	return is_line_end(csv) || *csv->at == ','
		? GMT_OK
		: gmt_error_set(error, GMT_FORMAT, "line %" PRIu64 ": a quote is within a field",
			  csv->next_line);
}

static enum gmt_status read_field(struct gmt_csv *csv, struct gmt_csv_field *ret_field,
	struct gmt_error *error)
{
	const char *first, *last;

	skip_blanks(csv);
	if (csv->at < csv->end && *csv->at == '"')
		return read_quoted(csv, ret_field, error);
	first = csv->at;
	while (!is_line_end(csv) && *csv->at != ',')
		csv->at++;
	for (last = csv->at; last > first && is_blank(last[-1]);)
		last--;
	if (last - first > UINT32_MAX)
		return gmt_error_set(error, GMT_FORMAT, "line %" PRIu64 ": a field is too long", csv->line);
	*ret_field = (struct gmt_csv_field){ first, (uint32_t)(last - first) };
	return GMT_OK;
}

/* Makes room for the texts of the row's fields in quotes, which are at most as long as the row. */
static bool reserve_unquoted(struct gmt_csv *csv)
{
	bool is_in_quotes = false, has_quotes = false;
	const char *at = csv->at;

	for (; at < csv->end && (is_in_quotes || (*at != '\n' && *at != '\r')); at++)
		if (*at == '"') {
			is_in_quotes = !is_in_quotes;
			has_quotes = true;
		}
	csv->unquoted.count = 0;
	return !has_quotes || gmt_vec_reserve(&csv->unquoted, (size_t)(at - csv->at));
}

enum gmt_status gmt_csv_next(struct gmt_csv *csv, struct gmt_error *error)
{
	skip_lines(csv);
	csv->line = csv->next_line;
	csv->fields.count = 0;
	if (csv->at == csv->end)
		return GMT_END;
	if (!reserve_unquoted(csv))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	for (;;) {
		struct gmt_csv_field *field = gmt_vec_push(&csv->fields);
		enum gmt_status status;

		if (!field)
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		if (csv->fields.count > MAX_FIELDS)
			return gmt_error_set(error, GMT_FORMAT, "line %" PRIu64 ": has more than %d fields",
				csv->line, MAX_FIELDS);
		status = read_field(csv, field, error);
		if (status)
			return status;
		if (is_line_end(csv))
			break;
		csv->at++;
	}
	skip_line_end(csv);
	return GMT_OK;
}

void gmt_csv_fini(struct gmt_csv *csv)
{
	gmt_vec_fini(&csv->fields);
	gmt_vec_fini(&csv->unquoted);
}
