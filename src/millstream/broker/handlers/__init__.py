"""One module per API, listed in `millstream.broker.requests.registry`.

Each has a docstring (versions, behaviour, version notes, not supported), `API = ApiSpec(...)` and
`handle(request, context)`.
"""
