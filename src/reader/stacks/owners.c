/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "containers/map.h"
#include "reader/stacks/owners.h"
#include "reader/stacks/traces.h"

/* The memory that a thread got from the driver last. */
struct last_request {
	uint64_t address, size_bytes;
	uint32_t trace;
	bool is_segment; /* PyTorch placed a block into it */
};

/* Finds the segments among memory without a native stack. */
struct search {
	struct gmt_owners *owners;
	const struct gmt_recording *recording;
	struct gmt_map threads; /* from id to index in `request` */
	GMT_VEC(struct last_request) request;
	GMT_VEC(bool) others; /* for each trace: it also got memory that is no segment */
};

static bool lacks_native(const struct gmt_recording *recording, uint32_t trace)
{
	return trace < recording->traces.count && !recording->traces.items[trace].stack;
}

/*
 * Returns whether the event gets memory that could be a segment. Physical memory counts when it is
 * mapped.
 */
static bool could_be_segment(const struct gmt_recording_event *event)
{
	return event->kind == GMT_KIND_MAP ||
		(event->kind == GMT_KIND_ALLOC && event->layer == GMT_LAYER_CUDA &&
			event->space != GMT_SPACE_VMM && gmt_space_side(event->space) != GMT_SIDE_HOST);
}

static void judge_request(struct search *search, const struct last_request *request)
{
	if (!request->size_bytes || !lacks_native(search->recording, request->trace))
		return;
	if (request->is_segment)
		search->owners->segment_traces.items[request->trace] = true;
	else
		search->others.items[request->trace] = true;
}

/*
 * Returns whether the event's block overlaps the memory. If an expandable segment grew for a block,
 * the block may begin before the newly mapped memory.
 */
static bool overlaps(const struct last_request *request, const struct gmt_recording_event *event)
{
	return event->address >= request->address
		? event->address - request->address < request->size_bytes
		: request->address - event->address < event->size_bytes;
}

/*
 * Joins maps that continue each other: expandable segments grow by pages, so one request causes
 * several maps.
 */
static void note_request(struct search *search, struct last_request *request,
	const struct gmt_recording_event *event)
{
	if (event->kind == GMT_KIND_MAP && event->trace == request->trace &&
		request->address + request->size_bytes == event->address) {
		request->size_bytes += event->size_bytes;
		return;
	}
	judge_request(search, request);
	*request = (struct last_request){
		.address = event->address, .size_bytes = event->size_bytes, .trace = event->trace
	};
}

/* Returns false when out of memory. */
static bool examine_event(struct search *search, const struct gmt_recording_event *event)
{
	bool requests_memory = could_be_segment(event);
	struct last_request *request;
	uint64_t index;

	if (!requests_memory && !(event->kind == GMT_KIND_ALLOC && event->layer == GMT_LAYER_TORCH))
		return true;
	if (!gmt_map_find(&search->threads, event->thread, &index)) {
		if (!requests_memory)
			return true;
		request = gmt_vec_push(&search->request);
		index = search->request.count - 1;
		if (!request || !gmt_map_put(&search->threads, event->thread, index))
			return false;
	}
	request = &search->request.items[index];
	if (requests_memory)
		note_request(search, request, event);
	else
		request->is_segment |= overlaps(request, event);
	return true;
}

/*
 * Finds segments without native frames, which look like any memory of the program. But when PyTorch
 * gets a segment, the same thread places a block into it at once.
 */
static bool find_segments(struct gmt_owners *owners, const struct gmt_recording *recording)
{
	struct search search = { .owners = owners, .recording = recording };
	struct gmt_events_reader reader;
	bool done, has_request = false;

	/* The vectors are all zeros, indexed by trace. Nothing is pushed to them. */
	done = gmt_events_reader_init(&reader, &recording->events,
			   GMT_EVENTS_ADDRESS | GMT_EVENTS_SIZE | GMT_EVENTS_TRACE) &&
		gmt_vec_reserve(&owners->segment_traces, recording->traces.count + 1) &&
		gmt_vec_reserve(&search.others, recording->traces.count + 1);
	for (uint32_t i = 0; i < recording->traces.count; i++)
		has_request |= lacks_native(recording, i) && recording->traces.items[i].requests_memory;
	for (size_t i = 0; has_request && done && i < recording->events.count; i++)
		done = examine_event(&search, gmt_events_at(&reader, i));
	for (size_t i = 0; i < search.request.count; i++)
		judge_request(&search, &search.request.items[i]);
	/*
	 * A trace without any stack may combine many places. It counts only if all its memory is
	 * segments.
	 */
	for (size_t i = 0; done && i < recording->traces.count; i++)
		if (!recording->traces.items[i].frames && search.others.items[i])
			owners->segment_traces.items[i] = false;
	gmt_events_reader_fini(&reader);
	gmt_map_fini(&search.threads);
	gmt_vec_fini(&search.request);
	gmt_vec_fini(&search.others);
	return done;
}

enum gmt_status gmt_owners_init(struct gmt_owners *owners, const struct gmt_owner_rules *rules,
	const struct gmt_recording *recording, struct gmt_error *error)
{
	/* in the order of GMT_OWNER_... */
	static const char *const fixed[] = { "unknown", "program", "PyTorch" };
	enum gmt_status status =
		rules ? GMT_OK : gmt_owner_rules_add_defaults(&owners->defaults, error);
	uint32_t id;

	if (status)
		return status;
	owners->rules = rules ? rules : &owners->defaults;
	owners->executable = recording->executable;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (!gmt_intern_text(&owners->names, fixed[i], &id))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return find_segments(owners, recording) ? GMT_OK
											: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

static bool intern(struct gmt_owners *owners, const char *name, size_t length, uint32_t *ret_id)
{
	return gmt_intern(&owners->names, name, length, ret_id);
}

/* Determines the owner of a native frame that matches no rule. */
static bool judge_native(struct gmt_owners *owners, const struct gmt_owner_frame *frame,
	struct gmt_owner_match *match)
{
	const char *slash = strrchr(frame->module, '/'), *name = slash ? slash + 1 : frame->module;
	const char *package = gmt_owner_package_of(frame->module);

	/* No module, for example code generated at run time. */
	if (!*name)
		return true;
	match->action = GMT_OWNER_OWN;
	match->name = GMT_OWNER_PROGRAM;
	if (*owners->executable && strcmp(frame->module, owners->executable) == 0)
		return true;
	match->borrows = true;
	/* In packages, many modules are named _C.so, so use the package's name. */
	if (package && strchr(package, '/') && strncmp(name, "lib", 3) != 0)
		return intern(owners, package, strcspn(package, "/"), &match->name);
	return intern(owners, name, strlen(name), &match->name);
}

/* Determines the owner of a Python frame that matches no rule. */
static bool judge_python(struct gmt_owners *owners, const struct gmt_owner_frame *frame,
	struct gmt_owner_match *match)
{
	const char *package = gmt_owner_package_of(frame->file);

	if (package) {
		match->action = GMT_OWNER_OWN;
		return intern(owners, package, strcspn(package, "/."), &match->name);
	}
	if (!gmt_traces_is_own_file(frame->file))
		return true;
	match->name = GMT_OWNER_PROGRAM;
	/*
	 * Functions without a file: the program (`python -c`), but libraries generate such functions
	 * too.
	 */
	match->action = *frame->file == '<' && strncmp(frame->file, "<stdin", 6) != 0 &&
			strncmp(frame->file, "<ipython", 8) != 0
		? GMT_OWNER_SKIP
		: GMT_OWNER_OWN;
	return true;
}

/*
 * Returns what a rule proves about an arena. A package shows who allocated, but not how. So native
 * frames that match only by package prove nothing.
 */
static uint8_t arena_of(const struct gmt_owner_rule *rule, bool is_python)
{
	if (!is_python && rule->patterns[GMT_OWNER_FUNCTION])
		return GMT_ARENA_YES;
	return is_python || rule->patterns[GMT_OWNER_LIBRARY] ? GMT_ARENA_LIKELY : GMT_ARENA_NO;
}

bool gmt_owners_add_place(struct gmt_owners *owners, const struct gmt_owner_frame *frame)
{
	const struct gmt_owner_rule *rule;
	struct gmt_owner_match *match = gmt_vec_push(&owners->places);

	if (!match || !gmt_owner_rules_find(owners->rules, &owners->rule_cache, frame, &rule))
		return false;
	*match = (struct gmt_owner_match){
		.action = GMT_OWNER_SKIP, .name = GMT_OWNER_UNKNOWN, .is_native = !frame->is_python
	};
	if (!rule)
		return frame->is_python ? judge_python(owners, frame, match)
								: judge_native(owners, frame, match);
	match->action = (uint8_t)rule->action;
	if (rule->action == GMT_OWNER_ARENA) {
		match->arena = arena_of(rule, frame->is_python);
		match->action = *rule->name ? GMT_OWNER_OWN : GMT_OWNER_SKIP;
	}
	match->borrows = match->action == GMT_OWNER_OWN;
	return !*rule->name || intern(owners, rule->name, strlen(rule->name), &match->name);
}

void gmt_owners_visit(const struct gmt_owners *owners, struct gmt_owner_walk *walk, uint32_t place)
{
	const struct gmt_owner_match *match = &owners->places.items[place];
	uint8_t *arena = match->is_native ? &walk->arena : &walk->python_arena;
	/*
	 * A library of a framework makes an arena likely only if the library itself allocates. Inside
	 * its frames, cuBLAS or a callback of the user may allocate.
	 */
	bool is_of_another = match->arena == GMT_ARENA_LIKELY && match->action == GMT_OWNER_OWN &&
		walk->has_owner && walk->owner != match->name;

	walk->has_native |= match->is_native;
	if (!is_of_another && match->arena > *arena)
		*arena = match->arena;
	if (match->action == GMT_OWNER_SKIP) {
		/* The outermost skipped frame is the most informative. */
		if (match->name)
			walk->skipped = match->name;
		return;
	}
	if (!walk->has_owner) {
		walk->has_owner = true;
		walk->owner = match->name;
	}
	if (!walk->has_block_owner && match->action == GMT_OWNER_OWN) {
		walk->has_block_owner = true;
		walk->block_owner = match->borrows ? match->name : GMT_OWNER_PYTORCH;
	}
}

bool gmt_owners_store(struct gmt_owners *owners, const struct gmt_owner_walk *walk, size_t trace,
	uint32_t stack, bool in_cache)
{
	bool is_segment = owners->segment_traces.items[trace];
	struct gmt_owner_of_stack *answer;
	uint8_t arena;

	if (stack == owners->stacks.count) {
		answer = gmt_vec_push(&owners->stacks);
		if (!answer)
			return false;
		*answer = (struct gmt_owner_of_stack){
			.owner = walk->has_owner ? walk->owner : walk->skipped,
			.segment_owner = walk->has_owner ? walk->owner : walk->skipped,
			.block_owner = walk->has_block_owner ? walk->block_owner : GMT_OWNER_PYTORCH,
		};
	}
	answer = &owners->stacks.items[stack];
	answer->is_segment |= in_cache || is_segment;
	if (is_segment)
		answer->segment_owner = GMT_OWNER_PYTORCH;
	/* If there are native frames and no frame is of an arena, there is no arena. */
	arena = walk->has_native ? walk->arena : walk->python_arena;
	if (arena > answer->arena)
		answer->arena = arena;
	return true;
}

uint32_t gmt_owners_find(const struct gmt_owners *owners, uint32_t stack, uint32_t layer,
	int32_t device)
{
	const struct gmt_owner_of_stack *answer = &owners->stacks.items[stack];

	if (layer == GMT_LAYER_TORCH)
		return answer->block_owner;
	return device == GMT_DEVICE_HOST ? answer->owner : answer->segment_owner;
}

bool gmt_owners_is_segment(const struct gmt_owners *owners, uint32_t stack)
{
	return owners->stacks.items[stack].is_segment;
}

enum gmt_owner_arena gmt_owners_arena(const struct gmt_owners *owners, uint32_t stack)
{
	const struct gmt_owner_of_stack *answer = &owners->stacks.items[stack];

	return answer->is_segment ? GMT_ARENA_NO : (enum gmt_owner_arena)answer->arena;
}

const char *gmt_owners_name(const struct gmt_owners *owners, uint32_t owner)
{
	return gmt_intern_get(&owners->names, owner)->bytes;
}

void gmt_owners_fini(struct gmt_owners *owners)
{
	gmt_owner_rules_fini(&owners->defaults);
	gmt_owner_rule_cache_fini(&owners->rule_cache);
	gmt_intern_fini(&owners->names);
	gmt_vec_fini(&owners->places);
	gmt_vec_fini(&owners->stacks);
	gmt_vec_fini(&owners->segment_traces);
}
