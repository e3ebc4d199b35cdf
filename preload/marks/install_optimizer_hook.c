/* SPDX-License-Identifier: MIT */
/*
 * The program must not notice the registration. PyTorch's own function for it is Python code. While
 * it runs, another thread may run, the user's Ctrl-C may arrive, or a tracer of the program may be
 * called. Garbage may also be collected on our thread. Therefore the recorder stores its hook
 * directly in PyTorch's dictionary of hooks, with the garbage collector off. No line of Python
 * runs. Only if PyTorch does not have this dictionary, the recorder calls PyTorch's function.
 */
#include "marks/install_optimizer_hook.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "python/python_capture.h"
#include "runtime/config.h"
#include "marks/interpreter.h"
#include "marks/optimizer_numbers.h"
#include "marks/tensor_roles.h"
#include "producer/mark.h"

enum {
	PYTHON_EQ = 2,                      /* Py_EQ */
	FASTCALL_WITH_KEYWORDS = 0x80 | 2,  /* METH_FASTCALL | METH_KEYWORDS */
	NESTING = 8,                        /* frames between a step and the step that contains it */
	STACK_LIMIT = 1000,
};

/* PyMethodDef. Its layout and the function types are part of Python's stable ABI. */
struct method {
	const char *name;
	void *(*function)(void *self, void *const *arguments, intptr_t count, void *keywords);
	int flags;
	const char *doc;
};

static const struct gmt_interpreter *const py = &gmt_interpreter;
/* Both need the GIL. */
static bool is_step_hooked;
static bool is_end_hooked;

static void *new_none(void)
{
	py->inc_ref(py->none);
	return py->none;
}

/* Returns whether `frame` runs a step of this optimizer, by its local variable `self`. */
static bool is_step_of(void *frame, void *optimizer)
{
	void *locals = gmt_interpreter_attribute(frame, "f_locals");
	void *self = locals ? py->get_item(locals, "self") : NULL;

	if (locals && !self)
		py->clear_error();
	gmt_interpreter_release(self);
	gmt_interpreter_release(locals);
	return self == optimizer;
}

/*
 * Returns whether this step is a call of `super().step()` in a step of the same optimizer. The two
 * count once, but PyTorch wraps both methods, and both wrappers run the hooks. Then a frame a few
 * levels above the inner wrapper has the same code, for the same optimizer.
 */
static bool is_inside_own_step(void *optimizer)
{
	void *frame = py->this_frame();
	void *code = frame ? py->frame_code(frame) : NULL;
	bool is_part = false;

	if (!code)
		return false;
	py->inc_ref(frame);
	for (int i = 0; i < NESTING && frame && !is_part; i++) {
		void *back = py->frame_back(frame);
		void *back_code = back ? py->frame_code(back) : NULL;

		is_part = back_code == code && is_step_of(back, optimizer);
		gmt_interpreter_release(back_code);
		gmt_interpreter_release(frame);
		frame = back;
	}
	gmt_interpreter_release(frame);
	gmt_interpreter_release(code);
	return is_part;
}

/* hook(optimizer, args, kwargs) */
static void *on_step(void *self, void *const *arguments, intptr_t count, void *keywords)
{
	(void)self;
	(void)keywords;
	if (count < 1 || is_inside_own_step(arguments[0]))
		return new_none();

	void *type = py->type_of(arguments[0]);
	void *name = gmt_interpreter_attribute(type, "__name__");
	intptr_t length = 0;
	const char *text = name ? py->text_of(name, &length) : NULL;

	uint64_t steps, number = gmt_optimizer_number(arguments[0], &steps);

	if (!text)
		py->clear_error();
	if (gmt_config.tensors)
		gmt_tensor_roles_on_step(arguments[0], steps);
	gmt_mark(GMT_MARK_KIND_STEP, GMT_MARK_SOURCE_OPTIMIZER, text, text ? (size_t)length : 0,
		number);
	gmt_interpreter_release(name);
	gmt_interpreter_release(type);
	return new_none();
}

static void *on_end(void *self, void *const *arguments, intptr_t count, void *keywords)
{
	(void)self;
	(void)arguments;
	(void)count;
	(void)keywords;
	gmt_interpreter_close();
	if (gmt_config.tensors)
		gmt_tensor_roles_on_end();
	gmt_mark(GMT_MARK_KIND_TEARDOWN, GMT_MARK_SOURCE_INTERPRETER, NULL, 0, 0);
	gmt_python_end();
	return new_none();
}

static struct method step_method = { "gpumemtrace_step", on_step, FASTCALL_WITH_KEYWORDS, NULL };
static struct method end_method = { "gpumemtrace_end", on_end, FASTCALL_WITH_KEYWORDS, NULL };

/* Returns whether `code` is PyTorch's wrapper of a step: a function "wrapper" in `file`. */
static bool is_step_wrapper(void *code, void *file)
{
	void *its_file = gmt_interpreter_attribute(code, "co_filename");
	void *name = gmt_interpreter_attribute(code, "co_name");
	const char *text = name ? py->text_of(name, NULL) : NULL;
	bool has = text && its_file && strcmp(text, "wrapper") == 0 &&
		py->compare(its_file, file, PYTHON_EQ) > 0;

	py->clear_error();
	gmt_interpreter_release(name);
	gmt_interpreter_release(its_file);
	return has;
}

static bool has_step_wrapper(void *frame, void *file)
{
	bool is_there = false;

	py->inc_ref(frame);
	for (int i = 0; i < STACK_LIMIT && frame && !is_there; i++) {
		void *code = py->frame_code(frame);
		void *back = py->frame_back(frame);

		is_there = is_step_wrapper(code, file);
		gmt_interpreter_release(code);
		gmt_interpreter_release(frame);
		frame = back;
	}
	gmt_interpreter_release(frame);
	return is_there;
}

/*
 * Returns whether some thread is inside a step, and may be about to call the next of several hooks.
 * Adding a hook would then raise an error in that thread ("mutated during iteration").
 */
static bool is_any_thread_in_a_step(void *add_function)
{
	void *code = gmt_interpreter_attribute(add_function, "__code__");
	void *file = gmt_interpreter_attribute(code, "co_filename");
	void *ask = py->system_object("_current_frames");
	void *frames = ask ? py->call(ask, NULL) : NULL;
	void *thread, *frame;
	intptr_t at = 0;
	bool is_in = false;

	while (file && frames && !is_in && py->dict_next(frames, &at, &thread, &frame))
		is_in = has_step_wrapper(frame, file);
	py->clear_error();
	gmt_interpreter_release(frames);
	gmt_interpreter_release(file);
	gmt_interpreter_release(code);
	return is_in;
}

static enum gmt_optimizer_hooking add_directly(void *hooks, void *hook, void *add_function)
{
	if (py->size_of(hooks) != 0 && is_any_thread_in_a_step(add_function))
		return GMT_OPTIMIZER_LATER;

	/* PyTorch's own keys count from 0, so this address does not clash with them. */
	void *key = py->int_of_address(&step_method);
	bool is_added = key && py->set_item(hooks, key, hook) == 0;

	gmt_interpreter_release(key);
	return is_added ? GMT_OPTIMIZER_HOOKED : GMT_OPTIMIZER_UNKNOWN;
}

static enum gmt_optimizer_hooking add_by_function(void *add_function, void *hook)
{
	void *handle = py->call(add_function, hook, NULL);
	bool is_added = handle != NULL;

	gmt_interpreter_release(handle);
	if (!is_added && py->error_occurred() && !py->error_matches(*py->exception_type))
		return GMT_OPTIMIZER_INTERRUPTED;
	return is_added ? GMT_OPTIMIZER_HOOKED : GMT_OPTIMIZER_UNKNOWN;
}

static enum gmt_optimizer_hooking hook_optimizers(void *module, const char **ret_why)
{
	void *add_function = gmt_interpreter_attribute(module, "register_optimizer_step_post_hook");
	void *optimizers = gmt_interpreter_attribute(module, "Optimizer");
	void *hooks = gmt_interpreter_attribute(module, "_global_optimizer_post_hooks");
	void *hook = py->function_new(&step_method, NULL, NULL);
	enum gmt_optimizer_hooking hooking = GMT_OPTIMIZER_UNKNOWN;

	*ret_why = "PyTorch did not accept the optimizer hook";
	if (!optimizers)
		hooking = GMT_OPTIMIZER_LATER; /* the module is being imported right now */
	else if (!add_function)
		*ret_why = "this PyTorch has no global optimizer hooks";
	else if (hook && hooks && py->is_instance(hooks, py->dict_type) > 0)
		hooking = add_directly(hooks, hook, add_function);
	else if (hook)
		hooking = add_by_function(add_function, hook);
	if (hooking != GMT_OPTIMIZER_INTERRUPTED)
		py->clear_error();
	gmt_interpreter_release(hook);
	gmt_interpreter_release(hooks);
	gmt_interpreter_release(optimizers);
	gmt_interpreter_release(add_function);
	return hooking;
}

/*
 * Registers the atexit hook, even if no optimizer exists yet. The hook keeps our threads out of the
 * interpreter before the interpreter ends. If the registration fails, the recording only lacks the
 * teardown mark.
 */
static void hook_end(void *modules)
{
	void *add_function = is_end_hooked
		? NULL
		: gmt_interpreter_attribute(py->dict_find(modules, "atexit"), "register");
	void *hook = add_function ? py->function_new(&end_method, NULL, NULL) : NULL;
	void *added = hook ? py->call(add_function, hook, NULL) : NULL;

	is_end_hooked = is_end_hooked || added;
	py->clear_error();
	gmt_interpreter_release(added);
	gmt_interpreter_release(hook);
	gmt_interpreter_release(add_function);
}

static enum gmt_optimizer_hooking hook_optimizers_and_end(const char **ret_why)
{
	void *modules = py->modules(); /* borrowed, like the module found in it */
	void *module = modules ? py->dict_find(modules, "torch.optim.optimizer") : NULL;

	if (is_step_hooked)
		return GMT_OPTIMIZER_HOOKED;
	if (modules)
		hook_end(modules);
	if (!module)
		return GMT_OPTIMIZER_LATER;

	py->inc_ref(module);
	enum gmt_optimizer_hooking hooking = hook_optimizers(module, ret_why);

	py->dec_ref(module);
	is_step_hooked = hooking == GMT_OPTIMIZER_HOOKED;
	return hooking;
}

enum gmt_optimizer_hooking gmt_install_optimizer_hook(const char **ret_why)
{
	void *type, *value, *traceback;
	int was_collecting = py->gc_disable && py->gc_enable ? py->gc_disable() : 0;

	py->fetch_error(&type, &value, &traceback);

	enum gmt_optimizer_hooking hooking = hook_optimizers_and_end(ret_why);

	if (hooking != GMT_OPTIMIZER_INTERRUPTED)
		py->restore_error(type, value, traceback);
	if (was_collecting)
		py->gc_enable();
	return hooking;
}
