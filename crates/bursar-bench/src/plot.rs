//! A plot as an SVG file: lines through points, with axes that begin at zero or count in powers of ten.

use std::path::Path;

use bursar_node::failure::Failure;

/// A line with its name.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(u64, u64)>,
}

pub(super) struct Plot {
    pub(super) title: String,
    pub(super) x: &'static str,
    pub(super) y: &'static str,
    /// Points are equally spaced on the horizontal axis, regardless of their value.
    pub(super) is_even: bool,
    pub(super) series: Vec<Series>,
}

const WIDTH: u64 = 640;
const HEIGHT: u64 = 320;
const LEFT: u64 = 80;
const TOP: u64 = 50;
const RIGHT: u64 = LEFT + WIDTH;
const BOTTOM: u64 = TOP + HEIGHT;
const COLOURS: [&str; 4] = ["#1b6ca8", "#c44e52", "#55a868", "#8172b2"];

impl Plot {
    pub(super) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(format!("{name}.svg")), self.svg())?;
        Ok(())
    }

    fn svg(&self) -> String {
        let all = || self.series.iter().flat_map(|series| &series.points);
        let most = all().map(|(_, y)| *y).max().unwrap_or(1).max(1);
        let last = all().map(|(x, _)| *x).max().unwrap_or(1).max(1);
        let (width, height) = (RIGHT.saturating_add(150), BOTTOM.saturating_add(60));
        let mut parts = vec![
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">"
            ),
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>".to_owned(),
            format!("<text x=\"{LEFT}\" y=\"20\" font-size=\"15\">{}</text>", escape(&self.title)),
            format!("<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"#444\"/>"),
            text((RIGHT, BOTTOM.saturating_add(42)), "end", self.x),
            text((LEFT, TOP.saturating_sub(10)), "middle", self.y),
        ];
        for part in 0..=4 {
            let y = scale(part, 4, most);
            let at = BOTTOM.saturating_sub(scale(y, most, HEIGHT));
            parts.push(text((LEFT.saturating_sub(8), at), "end", &y.to_string()));
            parts.push(format!("<path d=\"M{LEFT} {at}H{RIGHT}\" stroke=\"#ddd\"/>"));
        }
        for (series, row) in self.series.iter().zip(0_usize..) {
            let places = self.places(series, last, most);
            if row == 0 {
                for ((at, _), (x, _)) in places.iter().zip(&series.points) {
                    parts.push(text((*at, BOTTOM.saturating_add(18)), "middle", &x.to_string()));
                }
            }
            let colour = COLOURS.iter().cycle().nth(row).copied().unwrap_or("black");
            let points: Vec<String> = places.iter().map(|(x, y)| format!("{x},{y}")).collect();
            parts.push(format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                points.join(" ")
            ));
            let (x, y) = (RIGHT.saturating_add(12), row.saturating_mul(20).saturating_add(60));
            let name = escape(&series.name);
            parts.push(format!("<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{name}</text>"));
        }
        parts.push("</svg>\n".to_owned());
        parts.join("\n")
    }

    /// The coordinates of the points of a line.
    fn places(&self, series: &Series, last: u64, most: u64) -> Vec<(u64, u64)> {
        let steps = u64::try_from(series.points.len()).unwrap_or(1).saturating_sub(1);
        let place = |((x, y), number): (&(u64, u64), u64)| {
            let (part, whole) = if self.is_even { (number, steps) } else { (*x, last) };
            let right = LEFT.saturating_add(scale(part, whole, WIDTH));
            (right, BOTTOM.saturating_sub(scale(*y, most, HEIGHT)))
        };
        series.points.iter().zip(0_u64..).map(place).collect()
    }
}

/// Scales a part of a whole to a length.
fn scale(part: u64, whole: u64, length: u64) -> u64 {
    let scaled = u128::from(part)
        .saturating_mul(u128::from(length))
        .checked_div(u128::from(whole).max(1))
        .unwrap_or_default();
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn text((x, y): (u64, u64), anchor: &str, words: &str) -> String {
    let words = escape(words);
    format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{words}</text>")
}

fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::{Plot, Series};

    #[test]
    fn the_highest_point_is_at_the_top_and_the_last_at_the_right() {
        let points = vec![(1, 50), (10, 100)];
        let series = vec![Series { name: "a < b".to_owned(), points }];
        let plot = Plot { title: "t".to_owned(), x: "x", y: "y", is_even: true, series };
        let svg = plot.svg();
        assert!(svg.contains("points=\"80,210 720,50\""), "{svg}");
        assert!(svg.contains("a &lt; b"), "{svg}");
    }
}
