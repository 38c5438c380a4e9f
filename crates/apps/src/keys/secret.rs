//! A secret that both ends were given.

use std::path::Path;

use data_encoding::{BASE32_NOPAD, HEXLOWER_PERMISSIVE};
use polypath_net::PreShared;
use zeroize::Zeroizing;

use super::error::{KeyError, show};
use super::safe_file;

/// Bytes of the file, at most.
const MAX_SECRET: u64 = 1 << 10;

/// The secret in a file that only its owner reads: 32 bytes, as hex or as base32.
///
/// # Errors
/// When the file cannot be read, others may read it, or it holds something else.
pub fn read_secret(path: &Path) -> Result<PreShared, KeyError> {
    let missing = || KeyError::unread(path)(std::io::ErrorKind::NotFound.into());
    let file = safe_file::open(path)?.ok_or_else(missing)?;
    if file.mode & 0o077 != 0 {
        return Err(KeyError::Readable { path: show(path), mode: file.mode });
    }
    let text = file.read(path, MAX_SECRET)?;
    let no_secret = |why| KeyError::NoSecret { path: show(path), why };
    let digits = text.trim().trim_end_matches('=');
    let bytes = match digits.len() {
        64 => HEXLOWER_PERMISSIVE.decode(digits.as_bytes()),
        52 => {
            let upper = Zeroizing::new(digits.to_ascii_uppercase());
            BASE32_NOPAD.decode(upper.as_bytes())
        }
        _ => return Err(no_secret("has another length")),
    };
    let bytes = Zeroizing::new(bytes.map_err(|_| no_secret("has a character that none has"))?);
    let secret = <[u8; 32]>::try_from(&bytes[..]).map_err(|_| no_secret("has another length"))?;
    if secret.iter().all(|byte| Some(byte) == secret.first()) {
        return Err(no_secret("is the same byte over and over"));
    }
    Ok(PreShared::new(secret))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn hex_and_base32_are_taken_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("psk");
        let read = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read_secret(&path).map(drop).map_err(|error| error.to_string())
        };
        let secret: [u8; 32] = core::array::from_fn(|n| n as u8);
        let hex = HEXLOWER_PERMISSIVE.encode(&secret);
        read(&format!("{hex}\n"), 0o600).unwrap();
        read(&hex.to_uppercase(), 0o600).unwrap();
        let base32 = BASE32_NOPAD.encode(&secret);
        read(&format!("{base32}====\n"), 0o400).unwrap();
        read(&base32.to_lowercase(), 0o600).unwrap();
        assert!(read(&hex, 0o644).unwrap_err().contains("chmod 600"));
        for bad in ["", "password", &hex[1..], &hex.replace('0', "x"), &"00".repeat(32)] {
            let error = read(bad, 0o600).unwrap_err();
            assert!(error.contains("32 bytes") && error.contains("psk: "), "{error}");
            assert!(!error.contains("password"), "{error}");
        }
    }
}
