"""Settings from TOML, dictionaries and `a.b=v` words to one checked RunConfig, and back.

The only place that validates outside input: unknown keys, wrong types and impossible values end here, with
the key's full name and the nearest known one.
"""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from jumok.config import ARCHS, ModelConfig, RunConfig
from jumok.errors import ConfigError, nearest

if TYPE_CHECKING:  # slower to import than a sentence is to translate: only faults need it
    from pydantic import TypeAdapter, ValidationError

Flat = dict[str, Any]
"""Settings by their full names, such as "training.lr"."""


@cache
def _reader() -> "TypeAdapter[RunConfig]":
    from pydantic import TypeAdapter

    return TypeAdapter(RunConfig)


@cache
def _model_reader() -> "TypeAdapter[ModelConfig]":
    from pydantic import Field, TypeAdapter

    return TypeAdapter(Annotated[ModelConfig, Field(discriminator="arch")])


def parse_config(data: Mapping[str, Any], origin: str = "configuration") -> RunConfig:
    """A checked RunConfig from nested plain values; every fault is a ConfigError that names its key."""
    check_names(flatten(data), origin)
    nested = {key: value for key, value in data.items() if key != "model"}
    training = nested.get("training")
    if isinstance(training, Mapping) and training.get("batches") == "padded":  # its name in files of 0.1
        nested["training"] = {**training, "batches": "sorted"}
    try:
        return quick_config({**nested, **({"model": data["model"]} if "model" in data else {})})
    except (TypeError, ConfigError):  # pydantic says what is wrong, and takes more than plain values
        return _checked(nested, data, origin)


def _checked(nested: dict[str, Any], data: Mapping[str, Any], origin: str) -> RunConfig:
    from pydantic import ValidationError

    try:
        if "model" in data:
            nested["model"] = _model_reader().validate_python({"arch": "transformer"} | dict(data["model"]))
        return _reader().validate_python(nested)
    except ValidationError as error:
        raise _explain(error, origin) from None


def quick_config(data: Mapping[str, Any]) -> RunConfig:
    """What pydantic makes of values that are already of their settings' types, without it.

    A TypeError for all others, and the ConfigError of settings that cannot work.
    """
    made: RunConfig = _quick(RunConfig, data)
    return made


def _quick(kind: Any, value: Any) -> Any:
    """A value as a setting of a kind; a TypeError if that is not plain."""
    if kind == ModelConfig and isinstance(value, Mapping):
        wanted = value.get("arch", "transformer")
        [kind] = [one for one in get_args(ModelConfig) if _hints(one)["arch"] == Literal[wanted]] or [None]
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, Mapping):
        hints = _hints(kind)
        return kind(**{str(key): _quick(hints.get(str(key)), one) for key, one in value.items()})
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        return tuple(_quick(get_args(kind)[0], one) for one in value)
    if kind is float and type(value) is int and abs(value) < 1 << 53:
        return float(value)
    among = get_args(kind) if get_origin(kind) is Literal else ()
    if type(value) is kind or (type(value) is str and value in among):
        return value
    raise TypeError(f"{value!r} is not plainly {kind}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


SETTINGS_VERSION = 2
"""Of the settings in a folder's files. The first wrote `decoding.batch_tokens=4096` for no choice at all."""


def upgrade_settings(flat: Flat, version: object) -> Flat:
    """The settings of a folder, which an earlier jumok may have written, as this one writes them."""
    unset = version is None and flat.get("decoding.batch_tokens") == 4096
    return flat | {"decoding.batch_tokens": 0} if unset else flat


def with_new_names(flat: Mapping[str, Any]) -> Flat:
    """Settings with the values that were renamed since version 0.1 as they are called now."""
    old = flat.get("training.batches") == "padded"
    return {**flat, "training.batches": "sorted"} if old else dict(flat)


def config_to_dict(config: RunConfig) -> dict[str, Any]:
    """Nested plain values; `parse_config` reads them back to an equal object."""
    return asdict(config, dict_factory=_plain_values)


def _plain_values(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Values as JSON and TOML have them: lists, no tuples."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in items}


def config_to_toml(config: RunConfig) -> str:
    """The complete configuration as a TOML file."""
    lines = [f"seed = {config.seed}"]
    for section, values in asdict(config).items():
        if isinstance(values, dict):
            lines += ["", f"[{section}]"]
            lines += [f"{key} = {_toml(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A number, truth value or text as TOML: as in JSON, but for one character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_toml(path: str | Path) -> Flat:
    """The settings of a TOML file, by full name."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no configuration file {path}", hint="check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the configuration file {path}: {error}") from None
    try:
        flat = flatten(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", where=f"in {path}") from None
    check_names(flat, f"in {path}")
    return flat


def read_words(words: tuple[str, ...] | list[str]) -> Flat:
    """`a.b=v` words: the value is read as TOML, and as plain text where it is none. A later word wins."""
    flat: Flat = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(
                f"--set takes name=value, not {word!r}", hint="for example --set training.lr=1e-3"
            )
        flat[key.strip()] = _value(text.strip())
    check_names(flat, "given by --set")
    return flat


def read_environment(environment: Mapping[str, str] | None = None) -> Flat:
    """Settings from variables such as JUMOK_TRAINING__LR=1e-3."""
    environment = os.environ if environment is None else environment
    known = known_names()
    flat = {}
    for variable, text in environment.items():
        key = variable.removeprefix("JUMOK_").lower().replace("__", ".")
        if variable.startswith("JUMOK_") and key in known:
            flat[key] = _value(text)
    return flat


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def flatten(data: Mapping[str, Any], prefix: str = "") -> Flat:
    """Nested settings to full names."""
    flat: Flat = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Full names to nested settings."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


@cache
def known_names() -> frozenset[str]:
    """Every setting of every architecture, by full name."""
    return frozenset(_names(RunConfig, ""))


def _names(cls: Any, prefix: str) -> Iterator[str]:
    for setting in fields(cls):
        kinds = [kind for kind in (get_args(setting.type) or (setting.type,)) if is_dataclass(kind)]
        if kinds:
            for kind in kinds:
                yield from _names(kind, f"{prefix}{setting.name}.")
        else:
            yield f"{prefix}{setting.name}"


def check_names(flat: Mapping[str, Any], origin: str) -> None:
    """Refuse settings that do not exist, and offer the nearest that does."""
    for key in flat:
        if key not in known_names():
            raise ConfigError(
                f"unknown setting {key!r}",
                where=origin,
                hint=f"{nearest(key, known_names())}   jumok train --print-config shows all settings",
                code="unknown_setting",
            )


def _explain(error: "ValidationError", origin: str) -> ConfigError:
    """pydantic's first finding in our words."""
    first = error.errors()[0]
    if isinstance(first.get("ctx", {}).get("error"), ConfigError):
        ours: ConfigError = first["ctx"]["error"]
        return ConfigError(ours.message, where=ours.where or origin, hint=ours.hint, code=ours.code)
    path = [str(part) for part in first["loc"] if part not in ARCHS]
    key = ".".join(path if path and path[0] in _sections() else ["model", *path])
    if first["type"] == "union_tag_invalid":
        given = first["input"].get("arch") if isinstance(first["input"], dict) else first["input"]
        return ConfigError(
            f"unknown architecture {given!r}",
            where=origin,
            hint=nearest(str(given), ARCHS),
            code="unknown_arch",
        )
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return ConfigError(
            f"this architecture has no setting {key!r}",
            where=origin,
            hint="jumok train --print-config shows what it has",
            code="unknown_setting",
        )
    return ConfigError(f"{key}={first['input']!r}: {_plain(first['msg'])}", where=origin, code="bad_value")


def _sections() -> set[str]:
    return {section.name for section in fields(RunConfig)}


def _plain(message: str) -> str:
    message = message.removeprefix("Input ")
    return message[:1].lower() + message[1:]


def plain_word(value: object) -> str:
    """A value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_given(given: Flat) -> RunConfig:
    """Refuse wrong values before any time is spent; sizes wait until the plan has chosen the others."""
    settled = {key: value for key, value in given.items() if not key.startswith("model.")}
    if arch := given.get("model.arch"):
        settled["model.arch"] = arch
    return parse_config(nest({"training.warmup": 0} | settled), "your settings")
