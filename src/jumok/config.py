"""Every setting of a run, as frozen dataclasses. An object that exists is valid. No torch, no files."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from jumok.architectures import (  # the settings of the models are told from here, too
    ARCHS,
    STRICT,
    AlignHead,
    Arch,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    TransformerConfig,
    check,
    check_range,
    copies,
    require,
    taught_head,
)

__all__ = [
    "ARCHS",
    "AlignHead",
    "Arch",
    "DataConfig",
    "DecodingConfig",
    "ENDLESS",
    "FALLING",
    "FREEZABLE",
    "ImageConfig",
    "LuongConfig",
    "ModelConfig",
    "RnnConfig",
    "RunConfig",
    "StartConfig",
    "TextConfig",
    "TrainingConfig",
    "TransformerConfig",
    "copies",
    "taught_head",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextConfig:
    """How text becomes ids."""

    kind: Literal["bpe", "char", "word"] = "bpe"
    """Byte-pair tokens, single characters, or what white space separates."""
    target_kind: Literal["", "bpe", "char", "word"] = ""
    """Of the target, where it differs: phonemes are words, the letters they are read from characters."""
    jamo: bool = False
    """Korean syllables are read and written as their letters (jamo)."""
    vocabulary: int = 8000
    """Largest number of tokens, the 4 special and 256 byte tokens included."""
    shared: bool = True
    """One vocabulary for both sides, or one for each."""
    dropout: float = 0.0
    """Share of the merges left out at random when training text is cut into tokens (BPE dropout)."""
    marks: bool = False
    """The model learns marks, which stand for placeholders, addresses and code when it translates."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        least = "260 places belong to the special and byte tokens: choose 300 or more"
        check(self, "text", ("vocabulary", self.vocabulary >= 300, least))
        check_range(self, "text", "below 1", "dropout")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataConfig:
    """Which text to learn from."""

    name: str = ""
    """A data set that comes with the package, instead of files."""
    source: str = ""
    """Source lines; or one file with both sides (TSV, CSV, JSONL, TMX, …) and no `target`."""
    target: str = ""
    """Target lines: line n translates line n of the source."""
    valid_source: str = ""
    """Validation files; when not given, pairs are held out from the training files."""
    valid_target: str = ""
    """Target side of the validation files."""
    hold_out: int = 0
    """Pairs to hold out for validation when no files are given; 0 lets the plan choose."""
    source_language: str = ""
    """Code such as `ko`; for the model card."""
    target_language: str = ""
    """Code such as `en`; also decides how BLEU splits words."""
    columns: str = ""
    """Which columns are source and target: numbers such as `1,3`, or names, keys, languages: `en,de`."""
    images: str = ""
    """Folder or zip of pictures; the source lines are then their file names."""
    corpora: tuple[str, ...] = ()
    """Several corpora in one run (`--data`): files with words behind colons, such as `de-en.tsv:de-en:3`."""
    valid_corpora: tuple[str, ...] = ()
    """Validation files of several corpora (`--valid`), written in the same way."""
    temperature: float = 1.0
    """Of several corpora without weights: above 1, small ones are read more often (share ~ size ** (1/T))."""
    tags: Literal["auto", "none", "source", "target", "both"] = "auto"
    """Of several directions: whether sources begin with a token for their language, the one wanted, or both;
    auto: the one wanted, if there are several."""
    max_length: int = 128
    """Most tokens of a side; pairs with more are left out of training, or cut."""
    long: Literal["skip", "cut"] = "skip"
    """What becomes of a training pair whose source is longer: left out, or its beginning is kept."""
    encoding_errors: Literal["strict", "replace"] = "strict"
    """What to do with bytes that are not UTF-8: refuse the file, or put U+FFFD in their place."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        check_range(self, "data", "above 0", "max_length", "temperature")
        check(self, "data", ("hold_out", self.hold_out >= 0, "choose 0 or more pairs"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageConfig:
    """How a picture becomes patches; only with `data.images`."""

    size: int = 32
    """Pictures are scaled to a square of so many pixels a side."""
    patch: int = 4
    """Pixels a side of one patch, which is what a token is for text."""
    shift: int = 0
    """In training, pictures move by up to so many pixels at random."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        check_range(self, "image", "above 0", "size", "patch")
        tiles = f"patches must tile the picture: choose a number that divides image.size={self.size}"
        check(
            self,
            "image",
            ("patch", self.size % self.patch == 0, tiles),
            ("size", self.size <= 512, "choose at most 512 pixels"),
            ("shift", 0 <= self.shift < self.size, "choose 0 up to below image.size"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StartConfig:
    """Which model a run goes on from, and what keeps its knowledge."""

    model: str = ""
    """Folder of a model or run (`--from`) whose weights, tokenizer and shapes this one begins with."""
    keep: str = ""
    """Pairs of what the model knows (`--keep`), mixed with the new ones: one file with both sides, the source
    side, or a built-in set."""
    keep_target: str = ""
    """Target side of `keep`, if it is a file of its own."""
    keep_share: float = 0.0
    """Share of the training pairs of an epoch that come from `keep`; 0 lets the plan choose."""
    extend_vocabulary: int = 0
    """Tokens to add for text that the model's vocabulary does not cover (`--extend-vocabulary`)."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        check_range(self, "start", "below 1", "keep_share")
        few = "choose 0 or more tokens"
        check(self, "start", ("extend_vocabulary", self.extend_vocabulary >= 0, few))
        alone = "it belongs to start.keep (--keep), which is not given"
        check(
            self,
            "start",
            ("keep_target", bool(self.keep) or not self.keep_target, alone),
            ("keep_share", bool(self.keep) or not self.keep_share, alone),
        )
        for name in ("keep", "extend_vocabulary"):
            value, hint = getattr(self, name), "it is for a run that starts from a model: give --from MODEL"
            check(self, "start", (name, bool(self.model) or not value, hint))


Utility = Literal["chrf", "rouge1"]
"""What answers can be compared by."""
Mean = Literal["probabilities", "logs"]
"""What an ensemble averages."""
ENDLESS = 1_000_000
"""`training.max_steps` of a run that its time limit ends."""
FREEZABLE = ("embeddings", "encoder", "decoder", "attention", "feedforward", "norms", "output", "biases")
"""Parts of a model that `training.freeze` can name."""
FALLING = frozenset({"loss", "per"})
"""Metrics of training that are better when lower; their scores are kept with the sign turned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How the weights are found."""

    batch_tokens: int = 4096
    """Source + target tokens in one update, over all micro-batches and processes."""
    batches: Literal["auto", "sorted", "packed"] = "auto"
    """Pairs of like lengths, or pairs at random in batches of a fixed size, which a GPU replays; auto packs
    on a GPU."""
    accumulate: int = 1
    """Micro-batches per update; each has `batch_tokens / accumulate` tokens."""
    max_steps: int = 100_000
    """Updates after which the run ends."""
    time_limit: float = 0.0
    """Seconds of training; 0 means no limit. The schedule then ends with the time."""
    optimizer: Literal["sgd", "adam", "adamw", "muon"] = "adamw"
    """muon takes the hidden matrices and leaves the rest to adamw."""
    lr: float = 1e-3
    """Peak learning rate."""
    schedule: Literal["noam", "inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    """The rate's course between the rise and the cooldown."""
    warmup: int = 1000
    """Steps of linear rise to the peak."""
    cooldown: float = 0.2
    """Share of the run, at its end, over which the rate falls linearly to zero; 0 for none."""
    momentum: float = 0.9
    """Momentum of sgd; the first moment's decay of adam, adamw and muon."""
    beta2: float = 0.98
    """The second moment's decay of adam and adamw."""
    weight_decay: float = 0.0
    """Share of each weight, times the rate, taken off at every step."""
    anchor: float = 0.0
    """Share of each weight's distance from where it started, times the rate, taken back at every step; for a
    run that starts from a model."""
    freeze: str = ""
    """Parts that stay as they are, such as `encoder,embeddings`; they cost no gradient and no optimiser."""
    lora: int = 0
    """Rank of low-rank adapters, which alone learn beside frozen weights and are merged into them when the
    model is saved (LoRA); 0: all weights learn."""
    clip: float = 1.0
    """Largest gradient norm; 0 switches clipping off."""
    label_smoothing: float = 0.1
    """Share of the target probability that is spread over all tokens."""
    teacher_forcing: float = 1.0
    """Share of decoder inputs taken from the reference; the rest are the model's own predictions."""
    rollout: bool = False
    """With teacher_forcing below 1: its predictions are written step by step, after its own, as in use."""
    rdrop: float = 0.0
    """Weight of R-Drop: two passes with different dropout are pulled towards each other; 0 for one pass."""
    align: float = 0.0
    """Weight of guided alignment: one head of a Transformer learns which source token each target token comes
    from, as two IBM models say; 0 for none."""
    ema: float = 0.0
    """Decay of the moving average of the weights that validation and the saved model use; 0 for none."""
    average: int = 0
    """Average this many last checkpoints into the final model, if that validates better; 0 for none."""
    precision: Literal["auto", "fp32", "bf16", "fp8"] = "auto"
    """What matrix products are computed in: auto is bf16 on a GPU that has it, and on a CPU where that is
    measured to be faster when the run is planned; fp8: bf16, and fp8 in feed-forward networks and head."""
    log_every: int = 50
    """Steps between two lines of the log; before that there is one after 1, 2, 5, 10, 20, … steps."""
    validate_every: int = 500
    """Steps between two looks at the validation set."""
    early_looks: bool = False
    """Look before the first step, too, and after 10, 20, 50, … steps: to see how it begins."""
    save_every: int = 500
    """Steps between two checkpoints; a new best one is always saved."""
    patience: int = 8
    """Stop after this many validations without a better score; 0 never stops early."""
    metric: Literal["bleu", "chrf", "exact", "per", "rouge1", "rougeL", "loss"] = "bleu"
    """What makes a checkpoint the best."""
    valid_sentences: int = 500
    """Validation sentences to translate each time; the loss always uses all of them."""
    threads: int = 0
    """CPU threads; 0 lets jumok choose."""
    shard: bool = False
    """Under torchrun, give each process a share of the weights (FSDP2), for models that fit no single GPU."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        every = ("log_every", "validate_every", "save_every", "valid_sentences")
        check_range(self, "training", "above 0", "batch_tokens", "accumulate", "max_steps", "lr", *every)
        whole = ("warmup", "average", "patience", "threads")
        check_range(self, "training", "from 0", "time_limit", "weight_decay", "clip", *whole)
        check_range(self, "training", "from 0", "rdrop", "align", "anchor", "lora")
        for part in self.frozen_parts:
            known = f"parts are {', '.join(FREEZABLE)}"
            check(self, "training", ("freeze", part in FREEZABLE, known))
        check_range(self, "training", "below 1", "momentum", "beta2", "label_smoothing", "ema")
        check_range(self, "training", "to 1", "teacher_forcing", "cooldown")
        early = (
            f"the run ends after {self.max_steps} steps, before the rate reaches its peak: "
            "choose a warm-up well below training.max_steps"
        )
        check(
            self, "training", ("warmup", self.warmup < self.max_steps or self.schedule == "constant", early)
        )

    @property
    def frozen_parts(self) -> tuple[str, ...]:
        """What `freeze` names."""
        return tuple(part for word in self.freeze.split(",") if (part := word.strip()))


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingConfig:
    """How text is searched for."""

    beam: int = 5
    """Hypotheses kept per sentence; 1 is greedy search."""
    n_best: int = 1
    """Answers per sentence."""
    length_penalty: float = 1.0
    """Exponent of ((5 + length) / 6) that a hypothesis' log-probability is divided by."""
    max_len: int = 256
    """Most tokens of an answer; shorter sources get a smaller bound of their own."""
    min_len: int = 0
    """Fewest tokens of an answer."""
    no_repeat_ngram: int = 0
    """Never produce the same run of this many tokens twice; 0 allows it."""
    loops: bool = False
    """Leave answers alone that repeat a few tokens over and over; else they are cut after four rounds."""
    sample: bool = False
    """Draw tokens at random instead of searching for the best."""
    temperature: float = 1.0
    """Below 1 draws the likely tokens more often, above 1 less."""
    top_k: int = 0
    """Draw only from this many best tokens; 0 for all."""
    top_p: float = 1.0
    """Draw only from the best tokens that together have this probability."""
    seed: int = 42
    """Drives sampling; the same seed and text give the same draw."""
    mbr: int = 0
    """Draw this many answers and give the one that agrees best with all of them; 0 searches instead."""
    utility: Utility = "chrf"
    """What `mbr` measures agreement by: chrF++ suits translations, ROUGE-1 summaries."""
    batch_tokens: int = 0
    """Source tokens, times the beam or the draws, in one batch; 0: 4,096, on a GPU 65,536."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        check_range(self, "decoding", "above 0", "beam", "n_best", "max_len", "temperature")
        at_will = ("length_penalty", "min_len", "no_repeat_ngram", "top_k", "batch_tokens")
        check_range(self, "decoding", "from 0", *at_will)
        narrow = f"a beam of {self.beam} gives at most {self.beam} answers: raise decoding.beam"
        few = f"{self.mbr} draws give at most {self.mbr} answers: raise decoding.mbr"
        by_itself = "it draws its answers by itself: set decoding.sample to false"
        check(
            self,
            "decoding",
            ("top_p", 0 < self.top_p <= 1, "choose a share above 0, up to 1"),
            ("min_len", self.min_len <= self.max_len, f"min_len is above decoding.max_len={self.max_len}"),
            ("mbr", self.mbr == 0 or 2 <= self.mbr <= 256, "mbr is 0, or from 2 to 256"),
            ("utility", self.utility in get_args(Utility), f"choose {' or '.join(get_args(Utility))}"),
            ("mbr", not (self.mbr and self.sample), by_itself),
            ("n_best", bool(self.draws) or self.n_best <= self.beam, narrow),
            ("n_best", self.n_best <= (self.draws or self.beam), few),
        )

    @property
    def draws(self) -> int:
        """How many answers are drawn at random for a sentence; 0: they are searched for."""
        return self.n_best if self.sample else self.mbr


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Everything that decides a run, besides the data itself."""

    model: ModelConfig = field(default_factory=TransformerConfig)
    text: TextConfig = field(default_factory=TextConfig)
    data: DataConfig = field(default_factory=DataConfig)
    image: ImageConfig = field(default_factory=ImageConfig)
    start: StartConfig = field(default_factory=StartConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    seed: int = 42
    """Drives every random choice of the run."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        for name in ("anchor", "freeze", "lora"):
            value = getattr(self.training, name)
            needs = "it keeps what a model knew, and this run starts from none: give --from MODEL"
            require(bool(self.start.model) or not value, f"training.{name}", value, needs)
        if self.training.align:
            weight, words = self.training.align, "it teaches a head of a Transformer that reads text"
            fits = isinstance(self.model, TransformerConfig) and not self.data.images
            require(fits, "training.align", weight, f"{words}: leave it out")
            require(
                self.training.batches != "packed",
                "training.batches",
                "packed",
                "with training.align batches are sorted: leave it at auto",
            )
        if not copies(self.model):
            return
        require(not self.data.images, "model.copy", "true", "a picture has no tokens to copy: leave it out")
        require(
            self.text.shared and self.text.target_kind in ("", self.text.kind),
            "model.copy",
            "true",
            "what is copied must be a token of both sides: it needs text.shared=true and one text.kind",
        )
