/* SPDX-License-Identifier: MIT */
#include "render/lines/wrap_stream.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "render/lines/text_columns.h"

enum {
	ELLIPSIS = 3, /* columns of `ellipsis` */
	LABEL_END = 16, /* a label's text begins before this column */
	MORE_INDENT = 4, /* of the lines that continue a line without a label */
	MAX_CUT_PATHS = 4,
	MAX_LINE_BYTES = 1 << 20, /* a longer line is written unchanged */
};

static const char ellipsis[] = "...";

struct wrap_stream {
	FILE *to;
	char *line;
	size_t bytes, capacity;
	off64_t taken_bytes; /* by the stream so far */
};

static const char *skip_spaces(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	return at;
}

static const char *word_end(const char *at, const char *end)
{
	const char *space = memchr(at, ' ', (size_t)(end - at));

	return space ? space : end;
}

static bool is_command(const char *line, const char *end)
{
	static const char next[] = "next:", name[] = "gpumemtrace ";
	const char *at = gmt_columns_skip_styles(line, end);

	if ((size_t)(end - at) > strlen(next) && memcmp(at, next, strlen(next)) == 0)
		at += strlen(next);
	at = skip_spaces(at, end);
	return (size_t)(end - at) > strlen(name) && memcmp(at, name, strlen(name)) == 0;
}

/*
 * Returns the column at which the text after a label begins; 0: the line, without styles, has none.
 */
static size_t label_columns(const char *line, const char *end)
{
	const char *at = skip_spaces(line, end);
	size_t indent = (size_t)(at - line);

	while (at < end && ((*at >= 'a' && *at <= 'z') || (*at == ' ' && at + 1 < end && at[1] != ' ')))
		at++;

	const char *text = skip_spaces(at, end);
	return indent && text - at >= 2 && text - line < LABEL_END && text < end ? (size_t)(text - line)
																			 : 0;
}

static bool is_letter_or_digit(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80;
}

/*
 * Returns the end of the quotation that begins at `at`, with the rest of its last word: a text
 * between two of the same `quotes`, maybe in brackets. Returns `at` if none begins there. In
 * "the program's steps' ends" no quotation begins.
 */
static const char *skip_quotation(const char *at, const char *end, const char *quotes)
{
	const char *open = gmt_columns_skip_styles(at, end);

	if (open < end && *open == '(')
		open = gmt_columns_skip_styles(open + 1, end);
	if (open == end || !strchr(quotes, *open))
		return at;
	for (const char *close = open + 1; close < end; close++) {
		const char *next = gmt_columns_skip_styles(close + 1, end);

		if (*close == *open && (next == end || !is_letter_or_digit((unsigned char)*next)))
			return word_end(close, end);
	}
	return at;
}

/*
 * Removes `columns` columns from the front of the path that can lose most, or as many as possible.
 * Commands in `...` stay as they are. Returns whether there is such a path.
 */
static bool cut_path(char *line, size_t *bytes, size_t columns)
{
	const char *end = line + *bytes, *path = NULL, *path_end = NULL;
	size_t max_columns = 0;

	for (const char *at = line, *stop; (at = skip_spaces(at, end)) < end; at = stop) {
		stop = skip_quotation(at, end, "`");
		if (stop > at)
			continue;
		/* A quoted path may have spaces. */
		stop = skip_quotation(at, end, "'\"");
		if (stop == at)
			stop = word_end(at, end);
		/* A bracket or a quote before the path stays. */
		const char *word = gmt_columns_skip_styles(at, stop);
		word += strspn(word, "('\"");
		size_t spare = word < stop ? gmt_columns_path_spare(word, stop, ellipsis) : 0;

		if (spare > max_columns) {
			max_columns = spare;
			path = word;
			path_end = stop;
		}
	}
	if (!path)
		return false;
	*bytes = gmt_columns_cut_path(line, *bytes, (size_t)(path - line), (size_t)(path_end - line),
		columns < max_columns ? columns : max_columns, ellipsis);
	return true;
}

/* Cuts paths until the line fits. If they are too short, returns false and writes nothing. */
static bool write_cut(const struct wrap_stream *stream)
{
	char *copy = strndup(stream->line, stream->bytes);
	size_t bytes = stream->bytes, columns = gmt_columns_count(stream->line, stream->line + bytes);

	for (int i = 0; copy && i < MAX_CUT_PATHS && columns > GMT_WRAP_COLUMNS; i++) {
		if (!cut_path(copy, &bytes, columns - GMT_WRAP_COLUMNS))
			break;
		columns = gmt_columns_count(copy, copy + bytes);
	}

	bool fits = copy && columns <= GMT_WRAP_COLUMNS;
	if (fits)
		fwrite(copy, 1, bytes, stream->to);
	free(copy);
	return fits;
}

/* Returns whether a line may be broken at a space: not between a number and its unit. */
static bool may_break(const char *text, const char *space)
{
	const char *word = space;

	while (word > text && (strchr("0123456789.,", word[-1])))
		word--;
	return word == space || (word > text && word[-1] != ' ');
}

/* Writes a word that is longer than a line: a path without its front, else without its middle. */
static void write_word(FILE *to, const char *word, const char *end, size_t room)
{
	size_t bytes = (size_t)(end - word), excess = gmt_columns_count(word, end) - room;
	char *copy = strndup(word, bytes);

	if (copy) {
		size_t front = memchr(word, '/', bytes) ? 0 : (room - ELLIPSIS + 1) / 2;
		const char *from = gmt_columns_fit(copy, copy + bytes, front);
		const char *rest = gmt_columns_skip(from, copy + bytes, excess + ELLIPSIS);

		bytes =
			gmt_columns_cut(copy, bytes, (size_t)(from - copy), (size_t)(rest - copy), ellipsis);
	}
	fwrite(copy ? copy : word, 1, bytes, to);
	free(copy);
}

/*
 * Returns the last place in the line of text from `first` to `limit` where it may be broken: a gap
 * between columns after `half`, else a space. A quotation of at most `whole` columns is not broken.
 * NULL: there is no such place.
 */
static const char *last_break(const char *first, const char *half, const char *limit,
	const char *end, size_t whole)
{
	const char *found = NULL, *gap = NULL;

	for (const char *space = first; space <= limit; space++) {
		if (space == first || space[-1] == ' ') {
			const char *after = skip_quotation(space, end, "`'\"");

			if (gmt_columns_count(space, after) <= whole)
				space = after;
			if (space > limit)
				break;
		}
		if (*space == ' ' && space > first && space[-1] != ' ' && may_break(first, space)) {
			found = space;
			gap = space > half && space[1] == ' ' ? space : gap;
		}
	}
	return gap ? gap : found;
}

/*
 * Returns where the line that begins at `at`, whose text begins at `first`, ends. If it cannot be
 * broken, this is the end of the first word. The next line has room for `next_room` columns.
 */
static const char *find_break(const char *at, const char *first, const char *end, size_t room,
	size_t next_room)
{
	const char *limit = gmt_columns_fit(at, end, room), *half = gmt_columns_fit(at, end, room / 2);
	const char *found;

	if (limit == end)
		return end;
	found = last_break(first, half, limit, end, next_room);
	if (!found)
		found = last_break(first, half, limit, end, 0);
	return found ? found : word_end(first, end);
}

static void write_wrapped(const struct wrap_stream *stream)
{
	const char *end = stream->line + stream->bytes,
			   *at = gmt_columns_skip_styles(stream->line, end), *begin = at;
	size_t label = label_columns(at, end);
	size_t hang = label ? label : (size_t)(skip_spaces(at, end) - at) + MORE_INDENT;
	size_t room = GMT_WRAP_COLUMNS;

	if (hang > GMT_WRAP_COLUMNS / 2)
		hang = GMT_WRAP_COLUMNS / 2;
	fwrite(stream->line, 1, (size_t)(begin - stream->line), stream->to);
	while (at < end) {
		bool is_first = at == begin;
		const char *text = is_first && label ? at + label : skip_spaces(at, end);
		const char *stop = find_break(at, text, end, room, GMT_WRAP_COLUMNS - hang);

		if (is_first) {
			fwrite(at, 1, (size_t)(text - at), stream->to);
			room -= (size_t)(text - at);
		}
		if (gmt_columns_count(text, stop) <= room)
			fwrite(text, 1, (size_t)(stop - text), stream->to);
		else
			write_word(stream->to, text, stop, room);
		at = skip_spaces(stop, end);
		room = GMT_WRAP_COLUMNS - hang;
		if (at < end)
			fprintf(stream->to, "\n%*s", (int)hang, "");
	}
}

static void write_line(struct wrap_stream *stream)
{
	const char *end = stream->line + stream->bytes;

	if (gmt_columns_count(stream->line, end) <= GMT_WRAP_COLUMNS || is_command(stream->line, end))
		fwrite(stream->line, 1, stream->bytes, stream->to);
	else if (!write_cut(stream))
		write_wrapped(stream);
	stream->bytes = 0;
}

/* Adds to the line. Keeps a 0 after it. Returns false when out of memory. */
static bool add(struct wrap_stream *stream, const char *bytes, size_t length)
{
	if (stream->bytes + length + 1 > stream->capacity) {
		size_t capacity = 2 * (stream->bytes + length + 1);
		char *line = realloc(stream->line, capacity);

		if (!line)
			return false;
		stream->line = line;
		stream->capacity = capacity;
	}
	memcpy(stream->line + stream->bytes, bytes, length);
	stream->bytes += length;
	stream->line[stream->bytes] = 0;
	return true;
}

static ssize_t on_write(void *cookie, const char *bytes, size_t length)
{
	struct wrap_stream *stream = cookie;

	for (const char *at = bytes, *end = bytes + length; at < end;) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t part = (size_t)((line_end ? line_end : end) - at);

		if (stream->bytes + part > MAX_LINE_BYTES || !add(stream, at, part)) {
			fwrite(stream->line, 1, stream->bytes, stream->to);
			fwrite(at, 1, part, stream->to);
			stream->bytes = 0;
		} else if (line_end) {
			write_line(stream);
		}
		if (line_end)
			fputc('\n', stream->to);
		at += part + (line_end != NULL);
	}
	stream->taken_bytes += (off64_t)length;
	return (ssize_t)length;
}

/* ftello(3) works; other seeks fail. */
static int on_seek(void *cookie, off64_t *offset, int whence)
{
	const struct wrap_stream *stream = cookie;

	if (whence != SEEK_CUR || *offset)
		return -1;
	*offset = stream->taken_bytes;
	return 0;
}

static int on_close(void *cookie)
{
	struct wrap_stream *stream = cookie;

	if (stream->bytes)
		write_line(stream);
	free(stream->line);
	free(stream);
	return 0;
}

FILE *gmt_wrap_stream_open(FILE *to)
{
	struct wrap_stream *stream = calloc(1, sizeof(*stream));
	FILE *wrapped;

	if (!stream)
		return to;
	stream->to = to;
	wrapped = fopencookie(stream, "w",
		(cookie_io_functions_t){ .write = on_write, .seek = on_seek, .close = on_close });
	if (!wrapped)
		free(stream);
	return wrapped ? wrapped : to;
}

void gmt_wrap_stream_close(FILE *wrapped, FILE *to)
{
	if (wrapped != to)
		fclose(wrapped);
}
