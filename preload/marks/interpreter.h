/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_INTERPRETER_H
#define GMT_MARKS_INTERPRETER_H

/*
 * Calls the C API of Python, to which the recorder is not linked, and runs work that needs the GIL
 * on a thread that may take the GIL. In the flow: hook -> interpreter -> work.
 *
 * A hook must not take the GIL itself. PyTorch reports a block while it holds its allocator's lock,
 * and the thread that holds the GIL may be waiting for that lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Columns: type, name in this project, name in the interpreter, parameters. An object is a void *.
 */
#define GMT_PYTHON_FUNCTIONS(F) \
	F(int, is_initialized, Py_IsInitialized, (void)) \
	F(void *, this_thread, PyGILState_GetThisThreadState, (void)) \
	F(int, add_pending_call, Py_AddPendingCall, (int (*)(void *), void *)) \
	F(void *, main_interpreter, PyInterpreterState_Main, (void)) \
	F(void *, thread_new, PyThreadState_New, (void *)) \
	F(void *, save_thread, PyEval_SaveThread, (void)) \
	F(void, restore_thread, PyEval_RestoreThread, (void *)) \
	F(void, thread_clear, PyThreadState_Clear, (void *)) \
	F(void, thread_delete_current, PyThreadState_DeleteCurrent, (void)) \
	F(void, fetch_error, PyErr_Fetch, (void **, void **, void **)) \
	F(void, restore_error, PyErr_Restore, (void *, void *, void *)) \
	F(void *, error_occurred, PyErr_Occurred, (void)) \
	F(int, error_matches, PyErr_ExceptionMatches, (void *)) \
	F(void, clear_error, PyErr_Clear, (void)) \
	F(void, inc_ref, Py_IncRef, (void *)) \
	F(void, dec_ref, Py_DecRef, (void *)) \
	F(void *, modules, PyImport_GetModuleDict, (void)) \
	F(void *, dict_find, PyDict_GetItemString, (void *, const char *)) \
	F(int, dict_next, PyDict_Next, (void *, intptr_t *, void **, void **)) \
	F(void *, get_attribute, PyObject_GetAttrString, (void *, const char *)) \
	F(void *, type_of, PyObject_Type, (void *)) \
	F(int, is_instance, PyObject_IsInstance, (void *, void *)) \
	F(intptr_t, size_of, PyObject_Size, (void *)) \
	F(int, set_item, PyObject_SetItem, (void *, void *, void *)) \
	F(void *, get_item, PyMapping_GetItemString, (void *, const char *)) \
	F(int, compare, PyObject_RichCompareBool, (void *, void *, int)) \
	F(void *, call, PyObject_CallFunctionObjArgs, (void *, ...)) \
	F(void *, weak_reference, PyWeakref_NewRef, (void *, void *)) \
	F(int, is_subtype, PyType_IsSubtype, (void *, void *)) \
	F(void *, generic_dict, PyObject_GenericGetDict, (void *, void *)) \
	F(intptr_t, list_size, PyList_Size, (void *)) \
	F(void *, list_item, PyList_GetItem, (void *, intptr_t)) \
	F(void *, int_of_address, PyLong_FromVoidPtr, (void *)) \
	F(void *, address_of_int, PyLong_AsVoidPtr, (void *)) \
	F(const char *, text_of, PyUnicode_AsUTF8AndSize, (void *, intptr_t *)) \
	F(void *, function_new, PyCFunction_NewEx, (void *, void *, void *)) \
	F(void *, system_object, PySys_GetObject, (const char *)) \
	F(void *, this_frame, PyEval_GetFrame, (void)) \
	F(void *, frame_back, PyFrame_GetBack, (void *)) \
	F(void *, frame_code, PyFrame_GetCode, (void *))

struct gmt_interpreter {
#define GMT_PYTHON_POINTER(type, name, symbol, parameters) type(*name) parameters;
	GMT_PYTHON_FUNCTIONS(GMT_PYTHON_POINTER)
#undef GMT_PYTHON_POINTER
	/* the thread that holds the GIL; from 3.12: the calling thread, if it holds the GIL */
	void *(*running_thread)(void);
	int (*is_finalizing)(void);
	int (*gc_disable)(void); /* from 3.10, else NULL; gc_disable and gc_enable need the GIL */
	int (*gc_enable)(void);
	void *none;
	void *dict_type, *list_type, *text_type;
	void **exception_type; /* PyExc_Exception */
};

/* Valid after gmt_interpreter_find has returned GMT_INTERPRETER_SUPPORTED. */
extern struct gmt_interpreter gmt_interpreter;

/* Releases a reference. Needs the GIL, like gmt_interpreter_attribute. `object` may be NULL. */
static inline void gmt_interpreter_release(void *object)
{
	if (object)
		gmt_interpreter.dec_ref(object);
}

/* Returns a new reference, or NULL without an exception set. */
static inline void *gmt_interpreter_attribute(void *object, const char *name)
{
	void *attribute = object ? gmt_interpreter.get_attribute(object, name) : NULL;

	if (!attribute)
		gmt_interpreter.clear_error();
	return attribute;
}

static inline bool gmt_interpreter_has_type(void *object, void *type)
{
	void *its_type = object ? gmt_interpreter.type_of(object) : NULL;

	gmt_interpreter_release(its_type);
	return its_type && its_type == type;
}

static inline bool gmt_interpreter_is_a(void *object, void *type)
{
	void *its_type = object && type ? gmt_interpreter.type_of(object) : NULL;
	bool is = its_type && gmt_interpreter.is_subtype(its_type, type);

	gmt_interpreter_release(its_type);
	return is;
}

/*
 * Returns an attribute of an imported module as a new reference. Returns NULL if the module is not
 * imported or has no such attribute. Needs the GIL.
 */
void *gmt_interpreter_module_attribute(const char *module, const char *name);

/*
 * Returns a value from the object's __dict__, without running any code of its class. The reference
 * is borrowed. NULL: no such value. Needs the GIL.
 */
void *gmt_interpreter_dict_value(void *object, const char *name);

/*
 * Calls a method without arguments. Returns its result as a new reference, or NULL without an
 * exception set. Needs the GIL.
 */
void *gmt_interpreter_call_method(void *object, const char *method);

enum gmt_interpreter_state {
	GMT_INTERPRETER_ABSENT, /* the process has no interpreter, or not yet */
	GMT_INTERPRETER_SUPPORTED,
	GMT_INTERPRETER_UNSUPPORTED,  /* the recorder cannot enter it; *ret_why is the reason */
};

/*
 * Finds the interpreter. One caller at a time. Not for the hot path, but cheap after the first
 * success.
 */
enum gmt_interpreter_state gmt_interpreter_find(const char **ret_why);

/*
 * Returns whether the interpreter runs and its finalization has not begun. Call it before any other
 * function, with or without the GIL. Without the GIL, finalization may begin right after the
 * answer; Python itself has the same race.
 */
bool gmt_interpreter_is_alive(void);

/*
 * Schedules `work` to run on the main thread with the GIL, before the next line of Python there.
 * Call it from the main thread, with or without the GIL. `work` returns 0, or -1 with an exception
 * set. Returns false if there is no room; the caller tries again later.
 */
bool gmt_interpreter_call_soon(int (*work)(void *unused));

/*
 * Runs `work` with the GIL on a new thread, which then ends. Call it from a Python thread.
 *
 * The calling thread waits for `work`: at most 20 ms, or 1 s while the new thread creates its
 * Python state. If the calling thread holds the GIL, it waits only until the new thread waits for
 * the GIL.
 *
 * The interpreter does not end before the new thread has ended. The main thread waits for the new
 * thread, without the GIL: before its next line of Python or, at the latest, before the atexit
 * callbacks.
 *
 * Returns false if another such call is in progress, or if no thread could be started.
 */
bool gmt_interpreter_call_on_new_thread(void (*work)(void));

/*
 * Makes further calls of gmt_interpreter_call_on_new_thread return false. When the function
 * returns, no such call is in progress. Call it from atexit, on the main thread, with the GIL.
 */
void gmt_interpreter_close(void);

/*
 * Forgets threads that were inside the interpreter. Call it in the child of a fork, which does not
 * have these threads.
 */
void gmt_interpreter_forget_threads(void);

#endif
