"""transformers' Trainer, grouped by length, as a contestant of cpu_training.py, which runs this file.

Needs transformers and accelerate, and nothing of jumok: it runs in an environment of its own. Its argument is
one JSON object; so is the last line that it prints.
"""

import json
import resource
import sys
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from transformers import (
    DataCollatorForSeq2Seq,
    MarianConfig,
    MarianMTModel,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
)

BOS, PAD, EOS = 0, 1, 2


class Clock(TrainerCallback):
    """Counts what a collator gave out, from the end of the warm-up until the time is up."""

    def __init__(self, warm: int, seconds: float) -> None:
        self.warm, self.seconds, self.steps, self.began, self.ended = warm, seconds, 0, 0.0, 0.0
        self.used = self.used_before = 0.0  # processor time
        self.made: list[tuple[int, int]] = []  # real tokens and places of each batch

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.steps, self.ended, self.used = state.global_step, perf_counter(), process_time()
        if self.steps == self.warm:
            self.began, self.used_before = self.ended, self.used
        control.should_training_stop = self.steps > self.warm and self.ended - self.began > self.seconds

    def report(self) -> dict[str, float]:
        timed = self.made[self.warm : self.steps]
        tokens, places = (sum(column) for column in zip(*timed, strict=True))
        spent = {"seconds": self.ended - self.began, "cpu": self.used - self.used_before}
        return {"tokens": tokens, "places": places, **spent, "steps": len(timed)}


class Collator(DataCollatorForSeq2Seq):
    """Fills batches up as transformers does, and counts."""

    clock: Clock

    def __call__(self, features: Any, return_tensors: Any = None) -> Any:
        source = [len(pair["input_ids"]) for pair in features]
        target = [len(pair["labels"]) for pair in features]
        places = len(features) * (max(source) + max(target))
        self.clock.made.append((sum(source) - len(source) + sum(target), places))
        width = [max(source), max(target)]
        ids, labels = (
            torch.full((len(features), n), fill) for n, fill in zip(width, (PAD, -100), strict=True)
        )
        for row, pair in enumerate(features):
            ids[row, : source[row]] = torch.tensor(pair["input_ids"])
            labels[row, : target[row]] = torch.tensor(pair["labels"])
        before = labels.masked_fill(labels == -100, PAD).roll(1, dims=1)
        before[:, 0] = BOS
        return {
            "input_ids": ids,
            "attention_mask": (ids != PAD).long(),
            "labels": labels,
            "decoder_input_ids": before,
        }


class Pairs(torch.utils.data.Dataset[dict[str, list[int]]]):
    def __init__(self, file: str) -> None:
        data = np.load(file)
        sides = (("source", "input_ids"), ("target", "labels"))
        split = {name: np.split(data[side], data[f"{side}_ends"][:-1]) for side, name in sides}
        self.rows = [
            {"input_ids": [*x.tolist(), EOS], "labels": [*y.tolist(), EOS]}
            for x, y in zip(split["input_ids"], split["labels"], strict=True)
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> dict[str, list[int]]:
        return self.rows[row]


def make_model(given: dict[str, Any]) -> MarianMTModel:
    sizes = {
        f"{side}_{what}": value
        for side in ("encoder", "decoder")
        for what, value in (
            ("layers", given["layers"]),
            ("ffn_dim", given["feedforward"]),
            ("attention_heads", given["heads"]),
        )
    }
    config = MarianConfig(
        vocab_size=given["vocabulary"],
        d_model=given["width"],
        dropout=given["dropout"],
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        **sizes,
    )
    return MarianMTModel(config)


def main() -> None:
    given = json.loads(sys.argv[1])
    torch.set_num_threads(given["threads"])
    clock = Clock(given["warm"], given["seconds"])
    grouping = {"group_by_length": True}
    if "train_sampling_strategy" in Seq2SeqTrainingArguments.__dataclass_fields__:  # its name since 5.0
        grouping = {"train_sampling_strategy": "group_by_length"}
    settings = Seq2SeqTrainingArguments(
        output_dir=given["folder"],
        per_device_train_batch_size=given["sentences"],
        num_train_epochs=1000,
        label_smoothing_factor=given["smoothing"],
        learning_rate=given["rate"],
        max_grad_norm=1.0,
        use_cpu=True,
        bf16=given["bf16"],
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
        dataloader_num_workers=0,
        seed=given["seed"],
        **grouping,
    )
    collator = Collator(tokenizer=None)
    collator.clock = clock
    trainer = Seq2SeqTrainer(
        make_model(given),
        settings,
        train_dataset=Pairs(given["pairs"]),
        data_collator=collator,
        callbacks=[clock],
    )
    trainer.train()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**clock.report(), "memory": memory}))


if __name__ == "__main__":
    main()
