/* SPDX-License-Identifier: MIT */
/* The screen of `top`, and the actions of its keys. */
#include <stdlib.h>

#include "tools/live/full_screen.h"
#include "tools/live/top.h"
#include "tools/output/output.h"
#include "tools/output/terminal.h"

/* OTHER_LINES: lines of the screen outside of the table: program, work, headings, curve, keys. */
enum { OTHER_LINES = 14, CURVE_ROWS = 6, CURVE_FROM_LINES = 30, PAGE_LINES = 10 };

static const char *const help[] = {
	"q        leave",
	"< >      previous, next process (also the arrow keys)",
	"up down  move in the list (also page up and down)",
	"l        sort by live memory",
	"g        sort by growth in the last 10 seconds",
	"a        sort by number of allocations",
	"t        sort by all bytes ever allocated",
	"d        memory of the next GPU, of the host, of all",
	"y        memory of the next layer, or PyTorch's blocks and the rest of CUDA's memory",
	"space    freeze the numbers, or let them move again",
	"h        this list",
};

static void write_text(struct gmt_screen *screen, const char *text, enum gmt_console_style style)
{
	fputs(text, screen->line.file);
	gmt_screen_end_line(screen, style);
}

static void write_keys(struct gmt_screen *screen, const struct gmt_top *top)
{
	FILE *line = screen->line.file;

	if (top->targets.count > 1)
		fprintf(line, "%zu of %zu  < >   ", top->shown + 1, top->targets.count);
	fprintf(line, "q leave   h help   sort: l g a t   d device   y layer   space %s",
		top->is_frozen ? "go on" : "freeze");
	gmt_screen_end_line(screen, GMT_CONSOLE_DIM);
}

static void write_target(struct gmt_screen *screen, struct gmt_top *top)
{
	const struct gmt_live_target *target =
		top->targets.count ? top->targets.items[top->shown] : NULL;
	size_t lines = gmt_full_screen_lines();

	if (!target)
		write_text(screen, "none of your processes is being recorded; waiting for one",
			GMT_CONSOLE_NORMAL);
	else if (!target->has_view)
		gmt_console_text(&screen->line, target->error.text);
	if (target && target->has_view) {
		const struct gmt_live_process process = gmt_live_target_process(target, &top->choice);
		unsigned curve_rows = lines >= CURVE_FROM_LINES ? CURVE_ROWS : CURVE_ROWS / 2;
		size_t others = OTHER_LINES - CURVE_ROWS + curve_rows + target->view.devices.count;
		const struct gmt_live_text_options options = {
			.max_lines = lines > others + 3 ? lines - others : 3,
			.first_line = top->first_line,
			.curve_rows = curve_rows,
		};

		gmt_live_text(screen, &process, &options);
	} else {
		gmt_screen_end_line(screen, GMT_CONSOLE_NORMAL);
	}
}

bool gmt_top_screen_show(struct gmt_top *top)
{
	struct gmt_screen screen = {
		.color = gmt_output_enable_color(stdout, (enum gmt_color)top->options->color),
		.is_utf8 = gmt_terminal_is_utf8(),
		.columns = gmt_terminal_columns(stdout),
	};
	char *text = NULL;
	size_t bytes = 0;
	bool done;

	/* Call it each time, because it also brings the screen back after the program was stopped. */
	bool has_changed = gmt_full_screen_has_changed();

	if (top->is_frozen && !has_changed && !top->has_new_choice)
		return true;
	top->has_new_choice = false;
	if (top->shown >= top->targets.count)
		top->shown = top->targets.count ? top->targets.count - 1 : 0;
	screen.file = open_memstream(&text, &bytes);
	if (!screen.file)
		return false;
	done = gmt_screen_init(&screen);
	if (done) {
		write_keys(&screen, top);
		for (size_t i = 0; top->shows_help && i < sizeof(help) / sizeof(*help); i++)
			write_text(&screen, help[i], GMT_CONSOLE_NORMAL);
		if (!top->shows_help)
			write_target(&screen, top);
		done = gmt_screen_fini(&screen);
	}
	done = !fclose(screen.file) && done;
	if (done)
		gmt_full_screen_show(text, screen.columns);
	free(text);
	return done;
}

/* Chooses the next device of the shown target, or after the last device all devices. */
static void choose_next_device(struct gmt_top *top)
{
	const struct gmt_live_target *target =
		top->targets.count ? top->targets.items[top->shown] : NULL;
	size_t next = 0;

	if (!target || !target->has_view)
		return;
	for (size_t i = 0; i < target->view.devices.count; i++)
		if (target->view.devices.items[i].device == top->choice.device)
			next = i + 1;
	top->choice.device = next < target->view.devices.count ? target->view.devices.items[next].device
														   : GMT_LIVE_EVERY_DEVICE;
}

static void choose_next_layer(struct gmt_top *top)
{
	do
		top->choice.layer = (uint8_t)((top->choice.layer + 1) % GMT_ACCOUNTING_LAYERS);
	while (top->choice.layer && !gmt_layer_name(top->choice.layer));
}

static void move(struct gmt_top *top, int lines)
{
	const struct gmt_live_target *target =
		top->targets.count ? top->targets.items[top->shown] : NULL;
	size_t count = target && target->has_view ? target->view.lines.count : 0;

	if (lines < 0)
		top->first_line -= top->first_line < (size_t)-lines ? top->first_line : (size_t)-lines;
	else if (top->first_line + (size_t)lines < count)
		top->first_line += (size_t)lines;
}

static void sort_by(struct gmt_top *top, enum gmt_live_order order)
{
	top->choice.order = order;
	top->first_line = 0;
}

/* Makes the views again, after the choice has changed. */
static void update_views(struct gmt_top *top)
{
	for (size_t i = 0; i < top->targets.count; i++) {
		struct gmt_live_target *target = top->targets.items[i];

		if (target->has_view)
			target->has_view =
				gmt_live_view_make(&target->view, target->follow, &target->names, &top->choice);
	}
}

/* Handles a key. Returns false if the user wants to leave. */
static bool act_on(struct gmt_top *top, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case '<':
	case ',':
	case GMT_KEY_LEFT:
		top->shown -= top->shown > 0;
		top->first_line = 0;
		break;
	case '>':
	case '.':
	case GMT_KEY_RIGHT:
		top->shown += top->shown + 1 < top->targets.count;
		top->first_line = 0;
		break;
	case GMT_KEY_UP:
		move(top, -1);
		break;
	case GMT_KEY_DOWN:
		move(top, 1);
		break;
	case GMT_KEY_PAGE_UP:
		move(top, -PAGE_LINES);
		break;
	case GMT_KEY_PAGE_DOWN:
		move(top, PAGE_LINES);
		break;
	case GMT_KEY_HOME:
		top->first_line = 0;
		break;
	case 'l':
		sort_by(top, GMT_LIVE_BY_LIVE);
		break;
	case 'g':
		sort_by(top, GMT_LIVE_BY_GROWTH);
		break;
	case 'a':
		sort_by(top, GMT_LIVE_BY_ALLOCS);
		break;
	case 't':
		sort_by(top, GMT_LIVE_BY_TOTAL);
		break;
	case 'd':
		choose_next_device(top);
		break;
	case 'y':
		choose_next_layer(top);
		break;
	case ' ':
		top->is_frozen = !top->is_frozen;
		break;
	case 'h':
	case '?':
		top->shows_help = !top->shows_help;
		break;
	}
	top->has_new_choice = true;
	update_views(top);
	return true;
}

bool gmt_top_screen_keys(struct gmt_top *top)
{
	int key;

	while ((key = gmt_full_screen_key()) != GMT_KEY_NONE)
		if (!act_on(top, key))
			return false;
	return true;
}
