/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>

#include "../driver/runtime_interface.h"

/*
 * Code compiled into the program: its binaries and their functions. Programs register their code
 * when they are loaded, before the driver exists. This only matters where code costs memory.
 * Elsewhere a launch only reads one pointer.
 */

struct binary {
	struct binary *next;
	const void *image; /* NULL: unregistered */
};

struct function {
	const void *host_function; /* NULL: a free slot */
	struct binary *binary;
};

static pthread_mutex_t code_lock = PTHREAD_MUTEX_INITIALIZER;
static struct binary *binaries;
/* A hash table by address, at most half full. */
static struct function *functions;
static size_t function_count, slot_count;

/* NULL: the driver does not charge for code. */
static const struct sim_runtime_interface *interface;

void sim_code_setup(void)
{
	const void *found = NULL;

	if (sim_driver_calls.cuGetExportTable(&found, &sim_runtime_interface_id) == CUDA_SUCCESS)
		interface = found;
	if (interface && !interface->is_code_charged())
		interface = NULL;
}

void **sim_code_register(const void *image)
{
	struct binary *binary = malloc(sizeof(*binary));

	if (!binary)
		return NULL;
	pthread_mutex_lock(&code_lock);
	*binary = (struct binary){ binaries, image };
	binaries = binary;
	pthread_mutex_unlock(&code_lock);
	return (void **)binary;
}

/* Keeps the binary's entry, because functions point to it. */
void sim_code_unregister(void **handle)
{
	struct binary *binary = (struct binary *)handle;

	if (!binary)
		return;
	pthread_mutex_lock(&code_lock);
	binary->image = NULL;
	pthread_mutex_unlock(&code_lock);
	if (interface)
		interface->unload(binary);
}

/* Returns the slot of a function, or the free slot where it belongs. */
static struct function *find_slot(struct function *table, size_t count, const void *host_function)
{
	size_t index = ((uintptr_t)host_function >> 4) * 0x9e3779b97f4a7c15u & (count - 1);

	while (table[index].host_function && table[index].host_function != host_function)
		index = (index + 1) & (count - 1);
	return &table[index];
}

static bool grow_table(void)
{
	if (2 * (function_count + 1) <= slot_count)
		return true;
	size_t count = slot_count ? 2 * slot_count : 1024;
	struct function *table = calloc(count, sizeof(*table));
	if (!table)
		return false;
	for (size_t i = 0; i < slot_count; i++)
		if (functions[i].host_function)
			*find_slot(table, count, functions[i].host_function) = functions[i];
	free(functions);
	functions = table;
	slot_count = count;
	return true;
}

void sim_code_add_function(void **handle, const void *host_function)
{
	pthread_mutex_lock(&code_lock);
	if (handle && host_function && grow_table()) {
		struct function *slot = find_slot(functions, slot_count, host_function);
		function_count += !slot->host_function;
		*slot = (struct function){ host_function, (struct binary *)handle };
	}
	pthread_mutex_unlock(&code_lock);
}

cudaError_t sim_code_load_of(const void *host_function)
{
	const struct binary *binary = NULL;

	if (!interface)
		return cudaSuccess;
	pthread_mutex_lock(&code_lock);
	if (slot_count > 0 && host_function)
		binary = find_slot(functions, slot_count, host_function)->binary;
	bool is_registered = binary && binary->image;
	pthread_mutex_unlock(&code_lock);
	return is_registered ? sim_error(interface->load(binary)) : cudaSuccess;
}

cudaError_t sim_code_load_all(void)
{
	cudaError_t error = cudaSuccess;

	if (!interface || interface->is_code_lazy())
		return cudaSuccess;
	pthread_mutex_lock(&code_lock);
	for (const struct binary *binary = binaries; binary && !error; binary = binary->next)
		if (binary->image)
			error = sim_error(interface->load(binary));
	pthread_mutex_unlock(&code_lock);
	return error;
}
