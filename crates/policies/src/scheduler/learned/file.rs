//! The file of a network: JSON to checked layers. It may come from anybody.

use polypath_proto::time::Duration;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::LearnedError;
use super::net::{Activation, INPUTS, Layer, Net};
use crate::scheduler::interval;

/// Bytes of text, at most.
const MAX_TEXT: usize = 1 << 20;
const MAX_LAYERS: usize = 8;
const MAX_UNITS: usize = 256;
const FORMAT: &str = "polypath-learned";
const VERSION: u32 = 1;
/// The longest interval, ms.
const MAX_EVERY: u64 = 60_000;

/// What says whether the rest can be read.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
    observation: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    #[serde(rename = "observation")]
    _observation: u32,
    #[serde(default = "usual_interval")]
    every_ms: u64,
    layers: Vec<LayerText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerText {
    weights: Vec<Vec<f32>>,
    bias: Vec<f32>,
    activation: Activation,
}

const fn usual_interval() -> u64 {
    10
}

/// The network, and how often it is asked.
pub(super) fn read(text: &str) -> Result<(Net, Duration), LearnedError> {
    if text.len() > MAX_TEXT {
        let value = format!("{} bytes long", text.len());
        return Err(LearnedError::value("the text", &value, "1048576 bytes (1 MiB) at most"));
    }
    let Head { format, version, observation } = parse_head(text)?;
    one_of("format", &format!("{format:?}"), &format!("{FORMAT:?}"))?;
    one_of("version", &version.to_string(), &VERSION.to_string())?;
    one_of("observation", &observation.to_string(), &interval::VERSION.to_string())?;
    let file: File = parse(text)?;
    if !(1..=MAX_EVERY).contains(&file.every_ms) {
        let allowed = format!("1 to {MAX_EVERY}");
        return Err(LearnedError::value("every_ms", &file.every_ms.to_string(), &allowed));
    }
    Ok((Net::new(layers(file.layers)?), Duration::from_millis(file.every_ms)))
}

fn parse_head(text: &str) -> Result<Head, LearnedError> {
    // Where the head passed over what is wrong, the whole has its place.
    parse(text).map_err(|error| parse::<File>(text).err().unwrap_or(error))
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, LearnedError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        LearnedError::json(&error.path().to_string(), &error.inner().to_string())
    })?;
    json.end().map_err(|error| LearnedError::json(".", &error.to_string()))?;
    Ok(parsed)
}

fn one_of(field: &str, value: &str, allowed: &str) -> Result<(), LearnedError> {
    if value == allowed { Ok(()) } else { Err(LearnedError::value(field, value, allowed)) }
}

fn layers(texts: Vec<LayerText>) -> Result<Vec<Layer>, LearnedError> {
    let count = texts.len();
    count_of("layers", count, "layers", (1..=MAX_LAYERS).contains(&count), "1 to 8")?;
    let mut inputs = INPUTS;
    let mut layers = Vec::with_capacity(count);
    for (i, text) in texts.into_iter().enumerate() {
        let is_last = i + 1 == count;
        let layer = layer(&format!("layers[{i}]"), text, inputs, is_last)?;
        inputs = layer.units();
        layers.push(layer);
    }
    Ok(layers)
}

fn layer(
    field: &str,
    text: LayerText,
    inputs: usize,
    is_last: bool,
) -> Result<Layer, LearnedError> {
    let LayerText { weights, bias, activation } = text;
    let (most, allowed) = if is_last {
        (2, "1 or 2 in the last layer: the logit of the weight, and of the cwnd factor")
    } else {
        (MAX_UNITS, "1 to 256, one per unit")
    };
    let rows = weights.len();
    count_of(&format!("{field}.weights"), rows, "rows", (1..=most).contains(&rows), allowed)?;
    let allowed = format!("{rows}, one per unit");
    count_of(&format!("{field}.bias"), bias.len(), "numbers", bias.len() == rows, &allowed)?;
    let allowed = format!("{inputs}, one per input");
    for (row, numbers) in weights.iter().enumerate() {
        let field = format!("{field}.weights[{row}]");
        count_of(&field, numbers.len(), "numbers", numbers.len() == inputs, &allowed)?;
        all_finite(&field, numbers)?;
    }
    all_finite(&format!("{field}.bias"), &bias)?;
    Ok(Layer::new(&weights, &bias, activation))
}

fn count_of(
    field: &str,
    count: usize,
    of: &str,
    is_allowed: bool,
    allowed: &str,
) -> Result<(), LearnedError> {
    let wrong = || LearnedError::value(field, &format!("{count} {of}"), allowed);
    if is_allowed { Ok(()) } else { Err(wrong()) }
}

/// A number of the text may be too large for an f32.
fn all_finite(field: &str, numbers: &[f32]) -> Result<(), LearnedError> {
    let Some((i, value)) = numbers.iter().enumerate().find(|(_, value)| !value.is_finite()) else {
        return Ok(());
    };
    let (field, value) = (format!("{field}[{i}]"), value.to_string());
    Err(LearnedError::value(&field, &value, "a finite number, below 3.4e38 in size"))
}
