/* SPDX-License-Identifier: MIT */
#include "format/encoding/inflate.h"

#ifdef GMT_ISAL

#include <dlfcn.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/*
 * The library is loaded with dlopen when it is needed. So a reader that was copied to another
 * machine runs there too, and commands that read nothing do not load it. The number in the name
 * guarantees that the structures match the headers.
 */
#define LIBRARY "libisal.so.2"

static struct {
	__typeof__(isal_inflate_init) *init;
	__typeof__(isal_inflate_reset) *reset;
	__typeof__(isal_inflate) *inflate;
	__typeof__(crc32_gzip_refl) *checksum;
} library;

/* The parts of a member's header in their order (RFC 1952). */
enum part { FIXED, EXTRA_SIZE, EXTRA, NAME, COMMENT, CHECKSUM, NONE_LEFT };
enum { FIXED_BYTES = 10, METHOD_DEFLATE = 8 };
enum { HAS_CHECKSUM = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16, FLAGS_UNKNOWN = 0xe0 };

struct isal {
	struct inflate_state inflate;
	enum part part;
	uint32_t part_at; /* bytes of this part read so far */
	uint8_t before;   /* the previous byte of the fixed part */
	uint8_t flags;
	uint32_t extra_bytes;
	uint32_t header_crc; /* CRC of the header bytes before the header's checksum */
	uint32_t header_wanted;
	bool is_damaged;  /* output from before the damage may still be in `inflate` */
};

static void *open_isal(struct gmt_arena *memory)
{
	struct isal *isal = gmt_arena_alloc(memory, sizeof(*isal));

	if (isal)
		library.init(&isal->inflate);
	return isal;
}

static void begin_isal(void *state)
{
	struct isal *isal = state;

	library.reset(&isal->inflate);
	/*
	 * With this flag ISA-L checks the member's trailer, but does not parse the header.
	 * read_header_byte parses it, because ISA-L's own parser accepts reserved flags.
	 */
	isal->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER;
	isal->part = FIXED;
	isal->part_at = 0;
	isal->before = isal->flags = 0;
	isal->extra_bytes = 0;
	isal->header_crc = 0;
	isal->header_wanted = 0;
	isal->is_damaged = false;
}

/* Moves to the next part that this header has. */
static void end_part(struct isal *isal)
{
	static const uint8_t flags[] = { [EXTRA_SIZE] = HAS_EXTRA,
		[EXTRA] = HAS_EXTRA,
		[NAME] = HAS_NAME,
		[COMMENT] = HAS_COMMENT,
		[CHECKSUM] = HAS_CHECKSUM };

	isal->part_at = 0;
	do
		isal->part++;
	while (isal->part < NONE_LEFT &&
		(!(isal->flags & flags[isal->part]) || (isal->part == EXTRA && !isal->extra_bytes)));
}

/*
 * Checks bytes in pairs, as zlib does. So a single byte at the end of a file counts as truncated,
 * not as damaged.
 */
static bool is_good_fixed(struct isal *isal, uint8_t byte)
{
	uint8_t before = isal->before;

	isal->before = byte;
	if (isal->part_at == 1)
		return before == 0x1f && byte == 0x8b;
	if (isal->part_at != 3)
		return true;
	isal->flags = byte;
	return before == METHOD_DEFLATE && !(byte & FLAGS_UNKNOWN);
}

/* Processes one byte of the header. Returns false if a gzip file cannot have this byte here. */
static bool read_header_byte(struct isal *isal, uint8_t byte)
{
	bool is_good = true, is_last = false;

	if (isal->part != CHECKSUM)
		isal->header_crc = library.checksum(isal->header_crc, &byte, 1);
	switch (isal->part) {
	case FIXED:
		is_good = is_good_fixed(isal, byte);
		is_last = isal->part_at == FIXED_BYTES - 1;
		break;
	case EXTRA_SIZE:
		isal->extra_bytes |= (uint32_t)byte << 8 * isal->part_at;
		is_last = isal->part_at == 1;
		break;
	case EXTRA:
		is_last = isal->part_at == isal->extra_bytes - 1;
		break;
	case NAME:
	case COMMENT:
		is_last = !byte;
		break;
	default:
		isal->header_wanted |= (uint32_t)byte << 8 * isal->part_at;
		is_last = isal->part_at == 1;
		is_good = !is_last || isal->header_wanted == (isal->header_crc & 0xffff);
	}
	isal->part_at++;
	if (is_last)
		end_part(isal);
	return is_good;
}

/* Copies the output that was produced before the damage but did not fit. */
static void take_made(struct inflate_state *inflate, struct gmt_inflate_bytes *bytes)
{
	size_t made = inflate->tmp_out_valid - inflate->tmp_out_processed;

	if (made > bytes->out_bytes)
		made = bytes->out_bytes;
	memcpy(bytes->out, inflate->tmp_out_buffer + inflate->tmp_out_processed, made);
	inflate->tmp_out_processed += (uint32_t)made;
	bytes->out += made;
	bytes->out_bytes -= made;
}

/* Decompresses. Returns whether the member has ended. */
static bool inflate_more(struct isal *isal, struct gmt_inflate_bytes *bytes)
{
	struct inflate_state *inflate = &isal->inflate;

	inflate->next_in = (uint8_t *)(uintptr_t)bytes->in; /* ISA-L only reads the input */
	inflate->avail_in = (uint32_t)bytes->in_bytes;
	inflate->next_out = bytes->out;
	inflate->avail_out = (uint32_t)bytes->out_bytes;
	isal->is_damaged = library.inflate(inflate) < 0;
	/*
	 * ISA-L stops with both input and output left only at the end of a member, and for some damaged
	 * streams that it does not report.
	 */
	if (inflate->block_state != ISAL_BLOCK_FINISH && inflate->avail_in && inflate->avail_out)
		isal->is_damaged = true;
	*bytes = (struct gmt_inflate_bytes){ inflate->next_in, inflate->avail_in, inflate->next_out,
		inflate->avail_out };
	return inflate->block_state == ISAL_BLOCK_FINISH && !isal->is_damaged;
}

static enum gmt_inflate_answer run_isal(void *state, struct gmt_inflate_bytes *bytes)
{
	struct isal *isal = state;

	for (; isal->part != NONE_LEFT && bytes->in_bytes && !isal->is_damaged;
		bytes->in++, bytes->in_bytes--)
		isal->is_damaged = !read_header_byte(isal, *bytes->in);
	if (!isal->is_damaged && isal->part != NONE_LEFT)
		return GMT_INFLATE_MORE;
	if (!isal->is_damaged && inflate_more(isal, bytes))
		return GMT_INFLATE_ENDED;
	if (isal->is_damaged)
		take_made(&isal->inflate, bytes);
	return isal->is_damaged && bytes->out_bytes ? GMT_INFLATE_DAMAGED : GMT_INFLATE_MORE;
}

static uint32_t checksum_isal(uint32_t crc, const void *bytes, size_t size)
{
	return library.checksum(crc, bytes, size);
}

static const struct gmt_inflater inflater = { "ISA-L", open_isal, begin_isal, run_isal,
	checksum_isal };
static const struct gmt_inflater *found;

static void find(void)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return;
	library.init = (__typeof__(library.init))dlsym(handle, "isal_inflate_init");
	library.reset = (__typeof__(library.reset))dlsym(handle, "isal_inflate_reset");
	library.inflate = (__typeof__(library.inflate))dlsym(handle, "isal_inflate");
	library.checksum = (__typeof__(library.checksum))dlsym(handle, "crc32_gzip_refl");
	if (library.init && library.reset && library.inflate && library.checksum)
		found = &inflater;
}

const struct gmt_inflater *gmt_inflater_isal(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find);
	return found;
}

#else

const struct gmt_inflater *gmt_inflater_isal(void)
{
	return NULL;
}

#endif
