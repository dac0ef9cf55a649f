/* pipeline.h: pipeline parallelism: each rank of a pipeline holds one stage of a model (model/stage.h). Activations go
 * from stage to stage forward, their gradients backward, while each stage works on several microbatches. */
#pragma once

#include "model/model.h"

/* The pipeline that a model's stage belongs to. */
struct Pipeline {
    Comm *ranks, *forward, *backward; /* Mesh.pipeline, .forward, .backward (comm/mesh.h); NULL means no communication:
                                         bytes are counted for one of `size` stages */
    int rank, size;                   /* this stage and the number of stages; size 0 or 1 means no pipeline */
    double
        decoder_share; /* tokens of the decoder per token of the encoder, for stages of equal work; 0 means unknown */
};

/* The stage of a rank. The blocks are divided among the stages so that the largest work of a stage is as small as
 * possible. Work is counted in multiply-adds per token; the projection to the vocabulary is work of the last stage.
 * Every stage has at least one block. pipeline->size: number of stages, at most the number of blocks. */
Stage pipeline_stage(const ModelConfig *config, const Pipeline *pipeline, int rank);

/* One pass over a microbatch. */
typedef struct PipelinePass {
    bool backward;
    int stage; /* which of the rank's stages, from 0 */
    int microbatch;
} PipelinePass;

/* The order of passes of rank `rank` of `size` over n microbatches. Each rank has `interleave` stages: of all stages in
 * the order of the model, rank r has the stages r, r + size, r + 2 size, …. Writes 2 n interleave passes.
 *
 * With one stage per rank, 1F1B (Narayanan et al. 2019): first as many forward passes as stages follow, then one
 * forward and one backward pass in turn, then the remaining backward passes. So rank r keeps the activations of at most
 * size - r microbatches.
 *
 * With several, the interleaved schedule of Megatron-LM (Narayanan et al. 2021): the same, with more forward passes
 * first, and `size` microbatches go through one stage of the rank before they go through its next one. If n is not a
 * multiple of size, the last group of microbatches has up to 2 size - 1 of them, and ranks keep more activations. */
void pipeline_schedule(PipelinePass *passes, int rank, int size, int interleave, int n);
/* kept (interleave): the most microbatches of which the rank keeps activations at once, for each of its stages. */
void pipeline_kept(int *kept, int rank, int size, int interleave, int n);
/* Share of a step of n microbatches in which each rank waits, if all passes forward, and all backward, take equally
 * long and messages no time: w / (interleave n + w), where w = size - 1 + (interleave - 1) max(size - n, 0). */
double pipeline_bubble(int size, int interleave, int64_t n);

/* Sets ParamSpec.tie of the n parameters of the pipeline's stage, which are ordered by bucket. */
void pipeline_mark_tied(ParamSpec *specs, int n, const ModelConfig *config, const Pipeline *pipeline);

/* Trains on n microbatches as model_pass would on each, in the order of pipeline_schedule. loss->grad must be set.
 * n_empty: number of microbatches that another data-parallel rank has more than this one. As ranks exchange weights and
 * gradients in every pass, this rank first runs n_empty passes over batches[0], whose losses are not counted and whose
 * gradients are 0. */
void model_passes(Model *model, const Batch *const *batches, int n, int n_empty, const ModelLoss *loss);
/* After the last microbatch of a step: the gradients of parameters that several stages have become their sums over
 * these stages, added in the order of the stages, with the same bits in each; then their reduction over data-parallel
 * ranks starts. Does nothing without a pipeline. */
void pipeline_sum_tied(Model *model);
/* Bytes that this rank has sent to other ranks: gradients, weights, sums of layers and messages to other stages; on the
 * null device, bytes that it would have sent. */
SentBytes model_sent(const Model *model);
int64_t model_sent_bytes(const Model *model); /* bytes of all kinds together */
