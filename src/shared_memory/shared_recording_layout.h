/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_SHARED_RECORDING_LAYOUT_H
#define GMT_SHARED_MEMORY_SHARED_RECORDING_LAYOUT_H

/*
 * The layout of the recorder's memory: a file that remains after a process is killed. The recorder
 * writes it (producer/recording_memory.h). Recovery reads it (shared_recording_reader.h). Byte
 * order and sizes are the machine's own, because the file is never read on another machine.
 * docs/internals/shared-recordings.md explains each part.
 *
 *   header | preamble | journal | depot | ring slots
 *
 * Words that change while the process runs are atomic. The recorder first stores the data, and then
 * makes it valid by a single store to such a word. So a kill between any two stores leaves a
 * consistent state.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/uuid.h"
#include "shared_memory/drop_reasons.h"
#include "shared_memory/ring_event.h"

enum {
	GMT_SHARED_RECORDING_VERSION = 3,
	GMT_SHARED_RECORDING_RINGS = 1024, /* threads at one time; fewer if address space is scarce */
	GMT_SHARED_RECORDING_LOSSES = 8,
	GMT_SHARED_RECORDING_PATH_BYTES = 4352,
};

#define GMT_SHARED_RECORDING_MAGIC "GMTAREA\n"

/*
 * The state of a ring slot. OWNED: by a thread, until it ends. LEFT: until the thread is gone and
 * the writer has emptied the ring.
 */
enum gmt_slot_state { GMT_SLOT_FREE, GMT_SLOT_OWNED, GMT_SLOT_LEFT };

/* The process that owns the memory. */
struct gmt_shared_recording_owner {
	uint32_t pid;              /* process id, as the process sees it */
	/* a new file is replacing the recording's file now: file_inode may be of either */
	_Atomic uint32_t is_being_replaced;
	uint64_t pid_namespace;    /* inode of that namespace; 0: unknown */
	uint64_t start_ticks;      /* start of the process: field 22 of /proc/PID/stat; 0: unknown */
	char boot_id[GMT_UUID_BYTES]; /* identifies the machine's boot; "": unknown */
	char host[256];
	uint64_t file_device;      /* device and inode of the recording's file */
	uint64_t file_inode;
	/* name of the recording's file, absolute if known */
	char path[GMT_SHARED_RECORDING_PATH_BYTES];
	/* start of the recording; the fields from here on are also in the file's first record */
	uint64_t start_time_ns;
	uint64_t start_stamp;
	char recording[GMT_UUID_BYTES]; /* random and unique for each recording; "": unknown */
	/* random id of the `gpumemtrace run` that started the process; "": started without it */
	char run[GMT_UUID_BYTES];
};

struct gmt_shared_recording_header {
	char magic[8];             /* written last: the rest is complete */
	uint32_t version;
	uint32_t slots;            /* at most GMT_SHARED_RECORDING_RINGS */
	uint64_t size_bytes;       /* size of the file */
	uint64_t preamble_offset, preamble_bytes;
	uint64_t journal_offset, journal_bytes;
	uint64_t depot_offset, depot_bytes;
	uint64_t rings_offset, ring_stride;
	struct gmt_shared_recording_owner owner;
	_Atomic uint32_t write_errno; /* why the file can no longer be written; 0: it can be written */
	_Atomic uint32_t slots_used; /* slots below this index were claimed at least once */
	/* by enum gmt_loss: events for which there was no ring */
	_Atomic uint64_t losses[GMT_SHARED_RECORDING_LOSSES];
	_Atomic uint32_t slot_states[GMT_SHARED_RECORDING_RINGS]; /* enum gmt_slot_state */
};

/*
 * Consecutive blocks of the file (recording-format.md). They replace the beginning of a file that
 * lacks it: the first records of process_metadata.h and all function names that events may use.
 */
struct gmt_shared_recording_preamble {
	_Atomic uint64_t used_bytes; /* bytes used in blocks[] */
	uint8_t blocks[];
};

/*
 * A write-ahead journal: all blocks that the writer passed to the compressor since the last sync
 * point that is certainly in the file.
 *
 * base_stamp is the stamp of that sync record; 0: the beginning of the file. A reader compares it
 * with the file's last sync record. If the file's stamp is later, the file already has the blocks.
 * If the file's stamp is earlier, the part between is lost. After a sync point, the writer first
 * sets used_bytes to 0 and then changes base_stamp.
 */
struct gmt_shared_recording_journal {
	_Atomic uint64_t base_stamp;
	/* bytes used in entries[]; one store makes all entries of a batch valid */
	_Atomic uint64_t used_bytes;
	uint64_t reserved[6];
	uint8_t entries[];
};

enum gmt_journal_kind {
	GMT_JOURNAL_BLOCK = 1, /* a block, exactly as in the file */
	GMT_JOURNAL_POSITION, /* struct gmt_journal_position */
};

/* Precedes the bytes of each entry. The bytes are padded to a multiple of 8. */
struct gmt_journal_entry {
	uint32_t kind;
	uint32_t length;
};

/*
 * How far the blocks before it contain a ring's events. It is valid earlier than the ring's own
 * `consumed`.
 */
struct gmt_journal_position {
	uint32_t slot;
	uint32_t thread; /* the ring's thread; the ring may have another thread since then */
	uint64_t consumed;
};

enum { GMT_RING_MAGIC = 0x31474e52 }; /* "RNG1" in the file, little endian */

/*
 * The producer's and the consumer's words are on separate cache lines. If they shared a line, each
 * push would move that line from the writer's core to the producer's core and back.
 */
struct gmt_ring {
	_Atomic uint32_t magic; /* set last: the ring is complete */
	uint32_t capacity; /* in events; a power of two */
	uint32_t thread; /* the file's id for the thread */
	uint32_t tid; /* the kernel's thread id, for the report */
	char thread_name[16]; /* at the thread's first event */
	/* number of events ever pushed; written by the producer */
	alignas(64) _Atomic uint64_t published;
	uint64_t consumed_seen; /* the producer's last known value of `consumed` */
	/* events dropped because the ring was full; written by the producer */
	_Atomic uint64_t dropped[GMT_DROP_COUNT];
	/* number of events ever taken; written by the consumer */
	alignas(64) _Atomic uint64_t consumed;
	alignas(64) struct gmt_ring_event events[];
};

#endif
