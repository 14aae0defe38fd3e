//! What pictures, documents and sounds count, by the family of the model that reads them.
//!
//! The rules are those of the providers' documents of November 2026, with figures of measured requests where these say
//! more. A picture whose header does not tell its size counts a flat figure, and so does everything whose length would
//! have to be decoded.

use memchr::memmem;

use crate::family::claude_version;
use crate::transcript::json::Json;
use crate::transcript::media::{MediaKind, Medium};

/// How a family of models counts media, in tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MediaRates {
    picture: PictureRule,
    /// A picture of unknown size.
    flat: u64,
    /// A page of a document.
    page: u64,
}

/// How a picture counts by its width and height in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PictureRule {
    /// The flat figure, whatever its size.
    Flat,
    /// Squares of so many pixels at so many thousandths of a token, of a picture shrunk to so long an edge where its own
    /// edge is longer than that, and to so many squares.
    Squares { side: u64, thousandths: u64, longest: u64, shrunk_to: u64, most: u64 },
    /// OpenAI's tiles of 512 pixels: tokens of every picture, and of each tile.
    Tiles { base: u64, each: u64 },
    /// Google's tiles of 768 pixels. A small picture counts as one.
    Crops { each: u64 },
}

/// Media whose length is not read, in tokens.
const SOUND: u64 = 500;
const VIDEO: u64 = 3_000;
const DOCUMENT: u64 = 3_000;

/// No limit of an edge or of squares.
const UNLIMITED: u64 = u64::MAX;

/// The rates for models that no rule is known of.
pub const OTHERS: MediaRates = MediaRates { picture: PictureRule::Flat, flat: 1_500, page: 2_000 };

impl MediaRates {
    /// The rates of the model with this name, however providers spell it.
    pub fn of_model(name: &str) -> Self {
        let name = name.to_ascii_lowercase().replace(['.', '_'], "-");
        if name.contains("claude") {
            claude(&name)
        } else if name.contains("gemini") {
            gemini(&name)
        } else if name.contains("qwen") || name.contains("qvq") {
            MediaRates { picture: PictureRule::squares(28, 1_000, 16_384), flat: 1_200, ..OTHERS }
        } else {
            openai(&name)
        }
    }

    pub fn tokens(&self, kind: MediaKind, json: Json<'_>) -> u64 {
        match kind {
            MediaKind::Sound => SOUND,
            MediaKind::Video => VIDEO,
            MediaKind::Document => {
                let pages = Medium::of(kind, json).bytes().map_or(0, |bytes| pages(&bytes));
                if pages == 0 { DOCUMENT } else { pages.saturating_mul(self.page) }
            }
            MediaKind::Picture if self.picture == PictureRule::Flat => self.flat,
            MediaKind::Picture => match (Medium::of(kind, json).size(), self.picture) {
                (_, PictureRule::Tiles { base, .. }) if is_of_low_detail(json) => base,
                (Some((width, height)), rule) => rule.tokens(width, height, self.flat),
                (None, _) => self.flat,
            },
        }
    }
}

/// OpenAI's rates; those of others where the name is not one of OpenAI's.
fn openai(name: &str) -> MediaRates {
    let is_gpt5 = name.contains("gpt-5") && !name.contains("gpt-5-5");
    let is_gpt5_or_gpt4_1 = is_gpt5 || name.contains("gpt-4-1");
    let (picture, flat) = if is_reasoner(name, "o4-mini") {
        (PictureRule::squares(32, 1_720, 1_536), 1_700)
    } else if is_gpt5_or_gpt4_1 && name.contains("mini") {
        (PictureRule::squares(32, 1_620, 1_536), 1_700)
    } else if is_gpt5_or_gpt4_1 && name.contains("nano") {
        (PictureRule::squares(32, 2_460, 1_536), 1_700)
    } else if is_reasoner(name, "o1") || is_reasoner(name, "o3") {
        (PictureRule::Tiles { base: 75, each: 150 }, 765)
    } else if is_gpt5 {
        (PictureRule::Tiles { base: 70, each: 140 }, 765)
    } else if name.contains("gpt-4") || name.contains("chatgpt-4o") {
        (PictureRule::Tiles { base: 85, each: 170 }, 765)
    } else if name.contains("gpt-5-5") {
        (PictureRule::squares(32, 1_200, 2_442), 1_500)
    } else if name.contains("gpt-") {
        // Up to twelve megapixels are not shrunk.
        (PictureRule::squares(32, 1_200, 12_000_000 / (32 * 32)), 1_500)
    } else {
        return OTHERS;
    };
    MediaRates { picture, flat, ..OTHERS }
}

/// Whether a name, at any provider, is that of a reasoning model like `o3`.
fn is_reasoner(name: &str, model: &str) -> bool {
    name.split(['/', ':']).any(|part| part.starts_with(model))
}

/// Google's rates. Its models from Gemini 3 on count each picture alike.
fn gemini(name: &str) -> MediaRates {
    const OLDER: [&str; 3] = ["gemini-1", "gemini-2", "gemini-pro-vision"];
    if OLDER.iter().any(|older| name.contains(older)) {
        MediaRates { picture: PictureRule::Crops { each: 258 }, flat: 258, page: 258 }
    } else {
        MediaRates { picture: PictureRule::Flat, flat: 1_100, page: 560 }
    }
}

/// Claude's rates. Its models from Opus 4.7 on see larger pictures.
fn claude(name: &str) -> MediaRates {
    let is_older = claude_version(name) < (4, 7);
    let (longest, shrunk_to, most, flat) =
        // Pictures with an edge longer than 2,576 were measured as if it were 2,000.
        if is_older { (1_568, 1_568, 1_568, 1_500) } else { (2_576, 2_000, UNLIMITED, 2_700) };
    let picture = PictureRule::Squares { side: 28, thousandths: 1_000, longest, shrunk_to, most };
    MediaRates { picture, flat, ..OTHERS }
}

impl PictureRule {
    /// Squares of a picture that is shrunk to so many of them, and to no edge.
    fn squares(side: u64, thousandths: u64, most: u64) -> Self {
        PictureRule::Squares { side, thousandths, longest: UNLIMITED, shrunk_to: UNLIMITED, most }
    }

    fn tokens(self, width: u64, height: u64, flat: u64) -> u64 {
        match self {
            PictureRule::Flat => flat,
            PictureRule::Squares { side, thousandths, longest, shrunk_to, most } => {
                let edge = width.max(height);
                let edge = if edge > longest { shrunk_to } else { edge };
                (squares(width, height, edge, side, most) * thousandths).div_ceil(1_000)
            }
            PictureRule::Tiles { base, each } => {
                let (long, short) = (width.max(height) as f64, width.min(height) as f64);
                let scale = (2048.0 / long).min(1.0);
                let scale = scale.min(768.0 / short);
                base + each * tiles(long * scale) * tiles(short * scale)
            }
            PictureRule::Crops { each } if width <= 384 && height <= 384 => each,
            PictureRule::Crops { each } => each * width.div_ceil(768) * height.div_ceil(768),
        }
    }
}

/// The number of OpenAI's tiles along an edge of a shrunk picture.
fn tiles(edge: f64) -> u64 {
    (edge / 512.0).ceil().max(1.0) as u64
}

/// The number of squares that cover a picture, shrunk until its long edge is `edge` and `most` squares cover it.
fn squares(width: u64, height: u64, edge: u64, side: u64, most: u64) -> u64 {
    let (long, short) = (width.max(height), width.min(height));
    let rows = |edge: u64| (edge * short).div_ceil(long * side).max(1);
    let whole = edge.div_ceil(side) * rows(edge);
    if whole <= most {
        return whole;
    }
    // The shape of the picture stays, so the columns are about the root of the squares.
    let columns = ((most as f64 * long as f64 / short as f64).sqrt() as u64 + 1).min(edge.div_ceil(side));
    for columns in (1..=columns).rev() {
        let squares = columns * rows(columns * side);
        if squares <= most {
            return squares;
        }
    }
    most
}

/// Whether OpenAI is asked to look at a picture coarsely.
fn is_of_low_detail(json: Json<'_>) -> bool {
    if json.member_is("detail", "low") {
        return true;
    }
    for key in ["image_url", "vendor_metadata", "imageUrl"] {
        if json.get(key).is_some_and(|inner| inner.member_is("detail", "low")) {
            return true;
        }
    }
    json.at(&["providerOptions", "openai"]).is_some_and(|options| options.member_is("imageDetail", "low"))
}

/// The number of pages of a PDF that is not compressed.
fn pages(bytes: &[u8]) -> u64 {
    let mut pages = 0;
    for at in memmem::find_iter(bytes, b"/Type") {
        let behind = bytes[at + b"/Type".len()..].trim_ascii_start();
        if behind.starts_with(b"/Page") && !behind.starts_with(b"/Pages") {
            pages += 1;
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::media::LONGEST_EDGE;

    /// Sizes whose tokens were measured, or are in the documents of the providers.
    #[test]
    fn pictures_count_as_their_providers_count_them() {
        for (model, width, height, tokens) in [
            ("claude-sonnet-4-6", 1920, 1080, 1_560),
            ("anthropic/claude-haiku-4.5", 200, 200, 64),
            ("claude-opus-4-7", 1920, 1080, 2_691),
            ("claude-opus-4:thinking", 1920, 1080, 1_560),
            ("claude-opus-4-20250514", 1920, 1080, 1_560),
            ("claude-3-5-sonnet-20241022", 1920, 1080, 1_560),
            ("anthropic/claude-opus-4.8", 1920, 1080, 2_691),
            ("us.anthropic.claude-sonnet-5-5-20260915-v1:0", 3840, 2160, 2_952),
            ("claude-fable-5", 4032, 3024, 3_888),
            ("gpt-4o", 1024, 1024, 765),
            ("gpt-4o", 2048, 4096, 1_105),
            ("openai:gpt-5.2", 1024, 1024, 630),
            ("o3", 1024, 1024, 675),
            ("gpt-4.1-mini", 1024, 1024, 1_659),
            ("gpt-5-nano", 1800, 2400, 3_764),
            ("o4-mini", 64, 64, 7),
            ("gpt-5.5", 1024, 1024, 1_229),
            ("gpt-6", 1920, 1080, 2_448),
            ("gemini-2.5-pro", 384, 384, 258),
            ("gemini-2.5-pro", 1024, 1024, 1_032),
            ("google/gemini-3-pro-preview", 4000, 3000, 1_100),
            ("qwen3-vl-plus", 1000, 1000, 1_296),
            ("deepseek-chat", 1000, 1000, 1_500),
        ] {
            let rates = MediaRates::of_model(model);
            assert_eq!(rates.picture.tokens(width, height, rates.flat), tokens, "{model}: {width} × {height}");
        }
    }

    #[test]
    fn extreme_sizes_count() {
        for model in
            ["claude-sonnet-4-6", "claude-opus-5", "gpt-4o", "gpt-5-mini", "gpt-6", "gemini-2.5-pro", "qwen-vl"]
        {
            let rates = MediaRates::of_model(model);
            for (width, height) in [(LONGEST_EDGE, 1), (1, LONGEST_EDGE), (LONGEST_EDGE, LONGEST_EDGE)] {
                assert!(rates.picture.tokens(width, height, rates.flat) > 0, "{model}");
            }
        }
    }

    #[test]
    fn pages_of_a_document_are_counted_where_they_can_be_seen() {
        assert_eq!(pages(b"<< /Type /Pages /Count 2 >> << /Type/Page >> << /Type\n/Page /Parent 1 0 R >>"), 2);
        assert_eq!(pages(b"%PDF-1.7 compressed"), 0);
    }
}
