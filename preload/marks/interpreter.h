/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_INTERPRETER_H
#define GMT_MARKS_INTERPRETER_H

/*
 * The way into a Python interpreter that we are not linked to. In the flow: a hook wants something
 * done with the GIL -> interpreter -> its work runs, on a thread that may.
 *
 * A hook must not take the GIL itself: PyTorch reports a block while it holds its allocator's lock,
 * for which the holder of the GIL may be waiting.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* type, name here, name in the interpreter, parameters. An object is a void *. */
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
#define GMT_PYTHON_POINTER(type, name, symbol, parameters) type (*name) parameters;
	GMT_PYTHON_FUNCTIONS(GMT_PYTHON_POINTER)
#undef GMT_PYTHON_POINTER
	void *(*running_thread)(void); /* the one that holds the GIL (or, from 3.12, this one if it does) */
	int (*is_finalizing)(void);
	int (*gc_disable)(void); /* from 3.10, else NULL; both need the GIL */
	int (*gc_enable)(void);
	void *none;
	void *dict_type, *list_type, *text_type;
	void **exception_type; /* PyExc_Exception */
};

/* Valid once gmt_interpreter_find has said GMT_INTERPRETER_FIT. */
extern struct gmt_interpreter gmt_interpreter;

/* Both with the GIL; `object` may be NULL. */
static inline void gmt_interpreter_release(void *object)
{
	if (object)
		gmt_interpreter.dec_ref(object);
}

/* A new reference, or NULL and no exception. */
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

/* The attribute of a module that has been imported; NULL: it has not, or has no such. A new reference, with the GIL. */
void *gmt_interpreter_imported(const char *module, const char *name);

/* What an object keeps of its own, without a line of its class's code; borrowed, NULL: nothing. With the GIL. */
void *gmt_interpreter_own_value(void *object, const char *name);

/* The result of a method without arguments; a new reference, or NULL and no exception. With the GIL. */
void *gmt_interpreter_result_of(void *object, const char *method);

enum gmt_interpreter_state {
	GMT_INTERPRETER_ABSENT, /* (yet) */
	GMT_INTERPRETER_FIT,
	GMT_INTERPRETER_UNFIT,  /* one that we cannot enter; *ret_why says why */
};

/* One caller at a time. Not for the hot path, but cheap once found. */
enum gmt_interpreter_state gmt_interpreter_find(const char **ret_why);

/*
 * Whether it runs, and its end has not begun: before anything else is called, with or without the GIL.
 * A thread of Python's that asks outside of Python code may be overtaken by the end, as in Python itself.
 */
bool gmt_interpreter_is_alive(void);

/*
 * `work` will run on the main thread with the GIL, before its next line of Python. From the main
 * thread, with the GIL or without. Its result: 0, or -1 with an exception set. False: no room, try later.
 */
bool gmt_interpreter_call_soon(int (*work)(void *unused));

/*
 * `work` runs with the GIL on a thread of its own that is then gone; this one waits for that if it may:
 * at most 20 ms, and where it holds the GIL itself only until the other one waits for it. From a
 * thread of Python's. The interpreter does not end before that thread is gone: the main thread waits
 * for it, without the GIL, before its next line of Python or, at the latest, before atexit's callbacks.
 * False: one is at it already, or none could be started.
 */
bool gmt_interpreter_call_beside(void (*work)(void));

/* Nobody is called beside any more, and nobody is when it returns. With the GIL, on the main thread, from atexit. */
void gmt_interpreter_close(void);

/* In the child of a fork: whoever was inside is not there any more. */
void gmt_interpreter_forget_threads(void);

#endif
