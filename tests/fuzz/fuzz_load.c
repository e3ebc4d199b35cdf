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
#include "tools/input.h"
#include "tools/parts.h"
#include "tools/say.h"
#include "tools/where_parts.h"
#include "wire/decode.h"
#include "wire/sink.h"
#include "wire/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In place of the tool's own, which talk. */
int gmt_input_load(const char *path, struct gmt_snapshot **ret_snapshot)
{
	return gmt_snapshot_load(path, NULL, ret_snapshot, NULL) ? 1 : 0;
}

int gmt_say_failure(const struct gmt_error *error)
{
	(void)error;
	abort();
}

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

/* Every peak that is taken apart sums to itself, by whatever it is taken apart. */
static void check_peaks(const struct gmt_where_view *view)
{
	const struct gmt_books *books = &view->replay->books;

	for (size_t a = 0; a < books->accounts.count && a < GMT_WHERE_ACCOUNTS; a++)
		for (size_t i = 0; i < GMT_PEAK_KEYS; i++) {
			const struct gmt_books_account *account = &books->accounts.items[a];
			uint64_t bytes = 0;
			size_t count;
			const struct gmt_table_row *row =
				gmt_table_of(&view->peaks[i], account->layer, account->device, &count);

			for (; count; count--)
				bytes += row++->peak_bytes;
			if (bytes != account->peak_bytes)
				abort();
		}
}

/* Where the memory went, by every key. */
static void where(const struct gmt_parts *parts, FILE *out)
{
	struct gmt_json json = { .file = out };

	for (int by = 0; by < GMT_TABLE_KEYS; by++) {
		struct gmt_where_parts made = { 0 };

		if (gmt_where_parts_init(&made, parts->snapshot, &parts->traces, &parts->timeline, &parts->replay,
			&parts->history, &parts->sites, parts->until_ns, by, GMT_SITES_BY_TOTAL, NULL))
			abort();
		check_peaks(&made.view);
		gmt_where_json(&made.view, &json);
		for (enum gmt_where_section section = GMT_WHERE_SHORT; section <= GMT_WHERE_TABLE; section++)
			gmt_where_text(&made.view, section, out);
		gmt_where_parts_fini(&made);
	}
}

static void render(struct gmt_parts *parts, const struct gmt_where_parts *made, FILE *out)
{
	struct gmt_leaks_view leaks = {
		.snapshot = parts->snapshot, .traces = &parts->traces, .replay = &parts->replay,
		.timeline = &parts->timeline, .history = &parts->history, .leaks = &parts->leaks,
		.limit = UINT64_MAX, .frames = 6,
	};
	struct gmt_report whole = {
		.snapshot = parts->snapshot, .traces = &parts->traces, .replay = &parts->replay,
		.summary = &parts->summary, .sites = &parts->sites, .caveats = &parts->caveats,
		.ooms = &parts->ooms,
		.ledger = &parts->ledger, .heaps = &parts->heaps, .where = &made->view, .leaks = &leaks, .limit = UINT64_MAX, .frames = 6,
		.all_lists = true, .color = true,
	};
	struct gmt_json json = { .file = out, .pretty = true, .inline_depth = 2 };

	gmt_report_json(&whole, &json);
	gmt_report_text(&whole, out);
}

static void inform(struct gmt_snapshot *snapshot, const struct gmt_caveats *caveats, FILE *out)
{
	struct gmt_census census = { 0 };
	struct gmt_info info = { .snapshot = snapshot, .census = &census, .caveats = caveats };
	struct gmt_json json = { .file = out, .pretty = true, .inline_depth = 2 };

	if (gmt_census_init(&census, snapshot, NULL))
		abort();
	gmt_info_json(&info, &json);
	gmt_info_text(&info, out);
	gmt_census_fini(&census);
}

static const struct gmt_leaks_options every_definition = {
	.definitions = (UINT32_C(1) << GMT_LEAK_DEFINITIONS) - 1, .age_steps = 1, .with_libraries = true,
};

/* False when nothing of it is readable. */
static bool report(const char *path, FILE *out, uint64_t until, enum gmt_traces_native native,
	const struct gmt_leaks_options *leaks)
{
	struct gmt_parts_options options = {
		.traces = { .native = native }, .until = until, .leaks = *leaks,
	};
	struct gmt_parts parts = { 0 };
	struct gmt_where_parts made = { 0 };

	if (gmt_parts_load(path, &options, &parts)) {
		gmt_parts_fini(&parts);
		return false;
	}
	check_sums(&parts.replay.books);
	if (gmt_where_parts_init(&made, parts.snapshot, &parts.traces, &parts.timeline, &parts.replay,
		&parts.history, &parts.sites, parts.until_ns, -1, GMT_SITES_BY_PEAK, NULL))
		abort();
	render(&parts, &made, out);
	where(&parts, out);
	inform(parts.snapshot, &parts.caveats, out);
	gmt_where_parts_fini(&made);
	gmt_parts_fini(&parts);
	return true;
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
	if (report(path, out, UINT64_MAX, GMT_TRACES_TRIMMED, &gmt_parts_default_leaks) && !gmt_snapshot_load(path, NULL, &snapshot, NULL)) {
		uint64_t half_ns = gmt_snapshot_duration_ns(snapshot) / 2;

		gmt_snapshot_free(snapshot);
		report(path, out, half_ns, GMT_TRACES_ALL, &every_definition);
	}
	close(fd);
	free(content);
	return 0;
}
