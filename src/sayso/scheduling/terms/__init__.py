"""Every document of the scheduling protocol: its closed type, its checks, its codes and the words a person reads.

Pure: bytes and values in, values or a `Refused` out. Hosts, guests and the key app share it.
Spec: docs/spec/scheduling.md.
"""
