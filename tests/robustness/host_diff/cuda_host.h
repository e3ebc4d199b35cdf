/* SPDX-License-Identifier: MIT */
#ifndef GMT_CUDA_HOST_H
#define GMT_CUDA_HOST_H

/*
 * Shared by the cases of cuda-host. A case prints only text that is the same in each run without
 * the recorder.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *ret_device, int ordinal);
int cuMemAlloc_v2(uint64_t *ret_address, size_t bytes);
int cuMemFree_v2(uint64_t address);
extern _Atomic int bare_delay_us;
void linked_touch(void);

enum { HOST_BLOCK_BYTES = 4096 };

/* Allocates and frees once; ends the process if the driver refuses. */
void host_allocate(size_t bytes);

/* Ends the process with a message if `is_right` does not hold. */
void host_must(int is_right, const char *what);

/* A case returns the exit code. `bytes` is the second argument, or 0. */
typedef int host_case(size_t bytes);

host_case host_signal_stack, host_own_signal_stack, host_coroutine,
	host_thread_stack; /* cuda_host_stacks.c */
host_case host_forks_in_handlers, host_jump, host_cancel, host_nested_jumps, host_signals,
	host_pending; /* cuda_host_signals.c */
host_case host_low_descriptors, host_few_descriptors, host_children, host_forked_child, host_state,
	host_errno, host_registers, host_dlerror, host_edges, host_no_children,
	host_own_malloc; /* cuda_host_process.c */
host_case host_raw_exits, host_raw_exit_group, host_exit_of_thread, host_exit_with_threads,
	host_abort, host_crash, host_kill, host_quick_exit, host_end_of_main; /* cuda_host_ends.c */

#endif
