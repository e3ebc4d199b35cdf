/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_TEXT_H
#define GMT_BASE_TEXT_H

/*
 * Converts numbers to text for users, and back. No state, no allocation, no locale: safe in any
 * thread, also in the recorder (snprintf of integers neither locks nor allocates).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gmt_text {
	char text[32];
};

/*
 * Formats a size in IEC units with three significant digits, exact below 1 KiB: "0 B", "512 B",
 * "1.50 KiB", "79.6 GiB".
 */
struct gmt_text gmt_text_size(uint64_t bytes);

/* Formats a count: "1,234,567". */
struct gmt_text gmt_text_count(uint64_t count);

/* Formats a duration: "812 ns", "3.42 ms", "12.3 s", "4 min 05 s", "2 h 03 min". */
struct gmt_text gmt_text_duration(uint64_t time_ns);

/*
 * Reads a whole number of bytes: digits, then optionally K, M, G, T, P or E, then optionally B or
 * iB. All units are powers of 1024. One space may follow the digits. Returns false if `text` is
 * anything else or too large.
 */
bool gmt_text_parse_size(const char *text, uint64_t *ret_bytes);

/*
 * Reads a time: "4s", "1.5 s", "250ms", "3min". Without a unit, nanoseconds; then no fraction is
 * allowed. Units: ns, us, ms, s, min, h. Rounds down to nanoseconds. Returns false if `text` is
 * anything else or too large.
 */
bool gmt_text_parse_time(const char *text, uint64_t *ret_time_ns);

/* Reads a whole unsigned decimal number. Returns false if `text` contains anything else. */
bool gmt_text_parse_u64(const char *text, uint64_t *ret_value);

/*
 * Returns the length in bytes of the valid UTF-8 character at `at`; 0: invalid. `left` must be at
 * least 1.
 */
size_t gmt_text_utf8_length(const unsigned char *at, size_t left);

/* Returns the code point of the character at `at`, whose length is from gmt_text_utf8_length. */
uint32_t gmt_text_utf8_code_point(const unsigned char *at, size_t length);

/*
 * Returns how many bytes of a text of `length` bytes fit into `max_bytes` (4 or more). Cuts no
 * UTF-8 character in two. Text that is not UTF-8 is cut anywhere.
 */
size_t gmt_text_cut_length(const char *text, size_t length, size_t max_bytes);

/* Returns the last part of a path; the whole path if it ends with a slash. */
const char *gmt_text_base_name(const char *path);

/*
 * Copies a text into an array of `bytes` (5 or more). A text that does not fit loses its end, but
 * no part of a UTF-8 character.
 */
void gmt_text_copy(char *ret_copy, size_t bytes, const char *text);

/*
 * Returns the longest end of `text` that has at most `max_bytes` bytes and does not begin in the
 * middle of a UTF-8 character. Points into `text`.
 */
const char *gmt_text_tail(const char *text, size_t max_bytes);

#endif
