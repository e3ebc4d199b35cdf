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
static size_t function_count, place_count;

/* NULL: the driver does not charge for code. */
static const struct sim_private_table *table;

void sim_code_setup(void)
{
	const void *found = NULL;

	if (sim_driver.cuGetExportTable(&found, &sim_private_table_id) == CUDA_SUCCESS)
		table = found;
	if (table && !table->is_code_charged())
		table = NULL;
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
	if (table)
		table->unload(binary);
}

/* Returns the slot of a function, or the free slot where it belongs. */
static struct function *find_place(struct function *places, size_t count, const void *host_function)
{
	size_t index = ((uintptr_t)host_function >> 4) * 0x9e3779b97f4a7c15u & (count - 1);

	while (places[index].host_function && places[index].host_function != host_function)
		index = (index + 1) & (count - 1);
	return &places[index];
}

static bool make_room(void)
{
	if (2 * (function_count + 1) <= place_count)
		return true;
	size_t count = place_count ? 2 * place_count : 1024;
	struct function *places = calloc(count, sizeof(*places));
	if (!places)
		return false;
	for (size_t i = 0; i < place_count; i++)
		if (functions[i].host_function)
			*find_place(places, count, functions[i].host_function) = functions[i];
	free(functions);
	functions = places;
	place_count = count;
	return true;
}

void sim_code_add_function(void **handle, const void *host_function)
{
	pthread_mutex_lock(&code_lock);
	if (handle && host_function && make_room()) {
		struct function *place = find_place(functions, place_count, host_function);
		function_count += !place->host_function;
		*place = (struct function){ host_function, (struct binary *)handle };
	}
	pthread_mutex_unlock(&code_lock);
}

cudaError_t sim_code_load_of(const void *host_function)
{
	const struct binary *binary = NULL;

	if (!table)
		return cudaSuccess;
	pthread_mutex_lock(&code_lock);
	if (place_count > 0 && host_function)
		binary = find_place(functions, place_count, host_function)->binary;
	bool is_there = binary && binary->image;
	pthread_mutex_unlock(&code_lock);
	return is_there ? sim_error(table->load(binary)) : cudaSuccess;
}

cudaError_t sim_code_load_all(void)
{
	cudaError_t error = cudaSuccess;

	if (!table || table->is_code_lazy())
		return cudaSuccess;
	pthread_mutex_lock(&code_lock);
	for (const struct binary *binary = binaries; binary && !error; binary = binary->next)
		if (binary->image)
			error = sim_error(table->load(binary));
	pthread_mutex_unlock(&code_lock);
	return error;
}
