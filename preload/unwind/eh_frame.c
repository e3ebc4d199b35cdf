/* SPDX-License-Identifier: MIT */
#include "unwind/eh_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "unwind/eh_frame_cursor.h"

/* Registers by their DWARF numbers. The rules need no other register. */
enum { REGISTER_FP = 6, REGISTER_SP = 7, REGISTER_RETURN = 16 };

enum { MAX_REMEMBERED_STATES = 8, CIE_VERSION_OLD = 1, CIE_VERSION_NEW = 3, PAIR_BYTES = 8 };

/* Instructions in the table of a frame. */
enum {
	ADVANCE = 0x40,
	OFFSET = 0x80,
	RESTORE = 0xc0,
	HIGH_MASK = 0xc0,
	LOW_MASK = 0x3f,
	NOP = 0x00,
	SET_LOCATION,
	ADVANCE_1,
	ADVANCE_2,
	ADVANCE_4,
	OFFSET_EXTENDED,
	RESTORE_EXTENDED,
	UNDEFINED,
	SAME_VALUE,
	IN_REGISTER,
	REMEMBER_STATE,
	RESTORE_STATE,
	DEFINE_CFA,
	DEFINE_CFA_REGISTER,
	DEFINE_CFA_OFFSET,
	DEFINE_CFA_EXPRESSION,
	EXPRESSION,
	OFFSET_EXTENDED_SIGNED,
	DEFINE_CFA_SIGNED,
	DEFINE_CFA_OFFSET_SIGNED,
	VALUE_OFFSET,
	VALUE_OFFSET_SIGNED,
	VALUE_EXPRESSION,
	ARGUMENTS_SIZE = 0x2e,
	OFFSET_EXTENDED_NEGATIVE = 0x2f,
};

/* Expression operations of aligned frames: frame pointer + offset, and the word at that address. */
enum { BY_FP = 0x70 + REGISTER_FP, DEREFERENCE = 0x06 };

enum location_kind {
	LOCATION_SAME_VALUE,
	LOCATION_CFA_OFFSET,
	LOCATION_FP_OFFSET,
	LOCATION_UNDEFINED,
	LOCATION_UNSUPPORTED
};

struct location {
	enum location_kind location_kind;
	int64_t offset; /* from the CFA, or from the frame pointer */
};

/* How to find the registers at one instruction. */
struct register_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	enum location_kind
		cfa; /* SAME: register + offset; LOCATION_FP_OFFSET: the word at frame pointer + offset */
	struct location fp, sp, return_address;
};

struct cie {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint8_t encoding; /* encoding of addresses in its functions' entries */
	bool has_augmentation;
	bool is_signal; /* a frame that the kernel made */
	struct cursor instructions;
};

static const struct gmt_unwind_rule none = { .kind = GMT_UNWIND_NONE };

static struct cursor cursor_at(const struct gmt_eh_frame *tables, uint64_t start)
{
	return (struct cursor){ start, tables->end, start < tables->start || start > tables->end };
}

/* Returns the entry that begins at `start`, without its length. */
static struct cursor entry_at(const struct gmt_eh_frame *tables, uint64_t start)
{
	struct cursor cursor = cursor_at(tables, start);
	uint64_t length = read_bytes(&cursor, 4);

	/* 0 ends the tables. No compiler writes the form for tables beyond 4 GiB (UINT32_MAX). */
	if (!length || length == UINT32_MAX || cursor.failed || cursor.end - cursor.at < length)
		cursor.failed = true;
	else
		cursor.end = cursor.at + length;
	return cursor;
}

/* Returns the entry of the last function that begins at or before `address`; 0 if there is none. */
static uint64_t find_entry(const struct gmt_eh_frame *tables, uint64_t address)
{
	struct cursor cursor = cursor_at(tables, tables->header);

	if (read_bytes(&cursor, 1) != 1)
		return 0;

	unsigned tables_encoding = (unsigned)read_bytes(&cursor, 1);
	unsigned count_encoding = (unsigned)read_bytes(&cursor, 1);
	unsigned encoding = (unsigned)read_bytes(&cursor, 1);

	read_address(&cursor, tables_encoding, tables->header);
	if (count_encoding == ENCODING_OMITTED || encoding != SORTED_TABLE)
		return 0;

	uint64_t count = read_address(&cursor, count_encoding, tables->header);
	uint64_t low = 0, high = count;

	if (cursor.failed || count > (cursor.end - cursor.at) / PAIR_BYTES)
		return 0;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct cursor pair = { .at = cursor.at + middle * PAIR_BYTES, .end = cursor.end };

		if (read_address(&pair, SORTED_TABLE, tables->header) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	cursor.at += (low - 1) * PAIR_BYTES + PAIR_BYTES / 2;
	return read_address(&cursor, SORTED_TABLE, tables->header);
}

/* Reads the data behind a 'z'. Returns false if it is damaged or has an unknown letter. */
static bool read_augmentation(const char *letters, struct cursor *cursor, struct cie *ret_cie)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			ret_cie->encoding = (uint8_t)read_bytes(cursor, 1);
			break;
		case 'L':
			skip(cursor, 1);
			break;
		case 'P': {
			unsigned encoding = (unsigned)read_bytes(cursor, 1);

			/* The personality routine. It is not used, so it may be indirect. */
			read_formatted(cursor, encoding & FORMAT_MASK);
			break;
		}
		case 'S':
			ret_cie->is_signal = true;
			break;
		default:
			return false;
		}
	}
	return !cursor->failed;
}

static bool read_cie(const struct gmt_eh_frame *tables, uint64_t start, struct cie *ret_cie)
{
	struct cursor cursor = entry_at(tables, start);
	uint64_t id = read_bytes(&cursor, 4), version = read_bytes(&cursor, 1);
	const char *letters = (const char *)cursor.at;

	if (cursor.failed || id || (version != CIE_VERSION_OLD && version != CIE_VERSION_NEW))
		return false;
	while (read_bytes(&cursor, 1) && !cursor.failed)
		;
	*ret_cie = (struct cie){ .encoding = FORMAT_ABSOLUTE };
	ret_cie->code_alignment = read_uleb(&cursor);
	ret_cie->data_alignment = read_sleb(&cursor);
	if ((version == CIE_VERSION_OLD ? read_bytes(&cursor, 1) : read_uleb(&cursor)) !=
			REGISTER_RETURN ||
		cursor.failed)
		return false;
	if (letters[0]) {
		if (letters[0] != 'z')
			return false;

		uint64_t bytes = read_uleb(&cursor);
		struct cursor data = cursor;

		skip(&cursor, bytes);
		ret_cie->has_augmentation = true;
		if (cursor.failed || !read_augmentation(letters + 1, &data, ret_cie) || data.at > cursor.at)
			return false;
	}
	ret_cie->instructions = cursor;
	return !cursor.failed;
}

/* Returns the location of a register; NULL for a register that does not matter. */
static struct location *location_of(struct register_state *state, uint64_t number)
{
	return number == REGISTER_FP    ? &state->fp
		: number == REGISTER_SP     ? &state->sp
		: number == REGISTER_RETURN ? &state->return_address
									: NULL;
}

static void set_location(struct register_state *state, uint64_t number,
	enum location_kind location_kind, int64_t offset)
{
	struct location *location = location_of(state, number);

	if (location)
		*location = (struct location){ location_kind, offset };
}

static void restore(struct register_state *state, const struct register_state *initial,
	uint64_t number)
{
	struct register_state copy = *initial;
	const struct location *from = location_of(&copy, number);

	if (from)
		*location_of(state, number) = *from;
}

/* Multiplies with wrap-around: the numbers come from the host's files, and must not overflow. */
static int64_t multiply(uint64_t a, int64_t b)
{
	return (int64_t)(a * (uint64_t)b);
}

static void define_cfa(struct register_state *state, uint64_t number, int64_t offset)
{
	state->cfa_register = number;
	state->cfa_offset = offset;
	state->cfa = LOCATION_SAME_VALUE;
}

/*
 * Reads an expression. Returns LOCATION_FP_OFFSET for frame pointer + offset or, with `is_word`,
 * for the word at that address. Returns LOCATION_UNSUPPORTED for all other expressions.
 */
static struct location read_expression(struct cursor *cursor, bool is_word)
{
	uint64_t bytes = read_uleb(cursor);
	struct cursor inside = *cursor;
	struct location location = { .location_kind = LOCATION_UNSUPPORTED };

	skip(cursor, bytes);
	inside.end = cursor->at;
	if (!cursor->failed && read_bytes(&inside, 1) == BY_FP) {
		location.offset = read_sleb(&inside);
		if ((!is_word || read_bytes(&inside, 1) == DEREFERENCE) && inside.at == inside.end &&
			!inside.failed)
			location.location_kind = LOCATION_FP_OFFSET;
	}
	return location;
}

/* Runs an instruction about one register or about the CFA. */
static void run_rule(unsigned code, struct cursor *cursor, const struct cie *cie,
	struct register_state *state, const struct register_state *initial)
{
	bool has_register = code != DEFINE_CFA_OFFSET && code != DEFINE_CFA_OFFSET_SIGNED &&
		code != DEFINE_CFA_EXPRESSION;
	uint64_t number = has_register ? read_uleb(cursor) : 0;
	struct location location;

	switch (code) {
	case OFFSET_EXTENDED:
		set_location(state, number, LOCATION_CFA_OFFSET,
			multiply(read_uleb(cursor), cie->data_alignment));
		break;
	case OFFSET_EXTENDED_SIGNED:
		set_location(state, number, LOCATION_CFA_OFFSET,
			multiply((uint64_t)read_sleb(cursor), cie->data_alignment));
		break;
	case OFFSET_EXTENDED_NEGATIVE:
		set_location(state, number, LOCATION_CFA_OFFSET,
			multiply(-read_uleb(cursor), cie->data_alignment));
		break;
	case RESTORE_EXTENDED:
		restore(state, initial, number);
		break;
	case UNDEFINED:
		set_location(state, number, LOCATION_UNDEFINED, 0);
		break;
	case SAME_VALUE:
		set_location(state, number, LOCATION_SAME_VALUE, 0);
		break;
	case IN_REGISTER:
	case VALUE_OFFSET:
	case VALUE_OFFSET_SIGNED: /* the same number of bytes for both signs */
		read_uleb(cursor);
		set_location(state, number, LOCATION_UNSUPPORTED, 0);
		break;
	case EXPRESSION:
	case VALUE_EXPRESSION:
		location = read_expression(cursor, false);
		set_location(state, number,
			code == EXPRESSION ? location.location_kind : LOCATION_UNSUPPORTED, location.offset);
		break;
	case DEFINE_CFA:
		define_cfa(state, number, (int64_t)read_uleb(cursor));
		break;
	case DEFINE_CFA_SIGNED:
		define_cfa(state, number, multiply((uint64_t)read_sleb(cursor), cie->data_alignment));
		break;
	case DEFINE_CFA_REGISTER:
		state->cfa_register = number;
		break;
	case DEFINE_CFA_OFFSET:
		state->cfa_offset = (int64_t)read_uleb(cursor);
		break;
	case DEFINE_CFA_OFFSET_SIGNED:
		state->cfa_offset = multiply((uint64_t)read_sleb(cursor), cie->data_alignment);
		break;
	case DEFINE_CFA_EXPRESSION:
		location = read_expression(cursor, true);
		state->cfa = location.location_kind;
		state->cfa_offset = location.offset;
		break;
	default:
		cursor->failed = true;
	}
}

/* Runs the instructions from `location` up to `address`. RESTORE returns to `initial`. */
static bool run(struct cursor *cursor, const struct cie *cie, uint64_t header, uint64_t location,
	uint64_t address, struct register_state *state, const struct register_state *initial)
{
	struct register_state remembered[MAX_REMEMBERED_STATES];
	unsigned depth = 0;

	while (cursor->at < cursor->end && !cursor->failed && location <= address) {
		unsigned code = (unsigned)read_bytes(cursor, 1);
		unsigned low = code & LOW_MASK;

		if ((code & HIGH_MASK) == ADVANCE) {
			location += low * cie->code_alignment;
		} else if ((code & HIGH_MASK) == OFFSET) {
			set_location(state, low, LOCATION_CFA_OFFSET,
				multiply(read_uleb(cursor), cie->data_alignment));
		} else if ((code & HIGH_MASK) == RESTORE) {
			restore(state, initial, low);
		} else if (code == SET_LOCATION) {
			location = read_address(cursor, cie->encoding, header);
		} else if (code >= ADVANCE_1 && code <= ADVANCE_4) {
			location += read_bytes(cursor, (uint64_t)1 << (code - ADVANCE_1)) * cie->code_alignment;
		} else if (code == REMEMBER_STATE) {
			if (depth == MAX_REMEMBERED_STATES)
				return false;
			remembered[depth++] = *state;
		} else if (code == RESTORE_STATE) {
			if (!depth)
				return false;
			*state = remembered[--depth];
		} else if (code == ARGUMENTS_SIZE) {
			read_uleb(cursor);
		} else if (code != NOP) {
			run_rule(code, cursor, cie, state, initial);
		}
	}
	return !cursor->failed;
}

/* Converts bytes into whole words; 0 if they are not whole words. */
static uint64_t words_of(uint64_t bytes)
{
	return bytes % GMT_UNWIND_WORD_BYTES ? 0 : bytes / GMT_UNWIND_WORD_BYTES;
}

static struct gmt_unwind_rule simplify(const struct register_state *state, bool is_signal)
{
	bool is_aligned = state->cfa == LOCATION_FP_OFFSET &&
		state->fp.location_kind == LOCATION_FP_OFFSET && state->fp.offset == 0;
	uint64_t cfa_words = words_of((uint64_t)state->cfa_offset * (is_aligned ? -(uint64_t)1 : 1)),
			 saved_words = 0;

	if (state->return_address.location_kind == LOCATION_UNDEFINED)
		return (struct gmt_unwind_rule){ .kind = GMT_UNWIND_END };
	/* The kernel's frames are found by expressions, and they hold all registers. */
	if (is_signal)
		return (struct gmt_unwind_rule){
			.kind = state->cfa == LOCATION_UNSUPPORTED ? GMT_UNWIND_OTHER : GMT_UNWIND_NONE
		};
	if (state->sp.location_kind != LOCATION_SAME_VALUE ||
		state->return_address.location_kind != LOCATION_CFA_OFFSET ||
		state->return_address.offset != -GMT_UNWIND_WORD_BYTES || !cfa_words ||
		cfa_words > GMT_UNWIND_CFA_WORDS)
		return none;
	if (is_aligned)
		return (struct gmt_unwind_rule){ .kind = GMT_UNWIND_BY_WORD,
			.cfa_words = (uint32_t)cfa_words };
	if (state->cfa != LOCATION_SAME_VALUE ||
		(state->cfa_register != REGISTER_SP && state->cfa_register != REGISTER_FP))
		return none;
	if (state->fp.location_kind != LOCATION_SAME_VALUE) {
		saved_words = words_of(-(uint64_t)state->fp.offset);
		if (state->fp.location_kind != LOCATION_CFA_OFFSET || saved_words < 2 ||
			saved_words > UINT8_MAX)
			return none;
	}
	return (struct gmt_unwind_rule){
		.kind = state->cfa_register == REGISTER_SP ? GMT_UNWIND_BY_SP : GMT_UNWIND_BY_FP,
		.saved_words = (uint8_t)saved_words,
		.cfa_words = (uint32_t)cfa_words,
	};
}

struct gmt_unwind_rule gmt_eh_frame_rule(const struct gmt_eh_frame *tables, uint64_t address)
{
	uint64_t start = find_entry(tables, address);

	if (!start)
		return none;

	struct cursor cursor = entry_at(tables, start);
	uint64_t id_at = cursor.at;
	uint64_t distance = read_bytes(&cursor, 4);
	struct register_state initial = { .cfa = LOCATION_UNSUPPORTED }, state;
	struct cie cie;

	/* An entry without a distance does not belong to a function. */
	if (cursor.failed || !distance || !read_cie(tables, id_at - distance, &cie))
		return none;

	uint64_t first = read_address(&cursor, cie.encoding, tables->header);
	uint64_t size_bytes = read_formatted(&cursor, cie.encoding & FORMAT_MASK);

	if (cie.has_augmentation)
		skip(&cursor, read_uleb(&cursor));
	if (cursor.failed || address < first || address - first >= size_bytes)
		return none;
	if (!run(&cie.instructions, &cie, tables->header, first, address, &initial, &initial))
		return none;
	state = initial;
	if (!run(&cursor, &cie, tables->header, first, address, &state, &initial))
		return none;
	return simplify(&state, cie.is_signal);
}
