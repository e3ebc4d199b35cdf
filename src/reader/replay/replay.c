/* SPDX-License-Identifier: MIT */
#include "reader/replay/replay.h"

#include <assert.h>
#include <string.h>

#include "containers/bisect.h"
#include "accounting/interpret.h"
#include "reader/load/clock.h"
#include "reader/replay/interpret_event.h"
#include "reader/steps/phases.h"
#include "reader/replay/replay_end.h"

/* The observers that have a certain function. */
struct listeners {
	const struct gmt_replay_observer *items[GMT_REPLAY_OBSERVERS];
	size_t count;
};

/* An entry of a cache: whether two threads have the same name. */
struct namesakes {
	uint32_t a, b;
	bool have_same_name;
};

enum { NAMESAKES_CACHED = 64 };

const uint64_t gmt_replay_quiet = UINT64_MAX;

/* The state of one replay while it runs. */
struct session {
	struct gmt_replay *replay;
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay_options *options;
	struct gmt_event_interpreter interpreter;
	struct gmt_events_reader reader;
	struct listeners before, ended, began, mapped, compacted, finished;
	uint64_t next_needed_stamp;  /* up to this stamp, no observer needs `before`, ... */
	uint32_t before_kinds; /* ... except for these kinds */
	/* stamp of the end of the program's work; UINT64_MAX: unknown, or already saved */
	uint64_t work_end;
	const struct gmt_recording_event *event; /* the current event, ... */
	struct gmt_interpret_event interpret_event; /* ... its form for the interpreter, ... */
	size_t index; /* ... and its number */
	struct namesakes namesakes[NAMESAKES_CACHED];
	/* from the number of a heap to the index of the mark that names it */
	struct gmt_map heap_names;
	bool knows_heap_names;
};

/*
 * Combines `next_needed_stamp` and `before_kinds` of all observers, so that most events need only
 * one check.
 */
static void set_next_needed_stamp(struct session *session)
{
	session->next_needed_stamp = session->work_end;
	session->before_kinds = 0;
	for (size_t o = 0; o < session->before.count; o++) {
		const struct gmt_replay_observer *observer = session->before.items[o];

		session->before_kinds |= observer->next_needed_stamp ? observer->before_kinds : UINT32_MAX;
		if (observer->next_needed_stamp &&
			*observer->next_needed_stamp < session->next_needed_stamp)
			session->next_needed_stamp = *observer->next_needed_stamp;
	}
}

static void listen(struct session *session)
{
#define ADD_LISTENER(function) \
	do { \
		if (observer->function) \
			session->function.items[session->function.count++] = observer; \
	} while (0)
	assert(session->options->observer_count <= GMT_REPLAY_OBSERVERS);
	for (size_t i = 0; i < session->options->observer_count; i++) {
		const struct gmt_replay_observer *observer = &session->options->observers[i];

		ADD_LISTENER(before);
		ADD_LISTENER(ended);
		ADD_LISTENER(began);
		ADD_LISTENER(mapped);
		ADD_LISTENER(compacted);
		ADD_LISTENER(finished);
	}
#undef ADD_LISTENER
	set_next_needed_stamp(session);
}

/* Calls a function of every observer that has it. */
#define NOTIFY(session, function, ...) \
	do { \
		for (size_t o = 0; o < (session)->function.count; o++) { \
			const struct gmt_replay_observer *observer = (session)->function.items[o]; \
			if (!observer->function(observer->user, (session)->replay, ##__VA_ARGS__)) \
				return false; \
		} \
	} while (0)

/*
 * Returns the current event as an event about a single block. The interpreter may split an event
 * into several such events. Usually the event is about one block and is returned unchanged.
 */
static const struct gmt_recording_event *of_block(const struct session *session,
	const struct gmt_interpret_event *event, struct gmt_recording_event *buffer)
{
	if (event == &session->interpret_event)
		return session->event;
	*buffer = *session->event;
	buffer->address = event->address;
	buffer->size_bytes = event->size_bytes;
	buffer->trace = event->tag;
	buffer->device = event->device;
	buffer->kind = event->kind;
	buffer->layer = event->layer;
	buffer->space = event->space;
	return buffer;
}

static bool made_site(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	struct gmt_replay *replay = ((struct session *)user)->replay;
	uint32_t *slot = gmt_vec_push(&replay->site_stacks);

	(void)site;
	if (!slot || !gmt_vec_reserve(&replay->site_threads, 1))
		return false;
	*slot = event->stack;
	replay->site_threads.count++; /* the new entry is all zeros */
	return true;
}

static bool have_one_name(const struct gmt_recording *recording, uint32_t a, uint32_t b)
{
	const struct gmt_thread *left = gmt_recording_thread(recording, a),
							*right = gmt_recording_thread(recording, b);

	return left && right && left->name.length == right->name.length &&
		memcmp(left->name.text, right->name.text, left->name.length) == 0;
}

static bool are_namesakes(struct session *session, uint32_t a, uint32_t b)
{
	struct namesakes *pair = &session->namesakes[(a * 31 + b) % NAMESAKES_CACHED];

	if (pair->a != a || pair->b != b)
		*pair = (struct namesakes){ a, b, have_one_name(session->recording, a, b) };
	return pair->have_same_name;
}

static bool requested(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	struct session *session = user;
	struct gmt_replay_allocating_thread *allocating_thread =
		&session->replay->site_threads.items[site];

	if (!allocating_thread->thread)
		allocating_thread->thread = event->thread;
	else if (allocating_thread->thread != event->thread && !allocating_thread->has_several)
		allocating_thread->has_several =
			!are_namesakes(session, allocating_thread->thread, event->thread);
	return true;
}

static bool began(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	const struct session *session = user;
	struct gmt_recording_event buffer;

	const struct gmt_recording_event *block_event = of_block(session, event, &buffer);

	NOTIFY(session, began, block_event, site);
	return true;
}

static bool ended(void *user, const struct gmt_interpret_event *event,
	const struct gmt_account_block *block)
{
	const struct session *session = user;
	struct gmt_recording_event buffer;

	const struct gmt_recording_event *block_event = of_block(session, event, &buffer);

	NOTIFY(session, ended, block_event, block);
	return true;
}

static bool mapped(void *user, const struct gmt_interpret_event *event, uint64_t number)
{
	const struct session *session = user;
	struct gmt_recording_event buffer;

	const struct gmt_recording_event *block_event = of_block(session, event, &buffer);

	NOTIFY(session, mapped, block_event, number);
	return true;
}

static bool refused(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	const struct session *session = user;
	struct gmt_replay_refusal *refusal = gmt_vec_push(&session->replay->refusals);

	(void)event;
	if (refusal)
		*refusal = (struct gmt_replay_refusal){ .event = session->index, .site = site };
	return refusal;
}

static bool refused_free(void *user, const struct gmt_interpret_event *event, bool is_live)
{
	const struct session *session = user;
	struct gmt_replay_refused_free *row = gmt_vec_push(&session->replay->refused_frees);

	(void)event;
	/*
	 * In the compacted prefix it is unknown whether a block was live at the address. True is the
	 * safe answer.
	 */
	is_live |= session->index < session->recording->compacted_events;
	if (row)
		*row = (struct gmt_replay_refused_free){ .event = session->index, .is_live = is_live };
	return row;
}

/* Indexes the marks that name heaps. The mark may be anywhere in the file. */
static bool note_heap_names(struct session *session)
{
	const struct gmt_recording *recording = session->recording;

	session->knows_heap_names = true;
	for (size_t i = 0; i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];
		uint64_t before;

		if (mark->kind == GMT_MARK_KIND_HEAP &&
			!gmt_map_find(&session->heap_names, mark->object, &before) &&
			!gmt_map_put(&session->heap_names, mark->object, i))
			return false;
	}
	return true;
}

static bool name_heap(void *user, uint64_t number, const char **ret_name, uint8_t *ret_source)
{
	struct session *session = user;
	uint64_t index;

	if (!session->knows_heap_names && !note_heap_names(session))
		return false;
	if (gmt_map_find(&session->heap_names, number, &index)) {
		*ret_name = session->recording->marks.items[index].name;
		*ret_source = session->recording->marks.items[index].source;
	}
	return true;
}

static bool notify_before(struct session *session)
{
	const struct gmt_recording_event *event = session->event;

	/* Survivors of a compaction are replayed before the accounting is complete. */
	if (event->stamp > session->work_end &&
		session->index >= session->recording->compacted_events) {
		if (!gmt_replay_end_save(session->replay, session->work_end))
			return false;
		session->work_end = UINT64_MAX;
	}
	for (size_t o = 0; o < session->before.count; o++) {
		const struct gmt_replay_observer *observer = session->before.items[o];

		if (observer->next_needed_stamp && event->stamp <= *observer->next_needed_stamp &&
			!(observer->before_kinds >> event->kind & 1))
			continue;
		if (!observer->before(observer->user, session->replay, event, session->index))
			return false;
	}
	set_next_needed_stamp(session);
	return true;
}

static bool replay_event(struct session *session, size_t index)
{
	const struct gmt_recording_event *event = gmt_events_at(&session->reader, index);

	session->index = index;
	session->event = event;
	gmt_interpret_event_set(&session->interpret_event, event,
		session->traces->stack_of_trace[event->trace]);
	if ((event->stamp > session->next_needed_stamp || session->before_kinds >> event->kind & 1) &&
		!notify_before(session))
		return false;
	return gmt_interpret(&session->interpreter, &session->interpret_event);
}

static bool take_compacted_place(void *user, const struct gmt_past_site *row, uint32_t *ret_place)
{
	const struct session *session = user;
	uint32_t trace =
		session->recording->compacted_traces.items[row - session->recording->compacted.sites.items];

	*ret_place = session->traces->stack_of_trace[trace];
	return true;
}

static const char *take_compacted_name(void *user, uint32_t name)
{
	return gmt_recording_name(((const struct session *)user)->recording, name);
}

static bool take_compacted_thread(void *user, const struct gmt_past_site *row, uint32_t site)
{
	const struct session *session = user;
	struct gmt_replay_allocating_thread *allocating_thread =
		&session->replay->site_threads.items[site];

	if (allocating_thread->thread && allocating_thread->thread != row->thread)
		allocating_thread->has_several |=
			!have_one_name(session->recording, allocating_thread->thread, row->thread);
	allocating_thread->thread = row->thread;
	allocating_thread->has_several |= row->several;
	session->replay->prefix_sites.items[row - session->recording->compacted.sites.items] = site + 1;
	return true;
}

static struct gmt_compacted_prefix_names compacted_names(struct session *session)
{
	return (struct gmt_compacted_prefix_names){ take_compacted_place, take_compacted_name,
		take_compacted_thread, session };
}

/* Adds the compacted prefix to the accounting. Call when the survivors have been replayed. */
static bool set_compacted(struct session *session)
{
	struct gmt_compacted_prefix_names names = compacted_names(session);

	/* The new entries are all zeros. */
	if (!gmt_vec_reserve(&session->replay->prefix_sites, session->recording->compacted.sites.count))
		return false;
	session->replay->prefix_sites.count = session->recording->compacted.sites.count;
	if (!gmt_compacted_prefix_set_accounting(&session->recording->compacted, &session->interpreter,
			&names, &session->replay->compacted_mismatches))
		return false;
	NOTIFY(session, compacted);
	set_next_needed_stamp(session);
	return true;
}

static bool replay_all(struct session *session, size_t count)
{
	const struct gmt_recording *recording = session->recording;
	bool exists = recording->compacted.exists &&
		(count > recording->compacted_events ||
			session->options->until_ns >=
				gmt_clock_time_ns(recording, recording->compacted.cut_stamp));
	struct gmt_compacted_prefix_names names = compacted_names(session);

	/* Creates accounts and sites in the same order as in the complete recording. */
	if (exists &&
		!gmt_compacted_prefix_prepare(&recording->compacted, &session->interpreter, &names))
		return false;
	for (size_t i = 0; i < count; i++)
		if ((exists && i == recording->compacted_events && !set_compacted(session)) ||
			!replay_event(session, i))
			return false;
	if (exists && count <= recording->compacted_events && !set_compacted(session))
		return false;
	session->replay->events = count;
	session->replay->end_time_ns = session->options->until_ns != GMT_REPLAY_TO_END
		? session->options->until_ns
		: gmt_recording_duration_ns(session->recording);
	if (!session->replay->end.is_saved && !gmt_replay_end_save(session->replay, UINT64_MAX))
		return false;
	NOTIFY(session, finished);
	return true;
}

size_t gmt_replay_count(const struct gmt_recording *recording, uint64_t until_ns)
{
	return until_ns == GMT_REPLAY_TO_END
		? recording->events.count
		: GMT_BISECT(at, recording->events.count,
			  gmt_clock_time_ns(recording, gmt_recording_event(recording, at).stamp) <= until_ns);
}

enum gmt_status gmt_replay_run(struct gmt_replay *ret_replay, const struct gmt_recording *recording,
	const struct gmt_traces *traces, const struct gmt_replay_options *options,
	struct gmt_error *error)
{
	struct session session = {
		.replay = ret_replay, .recording = recording, .traces = traces, .options = options,
		.work_end = gmt_phases_work_end(recording),
		.interpreter = { .accounting = &ret_replay->accounting, .heap_groups = &ret_replay->heaps, .observer = {
			.made_site = made_site, .requested = requested, .began = began, .ended = ended, .mapped = mapped,
			.refused = refused, .refused_free = refused_free, .name_heap = name_heap, .user = &session,
		} },
	};
	bool done;

	listen(&session);
	done = gmt_events_reader_init(&session.reader, &recording->events, GMT_EVENTS_ALL) &&
		replay_all(&session, gmt_replay_count(recording, options->until_ns));

	gmt_event_interpreter_finish(&session.interpreter);
	gmt_event_interpreter_fini(&session.interpreter);
	gmt_map_fini(&session.heap_names);
	gmt_events_reader_fini(&session.reader);
	if (!done) {
		gmt_replay_fini(ret_replay);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	if (gmt_events_failed(&recording->events)) {
		gmt_replay_fini(ret_replay);
		return gmt_error_set(error, GMT_NO_FILE,
			"%s: the temporary file with its events cannot be read", recording->path);
	}
	return GMT_OK;
}

void gmt_replay_fini(struct gmt_replay *replay)
{
	gmt_accounting_fini(&replay->accounting);
	gmt_replay_end_fini(&replay->end);
	gmt_vec_fini(&replay->site_stacks);
	gmt_vec_fini(&replay->site_threads);
	gmt_vec_fini(&replay->prefix_sites);
	gmt_vec_fini(&replay->refusals);
	gmt_vec_fini(&replay->refused_frees);
	gmt_vec_fini(&replay->heaps);
}
