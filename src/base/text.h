/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_TEXT_H
#define GMT_BASE_TEXT_H

/*
 * Numbers to text for people and back. No state, no allocation, no locale: safe in any thread, also
 * in the shim (snprintf of integers neither locks nor allocates).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gmt_text {
	char text[32];
};

/* IEC units with three significant digits, exact below 1 KiB: "0 B", "512 B", "1.50 KiB", "79.6 GiB". */
struct gmt_text gmt_text_size(uint64_t bytes);

/* "1,234,567" */
struct gmt_text gmt_text_count(uint64_t count);

/* "812 ns", "3.42 ms", "12.3 s", "4 min 05 s", "2 h 03 min" */
struct gmt_text gmt_text_duration(uint64_t time_ns);

/*
 * Reads a whole number of bytes: digits, then nothing or K, M, G, T with or without B or iB, all
 * powers of 1024; a space may stand between. False when `text` is anything else or too large.
 */
bool gmt_text_parse_size(const char *text, uint64_t *ret_bytes);

/* Reads a whole unsigned decimal number and nothing else. */
bool gmt_text_parse_u64(const char *text, uint64_t *ret_value);

/* How many bytes at `at` are one character of valid UTF-8; 0: none. At least one byte is there. */
size_t gmt_text_utf8_length(const unsigned char *at, size_t left);

#endif
