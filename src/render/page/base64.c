/* SPDX-License-Identifier: MIT */
#include "render/page/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Writes a group of `count` bytes (1 to 3) as four characters. */
static void put_group(FILE *file, const unsigned char *bytes, unsigned count)
{
	unsigned group = (unsigned)bytes[0] << 16 | (count > 1 ? (unsigned)bytes[1] << 8 : 0) |
		(count > 2 ? bytes[2] : 0);

	putc_unlocked(digits[group >> 18], file);
	putc_unlocked(digits[group >> 12 & 63], file);
	putc_unlocked(count > 1 ? digits[group >> 6 & 63] : '=', file);
	putc_unlocked(count > 2 ? digits[group & 63] : '=', file);
}

bool gmt_base64_take(void *user, const unsigned char *bytes, size_t length)
{
	struct gmt_base64 *base64 = user;

	while (length && base64->rest_count) {
		base64->rest[base64->rest_count++] = *bytes++;
		length--;
		if (base64->rest_count == 3) {
			put_group(base64->file, base64->rest, 3);
			base64->rest_count = 0;
		}
	}
	for (; length >= 3; bytes += 3, length -= 3)
		put_group(base64->file, bytes, 3);
	while (length--)
		base64->rest[base64->rest_count++] = *bytes++;
	return true;
}

void gmt_base64_end(struct gmt_base64 *base64)
{
	if (base64->rest_count)
		put_group(base64->file, base64->rest, base64->rest_count);
	base64->rest_count = 0;
}
