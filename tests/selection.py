"""Whether pytest was asked to run everything."""

from __future__ import annotations

import pytest


def is_whole_run(config: pytest.Config) -> bool:
    option = config.option
    everything = config.args_source is not pytest.Config.ArgsSource.ARGS
    return everything and not option.keyword and not option.markexpr and not option.collectonly and not option.lf
