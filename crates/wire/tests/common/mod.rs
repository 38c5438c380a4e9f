//! What several tests need: the golden vectors, and a walk over everything in a packet.

pub(crate) mod arbitrary;
pub(crate) mod describe;

use polypath_wire::{
    Causes, ChecksumCheck, Chunk, ErrorCause, PacketView, Parameter, Params, WireError,
};
use serde::Deserialize;
use serde_json::Value;

/// A packet by another encoder and the fields that it stands for.
#[derive(Deserialize)]
pub(crate) struct Vector {
    pub(crate) name: String,
    #[serde(deserialize_with = "from_hex")]
    pub(crate) packet: Vec<u8>,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) verification_tag: u32,
    pub(crate) chunks: Vec<Value>,
}

fn from_hex<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let hex = String::deserialize(deserializer)?;
    let digits: Vec<u32> = hex.chars().map(|c| c.to_digit(16).expect("a hex digit")).collect();
    Ok(digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All golden vectors, in a fixed order.
pub(crate) fn vectors() -> Vec<Vector> {
    let families = [
        include_str!("../golden/data.json"),
        include_str!("../golden/acks.json"),
        include_str!("../golden/setup.json"),
        include_str!("../golden/control.json"),
        include_str!("../golden/reconfig.json"),
        include_str!("../golden/params.json"),
        include_str!("../golden/causes.json"),
    ];
    families
        .into_iter()
        .flat_map(|json| serde_json::from_str::<Vec<Vector>>(json).expect("a list of vectors"))
        .collect()
}

/// Decodes everything that can be reached in a packet and returns what is wrong with it.
pub(crate) fn errors_in(packet: &[u8]) -> Vec<WireError> {
    let mut errors = Vec::new();
    match PacketView::parse(packet, ChecksumCheck::Skip) {
        Ok(view) => {
            for chunk in view.chunks() {
                match chunk.and_then(|raw| raw.decode()) {
                    Ok(chunk) => errors_in_chunk(&chunk, &mut errors),
                    Err(error) => errors.push(error),
                }
            }
        }
        Err(error) => errors.push(error),
    }
    errors
}

fn errors_in_chunk(chunk: &Chunk<'_>, errors: &mut Vec<WireError>) {
    match chunk {
        Chunk::Init(init) => errors_in_params(init.params, errors),
        Chunk::InitAck(ack) => errors_in_params(ack.params, errors),
        Chunk::Heartbeat(heartbeat) => errors_in_params(heartbeat.params, errors),
        Chunk::HeartbeatAck(ack) => errors_in_params(ack.params, errors),
        Chunk::Asconf(asconf) => errors_in_params(asconf.params, errors),
        Chunk::AsconfAck(ack) => errors_in_params(ack.params, errors),
        Chunk::Reconfig(reconfig) => errors_in_params(reconfig.params, errors),
        Chunk::Abort(abort) => errors_in_causes(abort.causes, errors),
        Chunk::Error(error) => errors_in_causes(error.causes, errors),
        _ => {}
    }
}

fn errors_in_params(params: Params<'_>, errors: &mut Vec<WireError>) {
    for param in params {
        match param.and_then(|raw| raw.decode()) {
            Ok(Parameter::ErrorCauseIndication(error)) => errors_in_causes(error.causes, errors),
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
}

fn errors_in_causes(causes: Causes<'_>, errors: &mut Vec<WireError>) {
    for cause in causes {
        match cause.and_then(|raw| raw.decode()) {
            Ok(
                ErrorCause::UnrecognizedParameters(params)
                | ErrorCause::RestartWithNewAddresses(params)
                | ErrorCause::DeleteLastIp(params)
                | ErrorCause::ResourceShortage(params)
                | ErrorCause::DeleteSourceIp(params)
                | ErrorCause::NoAuthorization(params),
            ) => errors_in_params(params, errors),
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
}
