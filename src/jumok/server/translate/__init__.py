"""Translation over HTTP: the routes, the worker that decodes, streams, and the API of LibreTranslate."""
