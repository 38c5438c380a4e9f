//! Files and folders over every path at once.
