/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_LIVE_FULL_SCREEN_H
#define GMT_TOOLS_LIVE_FULL_SCREEN_H

/*
 * The screen of `top`: fills the terminal, and reads its keys. After the end of the screen, and
 * after a signal that ends or stops the program, the terminal is as before. State of the process;
 * for one thread.
 */

#include <stdbool.h>
#include <stddef.h>

/* Keys that are not characters. */
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
 * Replaces the content of the screen by `text`, whose lines have at most `columns` columns. The
 * text may have styles. The caller has escaped texts from recordings.
 */
void gmt_full_screen_show(const char *text, size_t columns);

/*
 * Returns the next key: a character, a GMT_KEY_ constant, or GMT_KEY_NONE. Does not wait. Returns
 * 'q' at the end of input.
 */
int gmt_full_screen_key(void);

/*
 * Returns whether, since the last call, the terminal has another size or the program continues
 * after a stop. In both cases the caller shows the screen again.
 */
bool gmt_full_screen_has_changed(void);

/* Ends the screen. Does nothing if the screen has not begun. */
void gmt_full_screen_end(void);

#endif
