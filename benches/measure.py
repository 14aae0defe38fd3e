"""Measures the CPU time and the memory of a process, as the kernel reports them at its end.

CPU time is user and system time together. Compared programs take turns, and the least of several runs counts, so that
other load on the machine affects both, and as little as possible.
"""
import os
import resource
import time


def own_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(arguments, stdin=os.devnull, stdout=os.devnull, may_fail=False):
    """Returns the CPU seconds of one run; None if it may fail and does."""
    files = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
             (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)]
    if may_fail:
        files.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
    try:
        child = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=files)
    except OSError:
        if may_fail:
            return None
        raise
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        if may_fail:
            return None
        raise SystemExit(f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime


def peak(arguments, stdin=os.devnull, stdout=os.devnull):
    """Returns the peak memory of a program, in bytes.

    The kernel's figure is at least the memory of this process when it started the program. If it is no more than that,
    the largest figure seen while the program ran counts instead."""
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
    reported = used.ru_maxrss * 1024
    return reported if reported > own_memory() else seen


def resident(child, program):
    """Returns the peak memory of a process so far; 0 before it runs the program and after its end."""
    try:
        if os.readlink(f"/proc/{child}/exe") != program:
            return 0
        with open(f"/proc/{child}/status") as file:
            rows = dict(line.split(":", 1) for line in file)
        return int(rows["VmHWM"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 0


def least_of(count, command):
    """Returns the least of `count` runs of a short command, as one turn."""
    return min(run(command) for _ in range(count))


def race(runs, *contenders):
    """Runs the contenders in turns, and returns the least of each; None for one that failed.

    A contender is a function that measures one run."""
    best = [None] * len(contenders)
    failed = set()
    for _ in range(runs):
        for n, contender in enumerate(contenders):
            took = None if n in failed else contender()
            if took is None:
                failed.add(n)
            else:
                best[n] = took if best[n] is None else min(best[n], took)
    return [None if n in failed else took for n, took in enumerate(best)]
