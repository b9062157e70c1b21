"""Whether pytest was asked to run everything."""

from __future__ import annotations

import pytest


def is_whole_run(config: pytest.Config) -> bool:
    option = config.option
    everything = config.args_source is not pytest.Config.ArgsSource.ARGS
    narrowed = option.keyword or option.markexpr or option.collectonly or getattr(option, "lf", False)
    return everything and not narrowed
