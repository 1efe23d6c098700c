"""For the tests of the native engine: fewer examples under the sanitizers, which are slow."""

from hypothesis import settings

settings.register_profile("sanitize", settings.get_profile("jumok"), max_examples=15)
