//! What a run leaves behind for people to look at: packets in pcapng for Wireshark and tshark.

pub mod pcapng;
pub mod trace;
