"""Every scheme's kernel gives the frames that the definitions give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import FLOAT, INTEGER, SPECIFICATIONS, Sample, expected, framed, samples

import windrow as wr
from windrow.errors import DataError
from windrow.frames import SCHEMES
from windrow.frames.clock import Clock


@pytest.mark.parametrize("clock", [INTEGER, FLOAT], ids=["integer", "float"])
@pytest.mark.parametrize("kind", SCHEMES, ids=lambda kind: kind.__name__)
@given(data=st.data(), sample=samples())
def test_kernel_gives_the_frames_of_the_theory(
    kind: type[wr.Scheme], clock: Clock, data: st.DataObject, sample: Sample
) -> None:
    scheme = data.draw(SPECIFICATIONS[kind])
    try:
        frames = expected(scheme, sample)
    except DataError:
        with pytest.raises(DataError, match="nulls='error'"):
            framed(scheme, clock, sample)
        return
    assert framed(scheme, clock, sample) == frames
