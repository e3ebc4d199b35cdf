/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_LIVE_FULL_SCREEN_H
#define GMT_TOOLS_LIVE_FULL_SCREEN_H

/*
 * The terminal as a screen that `top` fills, and its keys. The terminal is as before after the end,
 * also after a signal that ends or stops the program. One at a time, for one thread.
 */

#include <stdbool.h>
#include <stddef.h>

/* Keys without a character of their own. */
enum {
	GMT_KEY_NONE = 0,
	GMT_KEY_UP = 256,
	GMT_KEY_DOWN,
	GMT_KEY_LEFT,
	GMT_KEY_RIGHT,
	GMT_KEY_PAGE_UP,
	GMT_KEY_PAGE_DOWN,
	GMT_KEY_HOME,
};

/* Returns whether stdin and stdout are a terminal that can show a screen. */
bool gmt_full_screen_is_possible(void);

/* Begins the screen. Returns false if the terminal refuses. */
bool gmt_full_screen_begin(void);

/* Returns the number of lines of the terminal. */
size_t gmt_full_screen_lines(void);

/*
 * Shows a text of lines, each at most `columns` wide, in place of what the screen shows. The text
 * may have styles, and its foreign text was made safe.
 */
void gmt_full_screen_show(const char *text, size_t columns);

/*
 * Returns the next key of the keyboard, or GMT_KEY_NONE. Does not wait. Returns 'q' at the end of
 * input.
 */
int gmt_full_screen_key(void);

/*
 * Returns whether the terminal has changed its size, or shows the program again, since the last
 * call.
 */
bool gmt_full_screen_has_changed(void);

/* Ends the screen. May be called without a begin. */
void gmt_full_screen_end(void);

#endif
