"""The lock of an entry of a cache: who waits says so, once."""

import os
import threading

from tf_adapt.encoder.feature_lock import locked_entry


def test_i9_who_waits_says_for_whom(tmp_path, caplog):
    entry, order = tmp_path / "entry", []

    def second():
        with locked_entry(entry):
            order.append("second")

    with locked_entry(entry):
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]
    (message,) = caplog.messages
    assert message.startswith(f"{entry}: pid {os.getpid()} computes or checks what is kept there")


def test_a_holder_that_has_not_written_its_pid_yet(tmp_path, caplog):
    with locked_entry(tmp_path):
        (tmp_path / ".lock").write_text("")
        waiting = threading.Thread(target=lambda: locked_entry(tmp_path).__enter__())
        waiting.start()
        waiting.join(0.5)
    waiting.join(10)
    assert f"{tmp_path}: another process computes or checks what" in caplog.text


def test_nobody_waits_for_what_is_over(tmp_path, caplog):
    for _ in range(2):
        with locked_entry(tmp_path):
            pass
    assert not caplog.messages
