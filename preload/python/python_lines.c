/* SPDX-License-Identifier: MIT */
#include "python/python_text.h"

/*
 * Reads the three formats in which CPython maps the bytes of a code object to lines. The recorder
 * does not call PyCode_Addr2Line. The tables never change, but that function also reads a cache
 * (3.11) and data of tracers (3.12), which another thread may be building.
 */

struct table {
	const unsigned char *at, *end;
	int64_t line;
};

/* 3.9: pairs (bytes of code, signed lines). A line begins after its bytes. */
static uint32_t line_in_lnotab(struct table table, int64_t instr)
{
	int64_t start = 0;

	for (; table.end - table.at >= 2; table.at += 2) {
		start += table.at[0];
		if (start > instr)
			break;
		table.line += (signed char)table.at[1];
	}
	return (uint32_t)table.line;
}

/*
 * 3.10: pairs (bytes of code, signed lines for these bytes). -128 marks bytes that belong to no
 * line.
 */
static uint32_t line_in_ranges(struct table table, int64_t instr)
{
	int64_t end = 0;

	for (; table.end - table.at >= 2; table.at += 2) {
		signed char lines = (signed char)table.at[1];

		end += table.at[0];
		if (lines != -128)
			table.line += lines;
		if (instr < end)
			return lines == -128 ? 0 : (uint32_t)table.line;
	}
	return 0;
}

/* Reads a number with six bits in each byte, lowest first. Its lowest bit is the sign. */
static int64_t read_signed(const unsigned char **at, const unsigned char *end)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; *at < end && shift < 60; shift += 6) {
		unsigned char byte = *(*at)++;

		value |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/*
 * 3.11: entries that begin with a byte {1 : 1 | form : 4 | instructions - 1 : 3}. Columns follow.
 */
static uint32_t line_in_locations(struct table table, int64_t instr)
{
	enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };
	int64_t end = 0;

	while (table.at < table.end) {
		unsigned char head = *table.at++;
		uint32_t form = head >> 3 & 15;

		if (form >= ONE_LINE_0 && form <= ONE_LINE_2)
			table.line += form - ONE_LINE_0;
		else if (form == NO_COLUMNS || form == LONG)
			table.line += read_signed(&table.at, table.end);
		end += 2 * ((head & 7) + 1);
		if (instr < end)
			return form == NO_LINE ? 0 : (uint32_t)table.line;
		while (table.at < table.end && !(*table.at & 0x80))
			table.at++;
	}
	return 0;
}

uint32_t gmt_python_line(const struct gmt_python_layout *layout, const char *code, int64_t instr)
{
	const char *bytes = gmt_python_load(code, layout->code.lines);
	struct table table = { .line = gmt_python_load_int(code, layout->code.first_line) };

	if (instr < 0 || !bytes)
		return (uint32_t)table.line;
	table.at = (const unsigned char *)bytes + GMT_PYTHON_BYTES;
	table.end = table.at + gmt_python_load_long(bytes, GMT_PYTHON_SIZE);
	switch ((enum gmt_python_lines)layout->lines) {
	case GMT_PYTHON_LINES_LNOTAB:
		return line_in_lnotab(table, instr);
	case GMT_PYTHON_LINES_RANGES:
		return line_in_ranges(table, instr);
	case GMT_PYTHON_LINES_LOCATIONS:
		return line_in_locations(table, instr);
	}
	return 0;
}
