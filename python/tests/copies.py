"""Copies of three of Polypath's path schedulers, plain and compiled: same decisions, same bits.

The sources are crates/policies/src/scheduler/{min_rtt,rr,ecf}.rs.
"""

from __future__ import annotations

import math

import polypath


class MinRtt(polypath.PathScheduler):
    """`min-rtt`: the smallest smoothed RTT; ties go to the path that was added first."""

    def pick(self, view, chunk):
        best, least = None, 0.0
        for path in view.paths:
            if path.sendable:
                rtt = view.rto_initial if path.srtt is None else path.srtt
                if best is None or rtt < least:
                    best, least = path, rtt
        return best


def _min_rtt(view, paths, chunk, state):
    best, least = -1, 0.0
    for number in range(len(paths)):
        path = paths[number]
        if path.sendable:
            rtt = view.rto_initial if math.isnan(path.srtt) else path.srtt
            if best < 0 or rtt < least:
                best, least = number, rtt
    return best


class RoundRobin(polypath.PathScheduler):
    """`rr`: the walk goes on after the path that data was last sent on."""

    def __init__(self):
        self.last = -1
        self.start = self.passed = 0

    def begin(self, view, why):
        self.start, self.passed = self.last + 1, 0

    def pick(self, view, chunk):
        count = len(view.paths)
        while self.passed < count:
            path = view.paths[(self.start + self.passed) % count]
            if path.sendable:
                return path
            self.passed += 1
        return None

    def sent(self, view, path, chunk, new_packet):
        self.last = path


# Of the compiled form's state: one more than the path last sent on, the start, and how many paths
# of the walk are left behind.
_LAST, _START, _PASSED = 0, 1, 2


def _rr_begin(view, paths, state, why):
    state[_START] = state[_LAST]
    state[_PASSED] = 0


def _rr(view, paths, chunk, state):
    count = len(paths)
    while state[_PASSED] < count:
        number = int(state[_START] + state[_PASSED]) % count
        if paths[number].sendable:
            return number
        state[_PASSED] += 1
    return -1


def _rr_sent(view, paths, chunk, state, path, new_packet):
    state[_LAST] = path + 1


class Ecf(polypath.PathScheduler):
    """`ecf`: a slower path only if waiting for the fastest would end the transfer later."""

    def __init__(self):
        self.waiting = False

    def pick(self, view, chunk):
        def rtt(path):
            return max(view.rto_initial if path.srtt is None else path.srtt, 1e-6)

        usable = [path for path in view.paths if path.usable]
        fast, slow = min(usable, key=rtt, default=None), min(view.sendable, key=rtt, default=None)
        if fast is None or slow is None:
            return None
        if slow.id != fast.id and any(path.outstanding > 0 for path in view.paths):
            unsent = max(view.unsent, chunk.bytes)
            sigma = max(fast.rttvar, slow.rttvar)
            patience = 1.25 if self.waiting else 1.0
            needed = 1.0 + unsent / max(fast.cwnd, 1)
            if needed * rtt(fast) >= patience * (rtt(slow) + sigma):
                self.waiting = False
            elif unsent / max(slow.cwnd, 1) * rtt(slow) >= 2.0 * rtt(fast) + sigma:
                self.waiting = True
                return None
        return slow


def _ecf(view, paths, chunk, state):
    fast, slow, fast_rtt, slow_rtt = -1, -1, 0.0, 0.0
    busy = False
    for number in range(len(paths)):
        path = paths[number]
        busy = busy or path.outstanding > 0
        rtt = max(view.rto_initial if math.isnan(path.srtt) else path.srtt, 1e-6)
        if path.usable and (fast < 0 or rtt < fast_rtt):
            fast, fast_rtt = number, rtt
        if path.sendable and (slow < 0 or rtt < slow_rtt):
            slow, slow_rtt = number, rtt
    if fast < 0 or slow < 0:
        return -1
    if slow != fast and busy:
        unsent = max(view.unsent, chunk.bytes)
        sigma = max(paths[fast].rttvar, paths[slow].rttvar)
        patience = 1.25 if state[0] > 0 else 1.0
        needed = 1.0 + unsent / max(paths[fast].cwnd, 1)
        if needed * fast_rtt >= patience * (slow_rtt + sigma):
            state[0] = 0.0
        elif unsent / max(paths[slow].cwnd, 1) * slow_rtt >= 2.0 * fast_rtt + sigma:
            state[0] = 1.0
            return -1
    return slow


def compiled() -> dict[str, polypath.Compiled]:
    """The compiled forms, by the names of the originals."""
    return {
        "min-rtt": polypath.compiled(_min_rtt),
        "rr": polypath.compiled(_rr, begin=_rr_begin, sent=_rr_sent, state=3),
        "ecf": polypath.compiled(_ecf, state=1),
    }


PLAIN = {"min-rtt": MinRtt, "rr": RoundRobin, "ecf": Ecf}
