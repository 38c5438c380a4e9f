//! Pictures as files: SVG as drawn, PNG and PDF made of it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::canvas::DrawError;

/// What a picture may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Text, for browsers.
    Svg,
    /// Pixels, two for each unit of the drawing.
    Png,
    /// A page of the size of the drawing.
    Pdf,
}

impl PictureFormat {
    const ALL: [Self; 3] = [Self::Svg, Self::Png, Self::Pdf];

    /// What the ending of a file's name says.
    ///
    /// # Errors
    /// When it says nothing or what cannot be made, in words that say what is allowed.
    pub fn from_path(path: &Path) -> Result<Self, String> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        match ending {
            Some(ending) => ending.parse(),
            None => Err(format!("a name without an ending (allowed: {})", list_formats("."))),
        }
    }

    /// Whether a terminal can show it.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Svg)
    }

    const fn is_built_in(self) -> bool {
        cfg!(feature = "pictures") || self.is_text()
    }
}

impl fmt::Display for PictureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
        })
    }
}

impl FromStr for PictureFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().filter(|format| format.is_built_in());
        let found = known.clone().find(|format| format.to_string() == name);
        found.ok_or_else(|| format!("no format {name:?} (allowed: {})", list_formats("")))
    }
}

/// All that this build makes.
fn list_formats(before: &str) -> String {
    let all = PictureFormat::ALL.into_iter().filter(|format| format.is_built_in());
    all.map(|format| format!("{before}{format}")).collect::<Vec<_>>().join(", ")
}

/// The file of a picture that was drawn as SVG.
///
/// # Errors
/// When it cannot be made of this picture, or not by this build.
pub fn encode_picture(svg: String, format: PictureFormat) -> Result<Vec<u8>, DrawError> {
    match format {
        PictureFormat::Svg => Ok(svg.into_bytes()),
        #[cfg(feature = "pictures")]
        PictureFormat::Png => made::encode_png(&svg),
        #[cfg(feature = "pictures")]
        PictureFormat::Pdf => made::encode_pdf(&svg),
        #[cfg(not(feature = "pictures"))]
        other => Err(DrawError::new(format!("{other} (allowed: {})", list_formats("")))),
    }
}

#[cfg(feature = "pictures")]
mod made {
    use std::sync::Arc;

    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{self, Options, Tree, fontdb::Database};
    use svg2pdf::{ConversionOptions, PageOptions};

    use super::DrawError;

    /// Pixels per unit: text stays sharp in print.
    const SCALE: f32 = 2.0;
    /// What the built-in font stops at, but for signs: Latin, Greek, Cyrillic and Armenian.
    const LETTERS: char = '\u{58F}';
    /// Its signs: punctuation, currencies, arrows, mathematics.
    const SIGNS: std::ops::RangeInclusive<char> = '\u{2000}'..='\u{22FF}';

    pub(super) fn encode_png(svg: &str) -> Result<Vec<u8>, DrawError> {
        let tree = parse_picture(svg)?;
        let size = tree.size().to_int_size().scale_by(SCALE);
        let pixels = size.and_then(|size| Pixmap::new(size.width(), size.height()));
        let mut pixels = pixels.ok_or_else(|| DrawError::new("it is too large for a PNG"))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(DrawError::new)
    }

    pub(super) fn encode_pdf(svg: &str) -> Result<Vec<u8>, DrawError> {
        let tree = parse_picture(svg)?;
        let page = svg2pdf::to_pdf(&tree, ConversionOptions::default(), PageOptions::default());
        page.map_err(DrawError::new)
    }

    fn parse_picture(svg: &str) -> Result<Tree, DrawError> {
        let options = Options { fontdb: Arc::new(load_fonts(svg)), ..Options::default() };
        Tree::from_str(svg, &options).map_err(|error: usvg::Error| DrawError::new(error))
    }

    /// A font of our own (DejaVu Sans, whose licence allows that), so that text is there, and the same, on every machine; those of the
    /// machine only for what it lacks.
    fn load_fonts(svg: &str) -> Database {
        let mut fonts = Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.load_font_data(dejavu::sans::bold().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        if svg.chars().any(|letter| letter > LETTERS && !SIGNS.contains(&letter)) {
            fonts.load_system_fonts();
        }
        fonts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_the_format() {
        let of = |name: &str| PictureFormat::from_path(Path::new(name));
        assert_eq!(of("a/b.svg"), Ok(PictureFormat::Svg));
        let unknown = of("b.gif").unwrap_err();
        assert!(unknown.starts_with("no format \"gif\" (allowed: svg"), "{unknown}");
        let none = of("a.svg/b").unwrap_err();
        assert!(none.starts_with("a name without an ending (allowed: .svg"), "{none}");
    }

    #[cfg(feature = "pictures")]
    mod made {
        use super::super::*;

        const SVG: &str = "<svg width='80' height='40' xmlns='http://www.w3.org/2000/svg'>\
            <rect width='80' height='40' fill='#FFFFFF'/>WORD</svg>";

        fn encode(words: &str, format: PictureFormat) -> Vec<u8> {
            encode_picture(SVG.replace("WORD", words), format).unwrap()
        }

        #[test]
        fn both_are_what_their_names_say_and_the_same_every_time() {
            assert_eq!(PictureFormat::from_path(Path::new("B.PDF")), Ok(PictureFormat::Pdf));
            for (format, opening) in
                [(PictureFormat::Png, &b"\x89PNG\r\n"[..]), (PictureFormat::Pdf, b"%PDF-")]
            {
                let file = encode("<text x='9' y='20'>µ</text>", format);
                assert!(file.starts_with(opening), "{format}");
                assert_eq!(file, encode("<text x='9' y='20'>µ</text>", format));
            }
        }

        /// With the font that is built in: this one has no other.
        #[test]
        fn text_is_drawn_and_is_text_in_a_pdf() {
            let text = "<text x='9' y='20' font-family='sans-serif'>Goodput</text>";
            for format in [PictureFormat::Png, PictureFormat::Pdf] {
                let (with, without) = (encode(text, format), encode("", format));
                assert!(with.len() > without.len(), "{format}");
            }
            let pdf = encode(text, PictureFormat::Pdf);
            assert!(pdf.windows(10).any(|part| part == b"DejaVuSans"), "has its font with it");
        }
    }
}
