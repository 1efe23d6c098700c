"""The plan: data and machine to every setting that the user left open, with a reason each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumok.config import ENDLESS, Arch, DataConfig, RunConfig
from jumok.data.builtin import builtin_info, reads_pictures
from jumok.data.survey import Survey, usual_hold_out
from jumok.errors import ConfigError
from jumok.formats.files import split_packing
from jumok.presets import preset
from jumok.run.forecast import (
    parts_that_fit,
    refuse_longer_than_a_piece,
    refuse_too_large,
    tokens_per_second,
)
from jumok.run.machine import Machine
from jumok.settings import Flat, nest, parse_config
from jumok.text.languages import translates
from jumok.training.threads import LEAST, MOST

# Words of the corpus, and the vocabulary for up to that many.
VOCABULARIES = ((30_000, 2000), (2_000_000, 4000), (10_000_000, 8000), (100_000_000, 16_000))
# Pairs of the corpus, and tokens in one update on a GPU for up to that many.
GPU_BATCHES = ((10_000, 4096), (200_000, 8192), (1_000_000, 25_000))
GPU_BATCH = 50_000  # for more pairs
CPU_BATCH = 2000
CHARACTERS_PER_PIECE = {"bpe": 4, "char": 1, "word": 3}
LINE_S = 10  # seconds between two lines of the log, where steps are slow
LOOKS = 12  # at the validation set in a run on a GPU, or in one with a time limit
HURRY = 3600  # seconds on a CPU below which the recurrent model learns more than the Transformer
NO_LANGUAGES = {"bpe", "in", "out", "raw", "src", "tgt", "tok", "trg", "txt"}  # usual endings of text
NO_LANGUAGES |= {"csv", "po", "pot", "tmx", "tsv", "xlf", "zip"}  # and of files with both sides
WORTH_BF16 = 1.25  # times as fast as fp32 must a CPU multiply in bf16 to be asked to,
BF16_WIDTH = 64  # in models from this width on: measured, see benchmarks/README.md
SEEN_TOO_RARELY = 3  # words per token below which a vocabulary cannot be learned


@dataclass(frozen=True)
class Choice:
    """One setting, and why it has this value."""

    key: str
    value: Any
    reason: str


@dataclass(frozen=True)
class Plan:
    """A complete configuration, the choices behind it, what to expect, and what else to know."""

    config: RunConfig
    choices: tuple[Choice, ...]
    tokens_per_second: float
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass
class PlanDraft:
    """Choices as they are made; what the user has set is never chosen again."""

    given: Mapping[str, Any]
    choices: list[Choice] = field(default_factory=list)

    def choose(self, key: str, value: Any, reason: str) -> Any:
        """The user's value if there is one, else `value`, noted with its reason."""
        if key in self.given:
            return self.given[key]
        for choice in self.choices:
            if choice.key == key:  # what suits the data set comes first
                return choice.value
        self.choices.append(Choice(key, value, reason))
        return value

    def settings(self) -> Flat:
        return {choice.key: choice.value for choice in self.choices} | dict(self.given)


def make_plan(given: Flat, found: Survey, machine: Machine) -> Plan:
    """Settings for this data on this machine; refuses what cannot learn."""
    wishes = {key: value for key, value in given.items() if (key, value) != ("training.precision", "auto")}
    draft = PlanDraft(wishes)
    choose_for_set(draft)
    arch: Arch = draft.choose("model.arch", *fitting_arch(given, machine))
    choose_languages(draft, found.languages)
    choose_text(draft, found, machine)
    kinds = (draft.settings().get("text.kind", "bpe"), draft.settings().get("text.target_kind"))
    if repeats(arch, found, machine) and "bpe" in kinds and not has_pictures(draft):
        draft.choose("text.dropout", 0.1, "few pairs: words are also seen in parts")
    choose_size(draft, arch, found, machine)
    parse_config(nest({"training.warmup": 0} | draft.settings()), "the plan and your settings")
    choose_threads(draft, arch, machine)
    choose_batches(draft, found, machine)
    choose_training(draft, arch, found, machine)
    config = parse_config(nest(draft.settings()), "the plan and your settings")
    refuse_hopeless(config, given, found)
    refuse_longer_than_a_piece(config, machine)
    refuse_too_large(config, machine)
    rate = tokens_per_second(config, machine)
    seconds = config.training.max_steps * config.training.batch_tokens / rate
    return Plan(config, tuple(draft.choices), rate, min(seconds, config.training.time_limit or seconds))


def time_limit(given: Mapping[str, Any]) -> float:
    return float(given.get("training.time_limit", 0))


def fitting_arch(given: Mapping[str, Any], machine: Machine) -> tuple[Arch, str]:
    """What learns most here. Measured: see benchmarks/README.md."""
    if given.get("model.copy"):
        return "transformer", "the one that copies (model.copy)"
    if machine.device == "cpu" and 0 < time_limit(given) <= HURRY:
        reason = "learns most in a short time on a CPU; CTranslate2, transformers and Argos need "
        return "luong", f"{reason}--arch transformer"
    return "transformer", "the strongest of the three, given time"


def choose_languages(draft: PlanDraft, told: tuple[str, str] = ("", "")) -> None:
    """Languages by the set's description, by what the file itself says, or by names such as train.en."""
    if name := draft.given.get("data.name"):
        info = builtin_info(name)
        codes = {"source": info.source_language, "target": info.target_language}
        reason = "what the built-in set holds"
    elif any(told):
        codes = dict(zip(("source", "target"), told, strict=True))
        reason = "as the file says"
    else:
        names = {side: Path(str(draft.given.get(f"data.{side}", ""))) for side in ("source", "target")}
        codes = {side: split_packing(path.name)[0].rpartition(".")[2] for side, path in names.items()}
        codes = {side: code for side, code in codes.items() if is_language(code)}
        reason = "by the file names"
    if len(codes) == 2:
        for side, code in codes.items():
            if code:  # a picture has no language
                draft.choose(f"data.{side}_language", code, reason)


def is_language(ending: str) -> bool:
    return ending.isalpha() and len(ending) in (2, 3) and ending not in NO_LANGUAGES


def choose_for_set(draft: PlanDraft) -> None:
    """What suits the built-in set, if it is one; pictures and text share no vocabulary."""
    if name := draft.given.get("data.name"):
        for key, value in builtin_info(name).settings.items():
            draft.choose(key, value, f"suits {name}")
    if has_pictures(draft) and draft.choose("text.shared", value=False, reason="pictures share none"):
        raise ConfigError(
            "text.shared=true cannot work: the sources are pictures, not text",
            hint="leave text.shared out",
        )


def has_pictures(draft: PlanDraft) -> bool:
    """Whether the sources are pictures."""
    given = draft.given
    return reads_pictures(DataConfig(name=given.get("data.name", ""), images=given.get("data.images", "")))


def patches_of(draft: PlanDraft) -> int:
    """Patches of one source; 0 where sources are text."""
    if not has_pictures(draft):
        return 0
    image = so_far(draft).image
    return (image.size // image.patch) ** 2


def choose_text(draft: PlanDraft, found: Survey, machine: Machine) -> None:
    kind, target = (draft.settings().get(f"text.{name}") for name in ("kind", "target_kind"))
    if target and target != (kind or "bpe"):
        reason = f"sources are cut as {kind or 'bpe'}, targets as {target}"
        if draft.choose("text.shared", value=False, reason=reason):
            raise ConfigError(
                f"text.shared=true cannot work: text.target_kind={target} needs a vocabulary of its own",
                hint="leave text.shared out",
            )
    words = found.words
    vocabulary = next((size for limit, size in VOCABULARIES if words < limit), 32_000)
    vocabulary = min(vocabulary, max(300, words // SEEN_TOO_RARELY))
    reason = f"at most: of {words:,} words each token is then seen often enough"
    if kind in ("char", "word") and target != "bpe":
        reason = "at most: one token for each symbol of the training text"
    draft.choose("text.vocabulary", vocabulary, reason)
    choose_marks(draft, machine)
    draft.choose("data.max_length", *fitting_length(found))
    if has_pictures(draft):
        draft.choose("decoding.max_len", draft.settings()["data.max_length"], "no caption is longer")
    choose_hold_out(draft, found)


def fitting_length(found: Survey) -> tuple[int, str]:
    """Most tokens of a sentence, in which digits and rare words take one for each character."""
    limit = min(512, max(64, -(-(int(found.longest / 1.5) + 16) // 32) * 32))
    return limit, f"99 % of the sentences have at most {found.longest} characters"


def choose_hold_out(draft: PlanDraft, found: Survey) -> None:
    if not any(draft.given.get(f"data.{name}") for name in ("name", "valid_source", "valid_corpora")):
        count = usual_hold_out(found)
        draft.choose("data.hold_out", count, "pairs kept apart to validate on; no validation files are given")


def choose_marks(draft: PlanDraft, machine: Machine) -> None:
    """Marks for a model that translates, and on a CPU a head that aligns; words have no room for marks."""
    settings = draft.settings()
    codes = [str(settings.get(f"data.{side}_language", "")) for side in ("source", "target")]
    kinds = {settings.get("text.kind", "bpe"), settings.get("text.target_kind") or "bpe"}
    if translates(*codes) and not has_pictures(draft) and "word" not in kinds:
        reason = "learned from the data: placeholders, addresses and code then survive translation"
        draft.choose("text.marks", value=True, reason=reason)
        free = not machine.gpu and settings.get("training.batches") != "packed"
        if free and settings["model.arch"] == "transformer":
            draft.choose("training.align", 0.5, "a head learns which word is from which: small models gain")


def choose_size(draft: PlanDraft, arch: Arch, found: Survey, machine: Machine) -> None:
    """The sizes of a preset, unless the user has chosen."""
    name, reason = fitting_size(arch, found, machine, time_limit(draft.given))
    for key, value in preset(name, arch).items():
        if key != "model.arch":
            draft.choose(key, value, reason)


def fitting_size(arch: Arch, found: Survey, machine: Machine, limit: float) -> tuple[str, str]:
    """The largest preset that the data can fill and the time can teach."""
    pairs = f"{found.usable:,} pairs"
    if arch != "transformer":
        return (
            ("small", f"{pairs}: one layer learns fastest") if found.usable < 1_000_000 else ("base", pairs)
        )
    if machine.device == "cpu":
        few = found.usable < 10_000 or 0 < limit <= HURRY
        return ("tiny", "little data, or little time on a CPU") if few else ("small", "what a CPU can teach")
    if found.usable < 10_000:
        return "tiny", pairs
    return ("small", pairs) if found.usable < 500_000 else ("base", f"{pairs} on a GPU")


def choose_batches(draft: PlanDraft, found: Survey, machine: Machine) -> None:
    """How many tokens make an update, how they are laid out, and in how many parts they fit."""
    tokens = draft.choose("training.batch_tokens", *fitting_batch(found, machine))
    choose_precision(draft, machine)
    if machine.gpu and "training.batch_tokens" not in draft.given:
        parts = parts_that_fit(so_far(draft), machine)
        if parts > 1:
            reason = f"the memory of {machine.name} holds {tokens:,} tokens in {parts} parts"
            draft.choose("training.accumulate", parts, reason)
    draft.choose("training.batches", *fitting_layout(draft.settings(), machine))


def fitting_batch(found: Survey, machine: Machine) -> tuple[int, str]:
    """Larger where there is more to learn from: with few pairs, more updates teach more."""
    if not machine.gpu:
        return CPU_BATCH, "tokens in one update, for a CPU"
    size = next((size for limit, size in GPU_BATCHES if found.usable < limit), GPU_BATCH)
    return size, f"tokens in one update: {found.usable:,} pairs on a GPU"


def fitting_layout(settings: Flat, machine: Machine) -> tuple[str, str]:
    """Packed where the hardware gains from it and a sentence fits into a piece."""
    if not machine.gpu:
        return "sorted", "pairs of like lengths; a CPU gains nothing from fixed sizes"
    if settings.get("training.shard"):
        return "sorted", "processes that share the weights out read pairs of like lengths"
    parts = settings.get("training.accumulate", 1) * machine.processes
    piece, needed = settings["training.batch_tokens"] // parts, 2 * (settings["data.max_length"] + 1)
    if piece < needed:
        return "sorted", f"a pair of {needed} tokens would not fit into a packed part of {piece}"
    return "packed", "batches of one size: steps are captured once and replayed"


def choose_training(draft: PlanDraft, arch: Arch, found: Survey, machine: Machine) -> None:
    """Length of the run, rate, dropout, and how often to look."""
    choose, limit = draft.choose, time_limit(draft.given)
    batch = draft.settings()["training.batch_tokens"]
    per_epoch = max(1, round(pieces_of(draft, found) / batch))
    if limit:
        steps = max(100, round(tokens_per_second(so_far(draft), machine) * limit / batch))
        choose("training.max_steps", ENDLESS, "the time limit ends the run")
        choose("training.patience", 0, "the time limit ends the run")
    else:
        epochs = 60 if found.usable < 20_000 or repeats(arch, found, machine) else 30
        epochs = epochs if found.usable < 200_000 else 10
        steps = max(400, epochs * per_epoch)
        choose("training.max_steps", steps, f"about {epochs} times through the data at most")
    steps = min(steps, draft.settings()["training.max_steps"])
    course = "the rate rises shortly, then falls in a line to zero at the end of the run"
    choose("training.warmup", min(steps - 1, max(1, min(400, steps // 25))), course)
    choose("training.schedule", "constant", course)
    choose("training.cooldown", 1.0, course)
    choose("training.lr", *fitting_rate(arch, draft.settings()))
    choose("model.dropout", *fitting_dropout(arch, found, steps / per_epoch))
    if repeats(arch, found, machine):
        choose("training.rdrop", 1.0, "few pairs, seen often: two passes with different dropout must agree")
        choose("training.ema", 0.998, "the mean of the last updates is better than any of them")
    few = machine.gpu or limit  # a look takes longer than many updates of a GPU
    interval = max(25, steps // LOOKS if few else min(per_epoch, steps // 10))
    looks = f"about {LOOKS} looks" if few else "ten looks or more"
    every = choose("training.validate_every", interval, f"{looks} at the validation set")
    choose("training.save_every", every, "with each look")
    config = so_far(draft)
    lines = max(1, round(LINE_S * tokens_per_second(config, machine) / batch))
    if lines < config.training.log_every:
        choose("training.log_every", lines, f"a line of the log about every {LINE_S} seconds")


def pieces_of(draft: PlanDraft, found: Survey) -> float:
    """About how many tokens the data is cut into."""
    text = so_far(draft).text
    source = found.source_characters / CHARACTERS_PER_PIECE[text.kind]
    target = found.target_characters / CHARACTERS_PER_PIECE[text.target_kind or text.kind]
    return source + target + found.usable * patches_of(draft)


def repeats(arch: Arch, found: Survey, machine: Machine) -> bool:
    """Whether a run sees the same few pairs so often that all it needs is not to learn them by heart.

    Measured on 29,000 pairs: see recipes/README.md. A CPU has no time for it.
    """
    return machine.gpu and arch == "transformer" and found.usable < 200_000


def choose_threads(draft: PlanDraft, arch: Arch, machine: Machine) -> None:
    """One thread where the matrices are so small that threads would mostly wait for each other."""
    small = draft.settings()["model.width"] < (128 if arch == "transformer" else 512)
    if machine.device == "cpu" and small:
        draft.choose("training.threads", 1, "small matrices: more threads would only wait for each other")


def choose_precision(draft: PlanDraft, machine: Machine) -> None:
    """What is fastest here, as measured a moment ago; the run keeps it, wherever it goes on."""
    if machine.gpu and not machine.bf16:
        reason = f"{machine.name} computes no bf16, which needs an Ampere GPU or newer"
        draft.choose("training.precision", "fp32", reason)
    settings = draft.settings()
    cores = settings.get("training.threads") or machine.cores
    parts = min(MOST, max(1, settings["training.batch_tokens"] // LEAST))
    fits = settings["model.width"] >= BF16_WIDTH and cores // parts < 2 and not settings.get("training.shard")
    if not machine.gpu and machine.gain >= WORTH_BF16 and fits:
        reason = f"matrix products are {machine.gain:.1f} times as fast here as in fp32"
        draft.choose("training.precision", "bf16", reason)


def fitting_rate(arch: Arch, settings: Flat) -> tuple[float, str]:
    """Peak rates that held for the widths and batches measured, carried over by square roots."""
    width, batch = settings["model.width"], settings["training.batch_tokens"]
    if arch == "transformer":
        return round(1.5e-3 * (128 / width) ** 0.5, 6), f"for a width of {width}"
    rate = 2e-3 * min(1.5, (batch / 1000) ** 0.5) * (256 / width) ** 0.5
    return round(rate, 6), f"for a width of {width} and updates of {batch:,} tokens"


def fitting_dropout(arch: Arch, found: Survey, epochs: float) -> tuple[float, str]:
    """More where the same sentences come back more often, or are few."""
    if arch == "transformer":
        share = 0.1 if epochs < 20 else 0.2 if epochs < 50 else 0.3
        often = f"about {round(epochs)} times" if epochs >= 1.5 else "about once"
        return share, f"each sentence is seen {often}"
    limits = ((10_000, 0.4), (100_000, 0.3), (500_000, 0.2))
    return next((share for limit, share in limits if found.usable < limit), 0.1), f"{found.usable:,} pairs"


def so_far(draft: PlanDraft) -> RunConfig:
    """What has been chosen until now, the rest by default."""
    return parse_config(nest({"training.warmup": 0} | draft.settings()), "the plan and your settings")


def refuse_hopeless(config: RunConfig, given: Flat, found: Survey) -> None:
    """Settings that would run and never learn, with the reason."""
    words = found.words
    if config.text.kind == "bpe" and config.text.vocabulary * SEEN_TOO_RARELY > max(words, 900):
        raise ConfigError(
            f"text.vocabulary={config.text.vocabulary} is more than this data supports: "
            f"{words:,} words would show each token {words / config.text.vocabulary:.1f} times on average",
            hint=f"choose at most {max(300, words // SEEN_TOO_RARELY)}, or leave it to the plan",
            code="cannot_learn",
        )
    if "training.warmup" in given and config.training.warmup >= config.training.max_steps:
        raise ConfigError(
            f"training.warmup={config.training.warmup} is as long as the run or longer",
            hint=f"choose well below the {config.training.max_steps} steps of the run",
            code="cannot_learn",
        )
    model, length = config.model, config.data.max_length
    if model.table_rows is not None and model.table_rows <= length:
        raise ConfigError(
            f"model.max_positions={model.table_rows} cannot hold data.max_length={length} and an end",
            hint=f"set model.max_positions to {length + 1} or more",
            code="cannot_learn",
        )
    if config.training.optimizer != "sgd" and config.training.lr > 0.1:
        raise ConfigError(
            f"training.lr={config.training.lr} diverges with {config.training.optimizer}",
            hint="choose 1e-4 to 1e-2",
            code="cannot_learn",
        )
