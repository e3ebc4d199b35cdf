/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_RING_EVENT_H
#define GMT_SHARED_MEMORY_RING_EVENT_H

#include <assert.h>
#include <stdint.h>

/* What waits in a ring besides events; numbers that no enum gmt_kind has. */
enum {
	GMT_RING_MARK = 0x80, /* struct gmt_mark: stack is the depot id of its name, address its object */
	GMT_RING_OOM,         /* struct gmt_oom: address is what is free, size_bytes what there is */
	GMT_RING_SAMPLE,      /* struct gmt_sample: likewise; stream is NVML's used bytes, object the begin stamp,
	                         result the parts that are known */
};

/*
 * One call, as it waits in a ring: plain data, one cache line, no pointer into the process. The
 * writer turns it into the file's struct gmt_event (format/records.def), which says what each means.
 */
struct gmt_ring_event {
	uint64_t stamp;
	uint64_t address;
	uint64_t size_bytes;
	union {
		uint64_t stream;          /* layers cuda, custom */
		uint64_t allocated_bytes; /* layer torch: its total, as it reports it */
	};
	union {
		uint64_t object;          /* likewise; custom: the heap's number */
		uint64_t reserved_bytes;  /* layer torch: likewise */
	};
	uint32_t stack;            /* depot id of the native stack; 0 is none */
	uint32_t frames;           /* depot id of the Python stack; 0 is none */
	uint32_t result;
	uint16_t api;              /* enum gmt_hook; none for layer custom */
	int16_t device;
	uint8_t kind;              /* enum gmt_kind */
	uint8_t layer;             /* enum gmt_layer; of a mark: enum gmt_mark_kind */
	uint8_t space;             /* enum gmt_space; of a mark: enum gmt_mark_source */
	uint8_t unused[3];
	uint16_t context;
};

static_assert(sizeof(struct gmt_ring_event) == 64, "one event is one cache line");

#endif
