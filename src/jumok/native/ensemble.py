"""NativeEnsemble: several models in the C library that predict together, searched as one."""

import ctypes
from collections.abc import Sequence
from typing import get_args

from jumok.config import Mean
from jumok.native.model import NativeModel

MOST_MEMBERS = 64  # as in engine.h


class NativeEnsemble(NativeModel):
    """Models of one vocabulary as one. Nothing in it changes; threads may share it."""

    def __init__(
        self, members: Sequence[NativeModel], weights: Sequence[float] = (), mean: Mean = "probabilities"
    ) -> None:
        """`weights` say how much each member counts, by default all the same; their sum is made 1.

        A ValueError if the models do not have the same vocabularies.
        """
        self._handle: int | None = None
        given = list(weights) or [1.0] * len(members)
        self.members, self.mean = tuple(members), mean  # the library keeps addresses of the models
        self.weights = tuple(weight / sum(given) for weight in given)
        self.config, self.parts, self.library = members[0].config, members[0].parts, members[0].library
        count = len(members)
        handles = (ctypes.c_void_p * count)(*(member._handle for member in members))
        shares = (ctypes.c_float * count)(*self.weights)
        handle = self.library.c.jm_model_join(handles, shares, count, get_args(Mean).index(mean))
        if not handle:
            raise ValueError(f"these {count} models cannot be an ensemble of the native engine")
        self._handle = handle

    @property
    def types(self) -> str:
        """What the matrices of the members are stored in."""
        return " + ".join(dict.fromkeys(member.type for member in self.members))

    @property
    def table_rows(self) -> int | None:
        """Positions that every member has a row for; None: any number."""
        bounds = [member.table_rows for member in self.members]
        return min((bound for bound in bounds if bound is not None), default=None)
