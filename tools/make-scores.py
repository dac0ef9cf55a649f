#!/usr/bin/env python3
"""Writes tests/golden/scores: inputs made here from a seed, and the scores that the Python packages give them. Needed by
no build and no test: the files are in the repository.

    python3 -m venv /tmp/scores && /tmp/scores/bin/pip install rouge_score==0.1.2 sacrebleu==2.6.0 seqeval==1.2.2 \\
        scikit-learn==1.9.1 scipy==1.17.1 nltk==3.10.4
    /tmp/scores/bin/python tools/make-scores.py tests/golden/scores [texts | stems | labels | numbers | tags | intervals]…

A line is an input and what is wanted of it: "p" predictions, "r" lists of references, "g" groups, or "first" and "n" for
examples of earlier lines; "want" gives for a score and its options the values, in percent as loam has them, null where one
is undefined or is not compared. SQuAD's and TriviaQA's scripts are no packages: their rules are written out below.
"""

import collections
import gzip
import io
import json
import math
import pathlib
import random
import re
import string
import sys
import warnings

import numpy
import scipy.stats
import sklearn.metrics
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF
from seqeval import metrics as seqeval_metrics
from seqeval.scheme import IOB2

OUT = pathlib.Path(sys.argv[1])
CASES = 1200
warnings.filterwarnings("ignore")


def write(name, records):
    """JSON lines, gzipped the same way every time."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0, filename="") as file:
        for record in records:
            file.write((json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode())
    (OUT / name).write_bytes(buffer.getvalue())
    print(f"{name}: {len(records)} lines, {len(buffer.getvalue())} bytes")


def rounded(values):
    return [None if value is None or math.isnan(value) else float(f"{value:.10g}") for value in values]


# ---- texts ----

WORDS = """the a an of to in on and or is was were not one two river rivers mill mills miller running runs ran happily happiness
conditional relational national nationally rationalise organization organisations hopeful hopping hoped falling filing
dying lies skies sky news proceed controlled agreed feed bled plastered conflated troubling sized tanned fizzed generalization
vietnamization predication operator feudalism decisiveness hopefulness callousness formality sensitivity sensibility
triplicate formative electrical goodness revival allowance inference adjustable defensible irritant replacement
adjustment dependent adoption communism activate effective bowdlerize rate cease roll yes day boys cry by The A An MILL
River Running geology apology abli fully fullness kelvin οδος σας istanbul σ'""".split()
ODD = ["", " ", "U.S.", "3.14", "1,000", "1,000.5", "10-20", "don't", "it’s", "l’été", "İstanbul", "\u212aelvin", "ΟΔΟΣ", "ΣΑΣ", "Straße",
       "北京市", "日本語。", "東京", "مرحبا", "👍", "👩‍👩‍👧", "cafe\u0301", "the\u0301", "\u00a0", "\u2028", "\u3000", "\t", "\n", "-\n", "_x_",
       "“quoted”", "‘a’", "«la»", "50%", "$5", "€7", "½", "x²", "٣", "zero\u200bwidth", "&amp;", "&quot;the&quot;", "&lt;b&gt;", "&amp;lt;",
       "<skipped>", "(hi)", "[a]", "{an}", "...", "!?", "..", ",.", "-", "--", "a.", "a.b", ".5", "5.", "9-", "-9", "@user", "#tag",
       "http://a.b/c?d=e", "x+y=z", "Ⅷ", "ǅ", "ª", "ﬁn", "\x1c", "\x85", "~", "`", "´", "e.g.,", "'s", "s'", "Mr.", "100 000",
       "+", "©", "a_b", "A.I.", "№5", "١٬٠٠٠", "ᾼ", "Å", "x\u0345Σ", "Σ", "aΣ.", "a'Σ"]


def some_text(rng, most):
    words = []
    for _ in range(rng.randint(0, most)):
        words.append(rng.choice(ODD) if rng.random() < 0.15 else rng.choice(WORDS))
        if rng.random() < 0.12:
            words[-1] += rng.choice([".", ",", "!", "?", ";", ":", ".\n", "\n"])
    return rng.choice([" ", " ", " ", "  "]).join(words)


def perturbed(rng, text):
    words = text.split(" ")
    rate = rng.choice([0, 0.1, 0.3, 0.6])
    out = []
    for word in words:
        if rng.random() >= rate:
            out.append(word)
            continue
        way = rng.randrange(6)
        if way == 1:
            out.append(rng.choice(WORDS))
        elif way == 2:
            out += [word, word]
        elif way == 3:
            out.append(rng.choice([word.upper(), word.capitalize(), word.upper().replace("K", "\u212a").replace("I", "İ")]))
        elif way == 4:
            out.append(rng.choice(ODD))
        elif way == 5 and out:
            out.insert(rng.randrange(len(out)), word)
    if rng.random() < 0.2:
        rng.shuffle(out)
    return " ".join(out)


PUNCTUATION_ONLY = ["", " ", ".", "...", "!?", "“”", "-", "\n", "the", "a an the", "The.", "、。", "\u00a0", "'", "&amp;"]


def text_case(rng, i):
    if i % 10 == 0:
        return rng.choice(PUNCTUATION_ONLY), [rng.choice(PUNCTUATION_ONLY) for _ in range(rng.randint(1, 2))]
    most = 4 if i % 2 else 18
    references = [some_text(rng, most)]
    while rng.random() < 0.3 and len(references) < 4:
        references.append(perturbed(rng, references[0]) if rng.random() < 0.7 else some_text(rng, most))
    source = rng.choice(references)
    return (some_text(rng, most) if rng.random() < 0.05 else perturbed(rng, source)), references


# ---- SQuAD and TriviaQA ----


def normalized(text, trivia):
    text = text.lower()
    marks = set(string.punctuation) | (set("‘’´`") if trivia else set())
    text = "".join((" " if trivia else "") if c in marks else c for c in text)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def answer_f1(prediction, reference, two):
    prediction, reference = prediction.split(), reference.split()
    if two and not (prediction and reference):
        return float(prediction == reference)
    common = sum((collections.Counter(prediction) & collections.Counter(reference)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(prediction), common / len(reference)
    return 2 * precision * recall / (precision + recall)


def answer_scores(prediction, references, trivia=False, two=False):
    prediction = normalized(prediction, trivia)
    references = [normalized(reference, trivia) for reference in references]
    if two:
        references = [reference for reference in references if reference] or [""]
    return [float(max(prediction == reference for reference in references)),
            max(answer_f1(prediction, reference, two) for reference in references), any(references)]


def squad2(pairs):
    scores = [answer_scores(p, r, two=True) for p, r in pairs]
    values = []
    for chosen in (scores, [s for s in scores if s[2]], [s for s in scores if not s[2]]):
        values += [100 * sum(s[v] for s in chosen) / len(chosen) if chosen else 0 for v in range(2)]
    return values


# ---- scores of texts ----

ROUGE = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
SCORERS = {stem: rouge_scorer.RougeScorer(list(ROUGE.values()), use_stemmer=stem) for stem in (False, True)}
BLEUS = {
    "bleu": {}, "bleu tokenizer=intl": dict(tokenize="intl"), "bleu tokenizer=char": dict(tokenize="char"),
    "bleu tokenizer=none": dict(tokenize="none"), "bleu smoothing=floor": dict(smooth_method="floor"),
    "bleu smoothing=floor value=0.5": dict(smooth_method="floor", smooth_value=0.5),
    "bleu smoothing=add-k": dict(smooth_method="add-k"), "bleu smoothing=none": dict(smooth_method="none"),
    "bleu tokenizer=intl lowercase": dict(tokenize="intl", lowercase=True),
}
CHRFS = {"chrf": {}, "chrf words=2": dict(word_order=2), "chrf lowercase": dict(lowercase=True)}


def rouges(pairs):
    want, geometric = {}, {}
    for stem, scorer in SCORERS.items():
        scores = [scorer.score_multi(references, prediction) for prediction, references in pairs]
        means = {name: [100 * float(numpy.mean([getattr(score[kind], field) for score in scores]))
                        for field in ("fmeasure", "precision", "recall")] for name, kind in ROUGE.items()}
        suffix = " stem" if stem else ""
        want.update({name + suffix: rounded(values) for name, values in means.items()})
        f1 = [means[name][0] for name in ROUGE]
        geometric["rouge" + suffix] = rounded([*f1, (f1[0] * f1[1] * f1[2]) ** (1 / 3)])
    return want, geometric


def streams(pairs):
    """References as sacreBLEU takes them: a list a stream, None where an example has none there."""
    most = max(len(references) for _, references in pairs)
    return [[references[i] if i < len(references) else None for _, references in pairs] for i in range(most)]


def sacrebleus(pairs, signatures):
    want = {}
    predictions, references = [p for p, _ in pairs], streams(pairs)
    for name, options in BLEUS.items():
        metric = BLEU(**options)
        score = metric.corpus_score(predictions, references)
        full = name == "bleu" or signatures is not None
        want[name] = rounded([score.score, *(score.precisions if full else [None] * 4), score.bp if full else None, score.sys_len,
                              score.ref_len])
        if signatures is not None:
            signatures[name] = str(metric.get_signature())
    for name, options in CHRFS.items():
        metric = CHRF(**options)
        want[name] = rounded([metric.corpus_score(predictions, references).score])
        if signatures is not None:
            signatures[name] = str(metric.get_signature())
    return want


def text_want(pairs, signatures=None):
    def mean(scores):
        return rounded([100 * sum(score[v] for score in scores) / len(scores) for v in range(2)])

    want, geometric = rouges(pairs)
    want["exact_match"] = rounded([100 * sum(p in r for p, r in pairs) / len(pairs)])
    want["squad"] = mean([answer_scores(p, r) for p, r in pairs])
    want["trivia_qa"] = mean([answer_scores(p.replace("_", " "), [x.replace("_", " ") for x in r], trivia=True) for p, r in pairs])
    want["squad2"] = rounded(squad2(pairs)[: None if signatures is not None else 2])
    want.update(sacrebleus(pairs, signatures))
    if signatures is not None:
        want.update(geometric)
    return want


def texts():
    rng = random.Random(11)
    pairs = [text_case(rng, i) for i in range(CASES)]
    records = [dict(p=[p], r=[r], want=text_want([(p, r)])) for p, r in pairs]
    for i in range(60):
        n = rng.randint(2, 40)
        first, signatures = rng.randrange(CASES - n), {}
        want = text_want(pairs[first : first + n], signatures)
        records.append(dict(first=first, n=n, want=want, signature=signatures))
    write("texts.jsonl.gz", records)


def stems():
    """Words of many shapes, and what NLTK makes of them."""
    roots = """b be bee by cry die dy er fl fli gen geolog hop hopp i io ly mill nation oed organ parl proceed pro rat relat run s sens
    sky st sw tion tr try up vi w wo x y yy y9 z 3d 9th adopt agre all call controll decis electric fizz form happ hop news inn
    out cann how exc succ l li log su t ti typ""".split()
    endings = """ - s es ies ied ed ing eed ly y e er or al ally alli ational tional enci anci izer bli abli alli entli eli ousli
    ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness ance ence ic
    able ible ant ement ment ent sion tion ion ou ism ate iti ous ive ize ll lle ed's bb ing9 at bl iz ating bled izing ss sses ying
    ays oys ey yed ings eying""".split()
    words = set(WORDS)
    for root in roots:
        words.update(re.sub("[^a-z0-9]", "", root + ending) for ending in endings)
    stemmer = PorterStemmer()
    words = sorted(word for word in words if re.fullmatch("[a-z0-9]+", word))
    write("stems.jsonl.gz", [[word, stemmer.stem(word)] for word in words])


# ---- labels ----


def f1_values(actual, predicted, **options):
    precision, recall, f1, _ = sklearn.metrics.precision_recall_fscore_support(actual, predicted, zero_division=0, **options)
    return rounded([100 * f1, 100 * precision, 100 * recall])


def label_want(actual, predicted):
    want = {
        "accuracy": rounded([100 * sklearn.metrics.accuracy_score(actual, predicted)]),
        "f1_macro": f1_values(actual, predicted, average="macro"),
        "f1_micro": f1_values(actual, predicted, average="micro"),
        "matthews": rounded([100 * sklearn.metrics.matthews_corrcoef(actual, predicted)]),
    }
    for average in ("macro", "micro"):
        want[f"f1_{average} labels=0,1,2"] = f1_values(actual, predicted, average=average, labels=["0", "1", "2"])
    return want


def invalid_is_wrong(actual, predicted):
    """T5's rule of two classes: a prediction that is neither counts as the other one."""
    return [p if p in "01" else "10"[int(a)] for a, p in zip(actual, predicted)]


def binary_want(actual, predicted, groups):
    predicted = invalid_is_wrong(actual, predicted)
    f1 = f1_values([int(a) for a in actual], [int(p) for p in predicted], average="binary")
    right = collections.defaultdict(list)
    for a, p, g in zip(actual, predicted, groups):
        right[g].append(a == p)
    exact = 100 * sum(map(all, right.values())) / len(right)
    return {"f1 positive=1": f1, "multirc positive=1": rounded([f1[0], exact])}


def labels():
    rng = random.Random(12)
    records = []
    for i in range(2 * CASES):
        binary, n = i % 2 == 1, rng.choice([1, 2, 3, 5, 8, 13, 30])
        names = "01" if binary else "0123"[: rng.randint(1, 4)]
        actual = [rng.choice(names) for _ in range(n)]
        wrong = rng.choice([0, 0.2, 0.5, 1])
        predicted = [rng.choice(names + "x") if rng.random() < wrong else a for a in actual]
        record = dict(p=predicted, r=[[a] for a in actual])
        if binary:
            if "0" not in actual: # then nobody knows the other label
                predicted[:] = ["0" if p == "x" else p for p in predicted]
            record["g"] = [str(rng.randrange(max(1, n // 3))) for _ in range(n)]
            record["want"] = binary_want(actual, predicted, record["g"])
        else:
            record["want"] = label_want(actual, predicted)
        records.append(record)
    write("labels.jsonl.gz", records)


# ---- numbers ----


def parsed(text):
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if math.isfinite(value) else -1.0


def correlations(actual, predicted):
    x, y = numpy.array(predicted), numpy.array(actual)
    constant = (x == x[0]).all() or (y == y[0]).all()
    return {"pearson": rounded([math.nan if constant else 100 * float(scipy.stats.pearsonr(x, y)[0])]),
            "spearman": rounded([math.nan if constant else 100 * float(scipy.stats.spearmanr(x, y)[0])])}


def numbers():
    rng = random.Random(13)
    records = []
    for i in range(CASES):
        n, scale = rng.choice([2, 3, 5, 9]), rng.choice([1, 1, 1e-3, 1e6, 1e100])
        steps = rng.choice([1, 5, 50])
        actual = [round(scale * rng.randint(0, steps) / 5, 9) for _ in range(n)]
        noise = rng.choice([0, 0.5, 3])
        predicted = [f"{a + scale * rng.gauss(0, noise):.4g}" for a in actual]
        for k in range(n):
            if rng.random() < 0.05:
                predicted[k] = rng.choice(["", "x", "nan", "inf", "1.2.3", "four", "1e999", " 2.5 ", "-0", "0x10", "1e", "+3", ".5", "3."])
        records.append(dict(p=predicted, r=[[repr(a)] for a in actual], want=correlations(actual, [parsed(p) for p in predicted])))
    for i in range(CASES):
        n = rng.randint(1, 6)
        logprobs, tokens = [-round(rng.expovariate(0.1), 3) for _ in range(n)], [rng.randint(1, 30) for _ in range(n)]
        loss = -numpy.sum(logprobs) / numpy.sum(tokens)
        records.append(dict(p=[repr(x) for x in logprobs], r=[[str(t)] for t in tokens],
                            want={"perplexity": rounded([float(numpy.exp(loss)), float(loss)])}))
    write("numbers.jsonl.gz", records)


# ---- tags ----


def tag_values(actual, predicted, raw, **options):
    equal = [a == p for x, y in zip(actual, raw) for a, p in zip(x, y)]
    return rounded([100 * float(score(actual, predicted, zero_division=0, **options)) for score in
                    (seqeval_metrics.f1_score, seqeval_metrics.precision_score, seqeval_metrics.recall_score)] +
                   [100 * sum(equal) / len(equal) if equal else 0])


def tag_sequence(rng, prefixes, n):
    tags = ["O"]
    for _ in range(n):
        way = rng.random()
        if way < 0.3:
            tags.append("O")
        elif way < 0.6 and tags[-1] != "O":
            tags.append(rng.choice(prefixes) + tags[-1][1:])
        else:
            tags.append(rng.choice(prefixes) + "-" + rng.choice(["PER", "LOC", "ORG-X"]))
    return tags[1:]


def tags():
    rng = random.Random(14)
    records = []
    for i in range(2 * CASES):
        strict = i % 2 == 0
        prefixes = "BI" if strict else "BIES"
        actual = [tag_sequence(rng, prefixes, rng.randint(1, 12)) for _ in range(rng.randint(1, 4))]
        rate = rng.choice([0.05, 0.2, 0.7])
        raw = [[rng.choice(tag_sequence(rng, prefixes, 3) + (["x", "", "Ünk"] if rng.random() < 0.1 else [])) or "?"
                if rng.random() < rate else tag for tag in sequence] for sequence in actual]
        predicted = [[tag if tag[0] in "BIESO" else "O" for tag in sequence] for sequence in raw]
        want = {"seqeval": tag_values(actual, predicted, raw)}
        if strict:
            want["seqeval_iob2"] = tag_values(actual, predicted, raw, mode="strict", scheme=IOB2)
        records.append(dict(p=[" ".join(s) for s in raw], r=[[" ".join(s)] for s in actual], want=want))
    write("tags.jsonl.gz", records)


# ---- intervals ----


def philox(key, counter):
    """Philox4x32-10 (Salmon et al. 2011)."""
    k, c, word = list(key), list(counter), (1 << 32) - 1
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & word, a >> 32 ^ c[3] ^ k[1], a & word]
        k = [(k[0] + 0x9E3779B9) & word, (k[1] + 0xBB67AE85) & word]
    return c


def resample(seed, draw, n):
    """Units of bootstrap sample `draw`: as scores/stats.c has them; 10 is the purpose of its key."""
    key = philox((seed & 0xFFFFFFFF, seed >> 32), (10, 0, 0, 0))[:2]
    words = [word for index in range((n + 1) // 2) for word in philox(key, (index, 0, draw, 0))]
    return [(words[2 * i] | words[2 * i + 1] << 32) % n for i in range(n)]


def intervals():
    rng = random.Random(15)
    records = []
    for case in range(8):
        n, seed = rng.randint(5, 40), rng.randrange(1 << 40)
        actual = [rng.choice("01") for _ in range(n)]
        predicted = [a if rng.random() < 0.7 else rng.choice("01") for a in actual]
        draws = [resample(seed, r, n) for r in range(300)]
        want, bounds = {}, {}
        for name in ("accuracy", "f1_macro", "matthews", "pearson"):
            def score(pick):
                a, p = [actual[i] for i in pick], [predicted[i] for i in pick]
                values = correlations([float(x) for x in a], [float(x) for x in p]) if name == "pearson" else label_want(a, p)
                return values[name][0]
            options = f"{name} resamples=300 seed={seed}"
            scores = [value for value in map(score, draws) if value is not None]
            want[options] = [score(range(n))]
            bounds[options] = rounded(float(x) for x in numpy.percentile(scores, [2.5, 97.5]))
        records.append(dict(p=predicted, r=[[a] for a in actual], want=want, interval=bounds))
    write("intervals.jsonl.gz", records)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for make in (texts, stems, labels, numbers, tags, intervals):
        if make.__name__ in sys.argv[2:] or not sys.argv[2:]:
            make()
