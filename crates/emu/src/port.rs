//! A packet socket on one device of the middle: whole frames in and out, many per call.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockProtocol,
    SockType, bind, recvmmsg, sendmmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use polypath_link::Nanos;

use crate::frame::Frame;

/// Frames per call.
const BATCH: usize = 64;
/// Room for frames that wait for this process, in bytes.
const RECEIVE_BUFFER: usize = 32 << 20;
const SEND_BUFFER: usize = 8 << 20;

/// A device's socket. Belongs to the thread that made it: its headers point to each other.
pub(crate) struct Port {
    fd: OwnedFd,
    incoming: MultiHeaders<()>,
    outgoing: MultiHeaders<()>,
    /// Where the next frames are received.
    slots: Vec<Frame>,
    /// Times of arrival of the frames of one call.
    stamps: Vec<Option<Nanos>>,
    /// Frames to send.
    pub(crate) queue: Vec<Frame>,
    /// Frames that the device did not take, as when it is down at the host's end.
    pub(crate) refused: u64,
}

impl Port {
    /// Opens the socket; to be called inside the namespace of the device, which must be up.
    pub(crate) fn open_socket(device: &str) -> io::Result<OwnedFd> {
        let fd = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::EthAll,
        )?;
        setsockopt(&fd, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_BUFFER)?;
        setsockopt(&fd, sockopt::SndBufForce, &SEND_BUFFER)?;
        bind(fd.as_raw_fd(), &link_address(device)?)?;
        Ok(fd)
    }

    pub(crate) fn new(fd: OwnedFd, mtu: u32) -> Self {
        Self {
            fd,
            incoming: incoming_headers(),
            outgoing: MultiHeaders::preallocate(BATCH, None),
            slots: (0..BATCH).map(|_| Frame::with_room(mtu)).collect(),
            stamps: Vec::with_capacity(BATCH),
            queue: Vec::new(),
            refused: 0,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Receives what is there, up to a batch, and hands out each frame with the time of its arrival
    /// in ns since 1970; `spare` gives an empty frame for each. Returns whether there may be more.
    pub(crate) fn receive_frames(
        &mut self,
        mut spare: impl FnMut() -> Frame,
        mut each: impl FnMut(Option<Nanos>, Frame),
    ) -> bool {
        let count = self.fill_slots();
        if self.stamps.iter().any(Option::is_none) {
            // The kernel shortens the room for stamps to what it used.
            self.incoming = incoming_headers();
        }
        for (slot, stamp) in self.slots.iter_mut().zip(self.stamps.drain(..)) {
            each(stamp, std::mem::replace(slot, spare()));
        }
        count == BATCH
    }

    /// Fills slots, sets their frames' lengths, and notes the stamps.
    fn fill_slots(&mut self) -> usize {
        let mut lengths = [0; BATCH];
        let mut slots = self.slots.iter_mut();
        let mut slices: [[IoSliceMut<'_>; 1]; BATCH] =
            std::array::from_fn(|_| [IoSliceMut::new(slots.next().map_or(&mut [], Frame::buffer))]);
        let flags = MsgFlags::MSG_DONTWAIT;
        let received = recvmmsg(self.fd.as_raw_fd(), &mut self.incoming, &mut slices, flags, None);
        // Nothing there, or the device's own trouble, which reading has cleared.
        let Ok(received) = received else { return 0 };
        for (message, length) in received.zip(&mut lengths) {
            *length = message.bytes;
            self.stamps.push(message.cmsgs().ok().and_then(|mut all| all.find_map(arrival_stamp)));
        }
        for (slot, length) in self.slots.iter_mut().zip(lengths) {
            slot.set_len(length);
        }
        self.stamps.len()
    }

    /// Sends the queue; what the device does not take is dropped and counted. Gives the empty
    /// frames back.
    pub(crate) fn send_queue(&mut self, mut done: impl FnMut(Frame)) {
        let mut sent = 0;
        while sent < self.queue.len() {
            match self.send_batch(sent) {
                Ok(count) => sent += count.max(1),
                Err(Errno::EINTR) => {}
                Err(_) => {
                    self.refused += 1;
                    sent += 1;
                }
            }
        }
        self.queue.drain(..).for_each(&mut done);
    }

    fn send_batch(&mut self, from: usize) -> nix::Result<usize> {
        let frames = self.queue.get(from..).unwrap_or_default();
        let mut each = frames.iter();
        let slices: [[IoSlice<'_>; 1]; BATCH] =
            std::array::from_fn(|_| [IoSlice::new(each.next().map_or(&[], Frame::bytes))]);
        let slices = slices.iter().take(frames.len());
        let nowhere = [None::<()>; BATCH];
        let flags = MsgFlags::MSG_DONTWAIT;
        let sent = sendmmsg(self.fd.as_raw_fd(), &mut self.outgoing, slices, nowhere, [], flags)?;
        Ok(sent.count())
    }
}

fn incoming_headers() -> MultiHeaders<()> {
    MultiHeaders::preallocate(BATCH, Some(nix::cmsg_space!(TimeSpec)))
}

fn arrival_stamp(message: ControlMessageOwned) -> Option<Nanos> {
    match message {
        ControlMessageOwned::ScmTimestampns(time) => to_nanos(time),
        _ => None,
    }
}

/// Since 1970.
pub(crate) fn to_nanos(time: TimeSpec) -> Option<Nanos> {
    let seconds = Nanos::try_from(time.tv_sec()).ok()?;
    Some(seconds * 1_000_000_000 + Nanos::try_from(time.tv_nsec()).ok()?)
}

/// The only way to an address of the packet family without unsafe code is to be given it.
fn link_address(device: &str) -> io::Result<LinkAddr> {
    let mut all = getifaddrs()?.filter(|interface| interface.interface_name == device);
    all.find_map(|interface| interface.address?.as_link_addr().copied()).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("no packet address of {device}"))
    })
}
