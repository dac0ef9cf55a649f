"""The families of make-parity.py besides T5: what each model is built from, and what it computes on its samples.

One row per fixture: the class, its config's settings, and the samples. Sizes divide by nothing convenient; the lengths
of a batch are unequal, the longest of ModernBERT beyond the reach of its window, one sample as short as its objective
allows.
"""

import json
import math
from unittest import mock

import numpy
import torch
import transformers

from safetensors.torch import load_file, save_file

FAMILIES = {
    "gpt2": dict(
        model="GPT2LMHeadModel", config="GPT2Config", seed=20, lengths=[17, 31, 2],
        settings=dict(vocab_size=67, n_positions=37, n_embd=20, n_layer=2, n_head=5, n_inner=44, bos_token_id=66,
                      eos_token_id=66)),
    "llama": dict(
        model="LlamaForCausalLM", config="LlamaConfig", seed=21, lengths=[19, 3, 30],
        settings=dict(vocab_size=61, hidden_size=24, intermediate_size=38, num_hidden_layers=2, num_attention_heads=6,
                      num_key_value_heads=2, head_dim=6, max_position_embeddings=64, rms_norm_eps=1e-5,
                      rope_theta=5000.0, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2)),
    "qwen3": dict(
        model="Qwen3ForCausalLM", config="Qwen3Config", made_with=5, seed=33, lengths=[18, 4, 27],
        settings=dict(vocab_size=57, hidden_size=24, intermediate_size=38, num_hidden_layers=2, num_attention_heads=6,
                      num_key_value_heads=2, head_dim=6, max_position_embeddings=64, rms_norm_eps=1e-5,
                      rope_parameters=dict(rope_type="default", rope_theta=5000.0), tie_word_embeddings=False,
                      bos_token_id=1, eos_token_id=2)),
    "bert": dict(
        model="BertForPreTraining", config="BertConfig", seed=22, lengths=[23, 9, 34],
        settings=dict(vocab_size=71, hidden_size=20, num_hidden_layers=2, num_attention_heads=4, intermediate_size=42,
                      max_position_embeddings=40, type_vocab_size=2, pad_token_id=0)),
    "bert-relative-key": dict(
        model="BertForPreTraining", config="BertConfig", attention="eager", seed=26, lengths=[23, 9, 34],
        settings=dict(vocab_size=71, hidden_size=20, num_hidden_layers=2, num_attention_heads=4, intermediate_size=42,
                      max_position_embeddings=40, type_vocab_size=2, pad_token_id=0,
                      position_embedding_type="relative_key")),
    "bert-relative-key-query": dict(
        model="BertForPreTraining", config="BertConfig", attention="eager", seed=27, lengths=[23, 9, 34],
        settings=dict(vocab_size=71, hidden_size=20, num_hidden_layers=2, num_attention_heads=4, intermediate_size=42,
                      max_position_embeddings=40, type_vocab_size=2, pad_token_id=0,
                      position_embedding_type="relative_key_query")),
    "roberta": dict(
        model="RobertaForMaskedLM", config="RobertaConfig", seed=24, lengths=[21, 8, 35],
        settings=dict(vocab_size=73, hidden_size=20, num_hidden_layers=2, num_attention_heads=4, intermediate_size=42,
                      max_position_embeddings=42, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)),
    "bert-untied": dict(
        model="BertForMaskedLM", config="BertConfig", seed=28, lengths=[12, 5],
        settings=dict(vocab_size=37, hidden_size=12, num_hidden_layers=1, num_attention_heads=3, intermediate_size=22,
                      max_position_embeddings=40, type_vocab_size=2, pad_token_id=0, tie_word_embeddings=False)),
    "roberta-untied": dict(
        model="RobertaForMaskedLM", config="RobertaConfig", seed=29, lengths=[11, 6],
        settings=dict(vocab_size=41, hidden_size=12, num_hidden_layers=1, num_attention_heads=3, intermediate_size=22,
                      max_position_embeddings=42, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5,
                      hidden_act="relu", tie_word_embeddings=False)),
    "xglm-padding": dict(
        model="XGLMForCausalLM", config="XGLMConfig", attention="eager", seed=32, lengths=[9, 14, 2],
        settings=dict(vocab_size=35, d_model=12, ffn_dim=22, num_layers=1, attention_heads=3,
                      max_position_embeddings=24, pad_token_id=5, bos_token_id=2, eos_token_id=2,
                      attention_dropout=0.0)),
    "xglm": dict(
        model="XGLMForCausalLM", config="XGLMConfig", attention="eager", seed=25, lengths=[18, 33, 2],
        settings=dict(vocab_size=63, d_model=20, ffn_dim=44, num_layers=2, attention_heads=5, activation_function="relu",
                      max_position_embeddings=64, tie_word_embeddings=False, pad_token_id=1, bos_token_id=2,
                      eos_token_id=2, attention_dropout=0.0)),
    "modernbert-head": dict(
        model="ModernBertForMaskedLM", config="ModernBertConfig", seed=31, lengths=[14, 5],
        settings=dict(vocab_size=43, hidden_size=12, intermediate_size=18, num_hidden_layers=2, num_attention_heads=3,
                      max_position_embeddings=32, global_attn_every_n_layers=2, local_attention=4, pad_token_id=0,
                      bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, reference_compile=False,
                      hidden_activation="gelu", classifier_activation="silu")),
    "modernbert": dict(
        model="ModernBertForMaskedLM", config="ModernBertConfig", seed=23, lengths=[26, 5, 37],
        settings=dict(vocab_size=59, hidden_size=24, intermediate_size=34, num_hidden_layers=4, num_attention_heads=3,
                      max_position_embeddings=64, global_attn_every_n_layers=3, local_attention=8, pad_token_id=0,
                      bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, reference_compile=False)),
}


def build(row):
    config = getattr(transformers, row["config"])(**row["settings"], attn_implementation=row.get("attention", "sdpa"))
    return getattr(transformers, row["model"])(config)


def randomize(model, seed):
    """Weights larger than the default initialization, so that attention is far from uniform; biases are not zero."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=random)
            if "norm" in name.lower() or ".ln_" in name:
                parameter.copy_(0.2 * noise + (0 if name.endswith("bias") else 1))
            elif parameter.dim() == 1:
                parameter.copy_(0.3 * noise)
            elif model.config.model_type == "bert" and "position_embeddings" in name and \
                    model.config.position_embedding_type != "absolute":
                parameter.zero_()  # read by nothing
            elif any(word in name for word in ("embed", "wte", "wpe")):
                parameter.copy_(0.8 * noise)
            else:
                fan_in = parameter.shape[0 if "c_" in name else 1]  # Conv1D is (in, out)
                parameter.copy_(1.5 * fan_in ** -0.5 * noise)


def masked_sample(random, length, vocab, pair):
    """Labels are -100 where no loss falls; a third of the tokens are masked, one at least."""
    ids = random.integers(3, vocab, length).tolist()
    chosen = random.permutation(length)[: max(1, length // 3)].tolist()
    labels = [ids[i] if i in chosen else -100 for i in range(length)]
    sample = {"input_ids": [vocab - 1 if i in chosen[::2] else ids[i] for i in range(length)], "labels": labels}
    if pair:
        first = int(random.integers(1, length))
        sample |= {"segments": [int(i >= first) for i in range(length)], "order": int(random.integers(0, 2))}
    return sample


def samples_of(row):
    random, vocab = numpy.random.default_rng(row["seed"]), row["settings"]["vocab_size"]
    if "CausalLM" in row["model"] or "LMHead" in row["model"]:
        pad = row["settings"].get("pad_token_id")  # in no text: transformers gives its embedding no gradient
        return [{"input_ids": [i + (i == pad) for i in random.integers(3, vocab, n).tolist()]} for n in row["lengths"]]
    return [masked_sample(random, n, vocab, row["model"] == "BertForPreTraining") for n in row["lengths"]]


def batch_of(samples):
    rows = lambda key, fill: torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(sample[key]) for sample in samples], batch_first=True, padding_value=fill)
    lengths = torch.tensor([len(sample["input_ids"]) for sample in samples])
    batch = {"input_ids": rows("input_ids", 0)}
    batch["attention_mask"] = (torch.arange(int(lengths.max()))[None, :] < lengths[:, None]).long()
    if "labels" not in samples[0]:
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return batch
    batch["labels"] = rows("labels", -100)
    if "order" in samples[0]:
        batch["token_type_ids"] = rows("segments", 0)
        batch["next_sentence_label"] = torch.tensor([sample["order"] for sample in samples])
    return batch


def values_of(model, samples):
    """"logits" are the rows on which loss falls: of a decoder every token but its sample's last."""
    model.eval()
    model.zero_grad()
    batch = batch_of(samples)
    out = model(**batch)
    out.loss.backward()
    logits = out.prediction_logits if "next_sentence_label" in batch else out.logits
    labels = batch["labels"] if "labels" in samples[0] else torch.cat(
        [batch["labels"][:, 1:], torch.full((len(samples), 1), -100)], dim=1)
    values = {"logits": logits[labels != -100], "loss": out.loss.reshape(1)}
    if "next_sentence_label" in batch:
        values["order_logits"] = out.seq_relationship_logits
    values |= {"grad." + name: parameter.grad for name, parameter in model.named_parameters()
               if parameter.grad is not None}
    return {name: value.detach().double().contiguous().clone() for name, value in values.items()}


def in_double(model):
    """RMSNorm, rotary angles and sinusoids as their formulas say, where transformers computes them in f32 whatever the
    weights."""
    model = model.double()
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = lambda x, norm=module: norm.weight * (
                x * torch.rsqrt(x.pow(2).mean(-1, True) + norm.variance_epsilon))
        if type(module).__name__.endswith("SinusoidalPositionalEmbedding"):
            module.weights = exact_sinusoids(*module.weights.shape, module.padding_idx)
        if hasattr(module, "inv_freq"):
            module.forward = lambda x, position_ids, rotary=module: exact_rotary(rotary, position_ids)
    return model


def exact_sinusoids(rows, width, padding):
    half = width // 2
    frequency = torch.exp(torch.arange(half, dtype=torch.float64) * -(math.log(10000) / (half - 1)))
    angle = torch.arange(rows, dtype=torch.float64)[:, None] * frequency
    table = torch.cat([angle.sin(), angle.cos()], dim=1)
    table[padding] = 0
    return table


def exact_rotary(rotary, position_ids):
    size = 2 * rotary.inv_freq.numel()
    base = getattr(rotary.config, "rope_theta", None) or rotary.config.rope_parameters["rope_theta"]
    frequency = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angle = position_ids[:, :, None].double() * torch.cat([frequency, frequency])
    return angle.cos(), angle.sin()


def legacy_gpt2(tensors):
    """As on the hub: no "transformer.", and the causal mask as a buffer of each block."""
    short = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    blocks = {name.split(".")[1] for name in short if name.startswith("h.")}
    return short | {f"h.{i}.attn.bias": torch.ones(37, 37).tril().reshape(1, 1, 37, 37) for i in blocks}


def legacy_bert(tensors):
    """As on the hub: LayerNorm's gamma and beta, the tied decoder written out, positions as a buffer."""
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
           for name, value in tensors.items()}
    return old | {"cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"].clone(),
                  "cls.predictions.decoder.bias": tensors["cls.predictions.bias"].clone(),
                  "bert.embeddings.position_ids": torch.arange(40).reshape(1, 40)}


LEGACY = {"gpt2": legacy_gpt2, "bert": legacy_bert}


def write_legacy(out, name):
    folder = out / (name + "-hub")
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes((out / name / "config.json").read_bytes())
    save_file(LEGACY[name](load_file(out / name / "model.safetensors")), folder / "model.safetensors",
              metadata={"format": "pt"})
    _, told = getattr(transformers, FAMILIES[name]["model"]).from_pretrained(folder, output_loading_info=True)
    assert not told["missing_keys"], told
    print(name + "-hub: transformers finds unexpected", told["unexpected_keys"])


ENCODERS = {"bert": "BertModel", "roberta": "RobertaModel", "modernbert": "ModernBertModel",
            "t5-v1.0": "T5EncoderModel", "t5-v1.1": "T5EncoderModel"}


def write_encoded(out, name):
    """encoded.safetensors: "hidden", what the bare encoder makes of the samples (rows of all tokens, C), and "pooled"
    (samples, C) where it has a pooler, in double precision rounded to f32."""
    torch.set_default_dtype(torch.float64)
    model, told = getattr(transformers, ENCODERS[name]).from_pretrained(out / name, output_loading_info=True)
    model = in_double(model).eval()
    hidden, pooled = [], []
    for sample in json.loads((out / name / "batch.json").read_text())["samples"]:
        with torch.no_grad():
            result = model(input_ids=torch.tensor([sample["input_ids"]]))
        hidden.append(result.last_hidden_state[0])
        if "pooler_output" in result and not any("pooler" in key for key in told["missing_keys"]):
            pooled.append(result.pooler_output[0])
    stored = {"hidden": torch.cat(hidden).float()} | ({"pooled": torch.stack(pooled).float()} if pooled else {})
    save_file(stored, out / name / "encoded.safetensors")
    torch.set_default_dtype(torch.float32)


def make_all(out, name, row, distances):
    """With transformers 4; a row with made_with with that generation."""
    folder = out / name
    model = build(row)
    randomize(model, row["seed"])
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    samples = samples_of(row)
    (folder / "batch.json").write_text(json.dumps({"samples": samples}) + "\n")
    in_f32 = values_of(model, samples)
    torch.set_default_dtype(torch.float64)
    with mock.patch.object(torch.Tensor, "float", torch.Tensor.double):  # of logits, for the loss
        truth = values_of(in_double(model), samples)
    torch.set_default_dtype(torch.float32)
    away = distances(in_f32, truth)
    print(name, "f32 of Hugging Face against double:", away)
    stored = {key: value.float() for key, value in truth.items()} | {"loss": truth["loss"]}
    notes = {"transformers": transformers.__version__, "torch": torch.__version__}
    notes |= {f"f32_distance_{key}": f"{value:.2e}" for key, value in away.items()}
    save_file(stored, folder / "expected.safetensors", metadata=notes)
    if name in LEGACY:
        write_legacy(out, name)
    if name in ENCODERS:
        write_encoded(out, name)


def with_bias_of_5(folder):
    """What transformers 4 saved of an untied model as transformers 5 has it: the bias of the logits is the decoder's
    alone, and another parameter, which nothing reads, has its name of before."""
    tensors = load_file(folder / "model.safetensors")
    bias = next(name for name in tensors if name in ("cls.predictions.bias", "lm_head.bias"))
    live = bias.replace("bias", "decoder.bias")
    return tensors | {live: tensors[bias], bias: torch.full_like(tensors[bias], 7.0)}


def make_untied_with_5(out, name, row, distances):
    """The tensors of two names differ from what 4 saved, so the whole folder is kept."""
    kind, folder = getattr(transformers, row["model"]), out / (name + "-tf5")
    model = build(row)
    model.load_state_dict(with_bias_of_5(out / name))
    samples = json.loads((out / name / "batch.json").read_text())["samples"]
    truth = {key: value.double() for key, value in load_file(out / name / "expected.safetensors").items()}
    values = {key.replace("decoder.bias", "bias"): value for key, value in values_of(model, samples).items()}
    away = distances(values, truth)
    print(name, "f32 of Hugging Face 5 against double:", away)
    assert max(away.values()) < 1e-4
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    _, told = kind.from_pretrained(folder, output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"], told


def make_with_5(out, name, row, distances):
    """The weights are saved as 4 saves them, so the config alone is kept."""
    if row["settings"].get("position_embedding_type", "absolute") != "absolute":
        return  # transformers 5 has no such BERT
    if name.endswith("-untied"):
        make_untied_with_5(out, name, row, distances)
        return
    kind = getattr(transformers, row["model"])
    model, told = kind.from_pretrained(out / name, output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"], told
    samples = json.loads((out / name / "batch.json").read_text())["samples"]
    truth = {key: value.double() for key, value in load_file(out / name / "expected.safetensors").items()}
    away = distances(values_of(model, samples), truth)
    print(name, "f32 of Hugging Face 5 against double:", away)
    assert max(away.values()) < 1e-4
    folder = out / (name + "-tf5")
    model.save_pretrained(folder)
    now, before = load_file(folder / "model.safetensors"), load_file(out / name / "model.safetensors")
    assert now.keys() == before.keys() and all(torch.equal(now[key], before[key]) for key in now)
    (folder / "model.safetensors").unlink()
    (folder / "generation_config.json").unlink(missing_ok=True)
