/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_SHARED_RECORDING_H
#define GMT_SHARED_MEMORY_SHARED_RECORDING_H

/*
 * How the recorder's memory is laid out: the file that outlives a killed process. The recorder makes it
 * (producer/recording_memory.h), who recovers reads it (shared_recording_file.h). In bytes as the machine has them: it is never
 * read on another one. docs/leftovers.md says what each part is for.
 *
 *   header | preamble | journal | depot | ring slots
 *
 * Words that change while the process runs are atomic; each is written by a single store, after what it
 * promises. So a kill between any two stores leaves a state that means something.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/identifier.h"
#include "shared_memory/drops.h"
#include "shared_memory/ring_event.h"

enum {
	GMT_SHARED_RECORDING_VERSION = 3,
	GMT_SHARED_RECORDING_RINGS = 1024, /* threads at one time; fewer where address space is tight */
	GMT_SHARED_RECORDING_LOSSES = 8,
	GMT_SHARED_RECORDING_PATH_BYTES = 4352,
};

#define GMT_SHARED_RECORDING_MAGIC "GMTAREA\n"

/* Who has a ring slot. OWNED by its thread until it ends; LEFT until it is gone and the writer has emptied it. */
enum gmt_slot_state { GMT_SLOT_FREE, GMT_SLOT_OWNED, GMT_SLOT_LEFT };

/* Whose memory it is. */
struct gmt_shared_recording_owner {
	uint32_t pid;              /* as the process sees it */
	_Atomic uint32_t is_moving; /* another file is just taking the place of its own: which one it is, the number does not say */
	uint64_t pid_namespace;    /* inode of that namespace; 0: not known */
	uint64_t start_ticks;      /* of the process: field 22 of /proc/PID/stat; 0: not known */
	char boot_id[GMT_IDENTIFIER_BYTES]; /* of the machine; "": not known */
	char host[256];
	uint64_t file_device;      /* which file it writes ... */
	uint64_t file_inode;
	char path[GMT_SHARED_RECORDING_PATH_BYTES]; /* ... and its name, absolute where that could be told */
	uint64_t start_time_ns;    /* of the recording: from here on, all is in the file's first record, too */
	uint64_t start_stamp;
	char recording[GMT_IDENTIFIER_BYTES]; /* random: no other recording has it; "": not known */
	char run[GMT_IDENTIFIER_BYTES]; /* random, of the `gpumemtrace run` that started the process; "": there is none */
};

struct gmt_shared_recording_header {
	char magic[8];             /* written last: all that follows is there */
	uint32_t version;
	uint32_t slots;            /* at most GMT_SHARED_RECORDING_RINGS */
	uint64_t size_bytes;       /* of the file */
	uint64_t preamble_offset, preamble_bytes;
	uint64_t journal_offset, journal_bytes;
	uint64_t depot_offset, depot_bytes;
	uint64_t rings_offset, ring_stride;
	struct gmt_shared_recording_owner owner;
	_Atomic uint32_t write_errno; /* why the file can no longer be written; 0: it can */
	_Atomic uint32_t slots_used;  /* slots below this were claimed at least once */
	_Atomic uint64_t losses[GMT_SHARED_RECORDING_LOSSES]; /* enum gmt_loss: events that found no ring at all */
	_Atomic uint32_t slot_states[GMT_SHARED_RECORDING_RINGS]; /* enum gmt_slot_state */
};

/*
 * Blocks of the file (snapshot-format.md) behind each other: what a file without its beginning would lack,
 * namely the records of process_metadata.h's beginning and all function names that events may use.
 */
struct gmt_shared_recording_preamble {
	_Atomic uint64_t used_bytes; /* of blocks[] */
	uint8_t blocks[];
};

/*
 * What the writer handed to the compressor since the last sync point that is in the file for certain.
 *
 * base_stamp says which: the stamp of its record; 0: the beginning of the file. When the file's last sync
 * record has another stamp, the blocks are not for it: later, they are in the file already; earlier, what is
 * between is lost. After a sync point used_bytes becomes 0 first and base_stamp changes then.
 */
struct gmt_shared_recording_journal {
	_Atomic uint64_t base_stamp;
	_Atomic uint64_t used_bytes; /* of entries[]; they count from here on, all or none of a batch */
	uint64_t reserved[6];
	uint8_t entries[];
};

enum gmt_pending_definitions_kind {
	GMT_PENDING_DEFINITIONS_BLOCK = 1, /* a block of the file, as it is there */
	GMT_PENDING_DEFINITIONS_POSITION,  /* struct gmt_pending_definitions_position */
};

/* In front of each entry's bytes, which are padded to 8. */
struct gmt_pending_definitions_entry {
	uint32_t kind;
	uint32_t length;
};

/* What the blocks before it hold of a ring: it says so earlier than the ring's own `consumed`. */
struct gmt_pending_definitions_position {
	uint32_t slot;
	uint32_t thread; /* the ring's, which may have become another's since */
	uint64_t consumed;
};

enum { GMT_RING_MAGIC = 0x31474e52 }; /* "RNG1" in the file, little endian */

/*
 * Producer and consumer words stand on cache lines of their own: with both on one line, each push would
 * take the line away from the writer's core and back.
 */
struct gmt_ring {
	_Atomic uint32_t magic;            /* set last: the ring is whole */
	uint32_t capacity;                 /* events; a power of two */
	uint32_t thread;                   /* what the file calls the thread */
	uint32_t tid;                      /* kernel's, for the report */
	char thread_name[16];              /* at its first event */
	alignas(64) _Atomic uint64_t published; /* events ever pushed; written by the producer */
	uint64_t consumed_seen;            /* what the producer last saw of `consumed` */
	_Atomic uint64_t dropped[GMT_DROP_COUNT]; /* events refused because the ring was full; producer */
	alignas(64) _Atomic uint64_t consumed;  /* events ever taken; written by the consumer */
	alignas(64) struct gmt_ring_event events[];
};

#endif
