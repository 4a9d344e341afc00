"""Our JSON Schemas of the Open Agent Protocol 0.1, printed from the typed payloads; the files lie in this folder."""
