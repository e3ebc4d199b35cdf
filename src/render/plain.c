/* SPDX-License-Identifier: MIT */
#include "render/plain.h"

#include <string.h>
#include <time.h>

#include "analysis/tables/short_names.h"
#include "base/safe_text.h"

void gmt_plain_style(const struct gmt_plain *plain, enum gmt_plain_style style)
{
	static const char *const codes[] = { "\033[0m", "\033[1m", "\033[2m", "\033[33m" };

	if (plain->color)
		fputs(codes[style], plain->file);
}

void gmt_plain_text(const struct gmt_plain *plain, const char *text)
{
	gmt_safe_print(plain->file, text);
}

void gmt_plain_padded(const struct gmt_plain *plain, const char *text, size_t width)
{
	gmt_plain_text(plain, text);
	for (size_t length = strlen(text); length < width; length++)
		fputc(' ', plain->file);
}

void gmt_plain_heading(const struct gmt_plain *plain, const char *text)
{
	fputc('\n', plain->file);
	gmt_plain_style(plain, GMT_PLAIN_BOLD);
	gmt_plain_text(plain, text);
	gmt_plain_style(plain, GMT_PLAIN_NORMAL);
	fputc('\n', plain->file);
}

void gmt_plain_argument(const struct gmt_plain *plain, const char *text)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";

	if (*text && strspn(text, safe) == strlen(text)) {
		gmt_plain_text(plain, text);
		return;
	}
	fputc('\'', plain->file);
	while (*text) {
		size_t length = strcspn(text, "'");
		char piece[1024];

		if (length >= sizeof(piece))
			length = sizeof(piece) - 1;
		memcpy(piece, text, length);
		piece[length] = 0;
		gmt_plain_text(plain, piece);
		text += length;
		/* End the quoted string, write the quote, and begin a new quoted string. */
		if (*text == '\'') {
			fputs("'\\''", plain->file);
			text++;
		}
	}
	fputc('\'', plain->file);
}

void gmt_plain_place(const struct gmt_plain *plain, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t place_id)
{
	const struct gmt_place *place = gmt_traces_place(traces, place_id);
	const char *function = gmt_traces_string(traces, place->function);
	const char *file = gmt_traces_string(traces, place->file);
	char name[120];

	if (place->kind == GMT_PLACE_PYTHON) {
		gmt_plain_text(plain, *file ? gmt_short_name_of_file(recording, file) : "?");
		fprintf(plain->file, ":%u in ", place->line);
		gmt_plain_text(plain, function);
		return;
	}
	gmt_short_name_of_function(function, name, sizeof(name));
	gmt_plain_text(plain, name);
	if (*file) {
		fputs(" (", plain->file);
		gmt_plain_text(plain, gmt_short_name_of_file(recording, file));
		fprintf(plain->file, ":%u)", place->line);
	}
}

void gmt_plain_own_place(const struct gmt_plain *plain, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t place_id)
{
	if (gmt_traces_is_pin_thread(traces, gmt_traces_place(traces, place_id)))
		fputs("by PyTorch's pin-memory thread (DataLoader)", plain->file);
	else
		gmt_plain_place(plain, recording, traces, place_id);
}

void gmt_plain_own_line(const struct gmt_plain *plain, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t stack, uint32_t own_line)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	if (count)
		gmt_plain_own_place(plain, recording, traces, places[own_line]);
	else
		fputs("(no stack)", plain->file);
}

void gmt_plain_date(const struct gmt_plain *plain, uint64_t epoch_ns)
{
	time_t seconds = (time_t)(epoch_ns / 1000000000);
	struct tm parts;
	char text[64];

	if (gmtime_r(&seconds, &parts) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts))
		fputs(text, plain->file);
}

/*
 * Returns the length up to the next place where a line may be broken: a space that is not between a
 * number and its unit.
 */
static size_t unbroken(const char *text)
{
	size_t length = strcspn(text, " ");

	while (length && text[length] && text[length - 1] >= '0' && text[length - 1] <= '9')
		length += 1 + strcspn(text + length + 1, " ");
	return length;
}

void gmt_plain_wrap(FILE *file, int indent, int hang, const char *text)
{
	enum { WIDTH = 80 };
	size_t column = 0;

	while (*text) {
		size_t length = unbroken(text);

		if (length && column && column + 1 + length > WIDTH) {
			fputc('\n', file);
			column = 0;
			indent = hang;
		}
		if (length) {
			int spaces = column ? 1 : indent;

			fprintf(file, "%*s%.*s", spaces, "", (int)length, text);
			column += (size_t)spaces + length;
		}
		text += length + (text[length] == ' ');
	}
	fputc('\n', file);
}
