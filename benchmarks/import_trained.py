"""Imported models that have learned something: do they write what they wrote, and what does int8 cost them?

    python -m benchmarks.import_trained DATA --work FOLDER [--only NAME] [--from de] [--json FILE]

A Marian, a BART, a T5 1.0 and an mT5 of about two million weights are trained by transformers' own Trainer
(pip install accelerate) on Multi30k, English to German or back, so that their distributions are peaked; with
`--words` on short captions alone, of which a slow machine learns more. DATA has `multi30k`. Each is imported
with its certificate; 500 captions of the test sets of 2016 and 2017, as short as those, are translated
greedily by transformers and by us. Where texts differ, the smallest gap between the two best logits of a
step says how near a tie was. Then the model is made int8, with the certificate of that on all such captions,
and goes back to transformers and comes in again. What is in FOLDER already, with a `trained.json`, is not
trained again: a folder of transformers that was made otherwise, or with `--train-only` on a machine with a
GPU, may lie there.
"""

import argparse
import gzip
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.importing.families import make_bart, make_marian, make_t5, package

from jumok.decoding.translator import load
from jumok.errors import ThresholdError
from jumok.export.model import export_model
from jumok.importing.model import import_model

SIZES = {"width": 192, "heads": 4, "inner": 512, "layers": 2, "positions": 128}
VOCABULARY = 2_000
MAKERS: Mapping[str, Callable[..., Path]] = {
    "marian": make_marian,
    "bart": make_bart,
    "t5": make_t5,
    "mt5": lambda *given, **more: make_t5(*given, version="mt5", **more),
}
TEXTS, CERTIFIED = 500, 100  # sentences whose texts are compared, and of which every logit is
LONGEST = 60  # tokens of an answer
BATCH = 64  # captions in an update


@dataclass(frozen=True, kw_only=True)
class Captions:
    """Captions of Multi30k in one direction, of at most so many English words."""

    data: Path
    source: str
    words: int

    def of(self, *names: str) -> tuple[list[str], list[str]]:
        """Sources and targets of these parts."""
        codes = ("en", "de")
        folder = self.data / "multi30k"
        packed = [[(folder / f"{name}.{code}.gz").read_bytes() for name in names] for code in codes]
        texts = [b"".join(map(gzip.decompress, side)).decode() for side in packed]
        sides = [[tidy(line) for line in text.split("\n")[:-1]] for text in texts]
        pairs = [pair for pair in zip(*sides, strict=True) if len(pair[0].split()) <= self.words]
        turn = -1 if self.source == "de" else 1
        sources, targets = [list(side) for side in zip(*pairs, strict=True)][::turn]
        return sources, targets


def tidy(text: str) -> str:
    return " ".join(text.split())


def fresh(folder: Path) -> Any:
    """A model with weights as its library starts from, but of a size that fits a small one: those of Marian
    and BART are larger, because the library's 0.02 is for wide models, and the tables of a T5 smaller,
    because it expects an optimiser whose steps grow with the weights (Adafactor)."""
    import torch

    library = package()
    torch.manual_seed(1)
    config = library.AutoConfig.from_pretrained(folder)
    config.init_std = SIZES["width"] ** -0.5
    model = library.AutoModelForSeq2SeqLM.from_config(config)
    if "t5" in model.config.model_type:
        model.shared.weight.data *= 0.2
    if model.config.model_type == "mt5":
        model.lm_head.weight.data *= model.config.d_model**-0.5
    return model


def train(folder: Path, captions: Captions, steps: int) -> None:
    """Makes a folder of the family and trains its model, with the library's own trainer."""
    library = package()
    left, right = captions.of("train")
    part = folder.with_suffix(".part")
    part.mkdir(parents=True)
    MAKERS[folder.name](part, SIZES, lines=[*left, *right], vocabulary=VOCABULARY)
    model, tokenizer = fresh(part), library.AutoTokenizer.from_pretrained(part)
    sources = tokenizer(left, max_length=48, truncation=True)["input_ids"]
    targets = tokenizer(text_target=right, max_length=48, truncation=True)["input_ids"]
    rows = [{"input_ids": source, "labels": target} for source, target in zip(sources, targets, strict=True)]
    settings = library.Seq2SeqTrainingArguments(
        output_dir=str(part / "trainer"), max_steps=steps, per_device_train_batch_size=BATCH,
        learning_rate=2e-3, warmup_steps=steps // 10, report_to=[],
        save_strategy="no", logging_steps=50, disable_tqdm=True, seed=1,
        train_sampling_strategy="group_by_length", label_smoothing_factor=0.1, optim="adamw_torch_fused",
    )  # fmt: skip
    collate = library.DataCollatorForSeq2Seq(tokenizer, model=model)
    began = time.process_time()
    library.Seq2SeqTrainer(model=model, args=settings, train_dataset=rows, data_collator=collate).train()
    model.eval().save_pretrained(part)
    about = {"steps": steps, "captions": len(rows), "processor_seconds": round(time.process_time() - began)}
    (part / "trained.json").write_text(json.dumps(about))
    part.rename(folder)


def greedy(folder: Path, texts: Sequence[str]) -> tuple[list[str], list[float]]:
    """What transformers writes without `<unk>`, which we never write, and how near the nearest tie on the way
    was: the smallest gap between the logits of the two best tokens of a step."""
    import torch

    library = package()
    model = library.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = library.AutoTokenizer.from_pretrained(folder)
    found, gaps = list[str](), list[float]()
    with torch.inference_mode():
        for first in range(0, len(texts), 50):
            batch = tokenizer(list(texts[first : first + 50]), return_tensors="pt", padding=True)
            batch.pop("token_type_ids", None)
            made = model.generate(
                **batch, num_beams=1, do_sample=False, max_new_tokens=LONGEST, max_length=None,
                output_scores=True, return_dict_in_generate=True, suppress_tokens=[tokenizer.unk_token_id],
            )  # fmt: skip
            found += [tidy(text) for text in tokenizer.batch_decode(made.sequences, skip_special_tokens=True)]
            best = torch.stack(made.scores, dim=1).topk(2).values  # (B, T, 2)
            written = made.sequences[:, 1:] != model.config.pad_token_id
            gap = (best[..., 0] - best[..., 1]).masked_fill(~written, torch.inf)
            gaps += gap.amin(1).tolist()
    return found, gaps


def written(folder: Path, texts: Sequence[str]) -> list[str]:
    """What our engine in C writes greedily, with nothing of ours around it."""
    asked = {"beam": 1, "sentences": "as-is", "protect": False, "max_len": LONGEST, "loops": True}
    return [tidy(one.text) for one in load(folder, engine="native").translate(list(texts), **asked)]


def there_and_back(ours: Path, few: Path) -> Path:
    """Exported as a folder of transformers, and imported from there."""
    away, again = ours.with_name(f"{ours.name}-away"), ours.with_name(f"{ours.name}-again")
    export_model(ours, "huggingface", away, source=few, overwrite=True)
    import_model(away, again, overwrite=True)
    return again


def compare(folder: Path, captions: Captions) -> dict[str, Any]:
    """The imported model against its original, and its int8 against itself."""
    work = folder.parent
    texts, references = captions.of("test_2016_flickr", "test_2017_flickr")
    files = [work / "test.source", work / "test.target"]
    for file, lines in zip(files, (texts, references), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    few = work / "few.source"
    few.write_text("".join(f"{line}\n" for line in texts[:CERTIFIED]), encoding="utf-8")
    ours, small = work / f"{folder.name}-ours", work / f"{folder.name}-int8"
    imported = import_model(folder, ours, source=few, thresholds={"equal": 0.99}, overwrite=True)
    mine = written(ours, texts[:TEXTS])
    theirs, gaps = greedy(folder, texts[:TEXTS])
    differing = [n for n in range(TEXTS) if mine[n] != theirs[n]]
    failed = ""
    try:
        int8 = export_model(ours, "native", small, source=files[0], target=files[1], overwrite=True)
    except ThresholdError as error:
        failed = error.message
        int8 = json.loads((small.with_name(f"{small.name}.failed") / "certificate.json").read_text())
    return {
        **json.loads((folder / "trained.json").read_text()),
        "weights": (ours / "model.safetensors").stat().st_size // 4,
        "certificate": imported,
        "sentences": TEXTS,
        "equal": TEXTS - len(differing),
        "differing": [
            {"source": texts[n], "ours": mine[n], "theirs": theirs[n], "gap": gaps[n]} for n in differing
        ],
        "median_gap": statistics.median(gaps),
        "int8": int8,
        "int8_failed": failed,
        "round_trip_equal": sum(map(str.__eq__, mine, written(there_and_back(ours, few), texts[:TEXTS]))),
        "load": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--from", dest="source", choices=["en", "de"], default="en", help="language [en]")
    parser.add_argument("--words", type=int, default=100, help="English words of a caption at most [100]")
    parser.add_argument("--train-only", action="store_true", help="and compare nothing")
    parser.add_argument("--json", type=Path, help="readings; those of other models stay")
    options = parser.parse_args()
    captions = Captions(data=options.data, source=options.source, words=options.words)
    for name in options.only:
        if not (options.work / name).exists():
            train(options.work / name, captions, options.steps)
        if options.train_only:
            continue
        found = compare(options.work / name, captions)
        print(name, json.dumps(found, indent=1, ensure_ascii=False), flush=True)
        if options.json:
            known = json.loads(options.json.read_text()) if options.json.exists() else {}
            text = json.dumps({**known, name: found}, indent=1, ensure_ascii=False)
            options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
