/* SPDX-License-Identifier: MIT */
#include "import/pickle/unpickle.h"

#include <string.h>

#include "import/pickle/unpickle_machine.h"

enum { OLDEST_PROTOCOL = 2, NEWEST_PROTOCOL = 5 };

enum argument { ARGUMENT_NONE, U1, U2, U4, U8, I4, R8, T1, T4, T8 };
#define ARGUMENT_OF_NONE ARGUMENT_NONE
#define ARGUMENT_OF_U1 U1
#define ARGUMENT_OF_U2 U2
#define ARGUMENT_OF_U4 U4
#define ARGUMENT_OF_U8 U8
#define ARGUMENT_OF_I4 I4
#define ARGUMENT_OF_R8 R8
#define ARGUMENT_OF_T1 T1
#define ARGUMENT_OF_T4 T4
#define ARGUMENT_OF_T8 T8

/* What the reader does with an opcode. */
enum use { UNKNOWN, BUILDS, EXECUTES, OF_TEXT, OF_BUFFERS };

struct opcode {
	const char *name;
	uint8_t use, argument;
};

static const struct opcode opcodes[256] = {
#define GMT_OPCODE(code, NAME, argument) [code] = { #NAME, BUILDS, ARGUMENT_OF_##argument },
#define GMT_OPCODE_THAT_EXECUTES(code, NAME) [code] = { #NAME, EXECUTES, ARGUMENT_NONE },
#define GMT_OPCODE_OF_TEXT(code, NAME) [code] = { #NAME, OF_TEXT, ARGUMENT_NONE },
#define GMT_OPCODE_OF_BUFFERS(code, NAME) [code] = { #NAME, OF_BUFFERS, ARGUMENT_NONE },
#include "import/pickle/opcodes.def"
#undef GMT_OPCODE
#undef GMT_OPCODE_THAT_EXECUTES
#undef GMT_OPCODE_OF_TEXT
#undef GMT_OPCODE_OF_BUFFERS
};

enum code {
#define GMT_OPCODE(code, NAME, argument) OPCODE_##NAME = code,
#define GMT_OPCODE_THAT_EXECUTES(code, NAME)
#define GMT_OPCODE_OF_TEXT(code, NAME)
#define GMT_OPCODE_OF_BUFFERS(code, NAME)
#include "import/pickle/opcodes.def"
#undef GMT_OPCODE
#undef GMT_OPCODE_THAT_EXECUTES
#undef GMT_OPCODE_OF_TEXT
#undef GMT_OPCODE_OF_BUFFERS
};

/* The file, and the argument of the current opcode. */
struct reading {
	struct gmt_unpickle_machine machine;
	const uint8_t *bytes;
	size_t length, at;
	uint64_t number; /* the argument, or the length of its text */
	const char *text;
};

bool gmt_unpickle_is_pickle(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	return length >= 2 && at[0] == OPCODE_PROTO && at[1] >= OLDEST_PROTOCOL &&
		at[1] <= NEWEST_PROTOCOL;
}

static bool take_number(struct reading *reading, unsigned bytes)
{
	reading->number = 0;
	if (bytes > reading->length - reading->at)
		return false;
	for (unsigned i = 0; i < bytes; i++)
		reading->number |= (uint64_t)reading->bytes[reading->at++] << (8 * i);
	return true;
}

static bool take_text(struct reading *reading, unsigned bytes)
{
	if (!take_number(reading, bytes) || reading->number > reading->length - reading->at)
		return false;
	reading->text = (const char *)reading->bytes + reading->at;
	reading->at += reading->number;
	return true;
}

/* Takes the argument of an opcode. Returns false if the file ends within it. */
static bool take_argument(struct reading *reading, unsigned argument)
{
	switch (argument) {
	case U1:
		return take_number(reading, 1);
	case U2:
		return take_number(reading, 2);
	case U4:
	case I4:
		return take_number(reading, 4);
	case U8:
	case R8:
		return take_number(reading, 8);
	case T1:
		return take_text(reading, 1);
	case T4:
		return take_text(reading, 4);
	case T8:
		return take_text(reading, 8);
	default:
		return true;
	}
}

static struct gmt_unpickled number_value(int64_t number)
{
	return (struct gmt_unpickled){ .kind = GMT_UNPICKLED_NUMBER, .number = number };
}

/* Returns the number of LONG1 and LONG4: two's complement, the lowest byte first. */
static struct gmt_unpickled long_value(const struct reading *reading)
{
	const uint8_t *bytes = (const uint8_t *)reading->text;
	size_t length = reading->number;
	struct gmt_unpickled value = { .kind = GMT_UNPICKLED_NUMBER };
	uint64_t number = 0;

	/* The highest byte only holds the sign of a number from 2^63 on. */
	if (length == 9 && !bytes[8])
		value.kind = bytes[7] & 0x80 ? GMT_UNPICKLED_LARGE : GMT_UNPICKLED_NUMBER;
	else if (length > 8)
		return (struct gmt_unpickled){ .kind = GMT_UNPICKLED_OTHER_NUMBER };
	for (size_t i = 0; i < length && i < 8; i++)
		number |= (uint64_t)bytes[i] << (8 * i);
	if (length && length < 8 && bytes[length - 1] & 0x80)
		number |= UINT64_MAX << (8 * length);
	value.number = (int64_t)number;
	return value;
}

static struct gmt_unpickled real_value(uint64_t number)
{
	struct gmt_unpickled value = { .kind = GMT_UNPICKLED_REAL };
	uint64_t swapped = __builtin_bswap64(number);

	memcpy(&value.real, &swapped, sizeof(value.real));
	return value;
}

static bool push_text(struct reading *reading, enum gmt_unpickled_kind kind)
{
	struct gmt_unpickled value = { .kind = kind, .length = (uint32_t)reading->number };

	if (reading->number > UINT32_MAX) {
		reading->machine.problem = "has a text that is too long";
		return false;
	}
	value.text = reading->text;
	return gmt_unpickle_push(&reading->machine, value);
}

/* Executes an opcode that pushes a simple value. */
static bool push_simple(struct reading *reading, unsigned code)
{
	struct gmt_unpickle_machine *machine = &reading->machine;

	switch (code) {
	case OPCODE_NONE:
		return gmt_unpickle_push(machine, (struct gmt_unpickled){ .kind = GMT_UNPICKLED_NONE });
	case OPCODE_NEWTRUE:
	case OPCODE_NEWFALSE:
		return gmt_unpickle_push(machine,
			(struct gmt_unpickled){ .kind = GMT_UNPICKLED_BOOL, .number = code == OPCODE_NEWTRUE });
	case OPCODE_BININT:
		return gmt_unpickle_push(machine, number_value((int32_t)reading->number));
	case OPCODE_BININT1:
	case OPCODE_BININT2:
		return gmt_unpickle_push(machine, number_value((int64_t)reading->number));
	case OPCODE_LONG1:
	case OPCODE_LONG4:
		return gmt_unpickle_push(machine, long_value(reading));
	case OPCODE_BINFLOAT:
		return gmt_unpickle_push(machine, real_value(reading->number));
	case OPCODE_BINSTRING:
	case OPCODE_SHORT_BINSTRING:
	case OPCODE_BINUNICODE:
	case OPCODE_SHORT_BINUNICODE:
	case OPCODE_BINUNICODE8:
		return push_text(reading, GMT_UNPICKLED_TEXT);
	default:
		return push_text(reading, GMT_UNPICKLED_BYTES);
	}
}

/* Executes an opcode. Returns false if it cannot be executed. */
static bool execute(struct reading *reading, unsigned code)
{
	struct gmt_unpickle_machine *machine = &reading->machine;
	struct gmt_unpickled dropped;

	switch (code) {
	case OPCODE_PROTO:
		machine->problem = "names a protocol other than 2 to 5";
		return reading->number >= OLDEST_PROTOCOL && reading->number <= NEWEST_PROTOCOL;
	case OPCODE_FRAME:
		return true;
	case OPCODE_MARK:
		return gmt_unpickle_mark(machine);
	case OPCODE_POP:
		return gmt_unpickle_pop(machine, &dropped);
	case OPCODE_POP_MARK:
		return gmt_unpickle_pop_mark(machine);
	case OPCODE_DUP:
		return gmt_unpickle_duplicate(machine);
	case OPCODE_EMPTY_LIST:
		return gmt_unpickle_push_empty(machine, GMT_UNPICKLED_LIST);
	case OPCODE_EMPTY_TUPLE:
		return gmt_unpickle_push_empty(machine, GMT_UNPICKLED_TUPLE);
	case OPCODE_EMPTY_DICT:
		return gmt_unpickle_push_empty(machine, GMT_UNPICKLED_DICT);
	case OPCODE_EMPTY_SET:
		return gmt_unpickle_push_empty(machine, GMT_UNPICKLED_SET);
	case OPCODE_APPEND:
		return gmt_unpickle_add(machine, GMT_UNPICKLED_LIST, 1);
	case OPCODE_APPENDS:
		return gmt_unpickle_add_from_mark(machine, GMT_UNPICKLED_LIST);
	case OPCODE_SETITEM:
		return gmt_unpickle_add(machine, GMT_UNPICKLED_DICT, 2);
	case OPCODE_SETITEMS:
		return gmt_unpickle_add_from_mark(machine, GMT_UNPICKLED_DICT);
	case OPCODE_ADDITEMS:
		return gmt_unpickle_add_from_mark(machine, GMT_UNPICKLED_SET);
	case OPCODE_LIST:
		return gmt_unpickle_build_from_mark(machine, GMT_UNPICKLED_LIST);
	case OPCODE_TUPLE:
		return gmt_unpickle_build_from_mark(machine, GMT_UNPICKLED_TUPLE);
	case OPCODE_TUPLE1:
	case OPCODE_TUPLE2:
	case OPCODE_TUPLE3:
		return gmt_unpickle_build(machine, GMT_UNPICKLED_TUPLE, code - OPCODE_TUPLE1 + 1);
	case OPCODE_DICT:
		return gmt_unpickle_build_from_mark(machine, GMT_UNPICKLED_DICT);
	case OPCODE_FROZENSET:
		return gmt_unpickle_build_from_mark(machine, GMT_UNPICKLED_SET);
	case OPCODE_BINPUT:
	case OPCODE_LONG_BINPUT:
		return gmt_unpickle_put(machine, reading->number);
	case OPCODE_MEMOIZE:
		return gmt_unpickle_put(machine, machine->memo.count);
	case OPCODE_BINGET:
	case OPCODE_LONG_BINGET:
		return gmt_unpickle_get(machine, reading->number);
	default:
		return push_simple(reading, code);
	}
}

/* Fails because of an opcode that the reader does not take. */
static enum gmt_status refuse(unsigned code, size_t at, struct gmt_error *error)
{
	const struct opcode *opcode = &opcodes[code];

	switch (opcode->use) {
	case EXECUTES:
		return gmt_error_set(error, GMT_FORMAT,
			"opcode %s at byte %zu could execute code of the file: only plain data is read",
			opcode->name, at);
	case OF_TEXT:
		return gmt_error_set(error, GMT_FORMAT,
			"opcode %s at byte %zu belongs to protocol 0: only protocols 2 to 5 are read",
			opcode->name, at);
	case OF_BUFFERS:
		return gmt_error_set(error, GMT_FORMAT,
			"opcode %s at byte %zu refers to data outside of the file", opcode->name, at);
	default:
		return gmt_error_set(error, GMT_FORMAT, "byte %zu (0x%02x) is not an opcode of a pickle",
			at, code);
	}
}

static enum gmt_status read_all(struct reading *reading, struct gmt_error *error)
{
	struct gmt_unpickle_machine *machine = &reading->machine;

	while (reading->at < reading->length) {
		size_t at = reading->at;
		unsigned code = reading->bytes[reading->at++];
		const struct opcode *opcode = &opcodes[code];

		if (opcode->use != BUILDS)
			return refuse(code, at, error);
		if (!take_argument(reading, opcode->argument))
			return gmt_error_set(error, GMT_FORMAT, "the file ends within opcode %s at byte %zu",
				opcode->name, at);
		if (code == OPCODE_STOP) {
			if (machine->stack.count == 1 && !machine->marks.count) {
				machine->unpickle->value = machine->stack.items[0];
				return GMT_OK;
			}
			return gmt_error_set(error, GMT_FORMAT,
				"opcode STOP at byte %zu leaves %zu values instead of one", at,
				machine->stack.count);
		}
		machine->problem = NULL;
		if (!execute(reading, code))
			return machine->problem ? gmt_error_set(error, GMT_FORMAT, "opcode %s at byte %zu %s",
										  opcode->name, at, machine->problem)
									: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	return gmt_error_set(error, GMT_FORMAT, "the file ends without opcode STOP: it was cut");
}

enum gmt_status gmt_unpickle_read(struct gmt_unpickle *ret_unpickle, const void *bytes,
	size_t length, struct gmt_error *error)
{
	struct reading reading = {
		.machine = { .unpickle = ret_unpickle },
		.bytes = bytes,
		.length = length,
	};
	enum gmt_status status;

	if (!gmt_unpickle_is_pickle(bytes, length))
		return gmt_error_set(error, GMT_FORMAT, "is not a pickle of protocols 2 to 5");
	status = read_all(&reading, error);
	gmt_unpickle_machine_fini(&reading.machine);
	return status;
}

void gmt_unpickle_fini(struct gmt_unpickle *unpickle)
{
	gmt_arena_fini(&unpickle->arena);
}

bool gmt_unpickled_is(const struct gmt_unpickled *value, const char *text)
{
	return value->kind == GMT_UNPICKLED_TEXT && strlen(text) == value->length &&
		memcmp(value->text, text, value->length) == 0;
}

const struct gmt_unpickled *gmt_unpickled_find(const struct gmt_unpickled *dictionary,
	const char *key)
{
	if (dictionary->kind != GMT_UNPICKLED_DICT)
		return NULL;
	for (uint32_t i = dictionary->items->count; i; i -= 2)
		if (gmt_unpickled_is(&dictionary->items->values[i - 2], key))
			return &dictionary->items->values[i - 1];
	return NULL;
}
