/* SPDX-License-Identifier: MIT */
/* Stacks and heap dumps of a trace of Perfetto. */
#include "base/budget.h"
#include "reader/load/clock.h"
#include "render/export/trace/perfetto.h"

/* Fields of InternedData, and of the messages in it. */
enum {
	FUNCTION_NAMES = 5,
	FRAMES = 6,
	CALLSTACKS = 7,
	MAPPING_PATHS = 17,
	MAPPINGS = 19,
	IID = 1,
	STRING = 2,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_ADDRESS = 4,
	FRAME_LINE = 6,
	CALLSTACK_FRAMES = 2,
	MAPPING_PATH = 7,
};

/* The stacks while they are written. */
struct stacks {
	struct gmt_perfetto *perfetto;
	struct gmt_protobuf data, item; /* InternedData, and a message in it */
	GMT_VEC(bool) known_mappings; /* by string */
	GMT_VEC(bool) known_frames;   /* by place */
	GMT_VEC(uint64_t) frames;     /* of a stack, the outermost first */
};

/* Adds the message to the data, and empties it. */
static void add_item(struct stacks *stacks, uint32_t field)
{
	gmt_protobuf_message(&stacks->data, field, &stacks->item);
	gmt_protobuf_clear(&stacks->item);
}

static void add_string(struct stacks *stacks, uint32_t field, uint64_t iid, const char *text)
{
	gmt_protobuf_number(&stacks->item, IID, iid);
	gmt_protobuf_text(&stacks->item, STRING, text);
	add_item(stacks, field);
}

/* A mapping is the file of a frame: of its code, or of its Python source. */
static void add_mapping(struct stacks *stacks, uint32_t string)
{
	const struct gmt_traces *traces = stacks->perfetto->trace.export->traces;

	if (stacks->known_mappings.items[string])
		return;
	stacks->known_mappings.items[string] = true;
	add_string(stacks, MAPPING_PATHS, string + UINT64_C(1), gmt_traces_string(traces, string));
	gmt_protobuf_number(&stacks->item, IID, string + UINT64_C(1));
	gmt_protobuf_number(&stacks->item, MAPPING_PATH, string + UINT64_C(1));
	add_item(stacks, MAPPINGS);
}

static void add_frame(struct stacks *stacks, uint32_t place_id)
{
	const struct gmt_traces *traces = stacks->perfetto->trace.export->traces;
	const struct gmt_place *place = gmt_traces_place(traces, place_id);
	uint32_t mapping = place->module ? place->module : place->file;
	uint64_t iid = place_id + UINT64_C(1);
	struct gmt_export_name buffer;

	if (stacks->known_frames.items[place_id])
		return;
	stacks->known_frames.items[place_id] = true;
	add_mapping(stacks, mapping);
	add_string(stacks, FUNCTION_NAMES, iid, gmt_export_function(traces, place, &buffer));
	gmt_protobuf_number(&stacks->item, IID, iid);
	gmt_protobuf_number(&stacks->item, FRAME_FUNCTION, iid);
	gmt_protobuf_number(&stacks->item, FRAME_MAPPING, mapping + UINT64_C(1));
	/* Frames with equal addresses would become one. */
	gmt_protobuf_number(&stacks->item, FRAME_ADDRESS, iid);
	if (place->line)
		gmt_protobuf_number(&stacks->item, FRAME_LINE, place->line);
	add_item(stacks, FRAMES);
}

static bool add_stack(struct stacks *stacks, uint32_t stack)
{
	uint32_t count;
	const uint32_t *places =
		gmt_traces_stack(stacks->perfetto->trace.export->traces, stack, &count);

	stacks->frames.count = 0;
	for (uint32_t i = count; i--;) {
		uint64_t *frame = gmt_vec_push(&stacks->frames);

		if (!frame)
			return false;
		*frame = places[i] + UINT64_C(1);
		add_frame(stacks, places[i]);
	}
	gmt_protobuf_number(&stacks->item, IID, stack + UINT64_C(1));
	for (size_t i = 0; i < stacks->frames.count; i++)
		gmt_protobuf_number(&stacks->item, CALLSTACK_FRAMES, stacks->frames.items[i]);
	add_item(stacks, CALLSTACKS);
	return true;
}

/* Writes what was added so far as a packet. */
static void write_data(struct stacks *stacks)
{
	struct gmt_protobuf packet = { 0 };

	gmt_protobuf_message(&packet, GMT_PERFETTO_INTERNED_DATA, &stacks->data);
	stacks->perfetto->failed |= stacks->data.failed || stacks->item.failed;
	gmt_protobuf_clear(&stacks->data);
	gmt_perfetto_write(stacks->perfetto, &packet);
	gmt_vec_fini(&packet.bytes);
}

void gmt_perfetto_stacks(struct gmt_perfetto *perfetto)
{
	enum { MAX_DATA_BYTES = 1 << 20 };
	const struct gmt_traces *traces = perfetto->trace.export->traces;
	struct stacks stacks = { .perfetto = perfetto };
	/* The reserved memory is zeroed. */
	bool done = gmt_vec_reserve(&stacks.known_mappings, traces->strings.entries.count + 1) &&
		gmt_vec_reserve(&stacks.known_frames, traces->places.entries.count + 1);

	for (uint32_t i = 0; done && i < traces->stacks.entries.count && !gmt_budget_has_cut_output();
		i++) {
		done = add_stack(&stacks, i);
		if (stacks.data.bytes.count > MAX_DATA_BYTES)
			write_data(&stacks);
	}
	write_data(&stacks);
	perfetto->failed |= !done;
	gmt_vec_fini(&stacks.known_mappings);
	gmt_vec_fini(&stacks.known_frames);
	gmt_vec_fini(&stacks.frames);
	gmt_vec_fini(&stacks.data.bytes);
	gmt_vec_fini(&stacks.item.bytes);
}

/* Fields of ProfilePacket, ProcessHeapSamples and HeapSample. */
enum {
	PROCESS_DUMPS = 5,
	DUMP_PID = 1,
	DUMP_SAMPLES = 2,
	DUMP_TIMESTAMP = 9,
	DUMP_HEAP_NAME = 11,
	SAMPLE_CALLSTACK = 1,
	SAMPLE_ALLOCATED_BYTES = 2,
	SAMPLE_ALLOCATIONS = 5,
};

/* A heap dump: an account at a moment. */
struct dump {
	uint32_t account;
	uint64_t time_ns;
	bool is_end; /* at the end of the program's work; otherwise at the account's peak */
};

static struct gmt_account_amount amount_of(const struct gmt_replay *replay, uint32_t site,
	const struct dump *dump)
{
	struct gmt_replay_live live;

	if (!dump->is_end)
		return gmt_account_site_peak(&replay->accounting, site);
	live = gmt_replay_end_site(replay, site);
	return (struct gmt_account_amount){ live.bytes, live.blocks };
}

static void add_samples(struct gmt_protobuf *samples, const struct gmt_replay *replay,
	const struct dump *dump)
{
	struct gmt_protobuf sample = { 0 };

	for (uint32_t site = 0; site < replay->accounting.sites.count; site++) {
		struct gmt_account_amount amount;

		if (replay->accounting.sites.items[site].account != dump->account)
			continue;
		amount = amount_of(replay, site, dump);
		if (!amount.blocks)
			continue;
		gmt_protobuf_clear(&sample);
		gmt_protobuf_number(&sample, SAMPLE_CALLSTACK,
			replay->site_stacks.items[site] + UINT64_C(1));
		gmt_protobuf_number(&sample, SAMPLE_ALLOCATED_BYTES, amount.bytes);
		gmt_protobuf_number(&sample, SAMPLE_ALLOCATIONS, amount.blocks);
		gmt_protobuf_message(samples, DUMP_SAMPLES, &sample);
	}
	samples->failed |= sample.failed;
	gmt_vec_fini(&sample.bytes);
}

static void write_dump(struct gmt_perfetto *perfetto, const struct dump *dump)
{
	const struct gmt_export *export = perfetto->trace.export;
	const struct gmt_account *account = &export->replay->accounting.accounts.items[dump->account];
	struct gmt_protobuf packet = { 0 }, profile = { 0 }, samples = { 0 };
	char name[120];

	snprintf(name, sizeof(name), "%s, %s, %s", gmt_layer_name(account->layer),
		gmt_device_text(account->device).text, dump->is_end ? "end of work" : "peak");
	gmt_protobuf_number(&samples, DUMP_PID, export->recording->process.pid);
	gmt_protobuf_number(&samples, DUMP_TIMESTAMP, perfetto->start_ns + dump->time_ns);
	gmt_protobuf_text(&samples, DUMP_HEAP_NAME, name);
	add_samples(&samples, export->replay, dump);
	gmt_protobuf_message(&profile, PROCESS_DUMPS, &samples);
	gmt_protobuf_number(&packet, GMT_PERFETTO_TIMESTAMP, perfetto->start_ns + dump->time_ns);
	gmt_protobuf_message(&packet, GMT_PERFETTO_PROFILE, &profile);
	perfetto->failed |= samples.failed || profile.failed;
	gmt_perfetto_write(perfetto, &packet);
	gmt_vec_fini(&packet.bytes);
	gmt_vec_fini(&profile.bytes);
	gmt_vec_fini(&samples.bytes);
}

void gmt_perfetto_heap_dumps(struct gmt_perfetto *perfetto)
{
	const struct gmt_export *export = perfetto->trace.export;
	const struct gmt_replay *replay = export->replay;
	uint64_t end_ns = replay->end.stamp == UINT64_MAX
		? replay->end_time_ns
		: gmt_clock_time_ns(export->recording, replay->end.stamp);

	for (uint32_t i = 0; i < replay->accounting.accounts.count; i++) {
		const struct gmt_account *account = &replay->accounting.accounts.items[i];

		if (!account->peak_bytes ||
			!gmt_profile_includes(&export->choice, account->layer, account->device))
			continue;
		write_dump(perfetto,
			&(struct dump){ i, gmt_clock_time_ns(export->recording, account->peak_stamp), false });
		write_dump(perfetto, &(struct dump){ i, end_ns, true });
	}
}
