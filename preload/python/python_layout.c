/* SPDX-License-Identifier: MIT */
#include "python/python_layout.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct sections {
	uint8_t minor;
	uint8_t thread, frame, code, string; /* offsets in words */
};

#define FIELDS(...) { __VA_ARGS__ }
static const struct gmt_python_layout layouts[] = {
#define GMT_PYTHON(minor_, walk_, lines_, THREAD, FRAME, CODE, STRING) \
	{ \
		.minor = minor_, \
		.walk = GMT_PYTHON_WALK_##walk_, \
		.lines = GMT_PYTHON_LINES_##lines_, \
		.thread = FIELDS THREAD, \
		.frame = FIELDS FRAME, \
		.code = FIELDS CODE, \
		.string = FIELDS STRING, \
	},
#include "python/python_layout.def"
};
#undef FIELDS

/* python/python_unchanged_frames.h loads both bytes at once. */
#define BEHIND(previous, code, instr, owner, entry) ((entry) + 1 == (owner))
#define GMT_PYTHON(minor_, walk_, lines_, THREAD, FRAME, CODE, STRING) \
	_Static_assert(GMT_PYTHON_WALK_##walk_ != GMT_PYTHON_WALK_FLAG || BEHIND FRAME, \
		"the owner is the byte behind the entry's");
#include "python/python_layout.def"
#undef BEHIND

static const struct sections sections[] = {
#define GMT_PYTHON_OFFSETS(minor, thread, frame, code, string) \
	{ minor, thread, frame, code, string },
#include "python/python_layout.def"
};

enum {
	NEWEST_TESTED_MINOR = 15, /* the reading of newer versions must be checked */
	OTHER_OBJECTS_SINCE_MINOR = 14, /* a frame may hold an object that is not code */
};

static bool refuse(char *ret_why, uint32_t why_bytes, const char *version, const char *reason)
{
	if (ret_why && why_bytes)
		snprintf(ret_why, why_bytes, "Python %s: %s; no Python stacks", version, reason);
	return false;
}

/*
 * Stores the offset of a field of `bytes` bytes in a structure of `size` bytes. Returns false if
 * the offset is impossible.
 */
static bool take(uint16_t *ret_offset, uint64_t offset, uint64_t size, uint64_t bytes)
{
	if (size > 0x8000 || offset % bytes || offset + bytes > size)
		return false;
	*ret_offset = (uint16_t)offset;
	return true;
}

/* Reads the offsets that the interpreter publishes. Returns NULL, or why they cannot be used. */
static const char *read_offsets(const struct sections *at, const uint64_t *words,
	uint64_t version_hex, struct gmt_python_layout *layout)
{
	if (memcmp(words, "xdebugpy", sizeof(words[0])) || words[1] != version_hex)
		return "its table of offsets has an unknown format";
	if (words[2])
		return "the recorder cannot read frames of a free-threaded build";

	const uint64_t *thread = words + at->thread;
	const uint64_t *frame = words + at->frame;
	const uint64_t *code = words + at->code;
	const uint64_t *string = words + at->string;
	uint16_t bytecode = layout->code.bytecode;

	if (!take(&layout->thread.frame, thread[4], thread[0], 8) ||
		!take(&layout->frame.previous, frame[1], frame[0], 8) ||
		!take(&layout->frame.code, frame[2], frame[0], 8) ||
		!take(&layout->frame.instr, frame[3], frame[0], 8) ||
		!take(&layout->frame.owner, frame[5], frame[0], 1) ||
		!take(&layout->code.file, code[1], code[0], 8) ||
		!take(&layout->code.name, code[2], code[0], 8) ||
		!take(&layout->code.qualified, code[3], code[0], 8) ||
		!take(&layout->code.lines, code[4], code[0], 8) ||
		!take(&layout->code.first_line, code[5], code[0], 4) ||
		!take(&layout->code.bytecode, code[9], code[0], 1) ||
		!take(&layout->string.ascii, string[3], string[0], 8) ||
		!take(&layout->string.compact, string[0] - 8, string[0], 8) ||
		string[1] != GMT_PYTHON_STRING_STATE || string[2] != GMT_PYTHON_STRING_LENGTH)
		return "its table of offsets is not valid";
	/* The version is not in the table. Its offset is valid only if `bytecode` has not changed. */
	if (layout->code.bytecode != bytecode)
		layout->code.version = GMT_PYTHON_NONE;
	return NULL;
}

/* Returns whether the version is a prerelease: "3.14.0rc2" may still differ from 3.14.0. */
static bool is_prerelease(const char *version)
{
	return version[strcspn(version, "abr")] != '\0';
}

bool gmt_python_layout_find(const char *version, gmt_python_find *find,
	struct gmt_python_layout *ret_layout, char *ret_why, uint32_t why_bytes)
{
	const struct gmt_python_layout *row = NULL;
	long minor = strncmp(version, "3.", 2) ? 0 : strtol(version + 2, NULL, 10);

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		row = layouts[i].minor == minor ? &layouts[i] : row;
	if (!row)
		return refuse(ret_why, why_bytes, version,
			"this version of gpumemtrace cannot read its frames");

	struct gmt_python_layout layout = *row;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (sections[i].minor != minor)
			continue;
		const uint64_t *words = find("_PyRuntime");
		const unsigned long *version_hex = find("Py_Version");
		const char *wrong = words && version_hex
			? read_offsets(&sections[i], words, *version_hex, &layout)
			: "it does not export its table of offsets";
		if (wrong)
			return refuse(ret_why, why_bytes, version, wrong);
	}

	/* Py_TRACE_REFS and free-threaded builds put other fields before an object's type. */
	const char *type = find("PyType_Type");

	if (!type || gmt_python_load(type, GMT_PYTHON_TYPE) != type)
		return refuse(ret_why, why_bytes, version, "a build with a different object header");

	/*
	 * _Py_NegativeRefcount exists only in debug builds. Their layout is probably the same, so it
	 * must be checked.
	 */
	layout.must_be_checked =
		minor > NEWEST_TESTED_MINOR || is_prerelease(version) || find("_Py_NegativeRefcount");
	if (minor >= OTHER_OBJECTS_SINCE_MINOR) {
		layout.code_type = find("PyCode_Type");
		if (!layout.code_type)
			return refuse(ret_why, why_bytes, version, "it does not export its code type");
	}
	*ret_layout = layout;
	return true;
}
