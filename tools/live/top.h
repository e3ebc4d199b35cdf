/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_LIVE_TOP_H
#define GMT_TOOLS_LIVE_TOP_H

/*
 * The verb `top`: reads recordings again and again, and shows them on the screen, as text or JSON
 * on stdout, as metrics, or in files. In the flow: processes -> live_target -> top -> screen,
 * stdout, metrics_server, files. For one thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tools/live/live_target.h"
#include "tools/live/metrics_server.h"
#include "tools/options/options.h"
#include "tools/output/output.h"

struct gmt_top_options {
	bool once, batch, json;
	uint64_t rounds; /* 0: until all processes have ended */
	uint64_t interval_ns;
	uint64_t max_lines;
	struct gmt_live_choice choice;
	int color; /* enum gmt_color */
	const char *metrics_file, *metrics_listen, *tensorboard; /* NULL: not given */
	const char *const *symbol_folders;
	size_t symbol_folder_count;
	bool no_symbol_cache;
};

/* The state of the verb while it runs. */
struct gmt_top {
	const struct gmt_top_options *options;
	struct gmt_live_choice choice; /* at first that of the options; keys change it */
	struct gmt_traces_options traces;
	struct gmt_live_targets targets;
	bool finds_processes; /* no operands: show all processes of the user */
	struct gmt_metrics_server *server; /* NULL: no server */
	uint64_t last_steps;   /* number of steps in the last event for TensorBoard */
	char *events_path;     /* the file for TensorBoard; NULL: not begun */
	/* The members below are for the screen. */
	size_t shown;          /* index of the shown target */
	size_t first_line;     /* number of the first shown line of code */
	bool is_frozen;        /* the screen keeps its numbers */
	bool has_new_choice;   /* a key has changed the choice */
	bool shows_help;
};

/* top_files.c: outputs must not replace recordings. */
extern const struct gmt_output_rules gmt_top_output_rules;

/* Runs the verb with the operands. Prints errors. Returns the exit code. */
int gmt_top_run(const struct gmt_top_options *options, int operand_count, char **operands);

/* top_screen.c: shows the chosen target. Returns false when out of memory. */
bool gmt_top_screen_show(struct gmt_top *top);

/* top_screen.c: handles the pressed keys. Returns false if the user wants to leave. */
bool gmt_top_screen_keys(struct gmt_top *top);

/*
 * top_files.c: updates the metrics in the file and on the server, and writes an event for
 * TensorBoard. Returns 0, or an exit code after an error message.
 */
int gmt_top_files_write(struct gmt_top *top);

#endif
