"""Environments, and nets that were trained in them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import polypath

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from polypath import gym  # noqa: E402


def test_gymnasium_finds_no_fault(two_paths):
    check_env(gym.PathWeights(two_paths, paths=2), skip_render_check=True)
    check_env(gym.PathWeights(two_paths, paths=3, window=True), skip_render_check=True)


def test_a_seed_is_an_episode(two_paths):
    def episode(seed):
        environment = gym.PathWeights(two_paths, paths=2)
        environment.reset(seed=seed)
        steps = []
        while True:
            observation, reward, terminated, truncated, info = environment.step([1.0, 0.5])
            steps.append((observation.tolist(), reward, info["now"]))
            if terminated or truncated:
                return steps

    one = episode(1)
    assert one == episode(1) and one != episode(2)
    # 3 s in steps of 10 ms, less the set-up.
    assert 250 < len(one) <= 301


def test_many_worlds_are_the_same_as_one(two_paths):
    single = gym.PathWeights(two_paths, paths=2)
    many = gym.PathWeightsVector(two_paths, 5, paths=2, threads=2)
    seen, _ = many.reset(seed=[11, 12, 13, 14, 15])
    assert seen.shape == (5, 30) and many.observation_space.contains(seen)
    single._worlds.reset(0, 0, 13)
    alone, _, _ = single._worlds.step(np.ones((1, 2), np.float32))
    assert alone[0].tolist() == seen[2].tolist()
    for _ in range(20):
        seen, rewards, _, over, _ = many.step(np.full((5, 2), 0.5, np.float32))
        alone, reward, _, _, _ = single.step(np.full(2, 0.5, np.float32))
        assert alone.tolist() == seen[2].tolist() and reward == rewards[2]


def test_worlds_that_are_over_begin_anew(two_paths):
    short = two_paths.set("time.measure", "200ms").set("time.settle", "0s")
    many = gym.PathWeightsVector(short, 3, paths=2)
    many.reset(seed=1)
    ends = 0
    for _ in range(100):
        _, rewards, _, over, measured = many.step(np.ones((3, 2), np.float32))
        ends += int(over.sum())
    assert ends >= 9 and measured["now"].max() <= 0.2


def test_worlds_that_are_over_may_stay_so(two_paths):
    short = two_paths.set("time.measure", "200ms").set("time.settle", "0s")
    many = gym.PathWeightsVector(short, 3, paths=2, autoreset=False)
    assert many.metadata["autoreset_mode"].name == "DISABLED"
    assert gym.PathWeightsVector.metadata["autoreset_mode"].name == "NEXT_STEP"
    many.reset(seed=[1, 1, 2])
    whole = np.zeros(3)
    for _ in range(40):
        _, rewards, _, over, measured = many.step(np.ones((3, 2), np.float32))
        whole += measured["delivered"]
    assert over.all() and not rewards.any() and not measured["delivered"].any()
    assert whole[0] == whole[1] > 0
    many.reset(seed=1)
    assert not many.step(np.ones((3, 2), np.float32))[3].any()


def test_without_arguments():
    for environment in (gym.PathWeights(), gym.PathWeightsVector(num_envs=2)):
        environment.reset(seed=1)
        environment.step(environment.action_space.sample())
    gym.PathWeightsVector(gym.networks(), 64).reset(seed=1)


def test_weights_matter(two_paths):
    def goodput(weights):
        environment = gym.PathWeights(two_paths, paths=2)
        environment.reset(seed=1)
        delivered = 0.0
        for _ in range(200):
            info = environment.step(weights)[4]
            delivered += info["delivered"]
        return delivered

    assert goodput([1.0, 1.0]) > 1.5 * goodput([1.0, 0.0])


def test_networks_of_the_splits_never_meet():
    texts = {split: gym.networks(split)(0).text for split in gym.SPLITS}
    assert len(set(texts.values())) == 3
    with pytest.raises(ValueError, match="allowed: train, validation, test"):
        gym.networks("all")
    assert [s.text for s in gym.episodes(gym.networks("test"), 2)][0] == texts["test"]


def test_what_does_not_fit_is_refused(two_paths):
    environment = gym.PathWeights(two_paths, paths=1)
    with pytest.raises(ValueError, match="2 paths \\(allowed: up to 1\\)"):
        environment.reset(seed=1)
    environment = gym.PathWeights(two_paths, paths=2)
    environment.reset(seed=1)
    with pytest.raises(ValueError, match="not finite"):
        environment.step([np.nan, 1.0])
    with pytest.raises(ValueError, match="allowed: 0.001 to 10 s"):
        gym.PathWeights(two_paths, every=0.0)


def test_a_transfer_that_ends_takes_no_count_with_it():
    file = polypath.Scenario(
        """
        path.a = { rate = "10Mbit/s", delay = "10ms" }
        flow = [{ app = "file", size = "200KiB" }]
        stack.profile = "fast"
        """
    )
    environment = gym.PathWeights(file, paths=1)
    environment.reset(seed=1)
    delivered, over = 0.0, False
    while not over:
        _, reward, _, over, info = environment.step([1.0])
        delivered += info["delivered"]
        assert 0 <= info["delivered"] <= 204_800 and 0 <= info["lost"] < 1e6
    assert delivered == pytest.approx(204_800, rel=0.2)


def test_a_reward_of_ones_own(two_paths):
    environment = gym.PathWeights(two_paths, paths=2, reward=lambda measured: measured["seconds"])
    environment.reset(seed=1)
    assert environment.step([1.0, 1.0])[1] == pytest.approx(0.02, abs=0.02)


def test_a_net_does_the_same_in_python_and_in_rust(two_paths, tmp_path):
    numbers = np.random.default_rng(1).normal(size=polypath.Net.size((8,), 2)) * 0.5
    net = polypath.Net.of_vector(numbers, (8,), 2)

    class Same(polypath.IntervalPolicy):
        def decide(self, paths, assoc):
            observation = np.concatenate([paths.ravel(), assoc])
            action = net.actions(observation, len(paths))[0]
            return action[: len(paths)].tolist(), action[len(paths) :].tolist()

    name = net.export(tmp_path / "net.json")
    in_rust = two_paths.set("stack.path-scheduler", name).run(seed=1)
    in_python = two_paths.set("stack.path-scheduler", Same).run(seed=1)
    shares = [
        [path["payload_bytes"] for path in result.raw["flows"][0]["paths"]]
        for result in (in_rust, in_python)
    ]
    assert shares[0] == pytest.approx(shares[1], rel=0.01)
    assert in_rust.json() == two_paths.set("stack.path-scheduler", name).run(seed=1).json()


def test_a_net_is_read_again(tmp_path):
    numbers = np.random.default_rng(1).normal(size=polypath.Net.size((8,), 2))
    net = polypath.Net.of_vector(numbers, (8,), 2, every=0.05)
    net.export(tmp_path / "net.json")
    again = polypath.Net.load(tmp_path / "net.json")
    again.export(tmp_path / "again.json")
    texts = [(tmp_path / name).read_text() for name in ("net.json", "again.json")]
    assert texts[0] == texts[1] and again.every == 0.05
    (tmp_path / "net.json").write_text(texts[0].replace('"observation": 1', '"observation": 2'))
    with pytest.raises(ValueError, match="net.json: observation = 2 \\(allowed: 1\\)"):
        polypath.Net.load(tmp_path / "net.json")


def test_a_file_that_is_no_net(two_paths, tmp_path):
    file = tmp_path / "net.json"
    net = polypath.Net.of_vector(np.zeros(polypath.Net.size(())), ())
    name = net.export(file)
    content = json.loads(file.read_text())
    content["layers"][0]["bias"] = [1, 2]
    file.write_text(json.dumps(content))
    with pytest.raises(polypath.ScenarioError, match="layers"):
        two_paths.set("stack.path-scheduler", name)
    with pytest.raises(ValueError, match="numbers \\(allowed: 31 for this net\\)"):
        polypath.Net.of_vector([0.0], ())
    with pytest.raises(ValueError, match="allowed: tanh, relu, linear"):
        polypath.Net([(np.zeros((1, 30)), np.zeros(1), "sine")])
    with pytest.raises(ValueError, match="weights of shape"):
        polypath.Net([(np.zeros((1, 4)), np.zeros(1), "tanh")])
