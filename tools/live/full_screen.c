/* SPDX-License-Identifier: MIT */
#include "tools/live/full_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/safe_stream.h"
#include "render/lines/text_columns.h"

enum { LEAST_LINES = 10, LINES = 24, MAX_SEQUENCE_BYTES = 8 };

static struct termios before; /* the terminal's modes before the screen */
static volatile sig_atomic_t is_on, has_changed;

bool gmt_full_screen_is_possible(void)
{
	const char *terminal = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal && *terminal &&
		strcmp(terminal, "dumb") != 0;
}

/* Safe in a signal handler. */
static void leave(void)
{
	if (!is_on)
		return;
	is_on = 0;
	gmt_safe_stream_command(GMT_TERMINAL_LEAVE);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static bool enter(void)
{
	struct termios modes = before;

	/* The program gets each key at once, and the terminal does not show it. Ctrl-C still works. */
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	modes.c_cc[VMIN] = 0;
	modes.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &modes))
		return false;
	is_on = 1;
	has_changed = 1;
	gmt_safe_stream_command(GMT_TERMINAL_ENTER);
	return true;
}

static void set_handler(int number, void (*handle)(int), int flags)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

/* The signal ends or stops the program, as it would without the screen. */
static void on_end(int number)
{
	int error_number = errno;

	leave();
	set_handler(number, SIG_DFL, 0);
	raise(number);
	/* The program continues here only after a signal that stopped it. */
	has_changed = 1;
	errno = error_number;
}

static void on_change(int number)
{
	(void)number;
	has_changed = 1;
}

bool gmt_full_screen_begin(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };

	if (tcgetattr(STDIN_FILENO, &before) || !enter())
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		set_handler(ends[i], on_end, SA_NODEFER);
	set_handler(SIGWINCH, on_change, 0);
	set_handler(SIGCONT, on_change, 0);
	return true;
}

bool gmt_full_screen_has_changed(void)
{
	bool changed = has_changed;

	/* The program continues after SIGTSTP. */
	if (changed && !is_on && enter())
		set_handler(SIGTSTP, on_end, SA_NODEFER);
	has_changed = 0;
	return changed;
}

size_t gmt_full_screen_lines(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
		return LINES;
	return size.ws_row < LEAST_LINES ? LEAST_LINES : size.ws_row;
}

void gmt_full_screen_show(const char *text, size_t columns)
{
	size_t lines = gmt_full_screen_lines();

	gmt_safe_stream_command(GMT_TERMINAL_HOME);
	/* The last line stays free: a line feed there would move the text up. */
	for (size_t i = 0; *text && i + 1 < lines; i++) {
		const char *end = strchrnul(text, '\n');
		size_t used = gmt_columns_count(text, end);

		fwrite(text, 1, (size_t)(end - text), stdout);
		/* Spaces overwrite the rest of the old line. */
		fprintf(stdout, "%*s\n", used < columns ? (int)(columns - used) : 0, "");
		text = *end ? end + 1 : end;
	}
	gmt_safe_stream_command(GMT_TERMINAL_CLEAR_BELOW);
}

/* Returns the next byte of the keyboard; -1: no byte came within `wait_ms`. */
static int next_byte(int wait_ms)
{
	struct pollfd keyboard = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned char byte;
	ssize_t got;

	if (poll(&keyboard, 1, wait_ms) != 1)
		return -1;
	got = read(STDIN_FILENO, &byte, 1);
	/* The terminal is gone. */
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		return 'q';
	return got == 1 ? byte : -1;
}

/* The sequences that terminals send for keys, after the escape character. */
static const struct {
	const char *sequence;
	int key;
} sequences[] = {
	{ "[A", GMT_KEY_UP },
	{ "OA", GMT_KEY_UP },
	{ "[B", GMT_KEY_DOWN },
	{ "OB", GMT_KEY_DOWN },
	{ "[C", GMT_KEY_RIGHT },
	{ "OC", GMT_KEY_RIGHT },
	{ "[D", GMT_KEY_LEFT },
	{ "OD", GMT_KEY_LEFT },
	{ "[5~", GMT_KEY_PAGE_UP },
	{ "[6~", GMT_KEY_PAGE_DOWN },
	{ "[H", GMT_KEY_HOME },
	{ "[1~", GMT_KEY_HOME },
};

int gmt_full_screen_key(void)
{
	enum { ESCAPE = 27, ESCAPE_WAIT_MS = 20 };
	char sequence[MAX_SEQUENCE_BYTES] = "";
	int byte = next_byte(0);

	if (byte != ESCAPE)
		return byte < 0 ? GMT_KEY_NONE : byte;
	for (size_t length = 0; length + 1 < sizeof(sequence); length++) {
		byte = next_byte(ESCAPE_WAIT_MS);
		if (byte < 0)
			break;
		sequence[length] = (char)byte;
		for (size_t i = 0; i < sizeof(sequences) / sizeof(*sequences); i++)
			if (strcmp(sequence, sequences[i].sequence) == 0)
				return sequences[i].key;
	}
	return GMT_KEY_NONE;
}

void gmt_full_screen_end(void)
{
	fflush(stdout);
	leave();
}
