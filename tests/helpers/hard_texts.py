"""Texts that tokenizers read in different ways."""

HARD_TEXTS = [
    "",
    " \u3000 ",
    "½ cup · ﬁ 𝒳 [CLS] é\u200bx \x01",
    "日本語 and English, \U00020000x\U0002b850y",
    "x" * 200,
    "я" * 60,
    "я" * 50 + " end",
    "a##b ##c",
    "👨\u200d👩\u200d👧 family 🏳️\u200d🌈",
    "مرحبا بالعالم \u202eשלום\u202c",
    "cafe\u0301 Å İstanbul ΣΑΣ ς",
    "\x85a\xa0b\u3000c\u2028d\u1680e\x1cf",
    "tab\there\nnew line\r\n",
    "don't it's I'll  we've   x 's",
    "12345 ³² Ⅷ",
    "a" * 300 + " b " + "字" * 100,
    "\ufffd\ufeffa\u2060b",
    "   lead and trail   ",
    "<|endoftext|> is a text",
    "한국어 ไทย ﷽",
]
