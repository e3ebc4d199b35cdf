/* SPDX-License-Identifier: MIT */
#include "render/lines/screen_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/lines/text_columns.h"
#include "base/text.h"

enum { LABEL_COLUMNS = 10, EIGHTHS = 8 };

bool gmt_screen_init(struct gmt_screen *screen)
{
	screen->line.file = open_memstream(&screen->text, &screen->bytes);
	return screen->line.file != NULL;
}

/* Returns how many of the text's bytes fit into `columns`. */
static size_t bytes_of_columns(const char *text, size_t bytes, size_t columns)
{
	return (size_t)(gmt_columns_fit(text, text + bytes, columns) - text);
}

size_t gmt_screen_line_columns(struct gmt_screen *screen)
{
	fflush(screen->line.file);
	return gmt_columns_count(screen->text, screen->text + screen->bytes);
}

void gmt_screen_begin_path(struct gmt_screen *screen)
{
	fflush(screen->line.file);
	screen->path_begin = screen->path_end = screen->bytes;
}

void gmt_screen_end_path(struct gmt_screen *screen)
{
	fflush(screen->line.file);
	screen->path_end = screen->bytes;
}

static const char *ellipsis_of(const struct gmt_screen *screen)
{
	return screen->is_utf8 ? "\u2026" : "...";
}

static size_t ellipsis_columns_of(const struct gmt_screen *screen)
{
	return screen->is_utf8 ? 1 : 3;
}

static void write_line(struct gmt_screen *screen, enum gmt_console_style style, const char *text,
	size_t bytes)
{
	const struct gmt_console out = { screen->file, screen->color };

	gmt_console_style(&out, style);
	fwrite(text, 1, bytes, screen->file);
	gmt_console_style(&out, GMT_CONSOLE_NORMAL);
	fputc('\n', screen->file);
	screen->count++;
}

static void end_text(struct gmt_screen *screen)
{
	rewind(screen->line.file);
	screen->path_begin = screen->path_end = 0;
}

void gmt_screen_end_line(struct gmt_screen *screen, enum gmt_console_style style)
{
	size_t columns = gmt_screen_line_columns(screen), bytes = screen->bytes;
	size_t excess = columns > screen->columns ? columns - screen->columns : 0;
	size_t begin = screen->path_begin, end = screen->path_end;
	const char *ellipsis = ellipsis_of(screen);
	char *line = screen->text;

	/*
	 * The buffer has room for the ellipsis: the text has a terminating 0, and loses enough
	 * characters.
	 */
	if (excess && gmt_columns_path_spare(line + begin, line + end, ellipsis) >= excess) {
		bytes = gmt_columns_cut_path(line, bytes, begin, end, excess, ellipsis);
	} else if (excess) {
		size_t kept = bytes_of_columns(line, bytes, screen->columns - ellipsis_columns_of(screen));

		bytes = gmt_columns_cut(line, bytes, kept, bytes, ellipsis);
	}
	write_line(screen, style, line, bytes);
	end_text(screen);
}

void gmt_screen_end_uncut(struct gmt_screen *screen)
{
	fflush(screen->line.file);
	write_line(screen, GMT_CONSOLE_NORMAL, screen->text, screen->bytes);
	end_text(screen);
}

/*
 * Returns how many bytes of whole words fit into `columns`. If the first word does not fit, returns
 * the part of it that fits.
 */
static size_t bytes_of_words(const char *text, size_t bytes, size_t columns)
{
	size_t fitting = bytes_of_columns(text, bytes, columns);
	const char *space = fitting < bytes ? memrchr(text, ' ', fitting + 1) : NULL;

	return fitting == bytes ? bytes : space && space > text ? (size_t)(space - text) : fitting;
}

void gmt_screen_end_wrapped(struct gmt_screen *screen, enum gmt_console_style style, size_t hang,
	size_t max_lines)
{
	size_t columns = screen->columns;
	char line[1024];

	fflush(screen->line.file);

	const char *rest = screen->text;
	size_t left = screen->bytes;
	for (size_t i = 0; i < max_lines && (left || !i); i++) {
		size_t margin = i ? hang : 0;
		bool is_last = i + 1 == max_lines;
		size_t taken = bytes_of_words(rest, left, columns - margin);

		if (is_last && taken < left)
			taken = bytes_of_words(rest, left, columns - margin - ellipsis_columns_of(screen));

		int length = snprintf(line, sizeof(line), "%*s%.*s%s", (int)margin, "",
			(int)(taken < 900 ? taken : 900), rest,
			is_last && taken < left ? ellipsis_of(screen) : "");
		write_line(screen, style, line, (size_t)length);
		rest += taken;
		left -= taken;
		for (; left && *rest == ' '; left--)
			rest++;
	}
	end_text(screen);
}

/* Writes the part of a bar in one line: `eighths` of the line's height are filled. */
static void write_cell(FILE *file, uint64_t eighths)
{
	static const char *const cells[EIGHTHS + 1] = { " ", "\u2581", "\u2582", "\u2583", "\u2584",
		"\u2585", "\u2586", "\u2587", "\u2588" };

	fputs(cells[eighths < EIGHTHS ? eighths : EIGHTHS], file);
}

void gmt_screen_bars(struct gmt_screen *screen, const uint64_t *values, size_t count, unsigned rows,
	const char *title)
{
	FILE *file = screen->line.file;
	uint64_t highest = 1;

	for (size_t i = 0; i < count; i++)
		highest = values[i] > highest ? values[i] : highest;
	for (unsigned row = rows; row-- > 0;) {
		fprintf(file, "%*s ", LABEL_COLUMNS, row + 1 == rows ? gmt_text_size(highest).text : "");
		for (size_t i = 0; i < count; i++) {
			/* Show each value above 0, however small. */
			uint64_t height = (uint64_t)((double)values[i] / (double)highest * rows * EIGHTHS);

			height += values[i] && !height;
			write_cell(file, height > row * EIGHTHS ? height - row * EIGHTHS : 0);
		}
		gmt_screen_end_line(screen, GMT_CONSOLE_NORMAL);
	}
	fprintf(file, "%*s %s", LABEL_COLUMNS, "", title);
	gmt_screen_end_line(screen, GMT_CONSOLE_DIM);
}

bool gmt_screen_fini(struct gmt_screen *screen)
{
	bool done = !ferror(screen->line.file);

	done &= fclose(screen->line.file) == 0;
	free(screen->text);
	return done;
}
