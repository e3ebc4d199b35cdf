/* SPDX-License-Identifier: MIT */
#include "tools/import/nsight_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS "CUPTI_ACTIVITY_KIND_RUNTIME"
#define CHAINS "CUDA_CALLCHAINS"
#define RANGES "NVTX_EVENTS"
#define TEXTS "StringIds"
#define SESSION "TARGET_INFO_SESSION_START_TIME"

enum { SHOWN_PROCESSES = 8 };

struct reading {
	struct gmt_nsight_rows *rows;
	struct gmt_nsight_database *database;
	struct gmt_error *error;
	GMT_VEC(int64_t) processes; /* with memory */
	bool has_all_columns;
};

/* Returns whether a table has all these columns. */
static bool has_columns(struct reading *reading, const char *table, const char *const *columns)
{
	for (; *columns; columns++)
		if (!gmt_nsight_database_has(reading->database, table, *columns))
			return false;
	return true;
}

/* --- processes -------------------------------------------------------------------------------- */

static bool take_process(void *user, sqlite3_stmt *row)
{
	struct reading *reading = user;
	int64_t *slot = gmt_vec_push(&reading->processes);

	if (slot)
		*slot = sqlite3_column_int64(row, 0);
	return slot;
}

static uint64_t pid_of(int64_t process)
{
	return (uint64_t)process >> GMT_NSIGHT_ID_BITS & GMT_NSIGHT_ID_MASK;
}

static enum gmt_status refuse_processes(const struct reading *reading, uint64_t pid)
{
	char list[256] = "";
	size_t length = 0;

	for (size_t i = 0; i < reading->processes.count && i < SHOWN_PROCESSES; i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%" PRIu64,
			i ? ", " : "", pid_of(reading->processes.items[i]));
	return gmt_error_set(reading->error, GMT_FORMAT,
		pid ? "has no memory of process %" PRIu64 ", only of %s%s"
			: "has memory of %" PRIu64 " processes: choose one with --pid (%s%s)",
		pid ? pid : (uint64_t)reading->processes.count, list,
		reading->processes.count > SHOWN_PROCESSES ? ", ..." : "");
}

/* Finds the process to import. If no process has memory, rows->process stays 0. */
static enum gmt_status choose_process(struct reading *reading, uint64_t pid)
{
	enum gmt_status status = gmt_nsight_database_read(reading->database,
		"SELECT DISTINCT globalPid FROM " GMT_NSIGHT_MEMORY, take_process, reading, reading->error);

	if (status || (!reading->processes.count && !pid))
		return status;
	if (!pid && reading->processes.count == 1) {
		reading->rows->process = reading->processes.items[0];
		return GMT_OK;
	}
	for (size_t i = 0; pid && i < reading->processes.count; i++)
		if (pid_of(reading->processes.items[i]) == pid) {
			reading->rows->process = reading->processes.items[i];
			return GMT_OK;
		}
	return refuse_processes(reading, pid);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_null(sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL;
}

static bool take_event(void *user, sqlite3_stmt *row)
{
	struct reading *reading = user;
	struct gmt_nsight_event *event;

	if (sqlite3_column_int64(row, 1) != reading->rows->process)
		return true;
	event = gmt_vec_push(&reading->rows->events);
	if (!event)
		return false;
	*event = (struct gmt_nsight_event){
		.start_ns = sqlite3_column_int64(row, 0),
		.process = sqlite3_column_int64(row, 1),
		.device = sqlite3_column_int64(row, 2),
		.address = (uint64_t)sqlite3_column_int64(row, 3),
		.size_bytes = (uint64_t)sqlite3_column_int64(row, 4),
		.kind = sqlite3_column_int64(row, 5),
		.operation = sqlite3_column_int64(row, 6),
		.correlation = sqlite3_column_int64(row, 7),
		.stream = (uint64_t)sqlite3_column_int64(row, 8),
		.pool = (uint64_t)sqlite3_column_int64(row, 9),
		.order = reading->rows->events.count,
		.has_device = !is_null(row, 2),
		.has_correlation = !is_null(row, 7),
	};
	return true;
}

static enum gmt_status read_events(struct reading *reading)
{
	static const char *const needed[] = { "start", "globalPid", "deviceId", "address", "bytes",
		"memKind", "memoryOperationType", NULL };
	static const char *const optional[] = { "correlationId", "streamId", "localMemoryPoolAddress" };
	char statement[300] = "SELECT start, globalPid, deviceId, address, bytes, memKind, "
						  "memoryOperationType";

	for (size_t i = 0; needed[i]; i++)
		if (!gmt_nsight_database_has(reading->database, GMT_NSIGHT_MEMORY, needed[i]))
			return gmt_error_set(reading->error, GMT_FORMAT,
				"the table " GMT_NSIGHT_MEMORY " has no column %s", needed[i]);
	for (size_t i = 0; i < sizeof(optional) / sizeof(*optional); i++) {
		strcat(statement, ", ");
		strcat(statement,
			gmt_nsight_database_has(reading->database, GMT_NSIGHT_MEMORY, optional[i]) ? optional[i]
																					   : "NULL");
	}
	strcat(statement, " FROM " GMT_NSIGHT_MEMORY);
	return gmt_nsight_database_read(reading->database, statement, take_event, reading,
		reading->error);
}

/* Compares by time. Events of equal times keep the order of the file. */
static int compare_events(const void *left, const void *right)
{
	const struct gmt_nsight_event *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* --- calls and their stacks ------------------------------------------------------------------- */

static bool take_call(void *user, sqlite3_stmt *row)
{
	struct gmt_nsight_rows *rows = ((struct reading *)user)->rows;
	int64_t correlation = sqlite3_column_int64(row, 0), thread = sqlite3_column_int64(row, 1);
	uint64_t index;
	struct gmt_nsight_call *call;

	if ((thread & ~(int64_t)GMT_NSIGHT_ID_MASK) != rows->process ||
		!gmt_map_find(&rows->call_of, (uint64_t)correlation, &index))
		return true;
	call = gmt_vec_push(&rows->calls);
	if (!call)
		return false;
	*call = (struct gmt_nsight_call){
		.thread = thread,
		.name = sqlite3_column_int64(row, 2),
		.chain = sqlite3_column_int64(row, 3),
	};
	/* In the map, 0 means that the call was not found. Call number 0 is empty. */
	return gmt_map_put(&rows->call_of, (uint64_t)correlation, rows->calls.count - 1);
}

static enum gmt_status read_calls(struct reading *reading)
{
	static const char *const columns[] = { "correlationId", "globalTid", "nameId", NULL };
	struct gmt_nsight_rows *rows = reading->rows;
	struct gmt_nsight_call *none = gmt_vec_push(&rows->calls);
	bool done = none;

	if (none)
		*none = (struct gmt_nsight_call){ 0 };
	for (size_t i = 0; done && i < rows->events.count; i++)
		if (rows->events.items[i].has_correlation)
			done = gmt_map_put(&rows->call_of, (uint64_t)rows->events.items[i].correlation, 0);
	if (!done)
		return gmt_error_set(reading->error, GMT_NO_MEMORY, "out of memory");
	if (!rows->call_of.count || !has_columns(reading, CALLS, columns))
		return GMT_OK;
	return gmt_nsight_database_read(reading->database,
		gmt_nsight_database_has(reading->database, CALLS, "callchainId")
			? "SELECT correlationId, globalTid, nameId, callchainId FROM " CALLS
			: "SELECT correlationId, globalTid, nameId, NULL FROM " CALLS,
		take_call, reading, reading->error);
}

static bool take_frame(void *user, sqlite3_stmt *row)
{
	struct reading *reading = user;
	struct gmt_nsight_frame *frame = gmt_vec_push(&reading->rows->frames);

	if (frame)
		*frame = (struct gmt_nsight_frame){
			.chain = sqlite3_column_int64(row, 0),
			.depth = sqlite3_column_int64(row, 1),
			.symbol = sqlite3_column_int64(row, 2),
			.module = sqlite3_column_int64(row, 3),
		};
	return frame;
}

static int compare_frames(const void *left, const void *right)
{
	const struct gmt_nsight_frame *a = left, *b = right;

	if (a->chain != b->chain)
		return a->chain < b->chain ? -1 : 1;
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static enum gmt_status read_frames(struct reading *reading)
{
	static const char *const columns[] = { "id", "stackDepth", "symbol", "module", NULL };
	struct gmt_nsight_rows *rows = reading->rows;
	enum gmt_status status;

	if (rows->calls.count < 2 || !has_columns(reading, CHAINS, columns))
		return GMT_OK;
	status = gmt_nsight_database_read(reading->database,
		"SELECT id, stackDepth, symbol, module FROM " CHAINS, take_frame, reading, reading->error);
	if (!status && rows->frames.count)
		qsort(rows->frames.items, rows->frames.count, sizeof(*rows->frames.items), compare_frames);
	return status;
}

/* --- ranges and texts ------------------------------------------------------------------------- */

static bool take_text(void *user, sqlite3_stmt *row)
{
	struct gmt_nsight_rows *rows = ((struct reading *)user)->rows;
	struct gmt_nsight_text *text = gmt_vec_push(&rows->texts);
	size_t length;
	const char *cell = gmt_nsight_text(row, 1, &length);

	if (!text)
		return false;
	text->text = gmt_arena_copy(&rows->arena, cell, length);
	text->length = length;
	return text->text &&
		gmt_map_put(&rows->text_of, (uint64_t)sqlite3_column_int64(row, 0), rows->texts.count - 1);
}

static enum gmt_status read_texts(struct reading *reading)
{
	static const char *const columns[] = { "id", "value", NULL };

	return has_columns(reading, TEXTS, columns)
		? gmt_nsight_database_read(reading->database, "SELECT id, value FROM " TEXTS, take_text,
			  reading, reading->error)
		: GMT_OK;
}

struct gmt_nsight_text gmt_nsight_rows_text(const struct gmt_nsight_rows *rows, int64_t id)
{
	uint64_t index;

	return gmt_map_find(&rows->text_of, (uint64_t)id, &index) ? rows->texts.items[index]
															  : (struct gmt_nsight_text){ "", 0 };
}

static bool take_range(void *user, sqlite3_stmt *row)
{
	struct gmt_nsight_rows *rows = ((struct reading *)user)->rows;
	int64_t thread = sqlite3_column_int64(row, 3);
	struct gmt_nsight_text text = gmt_nsight_rows_text(rows, sqlite3_column_int64(row, 5));
	struct gmt_nsight_range *range;
	size_t length;
	const char *cell = gmt_nsight_text(row, 4, &length);

	if ((thread & ~(int64_t)GMT_NSIGHT_ID_MASK) != rows->process)
		return true;
	range = gmt_vec_push(&rows->ranges);
	/* A text of the row itself has precedence. */
	if (length)
		text = (struct gmt_nsight_text){ gmt_arena_copy(&rows->arena, cell, length), length };
	if (!range || !text.text)
		return false;
	*range = (struct gmt_nsight_range){
		.start_ns = sqlite3_column_int64(row, 0),
		.end_ns = is_null(row, 1) ? INT64_MIN : sqlite3_column_int64(row, 1),
		.type = (uint8_t)sqlite3_column_int64(row, 2),
		.thread = thread,
		.name = text.text,
		.name_length = (uint32_t)text.length,
		.domain = sqlite3_column_int64(row, 6),
	};
	return true;
}

static enum gmt_status read_ranges(struct reading *reading)
{
	static const char *const columns[] = { "start", "end", "eventType", "globalTid", "text",
		"domainId", NULL };

	if (!has_columns(reading, RANGES, columns))
		return GMT_OK;
	return gmt_nsight_database_read(reading->database,
		gmt_nsight_database_has(reading->database, RANGES, "textId")
			? "SELECT start, \"end\", eventType, globalTid, text, textId, domainId FROM " RANGES
			  " WHERE eventType IN (34, 59, 60)"
			: "SELECT start, \"end\", eventType, globalTid, text, NULL, domainId FROM " RANGES
			  " WHERE eventType IN (34, 59, 60)",
		take_range, reading, reading->error);
}

static bool take_session(void *user, sqlite3_stmt *row)
{
	struct reading *reading = user;

	reading->rows->session_start_ns = sqlite3_column_int64(row, 0);
	return true;
}

static enum gmt_status read_session(struct reading *reading)
{
	static const char *const columns[] = { "utcEpochNs", NULL };

	return has_columns(reading, SESSION, columns)
		? gmt_nsight_database_read(reading->database, "SELECT utcEpochNs FROM " SESSION " LIMIT 1",
			  take_session, reading, reading->error)
		: GMT_OK;
}

enum gmt_status gmt_nsight_rows_read(struct gmt_nsight_rows *ret_rows,
	struct gmt_nsight_database *database, uint64_t pid, struct gmt_error *error)
{
	struct reading reading = { .rows = ret_rows, .database = database, .error = error };
	enum gmt_status status;

	if (!gmt_nsight_database_has(database, "sqlite_master", NULL))
		return gmt_nsight_database_fail(database, error);
	if (!gmt_nsight_database_has(database, GMT_NSIGHT_MEMORY, NULL))
		return gmt_error_set(error, GMT_FORMAT,
			"is an SQLite file without the table " GMT_NSIGHT_MEMORY
			", which Nsight Systems writes with `nsys profile --cuda-memory-usage=true`");
	status = choose_process(&reading, pid);
	status = status ? status : read_events(&reading);
	if (!status && ret_rows->events.count)
		qsort(ret_rows->events.items, ret_rows->events.count, sizeof(*ret_rows->events.items),
			compare_events);
	status = status ? status : read_texts(&reading);
	status = status ? status : read_calls(&reading);
	status = status ? status : read_frames(&reading);
	status = status ? status : read_ranges(&reading);
	status = status ? status : read_session(&reading);
	gmt_vec_fini(&reading.processes);
	return status;
}

void gmt_nsight_rows_fini(struct gmt_nsight_rows *rows)
{
	gmt_vec_fini(&rows->events);
	gmt_vec_fini(&rows->calls);
	gmt_map_fini(&rows->call_of);
	gmt_vec_fini(&rows->ranges);
	gmt_vec_fini(&rows->frames);
	gmt_vec_fini(&rows->texts);
	gmt_map_fini(&rows->text_of);
	gmt_arena_fini(&rows->arena);
}
