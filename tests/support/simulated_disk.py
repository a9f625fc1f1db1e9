"""A disk in memory that forgets what was not synced, fails when told to, and can be cut off.

    process  --write-->  cache  --sync-->  disk

Each file keeps, page by page, every version since its last sync; a power cut takes any of
them, torn between sectors, and any size that the file has had. Names are kept by their
directory: a change of names waits for sync_dir and is lost in either of two ways, as the
tail of one queue (ext4) or one by one. A sync covers what was written before it began; a
sync that fails leaves the old bytes on the disk, the new ones in the cache until they are
evicted, and nothing to be written by the next sync, which succeeds.

`meanwhile` is called in the middle of every call: what other threads do then.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from onelog.errors import DiskFailed, DiskFull
from onelog.storage.disk import Buffer, StoreRefused

ROOM_BYTES = 1 << 40


class PowerCutError(BaseException):
    """The power went in the middle of a call. Not an Exception: nobody may handle it."""


@dataclass
class Node:
    """One file: what the process sees, and what is on the disk."""

    cache: bytearray = field(default_factory=bytearray)
    pages: dict[int, bytes] = field(default_factory=dict)
    dirty: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    size: int = 0
    sizes: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Folder:
    """One directory: its names as the process sees them, and as they are on the disk."""

    entries: "dict[str, Node | Folder]" = field(default_factory=dict)
    durable: "dict[str, Node | Folder]" = field(default_factory=dict)


@dataclass
class NameChange:
    """Names that change together, in one directory. None: the name goes."""

    folder: Folder
    names: "dict[str, Node | Folder | None]"


class SimulatedFile:
    """A handle. It outlives its name, but not its process."""

    def __init__(self, disk: "SimulatedDisk", path: str, node: Node) -> None:
        self.path = path
        self._disk = disk
        self._node = node
        self._process = disk.process

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        data = b"".join(bytes(b) for b in buffers)
        self._check()
        written = self._disk.step(self.path, "writing", size=len(data))
        self._disk.put(self._node, position, data[:written])
        self._disk.after_step(self.path, "writing", whole=written == len(data))

    def pread(self, position: int, count: int) -> bytes:
        self._check()
        # The system refuses these; a slice would find something.
        assert position >= 0
        assert count >= 0
        return bytes(self._node.cache[position : position + count])

    def size(self) -> int:
        return len(self._node.cache)

    def truncate(self, size: int) -> None:
        self._check()
        if self._disk.step(self.path, "cutting", size=1):
            self._disk.cut(self._node, size)
        self._disk.after_step(self.path, "cutting")

    def sync(self) -> None:
        self._check()
        seen = self._disk.begin_sync()
        if self._disk.step(self.path, "syncing", size=1):
            self._disk.sync(self._node, self.path, seen)
        self._disk.after_step(self.path, "syncing")

    def drop_cache(self) -> None:
        self._disk.drop_cache(self._node)

    def close(self) -> None:
        pass

    def _check(self) -> None:
        assert self._process == self._disk.process, f"{self.path}: a handle of a process that is gone"


class SimulatedLock:
    """Held until released, or until its process ends."""

    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


class SimulatedDisk:
    """A file system whose power can go. Small pages make small worlds tear."""

    def __init__(
        self, rng: Random, *, page_bytes: int = 4096, sector_bytes: int = 512, ordered_names: bool = True
    ) -> None:
        self.rng = rng
        self.process = 0
        self.calls = 0
        self.cut_at: int | None = None
        self.cut_behind: str | None = None
        self.fail_sync_at: int | None = None
        self.has_failed = False
        self.full_at: int | None = None
        self.room_bytes = ROOM_BYTES
        self.meanwhile: Callable[[], None] | None = None
        self._page_bytes = page_bytes
        self._sector_bytes = sector_bytes
        self._ordered_names = ordered_names
        self._root = Folder()
        self._changes: list[NameChange] = []
        self._held: set[str] = set()
        self._serial = 0

    # What a process may call

    def open(self, path: str, *, create: bool = False) -> SimulatedFile:
        folder, name = self._parent(path)
        node = folder.entries.get(name)
        if node is None and create:
            node = Node()
            self._change(path, folder, {name: node})
        if not isinstance(node, Node):
            raise DiskFailed(path=path, doing="opening", found="No such file or directory")
        return SimulatedFile(self, path, node)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_dir(self, path: str) -> bool:
        return isinstance(self._find(path), Folder)

    def names(self, path: str) -> list[str]:
        return sorted(self._folder(path).entries)

    def make_dir(self, path: str) -> None:
        folder = self._root
        for name in _parts(path):
            if name not in folder.entries:
                self._change(path, folder, {name: Folder()})
            found = folder.entries[name]
            assert isinstance(found, Folder)
            folder = found

    def rename(self, old: str, new: str) -> None:
        folder, name = self._parent(old)
        new_folder, new_name = self._parent(new)
        assert folder is new_folder, "a rename between directories is not simulated"
        target = folder.entries.get(new_name)
        if isinstance(target, Folder) and target.entries:
            raise DiskFailed(path=new, doing="renaming", found="Directory not empty")
        self._change(old, folder, {name: None, new_name: folder.entries[name]})

    def unlink(self, path: str) -> None:
        folder, name = self._parent(path)
        if name in folder.entries:
            self._change(path, folder, {name: None})

    def remove_dir(self, path: str) -> None:
        folder, name = self._parent(path)
        if self._folder(path).entries:
            raise DiskFailed(path=path, doing="removing the directory", found="Directory not empty")
        self._change(path, folder, {name: None})

    def sync_dir(self, path: str) -> None:
        folder = self._folder(path)
        if self.step(path, "syncing the directory", size=1):
            self._sync_names(folder)
        self.after_step(path, "syncing the directory")

    def free_bytes(self, path: str) -> int:
        return self.room_bytes

    def lock(self, path: str) -> SimulatedLock:
        if path in self._held:
            raise StoreRefused(f"{path}: held")
        self._held.add(path)
        return SimulatedLock(self._held, path)

    # What happens to it

    def kill(self) -> None:
        """The process ends; the cache stays. What a cut, a fault or a full disk was due for is off."""
        self.process += 1
        self._held.clear()
        self.cut_at = self.fail_sync_at = self.full_at = self.cut_behind = None
        self.has_failed = False
        self.meanwhile = None
        self.room_bytes = ROOM_BYTES

    def power_cut(self) -> None:
        """The cache goes, and of what was not synced, anything."""
        self.kill()
        if self._ordered_names:
            kept = self._changes[: self.rng.randint(0, len(self._changes))]
        else:
            kept = [change for change in self._changes if self.rng.random() < 0.5]
        for change in kept:
            _rename(change.folder.durable, change.names)
        self._changes = []
        self._settle(self._root)

    def step(self, path: str, doing: str, *, size: int) -> int:
        """A call begins: how much of it happens. Raises what is due."""
        self.calls += 1
        if self.meanwhile is not None and self.calls != self.cut_at:
            self.meanwhile()
        if self.cut_behind is not None and doing == "changing names" and path.endswith(self.cut_behind):
            self.cut_behind, self.cut_at = None, self.calls + self.rng.randint(1, 5)
        if self.full_at is not None and self.calls >= self.full_at and doing == "writing":
            self.room_bytes = 0
            return self.rng.randint(0, size)
        if self.calls == self.cut_at:
            return self.rng.randint(0, size)
        return size

    def after_step(self, path: str, doing: str, *, whole: bool = True) -> None:
        """A call ends, unless the power went in it."""
        if self.calls == self.cut_at:
            raise PowerCutError(f"{path}: {doing}")
        if not whole or (doing == "writing" and not self.room_bytes):
            raise DiskFull(path=path, doing=doing)

    def put(self, node: Node, position: int, data: bytes) -> None:
        """Bytes into the cache; every page they touch has one version more."""
        end = position + len(data)
        if end > len(node.cache):
            node.cache.extend(bytes(end - len(node.cache)))
        node.cache[position:end] = data
        self._touch(node, position, end)
        node.sizes.append((self._serial, len(node.cache)))

    def cut(self, node: Node, size: int) -> None:
        """Another size, in the cache."""
        before = len(node.cache)
        self._serial += 1
        if size < before:
            del node.cache[size:]
            self._touch(node, size, before)
        else:
            node.cache.extend(bytes(size - before))
        node.sizes.append((self._serial, size))

    def begin_sync(self) -> int:
        """What a sync that begins now covers: everything up to this change."""
        return self._serial

    def sync(self, node: Node, path: str, last: int) -> None:
        """What was in the cache when the sync began onto the disk, or the failure that was due."""
        if self.fail_sync_at is not None and self.calls >= self.fail_sync_at and not self.has_failed:
            self.has_failed = True
            for page in list(node.dirty):
                self._settle_page(node, page, keep_old=0.7)
            node.size = len(node.cache)
            node.sizes = []
            raise DiskFailed(path=path, doing="syncing", found="Input/output error")
        for page, versions in list(node.dirty.items()):
            covered = [data for serial, data in versions if serial <= last]
            if covered:
                node.pages[page] = covered[-1]
                del versions[: len(covered)]
            if not versions:
                del node.dirty[page]
        for serial, size in node.sizes:
            if serial <= last:
                node.size = size
        node.sizes = [(serial, size) for serial, size in node.sizes if serial > last]

    def drop_cache(self, node: Node) -> None:
        """Pages that the system takes for clean are read from the disk again."""
        for page in range(-(-len(node.cache) // self._page_bytes)):
            if page not in node.dirty:
                first = page * self._page_bytes
                data = self._disk_page(node, page)[: len(node.cache) - first]
                node.cache[first : first + len(data)] = data

    def evict(self) -> None:
        """The system needs memory: some of the pages that it takes for clean are read again when asked for."""
        for node in _files(self._root):
            if self.rng.random() < 0.5:
                self.drop_cache(node)

    def _touch(self, node: Node, position: int, end: int) -> None:
        self._serial += 1
        for page in range(position // self._page_bytes, -(-end // self._page_bytes)):
            first = page * self._page_bytes
            data = bytes(node.cache[first : first + self._page_bytes])
            node.dirty.setdefault(page, []).append((self._serial, data.ljust(self._page_bytes, b"\0")))

    def _disk_page(self, node: Node, page: int) -> bytes:
        return node.pages.get(page, bytes(self._page_bytes))

    def _settle(self, folder: Folder) -> None:
        """What the process sees from now on is what the disk has."""
        folder.entries = dict(folder.durable)
        for found in folder.entries.values():
            if isinstance(found, Folder):
                self._settle(found)
            else:
                self._settle_file(found)

    def _settle_file(self, node: Node) -> None:
        for page in list(node.dirty):
            self._settle_page(node, page, keep_old=0.4)
        if node.sizes:
            sizes = [node.size, *(size for _, size in node.sizes)]
            node.size = self.rng.choice((node.size, sizes[-1], self.rng.randint(min(sizes), max(sizes))))
            node.sizes = []
        pages = -(-node.size // self._page_bytes)
        content = b"".join(self._disk_page(node, page) for page in range(pages))
        node.cache = bytearray(content[: node.size])
        node.pages = {
            page: bytes(node.cache[page * self._page_bytes : (page + 1) * self._page_bytes]).ljust(
                self._page_bytes, b"\0"
            )
            for page in range(pages)
        }

    def _settle_page(self, node: Node, page: int, *, keep_old: float) -> None:
        """One of the versions that a page had since its last sync, or a page torn between two."""
        versions = [self._disk_page(node, page), *(data for _, data in node.dirty.pop(page))]
        if self.rng.random() < keep_old:
            return
        number = self.rng.randrange(1, len(versions))
        chosen = versions[number]
        if self.rng.random() < 0.3:
            at = self.rng.randrange(0, self._page_bytes, self._sector_bytes)
            parts = [versions[number - 1], chosen]
            self.rng.shuffle(parts)
            chosen = parts[0][:at] + parts[1][at:]
        node.pages[page] = chosen

    def _sync_names(self, folder: Folder) -> None:
        folder.durable = dict(folder.entries)
        self._changes = [change for change in self._changes if change.folder is not folder]

    def _change(self, path: str, folder: Folder, names: "dict[str, Node | Folder | None]") -> None:
        if self.step(path, "changing names", size=1):
            _rename(folder.entries, names)
            self._changes.append(NameChange(folder, names))
        self.after_step(path, "changing names")

    def _find(self, path: str) -> "Node | Folder | None":
        found: Node | Folder | None = self._root
        for name in _parts(path):
            if not isinstance(found, Folder):
                return None
            found = found.entries.get(name)
        return found

    def _folder(self, path: str) -> Folder:
        found = self._find(path)
        if not isinstance(found, Folder):
            raise DiskFailed(path=path, doing="opening the directory", found="No such file or directory")
        return found

    def _parent(self, path: str) -> tuple[Folder, str]:
        above, _, name = path.rpartition("/")
        return self._folder(above), name


def _files(folder: Folder) -> Iterator[Node]:
    for found in folder.entries.values():
        if isinstance(found, Folder):
            yield from _files(found)
        else:
            yield found


def _parts(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _rename(entries: "dict[str, Node | Folder]", names: "dict[str, Node | Folder | None]") -> None:
    for name, found in names.items():
        if found is None:
            entries.pop(name, None)
        else:
            entries[name] = found
