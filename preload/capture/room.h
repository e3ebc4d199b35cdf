/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_ROOM_H
#define GMT_CAPTURE_ROOM_H

/*
 * Whether the stack that this thread is on has room for the recorder. A signal handler may run on a stack of
 * its own (sigaltstack), which is often 8 KiB, in the middle of the host's data, and has no guard page: what
 * runs over it changes the host's memory. The kernel knows its bounds. Stacks of threads are larger, and those of
 * routines (makecontext) are known to nobody: both are taken for large enough.
 */

/* What of the recorder may run here. */
enum gmt_room {
	GMT_ROOM_NONE,   /* nothing: the event is lost */
	GMT_ROOM_EVENT,  /* the event without stacks, where the recording has begun */
	GMT_ROOM_ENOUGH, /* all */
};

/* The calling thread's. A look at two words of the thread, and a system call now and then. */
enum gmt_room gmt_room_here(void);

#endif
