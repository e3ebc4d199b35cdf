/* SPDX-License-Identifier: MIT */
#include "writer/create_recording.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/config.h"
#include "runtime/descriptor.h"
#include "producer/clock.h"
#include "files/run_failure.h"
#include "format/encoding/encode_rows.h"
#include "writer/process_metadata.h"
#include "shared_memory/shared_recording_owner.h"

/*
 * Stores the folder part of `path`. The recording memory is placed there if /dev/shm has no room
 * for it.
 */
static void folder_of(const char *path, char *ret_folder, size_t bytes)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		snprintf(ret_folder, bytes, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	else
		snprintf(ret_folder, bytes, ".");
}

/*
 * Returns the owner of the memory, so that a reader can identify it after the process was killed.
 */
static const struct gmt_shared_recording_owner *recording_owner(
	const struct gmt_recording_state *recording, const char *folder)
{
	static struct gmt_shared_recording_owner owner; /* one caller; stacks may be small */
	static char whole[PATH_MAX];
	const char *slash = strrchr(recording->path, '/');

	gmt_shared_recording_owner_init(&owner);
	snprintf(owner.host, sizeof(owner.host), "%s", recording->identity.host);
	owner.file_device = recording->file.device;
	owner.file_inode = recording->file.inode;
	if (!realpath(folder, whole) ||
		snprintf(owner.path, sizeof(owner.path), "%s/%s", whole[1] ? whole : "",
			slash ? slash + 1 : recording->path) >= (int)sizeof(owner.path))
		owner.path[0] = 0;
	owner.start_time_ns = gmt_clock_start.realtime_ns;
	owner.start_stamp = gmt_clock_start.stamp;
	memcpy(owner.recording, recording->name, sizeof(owner.recording));
	memcpy(owner.run, gmt_config.run, sizeof(owner.run));
	return &owner;
}

struct preamble_writer {
	struct gmt_recording_memory *memory;
	struct gmt_encoder encoder;
};

static void write_to_preamble(void *context, uint32_t kind, const void *rows, uint32_t count)
{
	struct preamble_writer *writer = context;
	struct gmt_error error;

	if (!gmt_encode_rows(&writer->encoder, kind, rows, count, &error))
		gmt_recording_memory_add_to_preamble(writer->memory, writer->encoder.block.items,
			writer->encoder.block.count);
}

/*
 * Writes the first records of the file, and all function names. The program may be killed before
 * the writer has written the file.
 */
static void fill_preamble(struct gmt_recording_state *recording,
	struct gmt_recording_memory *memory)
{
	static struct gmt_process_metadata metadata; /* one caller; stacks may be small */
	struct preamble_writer writer = { .memory = memory };

	metadata.recording = recording;
	metadata.write = write_to_preamble;
	metadata.context = &writer;
	gmt_process_metadata_begin(&metadata);
	gmt_process_metadata_all_apis(&metadata);
	gmt_encoder_fini(&writer.encoder);
}

static bool open_depot(struct gmt_recording_state *recording, struct gmt_recording_memory *memory,
	char *ret_why, uint32_t why_bytes)
{
	recording->memory = memory;
	recording->depot = gmt_depot_open(gmt_recording_memory_depot(memory),
		memory->header->depot_bytes, atomic_load(&memory->depot_ready_bytes));
	if (!recording->depot)
		snprintf(ret_why, why_bytes, "no memory for the recorder");
	return recording->depot;
}

static bool open_memory(struct gmt_recording_state *recording, struct gmt_recording_memory *memory,
	char *ret_why, uint32_t why_bytes)
{
	static char folder[4352]; /* one caller; stacks may be small */
	const struct gmt_shared_recording_owner *owner;

	folder_of(recording->path, folder, sizeof(folder));
	owner = recording_owner(recording, folder);
	if (!gmt_recording_memory_open(memory, owner, folder, ret_why, why_bytes))
		return false;
	fill_preamble(recording, memory);
	gmt_recording_memory_sign(memory, owner);
	if (open_depot(recording, memory, ret_why, why_bytes))
		return true;
	gmt_recording_memory_unlink(memory);
	return false;
}

static bool open_all(struct gmt_recording_state *recording, struct gmt_recording_memory *memory,
	char *ret_why, uint32_t why_bytes)
{
	if (!gmt_descriptor_has_own_table() && !gmt_descriptor_may_share_table()) {
		snprintf(ret_why, why_bytes, "RLIMIT_NOFILE leaves no descriptor for the recorder");
		return false;
	}
	gmt_uuid_make(recording->name);
	recording->fd = gmt_output_create(gmt_config.output, &recording->identity, recording->path,
		sizeof(recording->path), ret_why, why_bytes);
	if (recording->fd < 0)
		return false;
	gmt_file_identity_of(recording->fd, &recording->file);
	if (recording->memory || open_memory(recording, memory, ret_why, why_bytes))
		return true;
	unlink(recording->path);
	gmt_descriptor_close(&recording->fd, &recording->file);
	return false;
}

bool gmt_create_recording(struct gmt_recording_state *recording,
	struct gmt_recording_memory *memory, char *ret_why, uint32_t why_bytes)
{
	if (open_all(recording, memory, ret_why, why_bytes))
		return true;
	gmt_run_failure_write(ret_why);
	return false;
}

bool gmt_create_recording_memory(struct gmt_recording_state *recording,
	struct gmt_recording_memory *memory, char *ret_why, uint32_t why_bytes)
{
	return gmt_recording_memory_open_in_memory(memory, ret_why, why_bytes) &&
		open_depot(recording, memory, ret_why, why_bytes);
}
