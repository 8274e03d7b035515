//! Charts in a browser: values by pointer, finger and keyboard, limits behind a switch, charts saved as
//! files that look right alone, and links to results.

use serde_json::json;

use crate::Stage;

/// Where the first mark of the chart that is seen stands, and what it says.
const MARK: &str = r#"(() => {
  const svg = [...document.querySelectorAll("main > figure svg")].find((svg) => svg.checkVisibility());
  const mark = svg.querySelector(".pt[data-t]");
  const { x, y, width, height } = mark.getBoundingClientRect();
  return { x: x + width / 2, y: y + height / 2, says: mark.dataset.t };
})()"#;
const TIP: &str = r#"document.querySelector(".tip").textContent"#;

#[test]
fn points_say_their_values_when_they_are_reached() {
    let test = "points_say_their_values_when_they_are_reached";
    let Some(mut stage) = Stage::start(test) else {
        return;
    };
    for name in ["rich", "policed", "trend", "mixes"] {
        for width in [390, 1280] {
            stage.open(name, width, "light");
            let browser = &mut stage.browser;
            browser.value("document.querySelector('main > figure').scrollIntoView({ behavior: 'instant' }); 0");
            // Scrolling takes a value away; its event comes with the next frame.
            browser.settle();
            let mark = browser.value(MARK);
            let says = mark["says"].as_str().unwrap();
            assert!(!says.is_empty());
            assert_eq!(browser.value(TIP), "");
            // Beside the mark, as near as a finger comes.
            let moved = json!({
                "type": "mouseMoved", "x": mark["x"].as_f64().unwrap() + 1.0, "y": mark["y"],
            });
            browser.ask("Input.dispatchMouseEvent", moved);
            browser.settle();
            assert_eq!(browser.value(TIP), says, "{name} at {width}");
            let away = json!({ "type": "mouseMoved", "x": 1, "y": 1 });
            browser.ask("Input.dispatchMouseEvent", away);
            browser.settle();
            assert_eq!(browser.value(TIP), "");
            let touch = json!({
                "type": "touchStart", "touchPoints": [{ "x": mark["x"], "y": mark["y"] }],
            });
            browser.ask("Input.dispatchTouchEvent", touch);
            browser.settle();
            let end = json!({ "type": "touchEnd", "touchPoints": [] });
            browser.ask("Input.dispatchTouchEvent", end);
            browser.settle();
            assert_eq!(browser.value(TIP), says, "{name} at {width}, by touch");
            browser.value(
                r#"[...document.querySelectorAll("main > figure svg")].find((svg) => svg.checkVisibility()).focus(); 0"#,
            );
            browser.press("Escape", 27, "");
            browser.press("ArrowRight", 39, "");
            let first = browser.value(TIP);
            browser.press("ArrowRight", 39, "");
            let second = browser.value(TIP);
            assert!(first != "" && second != first, "{name}: {first} {second}");
            browser.press("Escape", 27, "");
            assert_eq!(browser.value(TIP), "");
        }
    }
}

#[test]
fn charts_are_saved_as_files_that_stand_alone() {
    let test = "charts_are_saved_as_files_that_stand_alone";
    let Some(mut stage) = Stage::start(test) else {
        return;
    };
    for name in ["rich", "policed", "host", "sockets", "mixes", "stateful"] {
        for scheme in ["light", "dark"] {
            stage.open(name, 1280, scheme);
            let browser = &mut stage.browser;
            let told = browser.value(
                r##"(async () => {
                // The picture of the path is a figure too, of text.
                const figure = document.querySelector("figure:has(svg)");
                const chart = alone(figure);
                const parsed = new DOMParser().parseFromString(chart.text, "image/svg+xml");
                const picture = await png(chart);
                const bitmap = await createImageBitmap(picture);
                const canvas = document.createElement("canvas");
                [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
                const of = canvas.getContext("2d");
                of.drawImage(bitmap, 0, 0);
                const all = of.getImageData(0, 0, bitmap.width, bitmap.height).data;
                const colours = new Set();
                for (let at = 0; at < all.length; at += 4) colours.add(all.slice(at, at + 3).join());
                const ground = all.slice(0, 3).reduce((a, b) => a + b) > 384 ? "light" : "dark";
                const titles = [...parsed.querySelectorAll("title")].length;
                const marks = [...figure.querySelectorAll("svg")].find((svg) => svg.checkVisibility()).querySelectorAll("[data-t]").length;
                return {
                  valid: parsed.querySelector("parsererror") === null,
                  alone: !/var\(--|class="|data-t/.test(chart.text.replaceAll(/class="pt( col)?"/g, "")),
                  named: parsed.documentElement.textContent.includes(figure.querySelector("strong").textContent),
                  legend: [...figure.querySelectorAll(".legend")].find((one) => one.checkVisibility()).children.length > 0
                    && parsed.querySelectorAll("svg > text").length > 1,
                  says: titles === marks,
                  type: picture.type, twice: bitmap.width === Math.round(chart.size[0] * 2),
                  drawn: colours.size > 8, ground,
                };
                })()"##,
            );
            let wanted = json!({
                "valid": true, "alone": true, "named": true, "legend": true, "says": true,
                "type": "image/png", "twice": true, "drawn": true, "ground": scheme,
            });
            assert_eq!(told, wanted, "{name}, {scheme}");
        }
    }
}

/// One drawing of each chart is seen, it fills its figure, and what the tester can do is drawn on request.
#[test]
fn one_drawing_fits_its_figure_and_limits_are_shown_on_request() {
    let Some(mut stage) =
        Stage::start("one_drawing_fits_its_figure_and_limits_are_shown_on_request")
    else {
        return;
    };
    for name in [
        "rich", "policed", "sockets", "trend", "host", "mixes", "stateful",
    ] {
        for width in [320, 390, 700, 1280] {
            stage.open(name, width, "light");
            let browser = &mut stage.browser;
            let told = browser.value(
                r#"[...document.querySelectorAll(".forms")].filter((e) => e.checkVisibility()).map((forms) => {
                const seen = [...forms.children].filter((svg) => svg.checkVisibility());
                const [, , drawn] = seen[0].getAttribute("viewBox").split(" ").map(Number);
                const shown = seen[0].getBoundingClientRect().width;
                const room = forms.getBoundingClientRect().width;
                // Letters of 12 px, within reason: a window of 320 px makes them 8 px.
                const fits = seen.length === 1 && Math.abs(room - shown) < 2 && shown / drawn > 0.65 && shown / drawn < 1.75;
                return fits || [seen.length, room, shown, drawn];
                })"#,
            );
            let all = told.as_array().unwrap();
            assert!(!all.is_empty(), "{name}");
            assert!(
                all.iter().all(|fits| fits == true),
                "{name} at {width}: {told}"
            );
        }
    }
    stage.open("rich", 1280, "light");
    let browser = &mut stage.browser;
    let shown = r#"[...document.querySelectorAll("main > figure .legend")].filter((one) => one.checkVisibility()).map((one) => one.textContent.includes("tester alone"))"#;
    assert_eq!(browser.value(shown), json!([false]));
    browser.value("document.querySelector('main > figure input').focus(); 0");
    browser.press(" ", 32, " ");
    assert_eq!(browser.value(shown), json!([true]));
}
