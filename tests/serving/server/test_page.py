"""The page in a browser: what it shows of each kind of task, by keyboard, and as text alone."""

import shutil
import threading
import time

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


MODELS = {
    "films": (Task("classification", labels=["no", "yes"]), always_yes),
    "topics": (Task("multilabel_classification", labels=["a", "b", "c"]), labelled),
    "same": (Task("pair_classification", labels=["no", "yes"]), of_pairs),
    "alike": (
        Task("pair_regression", label_range=(0, 5)),
        lambda columns: {"score": [4.0] * len(columns["text_a"])},
    ),
    "names": (Task("tagging", labels=["O", "B-PER", "I-PER"]), tagged),
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


def ask(browser, text: str) -> None:
    area = one(browser, "textarea")
    area.clear()
    area.send_keys(text, Keys.CONTROL, Keys.ENTER)
    one(browser, "#results article")


def test_each_kind_of_task_by_its_sample(browser, served):
    open_page(browser, served)
    for name, selector in (
        ("films", ".labels li"),
        ("topics", ".labels li"),
        ("same", ".labels li"),
        ("alike", ".scale .point"),
        ("names", ".sentence mark"),
    ):
        choose(browser, "first", name)
        one(browser, "#sample").click()
        one(browser, f"#results {selector}")
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []


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
    assert one(browser, ".score").text == "4.00"
    assert texts(browser, ".ends span") == ["0", "5"]
    line, point = (one(browser, name).rect for name in (".scale", ".point"))
    middle = point["x"] + point["width"] / 2 - line["x"]
    assert middle / line["width"] == pytest.approx(0.8, abs=0.01)


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
    assert browser.switch_to.active_element.accessible_name == "First text"


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
    size = {"width": 360, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        open_page(browser, served)
        for name in ("names", "films"):
            choose(browser, "first", name)
            one(browser, "#sample").click()
            one(browser, "#results article")
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= 360
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_s4_the_page_asks_for_the_token(browser):
    server = server_of_function(lambda _: {}, Limits(), "0123456789abcdef")
    with running(server) as served:
        browser.get(f"http://127.0.0.1:{served.port}/")
        one(browser, "#token-form:not([hidden])")
        one(browser, "#token").send_keys("0123456789abcdeX", Keys.ENTER)
        one(browser, "#status.wrong")
        assert not one(browser, "#form").is_displayed()
        one(browser, "#token").clear()
        one(browser, "#token").send_keys("0123456789abcdef", Keys.ENTER)
        one(browser, "#first option")
        assert one(browser, "#form").is_displayed()
