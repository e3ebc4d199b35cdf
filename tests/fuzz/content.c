/* SPDX-License-Identifier: MIT */
#include "content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

#include "format/format.h"
#include "format/encoding/little_endian.h"

bool fuzz_is_thorough;

enum { STORED_MOST = 65535 }; /* largest size of a stored block of deflate */

void fuzz_repair_blocks(uint8_t *blocks, size_t size)
{
	size_t at = 0;

	while (size - at >= GMT_BLOCK_HEADER_BYTES) {
		uint32_t length = gmt_get_u32(blocks + at + 8);

		if (length > size - at - GMT_BLOCK_HEADER_BYTES) {
			length = (uint32_t)(size - at - GMT_BLOCK_HEADER_BYTES);
			gmt_put_u32(blocks + at + 8, length);
		}

		uLong crc = crc32(0, blocks + at, 12);
		crc = crc32(crc, blocks + at + GMT_BLOCK_HEADER_BYTES, length);
		gmt_put_u32(blocks + at + 12, (uint32_t)crc);
		at += GMT_BLOCK_HEADER_BYTES + length;
	}
}

void fuzz_repair(uint8_t *content, size_t size)
{
	if (size < GMT_FILE_HEADER_BYTES)
		return;
	memcpy(content, GMT_FORMAT_MAGIC "\1\0\0\0\0\0\0\0", 16);
	gmt_put_u32(content + 16, (uint32_t)crc32(0, content, 16));
	fuzz_repair_blocks(content + GMT_FILE_HEADER_BYTES, size - GMT_FILE_HEADER_BYTES);
}

static void append(int fd, const void *bytes, size_t size)
{
	for (const char *at = bytes; size;) {
		ssize_t written = write(fd, at, size);

		if (written <= 0)
			abort();
		at += written;
		size -= (size_t)written;
	}
}

static int file_of(unsigned slot, char ret_path[FUZZ_PATH_BYTES])
{
	static int files[2]; /* descriptor + 1 */

	if (!files[slot])
		files[slot] = memfd_create("input", MFD_CLOEXEC) + 1;
	if (!files[slot] || lseek(files[slot] - 1, 0, SEEK_SET))
		abort();
	snprintf(ret_path, FUZZ_PATH_BYTES, "/proc/self/fd/%d", files[slot] - 1);
	return files[slot] - 1;
}

/* Cuts off the rest of a longer earlier input. The file keeps its pages for the next input. */
static void end_file(int fd)
{
	off_t length = lseek(fd, 0, SEEK_CUR);

	if (length < 0 || ftruncate(fd, length))
		abort();
}

void fuzz_store_file(unsigned slot, const uint8_t *bytes, size_t size,
	char ret_path[FUZZ_PATH_BYTES])
{
	int fd = file_of(slot, ret_path);

	append(fd, bytes, size);
	end_file(fd);
}

void fuzz_store(unsigned slot, uint8_t *content, size_t size, char ret_path[FUZZ_PATH_BYTES])
{
	static const uint8_t head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };
	uint8_t piece[5], tail[8];
	int fd = file_of(slot, ret_path);

	fuzz_repair(content, size);
	append(fd, head, sizeof(head));
	for (size_t at = 0; at < size || !size; at += STORED_MOST) {
		size_t length = size - at < STORED_MOST ? size - at : STORED_MOST;

		gmt_put_u32(piece + 1, (uint32_t)(length | ~length << 16));
		piece[0] = at + length == size;
		append(fd, piece, sizeof(piece));
		append(fd, content + at, length);
		if (!size)
			break;
	}
	gmt_put_u32(tail, (uint32_t)crc32(0, content, (uInt)size));
	gmt_put_u32(tail + 4, (uint32_t)size);
	append(fd, tail, sizeof(tail));
	end_file(fd);
}

uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	copy[size] = 0;
	return copy;
}
