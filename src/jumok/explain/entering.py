"""A back end that keeps what enters the encoder, for the gradient there."""

from torch import Tensor

from jumok.backends.recording import RecordingBackend


class EntryBackend(RecordingBackend):
    """Keeps the vectors that enter the encoder: the first thing that a pass may drop out of."""

    entered: Tensor | None = None  # (N, D)

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        if self.entered is None:
            x = self.entered = x.detach().requires_grad_()
        return super().drop(x, share, training=training)
