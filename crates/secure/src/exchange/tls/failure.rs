//! What rustls says when an exchange fails, in our words.

use polypath_proto::protection::ProtectionFailure;
use rustls::{AlertDescription, Error};

/// Characters of a reason, at most.
const MAX_REASON: usize = 100;

pub(super) fn failure(error: &Error) -> ProtectionFailure {
    match error {
        Error::AlertReceived(alert) => ProtectionFailure::Refused(words(*alert)),
        other => broken(&other.to_string()),
    }
}

/// Parts of the reason may be the peer's.
pub(super) fn broken(reason: &str) -> ProtectionFailure {
    let reason = reason.chars().filter(|c| !c.is_control());
    ProtectionFailure::Exchange(reason.take(MAX_REASON).collect())
}

/// `BadCertificate` as `bad certificate`.
fn words(alert: AlertDescription) -> String {
    let Some(name) = alert.as_str() else {
        return format!("alert {}", u8::from(alert));
    };
    let mut words = String::new();
    let mut before_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && before_lower {
            words.push(' ');
        }
        before_lower = letter.is_lowercase();
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_words() {
        for (alert, text) in [
            (AlertDescription::BadCertificate, "bad certificate"),
            (AlertDescription::UnknownCA, "unknown ca"),
            (AlertDescription::NoRenegotiation, "no renegotiation"),
            (AlertDescription::Unknown(7), "alert 7"),
        ] {
            assert_eq!(words(alert), text);
        }
    }

    #[test]
    fn reasons_are_short_and_without_controls() {
        let ProtectionFailure::Exchange(reason) = broken(&"\u{1b}[2Jä".repeat(100)) else {
            panic!("another failure");
        };
        assert_eq!(reason.chars().count(), MAX_REASON);
        assert!(reason.starts_with("[2Jä["));
    }
}
