//! Results as people read them, in the form that iperf3's users know.
