/* SPDX-License-Identifier: MIT */
#include "render/console.h"

#include <string.h>
#include <time.h>

#include "analysis/tables/short_names.h"
#include "base/safe_text.h"

void gmt_console_style(const struct gmt_console *console, enum gmt_console_style style)
{
	static const char *const codes[] = {
		"\033[0m",
		"\033[1m",
		"\033[2m",
		"\033[33m",
		"\033[30;48;5;229m",
		"\033[30;48;5;222m",
		"\033[30;48;5;215m",
		"\033[30;48;5;208m",
		"\033[30;48;5;202m",
		"\033[30;48;5;196m",
	};

	if (console->color)
		fputs(codes[style], console->file);
}

void gmt_console_text(const struct gmt_console *console, const char *text)
{
	gmt_safe_print(console->file, text);
}

void gmt_console_padded(const struct gmt_console *console, const char *text, size_t width)
{
	gmt_console_text(console, text);
	for (size_t length = strlen(text); length < width; length++)
		fputc(' ', console->file);
}

void gmt_console_heading(const struct gmt_console *console, const char *text)
{
	fputc('\n', console->file);
	gmt_console_style(console, GMT_CONSOLE_BOLD);
	gmt_console_text(console, text);
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	fputc('\n', console->file);
}

void gmt_console_argument(const struct gmt_console *console, const char *text)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";

	if (*text && strspn(text, safe) == strlen(text)) {
		gmt_console_text(console, text);
		return;
	}
	fputc('\'', console->file);
	while (*text) {
		size_t length = strcspn(text, "'");
		char piece[1024];

		if (length >= sizeof(piece))
			length = sizeof(piece) - 1;
		memcpy(piece, text, length);
		piece[length] = 0;
		gmt_console_text(console, piece);
		text += length;
		/* End the quoted string, write the quote, and begin a new quoted string. */
		if (*text == '\'') {
			fputs("'\\''", console->file);
			text++;
		}
	}
	fputc('\'', console->file);
}

void gmt_console_frame(const struct gmt_console *console, const struct gmt_recording *recording,
	const struct gmt_console_frame *frame)
{
	char name[120];

	if (frame->is_python) {
		gmt_console_text(console,
			*frame->file ? gmt_short_name_of_file(recording, frame->file) : "?");
		fprintf(console->file, ":%u in ", frame->line);
		gmt_console_text(console, frame->function);
		return;
	}
	gmt_short_name_of_function(frame->function, name, sizeof(name));
	gmt_console_text(console, name);
	if (*frame->file) {
		fputs(" (", console->file);
		gmt_console_text(console, gmt_short_name_of_file(recording, frame->file));
		fprintf(console->file, ":%u)", frame->line);
	}
}

void gmt_console_place(const struct gmt_console *console, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t place_id)
{
	const struct gmt_place *place = gmt_traces_place(traces, place_id);

	gmt_console_frame(console, recording,
		&(struct gmt_console_frame){ .function = gmt_traces_string(traces, place->function),
			.file = gmt_traces_string(traces, place->file),
			.line = place->line,
			.is_python = place->kind == GMT_PLACE_PYTHON });
}

void gmt_console_own_place(const struct gmt_console *console, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t place_id)
{
	if (gmt_traces_is_pin_thread(traces, gmt_traces_place(traces, place_id)))
		fputs("by PyTorch's pin-memory thread (DataLoader)", console->file);
	else
		gmt_console_place(console, recording, traces, place_id);
}

void gmt_console_own_line(const struct gmt_console *console, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t stack, uint32_t own_line)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	if (count)
		gmt_console_own_place(console, recording, traces, places[own_line]);
	else
		fputs("(no stack)", console->file);
}

void gmt_console_date(const struct gmt_console *console, uint64_t epoch_ns)
{
	time_t seconds = (time_t)(epoch_ns / 1000000000);
	struct tm parts;
	char text[64];

	if (gmtime_r(&seconds, &parts) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts))
		fputs(text, console->file);
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

void gmt_console_wrap(FILE *file, int indent, int hang, const char *text)
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
