"""T5 training steps in PyTorch, shared by curve.py and step.py: Hugging Face's model, torch.optim.AdamW."""

import contextlib
from unittest import mock

import torch
from transformers.models.mt5 import modeling_mt5
from transformers.models.t5 import modeling_t5
from transformers.models.umt5 import modeling_umt5

AS_F32 = torch.Tensor.float


def padded(samples):
    """Inputs, attention mask and labels (-100 where no loss falls) of {"input_ids", "target_ids"} objects."""
    rows = lambda key, fill: torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(sample[key]) for sample in samples], batch_first=True, padding_value=fill)
    inputs = rows("input_ids", 0)
    lengths = torch.tensor([len(sample["input_ids"]) for sample in samples])
    mask = (torch.arange(inputs.shape[1])[None, :] < lengths[:, None]).long()
    return inputs, mask, rows("target_ids", -100)


def adamw(model, lr, weight_decay):
    """Decay falls on matrices, not on norms and position tables: loam's optim.decay: matrices."""
    plain = lambda name: "norm" in name or "relative_attention_bias" in name
    groups = [{"params": [p for name, p in model.named_parameters() if not plain(name)], "weight_decay": weight_decay},
              {"params": [p for name, p in model.named_parameters() if plain(name)], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.999), eps=1e-8)


def train_step(model, optimizer, samples, micro, lr, clip=1.0):
    """One update; the loss is the mean over the target tokens of the whole batch, whatever the microbatches."""
    n_targets = sum(len(sample["target_ids"]) for sample in samples)
    total = 0.0
    optimizer.zero_grad(set_to_none=True)
    for first in range(0, len(samples), micro):
        inputs, mask, labels = padded(samples[first:first + micro])
        logits = model(input_ids=inputs, attention_mask=mask, labels=labels).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100,
                                                 reduction="sum") / n_targets
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
    """Hugging Face computes norms and softmax in f32 whatever the weights are: here they stay in double."""
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
