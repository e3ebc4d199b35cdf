// SPDX-License-Identifier: MIT
//
// misuse: calls every hooked function with invalid arguments, in states in which it fails: before
// cuInit, without a context, with a context, and with a destroyed context. Each line has the
// outcome of one call: its result, errno, the buffers that were written, and the runtime's last
// error. The lines must be the same with and without the recorder.
//
// "SYMBOL TIME CHOICES RESULT ERRNO WRITTEN LAST": CHOICES has a digit for each argument. 0 means
// null or zero.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <type_traits>
#include <utility>

extern "C" {
#include "wrappers/missing_cuda_types.h"
#include "simcuda/driver/extra_declarations.h"
}

namespace
{

enum { ARGUMENTS_MAX = 10, BUFFER_BYTES = 4096, CALLS_MAX = 30, OWN_ERRNO = 77 };

alignas(4096) unsigned char buffers[ARGUMENTS_MAX][BUFFER_BYTES];
const char *moment;

void *driver(const char *symbol)
{
	static void *handle = dlopen("libcuda.so.1", RTLD_NOW);

	return dlsym(handle, symbol);
}
#define D(symbol) ((decltype(&symbol))driver(#symbol))

template <typename T, typename = void> struct is_complete : std::false_type {};
template <typename T> struct is_complete<T, decltype(void(sizeof(T)))> : std::true_type {};

// The values that an argument of this type can have, by number. CHOICES is how many. Each argument
// has its own `buffer`.
template <typename T, typename = void> struct Choice { // structures by value
	enum { CHOICES = 2 };
	static T make(int choice, unsigned char *)
	{
		T value;
		memset(&value, choice ? 0xff : 0, sizeof(value));
		return value;
	}
};

template <typename T>
struct Choice<T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>> {
	enum { CHOICES = 4 };
	static T make(int choice, unsigned char *)
	{
		const unsigned long long values[] = { 0, 1, 0x1234000, ~0ull - 5 };
		return (T)values[choice];
	}
};

// Invalid handles: null, or a pointer to something else.
template <typename T>
struct Choice<T *, std::enable_if_t<!is_complete<T>::value && !std::is_void_v<T>>> {
	enum { CHOICES = std::is_function_v<T> ? 1 : 2 };
	static T *make(int choice, unsigned char *buffer)
	{
		return choice ? (T *)buffer : nullptr;
	}
};

template <typename T>
struct Choice<T *, std::enable_if_t<is_complete<T>::value || std::is_void_v<T>>> {
	enum { CHOICES = 3 };
	static T *make(int choice, unsigned char *buffer)
	{
		memset(buffer, choice == 2 ? 0xff : 0, BUFFER_BYTES);
		if (choice == 2)
			buffer[BUFFER_BYTES - 1] = 0; // of a name
		return choice ? (T *)buffer : nullptr;
	}
};

// The driver dereferences graphs and nodes without a check.
template <> struct Choice<CUgraph> {
	enum { CHOICES = 2 };
	static CUgraph make(int choice, unsigned char *)
	{
		CUgraph graph = nullptr;
		if (choice && strcmp(moment, "before") != 0)
			D(cuGraphCreate)(&graph, 0);
		return graph;
	}
};

template <> struct Choice<CUgraphExec> {
	enum { CHOICES = 1 };
	static CUgraphExec make(int, unsigned char *)
	{
		return nullptr;
	}
};

template <> struct Choice<const CUgraphNode *> {
	enum { CHOICES = 1 };
	static const CUgraphNode *make(int, unsigned char *)
	{
		return nullptr;
	}
};

template <typename R, typename... A, size_t... I>
R call_with(R (*function)(A...), const int *choices, std::index_sequence<I...>)
{
	return function(Choice<A>::make(choices[I], buffers[I])...);
}

// Makes a context for calls that need one, and ends captures of earlier calls.
void tidy_up()
{
	CUgraph graph = nullptr;
	CUcontext context;

	if (strcmp(moment, "before") == 0)
		return;
	D(cuStreamEndCapture_ptsz)(nullptr, &graph);
	if (strcmp(moment, "with") == 0 && !D(cuDevicePrimaryCtxRetain)(&context, 0))
		D(cuCtxSetCurrent)(context);
	if (strcmp(moment, "without") == 0)
		D(cuCtxSetCurrent)(nullptr);
	if (strcmp(moment, "ended") == 0 && !D(cuDevicePrimaryCtxReset_v2)(1) &&
		!D(cuDevicePrimaryCtxRetain)(&context, 1)) {
		D(cuCtxSetCurrent)(context);
		while (!D(cuDevicePrimaryCtxRelease_v2)(1))
			;
	}
}

// Returns a letter for each argument: '-' its buffer is unchanged, 'w' it was written, '0' zeros
// were written.
std::string written(const int *choices, size_t count)
{
	std::string which;

	for (size_t i = 0; i < count; i++) {
		bool is_written = false;
		uint64_t first;
		for (size_t byte = 0; byte + 1 < BUFFER_BYTES; byte++)
			is_written |= buffers[i][byte] != (choices[i] == 2 ? 0xff : 0);
		memcpy(&first, buffers[i], sizeof(first));
		which += !is_written ? '-' : first ? 'w' : '0';
	}
	return which;
}

// Waits so that the recorder's writer keeps up. Otherwise events would be dropped.
void rest_sometimes()
{
	static int calls;

	if (++calls % 200 == 0)
		usleep(1000);
}

template <typename R, typename... A> void misuse(const char *symbol, R (*function)(A...))
{
	const int counts[] = { Choice<A>::CHOICES..., 1 };
	const size_t arguments = sizeof...(A);
	size_t all = 1;

	for (size_t i = 0; i < arguments; i++)
		all *= (size_t)counts[i];
	// If there are too many combinations, takes some of them. The step has no common divisor with 2
	// and 3.
	size_t step = all <= CALLS_MAX ? 1 : all / CALLS_MAX | 1;
	while (step % 3 == 0)
		step += 2;
	for (size_t number = 0, place = 0; number < all && number < CALLS_MAX;
		number++, place = (place + step) % all) {
		int choices[ARGUMENTS_MAX] = { 0 };
		std::string text;
		size_t rest = place;
		for (size_t i = 0; i < arguments; i++) {
			choices[i] = (int)(rest % (size_t)counts[i]);
			rest /= (size_t)counts[i];
			text += (char)('0' + choices[i]);
		}
		rest_sometimes();
		tidy_up();
		memset(buffers, 0, sizeof(buffers));
		if (strcmp(moment, "before") != 0)
			cudaGetLastError();
		errno = OWN_ERRNO;
		int result = (int)call_with(function, choices, std::index_sequence_for<A...>());
		int kept = errno;
		// The type of the pointer is known even if the call got a null pointer.
		printf("%s %s %s %d %d %s %d\n", symbol, moment, text.empty() ? "-" : text.c_str(), result,
			kept, arguments ? written(choices, arguments).c_str() : "-",
			strcmp(moment, "before") == 0 ? 0 : (int)cudaPeekAtLastError());
	}
}

#define LEGACY 0
#define PTDS 1

void misuse_all(bool is_with_runtime, const char *in_moment, const char *only)
{
	moment = in_moment;
#define FOR_CUDA(symbol) \
	if (!only || strcmp(only, #symbol) == 0) \
		misuse(#symbol, D(symbol));
#define FOR_CUDART(symbol) \
	if (is_with_runtime && (!only || strcmp(only, #symbol) == 0)) \
		misuse(#symbol, &symbol);
#define GMT_HOOK_ANY(library, symbol, ...) FOR_##library(symbol)
#define GMT_HOOK_ELSEWHERE(...)
#include "hooks/hooks.def"
}

} // namespace

int main(int argument_count, char **arguments)
{
	const char *only = argument_count > 1 ? arguments[1] : nullptr;

	setvbuf(stdout, nullptr, argument_count > 1 ? _IONBF : _IOFBF, 1 << 20);
	// The runtime would initialize the driver.
	misuse_all(false, "before", only);
	if (D(cuInit)(0))
		return 2;
	misuse_all(false, "without", only);
	misuse_all(true, "with", only);
	misuse_all(false, "ended", only);
	return 0;
}
