"""Which processes there are, and where they listen, as Linux tells it."""

import ipaddress
from contextlib import suppress
from pathlib import Path

PROCESSES = Path("/proc")


def descendants(ancestor):
    """The process with this id and all that descend from it."""
    parents = {}
    for folder in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found, more = set(), {ancestor}
    while more:
        found |= more
        more = {process for process, parent in parents.items() if parent in more}
    return found


def listening(process):
    """Addresses on which a process listens for TCP connections, one for each port."""
    sockets = set()
    with suppress(OSError):  # it may just have ended
        for descriptor in (PROCESSES / str(process) / "fd").iterdir():
            with suppress(OSError):
                sockets.add(str(descriptor.readlink()))
    lines = [line.split() for name in ("tcp", "tcp6") for line in (PROCESSES / "net" / name).read_text().splitlines()]
    return [address(line[1]) for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]


def address(text):
    """Address in an entry of the kernel's table, such as 0100007F:1F90: words of four bytes, each in reverse order."""
    data = bytes.fromhex(text.partition(":")[0])
    found = ipaddress.ip_address(b"".join(data[start : start + 4][::-1] for start in range(0, len(data), 4)))
    return str(getattr(found, "ipv4_mapped", None) or found)
