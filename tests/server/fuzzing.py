"""What every answer to a generated request must keep, for the tests and for `benchmarks/api_fuzz.py`.

A document cannot say everything: that two lists have one length, or that a model has no such head. Such
refusals of requests that are valid by the document are listed here by their sentences; no other passes.
"""

import json
import re
from typing import Any

from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

BEYOND_THE_DOCUMENT = re.compile(
    r"give one target for each source"
    r"|prefix: give one for all texts, or one for each"
    r"|these options cannot work together"  # such as more answers than the beam has
    r"|a sentence is needed"  # of blanks, or of signs that tidying takes away
    r"|^(weight|index|token|slip|wrong): |^lr: choose a smaller rate"  # what a model or a target has not
    r"|trained weights have the directions|reads in no direction"  # of gradients
    r"|this model has no \w+ attention|this trace has no tensor"
    r"|source or target: no model|(source|target): no model for this language"
    r"|text and html can be translated"
    r"|no model that reads text is loaded"
    r"|^format: (there is no such format|neither the name)|there is no such document"
    r"|this server does not remember corrections|corrections a minute are taken|a text is needed"
    r"|has [\d,]+ tokens, and [\d,]+ are allowed|beam-tokens|new tokens|and this model takes"
    r"|^need: |^interventions\.\d+|^prefix: |^require: |^ban: |^fingerprint: |^cuts: |^target: |^max_len: "
    r"|a trace may have|has \d+ tokens, its end included|has more than [\d,]+ characters|picture"
)


def accepted_or_explained(ctx: Any, response: Any, case: Any) -> bool | None:
    """A request that is valid by the document is answered, or refused for what the document cannot say."""
    try:
        return positive_data_acceptance(ctx, response, case)
    except Exception:
        told = json.loads(response.content)
        if BEYOND_THE_DOCUMENT.search(told.get("detail") or told.get("error") or ""):
            return None
        raise


def wrong_ones_are_refused(ctx: Any, response: Any, case: Any) -> bool | None:
    """A request that is not valid by the document is refused; one that is too large to be read is, too."""
    return None if response.status_code == 413 else negative_data_rejection(ctx, response, case)


def other_methods_are_refused(ctx: Any, response: Any, case: Any) -> bool | None:
    """As schemathesis has it; but `GET /translate` is a screen of the page, which the document leaves out."""
    page = response.request.method in ("GET", "HEAD") and response.request.path_url.startswith("/translate")
    return None if page and response.status_code == 200 else unsupported_method(ctx, response, case)


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    other_methods_are_refused,
    accepted_or_explained,
    wrong_ones_are_refused,
]
