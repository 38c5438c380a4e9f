//! How large buffers may be that somebody names on a real host.

use core::ops::RangeInclusive;

use polypath_net::AssocConfig;

/// Bytes: several messages of a transfer fit in; and a typing error shall not take all of a host's
/// memory.
pub const BUFFERS: RangeInclusive<u64> = 16 << 10..=1 << 30;

/// The first buffer that is smaller or larger than [`BUFFERS`]: its name in scenarios, and its
/// size.
pub fn buffer_out_of_range(assoc: &AssocConfig) -> Option<(&'static str, u64)> {
    let sizes = [
        ("receive-buffer", Some(assoc.receive_buffer.into())),
        ("send-buffer", Some(assoc.send_buffer)),
        ("receive-buffer-max", assoc.receive_buffer_max.map(u64::from)),
        ("send-buffer-max", assoc.send_buffer_max),
    ];
    let sizes = sizes.into_iter().filter_map(|(name, size)| Some((name, size?)));
    sizes.into_iter().find(|(_, size)| !BUFFERS.contains(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_buffer_is_looked_at() {
        let usual = AssocConfig { send_buffer: 1 << 20, ..AssocConfig::default() };
        assert_eq!(buffer_out_of_range(&usual), None);
        let small = AssocConfig { receive_buffer: 16_383, ..usual.clone() };
        assert_eq!(buffer_out_of_range(&small), Some(("receive-buffer", 16_383)));
        let large = AssocConfig { send_buffer_max: Some((1 << 30) + 1), ..usual };
        assert_eq!(buffer_out_of_range(&large), Some(("send-buffer-max", (1 << 30) + 1)));
    }
}
