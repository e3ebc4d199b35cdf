/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_VERDICT_H
#define GMT_ANALYSIS_GATE_VERDICT_H

/*
 * The verdict of `gpumemtrace check` on all its files. It owns copies of all texts, so the
 * recordings may be freed before it is rendered.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/compare/site_key.h"
#include "containers/arena.h"
#include "base/status.h"
#include "containers/vec.h"
#include "reader/stacks/traces.h"

enum gmt_rule {
#define GMT_RULE(NAME, ...) GMT_RULE_##NAME,
#include "analysis/gate/rules.def"
#undef GMT_RULE
	GMT_RULES,
};

struct gmt_rule_text {
	const char *id, *name, *meaning, *advice;
};

enum gmt_check_state {
	GMT_CHECK_PASSED,
	GMT_CHECK_SKIPPED, /* not asked for, or there was nothing to judge; `text` has the reason */
	GMT_CHECK_WARNED,  /* reported, but does not fail the verdict */
	GMT_CHECK_FAILED,
};

/* A file that was judged. */
struct gmt_verdict_subject {
	const char *path, *host, *directory;
	uint32_t pid, parent_pid;
	int32_t rank; /* below 0: no rank */
	uint64_t events;
	bool complete;
	bool has_steps;
	bool failed;
};

/* The result of a rule for one layer on one device of one file, or for the whole file. */
struct gmt_verdict_check {
	enum gmt_rule rule;
	enum gmt_check_state state;
	uint32_t subject;
	uint32_t layer; /* 0: the whole file */
	int32_t device;
	double measured, limit; /* below 0: unknown */
	const char *unit; /* "bytes", "bytes/step", "ratio", "count"; "": there are no numbers */
	const char *text; /* one line: the measured value and the limit */
	bool needs_steps; /* it failed or warns only because the file has no steps */
};

struct gmt_verdict_frame {
	const char *function, *file, *module; /* "": unknown */
	const char *shown; /* short form of the file's path for users; points into `file` */
	const char *name; /* the frame as one line of text */
	uint32_t line;
	bool is_python;
};

/* A finding for the user: a line of the program, and the reason. */
struct gmt_finding {
	uint32_t check; /* index in checks; the check has its rule, file, layer and device */
	const char *title;
	const char *key; /* gmt_site_key.group. "": the finding has no stack. */
	uint64_t key_hash;
	uint64_t bytes, blocks;
	double bytes_per_step; /* below 0: unknown */
	double confidence; /* 0..1; below 0: unknown */
	const char *definition; /* for a leak: its definition; otherwise NULL */
	const char *owner; /* library that asked for the memory; NULL: the finding has no stack */
	const char *hint; /* NULL: only the rule's advice applies */
	const char *kind; /* kind of a suppression that would suppress this finding */
	GMT_VEC(const char *) evidence; /* lines of text */
	GMT_VEC(struct gmt_verdict_frame) frames; /* leaf first */
	GMT_VEC(uint32_t) summary; /* frames that the stack summary shows to the user */
	uint32_t own_frame; /* the user's own frame */
};

struct gmt_verdict {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_verdict_subject) subjects;
	GMT_VEC(struct gmt_verdict_check) checks;
	GMT_VEC(struct gmt_finding) findings;
	GMT_VEC(const char *) notes; /* notes about all files together */
	uint64_t suppressed_findings, suppressed_bytes;
	bool failed; /* a check failed */
	bool incomplete; /* a file is incomplete */
	bool not_in_summaries; /* an option asks for a rule that a summary cannot answer */
	size_t growth_not_judged; /* number of files in which growth could not be judged */
	bool out_of_memory;
};

const struct gmt_rule_text *gmt_rule_text(enum gmt_rule rule);

const char *gmt_check_state_name(enum gmt_check_state state);

/* Formats a line that the verdict owns. When out of memory, returns "" and sets out_of_memory. */
const char *gmt_verdict_line(struct gmt_verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns an empty check of a rule for a subject as a whole: without a layer and a device. */
struct gmt_verdict_check gmt_verdict_empty_check(enum gmt_rule rule, uint32_t subject);

/*
 * Adds a copy of a check and returns its number. Never fails: out_of_memory records that something
 * is missing.
 */
uint32_t gmt_verdict_add_check(struct gmt_verdict *verdict, struct gmt_verdict_check check);

/* Adds a finding of that check. Valid until the next finding is added. NULL: out of memory. */
struct gmt_finding *gmt_verdict_add_finding(struct gmt_verdict *verdict, uint32_t check);

/*
 * Returns a frame as one line that the verdict owns: "train.py:31 in step",
 * "at::native::empty_cuda".
 */
const char *gmt_verdict_frame_name(struct gmt_verdict *verdict,
	const struct gmt_recording *recording, const struct gmt_traces *traces, uint32_t place_id);

/* Copies a stack with its summary, names and owner into the finding. */
void gmt_verdict_set_stack(struct gmt_verdict *verdict, struct gmt_finding *finding,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_site_keys *keys, uint32_t stack, uint32_t own_line);

/* Adds a line of evidence. The verdict must own the line (gmt_verdict_line). */
void gmt_verdict_add_evidence(struct gmt_verdict *verdict, struct gmt_finding *finding,
	const char *line);

/*
 * Returns the memory that a check is about: "torch on GPU 0", "host memory", or "" for a whole
 * file.
 */
struct gmt_verdict_memory_name {
	char text[48];
};
struct gmt_verdict_memory_name gmt_verdict_memory_name(const struct gmt_verdict_check *check);

/* Returns the name of a file in reports: "rank 3", or the name of the file. */
struct gmt_verdict_file_name {
	char text[160];
};
struct gmt_verdict_file_name gmt_verdict_file_name(const struct gmt_verdict_subject *subject);

/*
 * Completes the verdict after all files were judged. A file does not need its own steps if another
 * file with steps is of its parent process: its checks about missing steps become skipped. Then
 * marks the files that failed.
 */
void gmt_verdict_conclude(struct gmt_verdict *verdict);

void gmt_verdict_fini(struct gmt_verdict *verdict);

#endif
