"""The page in a real browser: nothing is complained of, curves can be hidden, films play, small and dark screens do."""

import shutil
from pathlib import Path

import pytest

from sadapt.cli import main
from sadapt.report.page.colours import contrast
from tests.report.test_figures import store
from tests.report.test_page import film

pytest.importorskip("plotly", reason="plotly is not installed: pip install 'sadapt[report]'")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LARGEST = 6_000_000
"""Bytes of a page, at most."""
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 400, "height": 850}
FIRST = "[...document.querySelector('.world').querySelectorAll('.plot')]"
FIRST_DRAWN = f"{FIRST}.every(plot => plot.querySelector('.main-svg') && plot.data)"
LOOKS = 1200
"""Of a twentieth of a second, and more on a busy machine."""


@pytest.fixture(scope="module")
def browser():
    """Chromium, the system's or playwright's own."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as program:
        try:
            found = program.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no browser: {str(error).splitlines()[0]}; install chromium, or `playwright install chromium`")
        yield found
        found.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """The page of a small study, with a film and a run that goes on."""
    root = tmp_path_factory.mktemp("study")
    for objective in ("s-adapt", "s-max", "s-min"):
        for seed in (1, 2, 3):
            store(root, "maze-small", objective, seed)
    store(root, "tetris", "s-adapt", 1, rows=5)
    film(root / "maze-small-s-max-1-0" / "videos" / "s-max-s0.gif", size=(320, 200))
    assert main(["report", str(root)]) == 0
    return root / "report.html"


class Opened:
    """A page, and everything that the browser had to say of it."""

    def __init__(self, browser, file, *, size=WIDE, scheme="light", before=""):
        self.context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        if before:
            self.page.add_init_script(before)
        self.page.goto(file.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def until(self, holds):
        """Waits for something to become true; playwright's own way evaluates text, which the page forbids."""
        for _ in range(LOOKS):
            if self.page.evaluate(holds):
                return
            self.page.wait_for_timeout(50)
        pytest.fail(f"never came true: {holds}; the browser said: {self.said}")

    def drawn(self):
        """Waits for the plots of the first world."""
        self.until("document.documentElement.dataset.ready === 'yes'")
        self.page.locator(".world .plot").first.scroll_into_view_if_needed()
        self.until(FIRST_DRAWN)

    def visible(self, name):
        """Per drawn plot with such a curve, whether it can be seen."""
        asks = f"""name => {FIRST}.flatMap(
            plot => plot.data.filter(trace => trace.name === name).map(trace => trace.visible !== false))"""
        return self.page.evaluate(asks, name)

    def colour(self, where, what="color"):
        """A computed colour as #rrggbb."""
        asks = "([where, what]) => getComputedStyle(document.querySelector(where))[what]"
        text = self.page.evaluate(asks, [where, what])
        red, green, blue = (int(part) for part in text[text.index("(") + 1 : -1].split(",")[:3])
        return f"#{red:02x}{green:02x}{blue:02x}"


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_in_silence_fits_the_screen_and_can_be_read(browser, page_file, size, scheme):
    with Opened(browser, page_file, size=size, scheme=scheme) as opened:
        opened.drawn()
        assert opened.said == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        paper = opened.colour("body", "backgroundColor")
        assert contrast("#ffffff" if scheme == "light" else "#000000", paper) < 1.5
        for where in ("h1", ".facts", "nav a", "td", ".pill", ".legend button"):
            assert contrast(opened.colour(where), paper) >= 4.5, where
        assert contrast(opened.colour(".plot .xtick text", "fill"), paper) >= 4.5
        assert opened.page.evaluate("parseFloat(getComputedStyle(document.querySelector('td')).fontSize)") >= 12


def test_it_asks_for_nothing_but_itself(browser, page_file):
    with Opened(browser, page_file) as opened:
        opened.drawn()
        assert [url for url in opened.asked if not url.startswith(("data:", "blob:"))] == [page_file.as_uri()]


def test_a_press_in_the_legend_hides_a_curve_in_all_panels_and_another_shows_it(browser, page_file):
    with Opened(browser, page_file) as opened:
        opened.drawn()
        button = opened.page.locator(".world").first.get_by_role("button", name="S-Max", exact=True)
        assert len(opened.visible("S-Max")) >= 2
        assert all(opened.visible("S-Max"))
        button.click()
        assert not any(opened.visible("S-Max"))
        assert all(opened.visible("S-Min"))
        assert button.get_attribute("aria-pressed") == "false"
        opened.page.reload()
        opened.drawn()
        assert not any(opened.visible("S-Max")), "a page that follows a sweep keeps what was hidden"
        button.click()
        assert all(opened.visible("S-Max"))
        assert opened.said == []


def test_a_film_plays_when_it_is_pressed(browser, page_file):
    with Opened(browser, page_file) as opened:
        opened.drawn()
        button = opened.page.locator(".film")
        button.scroll_into_view_if_needed()
        still = button.locator("img").get_attribute("src")
        button.click()
        opened.page.mouse.move(0, 0)
        looks = set()
        for _ in range(60):
            looks.add(button.locator("img").screenshot())
            if len(looks) > 2:
                break
            opened.page.wait_for_timeout(60)
        assert len(looks) > 2, "the picture does not change"
        button.click()
        opened.page.mouse.move(0, 0)
        assert button.locator("img").get_attribute("src") == still, "a second press shows the first picture again"
        assert opened.said == []


def test_plots_follow_when_the_screen_turns_dark(browser, page_file):
    asks = "document.querySelector('.plot').data.map(trace => trace.line.color).join()"
    with Opened(browser, page_file) as opened:
        opened.drawn()
        before = opened.page.evaluate(asks)
        opened.page.emulate_media(color_scheme="dark")
        opened.until(f"{asks} !== {before!r}")
        assert contrast(opened.colour(".plot .xtick text", "fill"), opened.colour("body", "backgroundColor")) >= 4.5
        assert opened.said == []


def test_zooming_into_one_panel_zooms_the_others_of_that_world(browser, page_file):
    ends = f"{FIRST}.map(plot => plot.layout.xaxis.range[1])"
    with Opened(browser, page_file) as opened:
        opened.drawn()
        opened.page.evaluate("void Plotly.relayout(document.querySelector('.plot'), {'xaxis.range': [100, 700]})")
        opened.until(f"{ends}.every(end => end === 700)")


def test_pointing_at_a_curve_tells_its_values(browser, page_file):
    with Opened(browser, page_file) as opened:
        opened.drawn()
        box = opened.page.locator(".plot").first.bounding_box()
        opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        opened.page.mouse.move(box["x"] + box["width"] / 2 + 3, box["y"] + box["height"] / 2, steps=3)
        opened.until("document.querySelector('.plot .hoverlayer').textContent.includes('S-Max')")


def test_a_browser_that_cannot_unpack_says_so(browser, page_file):
    with Opened(browser, page_file, before="delete window.DecompressionStream") as opened:
        opened.page.locator(".plot .failure").first.wait_for()
        assert opened.said == []
        assert "S-Max" in opened.page.locator("table").first.inner_text()


def test_the_stored_study_is_small_enough_and_opens_in_silence(browser, tmp_path):
    out = tmp_path / "study.html"
    assert main(["report", str(ROOT / "results"), "--out", str(out)]) == 0
    assert out.stat().st_size < LARGEST
    with Opened(browser, out) as opened:
        opened.drawn()
        assert opened.said == []
        assert opened.page.locator(".world").count() >= 10
        drawn = opened.page.evaluate("document.querySelectorAll('.plot .main-svg').length / 3")
        assert drawn < opened.page.locator(".plot").count(), "plots out of sight wait until somebody comes there"
