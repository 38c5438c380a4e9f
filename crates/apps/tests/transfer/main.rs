//! Files over the loopback device: real sockets, real disks, no assertion about how long anything
//! takes.

mod hostile;
mod strangers;
mod whole;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use polypath_apps::transfer::{
    Identity, Observer, Quiet, ReceiveOptions, Report, SendFilesOptions, Sources, Store,
    StoreOptions, TransferError, await_greeting, receive, send,
};
use polypath_net::{Association, Config, Encapsulation, Endpoint};

const PORT: u16 = 5000;
const SILENCE: Duration = Duration::from_secs(20);
const BUFFER: u64 = 4 << 20;

type Outcome = Result<Report, TransferError>;

fn endpoint(addresses: &[u8], accept: bool) -> Endpoint {
    let addresses = addresses.iter().map(|last| IpAddr::from([127, 0, 0, *last]));
    let config = Config::insecure_server(addresses, PORT).accept(accept);
    Endpoint::bind(config.encapsulation(Encapsulation::Udp(0))).unwrap()
}

/// Sender and receiver, connected over two paths.
async fn pair() -> (Association, Association) {
    let (sender, receiver) = (endpoint(&[1, 2], false), endpoint(&[3, 4], true));
    let there = receiver.local_addresses();
    let (a, b) = tokio::join!(sender.connect(&there, PORT), receiver.accept());
    (a.unwrap(), b.unwrap())
}

fn options(folder: &Path) -> StoreOptions {
    let folder = folder.to_owned();
    StoreOptions { folder, overwrite: false, hidden: false, quota: None, open_files: 4 }
}

fn store(folder: &Path) -> Arc<Store> {
    Store::open(options(folder)).unwrap()
}

const RECEIVING: ReceiveOptions = ReceiveOptions { silence: SILENCE, buffer: BUFFER };

/// Greets and receives.
async fn take(association: &Association, store: &Arc<Store>, observer: &dyn Observer) -> Outcome {
    take_with(association, store, RECEIVING, observer).await
}

async fn take_with(
    association: &Association,
    store: &Arc<Store>,
    options: ReceiveOptions,
    observer: &dyn Observer,
) -> Outcome {
    let greeting = await_greeting(association, SILENCE).await?;
    receive(association, greeting, store, options, observer).await
}

fn sending(who: &Identity) -> SendFilesOptions {
    SendFilesOptions { silence: SILENCE, buffer: BUFFER, identity: *who, limit: None }
}

fn somebody() -> Identity {
    Identity::generate_new().unwrap()
}

async fn transfer_with(who: &Identity, from: &[PathBuf], store: &Arc<Store>) -> (Outcome, Outcome) {
    let (a, b) = pair().await;
    let sources = Sources::new(from).unwrap();
    tokio::join!(send(&a, &sources, sending(who), &Quiet), take(&b, store, &Quiet))
}

async fn transfer(who: &Identity, from: &[PathBuf], to: &Path) -> (Report, Report) {
    let (sent, received) = transfer_with(who, from, &store(to)).await;
    (sent.unwrap(), received.unwrap())
}

fn content(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(step).take(len).collect()
}

/// What is in a folder, but for what the receiver remembers of it.
fn names(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<_> = all.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name != ".polypath-received");
    names.sort();
    names
}

/// Aborts an association once so many bytes went through.
struct AbortAfter<'a> {
    association: &'a Association,
    left: AtomicU64,
}

impl Observer for AbortAfter<'_> {
    fn progress(&self, bytes: u64, _travelled: bool) {
        let before = self.left.fetch_sub(bytes.min(1 << 40), Ordering::SeqCst);
        if before <= bytes {
            self.association.abort("enough");
        }
    }
}

/// Keeps what is worth a line.
#[derive(Default)]
struct Notes(std::sync::Mutex<Vec<String>>);

impl Observer for Notes {
    fn note(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

impl Notes {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}
