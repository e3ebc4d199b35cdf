/* SPDX-License-Identifier: MIT */
/*
 * signal-handlers MODE [BYTES]: allocates in signal handlers.
 *
 *	first BYTES, later BYTES
 *	    allocates on a signal stack with BYTES of space in addition to the kernel's signal frame, in
 *	    the first call of the process or later. Prints how many bytes below the stack changed, and
 *	    how many of the BYTES were used.
 *	storm ROUNDS
 *	    a handler interrupts the recorder for ROUNDS rounds, or until it has done so often enough.
 *	    Prints how often the program and the handler allocated. Needs driver_gate.c behind the
 *	    recorder, which reports when the driver itself runs: no handler may allocate then.
 */
#include <cuda.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BELOW_BYTES = 65536,
	LARGEST = 1 << 20,
	FILLING = 0x5a,
	OF_HANDLER = 1024,
	OF_PROGRAM = 2048
};
enum { STORM_US = 20, HANDLED = 500, MAX_ROUNDS = 20 };

extern _Atomic int driver_gate_is_inside __attribute__((weak));

static unsigned char space[BELOW_BYTES + LARGEST];
static CUcontext context;
static volatile sig_atomic_t handled;
static _Atomic int is_over;
static pthread_t worker;

static void allocate_and_free(size_t size_bytes)
{
	CUdeviceptr block;

	if (cuMemAlloc(&block, size_bytes) || cuMemFree(block))
		_exit(9);
}

static void begin(void)
{
	CUdevice device;

	if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device))
		_exit(8);
}

static void on_signal(int number)
{
	(void)number;
	if (&driver_gate_is_inside && atomic_load(&driver_gate_is_inside))
		return;
	allocate_and_free(OF_HANDLER);
	handled++;
}

static volatile uintptr_t handler_at;

static void on_first_signal(int number)
{
	(void)number;
	handler_at = (uintptr_t)__builtin_frame_address(0);
}

/*
 * Measures the kernel's signal frame. AT_MINSIGSTKSZ may be larger: it includes registers that this
 * process may never use, and that its frames do not have then (Intel's AMX: 11,952 bytes, of which
 * 3,400 are used).
 */
static size_t frame_bytes(void)
{
	stack_t stack = { .ss_sp = space + BELOW_BYTES, .ss_size = LARGEST },
			none = { .ss_flags = SS_DISABLE };
	struct sigaction action = { .sa_handler = on_first_signal, .sa_flags = SA_ONSTACK };

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1) ||
		sigaltstack(&none, NULL))
		_exit(7);
	return (uintptr_t)stack.ss_sp + stack.ss_size - handler_at;
}

static int on_signal_stack(size_t usable_bytes, int is_first)
{
	size_t frame = frame_bytes(), bytes = usable_bytes + frame;
	stack_t stack = { .ss_sp = space + BELOW_BYTES, .ss_size = bytes };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	size_t damaged = 0, unused = 0;

	begin();
	if (!is_first)
		allocate_and_free(OF_PROGRAM);
	memset(space, FILLING, sizeof(space));
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1) ||
		raise(SIGUSR1))
		return 1;
	for (size_t at = 0; at < BELOW_BYTES; at++)
		damaged += space[at] != FILLING;
	while (unused < bytes && space[BELOW_BYTES + unused] == FILLING)
		unused++;
	allocate_and_free(OF_PROGRAM);
	printf("%zu %zu\n", damaged, bytes - unused - frame);
	return 0;
}

static void *interrupt(void *unused)
{
	struct timespec pause = { .tv_nsec = STORM_US * 1000 };

	while (!atomic_load(&is_over)) {
		pthread_kill(worker, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	return unused;
}

static int storm(int rounds)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t id;
	int done = 0;

	if (!&driver_gate_is_inside)
		return 3;
	begin();
	worker = pthread_self();
	if (sigaction(SIGUSR1, &action, NULL) || pthread_create(&id, NULL, interrupt, NULL))
		return 1;
	/*
	 * On a busy machine the other thread may not run at all during the rounds. Then this thread
	 * adds rounds and yields in each of them, up to a limit, because the test reads each event.
	 */
	for (; done < rounds || (handled < HANDLED && done < MAX_ROUNDS * rounds); done++) {
		allocate_and_free(OF_PROGRAM);
		if (done >= rounds)
			sched_yield();
	}
	atomic_store(&is_over, 1);
	pthread_join(id, NULL);
	printf("%d %d\n", done, (int)handled);
	return 0;
}

int main(int count, char **arguments)
{
	int number = count > 2 ? atoi(arguments[2]) : 0;

	if (number < 1)
		return 2;
	if (strcmp(arguments[1], "storm") == 0)
		return storm(number);
	return on_signal_stack(number < LARGEST / 2 ? (size_t)number : LARGEST / 2,
		strcmp(arguments[1], "first") == 0);
}
