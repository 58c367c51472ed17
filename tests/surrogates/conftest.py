from __future__ import annotations

import pytest

from edgeperf.datasets import Dataset
from edgeperf.surrogates.rows import Corpus, corpus

from . import boards


@pytest.fixture(scope="session")
def paper_boards(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two boards whose labels follow a known law."""
    return boards.dataset(tmp_path_factory.mktemp("boards"))


@pytest.fixture(scope="session")
def prepared(paper_boards: Dataset) -> Corpus:
    return corpus(paper_boards)
