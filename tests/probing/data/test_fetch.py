"""Fetching from a server of our own: whole, interrupted, wrong, absent; and what is refused before it is written."""

import hashlib
import io
import os
import re
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bilm import console
from bilm.errors import UserError
from probing import data_cli
from probing.data import catalogue
from probing.data.archive import ArchiveError, by_ending, unpack
from probing.data.catalogue import Download, Entry, File
from probing.data.check import presence
from probing.data.fetch import fetch
from probing.data.treebank import convert_treebank
from tests.command_line import run_here

CONTENT = bytes(range(256)) * 4096  # 1 MiB
NOISE = b"".join(hashlib.sha256(bytes([i])).digest() for i in range(29))[:900]  # cannot be compressed


class Server:
    """A local server of some files, which can break off, and remembers what it was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.break_off_at: list[int] = []
        self.ranges_work = True
        self.asked: list[tuple[str, str | None]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                server.asked.append((self.path, wanted))
                content = server.files.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                start = 0
                if wanted and server.ranges_work:
                    start = int(wanted.removeprefix("bytes=").rstrip("-"))
                    if start >= len(content):
                        self.send_error(416)
                        return
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
                else:
                    self.send_response(200)
                self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                end = server.break_off_at.pop(0) if server.break_off_at else len(content)
                self.wfile.write(content[start:end])

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "data"


def entry_of(*downloads: Download, **files: bytes) -> Entry:
    return Entry(
        name="toy",
        kind="corpus",
        folder="toy",
        description="a toy",
        licence="CC0 1.0",
        source="nowhere",
        citation="Nobody 2026",
        size="small",
        downloads=downloads,
        max_bytes=10**7,
        files={
            name.replace("_", "."): File(len(content), hashlib.sha256(content).hexdigest())
            for name, content in files.items()
        },
    )


def one_file(server: Server, content: bytes = CONTENT) -> Entry:
    return entry_of(Download("a.bin", f"{server.address}/a.bin"), a_bin=content)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_file_is_fetched_verified_and_put_in_place_and_a_second_fetch_asks_for_nothing(
    server: Server, folder: Path
) -> None:
    server.files["/a.bin"] = CONTENT
    assert fetch(one_file(server)) == folder / "toy"
    assert (folder / "toy" / "a.bin").read_bytes() == CONTENT
    assert names(folder) == {"toy", "toy/a.bin"}
    fetch(one_file(server))
    assert len(server.asked) == 1


def test_a_download_that_breaks_off_twice_goes_on_where_it_stopped(server: Server, folder: Path) -> None:
    server.files["/a.bin"] = CONTENT
    server.break_off_at = [300_000, 700_000]
    fetch(one_file(server), pause=0)
    assert (folder / "toy" / "a.bin").read_bytes() == CONTENT
    starts = [int(wanted[6:-1]) if wanted else 0 for _, wanted in server.asked]
    assert len(starts) == 3 and starts == sorted(set(starts)), starts


def test_the_next_run_goes_on_from_the_part_that_is_here(server: Server, folder: Path) -> None:
    server.files["/a.bin"] = CONTENT
    part = folder / ".fetch-toy" / "downloads" / "a.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:1000])
    fetch(one_file(server))
    assert server.asked == [("/a.bin", "bytes=1000-")]


def test_two_fetches_of_the_same_at_once_both_end_well_and_ask_once(server: Server, folder: Path) -> None:
    server.files["/a.bin"] = CONTENT
    server.break_off_at = [300_000]  # so that the first is still at work when the second starts
    with ThreadPoolExecutor() as threads:
        both = [threads.submit(fetch, one_file(server), pause=0.3) for _ in range(2)]
        assert [one.result() for one in both] == [folder / "toy"] * 2
    assert (folder / "toy" / "a.bin").read_bytes() == CONTENT
    assert names(folder) == {"toy", "toy/a.bin"}
    assert len(server.asked) == 2, "the second waits, and finds that all is there"


def test_a_fetch_that_another_overtakes_between_two_looks_finds_all_of_it_there(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/a.bin"] = CONTENT
    look = presence

    def overtaken(entry: Entry, root: Path) -> str:
        found = look(entry, root)
        monkeypatch.setattr("probing.data.fetch.presence", look)
        fetch(entry)  # the other one, from its beginning to its end
        return found

    monkeypatch.setattr("probing.data.fetch.presence", overtaken)
    assert fetch(one_file(server)) == folder / "toy"
    assert names(folder) == {"toy", "toy/a.bin"} and len(server.asked) == 1


@pytest.mark.parametrize("call", ["open", "fstat"])
def test_a_work_folder_that_whoever_held_it_removes_just_now_is_made_again(
    call: str, server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/a.bin"] = CONTENT
    work, own = folder / ".fetch-toy", getattr(os, call)

    def too_late(what: Any, *more: Any) -> Any:
        if what == work or call == "fstat":
            monkeypatch.setattr(os, call, own)
            work.rmdir()
        return own(what, *more)

    monkeypatch.setattr(os, call, too_late)
    fetch(one_file(server))
    assert names(folder) == {"toy", "toy/a.bin"}


def test_a_part_of_another_file_is_thrown_away_and_all_is_asked_for_again(server: Server, folder: Path) -> None:
    server.files["/a.bin"] = CONTENT
    part = folder / ".fetch-toy" / "downloads" / "a.bin.part"
    part.parent.mkdir(parents=True)
    for other in (b"x" * 1000, b"x" * 2 * len(CONTENT)):
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(other)
        assert (fetch(one_file(server), pause=0) / "a.bin").read_bytes() == CONTENT
        (folder / "toy").rename(folder / f"toy-{len(other)}")


def test_without_ranges_a_broken_download_starts_over(server: Server, folder: Path) -> None:
    server.files["/a.bin"] = CONTENT
    server.ranges_work = False
    server.break_off_at = [300_000]
    assert (fetch(one_file(server), pause=0) / "a.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("wrong", [b"y" + CONTENT[1:], CONTENT[:-1]], ids=["other content", "other size"])
def test_a_wrong_file_is_kept_aside_and_not_used(server: Server, folder: Path, wrong: bytes) -> None:
    server.files["/a.bin"] = wrong
    with pytest.raises(UserError, match=r"not the file it should be .*a\.bin\.wrong") as error:
        fetch(one_file(server))
    assert "\n" not in str(error.value)
    assert not (folder / "toy").exists()
    aside = folder / ".fetch-toy" / "downloads" / "a.bin.wrong"
    assert aside.read_bytes() == wrong
    server.files["/a.bin"] = CONTENT
    assert (fetch(one_file(server)) / "a.bin").read_bytes() == CONTENT


def test_without_a_server_one_line_says_what_to_do_and_a_file_put_there_is_taken(server: Server, folder: Path) -> None:
    entry = one_file(server)
    server.close()
    with pytest.raises(UserError, match="cannot be reached") as error:
        fetch(entry, tries=2, pause=0)
    message = str(error.value)
    assert "\n" not in message and entry.downloads[0].address in message
    found = re.search(r"save it as (\S+), and fetch again", message)
    assert found
    Path(found[1]).write_bytes(CONTENT)
    assert (fetch(entry, tries=1) / "a.bin").read_bytes() == CONTENT


def test_another_address_is_asked_where_the_first_has_nothing(server: Server, folder: Path) -> None:
    server.files["/mirror.bin"] = CONTENT
    download = Download("a.bin", f"{server.address}/a.bin", otherwise=f"{server.address}/mirror.bin")
    fetch(entry_of(download, a_bin=CONTENT))
    assert [path for path, _ in server.asked] == ["/a.bin", "/mirror.bin"]
    server.files.clear()
    (folder / "toy").rename(folder / "old")
    with pytest.raises(UserError, match=r"404.*404"):
        fetch(entry_of(download, a_bin=CONTENT))


@pytest.mark.parametrize(("senses", "accepted"), [(2, True), (3, False)])
def test_another_state_is_accepted_with_a_warning_where_its_counts_are_right(
    senses: int, accepted: bool, server: Server, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [f"dog%1:05:0{number}:: 0000000{number} {number} 0\n" for number in range(1, senses + 1)]
    server.files["/newer"] = "".join(lines).encode()
    download = Download("index.sense", f"{server.address}/a", f"{server.address}/newer", otherwise_differs=True)
    files = {"index.sense": File(1, hashlib.sha256(b"").hexdigest())}
    known = {"name": "wordnet-3.0", "folder": "wordnet-3.0", "files": files, "counts": {"index": 2}}
    entry = Entry(**{**vars(entry_of(download)), **known})
    if accepted:
        fetch(entry)
        assert "1 of 1 files differ" in caplog.text
    else:
        with pytest.raises(UserError, match=r"index\.sense differs .*\.wrong"):
            fetch(entry)
    assert (folder / "wordnet-3.0").exists() == accepted


def test_a_folder_that_is_not_complete_is_not_touched(server: Server, folder: Path) -> None:
    (folder / "toy").mkdir(parents=True)
    (folder / "toy" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="not complete"):
        fetch(one_file(server))
    assert names(folder) == {"toy", "toy/mine.txt"} and not server.asked


def test_a_data_folder_that_cannot_be_written_is_one_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("PROBING_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(UserError, match=r"cannot be written .*PROBING_DATA") as error:
        fetch(one_file(server))
    assert "\n" not in str(error.value)


def test_a_full_disk_is_one_line(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    server.files["/a.zip"] = zipped({"a.bin": CONTENT})
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(UserError, match=r"cannot be written .No space left on device"):
        fetch(entry_of(Download("a.zip", f"{server.address}/a.zip"), a_bin=CONTENT))


# Archives


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return buffer.getvalue()


def tarred(*members: tarfile.TarInfo, content: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as opened:
        for member in members:
            opened.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


def flipped(content: bytes) -> bytes:
    half = len(content) // 2
    return content[:half] + bytes(255 - byte for byte in content[half : half + 4]) + content[half + 4 :]


def linked_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        opened.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def test_an_archive_is_unpacked_into_the_layout_of_the_data_folder(server: Server, folder: Path) -> None:
    server.files["/a.zip"] = zipped({"Release-1/docs/README": b"?", "Release-1/a.bin": CONTENT})
    entry = entry_of(Download("a.zip", f"{server.address}/a.zip"), a_bin=CONTENT)
    fetch(entry)
    assert names(folder) == {"toy", "toy/a.bin"}
    server.files["/a.tar.gz"] = tarred(member("r/a.bin", size=len(CONTENT)), content=CONTENT)
    (folder / "toy").rename(folder / "old")
    fetch(entry_of(Download("a.tar.gz", f"{server.address}/a.tar.gz"), a_bin=CONTENT))
    assert (folder / "toy" / "a.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: zipped({"a.bin": b"1", "../../evil": b"2"}), "outside its folder"),
        (lambda: zipped({"a.bin": b"1", "x/../y": b"2"}), r"'\.\.'"),
        (lambda: zipped({"/etc/evil": b"2"}), "outside its folder"),
        (lambda: zipped({"..\\evil": b"2"}), "outside its folder"),
        (lambda: zipped({"C:/evil": b"2"}), "outside its folder"),
        (linked_zip, "link or a device"),
        (lambda: zipped({"a.bin": bytes(10**6)}), "more than 1,000 bytes"),
        (lambda: tarred(member("../evil")), "outside its folder"),
        (lambda: tarred(member("/etc/evil")), "outside its folder"),
        (lambda: tarred(member("x/link", tarfile.SYMTYPE, "../../etc")), "leads out"),
        (lambda: tarred(member("link", tarfile.SYMTYPE, "/etc/passwd")), "leads out"),
        (lambda: tarred(member("link", tarfile.LNKTYPE, "../passwd")), "leads out"),
        (lambda: tarred(member("null", tarfile.CHRTYPE)), "device"),
        (lambda: tarred(member("pipe", tarfile.FIFOTYPE)), "device"),
        (lambda: tarred(member("a.bin", size=10**6), content=bytes(10**6)), "more than 1,000 bytes"),
        (lambda: zipped({"x/a.bin": b"1", "y/a.bin": b"2"}), "twice"),
        (lambda: b"neither", "neither zip nor tar"),
        (lambda: zipped({"a.bin": CONTENT})[:-200], "zip"),
        (lambda: tarred(member("a.bin", size=900), content=NOISE)[:700], "damaged"),
        (lambda: flipped(zipped({"a.bin": NOISE})), "damaged"),
    ],
)
def test_an_archive_that_is_dangerous_or_damaged_is_refused_and_writes_nothing_outside(
    make: Callable[[], bytes], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.archive"
    path.write_bytes(make())
    into = tmp_path / "deep" / "er" / "into"
    with pytest.raises(ArchiveError, match=reason):
        unpack(path, into, by_ending({"a.bin", "evil", "link"}), max_bytes=1000)
    assert {path.name for path in tmp_path.rglob("*")} <= {"a.archive", "deep", "er", "into", "a.bin"}


def test_a_size_that_is_stated_too_small_does_not_unpack_more(tmp_path: Path) -> None:
    honest = zipped({"a.bin": bytes(10**6)})
    size = (10**6).to_bytes(4, "little")
    assert honest.count(size) == 2
    (tmp_path / "bomb.zip").write_bytes(honest.replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(ArchiveError, match="damaged"):
        unpack(tmp_path / "bomb.zip", tmp_path / "into", by_ending({"a.bin"}), max_bytes=1000)
    assert (tmp_path / "into" / "a.bin").stat().st_size <= 10


def test_an_archive_with_wrong_contents_is_kept_aside(server: Server, folder: Path) -> None:
    for content, reason in ((b"other", "a.bin differs"), (None, "a.bin missing")):
        server.files["/a.zip"] = zipped({"a.bin" if content else "b.bin": content or b""})
        with pytest.raises(UserError, match=rf"{reason}.*a\.zip\.wrong"):
            fetch(entry_of(Download("a.zip", f"{server.address}/a.zip"), a_bin=CONTENT))
        assert not (folder / "toy").exists()


def test_a_refused_archive_is_kept_aside(server: Server, folder: Path) -> None:
    server.files["/a.zip"] = zipped({"../evil": b""})
    with pytest.raises(UserError, match=r"refused.*a\.zip\.wrong"):
        fetch(entry_of(Download("a.zip", f"{server.address}/a.zip"), a_bin=CONTENT))


# The treebank's sample


def test_parsed_trees_become_words_and_tags_without_traces(tmp_path: Path) -> None:
    tree = "( (S (NP-SBJ-1 (NNP Rain) ) (VP (VBD fell) (NP (-NONE- *-1) )) (-LRB- -LRB-) (. .) ))\n"
    for number in range(10):
        (tmp_path / f"wsj_{number:04}.mrg").write_text(tree, encoding="utf-8")
    convert_treebank(tmp_path, tmp_path, "toy")
    row = "{}\t{}\t_\t_\t{}\t_\t_\t_\t_\t_\n"
    words = [("Rain", "NNP"), ("fell", "VBD"), ("-LRB-", "-LRB-"), (".", ".")]
    rows = "".join(row.format(position, *word) for position, word in enumerate(words, start=1))
    dev = (tmp_path / "toy-dev.conllu").read_text(encoding="utf-8")
    assert dev == f"# newdoc id = wsj_0008\n# sent_id = wsj_0008-1\n{rows}\n"
    counts = {
        split: (tmp_path / f"toy-{split}.conllu").read_text(encoding="utf-8").count("newdoc")
        for split in ("train", "dev", "test")
    }
    assert counts == {"train": 8, "dev": 1, "test": 1}


@pytest.mark.real_data
def test_the_sample_is_made_from_nltks_archive_byte_for_byte(
    data_dir: Path, server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = data_dir / "nltk_data" / "corpora" / "treebank.zip"
    if not archive.is_file():
        pytest.skip(f"{archive} is not there")
    server.files["/treebank.zip"] = archive.read_bytes()
    entry = catalogue.CATALOGUE["wsj-sample"]
    local = Entry(**{**vars(entry), "downloads": (Download("treebank.zip", f"{server.address}/treebank.zip"),)})
    fetch(local)
    assert names(folder / "wsj-sample") == set(entry.files)


# On the command line


def test_licence_source_and_citation_are_shown_before_the_download(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/a.bin"] = CONTENT
    monkeypatch.setitem(catalogue.CATALOGUE, "toy", one_file(server))
    shown: list[str] = []

    def watched(entry: Entry) -> Path:
        assert not server.asked
        shown.append("fetch")
        return fetch(entry)

    monkeypatch.setattr("probing.data_cli.fetch", watched)
    monkeypatch.setattr(console.console, "print", lambda text, **_: shown.append(text))
    first = run_here(data_cli.app, "fetch", "toy")
    assert (first.returncode, first.stdout.strip()) == (0, str(folder / "toy"))
    assert len(shown) == 2 and shown[1] == "fetch"
    assert all(part in shown[0] for part in ("CC0 1.0", "nowhere", "Nobody 2026"))
    again = run_here(data_cli.app, "fetch", "toy")
    assert (again.returncode, shown[2:]) == (0, ["toy is there already"])


def test_a_misspelt_name_is_offered_the_nearest_before_anything_is_fetched(folder: Path) -> None:
    found = run_here(data_cli.app, "fetch", "wordnet-3.0", "ud-englsh-ewt")
    assert found.returncode == 1 and not folder.exists()
    assert "did you mean ud-english-ewt?" in found.stderr


def test_what_needs_a_licence_says_where_it_goes(folder: Path) -> None:
    found = run_here(data_cli.app, "fetch", "penn-treebank-wsj")
    assert found.returncode == 1
    assert "LDC" in found.stderr and "wsj-00-18.conllu" in found.stderr
