/* SPDX-License-Identifier: MIT */
#include "reader/load/backward_stacks.h"

#include "accounting/backward_attribution.h"

/* CALL_STACK: a backward call is one of the frames. */
enum stack_kind { UNKNOWN_STACK, ORDINARY_STACK, CALL_STACK };

struct attributor {
	struct gmt_recording *recording;
	struct gmt_backward_attribution backward_attribution;
	GMT_VEC(uint8_t) stack_kinds; /* enum stack_kind, by index in recording->frames */
	struct gmt_map trace_ids; /* trace << 32 | caller -> index of the same trace with that caller */
};

/* Returns whether a frame of this Python stack is a backward call. */
static bool has_backward_call(const struct gmt_recording *recording,
	const struct gmt_frames *frames)
{
	for (uint32_t i = 0; i < frames->items.count; i++) {
		const struct gmt_frame *frame =
			gmt_recording_frame(recording, (uint32_t)(frames->items.items[i] >> 1));
		const struct gmt_code *code = frame ? gmt_recording_code(recording, frame->code) : NULL;

		if (code && gmt_backward_attribution_is_call(code->file, code->function))
			return true;
	}
	return false;
}

/* Same as above, for a stack by its id. Examines each stack only once. */
static bool lies_in_call(struct attributor *attributor, uint32_t frames_id)
{
	const struct gmt_recording *recording = attributor->recording;
	const struct gmt_frames *frames = gmt_recording_frames(recording, frames_id);

	if (!frames)
		return false;

	uint8_t *kind = &attributor->stack_kinds.items[frames - recording->frames.items];
	if (*kind == UNKNOWN_STACK)
		*kind = has_backward_call(recording, frames) ? CALL_STACK : ORDINARY_STACK;
	return *kind == CALL_STACK;
}

/*
 * Finds or adds a copy of the trace with index `original` whose caller is the Python stack `call`.
 * Returns false when out of memory.
 */
static bool attribute(struct attributor *attributor, uint32_t original, uint32_t call,
	uint32_t *ret_trace)
{
	struct gmt_recording *recording = attributor->recording;
	uint64_t key = (uint64_t)original << 32 | call;
	uint64_t trace;

	if (!gmt_map_find(&attributor->trace_ids, key, &trace)) {
		struct gmt_recording_stack_ids *slot = gmt_vec_push(&recording->traces);

		trace = recording->traces.count - 1;
		if (!slot || !gmt_map_put(&attributor->trace_ids, key, trace))
			return false;
		*slot = recording->traces.items[original];
		slot->caller = call;
	}
	*ret_trace = (uint32_t)trace;
	return true;
}

/*
 * Sets *ret_trace to the event's trace. If a thread of autograd made the event, and its backward
 * call is known, sets it to the same trace with this call as its caller. Returns false when out of
 * memory.
 */
static bool examine_trace(struct attributor *attributor, const struct gmt_recording_event *event,
	uint32_t *ret_trace)
{
	const struct gmt_recording_stack_ids *trace =
		&attributor->recording->traces.items[event->trace];
	uint32_t call;

	*ret_trace = event->trace;
	/* Most frees have no stack, so they do not show where their thread is. */
	if (!trace->frames && !trace->stack)
		return true;
	if (!gmt_backward_attribution_is_autograd_thread(&attributor->backward_attribution,
			event->thread))
		return !trace->frames ||
			gmt_backward_attribution_set_stack(&attributor->backward_attribution, event->thread,
				trace->frames, lies_in_call(attributor, trace->frames));
	call = gmt_backward_attribution_caller(&attributor->backward_attribution);
	return !call || attribute(attributor, event->trace, call, ret_trace);
}

/*
 * Registers autograd's threads. Sets *ret_any to whether there are any. Returns false when out of
 * memory.
 */
static bool note_threads(struct attributor *attributor, bool *ret_any)
{
	const struct gmt_recording *recording = attributor->recording;

	*ret_any = false;
	for (size_t i = 0; i < recording->threads.count; i++) {
		bool is_autograd = gmt_backward_attribution_is_autograd(recording->threads.items[i].name);

		*ret_any |= is_autograd;
		if (is_autograd &&
			!gmt_backward_attribution_register_thread(&attributor->backward_attribution,
				recording->threads.items[i].id, true))
			return false;
	}
	return true;
}

/* Registers the backward calls that were running at the end of the compacted prefix. */
static bool begin_calls(struct attributor *attributor)
{
	const struct gmt_compacted_prefix *compacted = &attributor->recording->compacted;

	for (size_t i = 0; i + 1 < compacted->calls.count; i += 2)
		if (!gmt_backward_attribution_set_stack(&attributor->backward_attribution,
				(uint32_t)compacted->calls.items[i], (uint32_t)compacted->calls.items[i + 1], true))
			return false;
	return true;
}

/*
 * Gives callers to the events in the reader's rows. Events of the compacted prefix already have
 * their callers.
 */
static bool scan_rows(struct attributor *attributor, const struct gmt_events_reader *reader)
{
	struct gmt_recording *recording = attributor->recording;
	uint32_t traces[GMT_EVENTS_CHUNK];
	bool differ = false;

	for (size_t i = 0; i < reader->count; i++) {
		const struct gmt_recording_event *event = &reader->rows[i];

		traces[i] = event->trace;
		if (reader->first + i >= recording->compacted_events &&
			!examine_trace(attributor, event, &traces[i]))
			return false;
		differ |= traces[i] != event->trace;
	}
	return !differ || gmt_events_set_traces(&recording->events, reader->first, traces);
}

static bool scan_all(struct attributor *attributor)
{
	struct gmt_recording *recording = attributor->recording;
	struct gmt_events_reader reader;
	bool done = gmt_events_reader_init(&reader, &recording->events, GMT_EVENTS_TRACE);

	for (size_t i = 0; done && i < recording->events.count; i += reader.count) {
		gmt_events_unpack(&reader, i);
		done = scan_rows(attributor, &reader);
	}
	gmt_events_reader_fini(&reader);
	return done;
}

bool gmt_backward_stacks_attribute(struct gmt_recording *recording)
{
	struct attributor attributor = { .recording = recording };
	bool done, any;

	if (!note_threads(&attributor, &any) || !any) {
		gmt_backward_attribution_fini(&attributor.backward_attribution);
		return !any;
	}
	/*
	 * The vector is indexed by Python stack and never pushed to. Reserved memory is zero, which is
	 * UNKNOWN_STACK.
	 */
	done = gmt_vec_reserve(&attributor.stack_kinds, recording->frames.count + 1);
	done = done && begin_calls(&attributor);
	done = done && scan_all(&attributor);
	gmt_backward_attribution_fini(&attributor.backward_attribution);
	gmt_map_fini(&attributor.trace_ids);
	gmt_vec_fini(&attributor.stack_kinds);
	return done;
}
