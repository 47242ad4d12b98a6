# SPDX-License-Identifier: Apache-2.0
"""Certificates: what is displayed is what was signed, and anything else is noticed."""

import re

import pytest
from msgspec.structs import replace
from samples.fleets import accepted, edited, kind, times
from samples.folders import HOST, fill, fill_accepted

from rekindle.records import Bandwidth, FabricLook, FabricRecord, write_record
from rekindle.results import certificate, seal, signature, state


@pytest.fixture
def page(call, own_state, tmp_path):
    """Return the certificate of a host that is right and of one that is not."""
    right, slow = accepted("gpu-1", kind(4)), edited(accepted("gpu-2", kind(4)), "bf16_matmul", times(0.8), 3)
    folder = fill_accepted(tmp_path / "run", right, slow, hosts=["gpu-3"])
    write_record(folder / "gpu-1" / "host.json", replace(HOST, host="gpu-1"))
    seal.seal_folder(folder, None)
    path = tmp_path / "gpus.html"
    status, out, _ = call("accept", folder, "--certificate", path)
    assert (status, f"{path} has a sheet for each of 3 hosts, signed by SHA256:" in out) == (1, True)
    return path


def test_it_has_serials_figures_norms_sources_versions_times_and_actions(page):
    text = page.read_text()
    first, second, third = text.split("<section>")[1:]
    for part in (
        "gpu-1: <span",
        ">PASS<",
        "action NONE",
        "gpu-1/3",
        "GPU-gpu-1-3",
        "≥ 754.3",
        "2026-11-22T10:00",
    ):
        assert part in first, part
    assert "stas00/ml-engineering compute/accelerator/README.md: 794 TFLOP/s" in first
    assert "Ubuntu" in first
    assert "580.159.04" in first
    assert "FAIL, DRAIN</b>: GPU 3 (GPU-gpu-2-3): bf16_matmul is" in second
    assert "UNPROVEN" in third
    assert "no acceptance.json was collected" in third


def test_it_loads_and_runs_nothing_and_breaks_after_each_host(page):
    text = page.read_text()
    assert not re.search(r"<script|<link|<img|url\(|https?://", text)
    assert "default-src 'none'" in text
    assert "section { break-after: page; }" in text


def test_who_has_only_the_page_can_check_it(page, call, monkeypatch, tmp_path):
    public = state.find_public_key()
    fingerprint = signature.format_fingerprint(public)
    assert call("verify", page) == (0, f"{page} is as it was signed by the key {fingerprint}.\n", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another's"))
    status, out, _ = call("verify", page)
    assert (status, f"by the key {fingerprint}: ask whoever gave it to you" in out) == (0, True)
    (tmp_path / "key.pub").write_text(public)
    for key in (fingerprint, tmp_path / "key.pub"):
        assert call("verify", page, "--key", key)[0] == 0
    status, out, _ = call("verify", page, "--key", f"SHA256:{'A' * 43}")
    assert (status, "was signed by another key" in out) == (1, True)


def test_its_json_has_the_signer(page, ask):
    status, found = ask("verify", page)
    assert (status, found["keys"], found["differs"]) == (0, "yours", [])
    assert found["signer"].startswith("SHA256:")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (">FAIL<", ">PASS<"),
        ("gpu-1/3", "gpu-1/4"),
        ("action DRAIN", "action NONE"),
        ("≥ 754.3", "≥ 700.0"),
        ("</body>", "<p>and all is well</p></body>"),
        ("</html>\n", "</html>\n<style>section { display: none; }</style>"),
        ("<footer>\n<p>Signature", "<p>more</p><footer>\n<p>Signature"),
        ("by the Ed25519 key <code>SHA256:", "by the Ed25519 key <code>SHA256:x"),
        ("<!doctype html>", "<!doctype html> "),
        ("</section>", ""),
    ],
)
def test_an_altered_page_is_noticed(page, call, old, new):
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new, 1))
    status, out, err = call("verify", page)
    assert status in {1, 2}
    assert "was altered" in out or "its beginning was altered" in err


def test_every_byte_counts(page):
    whole = page.read_bytes()
    for place in range(200, len(whole), 211):
        page.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(certificate.SealError):
            certificate.find_page_signer(page)


def test_a_page_that_another_signs_again_is_another_s(page, call):
    own = signature.format_fingerprint(state.find_public_key())
    body = page.read_text().partition("<footer>")[0].replace(">FAIL<", ">PASS<")
    page.write_bytes(certificate.sign_page(body, signature.generate_key()))
    assert call("verify", page)[0] == 1  # it still names the key of the first
    other = signature.generate_key()
    theirs = signature.format_fingerprint(signature.format_public_key(other))
    page.write_bytes(certificate.sign_page(body.replace(own, theirs), other))
    status, out, _ = call("verify", page)
    assert (status, f"was signed by another key, {theirs}" in out) == (1, True)


def test_what_the_key_signed_for_a_folder_is_no_certificate(page):
    page.write_bytes(certificate.sign_page("# sealed at 2026-11-28T10:00:00Z\n", state.provide_key()))
    assert not certificate.is_certificate(page)
    with pytest.raises(certificate.SealError):
        certificate.find_page_signer(page)


def test_a_host_s_words_are_text(call, own_state, tmp_path):
    evil = "</td><script>alert(1)</script><footer>\x1b[31m"
    record = accepted("gpu-1", kind(2, evil))
    folder = fill_accepted(tmp_path / "run", record)
    seal.seal_folder(folder, None)
    call("accept", folder, "--certificate", tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text()
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text
    assert "\x1b" not in text
    assert call("verify", tmp_path / "x.html")[0] == 0


def alter(folder):
    path = folder / "gpu-2" / "acceptance.json"
    path.write_text(path.read_text().replace('"gpu-2/3"', '"gpu-1/3"'))


@pytest.mark.parametrize(
    ("attack", "says"),
    [
        (alter, "gpu-2/acceptance.json was altered."),
        (lambda folder: (folder / "gpu-1/acceptance.json").unlink(), "gpu-1/acceptance.json is missing."),
        (lambda folder: (folder / "gpu-1/more.json").touch(), "gpu-1/more.json was added."),
        (lambda folder: (folder / "SHA256SUMS.sig").unlink(), "has no seal"),
        (lambda folder: (folder / "gpu-2/run.json").touch(), "gpu-2/run.json was added."),
        (lambda folder: (folder / "fabric.json").touch(), "fabric.json was added."),
    ],
)
def test_what_was_altered_since_it_was_sealed_is_not_certified(page, call, tmp_path, attack, says):
    folder, again = tmp_path / "run", tmp_path / "run" / "again.html"
    for _ in range(2):  # its first is no record of the run
        assert call("accept", folder, "--certificate", again)[0] == 1
    again.unlink()
    attack(folder)
    status, _, err = call("accept", folder, "--certificate", again)
    assert (status, says in err, again.exists()) == (2, True, False)


def test_what_another_key_sealed_is_not_certified(page, call, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another's"))
    status, _, err = call("accept", tmp_path / "run", "--certificate", tmp_path / "again.html")
    assert (status, "was sealed by another key" in err) == (2, True)


@pytest.mark.parametrize("option", ["--certificate", "--make-norms"])
def test_a_place_that_cannot_be_written_is_one_sentence(call, own_state, tmp_path, option):
    folder = fill_accepted(tmp_path / "run", *(accepted(f"gpu-{n}", kind(4)) for n in range(2)))
    seal.seal_folder(folder, None)
    status, _, err = call("accept", folder, option, tmp_path / "run" / "run.json" / "x")
    assert (status, "cannot be written" in err, "Fix: " in err) == (2, True, True)


def test_norms_are_of_hosts_without_a_finding(call, own_state, tmp_path):
    slow = edited(accepted("gpu-2", kind(4)), "bf16_matmul", times(0.8), 3)
    folder = fill_accepted(tmp_path / "run", accepted("gpu-1", kind(4)), accepted("gpu-3", kind(4)), slow)
    status, out, _ = call("accept", folder, "--make-norms", tmp_path / "norms.json")
    assert (status, "norms by 2 of 3 hosts and 0 fabrics." in out) == (1, True)
    assert "by gpu-1, gpu-3: " in (tmp_path / "norms.json").read_text()
    status, _, err = call("accept", fill_accepted(tmp_path / "bad", slow), "--make-norms", tmp_path / "x")
    assert (status, "No host of these runs is right" in err) == (2, True)
    assert not (tmp_path / "x").exists()


def test_a_run_that_has_a_fabric_alone_makes_norms_and_needs_a_past_to_be_judged(call, own_state, tmp_path):
    hosts = ("one", "two")
    figure = Bandwidth(op="all_reduce", size=1 << 20, gb_s=1.0)
    look = FabricLook(hosts=hosts, outcome="measured", bandwidths=(figure,))
    for day, name in enumerate(("first", "second"), 21):
        folder = fill(tmp_path / name, "login")
        started = f"2026-11-{day}T10:00:00Z"
        fabric = FabricRecord(host="login", hosts=hosts, started=started, seconds=1, looks=(look, look))
        write_record(folder / "login" / "fabric.json", fabric)
    status, _, err = call("accept", folder)
    assert (status, "name an earlier run too" in err) == (2, True)
    status, out, _ = call("accept", folder, "--make-norms", tmp_path / "norms.json")
    assert (status, "has 1 norms by 0 of 0 hosts and 1 fabrics." in out) == (0, True)
    assert call("accept", tmp_path / "first", folder)[:2] == (0, "1 of 1 hosts PASS.\n")
