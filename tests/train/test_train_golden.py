import msgspec
import pytest
from train_examples import GOLDEN, ten_steps


def test_ten_steps_from_a_fixed_seed_measure_what_the_golden_file_says() -> None:
    golden = msgspec.json.decode(GOLDEN.read_bytes(), type=dict[str, list[float]])
    found = ten_steps()
    assert found.keys() == golden.keys()
    for name, values in golden.items():
        assert found[name] == pytest.approx(values, rel=1e-3), name
