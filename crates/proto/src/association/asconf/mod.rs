//! Where the association changes addresses (RFC 5061).
//!
//! [`local`] is what our side wants: the calls of the application, our addresses and where each stands. [`send`] tells the peer,
//! one ASCONF at a time. [`receive`] is what the peer tells us, and [`peer`] what becomes of its addresses and the paths to
//! them.

mod local;
mod peer;
mod receive;
mod send;
