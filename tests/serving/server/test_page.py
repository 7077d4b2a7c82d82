"""The page in a browser: what it shows of each kind of task, by keyboard, and as text alone."""

import contextlib
import re
import shutil
import threading
import time
from dataclasses import replace

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402
from servers import always_yes, running, server_of_function, server_of_functions  # noqa: E402

from tf_adapt.serving.server.limits import Limits, RefusedError  # noqa: E402
from tf_adapt.tasks.task import Task  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.slow
EVIL = "<img src=x onerror='document.title=1'><b>bold</b>"


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM or not DRIVER:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield found
    found.quit()


def tagged(columns: dict) -> dict:
    """Words with a capital are names; two in a row are one name."""

    def tag(words: list[str], place: int) -> str:
        if not words[place][:1].isupper():
            return "O"
        return "I-PER" if place and words[place - 1][:1].isupper() else "B-PER"

    tags = [[tag(words, place) for place in range(len(words))] for words in columns["tokens"]]
    return {"tags": tags, "scores": [[[0.2, 0.5, 0.3]] * len(words) for words in tags]}


def labelled(columns: dict) -> dict:
    count = len(columns["text"])
    return {"labels": [["a", "", "c"]] * count, "scores": [[0.9, 0.25, 0.5]] * count}


def of_pairs(columns: dict) -> dict:
    return always_yes({"text": columns["text_a"]})


def answered(columns: dict) -> dict:
    """The answer is the question itself, where the context has it."""
    pairs = list(zip(columns["question"], columns["context"], strict=True))
    starts = [context.find(question) for question, context in pairs]
    has_answer = [start >= 0 for start in starts]
    found = list(zip(columns["question"], starts, has_answer, strict=True))
    return {
        "answer": [question if there else "" for question, _, there in found],
        "score": [0.5] * len(found),
        "start": starts,
        "end": [start + len(question) if there else -1 for question, start, there in found],
    }


MODELS = {
    "films": (Task("classification", labels=["no", "yes"]), always_yes),
    "topics": (Task("multilabel_classification", labels=["a", "b", "c"]), labelled),
    "same": (Task("pair_classification", labels=["no", "yes"]), of_pairs),
    "alike": (
        Task("pair_regression", label_range=(0, 5)),
        lambda columns: {"score": [4.0] * len(columns["text_a"])},
    ),
    "grades": (Task("regression"), lambda columns: {"score": [2.5] * len(columns["text"])}),
    "names": (Task("tagging", labels=["O", "B-PER", "I-PER"]), tagged),
    "found": (Task("span_extraction"), answered),
    "asked": (Task("text_generation"), lambda columns: {"text": ["what is there ?"]}),
}
# What is there once a model has answered.
SHOWN = {
    **dict.fromkeys(("films", "topics", "same"), ".labels li"),
    **dict.fromkeys(("alike", "grades"), ".scale .point"),
    "names": ".sentence mark",
    "asked": ".written",
    "found": ".sentence",
}


@pytest.fixture(scope="module")
def served():
    with running(server_of_functions(MODELS, Limits())) as found:
        yield found


def one(browser, selector: str, seconds: float = 20):
    wait = WebDriverWait(browser, seconds)
    return wait.until(lambda driver: driver.find_elements(By.CSS_SELECTOR, selector))[0]


def texts(browser, selector: str) -> list[str]:
    return [found.text for found in browser.find_elements(By.CSS_SELECTOR, selector)]


def choose(browser, place: str, name: str) -> None:
    one(browser, f"#{place} option")
    Select(browser.find_element(By.ID, place)).select_by_visible_text(name)


def open_page(browser, served) -> None:
    browser.get(f"http://127.0.0.1:{served.port}/")
    one(browser, "#first option")


def ask(browser, *texts: str) -> None:
    areas = browser.find_elements(By.CSS_SELECTOR, "textarea")
    for area, text in zip(areas, texts, strict=True):
        # The driver's keys are of the basic plane alone.
        browser.execute_script("arguments[0].value = arguments[1]", area, text)
    areas[0].send_keys(Keys.CONTROL, Keys.ENTER)
    one(browser, "#results article")


def publish(served, name: str, number: int, task: Task, call) -> None:
    """Another version of a model, as if its folder had been published."""
    server = server_of_functions({name: (task, call)}, Limits(), card="card")
    made = server.models[name].current
    made.number = number
    served.server.models[name].current = made


def focused(browser) -> str:
    """The name of what has the focus."""
    return browser.switch_to.active_element.accessible_name


@contextlib.contextmanager
def emulated(browser, command: str, settings: dict, end: str, end_settings: dict):
    browser.execute_cdp_cmd(command, settings)
    try:
        yield
    finally:
        browser.execute_cdp_cmd(end, end_settings)


def on_a_phone(browser, width: int = 360):
    size = {"width": width, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    metrics = ("Emulation.setDeviceMetricsOverride", "Emulation.clearDeviceMetricsOverride")
    return emulated(browser, metrics[0], size, metrics[1], {})


def in_colours(browser, scheme: str):
    command = "Emulation.setEmulatedMedia"
    chosen, none = (
        {"features": [{"name": "prefers-color-scheme", "value": value}]} for value in (scheme, "")
    )
    return emulated(browser, command, chosen, command, none)


def test_probabilities_of_two_models(browser, served):
    open_page(browser, served)
    choose(browser, "second", "topics")
    ask(browser, "a text")
    assert texts(browser, "#results h2") == ["films", "topics"]
    first, second = browser.find_elements(By.CSS_SELECTOR, "#results article")
    shown = [found.text for found in first.find_elements(By.CSS_SELECTOR, "li span")]
    assert shown == ["yes ✓", "75.0 %", "no", "25.0 %"]
    shown = [found.text for found in second.find_elements(By.CSS_SELECTOR, "li span")]
    assert shown == ["a ✓", "90.0 %", "c ✓", "50.0 %", "b", "25.0 %"]
    bars = [found.rect["width"] for found in second.find_elements(By.CSS_SELECTOR, ".fill")]
    assert bars[2] / bars[0] == pytest.approx(0.25 / 0.9, abs=0.01)


def test_entities_and_a_score(browser, served):
    open_page(browser, served)
    choose(browser, "first", "names")
    ask(browser, "today Ada Lind met Bo .")
    assert texts(browser, "mark") == ["Ada Lind PER", "Bo PER"]
    assert one(browser, ".sentence").text == "today Ada Lind PER met Bo PER ."
    ask(browser, "nobody came")
    assert one(browser, "#results .note").text == "No entity."
    choose(browser, "first", "alike")
    one(browser, "#sample").click()
    # The line with its ends is for the eye alone.
    said = one(browser, ".score").get_property("textContent")
    assert said == "4.00 on a scale from 0 to 5"
    assert texts(browser, ".ends[aria-hidden=true] span") == ["0", "5"]
    line, point = (one(browser, name).rect for name in (".scale", ".point"))
    middle = point["x"] + point["width"] / 2 - line["x"]
    assert middle / line["width"] == pytest.approx(0.8, abs=0.01)
    choose(browser, "first", "grades")  # of no range
    ask(browser, "a text")
    said = one(browser, ".score").get_property("textContent")
    assert said == "2.50 on a scale from 0 to 3"


def test_an_answer_is_marked_in_its_context(browser, served):
    open_page(browser, served)
    choose(browser, "first", "found")
    # Before the answer a character that is two units of a string.
    ask(browser, "Ada Lind", "\U0001f600 There Ada Lind waited.")
    assert one(browser, "#results .chosen").text == "Ada Lind (50.0 %)"
    assert texts(browser, "mark") == ["Ada Lind"]
    assert one(browser, ".sentence").text == "\U0001f600 There Ada Lind waited."
    ask(browser, "Bo", "<b>Nobody</b> waited.")
    assert one(browser, "#results .chosen").text == "No answer (50.0 %)"
    assert one(browser, ".sentence").text == "<b>Nobody</b> waited."
    assert texts(browser, "mark") == []
    choose(browser, "first", "asked")
    ask(browser, "There Ada Lind waited.")
    assert texts(browser, "#results .written") == ["what is there ?"]


def test_s3_a_newer_version_answers_with_its_own_labels(browser):
    task = Task("classification", labels=["no", "yes"])
    with running(server_of_functions({"m": (task, always_yes)}, Limits(), card="card")) as served:
        open_page(browser, served)
        ask(browser, "a")
        assert texts(browser, ".labels span") == ["yes ✓", "75.0 %", "no", "25.0 %"]
        publish(served, "m", 2, Task("multilabel_classification", labels=["a", "b", "c"]), labelled)
        ask(browser, "b")
        assert texts(browser, ".labels span") == [
            *("a ✓", "90.0 %", "c ✓", "50.0 %", "b", "25.0 %")
        ]
        assert texts(browser, "#results .kind") == ["multilabel classification"]
        assert texts(browser, "summary") == ["Model card of m, version 2"]
        assert focused(browser) == "Text"
        assert one(browser, "textarea").get_property("value") == "b"
        # Published again under the number that it has.
        task = Task("classification", labels=["good", "yes", "bad"])
        publish(served, "m", 2, task, lambda _: {"label": ["bad"], "scores": [[0.2, 0.1, 0.7]]})
        ask(browser, "c")
        assert texts(browser, ".labels .chosen span") == ["bad ✓", "70.0 %"]
        assert texts(browser, ".labels li:not(.chosen) span") == ["good", "20.0 %", "yes", "10.0 %"]
        # One that reads other inputs.
        publish(served, "m", 3, Task("span_extraction"), answered)
        browser.find_element(By.CSS_SELECTOR, "textarea").send_keys(Keys.CONTROL, Keys.ENTER)
        one(browser, "#input-question")
        assert one(browser, "#status.wrong").text == "Question: type something first"
        ask(browser, "Ada", "Ada waited.")
        assert texts(browser, "mark") == ["Ada"]


def test_no_result_stands_beside_another_text(browser):
    go_on = threading.Event()

    def call(columns: dict) -> dict:
        assert columns["text"] == ["fast"] or go_on.wait(20)
        return always_yes(columns)

    task = Task("classification", labels=["no", "yes"])
    with running(server_of_functions({"m": (task, call)}, Limits())) as served:
        open_page(browser, served)
        ask(browser, "fast")
        one(browser, "textarea").clear()
        one(browser, "#ask").click()
        assert one(browser, "#status.wrong").text == "Text: type something first"
        assert texts(browser, "#results article") == []
        ask(browser, "fast")
        one(browser, "textarea").send_keys("er")
        one(browser, "#ask").click()
        assert one(browser, "#status").text == "…"
        assert texts(browser, "#results article") == []
        go_on.set()
        one(browser, "#results article")


def test_a_conversation_by_the_keyboard(browser):
    task, asked = Task("dialog"), []

    def call(columns: dict) -> dict:
        asked.append(columns)
        if columns["history"][0][-1] == "refused":
            raise RefusedError(400, EVIL)
        return {"reply": ["" if columns["seed"] else EVIL]}

    models = {"bees": (task, call), "films": MODELS["films"]}
    with running(server_of_functions(models, Limits())) as served, on_a_phone(browser, 360):
        open_page(browser, served)
        assert texts(browser, "#chat label") == [
            *("Persona, a sentence a line", "Message", "Temperature (0: no draw)")
        ]
        assert one(browser, "#persona").get_property("value").startswith("i keep bees .\n")
        assert not browser.find_element(By.ID, "uncalibrated").is_displayed()
        one(browser, "#message").send_keys("hello", Keys.ENTER)
        one(browser, ".turn:nth-child(2)")
        assert texts(browser, ".turn") == ["You\nhello", f"bees\n{EVIL}"]
        assert focused(browser) == "Message"
        one(browser, "#message").send_keys("and", Keys.SHIFT, Keys.ENTER)
        one(browser, "#message").send_keys(Keys.NULL, "you", Keys.TAB, Keys.TAB, Keys.ENTER)
        one(browser, ".turn:nth-child(4)")
        assert texts(browser, ".turn p")[2:] == ["and\nyou", "…"]
        persona = one(browser, "#persona").get_property("value").split("\n")
        settings = {"max_new_tokens": 40, "temperature": 0.7}
        history = [["hello", EVIL, "and\nyou"]]
        assert asked == [
            {"persona": [persona], "history": [["hello"]], "seed": 0} | settings,
            {"persona": [persona], "history": history, "seed": 2} | settings,
        ]
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
        one(browser, "#message").send_keys("refused", Keys.ENTER)
        assert one(browser, "#status.wrong").text == EVIL
        assert len(texts(browser, ".turn")) == 4
        assert one(browser, "#message").get_property("value") == "refused"
        one(browser, "#anew").send_keys(Keys.ENTER)
        assert texts(browser, ".turn") == [] and focused(browser) == "Message"
        one(browser, "#persona").clear()
        one(browser, "#message").send_keys(Keys.ENTER)
        assert one(browser, "#status.wrong").text == "Persona: type at least one sentence"
        assert focused(browser) == "Persona, a sentence a line"
        choose(browser, "first", "films")
        assert texts(browser, "#chat textarea") == []
        ask(browser, "a text")
        assert texts(browser, "#results h2") == ["films"]


def test_words_of_the_keyboard_alone(browser, served):
    open_page(browser, served)
    choose(browser, "first", "same")
    names = []
    browser.find_element(By.ID, "first").send_keys(Keys.TAB)
    for _ in range(5):
        active = browser.switch_to.active_element
        names.append(active.accessible_name)
        active.send_keys(Keys.TAB)
    assert names == ["Beside it", "First text", "Second text", "Predict", "A sample"]
    browser.find_element(By.ID, "ask").send_keys(Keys.ENTER)
    assert one(browser, "#status").text == "First text: type something first"
    assert focused(browser) == "First text"
    first, second = browser.find_elements(By.CSS_SELECTOR, "textarea")
    assert first.get_attribute("aria-invalid") == "true"
    assert first.get_attribute("aria-describedby") == "hint status"
    assert second.get_attribute("aria-invalid") == "false"
    ask(browser, "a", "b")
    assert first.get_attribute("aria-invalid") == "false"
    assert first.get_attribute("aria-describedby") == "hint"


def test_a_long_card_and_report_by_the_keyboard(browser):
    report = "films \u2014 decided\n\n# Tune it: 1 &lt; 2.\n\n" + "a line\n\n" * 500
    task = Task("classification", labels=["no", "yes"])
    with running(server_of_functions({"m": (task, always_yes)}, Limits(), card="card")) as served:
        model = served.server.models["m"].current
        model.export = replace(model.export, report=report)
        open_page(browser, served)
        assert texts(browser, ".verdict") == ["Verdict of the comparison: Tune it: 1 < 2."]
        card, compared = browser.find_elements(By.CSS_SELECTOR, "summary")
        card.send_keys(Keys.ENTER, Keys.TAB)
        assert focused(browser) == "Model card of m, version 1"
        compared.send_keys(Keys.ENTER, Keys.TAB)
        assert focused(browser) == "Comparison that m comes from"
        text = browser.switch_to.active_element
        assert (text.tag_name, text.aria_role) == ("pre", "region")
        text.send_keys(Keys.END)
        WebDriverWait(browser, 20).until(lambda _: text.get_property("scrollTop") > 0)


def test_s4_html_in_texts_labels_and_errors_is_text(browser):
    def call(columns: dict) -> dict:
        if columns["text"] == ["refused"]:
            raise RefusedError(400, EVIL)
        return {"label": [EVIL], "scores": [[0.25, 0.75]]}

    task = Task("classification", labels=["no", EVIL])
    server = server_of_functions({"m": (task, call)}, Limits(), card=EVIL)
    with running(server) as served:
        open_page(browser, served)
        one(browser, "textarea").send_keys("a")
        one(browser, "#ask").click()
        assert one(browser, "#results .chosen span").text == f"{EVIL} ✓"
        browser.find_element(By.CSS_SELECTOR, "summary").click()
        assert one(browser, "pre").text == EVIL
        one(browser, "textarea").clear()
        one(browser, "textarea").send_keys("refused")
        one(browser, "#ask").click()
        assert one(browser, "#results .wrong").text == EVIL
        assert browser.find_elements(By.CSS_SELECTOR, "main img, main b") == []
        assert browser.title == "Try a model"


def test_a_late_answer_is_not_shown_under_another_choice(browser):
    go_on = threading.Event()

    def slow(columns: dict) -> dict:
        assert go_on.wait(20)
        return always_yes(columns)

    task = Task("classification", labels=["no", "yes"])
    models = {"slow": (task, slow), "fast": (task, always_yes)}
    for place, name in (("first", "fast"), ("second", "fast")):
        go_on.clear()
        with running(server_of_functions(models, Limits())) as served:
            open_page(browser, served)
            one(browser, "textarea").send_keys("a", Keys.CONTROL, Keys.ENTER)
            wait = WebDriverWait(browser, 20)
            wait.until(
                lambda _, served=served: b"active_requests 2.0" in served.get("/metrics").body
            )
            assert one(browser, "#status").text == "…"
            choose(browser, place, name)
            assert one(browser, "#status").text == ""
            go_on.set()
            wait.until(lambda _, served=served: b'"200"} 1.0' in predictions(served))
            time.sleep(0.2)
            assert texts(browser, "#results article") == []
            one(browser, "#ask").click()
            one(browser, "#results article")
            assert texts(browser, "#results h2")[-1] == "fast"


def predictions(served) -> bytes:
    """The counters of predictions, in the metrics."""
    lines = served.get("/metrics").body.splitlines()
    return b"\n".join(line for line in lines if b'requests_total{method="predict"' in line)


def test_no_wider_than_a_phone(browser, served):
    with on_a_phone(browser, 360):
        open_page(browser, served)
        for name, selector in SHOWN.items():
            choose(browser, "first", name)
            one(browser, "#sample").click()
            one(browser, f"#results {selector}")
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= 360, name
        ask(browser, "x", f"{'x' * 200} <{'y' * 200}>")
        one(browser, "mark")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 360


COLOURS = """
const behind = (element) => {
  const colour = getComputedStyle(element).backgroundColor;
  return colour === "rgba(0, 0, 0, 0)" ? behind(element.parentElement) : colour;
};
const texts = "h1, h2, label, p, button, select, mark, small, li span";
return [...document.querySelectorAll(texts)]
  .filter((found) => found.offsetParent !== null && found.textContent !== "")
  .map((found) => [
    `${found.tagName} ${found.className} ${found.textContent}`,
    getComputedStyle(found).color,
    behind(found),
  ]);
"""


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    parts = [
        int(part) / 255 for part in re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour).groups()
    ]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_kind_of_task_by_its_sample_stands_out_in_light_and_dark(browser, served, scheme):
    browser.get_log("browser")  # what was before
    with in_colours(browser, scheme):
        open_page(browser, served)
        seen = []
        for name, selector in SHOWN.items():
            choose(browser, "first", name)
            one(browser, "#sample").click()
            one(browser, f"#results {selector}")
            seen += browser.execute_script(COLOURS)
        ask(browser, "Ada", "Ada waited.")
        seen += browser.execute_script(COLOURS)
        one(browser, "textarea").clear()
        one(browser, "#ask").click()
        seen += browser.execute_script(COLOURS)
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []
    for name in ("H1", "H2", "MARK", "SMALL", "P wrong", "P kind", "BUTTON", "SELECT"):
        assert any(text.startswith(name) for text, _, _ in seen)
    assert (brightness(paper) < 0.1) == (scheme == "dark")
    for text, ink, behind in seen:
        one_side, other = sorted((brightness(ink), brightness(behind)))
        assert (other + 0.05) / (one_side + 0.05) >= 4.5, text


TOKEN = "0123456789abcdef"


def give(browser, token: str) -> None:
    one(browser, "#token").clear()
    one(browser, "#token").send_keys(token, Keys.ENTER)


def test_s4_the_page_asks_for_the_token(browser):
    with running(server_of_function(always_yes, Limits(), TOKEN)) as served:
        browser.get(f"http://127.0.0.1:{served.port}/")
        one(browser, "#token-form:not([hidden])")
        give(browser, "0123456789abcdeX")
        one(browser, "#status.wrong")
        assert not one(browser, "#form").is_displayed()
        give(browser, f" {TOKEN} ")
        one(browser, "#first option")
        assert one(browser, "#form").is_displayed()
        assert not one(browser, "#token-form").is_displayed()
        assert focused(browser) == "Text"
        # Another token since then.
        browser.execute_script("token = 'old'")
        ask(browser, "a")
        assert one(browser, "#results .wrong").text.startswith("authorization: expected")
        give(browser, TOKEN)
        one(browser, "#token-form[hidden]", 20)
        assert one(browser, "textarea").get_property("value") == "a"


def test_s4_the_page_asks_for_the_token_until_one_is_accepted(browser):
    lost = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    there = lost | {"offline": False}
    network = "Network.emulateNetworkConditions"
    with running(server_of_function(always_yes, Limits(), TOKEN)) as served:
        browser.get(f"http://127.0.0.1:{served.port}/")
        one(browser, "#token-form:not([hidden])")
        give(browser, f"{TOKEN}\u20ac")
        assert one(browser, "#status.wrong").text.startswith(
            "A token has letters, digits and signs"
        )
        assert one(browser, "#token-form").is_displayed()
        browser.execute_cdp_cmd("Network.enable", {})
        with emulated(browser, network, lost, network, there):
            give(browser, TOKEN)
            wait = WebDriverWait(browser, 20)
            wait.until(lambda _: texts(browser, "#status") == ["the server cannot be reached"])
            assert one(browser, "#token-form").is_displayed()
        one(browser, "#token-form button").click()
        one(browser, "#first option")
        assert not one(browser, "#token-form").is_displayed()
