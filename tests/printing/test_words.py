from tf_adapt.printing import words

NUMBERS = [
    (words.score, 0.874, "87.4"),
    (words.score, -0.031, "−3.1"),
    (words.score, -0.0001, "0.0"),
    (words.score, None, "–"),
    (words.signed_points, 0.021, "+2.1"),
    (words.signed_points, -0.0214, "−2.1"),
    (words.signed_points, 0.0, "0.0"),
    (words.interval, [-0.01, 0.05], "−1.0 to +5.0"),
    (words.interval, [None, 0.05], "–"),
    (words.interval, None, "–"),
    (words.probability, 0.0312, "0.031"),
    (words.probability, 0.0009, "< 0.001"),
    (words.probability, None, "–"),
    (words.amount, 0, "0"),
    (words.amount, 0.03124, "0.0312"),
    (words.amount, 61.24, "61.2"),
    (words.amount, 3120.4, "3,120"),
    (words.parameters, 123, "123"),
    (words.parameters, 12_300, "12.3 k"),
    (words.parameters, 999_499, "999 k"),
    (words.parameters, 999_500, "1 M"),
    (words.parameters, 5_432_100, "5.43 M"),
    (words.parameters, 1_340_000_000, "1.34 G"),
    (words.rate, 0.0003, "0.0003"),
    (words.rate, 2e-5, "2e-05"),
    (words.metric_name, "span_f1", "span F1"),
    (words.metric_name, "strict_span_f1", "strict span F1"),
    (words.metric_name, "another", "another"),
]


def test_numbers():
    for function, value, expected in NUMBERS:
        assert function(value) == expected


def test_mean_and_deviation():
    assert words.mean_and_deviation(0.651, 0.0107) == "65.1 ± 1.1"
    assert words.mean_and_deviation(0.651, None) == "65.1"
    assert words.mean_and_deviation(None, None) == "–"


def test_counts_and_shares():
    assert words.counted(1, "seed") == "1 seed"
    assert words.counted(2000, "seed") == "2,000 seeds"
    assert words.share(1, 8) == "12 %"
    assert words.share(0, 0) == "0 %"


TEXTS = [
    ("שלום 🙂 👨‍👩‍👧 naïve", "שלום 🙂 👨‍👩‍👧 naïve"),
    ("a\nb\tc\u2028d", "a b c d"),
    ("bell\x07 \x85", "bell\\u0007 \\u0085"),
    ("\u202eback\u2069", "\\u202eback\\u2069"),
    ("\ud800", "\\ud800"),
    ("\ufffe\U0001ffff", "\\ufffe\\u1ffff"),
]


def test_visible():
    for text, shown in TEXTS:
        assert words.visible(text) == shown
        shown.encode("utf-8")


def test_shortened_keeps_both_ends():
    text = "".join(map(chr, range(97, 123)))
    assert words.shortened(text, 26) == text
    short = words.shortened(text, 10)
    assert short == "abcdef…xyz"
    assert len(short) == 10
