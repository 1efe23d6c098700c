"""The loss of a head that is taught where to look (guided alignment, Chen et al. 2016; Garg et al. 2019).

Axis letters: B sentences, T queries, S keys.
"""

from torch import Tensor


def guided_loss(scores: Tensor, mask: Tensor, aligned: Tensor) -> Tensor:
    """- sum over t of log softmax(scores_t)[aligned_t], for scores (B, T, S) and aligned (B, T).

    Where aligned is -1 nothing is taught. The mask (B, 1, S) says which keys are there.
    """
    known = aligned >= 0
    logs = scores.float().masked_fill(~mask, float("-inf")).log_softmax(dim=-1)  # (B, T, S)
    found = logs.gather(2, aligned.clamp(min=0)[..., None])[..., 0]  # (B, T)
    return -found[known].sum()
