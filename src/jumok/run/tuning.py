"""The plan of a run that starts from a model: small steps, an early end, and what keeps the old knowledge.

Two things let a model forget: steps that are too long, and data without what it knew. So the rate is a part
of that of a run from nothing, a step takes back a share of the way from the start (`training.anchor`), and
old pairs are mixed in where there are any (`--keep`, replay). Rate, batch, dropout, share and anchor are of
runs in benchmarks/README.md; other strengths of an anchor, and rates for adapters, have not been measured.

A start that has learned from less than half of what there is now is a beginning and not something to keep:
it takes the rate of a run from nothing, and no anchor.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from jumok.config import ENDLESS, TransformerConfig
from jumok.data.builtin import builtin_info
from jumok.data.reader import CheckReport
from jumok.data.survey import Survey
from jumok.evaluation.lengths import parse_train_lengths
from jumok.run.forecast import refuse_longer_than_a_piece, refuse_too_large, tokens_per_second
from jumok.run.machine import Machine
from jumok.run.plan import (
    Choice,
    Plan,
    PlanDraft,
    choose_batches,
    choose_hold_out,
    choose_languages,
    choose_threads,
    fitting_length,
    fitting_rate,
    pieces_of,
    so_far,
    time_limit,
)
from jumok.run.start import DESCENT, StartModel, check_source, inherited
from jumok.settings import Flat, nest, parse_config
from jumok.text.coverage import coverage
from jumok.training.frozen import is_frozen
from jumok.training.optimizer import is_hidden_matrix

EPOCHS = ((5_000, 20), (50_000, 10), (500_000, 4))  # pairs, and times through the data for up to that many
FEW = 5_000  # new pairs below which updates on a CPU are smaller
FEW_BATCH = 1500  # tokens in one of those
RATE = 0.5  # of the rate that a run from nothing would have
KEEP_SHARE = 0.6  # of an epoch's pairs that are old ones
ANCHOR = 10.0  # share of the distance, times the rate, that is taken back
DROPOUT = 0.1
LOOKS, LOOKED_AT = 8, 200  # looks at the validation set, and sentences that are translated in each
PATIENCE = 4  # looks without a better score
POORLY = 0.005  # share of tokens that are bytes above which more tokens are worth a word
BEGINNING = 0.5  # share of the new pairs below which what a model has learned from is a beginning
SAMPLE = 2_000  # pairs whose tokens are counted
TOKENS_MORE, TOKENS_MORE_OF_A_BEGINNING = 500, 2_000  # what `--extend-vocabulary` is advised for


def plan_from(given: Flat, report: CheckReport, machine: Machine, start: StartModel) -> Plan:
    """Settings for going on from a model with this data on this machine; refuses what contradicts it."""
    wishes = {key: value for key, value in given.items() if (key, value) != ("training.precision", "auto")}
    found, theirs = report.train, inherited(given, start)
    draft = PlanDraft(theirs | wishes)
    draft.choices.append(Choice("start.model", given["start.model"], described(start)))
    choose_from_start(draft, start, found)
    check_source(start, so_far(draft))
    arch = start.config.model.arch
    choose_threads(draft, arch, machine)
    if not machine.gpu and found.usable < FEW:
        draft.choose("training.batch_tokens", FEW_BATCH, f"{found.usable:,} pairs: more updates teach more")
    choose_batches(draft, found, machine)
    choose_keeping(draft, start, found)
    if has_no_biases(start) and not given.get("training.lora"):
        draft.choose("training.freeze", "biases", "the model has none, as T5: so it can be exported as one")
    choose_tuning(draft, start, report, machine)
    config = parse_config(nest(draft.settings()), "the plan, your settings and the model it starts from")
    refuse_longer_than_a_piece(config, machine)
    refuse_too_large(config, machine)
    rate = tokens_per_second(config, machine)
    seconds = config.training.max_steps * config.training.batch_tokens / rate
    seconds = min(seconds, config.training.time_limit or seconds)
    return Plan(config, tuple(draft.choices), rate, seconds, tuple(notes_of(draft, start, report)))


def described(start: StartModel) -> str:
    """A model in a few words."""
    model, both = start.config.model, start.tokenizers
    layers = " + ".join(map(str, model.depths))
    tokens = (
        f"{both.target.size:,}"
        if both.shared or both.pictures
        else f"{both.source.size:,} + {both.target.size:,}"
    )
    sizes = f"width {model.width}, {layers} layers, {tokens} tokens"
    return f"weights, tokenizer and shapes of a {model.arch}: {sizes}"


def choose_from_start(draft: PlanDraft, start: StartModel, found: Survey) -> None:
    """What goes on as it was unless the data says otherwise: languages, metric, the longest sentence."""
    choose_languages(draft, found.languages)
    before, training = start.config.data, start.config.training
    for side in ("source", "target"):
        if code := getattr(before, f"{side}_language"):
            draft.choose(f"data.{side}_language", code, "as the model has it")
    length, reason = max(fitting_length(found), (before.max_length, "as the model was trained"))
    if (rows := start.config.model.table_rows) is not None and length >= rows:
        length, reason = rows - 1, "the model has no positions for more"
    draft.choose("data.max_length", length, reason)
    name = draft.given.get("data.name")
    metric = (builtin_info(name).settings if name else {}).get("training.metric", training.metric)
    draft.choose("training.metric", metric, "what the best is compared by, now on the new data")
    draft.choose("training.label_smoothing", training.label_smoothing, "as the model was trained")
    draft.choose("training.teacher_forcing", training.teacher_forcing, "as the model was trained")
    draft.choose("model.dropout", DROPOUT, "a short run from a good start: more would only slow it")
    choose_hold_out(draft, found)


def is_beginning(start: StartModel, new_pairs: int) -> bool:
    """Whether all that the model has ever learned from is little beside what there is now."""
    info = start.loaded.info
    learned = parse_train_lengths(info.get("train_lengths"))
    return learned is not None and not info.get(DESCENT) and learned.pairs < BEGINNING * new_pairs


def choose_keeping(draft: PlanDraft, start: StartModel, found: Survey) -> None:
    """Replay where there are old pairs, and an anchor; adapters forget little without one."""
    keep, adapters = draft.given.get("start.keep"), draft.given.get("training.lora")
    if is_beginning(start, found.usable) and not keep:
        reason = "the model has learned from far fewer pairs: it is a beginning, not something to keep"
        draft.choose("training.anchor", 0.0, reason)
        return
    if keep:
        reason = f"{KEEP_SHARE:.0%} of the pairs of each epoch are old ones: replay keeps what the model knew"
        draft.choose("start.keep_share", KEEP_SHARE, reason)
    if not adapters:
        reason = "each step takes back a share of the way from the start: with replay it forgets least"
        alone = "no old pairs are given (--keep): each step takes back a share of the way from the start"
        draft.choose("training.anchor", ANCHOR, reason if keep else alone)


def has_no_biases(start: StartModel) -> bool:
    """Whether it is a T5, whose biases are all 0 here."""
    config, weights = start.config.model, start.loaded.model.named_parameters()
    t5 = isinstance(config, TransformerConfig) and config.rms_norm and config.positions == "relative"
    return t5 and not any(weight.any() for name, weight in weights if name.endswith(".bias"))


def choose_tuning(draft: PlanDraft, start: StartModel, report: CheckReport, machine: Machine) -> None:
    """Length of the run, rate, and how often to look."""
    choose, limit, found = draft.choose, time_limit(draft.given), report.train
    batch, share = draft.settings()["training.batch_tokens"], draft.settings().get("start.keep_share", 0.0)
    per_epoch = max(1, round(pieces_of(draft, found) / (1 - share) / batch))
    if limit:
        steps = max(50, round(tokens_per_second(so_far(draft), machine) * limit / batch))
        choose("training.max_steps", ENDLESS, "the time limit ends the run")
        choose("training.patience", 0, "the time limit ends the run")
    else:
        epochs = next((times for most, times in EPOCHS if found.usable < most), 2)
        steps = max(100, epochs * per_epoch)
        choose("training.max_steps", steps, f"about {epochs} times through the new data at most")
        choose("training.patience", PATIENCE, "it ends early when the new data's score no longer rises")
    steps = min(steps, draft.settings()["training.max_steps"])
    course = "a short rise, then a line to zero at the end of the run"
    rise = steps // (4 if is_beginning(start, found.usable) else 20)  # the whole rate needs a slower one
    choose("training.warmup", min(steps - 1, max(1, min(100, rise))), course)
    choose("training.schedule", "constant", course)
    choose("training.cooldown", 1.0, course)
    choose("training.lr", *tuning_rate(draft, start, found.usable))
    looks = f"about {LOOKS} looks, at {LOOKED_AT} sentences: a look takes longer than many steps"
    every = choose("training.validate_every", max(10, steps // LOOKS), looks)
    choose("training.valid_sentences", LOOKED_AT, looks)
    choose("training.save_every", every, "with each look")


def tuning_rate(draft: PlanDraft, start: StartModel, new_pairs: int) -> tuple[float, str]:
    """A part of the rate of a run from nothing; adapters are few and a beginning is little: all of it."""
    full, _ = fitting_rate(start.config.model.arch, draft.settings())
    if is_beginning(start, new_pairs) and not draft.given.get("start.keep"):
        return full, "the rate of a run from nothing: there is little to forget"
    if draft.given.get("training.lora"):
        return full, "adapters start from nothing, and take the rate of a run that does"
    return round(RATE * full, 7), f"{RATE:.0%} of what a run from nothing takes: small steps forget less"


def notes_of(draft: PlanDraft, start: StartModel, report: CheckReport) -> list[str]:
    """What the vocabulary does not cover, and other languages than before."""
    notes, settings, before = [], draft.settings(), start.config.data
    for side in ("source", "target"):
        now, then = settings.get(f"data.{side}_language", ""), getattr(before, f"{side}_language")
        if now and then and now != then:
            notes.append(f"the {side} is {now}, and the model has learned {then}")
    if start.tokenizers.pictures is None and report.train.texts is not None:
        pairs = list(islice(report.train.texts, SAMPLE))
        beginning = is_beginning(start, report.train.usable)
        more = TOKENS_MORE_OF_A_BEGINNING if beginning else TOKENS_MORE
        for number, side in enumerate(("source", "target")):
            tokenizer = (start.tokenizers.source, start.tokenizers.target)[number]
            found = coverage(tokenizer, [pair[number] for pair in pairs])
            poor = (found.share >= POORLY or beginning) and not settings.get("start.extend_vocabulary")
            advice = f"; --extend-vocabulary {more} adds tokens for them" if poor else ""
            notes.append(f"vocabulary: of the new {side}, {found}{advice}")
    learning = learning_share(start, settings)
    if learning < 1:
        notes.append(f"{learning:.1%} of the weights learn")
    return notes


def learning_share(start: StartModel, settings: Mapping[str, Any]) -> float:
    """How much of the model is not frozen, adapters counted in the place of what they adapt."""
    parts = tuple(filter(None, str(settings.get("training.freeze", "")).split(",")))
    rank, total, learning = settings.get("training.lora", 0), 0, 0
    for name, weight in start.loaded.model.named_parameters():
        total += weight.numel()
        if is_frozen(name, parts):
            continue
        adapted = rank and is_hidden_matrix(name, weight)
        learning += rank * sum(weight.shape) if adapted else 0 if rank else weight.numel()
    return learning / total
