/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_CODE_H
#define SIMCUDA_CODE_H

/*
 * Code as the driver keeps it: an image says which functions and variables there are; a module is an
 * image in one context, where it costs memory and has variables at addresses; a library is an image
 * that is in every context that needs it, as a module each.
 *
 * Of images, those that are PTX (which is text) are read for their declarations. All others are taken
 * to have every function that is asked for, and no variable.
 */

#include "driver.h"
#include "private.h"

enum sim_symbol_kind {
	SIM_SYMBOL_FUNCTION,
	SIM_SYMBOL_VARIABLE,
	SIM_SYMBOL_MANAGED,
};

struct sim_symbol {
	char *name;
	enum sim_symbol_kind kind;
	size_t size_bytes; /* of a variable */
};

struct sim_code {
	unsigned int references;
	bool is_text;
	size_t count, capacity;
	struct sim_symbol *symbols;
};

struct CUfunc_st {
	struct CUfunc_st *next; /* in its module */
	struct CUmod_st *module;
	char *name;
};

struct CUmod_st {
	struct CUmod_st *next;
	struct CUctx_st *context;
	struct CUlib_st *library; /* NULL: loaded by itself */
	struct sim_code *code;
	bool is_loaded; /* false: put off until something of it is used */
	size_t charged_bytes;
	struct sim_block **variables; /* by index of the symbol; NULL: none, or the library's managed one */
	struct CUfunc_st *functions;
};

struct CUkern_st {
	struct CUkern_st *next; /* in its library */
	struct CUlib_st *library;
	char *name;
};

struct CUlib_st {
	struct CUlib_st *next;
	struct sim_code *code;
	struct sim_block **managed; /* by index of the symbol; made with the first module */
	struct CUkern_st *kernels;
	const void *binary; /* of one that a program's runtime brought along: what it calls it; else NULL */
};

/* code.c: needs no lock, and keeps nothing of `image`. NULL when memory is short. One reference. */
struct sim_code *sim_code_read(const void *image);
void sim_code_release(struct sim_code *code);
/* Which symbol has that name; `code->count` when none has. */
size_t sim_code_find(const struct sim_code *code, const char *name);
/* How many of its symbols are functions. */
unsigned int sim_code_function_count(const struct sim_code *code);

/* module.c */
/* Takes a reference of its own to `code`. Loads at once unless the settings say lazily. */
CUresult sim_module_new(struct CUctx_st *context, struct sim_code *code, struct CUlib_st *library,
			struct CUmod_st **ret_module);
/* Charges the module's memory and makes its variables, unless that has happened. */
CUresult sim_module_load(struct CUmod_st *module);
void sim_module_free(struct CUmod_st *module);
/* The library's module in that context; NULL when it has none. */
struct CUmod_st *sim_module_of_library(const struct CUlib_st *library, const struct CUctx_st *context);
void sim_modules_free_of_library(const struct CUlib_st *library);
/* The function of that name, whose handle is made at the first call. Does not load. */
CUresult sim_module_get_function(struct CUmod_st *module, const char *name, struct CUfunc_st **ret_function);
/* Loads, and says where the variable is. */
CUresult sim_module_get_variable(struct CUmod_st *module, const char *name, bool is_managed,
				 CUdeviceptr *ret_address, size_t *ret_size_bytes);
/* The function behind a handle; NULL for those that no module made, which is what programs' own are. */
struct CUfunc_st *sim_function_find(const void *handle);

/* link.c: needs no lock. The file and a zero byte, which the caller frees. */
CUresult sim_read_file(const char *path, char **ret_content);

/* library.c */
/* For a handle that is a kernel, its function in that context, which is made; else NULL and success. */
CUresult sim_kernel_get_function(const void *handle, struct CUctx_st *context,
				 struct CUfunc_st **ret_function);
extern const struct sim_private_table sim_private_table;

#endif
