/* SPDX-License-Identifier: MIT */
#include "testing.h"

/* Graphs built explicitly: dependencies, node parameters, and graphs inside graphs. */

enum { MAX_CALLS = 8 };
static int calls[MAX_CALLS], call_count;

static void note(void *argument)
{
	if (call_count < MAX_CALLS)
		calls[call_count++] = *(int *)argument;
}

static int numbers[] = { 0, 1, 2, 3 };

static CUgraphNode add_host(CUgraph graph, int number)
{
	CUDA_HOST_NODE_PARAMS parameters = { note, &numbers[number] };
	CUgraphNode node;

	assert_success(cuGraphAddHostNode(&node, graph, NULL, 0, &parameters));
	return node;
}

static CUgraph new_graph(void)
{
	CUgraph graph;

	call_count = 0;
	assert_success(cuGraphCreate(&graph, 0));
	return graph;
}

static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;

	assert_success(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static void edges_are_the_dependencies(void **state)
{
	CUgraph graph = new_graph();
	CUgraphNode a = add_host(graph, 0), b, c, from[4], to[4], both[2];
	size_t count = 4;

	(void)state;
	assert_success(cuGraphAddEmptyNode(&b, graph, &a, 1));
	both[0] = a;
	both[1] = b;
	assert_success(cuGraphAddEmptyNode(&c, graph, both, 2));
	assert_success(cuGraphGetEdges(graph, NULL, NULL, &count));
	assert_int_equal(count, 3);
	assert_success(cuGraphGetEdges(graph, from, to, &count));
	assert_ptr_equal(from[2], b);
	assert_ptr_equal(to[2], c);
	count = 4;
	assert_success(cuGraphNodeGetDependentNodes(a, to, &count));
	assert_int_equal(count, 2);
	assert_ptr_equal(to[0], b);
	assert_success(cuGraphNodeGetDependencies(c, from, &count));
	assert_int_equal(count, 2);
	count = 4;
	assert_success(cuGraphGetRootNodes(graph, from, &count));
	assert_int_equal(count, 1);
	assert_ptr_equal(from[0], a);

	both[1] = a;
	assert_int_equal(cuGraphAddEmptyNode(&c, graph, both, 2), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphDestroyNode(b));
	count = 4;
	assert_success(cuGraphGetEdges(graph, from, to, &count));
	assert_int_equal(count, 1);
	assert_success(cuGraphDestroy(graph));
}

static void nodes_run_after_their_dependencies(void **state)
{
	CUgraph graph = new_graph();
	CUgraphNode first = add_host(graph, 1), second = add_host(graph, 2);

	(void)state;
	assert_success(cuGraphAddDependencies(graph, &second, &first, 1));
	assert_int_equal(cuGraphAddDependencies(graph, &first, &second, 1), CUDA_ERROR_INVALID_VALUE);
	CUgraphExec exec = instantiate(graph);
	assert_success(cuGraphLaunch(exec, NULL));
	assert_int_equal(call_count, 2);
	assert_int_equal(calls[0], 2);
	assert_int_equal(calls[1], 1);
	assert_success(cuGraphExecDestroy(exec));
	assert_success(cuGraphRemoveDependencies(graph, &second, &first, 1));
	assert_int_equal(cuGraphRemoveDependencies(graph, &second, &first, 1),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphDestroy(graph));
}

static void nodes_return_their_parameters(void **state)
{
	CUgraph graph = new_graph();
	CUDA_MEMCPY3D copy = { .WidthInBytes = 7, .Height = 1, .Depth = 1 }, same_copy;
	CUDA_MEMSET_NODE_PARAMS fill = { .dst = 64, .elementSize = 4, .width = 3, .height = 1 },
							same_fill;
	CUDA_KERNEL_NODE_PARAMS kernel = { .func = (CUfunction)(void *)&call_count, .gridDimX = 9 },
							same_kernel;
	CUDA_KERNEL_NODE_PARAMS_v1 old_kernel;
	CUDA_HOST_NODE_PARAMS host;
	CUgraphNode node, kernel_node;

	(void)state;
	assert_success(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, *state));
	assert_success(cuGraphMemcpyNodeGetParams(node, &same_copy));
	assert_memory_equal(&copy, &same_copy, sizeof(copy));
	assert_int_equal(cuGraphMemsetNodeGetParams(node, &same_fill), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, *state));
	assert_success(cuGraphMemsetNodeGetParams(node, &same_fill));
	assert_memory_equal(&fill, &same_fill, sizeof(fill));
	assert_success(cuGraphHostNodeGetParams(add_host(graph, 3), &host));
	assert_ptr_equal(host.userData, &numbers[3]);

	assert_success(cuGraphAddKernelNode_v2(&kernel_node, graph, NULL, 0, &kernel));
	CUgraphExec exec = instantiate(graph);
	kernel.gridDimX = 10;
	assert_success(cuGraphExecKernelNodeSetParams_v2(exec, kernel_node, &kernel));
	assert_success(cuGraphKernelNodeGetParams_v2(kernel_node, &same_kernel));
	assert_int_equal(same_kernel.gridDimX, 9);
	assert_success(cuGraphKernelNodeSetParams_v2(kernel_node, &kernel));
	assert_success(cuGraphKernelNodeGetParams(kernel_node, &old_kernel));
	assert_int_equal(old_kernel.gridDimX, 10);
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphExecDestroy(exec));
	assert_success(cuGraphDestroy(graph));
}

static void a_child_is_a_copy_and_runs_with_its_parent(void **state)
{
	CUgraph child = new_graph(), parent, inside, clone;
	CUgraphNode node, found;
	size_t count = 0;

	(void)state;
	add_host(child, 3);
	parent = new_graph();
	add_host(parent, 1);
	assert_success(cuGraphAddChildGraphNode(&node, parent, NULL, 0, child));
	add_host(child, 2);
	assert_success(cuGraphDestroy(child));
	assert_success(cuGraphChildGraphNodeGetGraph(node, &inside));
	assert_success(cuGraphGetNodes(inside, NULL, &count));
	assert_int_equal(count, 1);
	CUgraphExec exec = instantiate(parent);
	assert_success(cuGraphLaunch(exec, NULL));
	assert_int_equal(call_count, 2);
	assert_int_equal(calls[1], 3);
	assert_success(cuGraphExecDestroy(exec));

	assert_success(cuGraphClone(&clone, parent));
	assert_success(cuGraphNodeFindInClone(&found, node, clone));
	assert_ptr_not_equal(found, node);
	assert_success(cuGraphDestroy(parent));
	assert_success(cuGraphChildGraphNodeGetGraph(found, &inside));
	assert_success(cuGraphDestroy(clone));
}

static int run_conditional(CUgraphConditionalNodeType type, unsigned int bodies, unsigned int value)
{
	CUgraph graph = new_graph();
	CUgraphConditionalHandle handle;
	CUgraphNodeParams parameters = {
		.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
		.conditional = { .type = type, .size = bodies },
	};
	CUgraphNode node;

	assert_success(cuGraphConditionalHandleCreate(&handle, graph, NULL, value,
		CU_GRAPH_COND_ASSIGN_DEFAULT));
	parameters.conditional.handle = handle;
	assert_success(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &parameters));
	for (unsigned int i = 0; i < bodies; i++)
		add_host(parameters.conditional.phGraph_out[i], (int)i);
	CUgraphExec exec = instantiate(graph);
	assert_success(cuGraphLaunch(exec, NULL));
	assert_success(cuGraphExecDestroy(exec));
	assert_success(cuGraphDestroy(graph));
	return call_count == 1 ? calls[0] : -call_count - 1;
}

static void a_condition_chooses_the_body(void **state)
{
	const int none = -1;

	(void)state;
	assert_int_equal(run_conditional(CU_GRAPH_COND_TYPE_IF, 1, 1), 0);
	assert_int_equal(run_conditional(CU_GRAPH_COND_TYPE_IF, 1, 0), none);
	assert_int_equal(run_conditional(CU_GRAPH_COND_TYPE_IF, 2, 0), 1);
	assert_int_equal(run_conditional(CU_GRAPH_COND_TYPE_WHILE, 1, 1), 0);
	assert_int_equal(run_conditional(CU_GRAPH_COND_TYPE_SWITCH, 3, 2), 2);
	assert_int_equal(run_conditional(CU_GRAPH_COND_TYPE_SWITCH, 3, 3), none);
}

static void an_update_needs_nodes_of_the_same_kind(void **state)
{
	CUgraph graph = new_graph(), same = new_graph(), other = new_graph(), longer = new_graph();
	CUgraphExecUpdateResultInfo info;
	CUgraphNode node;

	(void)state;
	add_host(graph, 0);
	add_host(same, 1);
	assert_success(cuGraphAddEmptyNode(&node, other, NULL, 0));
	add_host(longer, 0);
	add_host(longer, 1);
	CUgraphExec exec = instantiate(graph);
	assert_int_equal(cuGraphExecUpdate_v2(exec, other, &info),
		CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	assert_ptr_equal(info.errorNode, node);
	assert_int_equal(cuGraphExecUpdate_v2(exec, longer, &info),
		CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	assert_success(cuGraphExecUpdate_v2(exec, same, &info));
	assert_success(cuGraphLaunch(exec, NULL));
	assert_int_equal(calls[0], 1);
	assert_success(cuGraphExecDestroy(exec));
	CUgraph graphs[] = { graph, same, other, longer };
	for (int i = 0; i < 4; i++)
		assert_success(cuGraphDestroy(graphs[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(edges_are_the_dependencies),
		CONTEXT_TEST(nodes_run_after_their_dependencies),
		CONTEXT_TEST(nodes_return_their_parameters),
		CONTEXT_TEST(a_child_is_a_copy_and_runs_with_its_parent),
		CONTEXT_TEST(a_condition_chooses_the_body),
		CONTEXT_TEST(an_update_needs_nodes_of_the_same_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
