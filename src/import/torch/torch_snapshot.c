/* SPDX-License-Identifier: MIT */
#include "import/torch/torch_snapshot.h"

#include <stddef.h>
#include <string.h>

/* A dictionary may occur in many places, and each time all its keys are read. */
enum { MAX_KEYS = 64 };

struct field {
	const char *key;
	size_t offset, has_offset; /* has_offset 0: the structure does not keep it */
	bool is_number;
};

#define NUMBER(type, key, member) { key, offsetof(struct type, member), 0, true }
#define NUMBER_IF(type, key, member, has) \
	{ key, offsetof(struct type, member), offsetof(struct type, has), true }
#define VALUE(type, key, member) { key, offsetof(struct type, member), 0, false }

static const struct field event_fields[] = {
	VALUE(gmt_torch_import_event, "action", action_text),
	NUMBER_IF(gmt_torch_import_event, "addr", address, has_address),
	NUMBER(gmt_torch_import_event, "size", size_bytes),
	NUMBER(gmt_torch_import_event, "stream", stream),
	NUMBER_IF(gmt_torch_import_event, "time_us", time_us, has_time),
	VALUE(gmt_torch_import_event, "frames", frames),
	VALUE(gmt_torch_import_event, "user_metadata", metadata),
	NUMBER(gmt_torch_import_event, "device_free", device_free),
	{ 0 },
};

static const struct field segment_fields[] = {
	NUMBER(gmt_torch_import_segment, "device", device),
	NUMBER_IF(gmt_torch_import_segment, "address", address, has_address),
	NUMBER(gmt_torch_import_segment, "total_size", size_bytes),
	NUMBER(gmt_torch_import_segment, "stream", stream),
	VALUE(gmt_torch_import_segment, "frames", frames),
	VALUE(gmt_torch_import_segment, "blocks", blocks),
	VALUE(gmt_torch_import_segment, "segment_pool_id", pool),
	VALUE(gmt_torch_import_segment, "is_expandable", expandable),
	{ 0 },
};

static const struct field block_fields[] = {
	NUMBER_IF(gmt_torch_import_block, "address", address, has_address),
	NUMBER(gmt_torch_import_block, "size", size_bytes),
	NUMBER_IF(gmt_torch_import_block, "requested_size", requested_bytes, has_requested),
	VALUE(gmt_torch_import_block, "state", state),
	VALUE(gmt_torch_import_block, "frames", frames),
	{ 0 },
};

const struct gmt_torch_import_action_text gmt_torch_import_actions[GMT_TORCH_IMPORT_ACTIONS] = {
#define GMT_TORCH_IMPORT_ACTION(NAME, name, library) { name, library },
#include "import/torch/torch_actions.def"
#undef GMT_TORCH_IMPORT_ACTION
};

const struct gmt_unpickled_items *gmt_torch_import_items(const struct gmt_unpickled *value)
{
	static const struct gmt_unpickled_items empty;

	return value && (value->kind == GMT_UNPICKLED_LIST || value->kind == GMT_UNPICKLED_TUPLE)
		? value->items
		: &empty;
}

/* Gets a number modulo 2^64. */
static bool number_of(const struct gmt_unpickled *value, uint64_t *ret_number)
{
	switch (value->kind) {
	case GMT_UNPICKLED_BOOL:
	case GMT_UNPICKLED_NUMBER:
	case GMT_UNPICKLED_LARGE:
		*ret_number = (uint64_t)value->number;
		return true;
	case GMT_UNPICKLED_REAL:
		*ret_number = value->real >= 0 && value->real < 1e18 ? (uint64_t)value->real : 0;
		return value->real >= 0 && value->real < 1e18;
	default:
		return false;
	}
}

static enum gmt_status set_field(const struct field *field, const struct gmt_unpickled *value,
	const char *what, void *target, struct gmt_error *error)
{
	char *cell = (char *)target + field->offset;

	if (!field->is_number) {
		*(const struct gmt_unpickled **)cell = value;
		return GMT_OK;
	}
	if (value->kind == GMT_UNPICKLED_NONE)
		return GMT_OK;
	if (!number_of(value, (uint64_t *)cell))
		return gmt_error_set(error, GMT_FORMAT, "%s: `%s` is not a number that a snapshot has",
			what, field->key);
	if (field->has_offset)
		*(bool *)((char *)target + field->has_offset) = true;
	return GMT_OK;
}

static enum gmt_status read_fields(const struct gmt_unpickled *value, const struct field *fields,
	const char *what, void *target, struct gmt_error *error)
{
	if (value->kind != GMT_UNPICKLED_DICT)
		return gmt_error_set(error, GMT_FORMAT, "%s is not a dictionary", what);
	if (value->items->count / 2 > MAX_KEYS)
		return gmt_error_set(error, GMT_FORMAT, "%s has more than %d keys", what, MAX_KEYS);
	for (uint32_t i = 0; i < value->items->count; i += 2)
		for (const struct field *field = fields; field->key; field++)
			if (gmt_unpickled_is(&value->items->values[i], field->key)) {
				enum gmt_status status =
					set_field(field, &value->items->values[i + 1], what, target, error);

				if (status)
					return status;
				break;
			}
	return GMT_OK;
}

enum gmt_status gmt_torch_import_read_event(const struct gmt_unpickled *value, const char *what,
	struct gmt_torch_import_event *ret_event, struct gmt_error *error)
{
	enum gmt_status status;

	*ret_event = (struct gmt_torch_import_event){ .action = GMT_TORCH_IMPORT_ACTIONS };
	status = read_fields(value, event_fields, what, ret_event, error);
	if (status)
		return status;
	if (!ret_event->action_text || ret_event->action_text->kind != GMT_UNPICKLED_TEXT)
		return gmt_error_set(error, GMT_FORMAT, "%s has no `action`", what);
	for (int i = 0; i < GMT_TORCH_IMPORT_ACTIONS; i++)
		if (gmt_unpickled_is(ret_event->action_text, gmt_torch_import_actions[i].name))
			ret_event->action = (enum gmt_torch_import_action)i;
	if (!ret_event->has_address && ret_event->action < GMT_TORCH_IMPORT_SNAPSHOT)
		return gmt_error_set(error, GMT_FORMAT, "%s has no `addr`", what);
	return GMT_OK;
}

enum gmt_status gmt_torch_import_read_segment(const struct gmt_unpickled *value, const char *what,
	struct gmt_torch_import_segment *ret_segment, struct gmt_error *error)
{
	enum gmt_status status;

	*ret_segment = (struct gmt_torch_import_segment){ 0 };
	status = read_fields(value, segment_fields, what, ret_segment, error);
	if (!status && !ret_segment->has_address)
		status = gmt_error_set(error, GMT_FORMAT, "%s has no `address`", what);
	return status;
}

enum gmt_status gmt_torch_import_read_block(const struct gmt_unpickled *value, const char *what,
	struct gmt_torch_import_block *ret_block, struct gmt_error *error)
{
	*ret_block = (struct gmt_torch_import_block){ 0 };
	return read_fields(value, block_fields, what, ret_block, error);
}
