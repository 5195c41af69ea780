// The page of `simulate --animate`, opened in a real browser: it runs without errors, its bodies move with
// the slider and by themselves, and it fits a telephone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tellegen/results/html.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const std::string models = TELLEGEN_SOURCE_DIR "/models/";

// The first of these programs that the system has; empty: none.
std::string browser() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
      if (const fs::path file = fs::path(folder) / name; fs::exists(file)) return file.string();
  return "";
}

// Before everything else in the page: what goes wrong is counted.
constexpr std::string_view listener = R"(<script>
const faults = [];
addEventListener('error', event => faults.push(event.message));
addEventListener('unhandledrejection', event => faults.push(String(event.reason)));
console.error = console.warn = (...words) => faults.push(words.join(' '));
</script>
)";

// Behind everything: the slider is moved as a hand would, then the page plays by itself. What was seen goes
// into the document, which the browser prints.
constexpr std::string_view trial = R"(<script>
(async () => {
  const said = document.createElement('pre'), slider = document.getElementById('time');
  const canvas = document.getElementById('view'), clock = document.getElementById('clock');
  const note = (name, value) => { said.textContent += name + '=' + value + ';'; };
  const look = to => {
    slider.value = to;
    slider.dispatchEvent(new Event('input'));
    return {places: mechanism.places().map(p => [p.x, p.y]), picture: canvas.toDataURL(), time: clock.textContent};
  };
  const apart = (a, b) => Math.max(...a.map((p, k) => Math.hypot(p[0] - b[k][0], p[1] - b[k][1])));
  mechanism.stop();
  const begin = look(0), later = look(0.9 * Number(slider.max)), again = look(0);
  note('bodies', begin.places.length);
  note('moved', apart(begin.places, later.places) > 5 && begin.picture !== later.picture);
  note('returned', apart(begin.places, again.places) < 1e-9 && begin.picture === again.picture);
  note('clock', begin.time !== later.time);
  note('inside', begin.places.every(p => p[0] > 0 && p[1] > 0 && p[0] < canvas.clientWidth && p[1] < canvas.clientHeight));
  note('marks', document.querySelectorAll('figure > svg > .now').length);
  const point = (kind, x) => canvas.dispatchEvent(
      new PointerEvent(kind, {pointerId: 1, clientX: x, clientY: 200, buttons: 1, bubbles: true}));
  canvas.setPointerCapture = () => {};
  point('pointerdown', 100);
  point('pointermove', 160);
  point('pointerup', 160);
  note('turned', apart(begin.places, mechanism.places().map(p => [p.x, p.y])) > 1);
  document.getElementById('play').click();
  await new Promise(resolve => setTimeout(resolve, 600));
  note('plays', Number(slider.value) > 0);
  document.getElementById('play').click();
  const held = slider.value;
  await new Promise(resolve => setTimeout(resolve, 200));
  note('pauses', slider.value === held);
  note('fits', document.documentElement.scrollWidth <= innerWidth);
  note('width', innerWidth);
  note('faults', faults.join('|') || 'none');
  said.id = 'verdict';
  (frameElement ? parent.document : document).body.append(said);
})();
</script>
)";

class Animation : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder / name).string(); }

  // What the trial said of a page at a width of the window.
  std::string verdict(const std::string& page, int width) {
    std::string html = get(page);
    const auto insert = [&](const char* mark, std::string_view text, bool behind) {
      const auto at = html.find(mark);
      ASSERT_NE(at, std::string::npos) << mark;
      html.insert(at + (behind ? std::string_view(mark).size() : 0), text);
    };
    insert("<head>", listener, true);
    insert("</body>", trial, false);
    // A browser's window has a least width, a frame in it has none.
    put(path("trial.html"),
        "<!doctype html><meta charset=\"utf-8\"><iframe style=\"border: 0; height: 800px; width: " +
            std::to_string(width) + "px\" srcdoc=\"" + escaped(html) + "\"></iframe>");
    const Ran ran =
        wait_for(start_program({"--headless", "--no-sandbox", "--disable-gpu",
                                "--user-data-dir=" + path("profile"), "--window-size=1300,860",
                                "--virtual-time-budget=6000", "--dump-dom", "file://" + path("trial.html")},
                               browser()));
    const auto from = ran.out.find("<pre id=\"verdict\">"), to = ran.out.find("</pre>", from);
    if (from == std::string::npos) return "no verdict: " + ran.err;
    return ran.out.substr(from, to - from);
  }

  TestFolder folder;
};

TEST_F(Animation, of_a_mechanism_moves_in_a_browser_with_the_slider_and_by_itself) {
  if (browser().empty()) GTEST_SKIP() << "no chromium here: the page is not opened";
  for (const auto& [model, bodies] : {std::pair{"slider-crank", 3}, std::pair{"pendulum-3d", 1}}) {
    const Ran ran = run_program({"simulate", models + model + "/model.toml", "--stop", "4 s", "--interpret",
                                 "--step", "1 ms", "--animate", path("page.html")});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("wrote " + path("page.html")), std::string::npos) << ran.out;
    for (const int width : {1200, 400}) {
      const std::string said = verdict(path("page.html"), width);
      for (const std::string& expected :
           {"bodies=" + std::to_string(bodies) + ";", std::string("moved=true;"),
            std::string("returned=true;"), std::string("clock=true;"), std::string("inside=true;"),
            std::string("turned=true;"), std::string("plays=true;"), std::string("pauses=true;"),
            std::string("fits=true;"), std::string("faults=none;"), "width=" + std::to_string(width) + ";"})
        EXPECT_NE(said.find(expected), std::string::npos) << model << " at " << width << ": " << said;
    }
  }
}

TEST_F(Animation, outputs_of_the_run_stay_what_was_asked_for) {
  const std::string model = models + "slider-crank/model.toml";
  const Ran ran = run_program({"simulate", model, "--stop", "10 ms", "--interpret", "--animate",
                               path("a.html"), "--picture", path("a.svg"), "--output", path("with.csv")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Ran plain =
      run_program({"simulate", model, "--stop", "10 ms", "--interpret", "--output", path("without.csv")});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(get(path("with.csv")), get(path("without.csv")));
  const std::string picture = get(path("a.svg"));
  EXPECT_NE(picture.find(">rod_body</text>"), std::string::npos);
  EXPECT_EQ(picture.find("nan"), std::string::npos);
}

TEST_F(Animation, of_nothing_that_moves_is_a_fault) {
  const Ran ran = run_program({"simulate", models + "rlc/model.toml", "--animate", path("a.html")});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("T404"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("has no mechanism to animate"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(path("a.html")));
}

TEST_F(Animation, a_trail_names_a_frame) {
  const std::string model = models + "slider-crank/model.toml";
  const Ran ran = run_program({"simulate", model, "--animate", path("a.html"), "--trails", "crank_emd"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("did you mean 'crank_end'?"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace tellegen
