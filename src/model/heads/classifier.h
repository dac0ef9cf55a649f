/* classifier.h: the classifier of a fine-tuned encoder or encoder-decoder, which predicts classes, values, spans or
 * choices from the output x (N,C) of the last block: logits = dropout(t(dropout(x))) wᵀ + b, where t is BERT's pooler,
 * RoBERTa's dense layer, ModernBERT's transform, or the identity. O: outputs, the number of classes; 1 for values and
 * choices; 2 for spans, begin and end. */
#pragma once

#include "data/labels.h"
#include "nn/layers.h"

typedef struct Classifier {
    LabelKind kind;             /* the kind of prediction: classes of sequences or tokens, values, spans or choices */
    bool last;                  /* reads the last token of a sequence; false means the first */
    const HeadW *head;          /* w (O,C) */
    float dropout_in, dropout;  /* rates on the input of t, and on its output */
    const float *class_weights; /* (O) factor on the loss of each class; NULL means 1 */
} Classifier;

/* The sum of the class weights over all rows with a target in the batch. A row is a sequence, a token, the begin or end
 * of a span, or a question with its choices. */
double classifier_count(LabelKind kind, const float *class_weights, const Batch *batch);
/* sums (XENT_STATS) f64 = the statistics of op_xent summed over the rows. The loss is cross-entropy over the classes,
 * over the tokens of a sequence (spans) or over the sequences of a sample (choices), or the squared error (values).
 * xent->label_smoothing distributes probability over the classes, as torch.nn.CrossEntropyLoss does; it is 0 for other
 * kinds. XENT_CORRECT counts each row as 1, whatever the weight of its class. With xent->grad, adds the gradient to dx
 * (N,C) and writes the gradients of the head. */
void classifier_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Classifier *c, const Batch *batch,
                     const XentSpec *xent);
/* Computes logits f32 into host memory: (sequences, O), or for tokens and spans (tokens, O). */
void classifier_logits(const Ctx *cx, float *logits, Tensor x, const Classifier *c, const Batch *batch);
