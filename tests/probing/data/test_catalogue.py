"""The catalogue is complete and its addresses are sound."""

import pytest

from bilm.errors import UserError
from probing.corpora.registry import CORPORA
from probing.data.catalogue import CATALOGUE, find_entry, known_files

HTTP_ONLY = {"semcor3.0", "wsd-evaluation-framework"}
"""Their servers are known to answer http; what they send is verified."""


def test_every_corpus_that_does_not_come_with_the_package_can_be_had() -> None:
    for name, corpus in CORPORA.items():
        if corpus.shipped:
            assert name not in CATALOGUE
            with pytest.raises(UserError, match="comes with this package"):
                find_entry(name)
        else:
            assert CATALOGUE[name].downloads
            prefix = f"{CATALOGUE[name].folder}/"
            files = {prefix + path for path in CATALOGUE[name].files}
            for path in corpus.files.values():
                assert any(file == path or file.startswith(f"{path}/") for file in files), path


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_an_entry_says_what_it_is_and_where_its_files_come_from(name: str) -> None:
    entry = CATALOGUE[name]
    assert entry.licence and entry.source and entry.citation and entry.size
    for download in entry.downloads:
        for address in filter(None, (download.address, download.otherwise)):
            assert address.startswith("https://") or name in HTTP_ONLY, address
        assert download.is_archive or download.path in entry.files
    if entry.unverifiable and entry.downloads:
        assert "checksum: not known" in entry.note
    if not entry.downloads:
        assert entry.kind == "licensed" and entry.note
    if entry.counts:
        assert set(entry.counts) == set(CORPORA[name].files)
    if any(download.is_archive for download in entry.downloads):
        assert entry.max_bytes > sum(file.size or 0 for file in entry.files.values())


def test_every_checksum_belongs_to_an_entry() -> None:
    claimed = {f"{entry.folder}/{path}" for entry in CATALOGUE.values() for path in entry.files}
    assert set(known_files()) <= claimed
    assert all(len(file.sha256 or "") == 64 and file.size for file in known_files().values())


def test_the_four_released_sizes_are_there() -> None:
    assert {"elmo-small", "elmo-medium", "elmo-original", "elmo-5.5B"} <= set(CATALOGUE)
