# SPDX-License-Identifier: Apache-2.0
import pytest
from answers import FRAMES, NONCE, RAW

from rekindle.hostfacts.frames import FactsError, Frame, parse_frames


def test_text_comes_back_as_the_probe_wrote_it():
    assert parse_frames("@@n one 0\na\n\n\n@@n two timeout\nhalf\n@@n end 0\n", "n") == {
        "one": Frame("0", "a\n\n"),
        "two": Frame("timeout", "half"),
        "end": Frame("0", ""),
    }


@pytest.mark.parametrize("raw", ["Welcome to the cluster!\n" + RAW, RAW.replace("\n", "\r\n")])
def test_what_a_login_shell_prints_first_and_a_terminals_line_ends_are_left_out(raw):
    assert parse_frames(raw, NONCE) == FRAMES


def test_a_frame_of_another_nonce_is_text():
    frames = parse_frames("@@n one 0\n@@m two 0\n@@n end 0\n", "n")
    assert frames["one"].text == "@@m two 0"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_broken_off_answer_is_refused(share):
    with pytest.raises(FactsError, match=r"breaks off in [a-z-]+\. Fix: "):
        parse_frames(RAW[: int(len(RAW) * share)], NONCE)


def test_no_frame_at_all_is_refused_with_what_came_instead():
    with pytest.raises(FactsError, match=r"it printed: This account is not available\. Fix: "):
        parse_frames("\nThis account is not available\n", NONCE)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('\n<?xml version="1.0" ?>\n<nvidia_smi_log>\nUnable to reach GPU 1\n', "Unable to reach GPU 1"),
        ("<nvidia_smi_log>\n</nvidia_smi_log>", "<nvidia_smi_log>"),
        (" \n", "no output"),
    ],
)
def test_a_probe_is_quoted_by_its_words(text, line):
    assert Frame("15", text).first_line == line
