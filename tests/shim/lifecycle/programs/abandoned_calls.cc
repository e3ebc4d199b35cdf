/* SPDX-License-Identifier: MIT */
/*
 * abandoned-calls WAY: abandons a call of the driver, which then never returns, and continues to
 * allocate. Needs driver_callback.c after the recorder. Prints how many blocks were allocated and
 * freed, without the block of the abandoned call.
 *
 *	jump       siglongjmp to the caller
 *	deep       siglongjmp, and all later calls from deeper frames than the abandoned call
 *	handler    siglongjmp out of a signal handler that interrupts the driver
 *	throw      an exception, with an object on the way whose destructor frees memory
 *	cancel     pthread_cancel, with a handler that frees memory
 *	thread     pthread_exit, without any further call of that thread
 *	exit       the process ends in the call
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>

extern "C" {
extern void (*driver_callback)(void) __attribute__((weak));
}

namespace
{

enum { BLOCKS = 20, DEPTH = 12 };

CUcontext context;
sigjmp_buf back;
int made, freed;

CUdeviceptr allocate()
{
	CUdeviceptr block;

	if (cuMemAlloc(&block, 4096))
		_exit(9);
	made++;
	return block;
}

void release(CUdeviceptr block)
{
	if (cuMemFree(block))
		_exit(8);
	freed++;
}

struct Owner {
	CUdeviceptr block = allocate();
	~Owner()
	{
		release(block);
	}
};

void jump_back()
{
	driver_callback = nullptr;
	siglongjmp(back, 1);
}

void on_signal(int)
{
	jump_back();
}

/* Makes the call that `way` abandons. */
void leave_by(void (*way)())
{
	CUdeviceptr block;

	driver_callback = way;
	cuMemAlloc(&block, 1 << 20);
	_exit(7);
}

void go_on()
{
	CUdeviceptr blocks[BLOCKS];

	for (CUdeviceptr &block : blocks)
		block = allocate();
	for (int i = 0; i < BLOCKS / 2; i++)
		release(blocks[i]);
}

__attribute__((noinline)) void go_deeper(int depth)
{
	volatile char frame[512];

	frame[0] = 1;
	if (depth)
		go_deeper(depth - 1);
	else
		go_on();
	frame[1] = frame[0];
}

void by_exception()
{
	try {
		Owner owner;

		leave_by([] {
			driver_callback = nullptr;
			throw std::runtime_error("out of here");
		});
	} catch (const std::runtime_error &) {
		go_on();
	}
}

void *in_cancelled(void *)
{
	CUdeviceptr block;

	cuCtxSetCurrent(context);
	block = allocate();
	pthread_cleanup_push([](void *mine) { release(*static_cast<CUdeviceptr *>(mine)); }, &block);
	leave_by([] {
		driver_callback = nullptr;
		pthread_cancel(pthread_self());
		pthread_testcancel();
	});
	pthread_cleanup_pop(0);
	return nullptr;
}

void *in_thread(void *)
{
	cuCtxSetCurrent(context);
	release(allocate());
	leave_by([] {
		driver_callback = nullptr;
		pthread_exit(nullptr);
	});
	return nullptr;
}

void run_thread(void *(*work)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, nullptr, work, nullptr) || pthread_join(thread, nullptr))
		_exit(6);
	go_on();
}

void print()
{
	printf("%d %d\n", made, freed);
	fflush(stdout);
}

} // namespace

int main(int count, char **arguments)
{
	const char *way = count > 1 ? arguments[1] : "";
	CUdevice device;

	if (!&driver_callback)
		return 3;
	if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, nullptr, 0, device))
		return 4;
	signal(SIGUSR1, on_signal);
	release(allocate());
	if (strcmp(way, "jump") == 0 || strcmp(way, "deep") == 0) {
		if (!sigsetjmp(back, 1))
			leave_by(jump_back);
		way[0] == 'j' ? go_on() : go_deeper(DEPTH);
	} else if (strcmp(way, "handler") == 0) {
		if (!sigsetjmp(back, 1))
			leave_by([] { raise(SIGUSR1); });
		go_on();
	} else if (strcmp(way, "throw") == 0) {
		by_exception();
	} else if (strcmp(way, "cancel") == 0) {
		run_thread(in_cancelled);
	} else if (strcmp(way, "thread") == 0) {
		run_thread(in_thread);
	} else if (strcmp(way, "exit") == 0) {
		go_on();
		leave_by([] {
			print();
			exit(0);
		});
	} else {
		return 2;
	}
	print();
	return 0;
}
