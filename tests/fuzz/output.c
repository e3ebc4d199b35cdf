/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/safe_text.h"

enum { DEPTH = 256 };

struct reader {
	enum fuzz_form form;
	FILE *file;
	unsigned char rest[4]; /* the beginning of a character */
	size_t rest_length;
	/* JSON */
	char brackets[DEPTH];
	unsigned depth;
	bool in_string, after_backslash;
	bool has_value; /* a comma or an end may follow */
	bool in_word;
};

static struct reader readers[FUZZ_FORMS];

static void demand(bool holds, const struct reader *reader, const char *what)
{
	static const char *const names[] = { "text", "JSON", "XML" };

	if (holds)
		return;
	fprintf(stderr, "fuzz: in %s: %s\n", names[reader->form], what);
	abort();
}

static void close_bracket(struct reader *reader, char open)
{
	demand(reader->depth && reader->brackets[reader->depth - 1] == open, reader,
		"brackets do not match");
	reader->depth--;
	reader->has_value = true;
}

static void read_string(struct reader *reader, unsigned char byte)
{
	if (reader->after_backslash) {
		demand(strchr("\"\\/bfnrtu", byte), reader, "an unknown escape");
		reader->after_backslash = false;
	} else if (byte == '\\') {
		reader->after_backslash = true;
	} else if (byte == '"') {
		reader->in_string = false;
		reader->has_value = true;
	} else {
		demand(byte >= 0x20, reader, "a control character in a string");
	}
}

/* The kinds of bytes in JSON outside of strings. */
enum class { STRANGE, BLANK, WORD, QUOTE, OPENS, CLOSES, SEPARATES };

static const unsigned char classes[256] = {
	[' '] = BLANK,
	['\n'] = BLANK,
	['"'] = QUOTE,
	['{'] = OPENS,
	['['] = OPENS,
	['}'] = CLOSES,
	[']'] = CLOSES,
	[','] = SEPARATES,
	[':'] = SEPARATES,
	['t'] = WORD,
	['r'] = WORD,
	['u'] = WORD,
	['e'] = WORD,
	['f'] = WORD,
	['a'] = WORD,
	['l'] = WORD,
	['s'] = WORD,
	['n'] = WORD,
	['0'] = WORD,
	['1'] = WORD,
	['2'] = WORD,
	['3'] = WORD,
	['4'] = WORD,
	['5'] = WORD,
	['6'] = WORD,
	['7'] = WORD,
	['8'] = WORD,
	['9'] = WORD,
	['+'] = WORD,
	['-'] = WORD,
	['.'] = WORD,
	['E'] = WORD,
};

static void read_json(struct reader *reader, unsigned char byte)
{
	enum class class = (enum class)classes[byte];

	if (reader->in_string) {
		read_string(reader, byte);
		return;
	}
	if (class == WORD) {
		demand(reader->in_word || !reader->has_value || !reader->depth, reader,
			"two values without a comma");
		reader->in_word = reader->has_value = true;
		return;
	}
	reader->in_word = false;
	switch (class) {
	case BLANK:
		break;
	case QUOTE:
		demand(!reader->has_value || !reader->depth, reader, "a string behind a value");
		reader->in_string = true;
		break;
	case OPENS:
		demand(reader->depth < DEPTH, reader, "too deep");
		reader->brackets[reader->depth++] = (char)byte;
		reader->has_value = false;
		break;
	case CLOSES:
		close_bracket(reader, byte == '}' ? '{' : '[');
		break;
	case SEPARATES:
		demand(reader->has_value && reader->depth, reader, "a comma or colon without a value");
		reader->has_value = false;
		break;
	default:
		demand(false, reader, "a byte that JSON has not");
	}
}

static void check_character(struct reader *reader, const unsigned char *at, size_t length)
{
	size_t skip;

	demand(*at == '\n' || gmt_safe_character_length(at, length, &skip) == length, reader,
		"a character that no terminal must see");
	if (reader->form == FUZZ_JSON)
		for (size_t i = 0; i < length; i++)
			read_json(reader, at[i]);
}

/* Returns how many of the next bytes are plain ASCII and keep the state: nearly all of them. */
static size_t plain_length(const struct reader *reader, const char *bytes, size_t size)
{
	bool is_json = reader->form == FUZZ_JSON;
	size_t length = 0;

	if (reader->rest_length || (is_json && (!reader->in_string || reader->after_backslash)))
		return 0;
	while (length < size &&
		((bytes[length] >= 0x20 && bytes[length] < 0x7f) || (bytes[length] == '\n' && !is_json)) &&
		!(is_json && (bytes[length] == '"' || bytes[length] == '\\')))
		length++;
	return length;
}

static ssize_t take(void *cookie, const char *bytes, size_t size)
{
	struct reader *reader = cookie;

	for (size_t i = plain_length(reader, bytes, size); i < size;
		i += 1 + plain_length(reader, bytes + i + 1, size - i - 1)) {
		unsigned char first;

		reader->rest[reader->rest_length++] = (unsigned char)bytes[i];
		first = reader->rest[0];
		if (reader->rest_length ==
			(first < 0xc0          ? 1u
					: first < 0xe0 ? 2u
					: first < 0xf0 ? 3u
								   : 4u)) {
			check_character(reader, reader->rest, reader->rest_length);
			reader->rest_length = 0;
		}
	}
	return (ssize_t)size;
}

FILE *fuzz_output(enum fuzz_form form)
{
	struct reader *reader = &readers[form];

	if (!reader->file) {
		reader->form = form;
		reader->file = fopencookie(reader, "w", (cookie_io_functions_t){ .write = take });
		if (!reader->file)
			abort();
	}
	return reader->file;
}

void fuzz_output_end(enum fuzz_form form)
{
	struct reader *reader = &readers[form];

	fflush(reader->file);
	demand(!reader->rest_length, reader, "it ends within a character");
	demand(!reader->depth && !reader->in_string, reader, "it ends within a value");
	reader->has_value = reader->in_word = false;
}
