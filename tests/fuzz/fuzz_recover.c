/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the recovery of the memory that a killed recorder left. A recorder's memory is large and
 * an input is small, so the input describes the content of each part:
 *
 * - bytes of preamble, journal and depot (3 x u16), slots (u8), patches (u8), flags (u8),
 *   reserved (u8)
 * - patches of the header: offset (u16), value (u8)
 * - the parts
 * - the rings
 *
 * The target makes a header for these, and patches it. With flag 1 it corrects the checksums of
 * blocks. With flag 2 it corrects the rings' own headers.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "content.h"
#include "format/encoding/decode_rows.h"
#include "shared_memory/shared_recording_reader.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	HEAD_BYTES = 10,
	PATCH_BYTES = 3,
	CAPACITY = 4,
	SLOTS_MOST = 4,
	FLAG_CHECKSUMS = 1,
	FLAG_RINGS = 2,
	LINE = 64,
	STRIDE = sizeof(struct gmt_ring) + CAPACITY * sizeof(struct gmt_ring_event)
};

static char path[] = "/dev/shm/gmt-fuzz-XXXXXX"; /* of memory, and a file: no link is opened */

static void take_away(void)
{
	unlink(path);
}

static int file(void)
{
	static int fd = -1;

	if (fd < 0) {
		fd = mkstemp(path);
		if (fd < 0 || atexit(take_away))
			abort();
	}
	return fd;
}

static size_t whole_lines(size_t bytes)
{
	return (bytes + LINE - 1) & ~(size_t)(LINE - 1);
}

static size_t whole_words(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static uint16_t get_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

/* Takes the next part of the input, of at most `want` bytes. */
static const uint8_t *take(const uint8_t **at, const uint8_t *end, size_t want, size_t *ret_bytes)
{
	const uint8_t *part = *at;

	*ret_bytes = want < (size_t)(end - part) ? want : (size_t)(end - part);
	*at += *ret_bytes;
	return part;
}

static void repair_journal(uint8_t *journal, size_t bytes)
{
	struct gmt_journal_entry entry;

	for (size_t at = 0; at < bytes && bytes - at >= sizeof(entry);
		at += whole_words(entry.length)) {
		memcpy(&entry, journal + at, sizeof(entry));
		at += sizeof(entry);
		if (entry.length > bytes - at)
			break;
		if (entry.kind == GMT_JOURNAL_BLOCK)
			fuzz_repair_blocks(journal + at, entry.length);
	}
}

static void make_header(struct gmt_shared_recording_header *header, const uint64_t offsets[4],
	uint32_t slots, uint64_t bytes)
{
	memcpy(header->magic, GMT_SHARED_RECORDING_MAGIC, sizeof(header->magic));
	header->version = GMT_SHARED_RECORDING_VERSION;
	header->slots = slots;
	atomic_store(&header->slots_used, slots);
	header->size_bytes = bytes;
	header->preamble_offset = offsets[0], header->preamble_bytes = offsets[1] - offsets[0];
	header->journal_offset = offsets[1], header->journal_bytes = offsets[2] - offsets[1];
	header->depot_offset = offsets[2], header->depot_bytes = offsets[3] - offsets[2];
	header->rings_offset = offsets[3], header->ring_stride = STRIDE;
	for (uint32_t i = 0; i < slots; i++)
		atomic_store(&header->slot_states[i], GMT_SLOT_OWNED);
}

/* Returns the memory that the input describes, from malloc. */
static uint8_t *build(const uint8_t *data, size_t size, size_t *ret_bytes)
{
	const uint8_t *at = data + HEAD_BYTES, *end = data + size, *patches, *parts[3], *rings;
	size_t patch_bytes, part_bytes[3], ring_bytes,
		heads[3] = {
			sizeof(struct gmt_shared_recording_preamble),
			sizeof(struct gmt_shared_recording_journal),
			sizeof(struct gmt_depot_head),
		};
	uint64_t offsets[4];
	uint32_t slots = data[6] % (SLOTS_MOST + 1);
	uint8_t *memory;

	patches = take(&at, end, (size_t)data[7] * PATCH_BYTES, &patch_bytes);
	offsets[0] = whole_lines(sizeof(struct gmt_shared_recording_header));
	for (int i = 0; i < 3; i++) {
		parts[i] = take(&at, end, get_u16(data + 2 * i), &part_bytes[i]);
		offsets[i + 1] = offsets[i] + whole_lines(heads[i] + part_bytes[i]);
	}
	rings = take(&at, end, slots * STRIDE, &ring_bytes);
	*ret_bytes = offsets[3] + slots * STRIDE;
	memory = aligned_alloc(LINE, whole_lines(*ret_bytes));
	if (!memory)
		abort();
	memset(memory, 0, *ret_bytes);

	for (int i = 0; i < 3; i++)
		if (part_bytes[i])
			memcpy(memory + offsets[i] + heads[i], parts[i], part_bytes[i]);
	if (ring_bytes)
		memcpy(memory + offsets[3], rings, ring_bytes);
	atomic_store(&((struct gmt_shared_recording_preamble *)(memory + offsets[0]))->used_bytes,
		part_bytes[0]);
	atomic_store(&((struct gmt_shared_recording_journal *)(memory + offsets[1]))->used_bytes,
		part_bytes[1]);
	atomic_store(&((struct gmt_depot_head *)(memory + offsets[2]))->used_bytes,
		heads[2] + part_bytes[2]);
	if (data[8] & FLAG_CHECKSUMS) {
		fuzz_repair_blocks(memory + offsets[0] + heads[0], part_bytes[0]);
		repair_journal(memory + offsets[1] + heads[1], part_bytes[1]);
	}
	for (uint32_t i = 0; i < slots && data[8] & FLAG_RINGS; i++) {
		struct gmt_ring *ring = (struct gmt_ring *)(memory + offsets[3] + i * STRIDE);

		atomic_store(&ring->magic, GMT_RING_MAGIC);
		ring->capacity = CAPACITY;
	}

	make_header((struct gmt_shared_recording_header *)memory, offsets, slots, *ret_bytes);
	for (size_t i = 0; i + PATCH_BYTES <= patch_bytes; i += PATCH_BYTES)
		memory[get_u16(patches + i) % sizeof(struct gmt_shared_recording_header)] = patches[i + 2];
	return memory;
}

static void store(const uint8_t *memory, size_t bytes)
{
	if (pwrite(file(), memory, bytes, 0) != (ssize_t)bytes || ftruncate(file(), (off_t)bytes))
		abort();
}

/* Recovers all events of the memory. */
static void recover(struct gmt_shared_recording *shared_recording)
{
	struct gmt_source *source;
	struct gmt_decoder decoder = { 0 };
	struct gmt_error error = { 0 };
	struct gmt_block block;
	enum gmt_status status;
	const void *rows;
	uint64_t events = 0;

	if (gmt_source_open_with(NULL, shared_recording, &source, &error))
		abort();
	while (!(status = gmt_source_next(source, &block, &error))) {
		/* The reader would treat a block that does not decode as damage, and stop there. */
		if (!gmt_record_info(block.kind))
			continue;
		if (gmt_decode_rows(&decoder, &block, &rows, &error))
			abort();
		if (block.kind == GMT_RECORD_EVENT)
			events += block.rows;
	}
	if (status != GMT_END)
		abort(); /* there is always an end */
	if (gmt_source_recovered(source).events != events)
		abort();
	gmt_decoder_fini(&decoder);
	gmt_source_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_shared_recording *shared_recording;
	struct gmt_error error = { 0 };
	uint8_t *memory;
	size_t bytes;

	if (size < HEAD_BYTES)
		return 0;
	memory = build(data, size, &bytes);
	store(memory, bytes);
	free(memory);
	if (gmt_shared_recording_open(path, &shared_recording, &error)) {
		if (!*error.text || shared_recording)
			abort();
		return 0;
	}
	recover(shared_recording);
	gmt_shared_recording_close(shared_recording);
	return 0;
}
