/* SPDX-License-Identifier: MIT */
/* The table `events`. */
#include <stdlib.h>

#include "containers/bisect.h"
#include "library/tables/table_texts.h"

enum { APIS = 1 << 16 };

struct thread_texts {
	int32_t name; /* below 0: unknown */
	uint32_t tid;
};

/* The numbers of all texts. They are interned before the first row is made. */
struct events_state {
	struct gmt_events_reader reader;
	size_t next, end; /* events */
	bool has_stacks, has_steps, has_phases, has_owners;
	struct gmt_stack_text_table names;
	int32_t kinds[GMT_SHAPE_KINDS], layers[GMT_SHAPE_LAYERS], spaces[256];
	int32_t *apis; /* by id; below 0: unknown */
	GMT_VEC(struct thread_texts) threads; /* by index in the recording */
	struct gmt_phase_texts phases; /* by index in the timeline */
	GMT_VEC(int32_t) owners; /* by id */
	uint32_t last_thread; /* the last look-up of a thread: its id, and its texts */
	struct thread_texts last_thread_texts;
	uint32_t last_step;
};

GMT_TABLE_FUNCTIONS(events)

static bool wants(const struct gmt_read_cursor *cursor, int column)
{
	return gmt_cursor_wants(cursor, column);
}

static unsigned fields_of(const struct gmt_read_cursor *cursor, const struct events_state *state)
{
	unsigned fields = 0;

	if (wants(cursor, GMT_COLUMN_events_time_ns) || state->has_steps || state->has_phases)
		fields |= GMT_EVENTS_STAMP;
	if (wants(cursor, GMT_COLUMN_events_address))
		fields |= GMT_EVENTS_ADDRESS;
	if (wants(cursor, GMT_COLUMN_events_size_bytes))
		fields |= GMT_EVENTS_SIZE;
	if (wants(cursor, GMT_COLUMN_events_torch_allocated_bytes) ||
		wants(cursor, GMT_COLUMN_events_torch_reserved_bytes))
		fields |= GMT_EVENTS_MORE;
	return state->has_stacks || state->has_owners ? fields | GMT_EVENTS_TRACE : fields;
}

static void intern_numbers(struct gmt_read_cursor *cursor, struct events_state *state)
{
	const struct gmt_event_shapes *shapes = &cursor->recording->pipeline.recording->shapes;

	for (size_t i = 0; i < gmt_event_shapes_count(shapes); i++) {
		struct gmt_recording_event event = { 0 };
		const char *kind;

		gmt_event_shape_set(&event, gmt_event_shapes_get(shapes, i));
		kind = gmt_event_kind_name(event.kind);
		state->kinds[event.kind] =
			gmt_cursor_intern_text(cursor, GMT_COLUMN_events_kind, kind ? kind : "unknown");
		state->layers[event.layer] =
			gmt_table_text_layer(cursor, GMT_COLUMN_events_layer, event.layer);
		state->spaces[event.space] =
			gmt_table_text_space(cursor, GMT_COLUMN_events_space, event.space);
	}
}

static bool intern_apis(struct gmt_read_cursor *cursor, struct events_state *state)
{
	const struct gmt_recording *loaded = cursor->recording->pipeline.recording;

	if (!wants(cursor, GMT_COLUMN_events_api))
		return true;
	state->apis = malloc(APIS * sizeof(*state->apis));
	if (!state->apis)
		return false;
	for (size_t i = 0; i < APIS; i++)
		state->apis[i] = -1;
	for (size_t i = 0; i < loaded->apis.count; i++)
		if (loaded->apis.items[i].id < APIS)
			state->apis[loaded->apis.items[i].id] = gmt_table_text_intern(cursor,
				GMT_COLUMN_events_api, loaded->apis.items[i].name.text);
	return true;
}

static bool intern_threads(struct gmt_read_cursor *cursor, struct events_state *state)
{
	const struct gmt_recording *loaded = cursor->recording->pipeline.recording;

	for (size_t i = 0; i < loaded->threads.count; i++) {
		struct thread_texts *texts = gmt_vec_push(&state->threads);

		if (!texts)
			return false;
		*texts = (struct thread_texts){
			.name = gmt_table_text_intern(cursor, GMT_COLUMN_events_thread,
				loaded->threads.items[i].name.text),
			.tid = loaded->threads.items[i].tid,
		};
	}
	return true;
}

/* Interns only the texts of stacks that an event has, so that the dictionaries are small. */
static bool intern_stacks(struct gmt_read_cursor *cursor, struct events_state *state)
{
	const struct gmt_traces *traces = &cursor->recording->pipeline.traces;

	if (!gmt_stack_text_table_init(&state->names, cursor,
			(struct gmt_stack_columns){
				.line = GMT_COLUMN_events_line,
				.function = GMT_COLUMN_events_function,
				.operator = GMT_COLUMN_events_operator,
				.module = GMT_READ_NO_COLUMN,
				.library = GMT_READ_NO_COLUMN,
			}))
		return false;
	for (size_t i = 0; i < traces->trace_count; i++)
		gmt_stack_text_table_get(&state->names, cursor, traces->stack_of_trace[i]);
	return !cursor->failed;
}

static bool intern_owners(struct gmt_read_cursor *cursor, struct events_state *state)
{
	const struct gmt_owners *owners = &cursor->recording->pipeline.traces.owners;

	for (uint32_t i = 0; i < owners->names.entries.count; i++) {
		int32_t *text = gmt_vec_push(&state->owners);

		if (!text)
			return false;
		*text = gmt_cursor_intern_text(cursor, GMT_COLUMN_events_owner, gmt_owners_name(owners, i));
	}
	return true;
}

/* Returns the number of the first event that is not before a time. */
static size_t first_at(const struct gmt_read_cursor *cursor, int64_t time_ns)
{
	const struct gpumemtrace_recording *recording = cursor->recording;
	const struct gmt_recording *loaded = recording->pipeline.recording;

	return GMT_BISECT(at, loaded->events.count,
		gmt_read_recording_time_ns(recording, gmt_recording_event(loaded, at).stamp) < time_ns);
}

/* Returns the number of the first event after a stamp. */
static size_t first_after(const struct gmt_recording *loaded, uint64_t stamp)
{
	return GMT_BISECT(at, loaded->events.count, gmt_recording_event(loaded, at).stamp <= stamp);
}

/* Leaves out the events before and after the wanted ones, without unpacking them. */
static void choose_events(const struct gmt_read_cursor *cursor, struct events_state *state)
{
	const struct gmt_read_filter *filter = &cursor->filter;
	const struct gmt_step_series *series = &cursor->recording->pipeline.timeline.series[0];
	size_t next = 0, end = cursor->recording->pipeline.recording->events.count;

	if (filter->wanted & GMT_FILTER_TIME) {
		next = first_at(cursor, filter->begin_time_ns);
		end = first_at(cursor, filter->end_time_ns);
	}
	if (filter->wanted & GMT_FILTER_STEP) {
		const struct gmt_recording *loaded = cursor->recording->pipeline.recording;
		int64_t count = (int64_t)series->steps.count;
		int64_t first = filter->begin_step > 0 ? filter->begin_step : 0;
		int64_t last = filter->end_step < count ? filter->end_step : count;
		size_t step_end;

		if (first >= last) {
			state->next = state->end = 0;
			return;
		}
		step_end = first_after(loaded, series->steps.items[last - 1].end);
		end = step_end < end ? step_end : end;
		step_end = first_after(loaded, series->steps.items[first].begin);
		next = step_end > next ? step_end : next;
	}
	state->next = next < end ? next : end;
	state->end = end;
}

bool gmt_open_events(struct gmt_read_cursor *cursor)
{
	struct events_state *state = cursor->state = calloc(1, sizeof(*state));

	if (!state)
		return false;
	state->has_stacks = wants(cursor, GMT_COLUMN_events_stack_id) ||
		wants(cursor, GMT_COLUMN_events_line) || wants(cursor, GMT_COLUMN_events_function) ||
		wants(cursor, GMT_COLUMN_events_operator);
	state->has_owners = wants(cursor, GMT_COLUMN_events_owner);
	state->has_phases = wants(cursor, GMT_COLUMN_events_phase);
	state->has_steps =
		wants(cursor, GMT_COLUMN_events_step) || cursor->filter.wanted & GMT_FILTER_STEP;
	state->last_thread = UINT32_MAX;
	intern_numbers(cursor, state);
	choose_events(cursor, state);
	return intern_apis(cursor, state) && intern_threads(cursor, state) &&
		(!state->has_stacks || intern_stacks(cursor, state)) &&
		(!state->has_phases ||
			gmt_table_texts_of_phases(cursor, GMT_COLUMN_events_phase, &state->phases)) &&
		(!state->has_owners || intern_owners(cursor, state)) &&
		gmt_events_reader_init(&state->reader, &cursor->recording->pipeline.recording->events,
			fields_of(cursor, state)) &&
		!cursor->failed;
}

static void set_thread(const struct gmt_read_cursor *cursor, struct events_state *state,
	const struct gmt_recording_event *event, struct gmt_row_events *row)
{
	uint64_t index;

	if (event->thread != state->last_thread) {
		state->last_thread = event->thread;
		state->last_thread_texts = (struct thread_texts){ -1, 0 };
		if (gmt_map_find(&cursor->recording->pipeline.recording->thread_ids, event->thread, &index))
			state->last_thread_texts = state->threads.items[index];
	}
	GMT_SET_KNOWN(row, events, thread, state->last_thread_texts.name >= 0,
		state->last_thread_texts.name);
	GMT_SET_KNOWN(row, events, thread_tid, state->last_thread_texts.tid,
		state->last_thread_texts.tid);
}

static void set_stack(const struct gmt_read_cursor *cursor, const struct events_state *state,
	const struct gmt_recording_event *event, struct gmt_row_events *row)
{
	static const struct gmt_stack_texts none = { -1, -1, -1, -1, -1 };
	const struct gmt_traces *traces = &cursor->recording->pipeline.traces;
	uint32_t stack =
		state->has_stacks || state->has_owners ? traces->stack_of_trace[event->trace] : 0;
	const struct gmt_stack_texts *texts =
		state->has_stacks ? &state->names.stacks.items[stack] : &none;

	GMT_SET_KNOWN(row, events, stack_id, state->has_stacks && gmt_stack_has_frames(cursor, stack),
		stack);
	GMT_SET_KNOWN(row, events, line, texts->line >= 0, texts->line);
	GMT_SET_KNOWN(row, events, function, texts->function >= 0, texts->function);
	GMT_SET_KNOWN(row, events, operator, texts->operator >= 0, texts->operator);
	if (state->has_owners)
		row->owner =
			state->owners
				.items[gmt_owners_find(&traces->owners, stack, event->layer, event->device)];
	else
		GMT_SET_NULL(row, events, owner);
}

/* Sets the phase to the innermost one, or to null outside of all phases. */
static void set_phase(const struct gmt_read_cursor *cursor, const struct events_state *state,
	const struct gmt_recording_event *event, struct gmt_row_events *row)
{
	const struct gmt_timeline *timeline = &cursor->recording->pipeline.timeline;
	const struct gmt_phase *phase =
		state->has_phases ? gmt_timeline_phase(timeline, event->stamp, false) : NULL;

	GMT_SET_KNOWN(row, events, phase, phase, state->phases.items[phase - timeline->phases.items]);
}

static void set_row(const struct gmt_read_cursor *cursor, struct events_state *state, size_t index,
	const struct gmt_recording_event *event, struct gmt_row_events *row)
{
	struct gmt_recording_totals totals = { 0 };
	bool has_totals = gmt_recording_totals(event, &totals);

	row->event = index;
	if (wants(cursor, GMT_COLUMN_events_time_ns))
		row->time_ns = gmt_read_recording_time_ns(cursor->recording, event->stamp);
	row->kind = state->kinds[event->kind];
	row->layer = state->layers[event->layer];
	row->space = state->spaces[event->space];
	row->device = event->device;
	row->address = event->address;
	row->size_bytes = event->size_bytes;
	row->result = event->result;
	GMT_SET_KNOWN(row, events, api, state->apis && state->apis[event->api] >= 0,
		state->apis[event->api]);
	set_thread(cursor, state, event, row);
	GMT_SET_KNOWN(row, events, torch_allocated_bytes, has_totals, totals.allocated_bytes);
	GMT_SET_KNOWN(row, events, torch_reserved_bytes, has_totals, totals.reserved_bytes);
	set_stack(cursor, state, event, row);
	set_phase(cursor, state, event, row);
}

size_t gmt_read_events(struct gmt_read_cursor *cursor, void *ret_rows, size_t max)
{
	struct events_state *state = cursor->state;
	const struct gmt_step_series *series = &cursor->recording->pipeline.timeline.series[0];
	struct gmt_row_events *row = ret_rows;

	for (; state->next < state->end && row < (struct gmt_row_events *)ret_rows + max;
		state->next++) {
		const struct gmt_recording_event *event = gmt_events_at(&state->reader, state->next);
		bool has_step = false;

		if (!gmt_filter_device(cursor, event->device) || !gmt_filter_layer(cursor, event->layer))
			continue;
		if (state->has_steps)
			has_step = gmt_series_find_next(series, event->stamp, &state->last_step);
		if (!gmt_filter_step(cursor, has_step, state->last_step))
			continue;
		row->nulls = 0;
		GMT_SET_KNOWN(row, events, step, has_step, state->last_step);
		set_row(cursor, state, state->next, event, row++);
	}
	if (gmt_events_failed(&cursor->recording->pipeline.recording->events))
		cursor->failed = true;
	return (size_t)(row - (struct gmt_row_events *)ret_rows);
}

void gmt_close_events(struct gmt_read_cursor *cursor)
{
	struct events_state *state = cursor->state;

	if (!state)
		return;
	gmt_events_reader_fini(&state->reader);
	gmt_stack_text_table_fini(&state->names);
	gmt_vec_fini(&state->threads);
	gmt_vec_fini(&state->phases);
	gmt_vec_fini(&state->owners);
	free(state->apis);
	free(state);
}
