"""What a program takes: CPU time, wall time and memory of its process, as the kernel tells once it has ended.

CPU time is what user and system took together. Programs that are compared take turns, and the least of several runs
counts, so that what else the machine does at the time falls on both and is left out as far as it can be.
"""
import os
import resource
import time
from dataclasses import dataclass, fields


@dataclass
class Took:
    """Seconds, seconds and bytes."""
    cpu: float
    wall: float
    memory: int


def own_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(arguments, stdin=os.devnull, stdout=os.devnull, may_fail=False):
    """What one run takes; None where it may fail and does."""
    files = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
             (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)]
    if may_fail:
        files.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
    began = time.perf_counter()
    try:
        child = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=files)
    except OSError:
        if may_fail:
            return None
        raise
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - began
    if os.waitstatus_to_exitcode(status) != 0:
        if may_fail:
            return None
        raise SystemExit(f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return Took(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024)


def peak(arguments, stdin=os.devnull, stdout=os.devnull):
    """The most memory a program has had at once, in bytes.

    What the kernel says at the end is never less than what this process had when it began the other, so where it is
    that, the last that was seen of the program itself is taken instead."""
    files = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
             (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)]
    child, seen = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=files), 0
    while True:
        seen = max(seen, resident(child, os.path.realpath(arguments[0])))
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.001)
    if status:
        raise SystemExit(f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    said = used.ru_maxrss * 1024
    return said if said > own_memory() else seen


def resident(child, program):
    """The most memory that a process has had so far; 0 before it is the program and after it has ended."""
    try:
        if os.readlink(f"/proc/{child}/exe") != program:
            return 0
        with open(f"/proc/{child}/status") as file:
            rows = dict(line.split(":", 1) for line in file)
        return int(rows["VmHWM"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 0


def least_of(count, command):
    """The least of so many runs of something short, as one turn."""
    return least([run(command) for _ in range(count)])


def least(took):
    return Took(*(min(getattr(one, field.name) for one in took) for field in fields(Took)))


def race(runs, *contenders):
    """The least that each of the contenders takes of so many runs, in turns; None for one that failed.

    A contender is a function that makes one run."""
    best = [None] * len(contenders)
    failed = set()
    for _ in range(runs):
        for n, contender in enumerate(contenders):
            took = None if n in failed else contender()
            if took is None:
                failed.add(n)
            else:
                best[n] = least([took] + [one for one in best[n:n + 1] if one])
    return [None if n in failed else took for n, took in enumerate(best)]
