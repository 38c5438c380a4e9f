//! Switches off what a virtual device leaves to others: checksums to hardware that is not there,
//! and cutting up of what is larger than a packet. Then frames are what they would be on a wire.
//!
//! It speaks generic netlink with the kernel's "ethtool" family (Linux 5.6), and calls the command
//! `ethtool` where there is none.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Command, Stdio};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, connect, recv, send,
    socket,
};

use crate::error::Error;
use crate::namespace::Namespace;

/// Without checksums of the device Linux switches segmentation off by itself.
const FEATURES: [&str; 2] = ["tx-checksum-ip-generic", "tx-checksum-sctp"];

// linux/netlink.h, linux/genetlink.h, linux/ethtool_netlink.h.
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLA_F_NESTED: u16 = 0x8000;
const NLMSG_ERROR: u16 = 2;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const ETHTOOL_MSG_FEATURES_SET: u8 = 12;
const ETHTOOL_A_FEATURES_HEADER: u16 = 1;
const ETHTOOL_A_FEATURES_WANTED: u16 = 3;
const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
const ETHTOOL_A_HEADER_FLAGS: u16 = 3;
const ETHTOOL_FLAG_OMIT_REPLY: u32 = 2;
const ETHTOOL_A_BITSET_BITS: u16 = 3;
const ETHTOOL_A_BITSET_BITS_BIT: u16 = 1;
const ETHTOOL_A_BITSET_BIT_NAME: u16 = 2;

const NETLINK_HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;

/// Switches these devices' offloads off.
pub(crate) fn switch_off(namespace: &Namespace, devices: &[String]) -> Result<(), Error> {
    let all = || devices.iter().try_for_each(|device| by_netlink(device));
    match namespace.run(all).map_err(Error::system_error("setns"))? {
        Ok(()) => Ok(()),
        Err(_) => devices.iter().try_for_each(|device| by_command(namespace, device)),
    }
}

fn by_netlink(device: &str) -> io::Result<()> {
    let socket = Netlink::open()?;
    let name = encode_attribute(CTRL_ATTR_FAMILY_NAME, b"ethtool\0");
    let answer = socket.send_request(GENL_ID_CTRL, NLM_F_REQUEST, CTRL_CMD_GETFAMILY, &name)?;
    let family =
        find_attribute(&answer, CTRL_ATTR_FAMILY_ID).and_then(|id| id.first_chunk().copied());
    let family = family.map(u16::from_ne_bytes).ok_or_else(malformed_error)?;
    let set = features_off(device);
    socket.send_request(family, NLM_F_REQUEST | NLM_F_ACK, ETHTOOL_MSG_FEATURES_SET, &set)?;
    Ok(())
}

fn by_command(namespace: &Namespace, device: &str) -> Result<(), Error> {
    let mut command = Command::new("ethtool");
    command.args(["-K", device, "tx", "off"]).stdout(Stdio::null()).stderr(Stdio::null());
    let child = namespace.spawn(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Missing { command: "ethtool", package: "ethtool" },
        _ => Error::system_error("ethtool")(error),
    });
    let status = child?.wait().map_err(Error::system_error("ethtool"))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::System { what: format!("ethtool -K {device} tx off"), cause: status.to_string() })
}

/// The attributes of a request that names the device and the features that shall be off: those
/// listed in the mask and without a value.
fn features_off(device: &str) -> Vec<u8> {
    let mut header = encode_attribute(ETHTOOL_A_HEADER_DEV_NAME, &terminated_bytes(device));
    let flags = ETHTOOL_FLAG_OMIT_REPLY.to_ne_bytes();
    header.extend(encode_attribute(ETHTOOL_A_HEADER_FLAGS, &flags));
    let bit = |name: &&str| {
        let name = encode_attribute(ETHTOOL_A_BITSET_BIT_NAME, &terminated_bytes(name));
        encode_attribute(ETHTOOL_A_BITSET_BITS_BIT | NLA_F_NESTED, &name)
    };
    let bits: Vec<u8> = FEATURES.iter().flat_map(bit).collect();
    let bits = encode_attribute(ETHTOOL_A_BITSET_BITS | NLA_F_NESTED, &bits);
    let mut request = encode_attribute(ETHTOOL_A_FEATURES_HEADER | NLA_F_NESTED, &header);
    request.extend(encode_attribute(ETHTOOL_A_FEATURES_WANTED | NLA_F_NESTED, &bits));
    request
}

fn terminated_bytes(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}

/// An attribute: length, type, value, and zeros up to a multiple of four bytes.
fn encode_attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    // Attributes here are far below 64 KiB.
    let len = (4 + value.len()) as u16;
    let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The value of the first attribute of this kind.
fn find_attribute(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let (head, _) = attributes.split_first_chunk::<4>()?;
        let len = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = attributes.get(4..len)?;
        if u16::from_ne_bytes([head[2], head[3]]) == kind {
            return Some(value);
        }
        attributes = attributes.get(len.next_multiple_of(4)..)?;
    }
}

struct Netlink(OwnedFd);

impl Netlink {
    fn open() -> io::Result<Self> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkGeneric,
        )?;
        connect(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self(fd))
    }

    /// Sends a request and returns the attributes of the answer, none for a plain acknowledgement.
    fn send_request(
        &self,
        kind: u16,
        flags: u16,
        command: u8,
        attributes: &[u8],
    ) -> io::Result<Vec<u8>> {
        let len = (NETLINK_HEADER + GENERIC_HEADER + attributes.len()) as u32;
        let mut request = len.to_ne_bytes().to_vec();
        request.extend([kind.to_ne_bytes(), flags.to_ne_bytes()].concat());
        // Sequence number, port, command, version, reserved.
        request.extend([[1, 0, 0, 0], [0; 4], [command, 1, 0, 0]].concat());
        request.extend_from_slice(attributes);
        send(self.0.as_raw_fd(), &request, MsgFlags::empty())?;
        let mut answer = vec![0; 16_384];
        let len = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        answer.truncate(len);
        read_answer(&answer)
    }
}

fn read_answer(answer: &[u8]) -> io::Result<Vec<u8>> {
    let kind = answer.get(4..6).and_then(|kind| kind.first_chunk().copied());
    if kind.map(u16::from_ne_bytes) != Some(NLMSG_ERROR) {
        let attributes = answer.get(NETLINK_HEADER + GENERIC_HEADER..);
        return attributes.map(<[u8]>::to_vec).ok_or_else(malformed_error);
    }
    let code = answer.get(NETLINK_HEADER..).and_then(|rest| rest.first_chunk().copied());
    match i32::from_ne_bytes(code.ok_or_else(malformed_error)?) {
        0 => Ok(Vec::new()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}

fn malformed_error() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "netlink answer is cut short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_found_again() {
        let mut list = encode_attribute(7, b"abc");
        list.extend(encode_attribute(9, &[1, 2, 3, 4]));
        assert_eq!(list.len(), 16);
        assert_eq!(find_attribute(&list, 9), Some(&[1, 2, 3, 4][..]));
        assert_eq!(find_attribute(&list, 7), Some(&b"abc"[..]));
        assert_eq!(find_attribute(&list, 8), None);
        assert_eq!(find_attribute(&list[..10], 9), None);
    }

    #[test]
    fn errors_of_the_kernel_are_told_from_answers() {
        let error = |code: i32| {
            let mut bytes = vec![0; NETLINK_HEADER];
            bytes[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
            bytes.extend(code.to_ne_bytes());
            bytes
        };
        assert!(read_answer(&error(0)).unwrap().is_empty());
        assert_eq!(read_answer(&error(-95)).unwrap_err().raw_os_error(), Some(95));
        assert!(read_answer(&error(0)[..10]).is_err());
        assert!(read_answer(&[]).is_err());
    }
}
