/* SPDX-License-Identifier: MIT */
/* The callers that autograd's threads work for, and the kinds of frames in their stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reader/stacks/frame_kinds.h"
#include "synthetic_recording.h"
#include "temporary_file.h"

static struct recording recording;
static uint32_t in_backward, in_grad, ordinary, hook;

static void begin(void)
{
	recording_begin(&recording, path);
	in_backward = recording_stack(&recording,
		TORCH_FOLDER "/autograd/__init__.py:200 backward\n" TORCH_FOLDER
					 "/_tensor.py:500 Tensor.backward\n/me/train.py:7 train");
	in_grad = recording_stack(&recording,
		TORCH_FOLDER "/autograd/__init__.py:400 grad\n/me/other.py:3 work");
	ordinary = recording_stack(&recording, "/me/train.py:8 train");
	hook = recording_stack(&recording, "/me/hook.py:1 hook");
}

static uint32_t native(void)
{
	return recording_native(&recording, "/opt/libengine.so");
}

/* Returns the id of the Python stack that the reader gave to event number `event`. 0: none. */
static uint32_t caller_of(size_t event)
{
	return recording.loaded->traces.items[gmt_recording_event(recording.loaded, event).trace]
		.caller;
}

static void threads_of_autograd_get_the_stack_of_the_running_call(void **state)
{
	uint32_t engine;

	(void)state;
	begin();
	engine = native();
	ALLOC(&recording, .size_bytes = 1, .stack = ordinary);
	ALLOC(&recording, .size_bytes = 2, .native = engine, .thread = AUTOGRAD_THREAD);
	ALLOC(&recording, .size_bytes = 3, .stack = in_backward);
	ALLOC(&recording, .size_bytes = 4, .native = engine, .thread = AUTOGRAD_THREAD);
	ALLOC(&recording, .size_bytes = 5, .stack = hook, .thread = AUTOGRAD_THREAD);
	ALLOC(&recording, .size_bytes = 6, .native = engine, .thread = OTHER_THREAD);
	ALLOC(&recording, .size_bytes = 7, .stack = ordinary);
	ALLOC(&recording, .size_bytes = 8, .native = engine, .thread = AUTOGRAD_THREAD);
	recording_read(&recording);
	assert_int_equal(caller_of(1), 0); /* before the call */
	assert_int_equal(caller_of(2), 0); /* the call itself */
	assert_int_equal(caller_of(3), in_backward);
	assert_int_equal(caller_of(4), in_backward);
	assert_int_equal(caller_of(5), 0); /* not a thread of autograd */
	assert_int_equal(caller_of(7), 0); /* after the call */
	recording_end(&recording);
}

static void a_stack_with_an_attributed_caller_shows_its_line_and_is_in_a_backward_pass(void **state)
{
	uint32_t stack, count, engine;
	const uint32_t *places;

	(void)state;
	begin();
	engine = native();
	ALLOC(&recording, .size_bytes = 3, .stack = in_backward);
	ALLOC(&recording, .size_bytes = 4, .native = engine, .thread = AUTOGRAD_THREAD);
	recording_read(&recording);
	stack = recording.traces.stack_of_trace[gmt_recording_event(recording.loaded, 1).trace];
	places = gmt_traces_stack(&recording.traces, stack, &count);
	assert_true(recording.traces.stack_frame_kinds.items[stack] & GMT_FRAME_KIND_BIT(BACKWARD));
	assert_string_equal(gmt_traces_string(&recording.traces,
							gmt_traces_place(&recording.traces, places[count - 1])->function),
		"train");
	assert_int_equal(gmt_traces_own_line(&recording.traces, stack), count - 1);
	recording_end(&recording);
}

static void while_two_threads_are_in_a_call_no_stack_gets_a_caller(void **state)
{
	uint32_t engine;

	(void)state;
	begin();
	engine = native();
	ALLOC(&recording, .size_bytes = 1, .stack = in_backward);
	ALLOC(&recording, .size_bytes = 2, .stack = in_grad, .thread = OTHER_THREAD);
	ALLOC(&recording, .size_bytes = 3, .native = engine, .thread = AUTOGRAD_THREAD);
	ALLOC(&recording, .size_bytes = 4, .stack = ordinary);
	ALLOC(&recording, .size_bytes = 5, .native = engine, .thread = AUTOGRAD_THREAD);
	ALLOC(&recording, .size_bytes = 6, .stack = in_backward);
	ALLOC(&recording, .size_bytes = 7, .stack = ordinary, .thread = OTHER_THREAD);
	ALLOC(&recording, .size_bytes = 8, .native = engine, .thread = AUTOGRAD_THREAD);
	recording_read(&recording);
	assert_int_equal(caller_of(2), 0);
	assert_int_equal(caller_of(4), in_grad);
	assert_int_equal(caller_of(7), in_backward);
	recording_end(&recording);
}

static void without_a_thread_of_autograd_stacks_do_not_change(void **state)
{
	uint32_t engine;

	(void)state;
	begin();
	engine = native();
	ALLOC(&recording, .size_bytes = 1, .stack = in_backward);
	ALLOC(&recording, .size_bytes = 2, .native = engine, .thread = OTHER_THREAD);
	recording_read(&recording);
	for (size_t i = 0; i < recording.loaded->traces.count; i++)
		assert_int_equal(recording.loaded->traces.items[i].caller, 0);
	recording_end(&recording);
}

#define NN "/env/lib/python3.11/site-packages/torch/nn"
#define OP(NAME) (UINT32_C(1) << GMT_FRAME_KIND_##NAME)

/* A frame of PyTorch 2 for each row of frame_kinds.def, and frames that only look alike. */
static const struct {
	bool is_python;
	const char *where, *function;
	uint32_t bits;
} frames[] = {
	{ true, NN "/modules/module.py", "Module._call_impl", OP(MODULE_CALL) },
	{ true, NN "/modules/module.py", "_wrapped_call_impl", OP(MODULE_CALL) },
	{ false, "libtorch_cpu.so", "torch::jit::Method::operator()(std::vector<c10::IValue>)",
		OP(MODULE_CALL) },
	{ true, NN "/modules/module.py", "Module._apply", OP(MODULE_BUILD) },
	{ true, NN "/modules/module.py", "Module.load_state_dict", OP(MODULE_BUILD) },
	{ true, NN "/modules/linear.py", "Linear.__init__", OP(MODULE_BUILD) },
	{ true, NN "/modules/conv.py", "_ConvNd.reset_parameters", OP(MODULE_BUILD) },
	{ true, NN "/parameter.py", "Parameter.__new__", OP(MODULE_BUILD) },
	{ true, NN "/init.py", "kaiming_uniform_", OP(MODULE_BUILD) },
	{ true, NN "/modules/loss.py", "CrossEntropyLoss.forward", OP(LOSS) },
	{ true, NN "/functional.py", "cross_entropy", OP(LOSS) },
	{ true, NN "/functional.py", "mse_loss", OP(LOSS) },
	{ true, NN "/modules/rnn.py", "LSTM.forward", OP(RECURRENT) },
	{ true, "/e/site-packages/torch/utils/checkpoint.py", "checkpoint", OP(CHECKPOINT) },
	{ true, "/e/site-packages/torch/autograd/__init__.py", "backward", OP(BACKWARD_CALL) },
	{ true, "/e/site-packages/torch/autograd/__init__.py", "grad", OP(BACKWARD_CALL) },
	{ false, "libtorch_cpu.so", "torch::autograd::Engine::evaluate_function(std::shared_ptr<...>&)",
		OP(BACKWARD) },
	{ false, "libtorch_cpu.so", "torch::autograd::Engine::thread_main(std::shared_ptr<...> const&)",
		OP(BACKWARD) },
	{ false, "libtorch_cpu.so", "torch::autograd::generated::AddmmBackward0::apply(...)",
		OP(BACKWARD) },
	{ true, "/e/site-packages/torch/optim/adamw.py", "AdamW.step", OP(OPTIMIZER) },
	{ true, "/e/site-packages/torch/optim/lr_scheduler.py", "StepLR.step", 0 },
	{ true, "/e/site-packages/torch/optim/swa_utils.py", "update_bn", 0 },
	{ false, "libtorch_cuda.so", "at::cuda::getCUDABlasWorkspace()", OP(WORKSPACE) },
	{ false, "libtorch_cuda.so", "at::cuda::getCUDABlasLtWorkspace()", OP(WORKSPACE) },
	{ false, "libtorch_cuda.so", "at::cuda::getCUDABlasHandleWithWorkspace()", OP(WORKSPACE) },
	{ false, "libtorch_cuda.so", "at::cuda::getCurrentCUDABlasHandle(bool)", OP(WORKSPACE) },
	{ false, "libtorch_cuda.so", "at::cuda::getCurrentCUDABlasLtHandle()", OP(WORKSPACE) },
	{ false, "libtorch_cuda.so", "at::cuda::getCUDASparseHandle()", OP(WORKSPACE) },
	{ false, "libtorch_cuda.so", "at::cuda::getCurrentCUDASolverDnHandle()", OP(WORKSPACE) },
	{ false, "libtorch_cuda.so", "at::native::getCudnnHandle()", OP(WORKSPACE) },
	{ false, "libtorch_cuda.so", "at::native::_cudnn_rnn_Workspace(int)", OP(WORKSPACE) },
	{ false, "/usr/lib/libcublasLt.so.12", "", OP(LIBRARY) },
	{ false, "/usr/lib/libcudnn.so.9", "", OP(LIBRARY) },
	{ false, "/usr/lib/libcusolver.so.11", "", OP(LIBRARY) },
	{ false, "/usr/lib/libcusparse.so.12", "", OP(LIBRARY) },
	{ false, "/usr/lib/libcufft.so.11", "", OP(LIBRARY) },
	{ false, "/usr/lib/libcurand.so.10", "", OP(LIBRARY) },
	{ false, "/usr/lib/libnccl.so.2", "", OP(LIBRARY) },
	{ false, "/usr/lib/libnvshmem_host.so.3", "", OP(LIBRARY) },
	{ false, "libx.so",
		"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(...)", OP(CACHE) },
	{ false, "/e/lib/libc10_cuda.so", "alloc_block", OP(CACHE) },
	{ false, "libtorch_cuda.so", "at::CachingHostAllocatorImpl<...>::allocate(unsigned long)",
		OP(HOST_CACHE) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_cuda(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_to(_object*, ...)", OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_clone(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_tensor(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_randn(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_zeros(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_ones(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_full(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_empty_like(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_arange(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_eye(_object*, ...)", OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_linspace(_object*, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::utils::tensor_ctor(c10::DispatchKey, ...)",
		OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::utils::legacy_tensor_ctor(...)", OP(FACTORY) },
	{ false, "libtorch_python.so", "torch::utils::internal_new_from_data(...)", OP(FACTORY) },
	{ false, "libtorch_cpu.so", "at::_ops::cat::call(c10::IListRef<at::Tensor> const&, long)",
		OP(CAT) | OP(OPERATOR) },
	{ false, "libtorch_cpu.so", "at::_ops::concat::call(...)", OP(CAT) | OP(OPERATOR) },
	{ false, "libtorch_cpu.so", "at::_ops::stack::call(...)", OP(CAT) | OP(OPERATOR) },
	{ false, "libtorch_cpu.so", "at::_ops::hstack::call(...)", OP(CAT) | OP(OPERATOR) },
	{ false, "libtorch_cpu.so", "at::_ops::vstack::call(...)", OP(CAT) | OP(OPERATOR) },
	{ false, "libtorch_cpu.so", "at::_ops::pad::call(...)", OP(CAT) | OP(OPERATOR) },
	{ false, "libtorch_cpu.so", "at::_ops::constant_pad_nd::call(...)", OP(CAT) | OP(OPERATOR) },
	{ false, "libtorch_cpu.so", "at::_ops::addmm::call(at::Tensor const&, ...)", OP(OPERATOR) },
	/* These look alike, but have no kind. */
	{ true, "/me/module.py", "Module._call_impl", 0 },
	{ false, NN "/modules/module.py", "Module._call_impl", 0 },
	{ true, NN "/modules/module.py", "Module.not_call_impl", 0 },
	{ true, NN "/modules/module.py", "my_call_impl", 0 },
	{ true, NN "/functional.py", "linear", 0 },
	{ true, "/e/site-packages/torch/autograd/function.py", "backward", 0 },
	{ true, "/e/site-packages/torch/autograd/__init__.py", "_make_grads", 0 },
	{ false, "libtorch_cpu.so", "mine::torch::autograd::generated::X::apply()", 0 },
	{ false, "libtorch_python.so", "torch::autograd::THPVariable_toString(_object*)", 0 },
	{ true, "", "", 0 },
	{ false, "", "", 0 },
};

static void a_frame_has_the_kinds_of_all_rows_that_match(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		uint32_t bits = gmt_frame_kinds(frames[i].is_python, frames[i].where, frames[i].function);

		if (bits != frames[i].bits)
			print_error("%s in %s\n", frames[i].function, frames[i].where);
		assert_int_equal(bits, frames[i].bits);
	}
}

static void every_frame_kind_has_a_frame_in_this_test(void **state)
{
	uint32_t seen = 0, all = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++)
		seen |= frames[i].bits;
#define GMT_FRAME_KIND_NAME(NAME, meaning) all |= GMT_FRAME_KIND_BIT(NAME);
#define GMT_FRAME_KIND(NAME, kind, where, what)
#define GMT_FRAME_KIND_EXCEPT(NAME, kind, where, what)
#include "reader/stacks/frame_kinds.def"
#undef GMT_FRAME_KIND_NAME
#undef GMT_FRAME_KIND
#undef GMT_FRAME_KIND_EXCEPT
	/* No single frame proves this kind. */
	assert_int_equal(seen | GMT_FRAME_KIND_BIT(CLOSURE), all);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(threads_of_autograd_get_the_stack_of_the_running_call),
		TEST(a_stack_with_an_attributed_caller_shows_its_line_and_is_in_a_backward_pass),
		TEST(while_two_threads_are_in_a_call_no_stack_gets_a_caller),
		TEST(without_a_thread_of_autograd_stacks_do_not_change),
		TEST(a_frame_has_the_kinds_of_all_rows_that_match),
		TEST(every_frame_kind_has_a_frame_in_this_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
