/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "tools/export/export_file.h"
#include "tools/live/top.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/pipeline/symbol_options.h"

enum { DEFAULT_LINES = 15, NO_LAYER = -1 };

struct top_options {
	struct gmt_top_options top;
	const char *interval, *device;
	int layer; /* index in gmt_export_layer_words, or NO_LAYER */
	int sort;  /* enum gmt_live_order */
	struct gmt_option_texts symbol_paths;
};

#define OFFSET_OF(field) offsetof(struct top_options, field)
const struct gmt_option_row gmt_option_rows_top[] = {
	{ "once", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(top.once), "print the present state and end" },
	{ "batch", 'b', GMT_OPTION_FLAG, NULL, OFFSET_OF(top.batch),
		"print the state again and again, without a screen" },
	{ "count", 'n', GMT_OPTION_NUMBER, "N", OFFSET_OF(top.rounds),
		"end after this many rounds (default: when the processes have ended)" },
	{ "interval", 'i', GMT_OPTION_TEXT, "TIME", OFFSET_OF(interval),
		"time between two rounds (default: 1s)" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(top.json),
		"JSON instead of text; with --batch, one object for each round, each on a line" },
	{ "lines", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(top.max_lines),
		"at most this many lines of code (default: 15; on a screen, as many as fit)" },
	{ "sort", 0, GMT_OPTION_WORD, "live|growth|allocs|total", OFFSET_OF(sort),
		"sort the lines of code by live memory (default), by its growth in the last 10 seconds, "
		"by the number or by the bytes of all allocations" },
	{ "layer", 0, GMT_OPTION_WORD, gmt_export_layer_words + 1, OFFSET_OF(layer),
		"lines of this layer (default: PyTorch's blocks, and other memory from CUDA)" },
	{ "device", 0, GMT_OPTION_TEXT, "N|host", OFFSET_OF(device),
		"lines of this GPU, or of the host (default: all)" },
	{ "metrics-file", 0, GMT_OPTION_TEXT, "FILE", OFFSET_OF(top.metrics_file),
		"write the metrics for Prometheus here in each round (OpenMetrics)" },
	{ "metrics-listen", 0, GMT_OPTION_TEXT, "HOST:PORT", OFFSET_OF(top.metrics_listen),
		"serve the metrics at http://HOST:PORT/metrics; without HOST, to this machine only" },
	{ "tensorboard", 0, GMT_OPTION_TEXT, "DIR", OFFSET_OF(top.tensorboard),
		"write scalars of one process into this folder, for TensorBoard" },
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(top.no_symbol_cache)),
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", OFFSET_OF(top.color),
		"colours (default: on a terminal)" },
	{ 0 },
};
#undef OFFSET_OF

static bool check(struct top_options *options, int operand_count)
{
	int32_t device;

	if (options->top.once && options->top.batch)
		gmt_message_error("top: --once and --batch exclude each other");
	else if (options->interval &&
		(!gmt_text_parse_time(options->interval, &options->top.interval_ns) ||
			options->top.interval_ns < 100000000 ||
			options->top.interval_ns > UINT64_C(3600000000000)))
		gmt_message_error("top: --interval: `%s` is not valid: it takes a time from 100ms to 1h",
			options->interval);
	else if (options->device && !gmt_export_device_parse(options->device, &device))
		gmt_message_error("top: --device: `%s` is not valid: it takes a number or `host`",
			options->device);
	else if (options->top.tensorboard && operand_count != 1)
		gmt_message_error("top: --tensorboard takes one process: `gpumemtrace top --tensorboard=%s "
						  "PID`",
			options->top.tensorboard);
	else if (options->top.metrics_file && strcmp(options->top.metrics_file, "-") == 0)
		gmt_message_error("top: --metrics-file takes the name of a file");
	else
		return true;
	return false;
}

int gmt_cmd_top(const struct gmt_command *command, int argc, char **argv)
{
	struct top_options options = {
		.top = { .interval_ns = 1000000000,
			.max_lines = DEFAULT_LINES,
			.choice.device = GMT_LIVE_EVERY_DEVICE },
		.layer = NO_LAYER,
	};
	int code = gmt_options_parse(command, &options, false, &argc, argv);
	int32_t device;

	if (code >= 0)
		return code;
	if (!check(&options, argc))
		return GMT_EXIT_USAGE;
	if (options.top.metrics_file &&
		!gmt_output_may_write(options.top.metrics_file, &gmt_top_output_rules))
		return GMT_EXIT_USAGE;
	options.top.choice.order = (enum gmt_live_order)options.sort;
	/* The words are in the order of the numbers, which begin with 1. */
	options.top.choice.layer = (uint8_t)(options.layer + 1);
	if (options.device && gmt_export_device_parse(options.device, &device))
		options.top.choice.device = (int16_t)device;
	options.top.symbol_folders = options.symbol_paths.items;
	options.top.symbol_folder_count = options.symbol_paths.count;
	/* JSON never goes to a screen. */
	if (options.top.json && !options.top.batch)
		options.top.once = true;
	return gmt_top_run(&options.top, argc, argv);
}
