"""Recalling: what is most alike by hashed vectors, the quick way that claw's agents recall by.

What was asked before is told from memory for as long as nothing has changed. It does not know who
asks, nor what whoever asks may be shown.
"""

from __future__ import annotations

from commonplace.library.library import Library
from commonplace.model.records import Hit
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.search.index import Asked, Query


def recalled(library: Library, text: str, *, limit: int, newest: int, writes: bool) -> list[Hit]:
    """What is most like a text among the `newest` records.

    A glance at journal and documents tells whether what was found before is still so. `writes`: a
    record that has no vector yet gets one.
    """
    question, glance = (text, limit), library.glance()
    hits = library.recalls.get(question, glance=glance)
    if hits is None:
        hits = _looked_for(library, text, limit=limit, newest=newest, writes=writes)
        # What changed while it was looked for is not in it, or not for sure.
        if glance == library.glance():
            library.recalls.put(question, hits, glance=glance)
    return hits


def _looked_for(library: Library, text: str, *, limit: int, newest: int, writes: bool) -> list[Hit]:
    library.refresh()
    encoder, index = HashedEncoder(), library.index
    if index.without_vectors:
        return index.search(Query(text, limit=limit, include_passages=False))
    missing = index.window(encoder.model, size=newest)
    if missing and writes:
        vectors = encoder.encode([words for _, words in missing])
        rows = ((key, *vector) for (key, _), vector in zip(missing, vectors))
        index.embed(encoder.model, dim=encoder.dim, rows=rows)
    [(vector, norm)] = encoder.encode([text])
    wanted = Query(limit=limit, include_passages=False)
    return index.nearest(Asked(encoder.model, vector, norm), wanted)
