"""Training steps in PyTorch, shared by curve.py and step.py: Hugging Face's models, torch.optim.AdamW. Samples are what
`loam inspect batch --json` prints: input_ids and target_ids of a T5, ids and labels of a GPT, input_ids and labels of a
BERT, with a `label` where it reads pairs of sentences, or classifies."""

import contextlib
from unittest import mock

import torch
import transformers
from transformers.models.mt5 import modeling_mt5
from transformers.models.t5 import modeling_t5
from transformers.models.umt5 import modeling_umt5

AS_F32 = torch.Tensor.float
IGNORED = -100  # a label where no loss falls


def rows(samples, key, fill=0):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(sample[key]) for sample in samples], batch_first=True,
                                           padding_value=fill)


def mask_of(samples, key):
    lengths = torch.tensor([len(sample[key]) for sample in samples])
    return (torch.arange(int(lengths.max()))[None, :] < lengths[:, None]).long()


def t5_batch(samples):
    labels = rows(samples, "target_ids", IGNORED)
    return {"input_ids": rows(samples, "input_ids"), "attention_mask": mask_of(samples, "input_ids"), "labels": labels}, labels


def gpt_batch(samples):
    return {"input_ids": rows(samples, "ids"), "attention_mask": mask_of(samples, "ids")}, rows(samples, "labels", IGNORED)


def segments(sample):
    """0 up to the first separator, 1 behind it. The first token is no separator, though it may look like one; nor is one
    that was drawn in place of a masked token, which has a label."""
    ids, labels = sample["input_ids"], sample["labels"]
    end = next(i for i in range(1, len(ids)) if ids[i] == ids[-1] and labels[i] == IGNORED)
    return {"segments": [int(i > end) for i in range(len(ids))]}


def bert_batch(samples):
    inputs = {"input_ids": rows(samples, "input_ids"), "attention_mask": mask_of(samples, "input_ids")}
    if any("label" in sample for sample in samples):
        inputs["token_type_ids"] = rows([segments(sample) for sample in samples], "segments")
    return inputs, rows(samples, "labels", IGNORED)


BATCHES = {"t5": t5_batch, "mt5": t5_batch, "umt5": t5_batch, "bert": bert_batch,
           "modernbert": bert_batch, "gpt2": gpt_batch, "llama": gpt_batch}


def load(folder, dtype):
    """The model as its folder says; every weight must have come from there."""
    architecture = transformers.AutoConfig.from_pretrained(folder).architectures[0]
    model, told = getattr(transformers, architecture).from_pretrained(folder, dtype=dtype, output_loading_info=True)
    if told["missing_keys"] or told["unexpected_keys"]:
        raise SystemExit(f"{folder} does not load cleanly: {told}")
    model.get_input_embeddings().padding_idx = None  # padding drawn in place of a masked token learns like any other
    return model.eval()  # no dropout


def adamw(model, lr, weight_decay):
    """Decay falls on matrices, not on biases, norms and T5's position bias: loam's optim.decay: matrices."""
    plain = lambda name, p: p.dim() < 2 or "relative_attention_bias" in name
    named = list(model.named_parameters())
    groups = [{"params": [p for name, p in named if not plain(name, p)], "weight_decay": weight_decay},
              {"params": [p for name, p in named if plain(name, p)], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.999), eps=1e-8)


def count_targets(samples):
    return sum(len(sample["target_ids"]) if "target_ids" in sample else
               sum(label != IGNORED for label in sample["labels"]) for sample in samples)


def label_nll(logits, samples):
    labels = torch.tensor([sample.get("label", IGNORED) for sample in samples])
    return torch.nn.functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")


def loss_of(output, labels, samples, n_targets, n_labels):
    """The loss of a part of a batch that has n_targets target tokens and n_labels labels in all."""
    if "logits" in output and output.logits.dim() == 2:  # a class of each sequence
        return label_nll(output.logits, samples) / n_labels
    logits = output.prediction_logits if "prediction_logits" in output else output.logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED,
                                             reduction="sum") / n_targets
    return loss + label_nll(output.seq_relationship_logits, samples) / n_labels if n_labels else loss


def train_step(model, optimizer, samples, micro, lr, clip=1.0, autocast=False):
    """One update; the loss is the mean over the target tokens of the whole batch, whatever the microbatches, and the mean
    over its labels where it has any. autocast: forward and loss under torch.autocast to bf16."""
    n_targets, n_labels, total = count_targets(samples), sum("label" in sample for sample in samples), 0.0
    optimizer.zero_grad(set_to_none=True)
    for first in range(0, len(samples), micro):
        part = samples[first:first + micro]
        inputs, labels = BATCHES[model.config.model_type](part)
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = loss_of(model(**inputs), labels, part, n_targets, n_labels)
        loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    return total


def in_f32(bucket):
    """The rule of buckets computes its logarithms in f32, also where norms and softmax stay in double."""
    def rule(*args, **kwargs):
        with mock.patch.object(torch.Tensor, "float", AS_F32):
            return bucket(*args, **kwargs)
    return rule


@contextlib.contextmanager
def double_precision():
    """Hugging Face computes T5's norms and softmax in f32 whatever the weights are: here they stay in double."""
    with contextlib.ExitStack() as patches:
        for module, kind in (modeling_t5, "T5"), (modeling_mt5, "MT5"), (modeling_umt5, "UMT5"):
            attention, norm = getattr(module, kind + "Attention"), getattr(module, kind + "LayerNorm")
            bucket = vars(attention)["_relative_position_bucket"]
            rule = staticmethod(in_f32(bucket.__func__)) if isinstance(bucket, staticmethod) else in_f32(bucket)
            patches.enter_context(mock.patch.object(attention, "_relative_position_bucket", rule))
            patches.enter_context(mock.patch.object(norm, "forward", lambda self, x: self.weight * (
                x * torch.rsqrt(x.pow(2).mean(-1, True) + self.variance_epsilon))))
        patches.enter_context(mock.patch.object(torch.Tensor, "float", torch.Tensor.double))
        yield
