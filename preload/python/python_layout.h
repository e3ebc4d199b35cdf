/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_LAYOUT_H
#define GMT_PYTHON_PYTHON_LAYOUT_H

/*
 * Determines how to read the frames of the interpreter in this process: the row of
 * python_layout.def that applies, and whether the row must be checked first. Also reads frames and
 * walks over them. Internal to python*.c.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { GMT_PYTHON_NONE = 0xffff };

/*
 * How to find the outermost frame of one run of the interpreter's loop. The native stack has one
 * native frame for each run.
 */
enum gmt_python_walk {
	GMT_PYTHON_WALK_EACH,  /* all frames: each Python call is a C call (3.9, 3.10) */
	GMT_PYTHON_WALK_FLAG,  /* frames that have a flag (3.11) */
	GMT_PYTHON_WALK_SHIMS, /* frames called from a frame of the interpreter itself (3.12 on) */
};

enum gmt_python_lines {
	GMT_PYTHON_LINES_LNOTAB,    /* 3.9 */
	GMT_PYTHON_LINES_RANGES,    /* 3.10 */
	GMT_PYTHON_LINES_LOCATIONS, /* from 3.11 on */
};

struct gmt_python_layout {
	uint8_t minor;
	uint8_t walk;        /* enum gmt_python_walk */
	uint8_t lines;       /* enum gmt_python_lines */
	/* The recorder's reading must be compared with the interpreter's before use. */
	bool must_be_checked;
	/* Byte offsets in CPython's structures; the columns of python_layout.def. */
	struct {
		uint16_t frame, hop;
	} thread;
	struct {
		uint16_t previous, code, instr, owner, entry;
	} frame;
	struct {
		uint16_t file, name, qualified, lines, first_line, bytecode, version;
	} code;
	struct {
		uint16_t ascii, compact, kind_shift;
	} string;
	/*
	 * The type of code objects, if a frame that looks complete may hold another kind of object
	 * (3.14); else NULL.
	 */
	const char *code_type;
};

/* The original dlsym(RTLD_DEFAULT, name). */
typedef void *gmt_python_find(const char *name);

/*
 * Finds the layout of the interpreter with this version text ("3.11.7", "3.14.0rc2"). Returns false
 * if the frames cannot be read; `ret_why` then holds the reason.
 */
bool gmt_python_layout_find(const char *version, gmt_python_find *find,
	struct gmt_python_layout *ret_layout, char *ret_why, uint32_t why_bytes);

/* Returns the pointer at `offset` bytes in an object. */
static inline const char *gmt_python_load(const char *object, uint32_t offset)
{
	const char *pointer;

	memcpy(&pointer, object + offset, sizeof(pointer));
	return pointer;
}

static inline int32_t gmt_python_load_int(const char *object, uint32_t offset)
{
	int32_t value;

	memcpy(&value, object + offset, sizeof(value));
	return value;
}

static inline int64_t gmt_python_load_long(const char *object, uint32_t offset)
{
	int64_t value;

	memcpy(&value, object + offset, sizeof(value));
	return value;
}

/*
 * Offsets that are the same in all versions. The recorder refuses an interpreter whose objects have
 * another header.
 */
enum {
	GMT_PYTHON_TYPE = 8,
	GMT_PYTHON_SIZE = 16, /* size of a bytes object */
	GMT_PYTHON_BYTES = 32, /* content of a bytes object */
	GMT_PYTHON_STRING_LENGTH = 16,
	GMT_PYTHON_STRING_HASH = 24, /* -1: not computed */
	GMT_PYTHON_STRING_STATE = 32,
};

/* A frame, with the parts that a stack needs. */
struct gmt_python_walked_frame {
	const char *frame;
	const char *code;
	/* Offset of the running instruction in the bytecode, in bytes; below 0: not begun. */
	int64_t instr;
	bool is_entry; /* the outermost frame of one run of the interpreter's loop */
	bool is_complete; /* false: still being set up, so the public API does not show it */
};

/* Returns the innermost frame of a thread state, where a walk starts; NULL if it runs no Python. */
static inline const char *gmt_python_walk_start(const struct gmt_python_layout *layout,
	const char *thread)
{
	const char *frame = gmt_python_load(thread, layout->thread.frame);

	if (layout->thread.hop == GMT_PYTHON_NONE || !frame)
		return frame;
	return gmt_python_load(frame, layout->thread.hop);
}

/*
 * From FIRST_SHIM on, the owner is the interpreter itself. CPython calls such frames shims: they
 * stand for a call from C.
 */
enum { GMT_PYTHON_OWNER_GENERATOR = 1, GMT_PYTHON_OWNER_FIRST_SHIM = 3 };

static inline const char *gmt_python_frame_code(const struct gmt_python_layout *layout,
	const char *frame)
{
	/* 3.14 keeps a tag in the lowest two bits; in other versions they are 0. */
	return (const char *)((uintptr_t)gmt_python_load(frame, layout->frame.code) & ~(uintptr_t)3);
}

/* Returns whether the frame is the interpreter's own. */
static inline bool gmt_python_is_shim(const struct gmt_python_layout *layout, const char *frame)
{
	if (frame[layout->frame.owner] >= GMT_PYTHON_OWNER_FIRST_SHIM)
		return true;
	if (!layout->code_type)
		return false;

	const char *code = gmt_python_frame_code(layout, frame);

	return !code || gmt_python_load(code, GMT_PYTHON_TYPE) != layout->code_type;
}

/*
 * Returns the frame at `*frame`, or the next outer frame that belongs to the stack. Moves `*frame`
 * to the frame outside of it. Returns false at the end of the stack.
 *
 * Like the public API, skips frames that are still being set up, except the only frame of a run.
 * The native stack has the interpreter's native frame for that run. Without the Python frame, the
 * reader would place all outer Python frames wrongly.
 */
static inline bool gmt_python_walk_next(const struct gmt_python_layout *layout, const char **frame,
	struct gmt_python_walked_frame *ret_walked)
{
	while (*frame) {
		const char *at = *frame;
		const char *code = gmt_python_frame_code(layout, at);
		const char *previous = gmt_python_load(at, layout->frame.previous);

		*frame = previous;
		if (layout->walk == GMT_PYTHON_WALK_SHIMS && gmt_python_is_shim(layout, at))
			continue;
		if (!code)
			return false;
		if (layout->walk == GMT_PYTHON_WALK_EACH) {
			int64_t instr = gmt_python_load_int(at, layout->frame.instr);

			if (layout->lines == GMT_PYTHON_LINES_RANGES)
				instr *= 2; /* 3.10 counts instructions, which have two bytes */
			*ret_walked = (struct gmt_python_walked_frame){
				.frame = at,
				.code = code,
				.instr = instr,
				.is_entry = true,
				.is_complete = true,
			};
			return true;
		}

		const char *bytecode = code + layout->code.bytecode;
		int64_t instr = gmt_python_load(at, layout->frame.instr) - bytecode;
		bool is_entry = layout->walk == GMT_PYTHON_WALK_FLAG
			? at[layout->frame.entry] != 0
			: !previous || gmt_python_is_shim(layout, previous);
		/* In all versions, the number of set-up instructions lies 16 bytes before the bytecode. */
		bool is_complete = at[layout->frame.owner] == GMT_PYTHON_OWNER_GENERATOR ||
			instr >= 2 * (int64_t)gmt_python_load_int(bytecode - 16, 0);

		/*
		 * Do not read these values back from `ret_walked`: two bytes that are stored separately and
		 * loaded together stall for 7 ns.
		 */
		if (is_complete || is_entry) {
			*ret_walked = (struct gmt_python_walked_frame){
				.frame = at,
				.code = code,
				.instr = instr,
				.is_entry = is_entry,
				.is_complete = is_complete,
			};
			return true;
		}
	}
	return false;
}

#endif
