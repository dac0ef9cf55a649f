/* pipeline.h: pipeline parallelism: each rank of a pipeline holds one or several stages of a model (model/stage.h).
 * Activations go from stage to stage forward, their gradients backward, while each rank works on several microbatches.
 *
 * The stages are numbered in the order of the model. With several stages per rank (interleave), rank r of p has the
 * stages r, r + p, r + 2p, …: a stage is then shorter, so ranks wait less at the start and at the end of a step. */
#pragma once

#include "comm/mesh.h"
#include "model/model.h"

/* The pipeline that a model's stages belong to. */
struct Pipeline {
    const Mesh *mesh;  /* the ranks, and the groups that their messages go through; NULL means no communication: bytes
                          are counted for one of `size` ranks */
    int rank, size;    /* this rank of the pipeline and their number; size 0 or 1 means no pipeline */
    int interleave;    /* stages of each rank, up to STAGES_MOST; 0 counts as 1 */
    const int *counts; /* (n_counts) the numbers of microbatches that a step may have; n_counts 0 means any number */
    int n_counts;
    const int *ends; /* (stages) the block after each stage's last, of pipeline_divide or pipeline_cuts */
};

/* Number of stages of all ranks together. */
int pipeline_stages(const Pipeline *pipeline);
/* Stage s, 0 … pipeline_stages - 1. */
Stage pipeline_stage(const Pipeline *pipeline, int s);
/* The stages of a rank. */
Stages pipeline_held(const Pipeline *pipeline, int rank);

/* ---- division.c: the blocks of each stage ---- */

/* Tokens of one packed sequence; the work of stages follows from them. */
typedef struct StageTokens {
    double encoder, decoder; /* tokens in each stack; 0 for a stack that the model does not have */
    double targets;          /* tokens whose logits are computed */
} StageTokens;

/* Divides the blocks among the stages so that the largest work of a rank is as small as possible; with several stages
 * per rank, so that the sum of the squares of the ranks' work is small. Work is counted in multiply-adds of matrices
 * and of attention, which take longer; the projection to the vocabulary counts for the last stage. Every stage needs
 * at least one block. Returns Pipeline.ends of the size × interleave stages. g_free. */
int *pipeline_divide(const ModelConfig *config, int size, int interleave, const StageTokens *tokens);
/* share (size): the part of that work which each rank has if its stages end at `ends`; their sum is 1. */
void pipeline_work(double *share, const ModelConfig *config, int size, int interleave, const int *ends,
                   const StageTokens *tokens);
/* The same from a list such as "11,21,31": the blocks, numbered from 1, at which the stages after the first begin.
 * Fails if these are not n_stages - 1 rising numbers of blocks; the message proposes the list of `ends`, which
 * pipeline_divide returned. NULL means failure. */
int *pipeline_cuts(const ModelConfig *config, const char *cuts, int n_stages, const int *ends, GError **error);
/* The list of cuts that pipeline_cuts reads as `ends`. g_free. */
char *pipeline_cuts_text(const int *ends, int n_stages);

/* ---- schedule.c: the order of passes ---- */

/* One pass over a microbatch. */
typedef struct PipelinePass {
    bool backward;
    int stage; /* which of the rank's stages, from 0 */
    int microbatch;
} PipelinePass;

/* The order of passes of rank `rank` of `size` over n microbatches. Each rank has `interleave` stages. Writes
 * 2 n interleave passes.
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
/* slots (interleave): for each of the rank's stages the largest of pipeline_kept over all numbers of microbatches that
 * a step may have (Pipeline.counts). */
void pipeline_slots(int *slots, const Pipeline *pipeline);
/* Share of a step of n microbatches in which each rank waits, if all passes forward, and all backward, take equally
 * long and messages no time: w / (interleave n + w), where w = size - 1 + (interleave - 1) max(size - n, 0). */
double pipeline_bubble(int size, int interleave, int64_t n);

/* ---- tied.c, pipeline.c ---- */

/* Sets ParamSpec.tie of the n parameters of the pipeline's rank, which are ordered by bucket. */
void pipeline_mark_tied(ParamSpec *specs, int n, const ModelConfig *config, const Pipeline *pipeline);

/* Runs model_pass's passes of n microbatches, in the order of pipeline_schedule. n_empty: number of microbatches that
 * another data-parallel rank has more than this one. As ranks exchange weights and gradients in every pass, this rank
 * first runs n_empty passes over batches[0], with gradients 0 and uncounted losses. */
void model_passes(Model *model, const Batch *const *batches, int n, int n_empty, const ModelLoss *loss);
/* After the last microbatch of a step: the gradients of parameters that several ranks of the pipeline have become their
 * sums over these ranks, added in their order, with the same bits in each; then their reduction over data-parallel
 * ranks starts. Does nothing without a pipeline. */
void pipeline_sum_tied(Model *model);

/* ---- forward passes without a backward pass, as of generated answers; while a stage computes, others wait ---- */

/* Receives, from the rank that has the previous stage, the tensors of `message` that are present. */
void pipeline_receive(const Model *model, StageMessage message);
/* Sends a message to the next stage, and waits until it has been received. Not for the model's last stage. */
void pipeline_hand_on(Model *model, StageMessage message);
/* x (bytes, a multiple of 4), in host memory, becomes a copy of x of the last rank, which has the model's last stage.
 * If the ranks have failed, x stays as it is. */
void pipeline_share(Model *model, void *x, size_t bytes);
/* Waits until the messages that lie in slot 0 have been sent, because its memory will be overwritten. */
void pipeline_settle(Model *model);
/* Runs the rank's stages forward on the batch: each receives its input from the rank with the previous stage, unless it
 * is the model's first, and sends its output to the rank with the next one, unless it is the last. Returns the output
 * of the last of the rank's stages. */
Tensor pipeline_run(Model *model, const Batch *batch);

/* Bytes that this rank has sent to other ranks: gradients, weights, sums of layers and messages to other stages; on the
 * null device, bytes that it would have sent. */
SentBytes model_sent(const Model *model);
int64_t model_sent_bytes(const Model *model); /* bytes of all kinds together */
