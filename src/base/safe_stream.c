/* SPDX-License-Identifier: MIT */
#include "base/safe_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/safe_text.h"

enum { CHUNK_BYTES = 64 << 10, MAX_HELD_BYTES = 8, MESSAGE_BYTES = 8 << 10 };

struct stream {
	struct stream *next;
	FILE *file;
	int fd;
	bool is_raw; /* each byte is written as it is */
	bool has_styles;
	int why; /* errno of the first failed write; 0: no write failed */
	/* Number of bytes held at the beginning of `bytes`: an incomplete character or style. */
	size_t held;
	unsigned char bytes[MAX_HELD_BYTES + CHUNK_BYTES];
};

static struct stream *streams;

/* The styles that gmt_console_style writes. */
static const char *const styles[] = {
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

static bool write_all(int fd, const unsigned char *at, size_t left)
{
	while (left) {
		ssize_t written = write(fd, at, left);

		if (written > 0) {
			at += written;
			left -= (size_t)written;
		} else if (written < 0 && errno == EAGAIN) {
			/*
			 * The pipe is non-blocking because its creator set that mode. Wait until it accepts
			 * bytes.
			 */
			if (poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1) < 0 && errno != EINTR)
				return false;
		} else if (!(written < 0 && errno == EINTR)) {
			errno = written ? errno : EIO;
			return false;
		}
	}
	return true;
}

static bool are_plain(const unsigned char *at, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((at[i] < 0x20 && at[i] != '\n') || at[i] >= 0x7f)
			return false;
	return true;
}

/*
 * Nearly all text is plain, so this tests eight bytes at once. A byte below 0x20 borrows from the
 * high bit, 0x7f carries into it, and larger bytes have it set. A carry from the previous byte can
 * only cause a slower test of the eight bytes one by one.
 */
static bool is_plain(const unsigned char *at, size_t length)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	for (; length >= sizeof(uint64_t); at += sizeof(uint64_t), length -= sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		if (((word - 0x20 * ones) | word | (word + ones)) & 0x80 * ones &&
			!are_plain(at, sizeof(word)))
			return false;
	}
	return are_plain(at, length);
}

/*
 * Returns the length of the style at `at`; 0: no style. *ret_may_be: the bytes may be the beginning
 * of a style.
 */
static size_t style_length(const unsigned char *at, size_t left, bool *ret_may_be)
{
	*ret_may_be = false;
	for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
		size_t length = strlen(styles[i]);

		if (left >= length && memcmp(at, styles[i], length) == 0)
			return length;
		*ret_may_be |= left < length && memcmp(at, styles[i], left) == 0;
	}
	return 0;
}

/* Returns whether the bytes are the beginning of one UTF-8 character. */
static bool is_begin(const unsigned char *at, size_t left)
{
	size_t length = *at >= 0xf0 && *at <= 0xf4 ? 4
		: *at >= 0xe0 && *at <= 0xef           ? 3
		: *at >= 0xc2 && *at <= 0xdf           ? 2
											   : 0;

	for (size_t i = 1; i < left && i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return false;
	return left < length;
}

/*
 * Makes the first `length` bytes safe in place. The text may become shorter. Returns the new
 * length. The *ret_held bytes after it wait for more input; at the end of the text it is 0.
 */
static size_t make_safe(struct stream *stream, size_t length, bool is_end, size_t *ret_held)
{
	unsigned char *at = stream->bytes, *end = at + length, *to = at;

	*ret_held = 0;
	while (at < end) {
		size_t left = (size_t)(end - at), skip = 1, taken;
		bool may_be_style = false;

		if (*at == '\n')
			taken = 1;
		else if (*at == 033 && stream->has_styles)
			taken = style_length(at, left, &may_be_style);
		else
			taken = gmt_safe_character_length(at, left, &skip);
		if (!taken && !is_end && (may_be_style || is_begin(at, left))) {
			*ret_held = left;
			memmove(to, at, left);
			break;
		}
		if (taken)
			memmove(to, at, taken);
		else
			*to = '?';
		to += taken ? taken : 1;
		at += taken ? taken : skip;
	}
	return (size_t)(to - stream->bytes);
}

static bool send_all(struct stream *stream, const unsigned char *bytes, size_t length)
{
	bool done = write_all(stream->fd, bytes, length);

	if (!done && !stream->why)
		stream->why = errno;
	return done;
}

static bool put(struct stream *stream, const char *bytes, size_t length, bool is_end)
{
	size_t safe, held;

	if (stream->is_raw || (!stream->held && is_plain((const unsigned char *)bytes, length)))
		return send_all(stream, (const unsigned char *)bytes, length);
	memcpy(stream->bytes + stream->held, bytes, length);
	safe = make_safe(stream, stream->held + length, is_end, &held);
	if (!send_all(stream, stream->bytes, safe)) {
		stream->held = 0;
		return false;
	}
	memmove(stream->bytes, stream->bytes + safe, held);
	stream->held = held;
	return true;
}

static ssize_t on_write(void *cookie, const char *bytes, size_t length)
{
	for (size_t done = 0, part; done < length; done += part) {
		part = length - done < CHUNK_BYTES ? length - done : CHUNK_BYTES;
		/* A cookie stream reports failure by returning 0. */
		if (!put(cookie, bytes + done, part, false))
			return 0;
	}
	return (ssize_t)length;
}

static int on_close(void *cookie)
{
	struct stream *stream = cookie;
	bool done = put(stream, "", 0, true) && !stream->why;
	int why = stream->why;

	for (struct stream **at = &streams; *at; at = &(*at)->next)
		if (*at == stream) {
			*at = stream->next;
			break;
		}
	if (close(stream->fd) && done) {
		done = false;
		why = errno;
	}
	free(stream);
	errno = why;
	return done ? 0 : -1;
}

static FILE *open_stream(int fd, bool is_raw)
{
	struct stream *stream = malloc(sizeof(*stream));
	FILE *file;

	if (!stream)
		return NULL;
	file =
		fopencookie(stream, "w", (cookie_io_functions_t){ .write = on_write, .close = on_close });
	if (!file) {
		free(stream);
		return NULL;
	}
	stream->next = streams;
	stream->file = file;
	stream->fd = fd;
	stream->is_raw = is_raw;
	stream->has_styles = false;
	stream->why = 0;
	stream->held = 0;
	streams = stream;
	setvbuf(file, NULL, isatty(fd) ? _IOLBF : _IOFBF, CHUNK_BYTES);
	return file;
}

FILE *gmt_safe_stream_open(int fd)
{
	return open_stream(fd, false);
}

FILE *gmt_safe_stream_open_raw(int fd)
{
	return open_stream(fd, true);
}

bool gmt_safe_stream_install(void)
{
	FILE *out = gmt_safe_stream_open(STDOUT_FILENO), *err = gmt_safe_stream_open(STDERR_FILENO);

	if (!out || !err)
		return false;
	/* Write each line of a message in one call, so that lines of several processes do not mix. */
	setvbuf(err, NULL, _IOLBF, MESSAGE_BYTES);
	stdout = out;
	stderr = err;
	return true;
}

static struct stream *find(const FILE *file)
{
	struct stream *stream = streams;

	while (stream && stream->file != file)
		stream = stream->next;
	return stream;
}

int gmt_safe_stream_descriptor(FILE *file)
{
	const struct stream *stream = find(file);

	return stream ? stream->fd : -1;
}

void gmt_safe_stream_allow_styles(FILE *file)
{
	struct stream *stream = find(file);

	if (stream)
		stream->has_styles = true;
}

void gmt_safe_stream_progress(const char *text)
{
	char line[256];
	int length = snprintf(line, sizeof(line), "\r%.200s\033[K%s", text, *text ? "" : "\r");

	fflush(stderr);
	write_all(STDERR_FILENO, (const unsigned char *)line, (size_t)length);
}

void gmt_safe_stream_command(enum gmt_terminal_command command)
{
	static const char *const sequences[] = {
		[GMT_TERMINAL_ENTER] = "\033[?1049h\033[?25l\033[2J",
		[GMT_TERMINAL_HOME] = "\033[H",
		[GMT_TERMINAL_CLEAR_BELOW] = "\033[J",
		[GMT_TERMINAL_LEAVE] = "\033[?25h\033[?1049l",
	};
	const char *sequence = sequences[command];

	if (command != GMT_TERMINAL_LEAVE)
		fflush(stdout);
	write_all(STDOUT_FILENO, (const unsigned char *)sequence, strlen(sequence));
}
