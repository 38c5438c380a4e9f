//! The messages of a transfer as bytes. Whatever comes from the network is checked here: lengths,
//! counts, known values.
//!
//! A message is a tag byte and fields in little-endian order. All but blocks travel in order on
//! stream 0; blocks are unordered, since each says where it belongs.

use bytes::{BufMut as _, Bytes, BytesMut};

/// Says that this is a file transfer; the version follows.
const MAGIC: [u8; 4] = *b"PPFT";
const VERSION: u8 = 3;
/// The longest name of a file with its folders, bytes.
pub(crate) const MAX_NAME: usize = 4096;
/// The longest explanation, bytes.
const MAX_TEXT: usize = 512;
/// Hashes in one message, at most.
pub(crate) const MAX_HASHES: usize = 200;
/// Runs of holes in one message, at most.
pub(crate) const MAX_RUNS: usize = 128;
/// Bytes before the data of a block.
pub(crate) const BLOCK_HEADER: usize = 13;

/// A BLAKE3 hash.
pub(crate) type Digest = [u8; 32];
/// What a receiver calls itself.
pub(crate) type Realm = [u8; 16];

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// First of the sender: what is to come, for the display alone, and blocks of at most two to
    /// the power of so many bytes.
    Hello { files: u64, bytes: u64, block_shift: u8 },
    /// First of the receiver: blocks have two to the power of so many bytes, no more than the
    /// sender asked for.
    Welcome { block_shift: u8, realm: Realm },
    /// Second of the sender: who it is, in this realm alone.
    Identity { id: Digest },
    /// The sender has a file, folder or link.
    Offer(Offer),
    /// The receiver has these chunks, from number `first` on, in a part of the file.
    Have { id: u32, first: u32, hashes: Vec<Digest> },
    /// The receiver asks for something about an offered file.
    Go { id: u32, task: Task },
    /// Of the file so many blocks were sent; what the whole of it hashes to.
    End { id: u32, blocks: u64, digest: Digest },
    /// The sender gives a file up.
    Withdraw { id: u32 },
    /// What became of a file at the receiver. The last word on it.
    Verdict { id: u32, verdict: Verdict, text: String },
    /// The sender has no more files.
    Done,
    /// The receiver has nothing more to say.
    Bye,
    /// Something takes long here: a disk, or hashing. Nothing is wrong.
    Working,
    /// A piece of a file; without data it is a hole, all of it.
    Block { id: u32, index: u64, data: Bytes },
    /// These chunks of a file are holes: the first of each run and how many there are.
    Holes { id: u32, runs: Vec<(u32, u32)> },
}

/// A file, folder or link that the sender has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) id: u32,
    pub(crate) kind: Kind,
    /// Permission bits.
    pub(crate) mode: u16,
    /// Seconds and nanoseconds since 1970.
    pub(crate) mtime: (i64, u32),
    pub(crate) size: u64,
    /// Bytes of it that are no holes, about: for the question whether there is room, alone.
    pub(crate) data: u64,
    /// Relative, with slashes between its parts. Not checked here.
    pub(crate) name: Vec<u8>,
    /// What a link leads to, and empty for what is none. Not checked here.
    pub(crate) target: Vec<u8>,
}

impl Offer {
    /// What counts for the bound on names of what is on offer.
    pub(crate) const fn words(&self) -> usize {
        self.name.len() + self.target.len()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
}

/// By their code.
const KINDS: [Kind; 3] = [Kind::File, Kind::Folder, Kind::Link];

/// What the sender shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Send the chunks that the receiver does not have, then the hash.
    Send,
    /// Send the hash alone: this sender stored a file of this name and size before.
    Compare,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is under its name now.
    Stored,
    /// The same file was there already.
    AlreadyThere,
    /// Its name is not acceptable.
    BadName,
    /// The receiver's disk is full.
    NoSpace,
    /// Another transfer of the same sender has it.
    Busy,
    /// The receiver's system refused something.
    Trouble,
    /// What arrived is not what was sent.
    Damaged,
}

const VERDICTS: [Verdict; 7] = [
    Verdict::Stored,
    Verdict::AlreadyThere,
    Verdict::BadName,
    Verdict::NoSpace,
    Verdict::Busy,
    Verdict::Trouble,
    Verdict::Damaged,
];

/// Bytes that are no message of this protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// A greeting of another version.
    #[error(
        "the other end speaks version {0} of file transfers, this end version {VERSION}: update the older one"
    )]
    Version(u8),
    /// Anything else.
    #[error(
        "the peer does not speak this protocol: message of {length} bytes with tag {tag:?}: {problem}"
    )]
    Malformed {
        /// Its bytes.
        length: usize,
        /// The first of them.
        tag: Option<u8>,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// What is wrong with a message whose length and tag its reader knows.
enum Problem {
    Version(u8),
    Other(&'static str),
}

impl From<&'static str> for Problem {
    fn from(problem: &'static str) -> Self {
        Self::Other(problem)
    }
}

mod tag {
    pub(super) const HELLO: u8 = 1;
    pub(super) const WELCOME: u8 = 2;
    pub(super) const OFFER: u8 = 3;
    pub(super) const HAVE: u8 = 4;
    pub(super) const GO: u8 = 5;
    pub(super) const END: u8 = 6;
    pub(super) const WITHDRAW: u8 = 7;
    pub(super) const VERDICT: u8 = 8;
    pub(super) const DONE: u8 = 9;
    pub(super) const BYE: u8 = 10;
    pub(super) const BLOCK: u8 = 11;
    pub(super) const IDENTITY: u8 = 12;
    pub(super) const WORKING: u8 = 13;
    pub(super) const HOLES: u8 = 14;
}

/// The header of a block, whose data follows.
pub(crate) fn put_block_header(out: &mut BytesMut, id: u32, index: u64) {
    out.put_u8(tag::BLOCK);
    out.put_u32_le(id);
    out.put_u64_le(index);
}

impl Message {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Hello { files, bytes, block_shift } => {
                put_greeting(&mut out, tag::HELLO);
                out.put_u64_le(*files);
                out.put_u64_le(*bytes);
                out.put_u8(*block_shift);
            }
            Self::Welcome { block_shift, realm } => {
                put_greeting(&mut out, tag::WELCOME);
                out.put_u8(*block_shift);
                out.put_slice(realm);
            }
            Self::Identity { id } => {
                out.put_u8(tag::IDENTITY);
                out.put_slice(id);
            }
            Self::Offer(offer) => offer.append_to(&mut out),
            Self::Have { id, first, hashes } => {
                put_tagged(&mut out, tag::HAVE, *id);
                out.put_u32_le(*first);
                hashes.iter().for_each(|hash| out.put_slice(hash));
            }
            Self::Go { id, task } => {
                put_tagged(&mut out, tag::GO, *id);
                out.put_u8(u8::from(*task == Task::Compare));
            }
            Self::End { id, blocks, digest } => {
                put_tagged(&mut out, tag::END, *id);
                out.put_u64_le(*blocks);
                out.put_slice(digest);
            }
            Self::Withdraw { id } => put_tagged(&mut out, tag::WITHDRAW, *id),
            Self::Verdict { id, verdict, text } => {
                put_tagged(&mut out, tag::VERDICT, *id);
                let code = VERDICTS.iter().position(|v| v == verdict).unwrap_or_default();
                out.put_u8(u8::try_from(code).unwrap_or_default());
                out.put_slice(text.as_bytes().get(..MAX_TEXT).unwrap_or(text.as_bytes()));
            }
            Self::Done => out.put_u8(tag::DONE),
            Self::Bye => out.put_u8(tag::BYE),
            Self::Working => out.put_u8(tag::WORKING),
            Self::Block { id, index, data } => {
                put_block_header(&mut out, *id, *index);
                out.put_slice(data);
            }
            Self::Holes { id, runs } => {
                put_tagged(&mut out, tag::HOLES, *id);
                for (first, count) in runs {
                    out.put_u32_le(*first);
                    out.put_u32_le(*count);
                }
            }
        }
        out.freeze()
    }

    /// Reads a message.
    pub(crate) fn decode(bytes: &Bytes) -> Result<Self, CodecError> {
        let mut input = Input { left: bytes };
        let tag = input.take_u8();
        let empty = Problem::Other("empty");
        let read = tag.ok_or(empty).and_then(|tag| Self::read_body(tag, &mut input, bytes));
        read.map_err(|problem| match problem {
            Problem::Version(version) => CodecError::Version(version),
            Problem::Other(problem) => CodecError::Malformed { length: bytes.len(), tag, problem },
        })
    }

    fn read_body(tag: u8, input: &mut Input<'_>, bytes: &Bytes) -> Result<Self, Problem> {
        let message = match tag {
            tag::HELLO => {
                input.expect_greeting()?;
                let (files, bytes) = (input.take_u64()?, input.take_u64()?);
                Self::Hello { files, bytes, block_shift: input.take_u8().ok_or(SHORT)? }
            }
            tag::WELCOME => {
                input.expect_greeting()?;
                let block_shift = input.take_u8().ok_or(SHORT)?;
                Self::Welcome { block_shift, realm: input.take_array()? }
            }
            tag::IDENTITY => Self::Identity { id: input.take_array()? },
            tag::OFFER => Self::Offer(Offer::read_offer(input).ok_or("not a sound offer")?),
            tag::HAVE => Self::read_have(input)?,
            tag::GO => Self::Go { id: input.take_u32()?, task: input.take_task()? },
            tag::END => Self::End {
                id: input.take_u32()?,
                blocks: input.take_u64()?,
                digest: input.take_array()?,
            },
            tag::WITHDRAW => Self::Withdraw { id: input.take_u32()? },
            tag::VERDICT => Self::read_verdict(input)?,
            tag::DONE => Self::Done,
            tag::BYE => Self::Bye,
            tag::WORKING => Self::Working,
            tag::BLOCK => {
                let (id, index) = (input.take_u32()?, input.take_u64()?);
                input.left = &[];
                Self::Block { id, index, data: bytes.slice(BLOCK_HEADER..) }
            }
            tag::HOLES => Self::read_holes(input)?,
            _ => return Err("unknown tag".into()),
        };
        if input.left.is_empty() { Ok(message) } else { Err("bytes after its end".into()) }
    }

    fn read_have(input: &mut Input<'_>) -> Result<Self, &'static str> {
        let (id, first) = (input.take_u32()?, input.take_u32()?);
        let (hashes, rest) = input.left.as_chunks::<32>();
        if hashes.is_empty() || hashes.len() > MAX_HASHES || !rest.is_empty() {
            return Err("the number of hashes is not allowed");
        }
        let hashes = hashes.to_vec();
        input.left = &[];
        Ok(Self::Have { id, first, hashes })
    }

    fn read_holes(input: &mut Input<'_>) -> Result<Self, &'static str> {
        let id = input.take_u32()?;
        let (pairs, rest) = input.left.as_chunks::<8>();
        if pairs.is_empty() || pairs.len() > MAX_RUNS || !rest.is_empty() {
            return Err("the number of runs is not allowed");
        }
        let run = |&[a, b, c, d, e, f, g, h]: &[u8; 8]| {
            (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
        };
        let runs: Vec<_> = pairs.iter().map(run).collect();
        if runs.iter().any(|(first, count)| *count == 0 || first.checked_add(*count).is_none()) {
            return Err("a run of holes without an end");
        }
        input.left = &[];
        Ok(Self::Holes { id, runs })
    }

    fn read_verdict(input: &mut Input<'_>) -> Result<Self, &'static str> {
        let (id, code) = (input.take_u32()?, input.take_u8().ok_or(SHORT)?);
        let verdict = *VERDICTS.get(usize::from(code)).ok_or("unknown verdict")?;
        let text = core::mem::take(&mut input.left);
        if text.len() > MAX_TEXT {
            return Err("the text is too long");
        }
        Ok(Self::Verdict { id, verdict, text: String::from_utf8_lossy(text).into_owned() })
    }
}

impl Offer {
    fn append_to(&self, out: &mut BytesMut) {
        put_tagged(out, tag::OFFER, self.id);
        let code = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or_default();
        out.put_u8(u8::try_from(code).unwrap_or_default());
        out.put_u16_le(self.mode);
        out.put_i64_le(self.mtime.0);
        out.put_u32_le(self.mtime.1);
        out.put_u64_le(self.size);
        out.put_u64_le(self.data);
        out.put_u16_le(u16::try_from(self.name.len()).unwrap_or_default());
        out.put_slice(&self.name);
        out.put_slice(&self.target);
    }

    fn read_offer(input: &mut Input<'_>) -> Option<Self> {
        let id = input.take_u32().ok()?;
        let kind = *KINDS.get(usize::from(input.take_u8()?))?;
        let mode = u16::from_le_bytes(input.take_array().ok()?);
        let seconds = i64::from_le_bytes(input.take_array().ok()?);
        let nanos = input.take_u32().ok().filter(|nanos| *nanos < 1_000_000_000)?;
        let (size, data) = (input.take_u64().ok()?, input.take_u64().ok()?);
        let length = usize::from(u16::from_le_bytes(input.take_array().ok()?));
        let (name, target) = core::mem::take(&mut input.left).split_at_checked(length)?;
        let fits = |text: &[u8]| !text.is_empty() && text.len() <= MAX_NAME;
        let sound = match kind {
            Kind::File => data <= size && target.is_empty(),
            Kind::Folder => size == 0 && data == 0 && target.is_empty(),
            Kind::Link => size == 0 && data == 0 && fits(target),
        };
        let (name, target) =
            (Some(name).filter(|name| sound && fits(name))?.to_vec(), target.to_vec());
        Some(Self { id, kind, mode, mtime: (seconds, nanos), size, data, name, target })
    }
}

fn put_greeting(out: &mut BytesMut, tag: u8) {
    out.put_u8(tag);
    out.put_slice(&MAGIC);
    out.put_u8(VERSION);
}

fn put_tagged(out: &mut BytesMut, tag: u8, id: u32) {
    out.put_u8(tag);
    out.put_u32_le(id);
}

const SHORT: &str = "too short";

struct Input<'a> {
    left: &'a [u8],
}

impl Input<'_> {
    fn take_array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (head, rest) = self.left.split_first_chunk::<N>().ok_or(SHORT)?;
        self.left = rest;
        Ok(*head)
    }

    fn take_u8(&mut self) -> Option<u8> {
        self.take_array::<1>().ok().map(|[byte]| byte)
    }

    fn take_u32(&mut self) -> Result<u32, &'static str> {
        self.take_array().map(u32::from_le_bytes)
    }

    fn take_u64(&mut self) -> Result<u64, &'static str> {
        self.take_array().map(u64::from_le_bytes)
    }

    fn take_task(&mut self) -> Result<Task, &'static str> {
        match self.take_u8() {
            Some(0) => Ok(Task::Send),
            Some(1) => Ok(Task::Compare),
            _ => Err("unknown task"),
        }
    }

    fn expect_greeting(&mut self) -> Result<(), Problem> {
        match self.take_array()? {
            MAGIC => {}
            _ => return Err("the peer does not transfer files".into()),
        }
        match self.take_u8().ok_or(SHORT)? {
            VERSION => Ok(()),
            other => Err(Problem::Version(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_message() -> impl Strategy<Value = Message> {
        let id = any::<u32>();
        let bytes = prop::collection::vec(any::<u8>(), 0..200);
        let verdict = prop::sample::select(VERDICTS.to_vec());
        let task = prop::sample::select(vec![Task::Send, Task::Compare]);
        let name = || prop::collection::vec(any::<u8>(), 1..MAX_NAME);
        let mtime = (any::<i64>(), 0..1_000_000_000u32);
        let kind = prop_oneof![
            any::<(u64, u64)>().prop_map(|(a, b)| (Kind::File, a.max(b), a.min(b), Vec::new())),
            Just((Kind::Folder, 0, 0, Vec::new())),
            name().prop_map(|target| (Kind::Link, 0, 0, target)),
        ];
        let offer = (id, kind, any::<u16>(), mtime, name());
        let run = (0..u32::MAX / 2, 1..u32::MAX / 2);
        let runs = prop::collection::vec(run, 1..MAX_RUNS);
        let hashes = prop::collection::vec(any::<Digest>(), 1..MAX_HASHES);
        prop_oneof![
            any::<(u64, u64, u8)>().prop_map(|(files, bytes, block_shift)| Message::Hello {
                files,
                bytes,
                block_shift
            }),
            any::<(u8, Realm)>()
                .prop_map(|(block_shift, realm)| Message::Welcome { block_shift, realm }),
            any::<Digest>().prop_map(|id| Message::Identity { id }),
            offer.prop_map(|(id, (kind, size, data, target), mode, mtime, name)| {
                Message::Offer(Offer { id, kind, mode, mtime, size, data, name, target })
            }),
            (id, runs).prop_map(|(id, runs)| Message::Holes { id, runs }),
            (id, id, hashes).prop_map(|(id, first, hashes)| Message::Have { id, first, hashes }),
            (id, task).prop_map(|(id, task)| Message::Go { id, task }),
            any::<(u32, u64, Digest)>().prop_map(|(id, blocks, digest)| Message::End {
                id,
                blocks,
                digest
            }),
            id.prop_map(|id| Message::Withdraw { id }),
            (id, verdict, "[a-z ]{0,100}").prop_map(|(id, verdict, text)| Message::Verdict {
                id,
                verdict,
                text
            }),
            Just(Message::Done),
            Just(Message::Bye),
            Just(Message::Working),
            (id, any::<u64>(), bytes).prop_map(|(id, index, d)| Message::Block {
                id,
                index,
                data: d.into()
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(message in any_message()) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(message) = Message::decode(&bytes.clone().into()) {
                // Text that was not UTF-8 is the only thing that changes.
                if !matches!(message, Message::Verdict { .. }) {
                    prop_assert_eq!(&message.encode()[..], &bytes[..]);
                }
            }
        }

        #[test]
        fn changed_and_cut_messages_do_no_harm(
            message in any_message(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
        ) {
            let mut bytes = message.encode().to_vec();
            let i = at.index(bytes.len());
            if cut { bytes.truncate(i) } else { bytes[i] = byte }
            let _ = Message::decode(&bytes.into());
        }
    }

    #[test]
    fn strangers_and_other_versions_are_named() {
        let error = |bytes: &'static [u8]| Message::decode(&bytes.into()).unwrap_err().to_string();
        assert_eq!(
            error(b"\x01PPFT\x01aaaaaaaaaaaaaaaa"),
            "the other end speaks version 1 of file transfers, this end version 3: update the older one"
        );
        assert!(error(b"\x01GET /aaaaaaaaaaaaaaaa").contains("does not transfer files"));
        assert!(error(b"\xff").contains("unknown tag"));
        assert!(error(b"").contains("empty"));
    }
}
