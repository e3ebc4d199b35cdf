/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the code behind `top`. For every input, followed as a file that grows and as one that has
 * ended: the code does not crash, the lines sum to their accounts, JSON is valid, and the output
 * has no characters that are unsafe for a terminal.
 */
#include <stdlib.h>

#include "content.h"
#include "output.h"
#include "render/live/live.h"
#include "source/read_ahead.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All sites belong to some line, so the lines of an account hold what the account holds. */
static void check_sums(const struct gmt_follow *follow, const struct gmt_live_names *names)
{
	struct gmt_live_view view = { 0 };

	for (size_t a = 0; a < follow->accounting.accounts.count; a++) {
		const struct gmt_account *account = &follow->accounting.accounts.items[a];
		const struct gmt_live_choice choice = {
			.layer = account->layer, .device = account->device, .order = GMT_LIVE_BY_TOTAL
		};
		uint64_t live_bytes = 0, live_blocks = 0;

		if (!gmt_live_view_make(&view, follow, names, &choice))
			abort();
		for (size_t i = 0; i < view.lines.count; i++) {
			live_bytes += view.lines.items[i].live_bytes;
			live_blocks += view.lines.items[i].live_blocks;
		}
		if (live_bytes != account->live_bytes || live_blocks != account->live_blocks)
			abort();
	}
	gmt_live_view_fini(&view);
}

static void render(const struct gmt_live_process *process)
{
	struct gmt_json json = { .file = fuzz_output(FUZZ_JSON), .pretty = true, .inline_depth = 2 };
	struct gmt_screen screen = {
		.file = fuzz_output(FUZZ_TEXT), .color = false, .is_utf8 = true, .columns = 80
	};
	const struct gmt_live_text_options options = { .max_lines = 20, .curve_rows = 4 };

	gmt_live_json(&json, process, 20);
	fuzz_output_end(FUZZ_JSON);
	if (!gmt_screen_init(&screen))
		abort();
	gmt_live_text(&screen, process, &options);
	if (!gmt_screen_fini(&screen))
		abort();
	fuzz_output_end(FUZZ_TEXT);
	gmt_live_metrics(fuzz_output(FUZZ_TEXT), process, 1);
	fuzz_output_end(FUZZ_TEXT);
}

static void follow_file(const char *path, enum gmt_follow_mode way, uint64_t part_bytes)
{
	static const struct gmt_live_choice choice = { .device = GMT_LIVE_EVERY_DEVICE };
	const struct gmt_traces_options traces = { 0 };
	struct gmt_live_names names = { 0 };
	struct gmt_live_view view = { 0 };
	struct gmt_follow *follow;
	struct gmt_error error = { 0 };
	size_t left;

	if (gmt_follow_open(path, way, NULL, &follow, &error))
		return;
	while (!gmt_follow_read(follow, part_bytes, &error))
		continue;
	if (gmt_live_names_add(&names, follow, &traces, SIZE_MAX, &left, &error) || left ||
		!gmt_live_view_make(&view, follow, &names, &choice))
		abort();
	check_sums(follow, &names);

	const struct gmt_live_process process = {
		.follow = follow, .view = &view, .path = path, .state = "recording", .read_percent = 100
	};

	render(&process);
	gmt_live_view_fini(&view);
	gmt_live_names_fini(&names);
	gmt_follow_close(follow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *content = fuzz_copy(data, size);
	char path[FUZZ_PATH_BYTES];

	gmt_read_ahead_use_no_thread();
	fuzz_store(0, content, size, path);
	free(content);
	follow_file(path, GMT_FOLLOW_GROWING, 100);
	follow_file(path, GMT_FOLLOW_ENDED, UINT64_MAX / 2);
	return 0;
}
