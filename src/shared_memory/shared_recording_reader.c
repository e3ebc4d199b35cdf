/* SPDX-License-Identifier: MIT */
#include "shared_memory/shared_recording_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/file_io.h"
#include "base/pages.h"
#include "shared_memory/shared_recording_owner.h"

enum {
	ENTRY_MAX_BYTES = 64 << 10,     /* a recorder never makes a longer entry */
	PREAMBLE_MAX_BYTES = 4 << 20,
	JOURNAL_MAX_BYTES = 64 << 20,
	CAPACITY_MAX = 1 << 20,
	PAGE_MAX_BYTES = 64 << 10,
};

/*
 * The largest distance between two rings. With a larger distance, the offsets of rings could
 * overflow.
 */
#define STRIDE_MAX_BYTES \
	(sizeof(struct gmt_ring) + (uint64_t)CAPACITY_MAX * sizeof(struct gmt_ring_event) + \
		PAGE_MAX_BYTES)

/* A part of the file, read at its first use. */
struct part {
	uint8_t *bytes;
	size_t size_bytes;
	bool is_read;
};

struct gmt_shared_recording {
	int fd;
	uint64_t file_bytes;
	uint64_t allocated_bytes;
	struct gmt_shared_recording_file_info file_info;
	struct part preamble, journal, depot;
	struct gmt_shared_recording_header header;
	char path[4096];
};

static bool read_at(const struct gmt_shared_recording *shared_recording, uint64_t offset, void *to,
	size_t bytes)
{
	return gmt_file_read_at(shared_recording->fd, offset, to, bytes) == bytes;
}

static bool lies_within(uint64_t offset, uint64_t bytes, uint64_t all)
{
	return offset <= all && bytes <= all - offset && offset % 64 == 0;
}

static bool is_plausible(const struct gmt_shared_recording *shared_recording)
{
	const struct gmt_shared_recording_header *header = &shared_recording->header;
	uint64_t all = shared_recording->file_bytes;

	return header->slots <= GMT_SHARED_RECORDING_RINGS &&
		header->ring_stride >= sizeof(struct gmt_ring) && header->ring_stride <= all &&
		header->ring_stride <= STRIDE_MAX_BYTES && header->ring_stride % 64 == 0 &&
		lies_within(header->preamble_offset, header->preamble_bytes, all) &&
		lies_within(header->journal_offset, header->journal_bytes, all) &&
		lies_within(header->depot_offset, header->depot_bytes, all) &&
		lies_within(header->rings_offset, header->slots * header->ring_stride, all) &&
		header->preamble_bytes >= sizeof(struct gmt_shared_recording_preamble) &&
		header->journal_bytes >= sizeof(struct gmt_shared_recording_journal) &&
		header->depot_bytes >= sizeof(struct gmt_depot_head);
}

static enum gmt_status read_header(struct gmt_shared_recording *shared_recording, int folder,
	const char *name, struct gmt_error *error)
{
	struct gmt_shared_recording_header *header = &shared_recording->header;
	struct gmt_shared_recording_owner *owner = &header->owner;
	struct stat status;

	shared_recording->fd =
		openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (shared_recording->fd < 0 || fstat(shared_recording->fd, &status))
		return gmt_error_set(error, GMT_NO_FILE, "%s: %s", shared_recording->path, strerror(errno));
	shared_recording->file_bytes = (uint64_t)status.st_size;
	shared_recording->allocated_bytes = (uint64_t)status.st_blocks * 512;
	shared_recording->file_info =
		(struct gmt_shared_recording_file_info){ { status.st_dev, status.st_ino }, status.st_uid,
			status.st_nlink };
	if (!S_ISREG(status.st_mode) || !read_at(shared_recording, 0, header, sizeof(*header)) ||
		memcmp(header->magic, GMT_SHARED_RECORDING_MAGIC, sizeof(header->magic)) != 0)
		return gmt_error_set(error, GMT_FORMAT,
			"%s: is not the memory of a recorder, or the recorder had not started",
			shared_recording->path);
	if (header->version != GMT_SHARED_RECORDING_VERSION)
		return gmt_error_set(error, GMT_VERSION,
			"%s: is from another version of gpumemtrace: use that version to recover it",
			shared_recording->path);
	if (!is_plausible(shared_recording))
		return gmt_error_set(error, GMT_FORMAT, "%s: its header is damaged",
			shared_recording->path);
	owner->boot_id[sizeof(owner->boot_id) - 1] = 0;
	owner->host[sizeof(owner->host) - 1] = 0;
	owner->path[sizeof(owner->path) - 1] = 0;
	owner->recording[sizeof(owner->recording) - 1] = 0;
	owner->run[sizeof(owner->run) - 1] = 0;
	return GMT_OK;
}

enum gmt_status gmt_shared_recording_open(const char *path,
	struct gmt_shared_recording **ret_shared_recording, struct gmt_error *error)
{
	return gmt_shared_recording_open_at(AT_FDCWD, path, path, ret_shared_recording, error);
}

enum gmt_status gmt_shared_recording_open_at(int folder, const char *name, const char *path,
	struct gmt_shared_recording **ret_shared_recording, struct gmt_error *error)
{
	struct gmt_shared_recording *shared_recording;
	enum gmt_status status;

	*ret_shared_recording = NULL;
	if (strlen(path) >= sizeof(shared_recording->path))
		return gmt_error_set(error, GMT_NO_FILE, "%.64s...: %s", path, strerror(ENAMETOOLONG));
	shared_recording = gmt_pages_grow(NULL, 0, sizeof(*shared_recording));
	if (!shared_recording)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	strcpy(shared_recording->path, path);
	shared_recording->fd = -1;
	status = read_header(shared_recording, folder, name, error);
	if (status)
		gmt_shared_recording_close(shared_recording);
	else
		*ret_shared_recording = shared_recording;
	return status;
}

void gmt_shared_recording_close(struct gmt_shared_recording *shared_recording)
{
	if (!shared_recording)
		return;
	if (shared_recording->fd >= 0)
		close(shared_recording->fd);
	gmt_pages_free(shared_recording->preamble.bytes, shared_recording->preamble.size_bytes);
	gmt_pages_free(shared_recording->journal.bytes, shared_recording->journal.size_bytes);
	gmt_pages_free(shared_recording->depot.bytes, shared_recording->depot.size_bytes);
	gmt_pages_free(shared_recording, sizeof(*shared_recording));
}

const char *gmt_shared_recording_path(const struct gmt_shared_recording *shared_recording)
{
	return shared_recording->path;
}

const struct gmt_shared_recording_file_info *gmt_shared_recording_file_info(
	const struct gmt_shared_recording *shared_recording)
{
	return &shared_recording->file_info;
}

const struct gmt_shared_recording_owner *gmt_shared_recording_owner(
	const struct gmt_shared_recording *shared_recording)
{
	return &shared_recording->header.owner;
}

bool gmt_shared_recording_is_alive(const struct gmt_shared_recording *shared_recording)
{
	return gmt_shared_recording_is_used(shared_recording->fd, &shared_recording->header.owner);
}

const struct gmt_shared_recording_header *gmt_shared_recording_header(
	const struct gmt_shared_recording *shared_recording)
{
	return &shared_recording->header;
}

uint64_t gmt_shared_recording_allocated_bytes(const struct gmt_shared_recording *shared_recording)
{
	return shared_recording->allocated_bytes;
}

/*
 * Reads `bytes` at `offset`, once. Reads at most the size of the file on disk: more cannot exist.
 */
static const struct part *get_part(const struct gmt_shared_recording *shared_recording,
	struct part *part, uint64_t offset, uint64_t bytes)
{
	if (part->is_read)
		return part;
	part->is_read = true;
	if (bytes > shared_recording->allocated_bytes)
		bytes = shared_recording->allocated_bytes;
	part->bytes = bytes ? gmt_pages_grow(NULL, 0, bytes) : NULL;
	part->size_bytes = part->bytes ? bytes : 0;
	if (part->bytes && !read_at(shared_recording, offset, part->bytes, bytes)) {
		gmt_pages_free(part->bytes, part->size_bytes);
		part->bytes = NULL;
		part->size_bytes = 0;
	}
	return part;
}

const uint8_t *gmt_shared_recording_preamble(struct gmt_shared_recording *shared_recording,
	size_t *ret_bytes)
{
	const struct gmt_shared_recording_header *header = &shared_recording->header;
	struct gmt_shared_recording_preamble head = { 0 };

	*ret_bytes = 0;
	if (!shared_recording->preamble.is_read &&
		(!read_at(shared_recording, header->preamble_offset, &head, sizeof(head)) ||
			atomic_load(&head.used_bytes) > header->preamble_bytes - sizeof(head) ||
			atomic_load(&head.used_bytes) > PREAMBLE_MAX_BYTES))
		return NULL;

	const struct part *part = get_part(shared_recording, &shared_recording->preamble,
		header->preamble_offset + sizeof(head), atomic_load(&head.used_bytes));
	*ret_bytes = part->size_bytes;
	return part->bytes;
}

const uint8_t *gmt_shared_recording_journal(struct gmt_shared_recording *shared_recording,
	size_t *ret_bytes, uint64_t *ret_base_stamp)
{
	const struct gmt_shared_recording_header *header = &shared_recording->header;
	struct gmt_shared_recording_journal head;

	*ret_bytes = 0;
	*ret_base_stamp = 0;
	if (!read_at(shared_recording, header->journal_offset, &head, sizeof(head)))
		return NULL;
	*ret_base_stamp = atomic_load(&head.base_stamp);

	uint64_t used = atomic_load(&head.used_bytes);
	if (used > header->journal_bytes - sizeof(head) || used > JOURNAL_MAX_BYTES)
		return NULL;

	const struct part *part = get_part(shared_recording, &shared_recording->journal,
		header->journal_offset + sizeof(head), used);
	*ret_bytes = part->size_bytes;
	return part->bytes;
}

static const struct part *depot_of(struct gmt_shared_recording *shared_recording)
{
	const struct gmt_shared_recording_header *header = &shared_recording->header;
	struct gmt_depot_head head = { 0 };
	uint64_t used;

	if (shared_recording->depot.is_read)
		return &shared_recording->depot;
	if (!read_at(shared_recording, header->depot_offset, &head, sizeof(head)))
		atomic_store(&head.used_bytes, 0);
	used = atomic_load(&head.used_bytes);
	return get_part(shared_recording, &shared_recording->depot, header->depot_offset,
		used < header->depot_bytes ? used : header->depot_bytes);
}

/*
 * Returns the entry at an offset, of any kind. Returns NULL if the entry or its bytes do not fit.
 */
static struct gmt_depot_entry *entry_at(const struct part *depot, uint64_t offset)
{
	struct gmt_depot_entry *entry = (void *)(depot->bytes + offset);

	if (!depot->bytes || offset < sizeof(struct gmt_depot_head) || offset > depot->size_bytes ||
		depot->size_bytes - offset < sizeof(*entry))
		return NULL;
	return entry->length <= depot->size_bytes - offset - sizeof(*entry) &&
			entry->length <= ENTRY_MAX_BYTES
		? entry
		: NULL;
}

struct gmt_depot_entry *gmt_shared_recording_entry(struct gmt_shared_recording *shared_recording,
	uint32_t id, enum gmt_depot_kind kind)
{
	struct gmt_depot_entry *entry =
		entry_at(depot_of(shared_recording), (uint64_t)id * GMT_DEPOT_ID_BYTES);

	return entry && entry->kind == kind ? entry : NULL;
}

uint32_t gmt_shared_recording_next_entry(struct gmt_shared_recording *shared_recording, uint32_t id,
	struct gmt_depot_entry **ret_entry)
{
	const struct part *depot = depot_of(shared_recording);
	uint64_t offset = (uint64_t)id * GMT_DEPOT_ID_BYTES;

	if (offset < sizeof(struct gmt_depot_head))
		offset = sizeof(struct gmt_depot_head);
	/* Space that the recorder reserved but did not fill before the kill is zero. */
	for (; offset + sizeof(**ret_entry) <= depot->size_bytes; offset += GMT_DEPOT_ID_BYTES) {
		*ret_entry = entry_at(depot, offset);
		if (*ret_entry && (*ret_entry)->kind)
			return (uint32_t)(offset / GMT_DEPOT_ID_BYTES);
	}
	return 0;
}

static uint64_t ring_offset(const struct gmt_shared_recording *shared_recording, uint32_t slot)
{
	return shared_recording->header.rings_offset + shared_recording->header.ring_stride * slot;
}

bool gmt_shared_recording_ring(const struct gmt_shared_recording *shared_recording, uint32_t slot,
	struct gmt_ring *ret_ring)
{
	uint64_t published, consumed;

	if (slot >= shared_recording->header.slots ||
		!read_at(shared_recording, ring_offset(shared_recording, slot), ret_ring,
			sizeof(*ret_ring)))
		return false;
	published = atomic_load(&ret_ring->published);
	consumed = atomic_load(&ret_ring->consumed);
	return atomic_load(&ret_ring->magic) == GMT_RING_MAGIC && ret_ring->capacity &&
		ret_ring->capacity <= CAPACITY_MAX && !(ret_ring->capacity & (ret_ring->capacity - 1)) &&
		consumed <= published && published - consumed <= ret_ring->capacity &&
		sizeof(*ret_ring) + (uint64_t)ret_ring->capacity * sizeof(struct gmt_ring_event) <=
		shared_recording->header.ring_stride;
}

bool gmt_shared_recording_events(const struct gmt_shared_recording *shared_recording, uint32_t slot,
	const struct gmt_ring *ring, uint64_t first, uint32_t count, struct gmt_ring_event *ret_events)
{
	uint64_t events = ring_offset(shared_recording, slot) + sizeof(*ring);
	uint32_t start = (uint32_t)(first & (ring->capacity - 1));
	uint32_t before_wrap = ring->capacity - start < count ? ring->capacity - start : count;

	return count <= ring->capacity &&
		read_at(shared_recording, events + start * sizeof(*ret_events), ret_events,
			before_wrap * sizeof(*ret_events)) &&
		read_at(shared_recording, events, ret_events + before_wrap,
			(count - before_wrap) * sizeof(*ret_events));
}
