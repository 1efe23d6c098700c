"""Weights in a `pytorch_model.bin`: its pickle is read as data by the few words that weights need.

Such a file is a zip with a pickle and the plain numbers of each tensor. A pickle is a program; here none
runs. Its words are looked at one by one: those that build dicts, tuples, numbers, texts and tensors are
followed, and any other name or word is refused. So nothing outside of this file can be
called, whatever a file says.
"""

import pickletools
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from jumok.errors import ModelError
from jumok.importing.safetensors_files import damaged, other_type
from jumok.importing.stored import Stored

MOST_PICKLE = 64 << 20
KINDS = {
    "FloatStorage": "F32",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "DoubleStorage": "F64",
    "LongStorage": "I64",
    "IntStorage": "I32",
    "ShortStorage": "I16",
    "CharStorage": "I8",
    "ByteStorage": "U8",
    "BoolStorage": "BOOL",
}
TENSOR, PARAMETER = "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"
DICTS = ("collections OrderedDict",)


@dataclass(frozen=True)
class Name:
    """A name that the pickle asks for; it is never looked up."""

    text: str


@dataclass(frozen=True)
class Storage:
    """The numbers of a tensor: a file of the zip."""

    kind: str
    key: str


@dataclass(frozen=True)
class Tensor:
    """Some of the numbers of a storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def read_torch(path: Path) -> dict[str, Stored]:
    """The tensors of a file that `torch.save` has written in its zip format."""
    if not zipfile.is_zipfile(path):
        raise ModelError(
            f"{path.name} is no zip: torch's format of before 2020 is a bare pickle, which could run code",
            where=str(path),
            hint="open it with the program that wrote it, and save it as safetensors",
            code="pickled",
        )
    try:
        with zipfile.ZipFile(path) as file:
            entries = {entry.filename: entry for entry in file.infolist()}
            name = next((name for name in entries if name.endswith("/data.pkl")), "")
            if not name or entries[name].file_size > MOST_PICKLE:
                raise damaged(path, "it has no data.pkl")
            root = name.removesuffix("data.pkl")
            if any(entries[one].compress_type for one in (name, f"{root}byteorder") if one in entries):
                raise damaged(path, "its data.pkl is compressed, and torch stores it as it is")
            if file.read(f"{root}byteorder") != b"little" if f"{root}byteorder" in entries else False:
                raise damaged(path, "its numbers are of a machine with the other byte order")
            said = Pickle(path).read(file.read(name))
    except (zipfile.BadZipFile, EOFError, RuntimeError) as error:  # RuntimeError: it is encrypted
        raise damaged(path, str(error)[:100]) from None
    if isinstance(said, dict) and isinstance(said.get("state_dict"), dict):
        said = said["state_dict"]
    if not isinstance(said, dict):
        raise damaged(path, "it is no table of tensors")
    tensors = {str(name): one for name, one in said.items() if isinstance(one, Tensor)}
    return {name: _stored(path, name, one, entries, root) for name, one in tensors.items()}


def _stored(path: Path, name: str, one: Tensor, entries: dict[str, zipfile.ZipInfo], root: str) -> Stored:
    """Where the numbers of a tensor lie in the file."""
    storage, offset, shape, stride = one.storage, one.offset, one.shape, one.stride
    contiguous = tuple(prod(shape[n + 1 :]) for n in range(len(shape)))
    if stride != contiguous and prod(shape) > 1:
        raise damaged(path, f"the numbers of {name} do not lie in order")
    entry = entries.get(f"{root}data/{storage.key}")
    if entry is None or entry.compress_type != zipfile.ZIP_STORED:
        raise damaged(path, f"the numbers of {name} are not in it")
    if storage.kind not in KINDS:
        raise other_type(storage.kind.removesuffix("Storage"), name, path)
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        header = file.read(30)
    begin = entry.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
    plain = Stored(path, begin, KINDS[storage.kind], tuple(shape))
    size = plain.bytes // max(prod(shape), 1)
    if offset * size + plain.bytes > entry.file_size:
        raise damaged(path, f"{name} is cut short")
    return Stored(path, begin + offset * size, plain.kind, plain.shape)


class Pickle:
    """Follows the words of a pickle on a stack of plain values; refuses what weights do not need."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        simple: dict[str, Callable[[], Any]] = {
            "EMPTY_DICT": dict,
            "EMPTY_TUPLE": tuple,
            "EMPTY_LIST": list,
            "NONE": lambda: None,
            "NEWTRUE": lambda: True,
            "NEWFALSE": lambda: False,
        }
        self.simple = simple

    def read(self, data: bytes) -> Any:
        """What the pickle describes."""
        try:
            for word, value, _ in pickletools.genops(data):
                if word.name == "STOP":
                    return self.stack.pop()
                self.follow(word.name, value)
        except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
            raise damaged(self.path, f"its pickle cannot be read ({str(error)[:80]})") from None
        raise damaged(self.path, "its pickle has no end")

    def follow(self, word: str, value: Any) -> None:
        """One word."""
        stack = self.stack
        match word:
            case "PROTO" | "FRAME":
                pass
            case _ if word in self.simple:
                stack.append(self.simple[word]())
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT":
                stack.append(value)
            case "BINUNICODE" | "SHORT_BINUNICODE" | "BINUNICODE8":
                stack.append(value)
            case "GLOBAL":
                stack.append(self.known(value))
            case "STACK_GLOBAL":
                name = stack.pop()
                stack.append(self.known(f"{stack.pop()} {name}"))
            case "MARK":
                self.marks.append(len(stack))
            case "BINPUT" | "LONG_BINPUT":
                self.memo[value] = stack[-1]
            case "MEMOIZE":
                self.memo[len(self.memo)] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self.memo[value])
            case _:
                self.build(word)

    def build(self, word: str) -> None:
        """A word that makes something of what lies on the stack."""
        stack = self.stack
        match word:
            case "TUPLE":
                stack.append(tuple(self.since_mark()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                count = int(word[-1])
                stack[-count:] = [tuple(stack[-count:])]
            case "SETITEMS":
                pairs = self.since_mark()
                for key, value in zip(pairs[::2], pairs[1::2], strict=True):
                    stack[-1][as_key(key)] = value
            case "SETITEM":
                value, key = stack.pop(), stack.pop()
                stack[-1][as_key(key)] = value
            case "APPENDS":
                values = self.since_mark()
                stack[-1].extend(values)
            case "BINPERSID":
                what, kind, key, *_ = stack.pop()
                if what != "storage" or not isinstance(kind, Name):
                    raise ValueError("a storage of another kind")
                stack.append(Storage(kind.text.split()[-1], str(key)))
            case "REDUCE":
                arguments, name = stack.pop(), stack.pop()
                stack.append(made_by(name.text, arguments))
            case "BUILD":
                stack.pop()  # what is said besides, such as versions
            case _:
                raise self.refused(f"the word {word}")

    def since_mark(self) -> list[Any]:
        place = self.marks.pop()
        values = self.stack[place:]
        del self.stack[place:]
        return values

    def known(self, name: str) -> Name:
        """A name that weights need; all others are what an attack looks like."""
        module, _, last = name.partition(" ")
        if name in (TENSOR, PARAMETER, *DICTS) or (module == "torch" and last.endswith("Storage")):
            return Name(name)
        raise self.refused(f"the name {name.replace(' ', '.')[:80]!r}")

    def refused(self, what: str) -> ModelError:
        return ModelError(
            f"{self.path.name} is a pickle with {what}, which weights do not need and which could run code",
            where=str(self.path),
            hint="take a model whose weights are in safetensors",
            code="pickled",
        )


def as_key(key: Any) -> str | int:
    """A key of a dict; the hash of tuples in tuples in tuples can be too deep for Python."""
    if not isinstance(key, str | int):
        raise ValueError("a key that is no name")  # noqa: TRY004  as all that is no pickle of weights
    return key


def made_by(name: str, arguments: tuple[Any, ...]) -> Any:
    """What a call would have made: a dict, or where the numbers of a tensor are."""
    if name in DICTS:
        return {}
    if name == PARAMETER:
        return arguments[0]
    storage, offset, shape, stride, *_ = arguments
    numbers = (offset, *shape, *stride)
    if not isinstance(storage, Storage) or not all(type(one) is int and one >= 0 for one in numbers):
        raise ValueError("a tensor without a place")
    return Tensor(storage, offset, tuple(shape), tuple(stride))
