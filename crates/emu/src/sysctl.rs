//! Settings of the kernel in the namespaces.

use std::fs;
use std::io;

use crate::error::Error;
use crate::namespace::Namespace;

/// A host with several interfaces to one network takes packets by any of them.
pub(crate) fn allow_multihoming(host: &Namespace) -> Result<(), Error> {
    let keys = ["ipv4/conf/all/rp_filter", "ipv4/conf/default/rp_filter"];
    let each = || keys.iter().try_for_each(|key| write_value(key, "0"));
    host.run(each).map_err(Error::system_error("setns"))?
}

/// The middle has devices and no IP: what it sends by itself would disturb.
pub(crate) fn quiet_middle(middle: &Namespace) -> Result<(), Error> {
    let keys = ["ipv6/conf/all/disable_ipv6", "ipv6/conf/default/disable_ipv6"];
    let each = || keys.iter().try_for_each(|key| write_value(key, "1"));
    middle.run(each).map_err(Error::system_error("setns"))?
}

/// Sets a value below /proc/sys/net of the calling thread's namespace, unless it is so already, as
/// it must be where /proc/sys is read-only. A kernel without the key needs no setting.
fn write_value(key: &str, value: &str) -> Result<(), Error> {
    let path = format!("/proc/sys/net/{key}");
    match fs::read_to_string(&path) {
        Ok(now) if now.trim() == value => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => fs::write(&path, value).map_err(Error::system_error(path)),
    }
}
