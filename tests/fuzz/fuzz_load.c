/* SPDX-License-Identifier: MIT */
/*
 * Everything that `report`, `info` and `dump` do, for a snapshot with any content. The input is what a
 * snapshot holds inside gzip; checksums are put right first, so that mutations get past them. What must
 * hold for every input: no crash, and sites that sum to their accounts.
 *
 * LLVMFuzzerTestOneInput is libFuzzer's entry; without it, main.c mutates seeds by itself.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "render/dump.h"
#include "render/info.h"
#include "render/report.h"
#include "wire/decode.h"
#include "wire/sink.h"
#include "wire/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_u32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static uint32_t get_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

/* Puts header and checksums right, as far as the content has the shape of blocks. */
static void repair(uint8_t *content, size_t size)
{
	size_t at = GMT_FILE_HEADER_BYTES;

	memcpy(content, GMT_FORMAT_MAGIC "\1\0\0\0\0\0\0\0", 16);
	put_u32(content + 16, (uint32_t)crc32(0, content, 16));
	while (size - at >= GMT_BLOCK_HEADER_BYTES) {
		uint32_t length = get_u32(content + at + 8);

		if (length > size - at - GMT_BLOCK_HEADER_BYTES) {
			length = (uint32_t)(size - at - GMT_BLOCK_HEADER_BYTES);
			put_u32(content + at + 8, length);
		}

		uLong crc = crc32(0, content + at, 12);
		crc = crc32(crc, content + at + GMT_BLOCK_HEADER_BYTES, length);
		put_u32(content + at + 12, (uint32_t)crc);
		at += GMT_BLOCK_HEADER_BYTES + length;
	}
}

/* The content as a snapshot in memory; the path by which it can be opened. */
static int store(const uint8_t *content, size_t size, char ret_path[64])
{
	struct gmt_sink *sink;
	int fd = memfd_create("snapshot", MFD_CLOEXEC);

	if (fd < 0 || gmt_sink_open(fd, 1, &sink, NULL) || gmt_sink_push(sink, content, size, NULL) ||
		gmt_sink_close(sink, NULL))
		abort();
	snprintf(ret_path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void dump(const char *path, FILE *out)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_source *source;
	struct gmt_block block;
	const void *rows;

	if (gmt_source_open(path, &source, NULL))
		return;
	while (!gmt_source_next(source, &block, NULL)) {
		const struct gmt_record_info *record = gmt_record_info(block.kind);

		if (!record || gmt_decode_rows(&decoder, &block, &rows, NULL))
			continue;
		for (uint32_t i = 0; i < block.rows && i < 64; i++) {
			gmt_dump_text(out, record, (const char *)rows + (size_t)i * record->row_bytes);
			gmt_dump_json(out, record, (const char *)rows + (size_t)i * record->row_bytes);
		}
	}
	gmt_decoder_fini(&decoder);
	gmt_source_close(source);
}

static void check_sums(const struct gmt_books *books)
{
	for (size_t a = 0; a < books->accounts.count; a++) {
		const struct gmt_books_account *account = &books->accounts.items[a];
		uint64_t live = 0, peak = 0;

		for (uint32_t s = 0; s < books->sites.count; s++)
			if (books->sites.items[s].account == a) {
				live += books->sites.items[s].live_bytes;
				peak += gmt_books_site_peak(books, s).bytes;
			}
		if (live != account->live_bytes || peak != account->peak_bytes)
			abort();
	}
}

static void report(struct gmt_snapshot *snapshot, FILE *out, uint64_t until_ns, enum gmt_traces_native native)
{
	struct gmt_traces_options options = { .native = native };
	struct gmt_traces traces = { 0 };
	struct gmt_replay replay = { 0 };
	struct gmt_summary summary = { 0 };
	struct gmt_sites sites = { 0 };
	struct gmt_caveats caveats = { 0 };
	struct gmt_census census = { 0 };

	if (gmt_traces_init(&traces, snapshot, &options, NULL) ||
		gmt_replay_init(&replay, snapshot, &traces, &(struct gmt_replay_options){ .until_ns = until_ns }, NULL) ||
		gmt_summary_init(&summary, snapshot, &replay, NULL) ||
		gmt_sites_init(&sites, &replay, &traces, NULL) ||
		gmt_caveats_init(&caveats, snapshot, &replay, &traces, NULL) ||
		gmt_census_init(&census, snapshot, NULL))
		abort();
	check_sums(&replay.books);

	struct gmt_report whole = {
		.snapshot = snapshot, .traces = &traces, .replay = &replay, .summary = &summary,
		.sites = &sites, .caveats = &caveats, .limit = UINT64_MAX, .frames = 6, .all_lists = true,
		.color = true,
	};
	struct gmt_info info = { .snapshot = snapshot, .census = &census, .caveats = &caveats };
	struct gmt_json json = { .file = out, .pretty = true, .inline_depth = 2 };

	gmt_report_json(&whole, &json);
	gmt_report_text(&whole, out);
	gmt_info_json(&info, &json);
	gmt_info_text(&info, out);
	gmt_census_fini(&census);
	gmt_caveats_fini(&caveats);
	gmt_sites_fini(&sites);
	gmt_summary_fini(&summary);
	gmt_replay_fini(&replay);
	gmt_traces_fini(&traces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;
	struct gmt_snapshot *snapshot;
	uint8_t *content = malloc(size + 1);
	char path[64];

	if (!out)
		out = fopen("/dev/null", "we");
	if (size < GMT_FILE_HEADER_BYTES || !content || !out) {
		free(content);
		return 0;
	}
	memcpy(content, data, size);
	repair(content, size);

	int fd = store(content, size, path);
	dump(path, out);
	if (!gmt_snapshot_load(path, NULL, &snapshot, NULL)) {
		report(snapshot, out, GMT_REPLAY_TO_END, GMT_TRACES_TRIMMED);
		report(snapshot, out, gmt_snapshot_duration_ns(snapshot) / 2, GMT_TRACES_ALL);
		gmt_snapshot_free(snapshot);
	}
	close(fd);
	free(content);
	return 0;
}
