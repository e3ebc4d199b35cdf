/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_VERDICT_H
#define GMT_ANALYSIS_GATE_VERDICT_H

/*
 * What `gpumemtrace check` found in all files that it was given. It owns copies of all that it says, so
 * that snapshots may go before it is rendered.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/compare/site_key.h"
#include "containers/arena.h"
#include "base/status.h"
#include "containers/vec.h"
#include "reader/stacks/traces.h"

enum gmt_rule {
#define GMT_RULE(NAME, id, name, meaning, advice) GMT_RULE_##NAME,
#include "analysis/gate/rules.def"
#undef GMT_RULE
	GMT_RULES,
};

struct gmt_rule_text {
	const char *id, *name, *meaning, *advice;
};

enum gmt_check_state {
	GMT_CHECK_PASSED,
	GMT_CHECK_SKIPPED, /* not asked for, or nothing to judge; `text` says why */
	GMT_CHECK_WARNED,  /* worth saying; fails nothing */
	GMT_CHECK_FAILED,
};

/* A file that was judged. */
struct gmt_verdict_subject {
	const char *path, *host, *directory;
	uint32_t pid, parent_pid;
	int32_t rank; /* below 0: none */
	uint64_t events;
	bool complete;
	bool has_steps;
	bool failed;
};

/* A rule, judged for one layer on one device of one file; or for the whole file. */
struct gmt_verdict_check {
	enum gmt_rule rule;
	enum gmt_check_state state;
	uint32_t subject;
	uint32_t layer; /* 0: the whole file */
	int32_t device;
	double measured, limit; /* below 0: not known */
	const char *unit;       /* "bytes", "bytes/step", "ratio", "count"; "" when there are no numbers */
	const char *text;       /* one line: the measured value and the limit */
	bool needs_steps;       /* it failed, or warns, for want of steps alone */
};

struct gmt_verdict_frame {
	const char *function, *file, *module; /* "" when not known */
	const char *shown; /* the file as people say it; points into `file` */
	const char *name;  /* the frame in one line */
	uint32_t line;
	bool is_python;
};

/* What a person looks at: one line of the program, and why. */
struct gmt_finding {
	uint32_t check; /* index in checks: of which rule, file, layer and device it speaks */
	const char *title;
	const char *key; /* gmt_site_key.group; "" without a stack */
	uint64_t key_hash;
	uint64_t bytes, blocks;
	double bytes_per_step; /* below 0: not known */
	double confidence;     /* 0..1; below 0: not known */
	const char *definition; /* of a leak; NULL */
	const char *owner;      /* which library asked for the memory; NULL without a stack */
	const char *hint;       /* NULL: the rule's advice only */
	const char *kind;       /* of the suppression that would silence it */
	GMT_VEC(const char *) evidence; /* lines */
	GMT_VEC(struct gmt_verdict_frame) frames; /* leaf first */
	GMT_VEC(uint32_t) summary; /* frames that a person reads */
	uint32_t own_frame; /* the user's own */
};

struct gmt_verdict {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_verdict_subject) subjects;
	GMT_VEC(struct gmt_verdict_check) checks;
	GMT_VEC(struct gmt_finding) findings;
	GMT_VEC(const char *) notes; /* what else is to be said of all files together */
	uint64_t suppressed_findings, suppressed_bytes;
	bool failed;     /* a check did */
	bool incomplete; /* a file is */
	size_t growth_not_judged; /* files in which it could not be */
	bool out_of_memory;
};

const struct gmt_rule_text *gmt_rule_text(enum gmt_rule rule);

const char *gmt_check_state_name(enum gmt_check_state state);

/* A line that the verdict owns; "", and out_of_memory set, when there is none. */
const char *gmt_verdict_line(struct gmt_verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds a copy; its number. Never fails: out_of_memory says that something is missing. */
uint32_t gmt_verdict_add_check(struct gmt_verdict *verdict, struct gmt_verdict_check check);

/* A finding of that check; NULL when out of memory. Good until the next one. */
struct gmt_finding *gmt_verdict_add_finding(struct gmt_verdict *verdict, uint32_t check);

/* A frame in one line that the verdict owns: "train.py:31 in step", "at::native::empty_cuda". */
const char *gmt_verdict_frame_name(struct gmt_verdict *verdict, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, uint32_t place);

/* Copies a stack, its outline, its names and its owner into the finding. */
void gmt_verdict_set_stack(struct gmt_verdict *verdict, struct gmt_finding *finding,
	const struct gmt_snapshot *snapshot, const struct gmt_traces *traces,
	const struct gmt_site_keys *keys,
	uint32_t stack, uint32_t own_line);

/* A line of evidence that the verdict owns (gmt_verdict_line). */
void gmt_verdict_add_evidence(struct gmt_verdict *verdict, struct gmt_finding *finding, const char *line);

/* "torch on GPU 0", "host memory", "" for a whole file. */
struct gmt_verdict_where {
	char text[48];
};
struct gmt_verdict_where gmt_verdict_where(const struct gmt_verdict_check *check);

/* "rank 3", or the file's name. */
struct gmt_verdict_who {
	char text[160];
};
struct gmt_verdict_who gmt_verdict_who(const struct gmt_verdict_subject *subject);

/*
 * The end of judging: files whose process was started by another of the files need no steps of their own;
 * then says which files failed.
 */
void gmt_verdict_conclude(struct gmt_verdict *verdict);

void gmt_verdict_fini(struct gmt_verdict *verdict);

#endif
