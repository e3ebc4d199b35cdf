/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_CODE_H
#define SIMCUDA_CODE_H

/*
 * Code as the driver keeps it. An image declares functions and variables. A module is an image in
 * one context: there it costs memory and its variables have addresses. A library is an image that
 * each context can use; each context that needs it has its own module of it.
 *
 * The driver reads the declarations of images that are PTX, which is text. It assumes that any
 * other image has every function that a caller asks for, and no variable.
 */

#include "driver.h"
#include "runtime_interface.h"

enum sim_symbol_kind {
	SIM_SYMBOL_FUNCTION,
	SIM_SYMBOL_VARIABLE,
	SIM_SYMBOL_MANAGED,
};

struct sim_symbol {
	char *name;
	enum sim_symbol_kind kind;
	size_t size_bytes; /* size of a variable */
};

struct sim_code {
	unsigned int references;
	bool is_text;
	size_t count, capacity;
	struct sim_symbol *symbols;
};

/* What functions and kernels have in common: an entry of a list, with a name. */
struct sim_named {
	struct sim_named *next;
	char *name;
};

struct CUfunc_st {
	struct sim_named named; /* first; in the list of its module */
	struct CUmod_st *module;
};

struct CUmod_st {
	struct CUmod_st *next;
	struct CUctx_st *context;
	struct CUlib_st *library; /* NULL: loaded without a library */
	struct sim_code *code;
	bool is_loaded; /* false: postponed until a part of the module is used */
	size_t charged_bytes;
	/* by symbol index; NULL: not a variable, or a managed variable of the library */
	struct sim_block **variables;
	struct sim_named *functions; /* of struct CUfunc_st */
};

struct CUkern_st {
	struct sim_named named; /* first; in the list of its library */
	struct CUlib_st *library;
};

struct CUlib_st {
	struct CUlib_st *next;
	struct sim_code *code;
	struct sim_block **managed; /* by symbol index; made with the first module */
	struct sim_named *kernels; /* of struct CUkern_st */
	/* set for code that a program's runtime registered: the runtime's id of it; otherwise NULL */
	const void *binary;
};

/*
 * image.c: Reads an image and returns its code with one reference. Keeps no pointer to `image`.
 * Returns NULL if memory is short. Needs no lock.
 */
struct sim_code *sim_code_read(const void *image);
void sim_code_release(struct sim_code *code);
/* Returns the index of the symbol with that name, or `code->count`. */
size_t sim_code_find(const struct sim_code *code, const char *name);
/*
 * Returns whether the code has a function of that name. Code that is not text may have any
 * function.
 */
bool sim_code_has_function(const struct sim_code *code, const char *name);
/*
 * Returns the index of the first symbol from `index` on that is a function, or `code->count`. Use
 * it to go through all functions.
 */
size_t sim_code_next_function(const struct sim_code *code, size_t index);
/* Returns how many of the symbols are functions. */
unsigned int sim_code_function_count(const struct sim_code *code);

/*
 * Returns the entry of that name. If there is none, adds an entry to the list: a zeroed struct of
 * `size_bytes` that begins with a struct sim_named. Returns NULL if memory is short.
 */
void *sim_named_get(struct sim_named **list, const char *name, size_t size_bytes);
/* Frees all entries of the list. */
void sim_named_free(struct sim_named *list);

/* module.c */
/*
 * Makes a module, which takes its own reference to `code`. Loads it at once, unless the settings
 * make modules lazy.
 */
CUresult sim_module_new(struct CUctx_st *context, struct sim_code *code, struct CUlib_st *library,
	struct CUmod_st **ret_module);
/* Charges the module's memory and makes its variables, unless the module is already loaded. */
CUresult sim_module_load(struct CUmod_st *module);
void sim_module_free(struct CUmod_st *module);
/* Returns the library's module in that context, or NULL. */
struct CUmod_st *sim_module_of_library(const struct CUlib_st *library,
	const struct CUctx_st *context);
void sim_modules_free_of_library(const struct CUlib_st *library);
/* Gets the function of that name. The first call makes its handle. Does not load the module. */
CUresult sim_module_get_function(struct CUmod_st *module, const char *name,
	struct CUfunc_st **ret_function);
/* Loads the module and returns the variable's address. */
CUresult sim_module_get_variable(struct CUmod_st *module, const char *name, bool is_managed,
	CUdeviceptr *ret_address, size_t *ret_size_bytes);
/*
 * Returns the function of a handle, or NULL if no module made the handle. Handles of a program's
 * own functions are not made by modules.
 */
struct CUfunc_st *sim_function_find(const void *handle);

/* link.c: Reads the file and appends a zero byte. The caller frees the content. Needs no lock. */
CUresult sim_read_file(const char *path, char **ret_content);

/* library.c */
/*
 * If the handle is a kernel, gets its function in that context, and makes the function if needed.
 * Otherwise gives NULL and returns success.
 */
CUresult sim_kernel_get_function(const void *handle, struct CUctx_st *context,
	struct CUfunc_st **ret_function);
extern const struct sim_runtime_interface sim_runtime_interface;

#endif
