from bullpen.testing.snapshot import Snapshot


def violations(s: Snapshot, at_rest: bool = False) -> list[str]:
    return []
