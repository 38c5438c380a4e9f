//! An emulated network: built, running, and gone.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use nix::sys::eventfd::{EfdFlags, EventFd};
use polypath_link::{Change, LinkStats, Nanos, NatChange};

use crate::devices;
use crate::driver::{Counters, Driver, Order, Watcher};
use crate::error::Error;
use crate::fabric::Fabric;
use crate::guard::Guard;
use crate::lateness::Lateness;
use crate::namespace::Namespace;
use crate::nat::NatCounters;
use crate::plan::Plan;
use crate::port::Port;
use crate::spec::{Host, HostSpec, NetworkSpec};

/// Two hosts and the network between them. Dropping it ends all: processes in the hosts are killed,
/// and namespaces and devices vanish with their last user.
#[derive(Debug)]
pub struct Emulation {
    client: Namespace,
    server: Namespace,
    plan: Plan,
    orders: Option<Sender<Order>>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
    /// Dropped last: it clears the namespaces.
    _guard: Guard,
}

/// What an emulated network has counted since [`Emulation::start`], or since it was built.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Each link's name and counters.
    pub links: Vec<(String, LinkStats)>,
    /// Each box's name and counters.
    pub nats: Vec<(String, NatCounters)>,
    /// Packets dropped for want of a route from their source to their destination.
    pub unrouted: u64,
    /// Packets above the size that their route lets through.
    pub vanished: u64,
    /// Packets that arrived at an interface that was down.
    pub refused: u64,
    /// By how much packets were late.
    pub lateness: Lateness,
}

impl Emulation {
    /// Makes hosts, interfaces and links, and carries packets from then on: without losses, jitter
    /// and schedules until [`Self::start`].
    ///
    /// # Errors
    /// [`Error::NotRoot`] and [`Error::Missing`] when something is missing, [`Error::Spec`] when
    /// the specification is impossible, [`Error::System`] when the kernel refuses.
    pub fn build(spec: NetworkSpec) -> Result<Self, Error> {
        spec.check()?;
        let [client, server, middle] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        devices::make_devices(&spec, &client, &server, &middle)?;
        let plan = Plan::from_spec(&spec);
        let sockets = open_ports(&middle, plan.ports())?;
        let guard = Guard::new(&[&client, &server])?;
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        let wake = Arc::new(wake.map_err(Error::system_error("eventfd"))?);
        let (orders, received) = channel();
        let thread = {
            let wake = Arc::clone(&wake);
            let run = move || {
                let mtu = spec.mtu();
                // The middle lives as long as its packets are carried.
                let _middle = middle;
                Driver::new(sockets, Fabric::new(spec), mtu, received, wake).run();
            };
            let named = std::thread::Builder::new().name("network".into());
            named.spawn(run).map_err(Error::system_error("thread"))?
        };
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Self { client, server, plan, orders, wake, thread, _guard: guard })
    }

    /// Starts the experiment: empties the links, and lets losses, jitter, schedules and cross
    /// traffic begin. Counters count from zero.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn start(&self) -> Result<(), Error> {
        self.ask_driver(Order::Start)
    }

    /// The client's namespace.
    #[must_use]
    pub fn client(&self) -> &Namespace {
        &self.client
    }

    /// The server's namespace.
    #[must_use]
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// The namespace of `host`.
    #[must_use]
    pub fn namespace(&self, host: Host) -> &Namespace {
        match host {
            Host::Client => &self.client,
            Host::Server => &self.server,
        }
    }

    /// The addresses of `host`, interface by interface.
    #[must_use]
    pub fn addresses(&self, host: Host) -> Vec<IpAddr> {
        self.plan.host_spec(host).addresses().collect()
    }

    /// Cuts all links of the routes of this path, in both directions: what is on them is lost, and
    /// so is all that comes until [`Self::restore_path`]. The hosts are told nothing.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Stopped`].
    pub fn cut_path(&self, path: &str) -> Result<(), Error> {
        self.change_path(path, Change::Up(false))
    }

    /// Undoes [`Self::cut_path`].
    ///
    /// # Errors
    /// As [`Self::cut_path`].
    pub fn restore_path(&self, path: &str) -> Result<(), Error> {
        self.change_path(path, Change::Up(true))
    }

    /// Changes all links of the routes of this path, in both directions, now.
    ///
    /// # Errors
    /// As [`Self::cut_path`].
    pub fn change_path(&self, path: &str, change: Change) -> Result<(), Error> {
        let links = self.plan.links_of_path(path)?;
        self.ask_driver(|done| Order::Change(links, change, done))
    }

    /// Changes one link, that is, one direction, now.
    ///
    /// # Errors
    /// As [`Self::cut_path`].
    pub fn change_link(&self, link: &str, change: Change) -> Result<(), Error> {
        let link = self.plan.link_index(link)?;
        self.ask_driver(|done| Order::Change(vec![link], change, done))
    }

    /// Changes a box that translates addresses, now.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Stopped`].
    pub fn change_nat(&self, name: &str, change: NatChange) -> Result<(), Error> {
        let nat = self.plan.nat_index(name)?;
        self.ask_driver(|done| Order::ChangeNat(nat, change, done))
    }

    /// Takes an interface of a host down, or up again with its addresses and routes. Other than
    /// with [`Self::cut_path`] the host's kernel knows.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::System`].
    pub fn set_interface(&self, host: Host, name: &str, up: bool) -> Result<(), Error> {
        let spec = self.plan.find_interface(host, name)?;
        let namespace = self.namespace(host);
        if up {
            return devices::revive_interface(spec, namespace, name);
        }
        namespace.run_ip_commands(&format!("link set dev {name} down\n"))
    }

    /// Tells `watcher` from now on of every packet that a host sends onto a route, before the links
    /// decide what becomes of it. It runs on the thread that carries packets: what it takes long
    /// for makes them late.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn watch_packets(&self, watcher: Watcher) -> Result<(), Error> {
        self.ask_driver(|done| Order::Watch(watcher, done))
    }

    /// The counters so far.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn stats(&self) -> Result<Stats, Error> {
        let counters = self.ask_driver(Order::Report)?;
        let Counters { links, nats, unrouted, vanished, refused, lateness, .. } = counters;
        let links = self.plan.link_names().zip(links).collect();
        Ok(Stats { links, nats, unrouted, vanished, refused, lateness })
    }

    /// When the links' clock began, in ns since 1970.
    pub(crate) fn clock_epoch(&self) -> Result<Nanos, Error> {
        self.ask_driver(Order::Report).map(|counters| counters.epoch)
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Gives an order and waits for the answer.
    fn ask_driver<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Result<T, Error> {
        let (answer, answered) = channel();
        let orders = self.orders.as_ref().ok_or(Error::Stopped)?;
        orders.send(order(answer)).map_err(|_| Error::Stopped)?;
        self.wake_driver();
        answered.recv().map_err(|_| Error::Stopped)
    }

    fn wake_driver(&self) {
        // It fails when it is so full of wake-ups that it wakes anyway.
        let _ = self.wake.write(1);
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        // Without anyone to order, the thread ends.
        self.orders = None;
        self.wake_driver();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn open_ports(middle: &Namespace, ports: usize) -> Result<Vec<OwnedFd>, Error> {
    let open = || {
        let socket = |port| Port::open_socket(&devices::middle_name(port));
        (0..ports).map(socket).collect::<Result<Vec<_>, _>>()
    };
    let opened = middle.run(open).map_err(Error::system_error("setns"))?;
    opened.map_err(Error::system_error("packet socket"))
}

impl Host {
    /// `client` or `server`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

impl Plan {
    fn find_interface(&self, host: Host, name: &str) -> Result<&HostSpec, Error> {
        let spec = self.host_spec(host);
        if spec.interfaces.iter().any(|interface| interface.name == name) {
            return Ok(spec);
        }
        let known = spec.interfaces.iter().map(|interface| interface.name.clone()).collect();
        Err(Self::unknown_name("interface", name, known))
    }
}
