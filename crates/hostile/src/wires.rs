//! Veth pairs between namespaces, with addresses and routes, and no ARP: every packet goes to the
//! other end, whatever its destination.

use std::fs;
use std::net::IpAddr;

use polypath_emu::{Error, Namespace};

/// Both ends of all pairs have this address: without ARP, Linux puts a device's own address as
/// destination into every frame, and the other end takes it for its own.
const HARDWARE_ADDRESS: &str = "02:70:70:00:00:02";

/// One end of a wire.
pub(crate) struct End<'a> {
    pub(crate) host: &'a Namespace,
    pub(crate) device: &'a str,
    pub(crate) addresses: &'a [IpAddr],
}

/// Makes the pair, up, with addresses.
pub(crate) fn connect_hosts(a: &End<'_>, b: &End<'_>) -> Result<(), Error> {
    let (path, device, peer) = (b.host.path(), a.device, b.device);
    a.host.run_ip_commands(&format!(
        "link add name {device} address {HARDWARE_ADDRESS} type veth peer name {peer} \
         address {HARDWARE_ADDRESS} netns {}\n",
        path.display()
    ))?;
    [a, b].into_iter().try_for_each(|end| end.host.run_ip_commands(&address_commands(end)))
}

fn address_commands(end: &End<'_>) -> String {
    let device = end.device;
    let mut script = format!("link set dev {device} arp off addrgenmode none up\n");
    for address in end.addresses {
        let (bits, nodad) = if address.is_ipv4() { (24, "") } else { (64, " nodad") };
        script += &format!("addr add {address}/{bits} dev {device}{nodad}\n");
    }
    script
}

/// Everything that no other route leads to goes to `gateways`. One neighbour, whoever it is for:
/// the system remembers few of them.
pub(crate) fn default_route(host: &Namespace, gateways: &[IpAddr]) -> Result<(), Error> {
    let line = |gateway: &IpAddr| {
        let all = if gateway.is_ipv4() { "0.0.0.0/0" } else { "::/0" };
        format!("route add {all} via {gateway}\n")
    };
    host.run_ip_commands(&gateways.iter().map(line).collect::<String>())
}

/// A host that takes packets from whatever source by whatever device.
pub(crate) fn set_up(host: &Namespace) -> Result<(), Error> {
    host.run_ip_commands("link set lo up\n")?;
    ["all", "default"].into_iter().try_for_each(|which| {
        set_sysctl(host, &format!("ipv4/conf/{which}/rp_filter"), "0")?;
        set_sysctl(host, &format!("ipv6/conf/{which}/accept_ra"), "0")
    })
}

/// Sets a value below /proc/sys/net, unless it is so already. A kernel without the key needs no
/// setting.
pub(crate) fn set_sysctl(host: &Namespace, key: &str, value: &str) -> Result<(), Error> {
    let path = format!("/proc/sys/net/{key}");
    let set = || match fs::read_to_string(&path) {
        Ok(now) if now.trim() == value => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        _ => fs::write(&path, value),
    };
    let failed =
        |error: std::io::Error| Error::System { what: path.clone(), cause: error.to_string() };
    host.run(set).map_err(failed)?.map_err(failed)
}
