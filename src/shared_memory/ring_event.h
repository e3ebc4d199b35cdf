/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_RING_EVENT_H
#define GMT_SHARED_MEMORY_RING_EVENT_H

#include <assert.h>
#include <stdint.h>

/* Kinds of ring entries that are not events. No enum gmt_event_kind has these numbers. */
enum {
	/* struct gmt_mark: stack is the depot id of its name, address is its object */
	GMT_RING_MARK = 0x80,
	/* struct gmt_oom: address is the free bytes, size_bytes the total bytes */
	GMT_RING_OOM,
	/*
	 * struct gmt_sample: address is the free bytes, size_bytes the total bytes; stream is NVML's
	 * used bytes, object the begin stamp, result the known parts
	 */
	GMT_RING_SAMPLE,
};

/*
 * One call, as it waits in a ring: plain data, one cache line, no pointer into the process. The
 * writer converts it to the file's struct gmt_event. format/records.def explains the fields.
 */
struct gmt_ring_event {
	uint64_t stamp;
	uint64_t address;
	uint64_t size_bytes;
	union {
		uint64_t stream;          /* layers cuda, custom */
		uint64_t allocated_bytes; /* layer torch: PyTorch's own total */
	};
	union {
		uint64_t object;          /* layers cuda, custom; custom: the heap's number */
		uint64_t reserved_bytes;  /* layer torch: PyTorch's own total */
	};
	uint32_t stack;            /* depot id of the native stack; 0: no stack */
	uint32_t frames;           /* depot id of the Python stack; 0: no stack */
	uint32_t result;
	uint16_t api;              /* enum gmt_hook; unused for layer custom */
	int16_t device;
	uint8_t kind;              /* enum gmt_event_kind */
	uint8_t layer;             /* enum gmt_layer; for a mark: enum gmt_mark_kind */
	uint8_t space;             /* enum gmt_space; for a mark: enum gmt_mark_source */
	uint8_t unused[3];
	uint16_t context;
};

static_assert(sizeof(struct gmt_ring_event) == 64, "one event is one cache line");

#endif
