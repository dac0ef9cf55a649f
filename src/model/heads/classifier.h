/* classifier.h: the head of a fine-tuned encoder, or encoder-decoder: from the output of the last block to the classes,
 * values, spans or choices of the batch's sequences. logits = dropout(t(dropout(x))) wᵀ + b, where t is BERT's pooler,
 * RoBERTa's dense layer, ModernBERT's transform, or nothing. */
#pragma once

#include "data/labels.h"
#include "nn/layers.h"

typedef struct Classifier {
    LabelKind kind;
    bool last;                  /* a sequence is read at its last token, else at its first */
    const HeadW *head;          /* w (K,C): K classes; 1 for values and choices; 2 for spans: begin and end */
    float dropout_in, dropout;  /* rates on the input of t, and on its output */
    const float *class_weights; /* (K) factor on the loss of each class; NULL means 1 */
} Classifier;

/* The sum of the weights of the batch's rows with a loss. A row is a sequence, a token, a span's begin or end, or a
 * question with its choices. */
double classifier_count(LabelKind kind, const float *class_weights, const Batch *batch);
/* sums (XENT_STATS) f64 = sums of the losses: cross-entropy over K classes, over the tokens of a sequence (spans), over
 * the sequences of a sample (choices), or the square of the error (values). xent->label_smoothing spreads probability
 * over the K classes, as torch.nn.CrossEntropyLoss does; it is 0 for other kinds. XENT_CORRECT counts each row as 1,
 * whatever the weight of its class. With xent->grad the gradient is added to dx (N,C), and the gradients of the head
 * are written. */
void classifier_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Classifier *c, const Batch *batch,
                     const XentSpec *xent);
/* logits f32, on the host: of each sequence, (sequences, K), or for tokens and spans of each token, (tokens, K). */
void classifier_logits(const Ctx *cx, float *logits, Tensor x, const Classifier *c, const Batch *batch);
