//! The states of an association (RFC 9260 section 4) and what each allows.

/// Association state. CLOSED is the absence of an association, or one whose last event is `Closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum State {
    /// Over.
    Closed,
    /// INIT sent.
    CookieWait,
    /// COOKIE ECHO sent.
    CookieEchoed,
    /// Set up.
    Established,
    /// The application asked for a shutdown; data is still outstanding.
    ShutdownPending,
    /// SHUTDOWN sent.
    ShutdownSent,
    /// SHUTDOWN received; data is still outstanding.
    ShutdownReceived,
    /// SHUTDOWN ACK sent.
    ShutdownAckSent,
}

impl State {
    /// DATA may be sent (RFC 9260 section 6).
    #[inline]
    pub const fn may_send_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// DATA that arrives is accepted; elsewhere it is discarded (RFC 9260 section 6).
    #[inline]
    pub const fn accepts_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent)
    }

    /// SACKs are processed.
    #[inline]
    pub const fn accepts_sack(self) -> bool {
        matches!(
            self,
            Self::CookieEchoed | Self::Established | Self::ShutdownPending | Self::ShutdownReceived
        )
    }

    /// The application may hand in new messages.
    pub const fn accepts_messages(self) -> bool {
        matches!(self, Self::CookieWait | Self::CookieEchoed | Self::Established)
    }

    /// Heartbeats are sent: not after SHUTDOWN or SHUTDOWN ACK (RFC 9260 section 8.3).
    pub const fn sends_heartbeats(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// A handshake is under way.
    pub const fn is_setup(self) -> bool {
        matches!(self, Self::CookieWait | Self::CookieEchoed)
    }

    /// ASCONF and ASCONF-ACK are sent and heeded (RFC 5061 section 5.1.1, C4).
    pub(crate) const fn may_change_addresses(self) -> bool {
        matches!(
            self,
            Self::Established | Self::ShutdownPending | Self::ShutdownReceived | Self::ShutdownSent
        )
    }
}
