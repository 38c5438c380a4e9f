"""Path schedulers of one's own: plain, compiled, and per interval."""

from __future__ import annotations

import copies
import pytest

import polypath


@pytest.mark.parametrize("name", copies.PLAIN)
def test_a_plain_copy_gives_the_same_bits(two_paths, name):
    original = two_paths.set("stack.path-scheduler", name).run(seed=1)
    copy = two_paths.set("stack.path-scheduler", copies.PLAIN[name]).run(seed=1)
    assert copy.json() == original.json()


@pytest.mark.parametrize("name", copies.PLAIN)
@pytest.mark.parametrize("example", ["two-paths", "three-dissimilar"])
def test_a_compiled_copy_gives_the_same_bits(two_paths, name, example):
    pytest.importorskip("numba")
    scenario = two_paths if example == "two-paths" else polypath.Scenario.load(example)
    original = scenario.set("stack.path-scheduler", name).run(seed=1)
    copy = scenario.set("stack.path-scheduler", copies.compiled()[name]).run(seed=1)
    assert copy.json() == original.json()


def test_views_have_every_figure_and_nobody_changes_them(two_paths):
    seen = {}

    class Looks(polypath.PathScheduler):
        def pick(self, view, chunk):
            if view.now > 2 and not seen:
                path = view.paths[0]
                for thing in (view, path, chunk):
                    names = [name for name in dir(thing) if not name.startswith("_")]
                    seen[type(thing).__name__] = {name: getattr(thing, name) for name in names}
                    with pytest.raises(AttributeError):
                        setattr(thing, names[0], 1)
            return view.sendable[0] if view.sendable else None

    two_paths.set("stack.path-scheduler", Looks).run()
    assert len(seen["PathView"]) == 32 and 0.02 < seen["PathView"]["srtt"] < 1
    assert seen["View"]["unsent"] > 0 and seen["View"]["primary"] == 0
    assert seen["Chunk"]["bytes"] == 1452 and seen["Chunk"]["deadline"] is None


def test_all_methods_are_called(two_paths):
    calls = set()

    class Told(polypath.PathScheduler):
        def begin(self, view, why):
            calls.add(("begin", why))

        def end(self, view):
            calls.add(("end",))

        def pick(self, view, chunk):
            return next(iter(view.sendable), None)

        def sent(self, view, path, chunk, new_packet):
            calls.add(("sent", new_packet))

        def acked(self, view, path, count, rtt):
            calls.add(("acked", path))

        def lost(self, view, path, kind):
            calls.add(("lost", kind))

        def path_changed(self, view, path, change):
            calls.add(("path_changed", change))

    lossy = two_paths.set("path.a.loss", "2%").set("stack.path-scheduler", Told)
    lossy.run()
    assert {("begin", "sack"), ("begin", "write"), ("end",), ("sent", True), ("acked", 0)} <= calls
    assert ("lost", "fast-retransmit") in calls and ("path_changed", "active") in calls


def test_an_exception_ends_the_run_and_is_the_cause(two_paths):
    class Breaks(polypath.PathScheduler):
        def pick(self, view, chunk):
            return view.paths[0] if view.now < 1 else 1 / 0

    with pytest.raises(polypath.PolicyError, match="two-paths, seed 7: division by zero") as error:
        two_paths.set("stack.path-scheduler", Breaks).run(seed=7)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert error.value.__cause__.__traceback__ is not None


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("near", "pick returned 'near' \\(allowed: a path, its number, None to wait"),
        (2, "pick returned path 2 \\(allowed: 0 to 1\\)"),
        (-1, "allowed: a path"),
        (1.5, "pick returned 1.5"),
        (polypath.wait_until(float("nan")), "wait_until\\(nan\\)"),
    ],
)
def test_rubbish_gets_an_error_that_says_what_is_allowed(two_paths, answer, told):
    class Rubbish(polypath.PathScheduler):
        def pick(self, view, chunk):
            return answer

    with pytest.raises(polypath.PolicyError, match=told):
        two_paths.set("stack.path-scheduler", Rubbish).run()


def test_a_class_that_cannot_be_made(two_paths):
    class Needs(polypath.PathScheduler):
        def __init__(self, more):
            pass

    class Empty:
        pass

    for broken in (Needs, Empty):
        with pytest.raises(polypath.PolicyError, match="argument|attribute"):
            two_paths.set("stack.path-scheduler", broken).run()


def test_waiting_is_bounded_by_time(two_paths):
    asked = []

    class Waits(polypath.PathScheduler):
        def pick(self, view, chunk):
            if view.now < 1.5:
                return polypath.wait_until(1.5)
            asked.append(view.now)
            return next(iter(view.sendable), polypath.SKIP)

    assert two_paths.set("stack.path-scheduler", Waits).run().goodput > 1e6
    assert asked[0] == pytest.approx(1.5, abs=1e-6)


def test_a_scheduler_that_fails_loses_no_other_row(two_paths, fastest):
    class Breaks(polypath.PathScheduler):
        def pick(self, view, chunk):
            raise RuntimeError("out of ideas")

    sweep = two_paths.sweep({"stack.path-scheduler": ["rr", Breaks, fastest]}, seeds=2)
    known = sweep.columns()["goodput"] > 0
    assert known.tolist() == [True, True, False, False, True, True]
    assert list(sweep.errors) == [2, 3]
    told = str(sweep.errors[2])
    assert "stack.path-scheduler=Breaks, seed 1: out of ideas" in told
    assert isinstance(sweep.errors[2].__cause__, RuntimeError)
    assert sweep.ci()["runs"].tolist() == [2, 0, 2]


def test_two_classes_of_one_name_are_two(two_paths):
    def make(number):
        class Same(polypath.PathScheduler):
            def pick(self, view, chunk):
                path = view.paths[number]
                return path if path.sendable else None

        return Same

    sweep = two_paths.sweep({"stack.path-scheduler": [make(0), make(1)]}, seeds=1)
    assert sweep.columns()["stack.path-scheduler"].tolist() == ["Same", "Same-2"]


def test_a_compiled_function_that_raises(two_paths):
    pytest.importorskip("numba")

    for wrong in (lambda: 1, lambda view, paths, chunk, state: "near"):
        with pytest.raises(TypeError, match="numba cannot compile it as pick") as error:
            polypath.compiled(wrong)
        assert error.value.__cause__ is not None
    with pytest.raises(ValueError, match="state = -1 \\(allowed: 0 to 65536"):
        polypath.compiled(lambda view, paths, chunk, state: 0, state=-1)

    @polypath.compiled(state=1)
    def outside(view, paths, chunk, state):
        return int(state[7])

    with pytest.raises(polypath.PolicyError, match="its plain form says which"):
        two_paths.set("stack.path-scheduler", outside).run()
    with pytest.raises(polypath.PolicyError, match="a compiled function raised"):
        polypath.check(outside)
    with pytest.raises(polypath.PolicyError, match="out of bounds"):
        two_paths.set("stack.path-scheduler", outside.plain).run()

    @polypath.compiled
    def far(view, paths, chunk, state):
        return 9

    with pytest.raises(polypath.PolicyError, match="pick returned 9 \\(allowed: a path, 0 to 1"):
        two_paths.set("stack.path-scheduler", far).run()


def test_weights_of_an_interval_policy(two_paths):
    class Thirds(polypath.IntervalPolicy):
        every = 0.02

        def decide(self, paths, assoc):
            assert paths.shape == (2, len(polypath.PATH_FIGURES))
            assert assoc.shape == (len(polypath.ASSOC_FIGURES),)
            return [3, 1], [0.5, 0.5]

    class First(polypath.IntervalPolicy):
        def decide(self, paths, assoc):
            return (1, 0)

    result = two_paths.set("stack.path-scheduler", First).run()
    one, two = (path["payload_bytes"] for path in result.raw["flows"][0]["paths"])
    assert one > 20 * two
    assert two_paths.set("stack.path-scheduler", Thirds).run().goodput > 1e6


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([1], "a weight for each path"),
        ([1, float("nan")], "weight\\[1\\] is NaN"),
        ([-1, 1], "weight\\[0\\] is -1"),
        (([1, 1], [0, 1]), "cwnd_factor\\[0\\] is 0"),
        ("no", "decide returned 'no'"),
        (None, "decide returned None"),
    ],
)
def test_rubbish_of_an_interval_policy(two_paths, answer, told):
    class Rubbish(polypath.IntervalPolicy):
        def decide(self, paths, assoc):
            return answer

    with pytest.raises(polypath.PolicyError, match=told):
        two_paths.set("stack.path-scheduler", Rubbish).run()


def test_check_finds_faults():
    class Idle(polypath.PathScheduler):
        def pick(self, view, chunk):
            return None

    with pytest.raises(polypath.CheckError, match="Idle, random rounds of seed 1: waits in an empty"):
        polypath.check(Idle)

    class Closed(polypath.PathScheduler):
        def pick(self, view, chunk):
            return next((path for path in view.paths if not path.sendable), view.paths[0])

    with pytest.raises(polypath.CheckError, match="is not sendable"):
        polypath.check(Closed)

    class Late(polypath.PathScheduler):
        def pick(self, view, chunk):
            return polypath.wait_until(view.now - 1)

    with pytest.raises(polypath.CheckError, match="which has passed"):
        polypath.check(Late)

    class Breaks(polypath.PathScheduler):
        def pick(self, view, chunk):
            return view.paths[7]

    with pytest.raises(polypath.PolicyError, match="path scheduler Breaks, seed 1: tuple index"):
        polypath.check(Breaks)

    class FirstOnly(polypath.PathScheduler):
        def pick(self, view, chunk):
            path = next((path for path in view.paths if path.usable), None)
            return path if path is not None and path.sendable else None

    with pytest.raises(polypath.CheckError, match="with it last"):
        polypath.check(FirstOnly)

    count = 0

    class Remembers(polypath.PathScheduler):
        def pick(self, view, chunk):
            nonlocal count
            count += 1
            open_paths = view.sendable
            return open_paths[(count // 777) % len(open_paths)] if open_paths else None

    with pytest.raises(polypath.CheckError, match="differs in a second run"):
        polypath.check(Remembers)


def test_bench_compares(fastest):
    bench = polypath.bench(
        fastest, networks=3, packets=2_000, against=["rr", "min-rtt"], papers=(), progress=False
    )
    assert bench.schedulers == ["Fastest", "rr", "min-rtt"]
    assert bench.performance.shape == (3, 3) and not bench.errors
    # It is min-rtt.
    assert bench.performance[:, 0].tolist() == bench.performance[:, 2].tolist()
    assert bench.ratios()["min-rtt"] == (1.0, 1.0, 1.0)
    assert "on 3 random networks" in str(bench) and "too few networks" in str(bench)
    with pytest.raises(polypath.ScenarioError, match="is unknown"):
        polypath.bench("min-rt", networks=1, papers=())
