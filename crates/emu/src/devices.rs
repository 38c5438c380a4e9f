//! The devices of the network: a veth pair for each interface, from its host to the namespace in
//! the middle.

use std::fmt::Write as _;
use std::net::IpAddr;

use crate::error::Error;
use crate::namespace::Namespace;
use crate::spec::{HostSpec, InterfaceSpec, NetworkSpec};
use crate::{offload, sysctl};

/// All interfaces of both hosts have this address. They have no ARP, and Linux then puts a device's
/// own address as destination into every frame: so the other host takes it for its own. Nothing
/// but IP crosses the links, as in the simulator.
const HARDWARE_ADDRESS: &str = "02:70:70:00:00:01";
/// The first interface's routing table; the kernel's own are above 252.
const FIRST_TABLE: usize = 101;

/// As `ip` has them for options.
const FAMILIES: [&str; 2] = ["-4", "-6"];

/// Name of the middle's device number `port`.
pub(crate) fn middle_name(port: usize) -> String {
    format!("p{port}")
}

/// Makes all devices, up and with their addresses and routes.
pub(crate) fn make_devices(
    spec: &NetworkSpec,
    client: &Namespace,
    server: &Namespace,
    middle: &Namespace,
) -> Result<(), Error> {
    sysctl::quiet_middle(middle)?;
    middle.run_ip_commands(&veth_commands(spec, client, server))?;
    offload::switch_off(middle, &middle_names(spec))?;
    for (host, namespace) in [(&spec.client, client), (&spec.server, server)] {
        sysctl::allow_multihoming(namespace)?;
        let names: Vec<_> = host.interfaces.iter().map(|i| i.name.clone()).collect();
        offload::switch_off(namespace, &names)?;
        namespace.run_ip_commands(&address_commands(host))?;
        FAMILIES
            .iter()
            .try_for_each(|family| namespace.ip_of(family, &route_commands(host, family)))?;
    }
    Ok(())
}

/// Takes one interface of a host up again after it was down, when Linux has forgotten its routes.
pub(crate) fn revive_interface(
    host: &HostSpec,
    namespace: &Namespace,
    name: &str,
) -> Result<(), Error> {
    let mut script = format!("link set dev {name} up\n");
    let interfaces = || host.interfaces.iter().enumerate().filter(|(_, i)| i.name == name);
    // IPv6 addresses go with the interface; IPv4's stay, and "replace" minds neither.
    script.extend(interfaces().map(|(_, interface)| address_lines(interface, "replace")));
    namespace.run_ip_commands(&script)?;
    FAMILIES.iter().try_for_each(|family| {
        let lines = interfaces().map(|(n, interface)| route_lines(n, interface, family));
        namespace.ip_of(family, &lines.collect::<String>())
    })
}

fn middle_names(spec: &NetworkSpec) -> Vec<String> {
    let ports = spec.client.interfaces.len() + spec.server.interfaces.len();
    (0..ports).map(middle_name).collect()
}

fn veth_commands(spec: &NetworkSpec, client: &Namespace, server: &Namespace) -> String {
    let mtu = spec.mtu();
    let of = |host: &HostSpec, namespace: &Namespace| {
        let path = namespace.path();
        let pair = move |i: &InterfaceSpec| (i.name.clone(), path.display().to_string());
        host.interfaces.iter().map(pair).collect::<Vec<_>>()
    };
    let mut script = String::new();
    let all = of(&spec.client, client).into_iter().chain(of(&spec.server, server));
    for (port, (name, path)) in all.enumerate() {
        let middle = middle_name(port);
        // Writing to a string does not fail.
        let _ = writeln!(
            script,
            "link add name {middle} mtu {mtu} type veth peer name {name} address {HARDWARE_ADDRESS} \
             mtu {mtu} netns {path}\nlink set dev {middle} arp off up"
        );
    }
    script
}

fn address_commands(host: &HostSpec) -> String {
    let mut script = String::from("link set lo up\n");
    for interface in &host.interfaces {
        let _ = writeln!(script, "link set dev {} arp off addrgenmode none up", interface.name);
        script += &address_lines(interface, "add");
    }
    script
}

fn address_lines(interface: &InterfaceSpec, verb: &str) -> String {
    let line = |address: &IpAddr| match address {
        IpAddr::V4(address) => format!("addr {verb} {address}/24 dev {}\n", interface.name),
        IpAddr::V6(address) => format!("addr {verb} {address}/64 dev {} nodad\n", interface.name),
    };
    interface.addresses.iter().map(line).collect()
}

/// A packet leaves by the interface that has its source address, whatever its destination.
fn route_commands(host: &HostSpec, family: &str) -> String {
    let mut script = String::new();
    for (n, interface) in host.interfaces.iter().enumerate() {
        script += &route_lines(n, interface, family);
        for address in interface.addresses.iter().filter(|address| is_of(address, family)) {
            let _ = writeln!(script, "rule add from {address} lookup {}", FIRST_TABLE + n);
        }
    }
    script
}

fn route_lines(n: usize, interface: &InterfaceSpec, family: &str) -> String {
    if !interface.addresses.iter().any(|address| is_of(address, family)) {
        return String::new();
    }
    let (name, table, metric) = (&interface.name, FIRST_TABLE + n, 10 + n);
    format!(
        "route replace default dev {name} table {table}\n\
         route replace default dev {name} metric {metric}\n"
    )
}

fn is_of(address: &IpAddr, family: &str) -> bool {
    address.is_ipv4() == (family == "-4")
}
