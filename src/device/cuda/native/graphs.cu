/* graphs.cu: parts of the work that repeat (device_repeat). The first calls of a part are queued operation by
 * operation: CUDA loads kernels, scratch memory grows, products are timed. The next one is captured as a CUDA graph;
 * from then on one launch queues all of it. */
#include "device/cuda/native/gpu_native.h"

enum { RUNS_BEFORE = 2 };

/* A queued launch of the graph ends first. */
static void drop(Gpu *gpu, Graph *graph)
{
    if (graph->ready) {
        gpu_answer(cudaStreamSynchronize(gpu->stream), "a graph");
        gpu_answer(cudaGraphExecDestroy(graph->ready), "a graph");
    }
    graph->ready = NULL;
}

void graphs_close(Gpu *gpu)
{
    for (Graph &graph : gpu->graphs)
        drop(gpu, &graph);
}

void native_forget(Device *dev, const void *owner)
{
    Gpu *gpu = gpu_of(dev);
    gpu_enter(dev);
    for (Graph &graph : gpu->graphs)
        if (graph.owner == owner) {
            drop(gpu, &graph);
            graph = {};
        }
}

/* The part's graph, which replaces the oldest if it is new. */
static Graph *graph_of(Gpu *gpu, const void *owner, int64_t number)
{
    for (Graph &graph : gpu->graphs)
        if (graph.owner == owner && graph.number == number)
            return &graph;
    Graph *graph = &gpu->graphs[gpu->next_graph];
    gpu->next_graph = (gpu->next_graph + 1) % GRAPHS;
    drop(gpu, graph);
    *graph = { owner, number, 0, NULL, NULL };
    return graph;
}

/* Captures what queue(data) queues, and makes it ready to be launched. */
static cudaError_t capture(Gpu *gpu, Graph *graph, void (*queue)(void *data), void *data)
{
    cudaError_t first = cudaSuccess;
    cudaGraph_t captured = NULL;
    cudaError_t answer = cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal);
    if (answer != cudaSuccess)
        return answer;
    gpu->captures = true;
    gpu_note_errors(&first);
    queue(data);
    gpu_note_errors(NULL);
    gpu->captures = false;
    answer = cudaStreamEndCapture(gpu->stream, &captured);
    if (first == cudaSuccess && answer == cudaSuccess)
        answer = cudaGraphInstantiate(&graph->ready, captured, 0);
    if (captured)
        (void)cudaGraphDestroy(captured);
    graph->scratch = gpu->scratch;
    return first == cudaSuccess ? answer : first;
}

/* A GPU that takes no graph goes on without. */
static void try_capture(Gpu *gpu, Graph *graph, void (*queue)(void *data), void *data)
{
    const cudaError_t answer = capture(gpu, graph, queue, data);
    if (answer == cudaSuccess)
        return;
    (void)cudaGetLastError();
    graph->ready = NULL;
    gpu->takes_graphs = false;
    fprintf(stderr,
            "loam: GPU %d takes no CUDA graph of a decoding step (%s); its operations are launched one by one\n",
            gpu->index, cudaGetErrorString(answer));
}

void native_repeat(Device *dev, const void *owner, int64_t number, void (*queue)(void *data), void *data)
{
    Gpu *gpu = gpu_of(dev);
    gpu_enter(dev);
    if (!gpu->takes_graphs) {
        queue(data);
        return;
    }
    Graph *graph = graph_of(gpu, owner, number);
    if (graph->scratch != gpu->scratch)
        drop(gpu, graph);
    if (!graph->ready && graph->runs++ >= RUNS_BEFORE)
        try_capture(gpu, graph, queue, data);
    if (graph->ready)
        gpu_answer(cudaGraphLaunch(graph->ready, gpu->stream), "a graph");
    else
        queue(data);
}
